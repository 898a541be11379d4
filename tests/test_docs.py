"""The documentation says what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec

from threedice import load
from threedice.api.routes.house import ReasonCode
from threedice.rulebook import conduct, schema
from threedice.rulebook.conditions import VOCABULARY

DOCS = Path(__file__).parents[1] / "docs"
FORMAT = (DOCS / "rulebook-format.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE = {word for span in re.findall(r"`([^`]+)`", FORMAT) for word in re.split(r"[^\w-]+", span)}


def structs() -> list[type[msgspec.Struct]]:
    found = [
        each
        for module in (conduct, schema)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]
    return list(dict.fromkeys(found))


def words(kind: object) -> set[str]:
    """Return the words that a type allows, however deep."""
    if get_origin(kind) is Literal:
        return {str(word) for word in get_args(kind)}
    return {word for inner in get_args(kind) for word in words(inner)}


def test_the_format_describes_every_key() -> None:
    keys = {key for struct in structs() for key in struct.__struct_fields__}
    headings = set(re.findall(r"^## `?\[?([a-z_]+)", FORMAT, re.MULTILINE))

    assert keys - CODE - headings == set()


def test_the_format_describes_every_word_that_a_key_may_take() -> None:
    allowed = {
        word
        for struct in structs()
        for kind in get_type_hints(struct).values()
        for word in words(kind)
    }
    plain = {"last-placed-first", "smallest-chip", "minimum", "maximum"}

    assert allowed - CODE - plain == set()
    assert set(VOCABULARY) <= CODE


def test_the_example_of_a_game_of_ones_own_loads(tmp_path: Path) -> None:
    text = (DOCS / "add-a-game.md").read_text(encoding="utf-8")
    example, *_, wager = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "my-sic-bo.toml"
    file.write_text(example, encoding="utf-8")

    game = load(f"{file}/main")
    assert (game.unit, str(game.box("small").lines[0].odds)) == (20, "19 to 20")
    field = msgspec.convert(tomllib.loads(wager)["wagers"]["field"], schema.Wager)
    assert field.clause == "4.9"


def test_the_manual_explains_every_reason_that_health_may_give() -> None:
    manual = (DOCS / "running-a-house.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([a-z-]+)` \|", manual, re.MULTILINE))

    assert set(get_args(ReasonCode)) - explained == set()


def test_every_page_says_at_its_top_who_it_is_for() -> None:
    pages = [page for page in DOCS.rglob("*.md") if page.parent.name != "adr"]
    silent = [
        page.name
        for page in pages
        if not page.read_text(encoding="utf-8").split("\n\n")[1].startswith("For ")
    ]

    assert len(pages) > 10
    assert silent == []


def test_every_link_to_a_file_outside_the_site_leads_to_one() -> None:
    """Links within the site are checked where it is built, with its generated pages."""
    pages = [*DOCS.parent.glob("*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not target.startswith("http") and not (page.parent / target).exists()
    ]

    assert broken == []
