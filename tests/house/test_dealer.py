"""Tables that the house deals: timers, sealed dice, and what becomes of a lost seed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.setting import (
    DEALER,
    MANAGER,
    QUICK,
    SUPERVISOR,
    HandClock,
    People,
    Watch,
    begun,
    is_open,
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
async def test_a_round_is_dealt_to_its_end_by_the_clock(game: str, tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = People(house.command_handler), Watch(house)
        await people.open(game, timing=QUICK)
        for number in range(1, 4):
            clock.move(QUICK.closing_seconds)
            await watch.until("1", partial(is_open, number))
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
    """Every result follows from the seed that was committed to before, and from every bet."""
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
async def test_a_round_whose_seed_is_lost_is_void_and_counted(
    game: str, closed: bool, tmp_path: Path
) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await begun(house, clock, game)
        if closed:
            clock.move(QUICK.betting_seconds)
            await watch.until("1", lambda t: "close-betting" in t.table.current.done)

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        house_table = await Watch(house).until("1", lambda t: t.seeds_lost == 1)
        assert house_table.table.seats["ann"].stack == 1000

    happened = events(store)
    lost = next(i for i, event in enumerate(happened) if isinstance(event, SeedLost))
    assert isinstance(happened[lost + 1], RoundVoided)
    notices = [each for each in happened[lost:] if isinstance(each, PlayersNotified)]
    assert notices[0] == PlayersNotified(round=1, players=["ann"], outcome="void")


@pytest.mark.parametrize("game", GAMES)
async def test_a_round_whose_dice_were_called_is_concluded(game: str, tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        _, watch = await begun(house, clock, game)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.called is not None)
    called = next(each for each in events(store) if isinstance(each, ResultCalled))

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        watch = Watch(house)
        clock.move(QUICK.showing_seconds)
        house_table = await watch.until("1", lambda t: t.table.round is None)
        assert list(house_table.table.settled) == [1]
        assert house_table.seeds_lost == 0

    assert [each.dice for each in events(store) if isinstance(each, ResultCalled)] == [called.dice]
    notices = [each for each in events(store) if isinstance(each, PlayersNotified)]
    assert notices == [PlayersNotified(round=1, players=["ann"], outcome="goes on")]


async def test_only_one_server_deals_a_table_and_another_takes_over_when_its_lease_ends(
    tmp_path: Path,
) -> None:
    store, clock = MemoryStore(), HandClock()
    one = House("memory:", store=store, state_dir=tmp_path / "one", runtime=clock)
    async with one as first:
        people, watch = await begun(first, clock)
        async with House(
            "memory:", store=store, state_dir=tmp_path / "two", runtime=clock
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


async def test_people_do_not_deal_at_a_table_of_the_house(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, _ = await begun(house, clock)

        with pytest.raises(Refusal) as refused:
            await people.play("close betting")

        assert refused.value.code == "floor/dealt-by-house"


async def test_a_float_too_short_to_pay_waits_for_a_fill(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = People(house.command_handler), Watch(house)
        await people.open("crown-and-anchor/main", timing=QUICK, float_amount=2000)
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.round is not None)
        house_table = await house.command_handler.table("1")
        game = house.command_handler.game(house_table)
        assert game is not None
        for box in game.boxes:
            await people.bet("ann", 100, box)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.called is not None)
        clock.move(QUICK.showing_seconds)

        house_table = await watch.until("1", lambda t: t.table.round is None)

        assert list(house_table.table.settled) == [1]


# --- the shooter --------------------------------------------------------------------------------


async def shooting(house: House, clock: HandClock) -> tuple[People, Watch]:
    """Return a Triple Dice table dealt by the house, with the dice offered to Ann."""
    people, watch = People(house.command_handler), Watch(house)
    await people.open("triple-dice/mat", timing=QUICK)
    clock.move(QUICK.closing_seconds)
    await watch.until("1", has_dice("ann"))
    return people, watch


def has_dice(name: str) -> Callable[[HouseTable], bool]:
    return lambda t: t.table.shooter is not None and t.table.shooter.player == name


async def test_a_shooter_who_plays_along_is_waited_for_and_throws_himself(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await shooting(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_open, 1))
        await people.play("ann bets 50 on shooter", "bob bets 50 on red")
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        await people.play("ann throws")
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.result is not None)
        clock.move(QUICK.showing_seconds)
        await watch.until("1", lambda t: t.table.round is None)
    check_dice(store)


async def test_dice_pass_from_one_who_does_not_choose_or_does_not_bet(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await shooting(house, clock)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", has_dice("bob"))
        await people.play("bob chooses dice 1 2 3")
        await watch.until("1", partial(is_open, 1))

        clock.move(QUICK.betting_seconds)

        await watch.until("1", has_dice("ann"))


async def test_the_house_throws_for_a_shooter_who_has_gone(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await shooting(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_open, 1))
        await people.play("ann bets 50 on shooter")
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)

        clock.move(QUICK.betting_seconds)

        await watch.until("1", lambda t: t.table.current.called is not None)
    check_dice(store)


async def test_a_shooters_series_outlives_a_round_whose_seed_is_lost(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await shooting(house, clock)
        await people.play("ann chooses dice 1 2 5")
        await watch.until("1", partial(is_open, 1))
        await people.play("ann bets 50 on shooter", "bob bets 50 on red")

    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        house_table = await Watch(house).until("1", lambda t: t.seeds_lost == 1)
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
async def test_nobody_calls_a_round_off_once_its_dice_can_be_known(
    command: Any, tmp_path: Path
) -> None:
    clock = HandClock()
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path, runtime=clock) as house:
        people, watch = await begun(house, clock)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)

        with pytest.raises(Refusal) as refused:
            await people.ask(command)

        assert refused.value.code == "floor/dealt-by-house"
