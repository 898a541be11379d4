"""The audit goes over bets in one go: to the same state, with the same words for what is wrong."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.house.test_auditor import append, findings, play
from tests.log.logs import tampering
from tests.properties.test_table import GAMES, drive
from tests.table.setting import SUPERVISOR
from threedice import load
from threedice.errors import TamperedData
from threedice.house.audit.replay import (
    KINDS_WITHOUT_ROWS,
    BatchStatementProjector,
    StatementsReplay,
    StreamReplay,
)
from threedice.house.codec import decode, encode
from threedice.house.reports.projection import StatementProjector
from threedice.house.stream_state import fold_of
from threedice.house.streams import load_stream
from threedice.ledger import Balances, table_postings
from threedice.log.entry import EMPTY_HEAD, Entry, NewEntry, extend_stream, hash_cause
from threedice.log.store import Append, Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.rows import MemoryRows
from threedice.table.commands import Actor
from threedice.table.events import BetPlaced, FloatFilled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.properties.driver import Driven
    from threedice.log.store import StoredRow
    from threedice.log.stores.sqlite import SqliteStore
    from threedice.rulebook import Game

STREAM = "table/1"


def tables(steps: int) -> Iterator[Driven]:
    """Yield a table of every game, at which random things happened."""
    for number, (name, readings) in enumerate(GAMES):
        yield drive(load(name, readings), "record" if number % 2 else "refuse", number, steps)


def playing(table: Driven) -> Callable[[str], Game]:
    return lambda _hash: table.game


def rows_of(table: Driven) -> list[StoredRow]:
    entries, _ = extend_stream(EMPTY_HEAD, STREAM, 5, bytes(32), map(encode, table.events))
    return [msgspec.structs.astuple(entry) for entry in entries]


def test_folding_bets_in_one_go_leads_where_folding_each_does() -> None:
    in_one_go = 0
    for table in tables(500):
        fold, rows = fold_of(STREAM), rows_of(table)
        books = StatementsReplay(MemoryRows(MemoryStore()), playing(table), []).for_stream(STREAM)
        again = StreamReplay(STREAM, None, books, {table.game.hash})
        state, balances, done = fold.state_type(), Balances(), iter(table.events)
        random, left = Random(1), rows
        while left:
            size = random.randint(1, 40)
            again.apply(left[:size])
            for version, event in enumerate(islice(done, size), left[0][1]):
                fold.evolve(state, event, 5, version)
                balances.post(table_postings(event))
                in_one_go += isinstance(event, BetPlaced) and state.table.shooter is None
            left = left[size:]
            if not left or random.random() < 0.4:  # else what is held may stay so until it is paid
                assert again.state == state
                assert again.balances == balances
        assert again.finish() == []
    assert in_one_go > 300


def test_lines_made_in_one_go_are_those_of_the_books() -> None:
    seen: Counter[str] = Counter()
    for table in tables(500):
        books = StatementProjector(STREAM, playing(table))
        quickly = BatchStatementProjector(STREAM, playing(table))
        for row, event in zip(rows_of(table), table.events, strict=True):
            entry = Entry(*row)
            lines = list(books.project(entry, event))
            if entry.kind in KINDS_WITHOUT_ROWS:
                assert lines == []
            else:
                rows = quickly.project_rows(entry, event)
                assert rows == [
                    (line.subject, line.version, line.place, line.at, line.data) for line in lines
                ]
                assert quickly.is_between_rounds == books.is_between_rounds
                assert quickly.is_resumable == books.is_resumable
            seen[entry.kind] += len(lines) or entry.kind in KINDS_WITHOUT_ROWS
    assert min(seen[kind] for kind in KINDS_WITHOUT_ROWS) > 0
    assert min(seen[kind] for kind in ("LosersCollected", "WinnersPaid", "RoundVoided")) > 30


# --- bets that are none -------------------------------------------------------------------------

BY_CAT = Actor(id="cat", role="player")
BET = BetPlaced(player="cat", spot="big", area="", amount=5, number=99, manner="self", by=BY_CAT)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "record",
    [
        NewEntry("BetPlaced", 1, b"{"),
        NewEntry("BetPlaced", 1, encode(BET).data.replace(b"big", b"b\xffg")),
        NewEntry("BetPlaced", 1, encode(BET).data.replace(b":5,", b':"5",')),
        NewEntry("BetPlaced", 1, encode(FloatFilled(amount=5, by=SUPERVISOR)).data),
        NewEntry("BetPlaced", 1, encode(BET).data + b"," + encode(BET).data),
        NewEntry("BetPlaced", 9, encode(BET).data),
        NewEntry("KeyPressed", 1, encode(BET).data),
    ],
    ids=["cut", "no text", "wrong type", "another event", "two", "unknown schema", "another kind"],
)
async def test_an_entry_that_is_no_bet_is_found_among_bets(
    record: NewEntry, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    store.delete_derived_data()  # among so few entries a snapshot has each of them folded by itself
    append(store, STREAM, BET)
    head, key = store.head(STREAM), "forged"
    entries, _ = extend_stream(head, STREAM, 2**50, hash_cause("x", key, bytes(32)), [record])
    store.write([Proposal("x", key, bytes(32), (Append(STREAM, head, entries),))])
    append(store, STREAM, BET)
    with pytest.raises(TamperedData) as told:
        decode(entries[0])

    assert findings(store, tmp_path) == [str(told.value)]
    assert told.value.where == f"{STREAM} version {head.version + 1}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("bet", "problem"),
    [
        ({"amount": 9_999}, "stack/cat went below zero, to -"),
        ({"amount": -5}, "a posting of -5 from stack/cat to layout"),
        ({"player": "nobody"}, "'nobody'"),
    ],
)
async def test_a_bet_that_nobody_could_place_is_found_among_bets(
    bet: dict[str, Any], problem: str, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    store.delete_derived_data()
    append(store, STREAM, BET)
    append(store, STREAM, msgspec.structs.replace(BET, **bet))
    version = store.head(STREAM).version
    append(store, STREAM, BET)

    (found,) = findings(store, tmp_path)
    cannot = "cannot follow from the entries before"
    assert found.startswith(f"{STREAM} version {version}: {cannot}: {problem}")


@pytest.mark.anyio
@pytest.mark.parametrize("after", [0, 1, 2])
async def test_a_snapshot_made_between_two_bets_is_compared(
    after: int, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    append(store, STREAM, BET)
    snapshot = load_stream(store, STREAM).take_snapshot()
    for _ in range(after):
        append(store, STREAM, BET)
    store.save_snapshot(snapshot)
    assert findings(store, tmp_path) == []

    other = snapshot.data.replace(b"SGD", b"NZD")
    store.save_snapshot(msgspec.structs.replace(snapshot, data=other))
    where = f"snapshot of {STREAM} at version {snapshot.head.version}"
    assert findings(store, tmp_path) == [f"{where}: differs from the replayed state"]


# --- what is kept beside the log ----------------------------------------------------------------


@pytest.mark.anyio
async def test_a_line_whose_text_is_none_is_found(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run("UPDATE lines SET subject = CAST(x'ff' AS TEXT) WHERE stream = 'table/1' AND place = 1")

    found = findings(store, tmp_path)
    assert found
    assert all(each.startswith("books of table/1 version") for each in found)
    assert all(each.endswith(": line 1 does not follow from the entries") for each in found)


@pytest.mark.anyio
async def test_a_snapshot_of_no_version_is_found(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    store.save_snapshot(load_stream(store, STREAM).take_snapshot())
    with tampering(store.path, lax=True) as run:
        run("UPDATE snapshots SET version = 'last' WHERE stream = 'table/1'")

    assert "snapshot of table/1: has an invalid version: 'last'" in findings(store, tmp_path)
