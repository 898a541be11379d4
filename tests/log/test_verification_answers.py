"""Verification matches heads and answers with their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.inspection import finding_places, finding_texts, tamper, tampering
from tests.log.proposals import bet
from threedice.log.proof import answers
from threedice.log.proof.verification import verify_log
from threedice.log.records import Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.store import Store


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM streams WHERE stream = 'table/2'", ["head of table/2"]),
        ("UPDATE streams SET version = 2 WHERE stream = 'table/2'", ["head of table/2"]),
        ("INSERT INTO streams VALUES ('table/9', 1, randomblob(32), x'')", ["head of table/9"]),
        ("INSERT INTO streams VALUES ('table/9', 0, randomblob(32), x'')", ["head of table/9"]),
        ("INSERT INTO streams VALUES ('table/9', 0, zeroblob(32), x'')", []),
        (
            "DELETE FROM answers WHERE account = 'bob' AND instr(CAST(spans AS TEXT), 'table/2')",
            ["table/2 versions 1 to 3"],
        ),
        ("UPDATE answers SET spans = CAST('[]' AS BLOB) WHERE account = 'bob'", None),
        (
            "UPDATE answers SET spans = CAST('[[\"table/2\",1,2]]' AS BLOB) WHERE account='bob'",
            None,
        ),
        (
            "INSERT INTO answers SELECT 'eve', key, command_hash, spans, x'' FROM answers LIMIT 1",
            None,
        ),
        ("INSERT INTO answers VALUES ('eve', 'k', zeroblob(32), CAST('[]' AS BLOB), x'')", None),
        ("UPDATE answers SET refusal = CAST('{}' AS BLOB) WHERE account = 'bob'", None),
        ("UPDATE answers SET spans = CAST(' ' || CAST(spans AS TEXT) AS BLOB)", None),
    ],
)
def test_head_or_answer_that_contradicts_the_entries_is_located(
    file: Path, statement: str, expected: list[str] | None
) -> None:
    with tampering(file) as run:
        run(statement)
    places = finding_places(verify_log(file, public_keys={}))

    if expected is not None:
        assert places == expected
    else:
        assert any(where.startswith("answer to ") for where in places)


def test_finding_of_an_incomplete_answer_names_its_entries(file: Path) -> None:
    with tampering(file) as run:
        run(
            "UPDATE answers SET spans = CAST('[[\"table/2\",1,2]]' AS BLOB)"
            " WHERE instr(CAST(spans AS TEXT), 'table/2')"
        )
    report = verify_log(file, public_keys={})

    (finding,) = report.findings
    assert report.answers == 4
    assert finding.where.startswith("answer to bob key-")
    assert finding.what == (
        "claims table/2 versions 1 to 2; its command caused table/2 versions 1 to 3"
    )


def test_answer_without_entries_is_a_finding() -> None:
    store = MemoryStore()
    store.write([Proposal("ann", "k", bytes(32), ())])

    assert finding_places(verify_log(store, public_keys={})) == ["answer to ann k"]


@pytest.mark.parametrize("versions", [1, 2, 4096])
def test_missing_answer_is_found_for_any_size_of_version_sums(
    file: Path, versions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "VERSIONS_PER_SUM", versions)
    assert verify_log(file, public_keys={}).is_sound

    with tampering(file) as run:
        run("DELETE FROM answers WHERE instr(CAST(spans AS TEXT), 'cage')")
    places = finding_places(verify_log(file, public_keys={}))
    assert sorted(places) == ["cage/ann versions 1 to 2", "table/1 versions 2 to 3"]


def test_order_of_stored_answers_does_not_matter(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE old AS SELECT * FROM answers ORDER BY rowid DESC")
        run("DELETE FROM answers")
        run("INSERT INTO answers SELECT * FROM old ORDER BY rowid")
        run("DROP TABLE old")
    assert verify_log(file, public_keys={}).is_sound

    with tampering(file) as run:
        run("DELETE FROM answers WHERE instr(CAST(spans AS TEXT), 'cage')")
    places = finding_places(verify_log(file, public_keys={}))
    assert sorted(places) == ["cage/ann versions 1 to 2", "table/1 versions 2 to 3"]


STRANGE_NAMES = ("a,b", "a,c", "a", "],[", "[[", '"', "\\", "%d", "\N{DIE FACE-6}", "")


def test_answers_of_streams_with_unusual_names_pass_verification(store: Store) -> None:
    for name in STRANGE_NAMES:
        bet(store, f"table/{name}")
        bet(store, "table/1", f"table/{name}", account=name)
        bet(store, f"table/{name}", entries=2)

    report = verify_log(store, public_keys={})
    assert finding_texts(report) == []
    assert report.answers == 3 * len(STRANGE_NAMES)


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_missing_answer_is_found_for_unusual_stream_names(name: str) -> None:
    store = MemoryStore()
    for each in STRANGE_NAMES:
        bet(store, f"table/{each}")
    gone = bet(store, f"table/{name}", entries=2)
    tamper(store, "DELETE FROM answers WHERE key = ?", gone.key)

    assert finding_texts(verify_log(store, public_keys={})) == [
        f"table/{name} versions 2 to 3: no answer names the command that caused it"
    ]


def test_answer_that_merges_two_answers_is_found(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.sqlite")
    first, second = bet(store, "table/1"), bet(store, "table/1")
    store.close()
    cause = second.appends[0].entries[0].cause
    both = b'[["table/1",1,1]]' + cause + b'[["table/1",2,2]]'
    with tampering(store.path) as run:
        run("UPDATE answers SET spans = ? WHERE key = ?", both, first.key)
        run("DELETE FROM answers WHERE key = ?", second.key)

    places = finding_places(verify_log(store.path, public_keys={}))
    assert set(places) == {
        f"answer to ann {first.key}",
        "table/1 version 1",
        "table/1 version 2",
    }
