"""Rounds interrupted after any event, and their resolution after the restart."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.house.house_driver import DEALER, SUPERVISOR, People, server_state
from tests.log.inspection import all_games
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


async def play_round(game: str) -> tuple[list[Entry], dict[str, bytes]]:
    """Play one round and return the entries of its table and the pinned games."""
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open(game)
        box = ROUNDS[game]
        await people.play(*box)
    return list(store.scan("table/1")), all_games(store)


def truncated_store(entries: list[Entry], games: dict[str, bytes], after: int) -> MemoryStore:
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
async def test_round_interrupted_after_any_event_is_resolved_by_the_rulebook(
    game: str, known: list[int]
) -> None:
    entries, games = await play_round(game)
    first = next(entry.version for entry in entries if entry.kind == "RoundStarted")
    outcomes = set()
    for after in range(first, len(entries)):
        store = truncated_store(entries, games, after)
        async with CommandHandler(store) as handler:
            outcomes.add(await resolve_round(handler, game, known))
        assert sorted(notices(store)[-1].players) == bettors(entries[:after])
    assert "void" in outcomes
    assert "goes on" in outcomes


def notices(store: MemoryStore) -> list[PlayersNotified]:
    events = [decode(entry) for entry in store.scan("table/1")]
    return [each for each in events if isinstance(each, PlayersNotified)]


def bettors(entries: list[Entry]) -> list[str]:
    """Return the players who have bet."""
    events = [decode(entry) for entry in entries]
    return sorted({each.player for each in events if isinstance(each, BetPlaced)})


async def resolve_round(handler: CommandHandler, game: str, known: list[int]) -> str:
    """Resolve an interrupted round and check the outcome that the rulebook requires."""
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
    answer = await people.send(command)
    kinds = [entry.kind for entry in answer.entries]
    assert kinds[0] == "InterruptionResolved"
    assert kinds[-1] == "PlayersNotified"
    after = await handler.table("1")
    assert not after.interrupted
    if expected_outcome(game, called, stated, done) == "void":
        assert after.table.round is None
        money = {name: seat.stack + seat.at_risk for name, seat in after.table.seats.items()}
        assert money == staked
        return "void"
    assert after.table.round is not None
    return "goes on"


def expected_outcome(game: str, called: object, stated: list[int], done: set[str]) -> str:
    """Return the outcome of an interrupted round by the rule documents."""
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
async def test_players_whose_bets_were_collected_are_notified_of_an_interruption(
    leaves: bool,
) -> None:
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
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
    assert notices(store) == [
        PlayersNotified(round=1, players=["ann", "bob"], outcome="goes on"),
    ]


async def test_resolving_an_interruption_needs_two_staff_members() -> None:
    entries, games = await play_round("sg-rws-tai-sai-v6/a")
    first = next(entry.version for entry in entries if entry.kind == "BettingClosed")
    async with CommandHandler(truncated_store(entries, games, first)) as handler:
        await interrupt_tables(handler)
        people = People(handler)
        alone = Actor(id=DEALER.id, role="supervisor")
        for second in (alone, Actor(id="ann", role="player")):
            with pytest.raises(Refusal):
                await people.send(ResolveInterruption(by=DEALER, confirmed_by=second))
        with pytest.raises(Refusal):
            await people.send(
                ResolveInterruption(by=Actor(id="ann", role="player"), confirmed_by=SUPERVISOR)
            )


async def test_restart_between_rounds_keeps_the_shooter_series_and_interrupts_nothing() -> None:
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


async def test_round_settled_before_it_is_marked_is_not_interrupted() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler, CommandHandler(store) as elsewhere:
        people = People(elsewhere)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
        await handler.table("1")
        await people.play("dice 6 5 4")
        assert await interrupt_tables(handler) == []


async def test_one_of_two_servers_starting_together_marks_an_interruption(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state_dir=server_state(tmp_path, "one")) as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
    houses = [House(url, state_dir=server_state(tmp_path, name)) for name in ("one", "two")]
    await asyncio.gather(*(house.__aenter__() for house in houses))
    try:
        assert sorted(house.interrupted for house in houses) == [[], ["1"]]
    finally:
        for house in houses:
            await house.__aexit__(None, None, None)


@pytest.mark.parametrize("known", [[9, 9, 9, 9], [6, 6, 6]])
async def test_known_dice_that_contradict_the_called_dice_are_refused(known: list[int]) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting", "close betting", "tumbles 3 times", "uncover the dice")
        await people.play("call 1 3 6")
        await interrupt_tables(handler)
        with pytest.raises(Refusal) as refused:
            await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=known))
        assert refused.value.code == "floor/dice"


async def test_result_must_match_known_dice_where_the_rulebook_is_silent() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open("crown-and-anchor/main")
        await people.play(
            "open betting", "ann bets 5 on single:crown", "close betting", "dealer throws"
        )
        await interrupt_tables(handler)
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[1, 2, 3]))
        with pytest.raises(Refusal, match="known to show"):
            await people.send(commands.CallResult(by=DEALER, dice=(4, 5, 6)))


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4", "nz-tai-sai-2008 7.3")
@pytest.mark.parametrize("game", ROUNDS)
async def test_dice_confirmed_at_one_interruption_bind_the_next(game: str) -> None:
    entries, games = await play_round(game)
    called = next(entry.version for entry in entries if entry.kind == "ResultCalled")
    async with CommandHandler(truncated_store(entries, games, called - 1)) as handler:
        people = People(handler)
        await interrupt_tables(handler)
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[1, 2, 3]))
        await interrupt_tables(handler)
        for others in ([4, 5, 6], [1, 2], [1, 2, 4]):
            again = ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=others)
            with pytest.raises(Refusal) as refused:
                await people.send(again)
            assert refused.value.code == "floor/dice"

        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))

        assert (await handler.table("1")).table.current.known == [1, 2, 3]
        await interrupt_tables(handler)
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[3, 2, 1]))
        with pytest.raises(Refusal, match="known to show"):
            await people.send(commands.CallResult(by=DEALER, dice=(4, 5, 6)))


async def test_table_in_an_old_log_keeps_the_rules_it_had_under_a_shipped_id(
    tmp_path: Path,
) -> None:
    own = (
        'extends = "macau-sic-bo"\nid = "own-sic-bo"\ntitle = "Own"\n'
        'pay_tables.main.rows.any-triple.odds = "30 to 1"'
    )
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        await People(handler).open(f"{tmp_path}/own.toml/main")
    ((own_hash, own_game),) = all_games(store).items()
    taken = own_game.replace(b"own-sic-bo", b"macau-sic-bo")  # earlier versions allowed this id
    taken_hash = sha256(taken).hexdigest()
    entries = [
        msgspec.structs.replace(
            entry,
            data=entry.data.replace(b"own-sic-bo", b"macau-sic-bo").replace(
                own_hash.encode(), taken_hash.encode()
            ),
        )
        for entry in store.scan("table/1")
    ]

    async with CommandHandler(truncated_store(entries, {taken_hash: taken}, len(entries))) as old:
        people = People(old)
        await people.play("open betting", "ann bets 10 on any-triple", "dice 6 6 6")
        house_table = await old.table("1")

    assert house_table.game == "macau-sic-bo/main"
    assert house_table.table.seats["ann"].stack == 1000 + 300
