"""The audit completes and reports the place of any change made in the database."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.house.house_driver import People
from tests.house.test_auditor import append, findings, play, report
from tests.log.inspection import tampering
from threedice.account.commands import Deposit, OpenAccount
from threedice.account.events import Withdrawn
from threedice.house.audit.replay import find_difference
from threedice.house.house import House
from threedice.house.live_stream import load_stream
from threedice.house.reports.projection import VIEW
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import GameRegistry, fold_of
from threedice.table.events import BetWithdrawn, LosersCollected

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


async def test_audit_reports_other_damage_besides_a_damaged_entry(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    whole = report(store, tmp_path)
    with tampering(store.path) as run:
        run("UPDATE entries SET data = x'00' WHERE stream = 'cage/cat' AND version = 2")
        run("UPDATE lines SET data = x'00' WHERE stream = 'table/1' AND version = 2 AND place = 0")
        run("UPDATE games SET canonical = x'00'")

    found = report(store, tmp_path)
    places = [finding.where for finding in found.findings]
    assert "cage/cat version 2" in places
    assert any(place.startswith("game ") for place in places)
    assert found.entries == whole.entries
    assert found.checkpoints == whole.checkpoints


@pytest.mark.parametrize(
    "change",
    [
        ("game_hash", "0" * 64),
        ("round", 7),
        ("amount", 1_000_000),
        ("bets", [["nowhere", "nobody", 5]]),
    ],
    ids=["game", "round", "amount", "bets"],
)
async def test_audit_reports_one_finding_for_an_entry_changed_in_place(
    change: tuple[str, object], store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    name, value = change
    entries = [each for each in store.scan("table/1") if b'"%b":' % name.encode() in each.data]
    for entry in (entries[0], entries[len(entries) // 2], entries[-1]):
        data = msgspec.json.encode(msgspec.json.decode(entry.data) | {name: value})
        where = (entry.stream, entry.version)
        with tampering(store.path) as run:
            run("UPDATE entries SET data = ? WHERE stream = ? AND version = ?", data, *where)

        assert findings(store, tmp_path) == [
            f"table/1 version {entry.version}: its hash is not that of its columns and of the"
            " entry before it"
        ]
        with tampering(store.path) as run:
            run("UPDATE entries SET data = ? WHERE stream = ? AND version = ?", entry.data, *where)


async def test_audit_finds_a_withdrawal_of_more_chips_than_the_bet_has(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    append(store, "table/1", BetWithdrawn(player="cat", spot="big", area="", amount=900))

    (found,) = findings(store, tmp_path)
    assert found.startswith(f"table/1 version {store.head('table/1').version}: cannot follow")


async def test_audit_finds_an_account_overdrawn_by_a_forged_withdrawal(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    append(store, "cage/cat", Withdrawn(player="cat", amount=5_000, by="cashier"))
    store.delete_derived_data()

    version = store.head("cage/cat").version
    (found,) = findings(store, tmp_path)
    assert found.startswith(f"cage/cat version {version}: cannot follow from the entries before")
    assert found.endswith("account/cat went below zero, to -4800")


@pytest.mark.parametrize("version", [0, -3])
async def test_audit_finds_a_snapshot_whose_version_is_not_positive(
    version: int, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run("UPDATE snapshots SET version = ? WHERE stream = 'table/1'", version)

    assert findings(store, tmp_path) == [f"snapshot of table/1: has an invalid version: {version}"]


async def test_audit_checks_every_snapshot_of_a_stream(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run(
            "INSERT INTO snapshots SELECT stream, 'zzz', form, version, hash, data FROM snapshots"
            " WHERE stream = 'cage/cat'"
        )
        run("UPDATE snapshots SET data = x'80' WHERE stream = 'cage/cat' AND name = 'state'")

    assert [each.partition(":")[0] for each in findings(store, tmp_path)] == [
        "snapshot of cage/cat",
        f"snapshot of cage/cat at version {store.head('cage/cat').version}",
    ]


async def test_audit_finds_statements_that_end_within_a_settlement(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    collected = next(
        entry for entry in store.scan("table/1") if entry.kind == LosersCollected.__name__
    )
    with tampering(store.path) as run:
        run("DELETE FROM lines WHERE stream = 'table/1' AND version > ?", collected.version)
        run("UPDATE views SET version = ? WHERE stream = 'table/1'", collected.version)

    assert findings(store, tmp_path) == [
        f"books of table/1: end at version {collected.version}, in the middle of a settlement"
    ]


async def test_audit_finds_statements_whose_version_is_not_a_number(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path, lax=True) as run:
        run("UPDATE views SET version = 'all of it' WHERE stream = 'table/1' AND view = ?", VIEW)

    assert "books of table/1: have an invalid version: 'all of it'" in findings(store, tmp_path)


async def test_audit_finds_every_changed_byte_of_a_snapshot(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    for stream in ("table/1", "cage/cat"):
        snapshot = store.snapshot(stream, "state")
        assert snapshot is not None
        fold, state = fold_of(stream), load_stream(store, stream, from_snapshot=False).durable
        assert find_difference(snapshot.data, fold, state) == ""

        for place, bit in product(range(len(snapshot.data)), range(8)):
            changed = bytearray(snapshot.data)
            changed[place] ^= 1 << bit
            assert find_difference(bytes(changed), fold, state), f"bit {bit} of byte {place}"


async def test_audit_finds_a_key_of_a_snapshot_that_no_state_has(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    snapshot = store.snapshot("table/1", "state")
    assert snapshot is not None
    renamed = snapshot.data.replace(b"interrupted", b"interruptee")
    assert renamed != snapshot.data

    store.save_snapshot(msgspec.structs.replace(snapshot, data=renamed))

    assert findings(store, tmp_path) == [
        f"snapshot of table/1 at version {snapshot.head.version}: has bytes that do not follow from"
        " the replayed state"
    ]


async def test_statements_go_on_alike_from_every_version_that_the_audit_does_not_object_to(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    games, unnoticed = GameRegistry(store), []
    reached, last = store.projected_version(VIEW, "table/1"), store.head("table/1").version
    before = store.lines(VIEW, stream="table/1")

    for version in {*range(-1, last + 2)} - {reached}:
        with tampering(store.path) as run:
            run("UPDATE views SET version = ? WHERE stream = 'table/1'", version)
        if not findings(store, tmp_path):
            unnoticed.append(version)
            update_statements(store, "table/1", games.load_pinned)
            assert store.lines(VIEW, stream="table/1") == before
            assert findings(store, tmp_path) == []

    assert unnoticed  # docs/security.md says that these do no harm


async def test_house_starts_when_a_snapshot_is_unreadable(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        people = People(house.command_handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.send(Deposit(by="cashier", player="cat", amount=500))
    with tampering(tmp_path / "house.sqlite") as run:
        run("UPDATE snapshots SET data = x'c1'")

    async with House(url) as house:
        assert not house.damaged
        assert (await house.command_handler.account("cat")).balance == 500


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE stream = 'table/1' AND version = (SELECT max(version)"
        " FROM entries WHERE stream = 'table/1')",
        "UPDATE entries SET data = x'00' WHERE stream = 'table/1' AND version = 2",
        "UPDATE games SET canonical = x'00'",
    ],
    ids=["end", "entry", "game"],
)
async def test_house_starts_without_a_table_whose_stream_is_damaged(
    statement: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 50 on big")
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
    with tampering(tmp_path / "house.sqlite") as run:
        run(statement)
        run("DELETE FROM snapshots")

    async with House(url) as house:
        assert list(house.damaged) == ["table/1"]
        assert (await house.command_handler.account("cat")).balance == 0


@pytest.mark.parametrize("column", ["version", "place", "at"])
async def test_audit_finds_statement_columns_stored_as_floats(
    store: SqliteStore, tmp_path: Path, column: str
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run("PRAGMA writable_schema = ON")
        run("CREATE TEMP TABLE kept AS SELECT sql FROM sqlite_master WHERE name = 'lines'")
        run(
            "UPDATE sqlite_master SET sql = replace(replace(sql, ' STRICT', ''), ' INTEGER',"
            " ' BLOB') WHERE name = 'lines'"
        )
        run("PRAGMA writable_schema = RESET")
        run(f"UPDATE lines SET {column} = CAST({column} AS REAL) WHERE subject = 'player/ann'")
        run("PRAGMA writable_schema = ON")
        run("UPDATE sqlite_master SET sql = (SELECT sql FROM kept) WHERE name = 'lines'")

    (finding,) = findings(store, tmp_path)
    assert finding == f"the database: non-INTEGER value in lines.{column}"


async def test_audit_finds_the_version_of_an_unknown_view(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run("INSERT INTO views VALUES ('mine', 'table/1', 3)")

    assert findings(store, tmp_path) == ["books of table/1: unknown view 'mine'"]
