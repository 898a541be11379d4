"""The recorded forms of the latest version are those that this program stores.

Write them anew with `python -m tests.db.test_stored_forms`, which `make generated` does. A change
of a stored form needs a version of its own: `docs/adr/0041-stored-forms-have-a-number.md`.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import pytest

from tests.db.stored_forms import (
    describe_forms,
    describe_stored_forms,
    read_snapshot_digests,
)
from threedice.db.schema import MIGRATIONS, load_migrations

PUBLISHED: Final = {3: "47c41bc6eafe397c1108f86c19981237fe72551b0dd9a2f2344873c2bcfd624c"}
"""The hash of the record of each version that a published program writes.

Add the latest version when a program that writes it is published. From then on its record stays,
and a change of stored forms needs the next version.
"""

LATEST: Final = max(load_migrations("sqlite"))


def forms_file(version: int) -> Path:
    """Return the file with the recorded forms of a version."""
    return Path(__file__).parent / "forms" / f"{version:04}.txt"


def advise(latest: int, published: int) -> str:
    """Say what to do about stored forms that differ from the record of the latest version."""
    again = "run python -m tests.db.test_stored_forms"
    if latest > published:
        return f"the forms of version {latest}, which nobody uses yet, have changed: {again}"
    number = f"{latest + 1:04}"
    return (
        f"the stored forms have changed since version {latest}, which published programs write:"
        f" an older program would take the new bytes for damage. Add {number}.sqlite.sql and"
        f" {number}.postgresql.sql to {MIGRATIONS.name} (a comment is enough if no table changes),"
        f" name the version in docs/how-to/upgrade.md, then {again}"
    )


def test_stored_forms_are_those_recorded_for_the_latest_version() -> None:
    file = forms_file(LATEST)
    recorded = file.read_text(encoding="utf-8") if file.exists() else ""

    assert describe_stored_forms() == recorded, advise(LATEST, max(PUBLISHED))


@pytest.mark.parametrize("version", PUBLISHED)
def test_recorded_forms_of_a_published_version_stay(version: int) -> None:
    assert sha256(forms_file(version).read_bytes()).hexdigest() == PUBLISHED[version]


def test_snapshots_with_other_fields_have_another_form() -> None:
    digests: dict[str, str] = {}
    for version in range(min(PUBLISHED), LATEST + 1):
        recorded = read_snapshot_digests(forms_file(version).read_text(encoding="utf-8"))
        for form, digest in recorded.items():
            assert digests.setdefault(form, digest) == digest, (
                f"snapshots of the form {form} have other fields in version {version}: a program"
                " would take older ones for changed. Give the form another name"
            )


def test_changed_forms_of_a_published_version_need_the_next_version() -> None:
    assert "Add 0005.sqlite.sql" in advise(latest=4, published=4)
    assert "version 4, which nobody uses yet" in advise(latest=4, published=3)


def event(*fields: tuple[Any, ...], tag: str = "Noted") -> type[msgspec.Struct]:
    """Return a type such as those of stored events."""
    return msgspec.defstruct(
        "Noted", fields, tag=tag, forbid_unknown_fields=True, omit_defaults=True
    )


@pytest.mark.parametrize(
    "changed",
    [
        event(("amount", int), ("text", str, ""), ("by", str, "")),
        event(("amount", int), ("text", str, "none")),
        event(("amount", int | None), ("text", str, "")),
        event(("amount", int), ("text", str, ""), tag="Written"),
        event(("amount", Annotated[int, msgspec.Meta(ge=1)]), ("text", str, "")),
    ],
    ids=["optional field", "default", "type", "tag", "least value"],
)
def test_changed_event_has_another_description(changed: type[msgspec.Struct]) -> None:
    stored = event(("amount", int), ("text", str, ""))

    assert describe_forms({"entries.data": changed}) != describe_forms({"entries.data": stored})


if __name__ == "__main__":
    description, latest = describe_stored_forms(), forms_file(LATEST)
    if LATEST in PUBLISHED and description != latest.read_text(encoding="utf-8"):
        raise SystemExit(advise(LATEST, max(PUBLISHED)))
    latest.write_text(description, encoding="utf-8")
