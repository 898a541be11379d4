"""A house that went away in the middle of a round, cut anywhere, and resolved when it is back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import DEALER, SUPERVISOR, People
from tests.log.stored import all_games
from tests.oracle import brute_force as oracle
from threedice.errors import Refusal
from threedice.house import CommandHandler
from threedice.house.codec import decode
from threedice.house.commands import ResolveInterruption
from threedice.house.events import PlayersNotified
from threedice.house.house import House
from threedice.house.recovery import interrupt_tables
from threedice.log.entry import EMPTY_HEAD, NewEntry, extend_stream, hash_cause
from threedice.log.records import Append, Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.rulebook import load
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.events import BetPlaced

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.entry import Entry

pytestmark = pytest.mark.anyio

ROUNDS = {
    "sg-rws-tai-sai-v6/a": [
        "open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 6 3",
    ],
    "sg-rws-tai-sai-open-cover-v5/c": ["open betting", "ann bets 100 on big", "dice 6 6 3"],
    "nz-tai-sai-2008/1": ["open betting", "ann bets 100 on big", "dice 6 6 3"],
    "triple-dice/mat": [
        "offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
        "ann bets 50 on shooter", "bob bets 50 on red", "dice crown heart diamond",
    ],
    "macau-sic-bo/main": ["open betting", "ann bets 100 on big", "dice 6 6 3"],
    "crown-and-anchor/main": [
        "open betting", "ann bets 100 on single:crown", "dice crown heart diamond",
    ],
}  # fmt: skip


async def log_of(game: str) -> tuple[list[Entry], dict[str, bytes]]:
    """Return the entries of a table on which one round was played, and its game."""
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open(game)
        box = ROUNDS[game]
        await people.play(*box)
    return list(store.scan("table/1")), all_games(store)


def cut(entries: list[Entry], games: dict[str, bytes], after: int) -> MemoryStore:
    """Return a store that holds the log up to a version."""
    store = MemoryStore()
    head = EMPTY_HEAD
    for entry in entries[:after]:
        key, digest = str(entry.version), bytes(32)
        record = NewEntry(entry.kind, entry.schema, entry.data)
        cause = hash_cause("log", key, digest)
        fresh, next_head = extend_stream(head, entry.stream, entry.at, cause, [record])
        append = Append(entry.stream, head, fresh)
        store.write([Proposal("log", key, digest, (append,), games)])
        head = next_head
    return store


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4", "sg-rws-tai-sai-v6 5.12", "nz-tai-sai-2008 7.3")
@pytest.mark.parametrize("known", [[], [6, 6], [6, 6, 3]])
@pytest.mark.parametrize("game", ROUNDS)
async def test_cut_between_any_two_events_the_rulebook_decides(game: str, known: list[int]) -> None:
    entries, games = await log_of(game)
    first = next(entry.version for entry in entries if entry.kind == "RoundStarted")
    outcomes = set()
    for after in range(first, len(entries)):
        store = cut(entries, games, after)
        async with CommandHandler(store) as handler:
            outcomes.add(await come_back(handler, game, known))
        assert sorted(notices(store)[-1].players) == bettors(entries[:after])
    assert "void" in outcomes
    assert "goes on" in outcomes


def notices(store: MemoryStore) -> list[PlayersNotified]:
    events = [decode(entry) for entry in store.scan("table/1")]
    return [each for each in events if isinstance(each, PlayersNotified)]


def bettors(entries: list[Entry]) -> list[str]:
    """Return who has bet."""
    events = [decode(entry) for entry in entries]
    return sorted({each.player for each in events if isinstance(each, BetPlaced)})


async def come_back(handler: CommandHandler, game: str, known: list[int]) -> str:
    """Have a cut-off round resolved by its people, and check that it is as the rulebook says."""
    people = People(handler)
    before = await handler.table("1")
    current = before.table.current
    called, done = current.called, {str(step) for step in current.done}
    staked = {name: seat.stack + seat.at_risk for name, seat in before.table.seats.items()}
    assert await interrupt_tables(handler) == ["1"]
    assert await interrupt_tables(handler) == []
    with pytest.raises(Refusal, match="interrupted"):
        await people.bet("ann", 5, "big")
    dice_lie = bool({"tumble", "throw"} & done)
    stated = known if dice_lie and not called else []
    command = ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=stated)
    answer = await people.ask(command)
    kinds = [entry.kind for entry in answer.entries]
    assert kinds[0] == "InterruptionResolved"
    assert kinds[-1] == "PlayersNotified"
    after = await handler.table("1")
    assert not after.interrupted
    if expected(game, called, stated, done) == "void":
        assert after.table.round is None
        money = {name: seat.stack + seat.at_risk for name, seat in after.table.seats.items()}
        assert money == staked
        return "void"
    assert after.table.round is not None
    return "goes on"


def expected(game: str, called: object, stated: list[int], done: set[str]) -> str:
    """Say by the documents whether an interrupted round goes on."""
    if called:
        return "goes on"
    if stated and "close-betting" not in done:
        return "void"
    if not stated:
        under_cover = game.startswith("nz") and "tumble" in done and "uncover" not in done
        return "goes on" if under_cover else "void"
    if game == "crown-and-anchor/main":
        return "goes on" if len(stated) == 3 else "void"
    won, lost = oracle.conclusive(game, tuple(stated), load(game).readings)
    return "goes on" if won or lost else "void"


@pytest.mark.parametrize("leaves", [False, True])
async def test_losers_are_told_of_an_outage_though_nothing_of_theirs_is_left(leaves: bool) -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting", "ann bets 100 on small", "bob bets 100 on small")
        await people.play("close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4")
        await people.play("enter 6 5 4", "light the areas", "collect the losers")
        if leaves:
            await people.play("ann leaves with 900")
        await interrupt_tables(handler)
        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
    assert notices(store) == [
        PlayersNotified(round=1, players=["ann", "bob"], outcome="goes on"),
    ]


async def test_one_person_alone_does_not_resolve_an_interruption() -> None:
    entries, games = await log_of("sg-rws-tai-sai-v6/a")
    first = next(entry.version for entry in entries if entry.kind == "BettingClosed")
    async with CommandHandler(cut(entries, games, first)) as handler:
        await interrupt_tables(handler)
        people = People(handler)
        alone = Actor(id=DEALER.id, role="supervisor")
        for second in (alone, Actor(id="ann", role="player")):
            with pytest.raises(Refusal):
                await people.ask(ResolveInterruption(by=DEALER, confirmed_by=second))
        with pytest.raises(Refusal):
            await people.ask(
                ResolveInterruption(by=Actor(id="ann", role="player"), confirmed_by=SUPERVISOR)
            )


async def test_between_rounds_nothing_is_interrupted_and_a_shooters_series_goes_on() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open("triple-dice/mat")
        await people.play(*ROUNDS["triple-dice/mat"])
    async with CommandHandler(store) as handler:
        assert await interrupt_tables(handler) == []
        people = People(handler)
        await people.play("open betting", "dice crown heart diamond")
        shooter = (await handler.table("1")).table.shooter
        assert shooter is not None
        assert shooter.throws == 2


async def test_a_round_that_was_settled_before_it_could_be_marked_is_left_alone() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler, CommandHandler(store) as elsewhere:
        people = People(elsewhere)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
        await handler.table("1")
        await people.play("dice 6 5 4")
        assert await interrupt_tables(handler) == []


async def test_of_servers_that_come_back_together_one_marks_what_was_interrupted(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state_dir=tmp_path / "one") as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
    houses = [House(url, state_dir=tmp_path / name) for name in ("one", "two")]
    await asyncio.gather(*(house.__aenter__() for house in houses))
    try:
        assert sorted(house.interrupted for house in houses) == [[], ["1"]]
    finally:
        for house in houses:
            await house.__aexit__(None, None, None)


@pytest.mark.parametrize("known", [[9, 9, 9, 9], [6, 6, 6]])
async def test_dice_that_were_called_are_not_known_to_show_others(known: list[int]) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting", "close betting", "tumbles 3 times", "uncover the dice")
        await people.play("call 1 3 6")
        await interrupt_tables(handler)
        with pytest.raises(Refusal) as refused:
            await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=known))
        assert refused.value.code == "floor/dice"


async def test_where_a_rulebook_is_silent_dice_that_were_known_are_those_that_count() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open("crown-and-anchor/main")
        await people.play(
            "open betting", "ann bets 5 on single:crown", "close betting", "dealer throws"
        )
        await interrupt_tables(handler)
        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[1, 2, 3]))
        with pytest.raises(Refusal, match="known to show"):
            await people.ask(commands.CallResult(by=DEALER, dice=(4, 5, 6)))


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4", "nz-tai-sai-2008 7.3")
@pytest.mark.parametrize("game", ROUNDS)
async def test_what_was_confirmed_at_one_interruption_stands_at_the_next(game: str) -> None:
    entries, games = await log_of(game)
    called = next(entry.version for entry in entries if entry.kind == "ResultCalled")
    async with CommandHandler(cut(entries, games, called - 1)) as handler:
        people = People(handler)
        await interrupt_tables(handler)
        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[1, 2, 3]))
        await interrupt_tables(handler)
        for others in ([4, 5, 6], [1, 2], [1, 2, 4]):
            again = ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=others)
            with pytest.raises(Refusal) as refused:
                await people.ask(again)
            assert refused.value.code == "floor/dice"

        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))

        assert (await handler.table("1")).table.current.known == [1, 2, 3]
        await interrupt_tables(handler)
        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[3, 2, 1]))
        with pytest.raises(Refusal, match="known to show"):
            await people.ask(commands.CallResult(by=DEALER, dice=(4, 5, 6)))
