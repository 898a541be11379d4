"""Verification: sound logs are found sound on every store, and whatever is wrong has a place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.conftest import open_kind
from tests.log.logs import bet, tampering, writing
from threedice.errors import InvalidInput, StoreAway, StoreUnfit, Tampered
from threedice.log import matching, rows, schema
from threedice.log.causes import said_by_all
from threedice.log.chains import Chains
from threedice.log.checkpoints import Body, Notary, decode, link_to, sign
from threedice.log.entry import EMPTY, Entry, Record, cause_of, chained, extend
from threedice.log.keys import Keys, open_keys, rotate
from threedice.log.matching import Matching, record
from threedice.log.memory import MemoryStore
from threedice.log.postgres import PostgresStore
from threedice.log.rows import MemoryRows
from threedice.log.sqlite import SqliteStore
from threedice.log.store import Checkpoint, Proposal
from threedice.log.verification import verify_log
from threedice.log.witnesses import Claims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.log.findings import Finding, Report
    from threedice.log.rows import Row
    from threedice.log.store import Store


def play(store: Store) -> None:
    """Write a few commands to three streams, one of them to two at once, and a game."""
    canonical = b'{"game": "tai sai"}'
    bet(store, "table/1", games={sha256(canonical).hexdigest(): canonical})
    bet(store, "table/1", "cage/ann", entries=2)
    bet(store, "table/2", account="bob", entries=3)
    bet(store, "table/1", account="bob")


def found(report: Report) -> list[str]:
    return [str(finding) for finding in report.findings]


def at(report: Report) -> list[str]:
    return [finding.where for finding in report.findings]


def test_sound_log_is_found_sound_on_every_store(store: Store, tmp_path: Path) -> None:
    keys = open_keys(tmp_path)
    notary = Notary(store, keys, tmp_path)
    play(store)
    notary.make(at=1)
    play(store)
    notary.make(at=2)
    report = verify_log(store, public_keys=keys.public, against=store.checkpoints())

    assert found(report) == []
    assert report.is_sound
    assert (report.streams, report.entries, report.answers) == (3, 18, 8)
    assert (report.games, report.checkpoints) == (1, 2)


def test_empty_log_is_sound(store: Store) -> None:
    assert verify_log(store, public_keys={}).is_sound


def test_every_entry_is_shown_in_order(store: Store) -> None:
    play(store)
    seen: list[Row] = []
    verify_log(store, public_keys={}, visit=seen.extend)

    assert seen == [as_row(entry) for stream in store.streams() for entry in store.scan(stream)]


def test_progress_ends_with_all_entries(store: Store) -> None:
    play(store)
    heard: list[tuple[int, int]] = []
    verify_log(store, public_keys={}, progress=lambda done, total: heard.append((done, total)))

    assert heard[-1] == (9, 9)


def test_some_streams_alone_can_be_verified(store: Store) -> None:
    play(store)
    seen: list[Row] = []
    report = verify_log(store, public_keys={}, streams=["table/1", "none"], visit=seen.extend)

    assert found(report) == []
    assert (report.streams, report.entries) == (1, 4)
    assert {stream for stream, *_ in seen} == {"table/1"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_log_that_is_being_written_is_found_sound(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with (
        closing(open_kind(kind, request, tmp_path)) as store,
        writing(store, "table/1", "cage/ann") as writer,
    ):
        reports: dict[int, list[str]] = {}
        while len(reports) < 8 and writer.is_alive():  # until it was seen at as many moments
            report = verify_log(store, public_keys={})
            reports[report.entries] = found(report)

    assert list(reports.values()) == [[]] * 8


# --- the hash -----------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(
    stream=words,
    at=st.integers(-(2**63), 2**63 - 1),
    cause=st.binary(min_size=32, max_size=32),
    records=st.lists(
        st.builds(Record, words, st.integers(0, 2**16 - 1), st.binary(max_size=300)),
        min_size=1,
        max_size=5,
    ),
    wrong=st.integers(0, 4),
)
def test_hash_is_the_one_that_entries_define(
    stream: str, at: int, cause: bytes, records: list[Record], wrong: int
) -> None:
    entries, head = extend(EMPTY, stream, at, cause, records)
    stored = [(*as_row(entry)[:7], chained_anew(entries, entry)) for entry in entries]
    assert follow(stream, stored, head.version, head.hash) == []

    place = wrong % len(stored)
    stored[place] = (*stored[place][:7], sha256(stored[place][7]).digest())
    assert f"{stream} version {place + 1}" in [
        finding.where for finding in follow(stream, stored, head.version, head.hash)
    ]


def chained_anew(entries: Sequence[Entry], entry: Entry) -> bytes:
    before = entries[entry.version - 2].hash if entry.version > 1 else EMPTY.hash
    return chained(before, *as_row(entry)[:7])


def as_row(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.stream,
        entry.version,
        entry.at,
        entry.kind,
        entry.schema,
        entry.data,
        entry.cause,
        entry.hash,
    )


def follow(
    stream: str, stored: list[tuple[Any, ...]], version: int, digest: bytes
) -> list[Finding]:
    findings: list[Finding] = []
    with Matching() as matched:
        chains = Chains({stream: (version, digest)}, Claims(), matched, findings, None)
        chains.take(stored)
        chains.finish()
    return findings


# --- rows that are not what they should be ------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "log.sqlite")
    play(store)
    store.close()
    return store.path


ENTRY_COLUMNS = ("version", "at", "kind", "schema", "data", "cause", "hash")
STRANGE = (None, 1.5, "text", b"\0bytes", 2**63 - 1, -1, "\0", "x" * 70_000, b"")


@pytest.mark.parametrize("column", ENTRY_COLUMNS)
def test_strange_values_in_entries_are_located(file: Path, column: str) -> None:
    row = rowid(file, "entries", "stream = 'table/1' AND version = 2")
    for value in STRANGE:
        with tampering(file, lax=True) as run:
            run(f"UPDATE entries SET {column} = ? WHERE rowid = ?", value, row)
        places = at(verify_log(file, public_keys={}))
        assert "table/1 version 2" in places, (value, places)


@pytest.mark.parametrize(
    ("table", "column", "row", "place"),
    [
        ("entries", "stream", "stream = 'table/1' AND version = 1", "table/1 version 1"),
        ("streams", "stream", "stream = 'table/1'", "head of table/1"),
        ("streams", "version", "stream = 'table/1'", "head of table/1"),
        ("streams", "hash", "stream = 'table/1'", "head of table/1"),
        ("answers", "account", "rowid = 1", "table/1 version 1"),
        ("answers", "key", "rowid = 1", "table/1 version 1"),
        ("answers", "command_hash", "rowid = 1", "table/1 version 1"),
        ("answers", "spans", "rowid = 1", "table/1 version 1"),
        ("games", "hash", "rowid = 1", "game "),
        ("games", "canonical", "rowid = 1", "game "),
    ],
)
def test_strange_values_elsewhere_are_located(
    file: Path, table: str, column: str, row: str, place: str
) -> None:
    number = rowid(file, table, row)
    for value in STRANGE:
        with tampering(file, lax=True) as run:
            run(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", value, number)
        places = at(verify_log(file, public_keys={}))
        assert any(where.startswith(place) for where in places), (value, places)


def rowid(file: Path, table: str, row: str) -> int:
    ((number,),) = iter_rows(file, f"SELECT rowid FROM {table} WHERE {row}")
    return int(number)


def iter_rows(file: Path, sql: str) -> Iterator[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        yield from connection.execute(sql).fetchall()


def test_text_that_is_no_text_is_located(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET kind = CAST(x'ff80' AS TEXT) WHERE stream = 'table/1'")
        run("UPDATE streams SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'table/2'")
    report = verify_log(file, public_keys={})

    assert "table/1 version 3: its kind is no text" in found(report)
    assert "cage/ann version 1" not in at(report)
    assert "head of table/2" in at(report)


def test_stream_with_no_name_is_located(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'table/2'")
    report = verify_log(file, public_keys={})

    assert r"stream '\udcff'" in at(report)
    assert "head of table/2" in at(report)


def test_what_is_shown_ends_where_a_stream_is_damaged(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 3")
    seen: list[Row] = []
    report = verify_log(file, public_keys={}, visit=seen.extend)

    assert at(report) == ["table/1 version 3"]
    assert [row[1] for row in seen if row[0] == "table/1"] == [1, 2]
    assert [row[1] for row in seen if row[0] == "table/2"] == [1, 2, 3]


def test_what_a_fold_finds_is_a_finding(file: Path) -> None:
    def visit(shown: Sequence[Row]) -> None:
        stream, version, *_ = shown[-1]
        if version >= 3:
            raise Tampered(f"balance of {stream}", "is not what its entries add up to")

    report = verify_log(file, public_keys={}, visit=visit)
    assert at(report) == ["balance of table/1", "balance of table/2"]


def test_cause_that_is_too_long_is_located(file: Path) -> None:
    cause = next(iter_rows(file, "SELECT cause FROM entries WHERE stream = 'table/2'"))[0]
    with tampering(file) as run:
        run("UPDATE entries SET cause = ? WHERE stream = 'table/2'", cause + b"\0")

    assert "table/2 version 2: its cause is not 32 bytes long" in found(
        verify_log(file, public_keys={})
    )


def test_wrong_hash_is_one_finding(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET hash = randomblob(32) WHERE stream = 'table/1' AND version = 2")

    assert at(verify_log(file, public_keys={})) == ["table/1 version 2"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM streams WHERE stream = 'table/2'", ["head of table/2"]),
        ("UPDATE streams SET version = 2 WHERE stream = 'table/2'", ["head of table/2"]),
        ("INSERT INTO streams VALUES ('table/9', 1, randomblob(32))", ["head of table/9"]),
        ("INSERT INTO streams VALUES ('table/9', 0, randomblob(32))", ["head of table/9"]),
        ("INSERT INTO streams VALUES ('table/9', 0, zeroblob(32))", []),
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
            "INSERT INTO answers SELECT 'eve', key, command_hash, spans FROM answers LIMIT 1",
            None,
        ),
        ("INSERT INTO answers VALUES ('eve', 'k', zeroblob(32), CAST('[]' AS BLOB))", None),
        ("UPDATE answers SET spans = CAST(' ' || CAST(spans AS TEXT) AS BLOB)", None),
    ],
)
def test_head_or_answer_that_does_not_fit_is_located(
    file: Path, statement: str, expected: list[str] | None
) -> None:
    with tampering(file) as run:
        run(statement)
    places = at(verify_log(file, public_keys={}))

    if expected is not None:
        assert places == expected
    else:
        assert any(where.startswith("answer to ") for where in places)


def test_answer_that_leaves_entries_out_says_what_it_caused(file: Path) -> None:
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
        "says it wrote table/2 versions 1 to 2; what it caused is table/2 versions 1 to 3"
    )


def test_command_without_entries_is_no_answer_to_anything() -> None:
    store = MemoryStore()
    store.write([Proposal("ann", "k", bytes(32), ())])

    assert at(verify_log(store, public_keys={})) == ["answer to ann k"]


def test_more_causes_than_memory_holds_are_matched(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []

    def made() -> IO[bytes]:
        files.append(TemporaryFile())  # noqa: SIM115 -- closed by whoever asked for it
        return files[-1]

    monkeypatch.setattr(matching, "TemporaryFile", made)
    monkeypatch.setattr(matching, "IN_MEMORY", 60)
    monkeypatch.setattr(matching, "PARTS", 2)
    assert verify_log(file, public_keys={}).is_sound
    assert files
    assert all(each.closed for each in files)

    with tampering(file) as run:
        run("DELETE FROM answers WHERE instr(CAST(spans AS TEXT), 'cage')")
    places = at(verify_log(file, public_keys={}))
    assert sorted(places) == ["cage/ann versions 1 to 2", "table/1 versions 2 to 3"]


def test_answers_may_lie_in_any_order(file: Path) -> None:
    with tampering(file) as run:
        run("CREATE TABLE old AS SELECT * FROM answers ORDER BY rowid DESC")
        run("DELETE FROM answers")
        run("INSERT INTO answers SELECT * FROM old ORDER BY rowid")
        run("DROP TABLE old")
    assert verify_log(file, public_keys={}).is_sound

    with tampering(file) as run:
        run("DELETE FROM answers WHERE instr(CAST(spans AS TEXT), 'cage')")
    places = at(verify_log(file, public_keys={}))
    assert sorted(places) == ["cage/ann versions 1 to 2", "table/1 versions 2 to 3"]


STRANGE_NAMES = ("a,b", "a,c", "a", "],[", "[[", '"', "\\", "%d", "\N{DIE FACE-6}", "")


def test_streams_of_any_name_are_matched(store: Store) -> None:
    for name in STRANGE_NAMES:
        bet(store, f"table/{name}")
        bet(store, "table/1", f"table/{name}", account=name)
        bet(store, f"table/{name}", entries=2)

    report = verify_log(store, public_keys={})
    assert found(report) == []
    assert report.answers == 3 * len(STRANGE_NAMES)


@pytest.mark.parametrize(
    ("alone", "together"),
    [
        (("table/1",), ()),
        (("table/1", "table/10"), ()),
        (("table/1",), ("table/1", "table/2")),
        (STRANGE_NAMES, STRANGE_NAMES),
    ],
)
def test_what_all_answers_say_is_what_each_says(
    alone: tuple[str, ...], together: tuple[str, ...]
) -> None:
    store = MemoryStore()
    for _ in range(3):
        for name in alone:
            bet(store, name, account=name, entries=2)
    if together:
        bet(store, *together)
    each: dict[bytes, list[bytes]] = {}
    for answer in store.answers():
        cause = cause_of(answer.account, answer.key, answer.command_hash)
        for span in answer.spans:
            begin, said = record(cause, span)
            each.setdefault(begin, []).append(said)

    (chunk,) = MemoryRows(store).in_any_order(schema.answers)
    assert said_by_all(chunk) == each


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_a_missing_answer_is_found_whatever_the_name_of_the_stream(name: str) -> None:
    store = MemoryStore()
    for each in STRANGE_NAMES:
        bet(store, f"table/{each}")
    gone = bet(store, f"table/{name}", entries=2)
    del store._answers[gone.account, gone.key]

    assert found(verify_log(store, public_keys={})) == [
        f"table/{name} versions 2 to 3: no answer says which command caused it"
    ]


def test_an_answer_that_says_what_two_said_is_found(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.sqlite")
    first, second = bet(store, "table/1"), bet(store, "table/1")
    store.close()
    cause = second.appends[0].entries[0].cause
    both = b'[["table/1",1,1]]' + cause + b'[["table/1",2,2]]'
    with tampering(store.path) as run:
        run("UPDATE answers SET spans = ? WHERE key = ?", both, first.key)
        run("DELETE FROM answers WHERE key = ?", second.key)

    places = at(verify_log(store.path, public_keys={}))
    assert set(places) == {
        f"answer to ann {first.key}",
        "table/1 version 1",
        "table/1 version 2",
    }


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 3",
        "UPDATE entries SET hash = zeroblob(32) WHERE stream = 'table/1'",
        "UPDATE entries SET cause = zeroblob(32) WHERE version = 2",
        "DELETE FROM entries WHERE version = 2",
        "UPDATE entries SET version = 9 WHERE stream = 'table/2' AND version = 2",
        "UPDATE entries SET stream = 'table/0' WHERE stream = 'table/2' AND version > 1",
        "UPDATE answers SET spans = CAST('[[\"table/2\",1,2]]' AS BLOB) WHERE account = 'bob'",
        "DELETE FROM streams",
        "DELETE FROM checkpoints WHERE number = 1",
    ],
)
def test_the_same_is_found_however_many_rows_are_read_at_a_time(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    play(store)
    Notary(store, keys, tmp_path).make(at=1)
    play(store)
    Notary(store, keys, tmp_path).make(at=2)
    store.close()
    with tampering(store.path) as run:
        run(statement)
    whole, shown = seen_of(store.path, keys)
    assert whole.findings

    for size in (1, 2, 3, 5):
        monkeypatch.setattr(rows, "CHUNK", size)
        assert seen_of(store.path, keys) == (whole, shown)


def seen_of(file: Path, keys: Keys) -> tuple[Report, list[Row]]:
    shown: list[Row] = []
    return verify_log(file, public_keys=keys.public, visit=shown.extend), shown


def test_an_entry_that_was_signed_is_contested_where_it_was_changed(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    play(store)
    Notary(store, keys, tmp_path).make(at=1)
    play(store)
    store.close()
    with tampering(store.path) as run:
        run("UPDATE entries SET hash = zeroblob(32) WHERE stream = 'table/1' AND version = 4")

    assert found(verify_log(store.path, public_keys=keys.public)) == [
        "table/1 version 4: its hash is not that of its columns and of the entry before it",
        "table/1 versions 1 to 4: not what checkpoint 1 signed",
    ]


def test_all_findings_are_collected(file: Path) -> None:
    with tampering(file) as run:
        run("UPDATE entries SET data = x'00' WHERE version = 1")
        run("UPDATE games SET canonical = x'00'")
    places = at(verify_log(file, public_keys={}))

    assert places[:3] == ["cage/ann version 1", "table/1 version 1", "table/2 version 1"]
    assert places[3].startswith("game ")
    assert len(places) == 4


def test_missing_table_is_a_finding_and_the_rest_is_verified(file: Path) -> None:
    with tampering(file) as run:
        run("DROP TABLE answers")
        run("UPDATE games SET canonical = x'00'")
    report = verify_log(file, public_keys={})

    assert "table answers: cannot be read: no such table: answers" in found(report)
    assert any(where.startswith("game ") for where in at(report))
    assert report.entries == 9


def test_file_that_is_no_database_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite").write_bytes(b"no database" * 100)

    (finding,) = verify_log(tmp_path / "log.sqlite", public_keys={}).findings
    assert finding.where == str(tmp_path / "log.sqlite")


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnfit, match="is it there"):
        verify_log(tmp_path / "none.sqlite", public_keys={})


def test_file_that_another_holds_is_away(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BUSY_SECONDS", 0)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreAway, match="another process"):
            verify_log(file, public_keys={})


def test_unknown_kind_of_store_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        verify_log(object(), public_keys={})  # type: ignore[arg-type]


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE entries SET data = '\\x00' WHERE stream = 'table/2' AND version = 2", 2),
        ("UPDATE entries SET schema = -1 WHERE stream = 'table/2' AND version = 3", 3),
        ("UPDATE entries SET at = -at WHERE stream = 'table/2' AND version = 1", 1),
        ("DELETE FROM entries WHERE stream = 'table/2' AND version = 2", 2),
        (
            "ALTER TABLE entries ALTER cause DROP NOT NULL;"
            "UPDATE entries SET cause = NULL WHERE stream = 'table/2' AND version = 2",
            2,
        ),
        (
            "ALTER TABLE entries ALTER version TYPE numeric;"
            "UPDATE entries SET version = 1e30 WHERE stream = 'table/2' AND version = 3",
            3,
        ),
    ],
)
def test_tampering_in_postgres_is_located(postgres_url: str, statement: str, expected: int) -> None:
    store = PostgresStore(postgres_url)
    play(store)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(statement.encode())
    report = verify_log(store, public_keys={})
    store.close()

    assert f"table/2 version {expected}" in at(report)


def test_missing_table_in_postgres_is_a_finding(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    play(store)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE answers")
    report = verify_log(store, public_keys={})
    store.close()

    assert "table answers" in at(report)


# --- checkpoints --------------------------------------------------------------------------------


class House:
    """A log in memory with three checkpoints, of which some can be replaced."""

    def __init__(self, state: Path) -> None:
        self.keys, self.store, self.state = open_keys(state), MemoryStore(), state
        notary = Notary(self.store, self.keys, state)
        for number in range(3):
            play(self.store)
            notary.make(at=number)
        self.made = self.store.checkpoints()

    def with_checkpoints(
        self, checkpoints: Sequence[Checkpoint], against: Sequence[Checkpoint] = ()
    ) -> list[str]:
        store = MemoryStore()
        for stream in self.store.streams():
            store._entries[stream] = list(self.store.scan(stream))
        store._heads, store._answers = self.store._heads, self.store._answers
        for checkpoint in checkpoints:
            store.add_checkpoint(checkpoint)
        return found(verify_log(store, public_keys=self.keys.public, against=against))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def changed(checkpoint: Checkpoint, **what: Any) -> Body:
    body = decode(checkpoint)
    said = {name: getattr(body, name) for name in body.__struct_fields__}
    return Body(**(said | what))


def test_checkpoints_in_store_and_outside_agree(house: House) -> None:
    assert house.with_checkpoints(house.made, house.made) == []
    assert house.with_checkpoints(house.made, house.made[:2]) == []
    assert house.with_checkpoints(house.made, house.made[1:]) == []


def test_checkpoint_missing_from_the_store_is_found(house: House) -> None:
    first, second, third = house.made
    assert house.with_checkpoints([first, third]) == ["checkpoint 3: follows checkpoint 1 at once"]
    assert house.with_checkpoints([second, third]) == ["checkpoint 2: is the first"]
    assert house.with_checkpoints([first, second], house.made) == [
        "checkpoint 3: was kept outside the store, and is missing in it"
    ]


def test_checkpoint_missing_outside_is_found(house: House) -> None:
    first, _, third = house.made
    assert house.with_checkpoints(house.made, [first, third]) == [
        "checkpoint 3: outside the store, follows checkpoint 1 at once"
    ]


def test_checkpoint_kept_twice_in_two_forms_is_found(house: House) -> None:
    other = sign(house.keys, changed(house.made[2], at=99))
    assert house.with_checkpoints(house.made, [*house.made, other]) == [
        "checkpoint 3: was kept outside the store twice, and not the same"
    ]


def test_other_checkpoint_than_the_one_outside_is_found(house: House) -> None:
    other = sign(house.keys, changed(house.made[2], at=99))
    assert house.with_checkpoints([*house.made[:2], other], house.made) == [
        "checkpoint 3: is not the one that was kept outside the store"
    ]


def test_checkpoint_that_does_not_hold_on_to_the_one_before_is_found(house: House) -> None:
    first, second, third = house.made
    again = sign(house.keys, changed(first, at=99))
    assert house.with_checkpoints([again, second, third]) == [
        "checkpoint 2: does not hold the hash of checkpoint 1"
    ]


def test_checkpoint_that_goes_back_is_found(house: House) -> None:
    *before, third = house.made
    heads = decode(house.made[1]).heads | {"table/1": decode(house.made[0]).heads["table/1"]}
    back = sign(house.keys, changed(third, full=True, heads=heads))
    assert house.with_checkpoints([*before, back]) == [
        "checkpoint 3: says version 4 of table/1 after version 8 was signed"
    ]


def test_full_checkpoint_that_leaves_a_stream_out_is_found(house: House) -> None:
    *before, third = house.made
    heads = {name: head for name, head in decode(third).heads.items() if name != "cage/ann"}
    short = sign(house.keys, changed(third, full=True, heads=heads))
    assert house.with_checkpoints([*before, short]) == [
        "checkpoint 3: says nothing of cage/ann, which was there before"
    ]


def test_checkpoint_of_another_number_or_key_is_found(house: House) -> None:
    *before, third = house.made
    other = Checkpoint(4, third.body, third.key_id, third.signature)
    assert "checkpoint 4: its number or its key is not the one that was signed" in (
        house.with_checkpoints([*before, other])
    )
    other = Checkpoint(3, third.body, "0" * 16, third.signature)
    assert house.with_checkpoints([*before, other]) == [
        "checkpoint 3: its number or its key is not the one that was signed"
    ]


def test_unreadable_checkpoint_is_found(house: House) -> None:
    *before, third = house.made
    other = Checkpoint(3, b"nonsense", third.key_id, third.signature)
    (finding,) = house.with_checkpoints([*before, other])
    assert finding.startswith("checkpoint 3: cannot be read")


def test_checkpoint_with_strange_columns_is_found(tmp_path: Path) -> None:
    keys, store = open_keys(tmp_path), SqliteStore(tmp_path / "log.sqlite")
    Notary(store, keys, tmp_path).make(at=1)
    store.close()
    with tampering(store.path, lax=True) as run:
        run("UPDATE checkpoints SET body = NULL")

    assert "checkpoint 1" in at(verify_log(store.path, public_keys=keys.public))


def test_keys_that_were_rotated_are_followed(tmp_path: Path) -> None:
    store = MemoryStore()
    notary = Notary(store, open_keys(tmp_path), tmp_path)
    notary.make(at=1)
    keys = rotate(tmp_path)
    notary.use(keys)
    notary.make(at=2)
    assert verify_log(store, public_keys=keys.public).is_sound

    only_new = {keys.key_id: keys.public[keys.key_id]}
    assert at(verify_log(store, public_keys=only_new)) == ["checkpoint 1"]


def test_signed_head_that_the_stream_does_not_hold_is_found(house: House) -> None:
    *before, third = house.made
    heads = decode(third).heads | {"table/1": (12, "0" * 64), "table/9": (2, "0" * 64)}
    other = sign(house.keys, changed(third, heads=heads))
    assert house.with_checkpoints([*before, other]) == [
        "table/1 versions 9 to 12: not what checkpoint 3 signed",
        "table/9 versions 1 to 2: missing, and signed in checkpoint 3",
    ]


def test_chain_of_checkpoints_is_one_chain(house: House) -> None:
    first, second, third = house.made
    assert [decode(each).previous for each in house.made[1:]] == [link_to(first), link_to(second)]
    assert decode(third).number == 3
