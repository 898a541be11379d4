"""The audit of runs of bets, which it replays in one step, and of data derived from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.house.test_auditor import append, findings, play
from tests.log.inspection import tampering
from tests.table.table_driver import SUPERVISOR
from threedice.errors import TamperedData
from threedice.house.codec import decode, encode
from threedice.house.live_stream import load_stream
from threedice.log.entry import NewEntry, extend_stream, hash_cause
from threedice.log.records import Append, Proposal
from threedice.table.commands import Actor
from threedice.table.events import BetPlaced, FloatFilled

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.stores.sqlite import SqliteStore

STREAM = "table/1"


# --- entries within a run of bets ---------------------------------------------------------------

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
    ids=[
        "truncated",
        "not-utf8",
        "wrong-type",
        "other-event",
        "two-events",
        "unknown-schema",
        "other-kind",
    ],
)
async def test_audit_finds_an_undecodable_entry_in_a_run_of_bets(
    record: NewEntry, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    store.delete_derived_data()  # a snapshot within a short run has its bets replayed one by one
    append(store, STREAM, BET)
    head, key = store.head(STREAM), "forged"
    entries, _ = extend_stream(head, STREAM, 2**50, hash_cause("x", key, bytes(32)), [record])
    store.write([Proposal("x", key, bytes(32), (Append(STREAM, head, entries),))])
    append(store, STREAM, BET)
    with pytest.raises(TamperedData) as error:
        decode(entries[0])

    assert findings(store, tmp_path) == [str(error.value)]
    assert error.value.where == f"{STREAM} version {head.version + 1}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("bet", "problem"),
    [
        ({"amount": 9_999}, "stack/cat went below zero, to -"),
        ({"amount": -5}, "a posting of -5 from stack/cat to layout"),
        ({"player": "nobody"}, "'nobody'"),
    ],
)
async def test_audit_finds_an_impossible_bet_in_a_run_of_bets(
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
async def test_audit_compares_a_snapshot_taken_within_a_run_of_bets(
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


# --- derived data -------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_audit_finds_a_statement_row_whose_subject_is_not_utf8(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run("UPDATE lines SET subject = CAST(x'ff' AS TEXT) WHERE stream = 'table/1' AND place = 1")

    found = findings(store, tmp_path)
    assert found
    assert all(each.startswith("books of table/1 version") for each in found)
    assert all(each.endswith(": line 1 does not follow from the entries") for each in found)


@pytest.mark.anyio
async def test_audit_finds_a_snapshot_whose_version_is_not_a_number(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    store.save_snapshot(load_stream(store, STREAM).take_snapshot())
    with tampering(store.path, lax=True) as run:
        run("UPDATE snapshots SET version = 'last' WHERE stream = 'table/1'")

    assert "snapshot of table/1: has an invalid version: 'last'" in findings(store, tmp_path)
