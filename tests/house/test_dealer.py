"""Automatic tables: timers, sealed dice, lost seeds and shooters."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.house_driver import (
    DEALER,
    MANAGER,
    QUICK,
    SUPERVISOR,
    ManualClock,
    People,
    TableWatch,
    is_betting_open,
    server_state,
    start_round,
)
from threedice.errors import Refusal
from threedice.house.codec import decode
from threedice.house.dealer.sealed_dice import draw_dice, seed_commitment
from threedice.house.events import PlayersNotified, SeedCommitted, SeedLost, SeedRevealed
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.events import BettingClosed, ResultCalled, RoundVoided

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from threedice.house.events import AnyStreamEvent
    from threedice.house.stream_state import HouseTable

pytestmark = pytest.mark.anyio

GAMES = [
    "sg-rws-tai-sai-v6/a",
    "sg-rws-tai-sai-open-cover-v5/c",
    "nz-tai-sai-2008/1",
    "macau-sic-bo/main",
    "crown-and-anchor/main",
]


def events(store: MemoryStore) -> list[AnyStreamEvent]:
    return [decode(entry) for entry in store.scan("table/1")]


@pytest.mark.parametrize("game", GAMES)
async def test_dealer_plays_rounds_to_their_end_by_the_clock(game: str, tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = People(house.command_handler), TableWatch(house)
        await people.open(game, timing=QUICK)
        for number in range(1, 4):
            clock.move(QUICK.closing_seconds)
            await watch.until("1", partial(is_betting_open, number))
            house_table = await house.command_handler.table("1")
            game_now = house.command_handler.game(house_table)
            assert game_now is not None
            await people.bet("ann", 100, next(iter(game_now.boxes)))
            clock.move(QUICK.betting_seconds)
            await watch.until("1", lambda t: "close-betting" in t.table.current.done)
            clock.move(QUICK.closing_seconds)
            await watch.until("1", lambda t: t.table.current.result is not None)
            clock.move(QUICK.showing_seconds)
            await watch.until("1", lambda t: t.table.round is None)
        assert len((await house.command_handler.table("1")).table.settled) == 3
    check_dice(store)


def check_dice(store: MemoryStore) -> None:
    """Check that every result follows from the seed committed before and from every bet."""
    entries = list(store.scan("table/1"))
    sealed, head, seed = "", b"", b""
    results = 0
    for entry in entries:
        match decode(entry):
            case SeedCommitted() as event:
                sealed = event.commitment
            case BettingClosed():
                head = entry.hash
            case SeedRevealed() as event:
                seed = bytes.fromhex(event.seed)
                assert seed_commitment(seed) == sealed
            case ResultCalled() as event:
                assert event.dice == draw_dice(seed, head)
                results += 1
            case _:
                pass
    assert results


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("closed", [False, True])
async def test_round_whose_seed_is_lost_is_voided_and_counted(
    game: str, closed: bool, tmp_path: Path
) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await start_round(house, clock, game)
        if closed:
            clock.move(QUICK.betting_seconds)
            await watch.until("1", lambda t: "close-betting" in t.table.current.done)

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        house_table = await TableWatch(house).until("1", lambda t: t.seeds_lost == 1)
        assert house_table.table.seats["ann"].stack == 1000

    stored = events(store)
    lost = next(i for i, event in enumerate(stored) if isinstance(event, SeedLost))
    assert isinstance(stored[lost + 1], RoundVoided)
    notices = [each for each in stored[lost:] if isinstance(each, PlayersNotified)]
    assert notices[0] == PlayersNotified(round=1, players=["ann"], outcome="void")


@pytest.mark.parametrize("game", GAMES)
async def test_round_with_called_dice_is_settled_after_a_restart(game: str, tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await start_round(house, clock, game)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.called is not None)
    called = next(each for each in events(store) if isinstance(each, ResultCalled))

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        watch = TableWatch(house)
        clock.move(QUICK.showing_seconds)
        house_table = await watch.until("1", lambda t: t.table.round is None)
        assert list(house_table.table.settled) == [1]
        assert house_table.seeds_lost == 0

    assert [each.dice for each in events(store) if isinstance(each, ResultCalled)] == [called.dice]
    notices = [each for each in events(store) if isinstance(each, PlayersNotified)]
    assert notices == [PlayersNotified(round=1, players=["ann"], outcome="goes on")]


async def test_second_server_does_not_deal_a_table_leased_to_the_first(
    tmp_path: Path,
) -> None:
    store, clock = MemoryStore(), ManualClock()
    one = House("memory:", store=store, state_dir=server_state(tmp_path, "one"), runtime=clock)
    async with one as first:
        people, watch = await start_round(first, clock)
        async with House(
            "memory:", store=store, state_dir=server_state(tmp_path, "two"), runtime=clock
        ) as second:
            del people
            clock.move(QUICK.betting_seconds)
            await watch.until("1", lambda t: "close-betting" in t.table.current.done)
            clock.move(QUICK.closing_seconds)
            await watch.until("1", lambda t: t.table.current.called is not None)
            clock.move(QUICK.showing_seconds)
            await watch.until("1", lambda t: t.table.round is None)
            assert (await second.command_handler.table("1")).seeds_lost == 0
    check_dice(store)


async def test_human_dealer_is_refused_at_an_automatic_table(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, _ = await start_round(house, clock)

        with pytest.raises(Refusal) as refused:
            await people.play("close betting")

        assert refused.value.code == "floor/dealt-by-house"


async def test_automatic_table_waits_for_a_fill_when_its_float_cannot_pay(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = People(house.command_handler), TableWatch(house)
        await people.open(
            "crown-and-anchor/main", timing=QUICK, stacks={"ann": 10_000}, float_amount=10_000
        )
        for number in range(1, 101):  # until Ann wins
            clock.move(QUICK.closing_seconds)
            await watch.until("1", partial(is_betting_open, number))
            await people.bet("ann", 100, "single:crown")
            clock.move(QUICK.betting_seconds)
            await watch.until("1", lambda t: "close-betting" in t.table.current.done)
            clock.move(QUICK.closing_seconds)
            await watch.until("1", lambda t: t.table.current.called is not None)
            clock.move(QUICK.showing_seconds)
            async with asyncio.timeout(60):
                while (await house.command_handler.table("1")).table.round is not None:
                    if house.dealers["1"].error:
                        break
                    await asyncio.sleep(0.01)
            if house.dealers["1"].error:
                break
            await people.play("credit 100")  # the float is empty again

        assert "float" in house.dealers["1"].error

        await people.play("fill 5000")
        clock.move(QUICK.showing_seconds)
        house_table = await watch.until("1", lambda t: t.table.round is None)
        assert list(house_table.table.settled)[-1] == number


# --- the shooter --------------------------------------------------------------------------------


async def offer_dice_to_ann(house: House, clock: ManualClock) -> tuple[People, TableWatch]:
    """Open an automatic Triple Dice table and wait until the dice are offered to Ann."""
    people, watch = People(house.command_handler), TableWatch(house)
    await people.open("triple-dice/mat", timing=QUICK)
    clock.move(QUICK.closing_seconds)
    await watch.until("1", has_dice("ann"))
    return people, watch


def has_dice(name: str) -> Callable[[HouseTable], bool]:
    return lambda t: t.table.shooter is not None and t.table.shooter.player == name


async def test_dealer_waits_for_the_shooter_to_throw(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await offer_dice_to_ann(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_betting_open, 1))
        await people.play("ann bets 50 on shooter", "bob bets 50 on red")
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        await people.play("ann throws")
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.result is not None)
        clock.move(QUICK.showing_seconds)
        await watch.until("1", lambda t: t.table.round is None)
    check_dice(store)


async def test_dice_pass_from_a_shooter_who_does_not_choose_or_does_not_bet(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await offer_dice_to_ann(house, clock)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", has_dice("bob"))
        await people.play("bob chooses dice 1 2 3")
        await watch.until("1", partial(is_betting_open, 1))

        clock.move(QUICK.betting_seconds)

        await watch.until("1", has_dice("ann"))


async def test_the_house_throws_for_a_shooter_who_has_gone(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await offer_dice_to_ann(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_betting_open, 1))
        await people.play("ann bets 50 on shooter")
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)

        clock.move(QUICK.betting_seconds)

        await watch.until("1", lambda t: t.table.current.called is not None)
    check_dice(store)


async def test_shooter_series_survives_a_round_whose_seed_is_lost(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await offer_dice_to_ann(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_betting_open, 1))
        await people.play("ann bets 50 on shooter", "bob bets 50 on red")

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        house_table = await TableWatch(house).until("1", lambda t: t.seeds_lost == 1)
        assert house_table.table.shooter is not None
        assert house_table.table.shooter.stake == 50
        assert house_table.table.seats["bob"].stack == 1000
        assert house_table.table.locked  # until a supervisor releases it, as the rulebook has it


@pytest.mark.parametrize(
    "command",
    [
        commands.Report(by=SUPERVISOR, irregularity="interruption", known=[1, 1]),
        commands.Report(by=SUPERVISOR, irregularity="dice-not-flat"),
        commands.Report(by=SUPERVISOR, irregularity="dice-damaged", approved_by=MANAGER),
        commands.AbandonRound(by=SUPERVISOR, reason="the dice are bad for us"),
        commands.CloseTable(by=SUPERVISOR),
        commands.MoveChips(by=DEALER, player="ann", box="big", to_box="small", amount=5),
    ],
)
async def test_automatic_round_cannot_be_called_off_after_betting_closes(
    command: Any, tmp_path: Path
) -> None:
    clock = ManualClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)

        with pytest.raises(Refusal) as refused:
            await people.send(command)

        assert refused.value.code == "floor/dealt-by-house"
