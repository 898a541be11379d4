"""Entries that another program wrote into the database: found, refused, and accepted by people."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import astuple

from tests.house.house_driver import QUICK, ManualClock, People, server_state
from tests.house.intruder import Intruder
from tests.waiting import TIMEOUT_SECONDS
from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.account.events import AccountOpened, Deposited
from threedice.errors import (
    EntriesMissing,
    InvalidInput,
    InvariantBroken,
    OperatingFailure,
    TamperedData,
)
from threedice.house import house as house_module
from threedice.house.codec import decode
from threedice.house.events import EntriesAccepted, WritingReleased
from threedice.house.house import House
from threedice.house.reports.projection import player_subject
from threedice.house.stream_state import HOUSE_STREAM, encode_state, fold_of
from threedice.log.proof.checkpoints import decode_checkpoint
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'house.sqlite'}"
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.fresh()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'house.sqlite'}"


@pytest.fixture(autouse=True)
def no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house_module, "STATEMENT_DELAY_SECONDS", 0.0)


async def open_account(house: House, player: str = "ann", amount: int = 100) -> None:
    people = People(house.command_handler, "")
    await people.send(OpenAccount(player=player, currency="SGD", by="cashier"))
    await people.send(Deposit(player=player, amount=amount, by="cashier"))


async def balance(house: House, player: str = "ann") -> int:
    return (await house.command_handler.account(player)).balance


def gift(amount: int = 900_000, player: str = "ann") -> Deposited:
    return Deposited(player=player, amount=amount, by="cashier")


async def wait_until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def signed_heads(url: str) -> dict[str, int]:
    """Return the versions that the checkpoints of a house have signed."""
    versions: dict[str, int] = {}
    with closing(open_store(url, tables="require")) as store:
        checkpoints = store.checkpoints()
    for checkpoint in checkpoints:
        for stream, (version, _) in decode_checkpoint(checkpoint).heads.items():
            versions[stream] = version
    return versions


# --- refused --------------------------------------------------------------------------------------


async def test_deposit_forged_while_the_house_is_stopped_is_refused(
    url: str, tmp_path: Path
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        await open_account(house, "bob")
    Intruder(url).append("cage/ann", gift())

    async with House(url, state_dir=tmp_path) as house:
        assert "were not all written by this house" in house.damaged["cage/ann"]
        with pytest.raises(InvariantBroken, match="cage/ann"):
            await balance(house)
        await People(house.command_handler, "").send(Deposit(player="bob", amount=5, by="cashier"))
        assert await balance(house, "bob") == 105
    assert signed_heads(url)["cage/ann"] == 2
    assert signed_heads(url)["cage/bob"] == 3


async def test_deposit_forged_while_the_house_runs_is_refused_at_the_next_command(
    url: str, tmp_path: Path
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        await open_account(house, "bob")
        Intruder(url).append("cage/ann", gift())

        people = People(house.command_handler, "")
        for _ in range(2):
            with pytest.raises((TamperedData, InvariantBroken), match="cage/ann"):
                await people.send(Deposit(player="ann", amount=5, by="cashier"))
        assert house.damaged.keys() == {"cage/ann"}
        await people.send(Deposit(player="bob", amount=5, by="cashier"))
    assert signed_heads(url).get("cage/ann", 0) <= 2


async def test_forged_entry_raises_an_alarm_although_nobody_uses_the_account(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 0.02)
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        Intruder(url).append("cage/ann", gift())

        await wait_until(lambda: "cage/ann" in house.damaged)
        await wait_until(lambda: not house.background_error)


async def test_forged_entry_raises_an_alarm_at_the_next_checkpoint(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
        Intruder(sqlite_url).append("cage/ann", gift())
        house.note_change("cage/bob", is_urgent=True)

        await wait_until(lambda: "cage/ann" in house.damaged)


@pytest.mark.parametrize("running", [True, False])
async def test_forged_account_that_never_existed_is_refused(
    running: bool, sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
        opened = AccountOpened(player="eve", currency="SGD", by="cashier")
        if running:
            Intruder(sqlite_url).append("cage/eve", opened, gift(player="eve"))
            with pytest.raises(TamperedData, match="cage/eve"):
                await balance(house, "eve")
    if not running:
        Intruder(sqlite_url).append("cage/eve", opened, gift(player="eve"))
    async with House(sqlite_url, state_dir=tmp_path) as house:
        assert house.damaged.keys() == {"cage/eve"}
    assert "cage/eve" not in signed_heads(sqlite_url)


@pytest.mark.parametrize("running", [True, False])
async def test_entry_beyond_its_head_is_refused_and_halts_no_other_stream(
    running: bool, url: str, tmp_path: Path
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        await open_account(house, "bob")
        head = Intruder(url).head("cage/ann")

        def forge() -> None:
            intruder = Intruder(url)
            intruder.append("cage/ann", gift())
            sql = "UPDATE streams SET version = ?, hash = ? WHERE stream = 'cage/ann'"
            intruder.execute((sql, (head.version, head.hash)))

        if running:
            forge()
            people = People(house.command_handler, "")
            deposits = [Deposit(player=name, amount=5, by="cashier") for name in ("ann", "bob")]
            ann, bob = await asyncio.gather(*map(people.send, deposits), return_exceptions=True)
            assert "after version 2, its head" in str(ann)
            assert not isinstance(bob, BaseException)
            assert house.damaged.keys() == {"cage/ann"}
            assert not house.command_handler.suspension_reason
    if not running:
        forge()
    async with House(url, state_dir=tmp_path) as house:
        with pytest.raises(TamperedData, match="after version 2, its head"):
            await balance(house)
        await People(house.command_handler, "").send(Deposit(player="bob", amount=5, by="cashier"))


async def test_dealer_of_a_table_with_foreign_entries_stands_still(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock = ManualClock()
    async with House(sqlite_url, state_dir=tmp_path, runtime=clock) as house:
        await People(house.command_handler).open(timing=QUICK)
        await People(house.command_handler, "2").open(timing=QUICK)
    stored = Intruder(sqlite_url)
    event = decode(house_entries(sqlite_url, "table/1")[-1])
    head = stored.append("table/1", event)

    async with House(sqlite_url, state_dir=tmp_path, runtime=clock) as house:
        assert house.damaged.keys() == {"table/1"}
        assert house.dealers.keys() == {"2"}
        clock.move(100)
        await wait_until(lambda: not house.dealers["2"].error)
    assert stored.head("table/1") == head


def house_entries(url: str, stream: str) -> list[Any]:
    with closing(open_store(url, tables="require")) as store:
        return store.read(stream)


async def test_feed_does_not_publish_foreign_entries(sqlite_url: str, tmp_path: Path) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
        entries = house.feed.subscribe("cage/ann")
        assert [entry.version for entry in await anext(entries)] == [1, 2]
        Intruder(sqlite_url).append("cage/ann", gift())

        waiting = asyncio.ensure_future(anext(entries))
        for _ in range(3):
            house.feed.notify_versions({"cage/ann": 3})
            house.feed.poll_now()
            await asyncio.sleep(0.05)
        assert not waiting.done()

        house.refresh_soon()
        await wait_until(lambda: "cage/ann" in house.damaged)
        await house.accept_entries("cage/ann", "sue", "a correction of the bank")
        assert [entry.version for entry in await waiting] == [3]


async def test_statements_leave_foreign_entries_out(sqlite_url: str, tmp_path: Path) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
    Intruder(sqlite_url).append("cage/ann", gift())
    async with House(sqlite_url, state_dir=tmp_path) as house:
        house.note_change("cage/ann", is_urgent=True)
        await wait_until(lambda: not house._changed)
        reader = await house.command_handler.streams.statements("cage/ann")
        rows = await asyncio.to_thread(reader.rows, subject=player_subject("ann"))
        assert [row.row.amount for row in rows] == [100]


async def test_snapshot_that_the_house_did_not_write_is_ignored(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
    intruder, fold = Intruder(sqlite_url), fold_of("cage/ann")
    select = "SELECT data FROM snapshots WHERE stream = 'cage/ann'"
    ((data,),) = intruder.execute((select, ()))
    state = fold.decode_state(data)
    state.balance = 900_000
    forge = "UPDATE snapshots SET data = ? WHERE stream = 'cage/ann'"
    intruder.execute((forge, (encode_state(state),)))

    async with House(sqlite_url, state_dir=tmp_path) as house:
        assert await balance(house) == 100


# --- entries that were removed --------------------------------------------------------------------


def head_row(url: str) -> tuple[int, bytes, bytes]:
    """Return version, hash and MAC of the head of Ann's account."""
    ((version, digest, mac),) = Intruder(url).execute(
        ("SELECT version, hash, mac FROM streams WHERE stream = 'cage/ann'", ())
    )
    return version, digest, mac


def put_back(url: str, row: tuple[int, bytes, bytes] | None) -> None:
    """Put Ann's account back to an earlier head, or remove it; leave no trace of later entries."""
    version = row[0] if row else 0
    after = "FROM {} WHERE stream = 'cage/ann' AND version > ?"
    head = (
        ("UPDATE streams SET version = ?, hash = ?, mac = ? WHERE stream = 'cage/ann'", row)
        if row
        else ("DELETE FROM streams WHERE stream = 'cage/ann'", ())
    )
    Intruder(url).execute(
        ("DELETE " + after.format("entries"), (version,)),
        ("DELETE " + after.format("lines"), (version,)),
        ("DELETE FROM snapshots WHERE stream = 'cage/ann'", ()),
        ("UPDATE views SET version = ? WHERE stream = 'cage/ann'", (version,)),
        ("DELETE FROM answers", ()),
        head,
    )


def deposit(player: str, amount: int = 5) -> Deposit:
    return Deposit(player=player, amount=amount, by="cashier")


@pytest.mark.parametrize("is_removed", [False, True])
async def test_account_put_back_behind_its_signed_head_stands_still_after_a_restart(
    is_removed: bool, url: str, tmp_path: Path
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        await open_account(house, "bob")
        row = head_row(url)
        await People(house.command_handler, "").send(
            Withdraw(player="ann", amount=100, by="cashier")
        )
    assert signed_heads(url)["cage/ann"] == 3
    put_back(url, None if is_removed else row)

    for amount in (105, 110):
        async with House(url, state_dir=tmp_path) as house:
            assert "restore a backup" in house.damaged["cage/ann"]
            assert house.damaged.keys() == house.foreign == {"cage/ann"}
            people = People(house.command_handler, "")
            with pytest.raises(InvariantBroken, match="cage/ann"):
                await people.send(Withdraw(player="ann", amount=100, by="cashier"))
            await people.send(deposit("bob"))
            assert await balance(house, "bob") == amount
            with pytest.raises(EntriesMissing, match="threedice restore"):
                await house.accept_entries("cage/ann", "sue", "why not")
            await wait_until(lambda: not house.background_error)
    signed = signed_heads(url)
    assert (signed["cage/ann"], signed["cage/bob"]) == (3, 4)


@pytest.mark.parametrize("is_used", [False, True])
async def test_account_put_back_under_a_running_house_stands_still_also_after_a_restart(
    is_used: bool, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_used:
        monkeypatch.setattr(house_module, "CHECKPOINT_SECONDS", 0.02)
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        await open_account(house, "bob")
        people = People(house.command_handler, "")
        row = head_row(url)
        await people.send(deposit("ann"))
        put_back(url, row)

        if is_used:
            with pytest.raises((TamperedData, InvariantBroken), match="cage/ann"):
                await people.send(deposit("ann"))
        await wait_until(lambda: "cage/ann" in house.damaged)
        await people.send(deposit("bob"))
        with pytest.raises(EntriesMissing, match="threedice restore"):
            await house.accept_entries("cage/ann", "sue", "why not")
    assert signed_heads(url)["cage/bob"] == 3
    assert signed_heads(url)["cage/ann"] == 3  # the head that the house wrote, not the one put back
    async with House(url, state_dir=tmp_path) as house:
        assert "cage/ann" in house.damaged


async def test_account_that_another_program_continued_from_an_old_head_stands_still(
    url: str, tmp_path: Path
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
        row = head_row(url)
        await People(house.command_handler, "").send(deposit("ann"))
    put_back(url, row)
    Intruder(url).append("cage/ann", gift(7), gift(8))

    async with House(url, state_dir=tmp_path) as house:
        assert "has another version 3 than before" in house.damaged["cage/ann"]
        with pytest.raises(EntriesMissing):
            await house.accept_entries("cage/ann", "sue", "why not")
    assert signed_heads(url)["cage/ann"] == 3


async def test_account_goes_on_when_its_entries_are_put_in_place_again(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
        row = head_row(sqlite_url)
        await People(house.command_handler, "").send(deposit("ann"))
        later, entry = head_row(sqlite_url), house_entries(sqlite_url, "cage/ann")[2]
        put_back(sqlite_url, row)
        house.refresh_soon()
        await wait_until(lambda: "cage/ann" in house.damaged)

        Intruder(sqlite_url).execute(
            ("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(entry)),
            ("UPDATE streams SET version = ?, hash = ?, mac = ? WHERE stream = 'cage/ann'", later),
        )
        house.refresh_soon()
        await wait_until(lambda: not house.damaged)
        assert await balance(house) == 105


# --- accepted after a crash -----------------------------------------------------------------------


async def test_tail_that_the_house_wrote_is_accepted_and_signed_after_a_crash(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
    async with House(url, state_dir=tmp_path) as house:
        monkeypatch.setattr(house, "_update_and_sign", lambda *_: {})  # as if it were killed
        await People(house.command_handler, "").send(Deposit(player="ann", amount=7, by="cashier"))
    assert signed_heads(url)["cage/ann"] == 2

    async with House(url, state_dir=tmp_path) as house:
        assert await balance(house) == 107
        assert house.damaged == {}
    assert signed_heads(url)["cage/ann"] == 3


async def test_entries_of_another_server_are_accepted(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
    ):
        await open_account(one)
        for amount in range(1, 6):
            deposit = Deposit(player="ann", amount=amount, by="cashier")
            await People((one, two)[amount % 2].command_handler, "").send(deposit)
        for house in (one, two):
            house.command_handler.streams.mark_all_changed()
            assert await balance(house) == 115
        assert one.damaged == two.damaged == {}


# --- released -------------------------------------------------------------------------------------


async def test_released_entries_are_accepted_recorded_and_signed(url: str, tmp_path: Path) -> None:
    async with House(url, state_dir=tmp_path) as house:
        await open_account(house)
    forged = Intruder(url).append("cage/ann", gift(5), gift(6))
    async with House(url, state_dir=tmp_path) as house:
        await house.accept_entries("cage/ann", "sue", "a correction of the bank")

        assert house.damaged == {}
        assert await balance(house) == 111
        (entry,) = house.command_handler.store.read(HOUSE_STREAM)
        assert decode(entry) == EntriesAccepted(
            stream="cage/ann",
            first=3,
            version=4,
            hash=forged.hash.hex(),
            reason="a correction of the bank",
            by="sue",
        )
    assert signed_heads(url)["cage/ann"] == 4
    async with House(url, state_dir=tmp_path) as house:
        assert house.damaged == {}


async def test_release_at_one_server_lets_the_others_go_on(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "one")) as one,
        House(url, state_dir=server_state(tmp_path, "two")) as two,
    ):
        await open_account(one)
        Intruder(url).append("cage/ann", gift(5))
        for house in (one, two):
            house.refresh_soon()
            await wait_until(lambda: "cage/ann" in house.damaged)  # noqa: B023

        await one.accept_entries("cage/ann", "sue", "a correction of the bank")

        await wait_until(lambda: not two.damaged)
        assert await balance(two) == 105


async def test_foreign_entries_of_the_house_stream_are_released_by_the_record_itself(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
    Intruder(sqlite_url).append(HOUSE_STREAM, WritingReleased(cause="x", reason="y", by="eve"))
    async with House(sqlite_url, state_dir=tmp_path) as house:
        assert house.damaged.keys() == {HOUSE_STREAM}
        await house.accept_entries(HOUSE_STREAM, "sue", "an experiment")
        assert house.damaged == {}
        kinds = [entry.kind for entry in house.command_handler.store.read(HOUSE_STREAM)]
        assert kinds == ["WritingReleased", "EntriesAccepted"]
    async with House(sqlite_url, state_dir=tmp_path) as house:
        assert house.damaged == {}


async def test_release_of_a_stream_without_foreign_entries_or_reason_is_refused(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
        with pytest.raises(OperatingFailure, match="nothing to release"):
            await house.accept_entries("cage/ann", "sue", "why not")
    Intruder(sqlite_url).append("cage/ann", gift(5))
    async with House(sqlite_url, state_dir=tmp_path) as house:
        with pytest.raises(InvalidInput, match="reason"):
            await house.accept_entries("cage/ann", "sue", " ")
        assert house.command_handler.store.read(HOUSE_STREAM) == []


async def test_release_of_entries_that_break_the_chain_is_refused(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with House(sqlite_url, state_dir=tmp_path) as house:
        await open_account(house)
    intruder = Intruder(sqlite_url)
    intruder.append("cage/ann", gift(5))
    intruder.execute(("UPDATE entries SET at = 5 WHERE stream = ? AND version = 3", ("cage/ann",)))
    async with House(sqlite_url, state_dir=tmp_path) as house:
        with pytest.raises(InvariantBroken, match="breaks the chain"):
            await house.accept_entries("cage/ann", "sue", "a correction of the bank")
        assert house.damaged.keys() == {"cage/ann"}
        assert house.command_handler.store.read(HOUSE_STREAM) == []
