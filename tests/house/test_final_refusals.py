"""The refusal of a command is final under its key, on every server (ADR 40)."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import ROUND, SUPERVISOR, People, player
from tests.log.doubles import FailingStore
from threedice.errors import KeyReused, Refusal, StoreUnavailable
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.urls import open_store
from threedice.table.commands import PlaceBet, WithdrawBet

if TYPE_CHECKING:
    from tests.log.postgres_server import PostgresServer
    from threedice.house.command_handler import CommandResult

pytestmark = pytest.mark.anyio


async def refused(people: People, key: str, box: str = "big") -> Refusal:
    """Send a bet that is refused, and return its refusal."""
    with pytest.raises(Refusal) as caught:
        await people.bet("ann", 50, box, key=key)
    return caught.value


async def test_refused_command_stays_refused_when_the_table_would_accept_it() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        heads = store.heads()
        first = await refused(people, "mine")
        assert store.heads() == heads

        await people.play("open betting")

        again = await refused(people, "mine")
        assert first.code == "betting/not-open"
        assert (again.code, str(again), again.clause) == (first.code, str(first), first.clause)
        assert (await people.bet("ann", 50, "big", key="another")).events
    async with CommandHandler(store) as restarted:
        again = await refused(People(restarted), "mine")
        assert (again.code, str(again), again.clause) == (first.code, str(first), first.clause)


async def test_command_refused_by_one_server_is_refused_by_another_that_decides_it_later() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as slow, CommandHandler(store) as other:
        people = People(other)
        await people.open()
        await people.play("open betting")
        assert (await slow.table("1")).betting_since  # as it is before it stands still
        await people.play("close betting")
        first = await refused(people, "mine")
        await people.play("dice 6 5 4", "open betting")

        late = await refused(People(slow), "mine")

        assert (late.code, str(late)) == (first.code, str(first))
        outcome = await slow.find_outcome("ann", "mine")
        assert isinstance(outcome, Refusal)
        assert outcome.code == "betting/closed"


async def test_refusal_on_a_state_that_has_passed_is_decided_again() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as behind, CommandHandler(store) as other:
        await People(other).open()
        assert not (await behind.table("1")).betting_since
        await People(other).play("open betting")

        assert (await People(behind).bet("ann", 50, "big")).events


async def test_bet_without_a_round_is_not_decided_for_a_later_one() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as behind, CommandHandler(store) as other:
        people = People(other)
        await people.open()
        await people.play("open betting")
        assert (await behind.table("1")).table.current.number == 1
        await people.play(*ROUND[1:], "open betting")

        assert (await refused(People(behind), "mine")).code == "bet/other-round"
        assert (await People(behind).bet("ann", 50, "big")).events


async def test_command_that_names_a_round_is_refused_in_any_other() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        ann = player("ann")
        bet = PlaceBet(by=ann, player="ann", box="big", amount=50, round=1)
        assert (await people.send(bet)).events
        await people.play(*ROUND[1:], "open betting")
        await people.bet("ann", 50, "small")

        for late in (bet, WithdrawBet(by=ann, player="ann", box="small", amount=50, round=1)):
            with pytest.raises(Refusal, match="round 1, which is not being played now") as caught:
                await people.send(late)
            assert caught.value.facts == {"unit": "round", "round": 1}


async def test_key_of_a_refused_command_serves_no_other_command() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await refused(people, "mine")
        with pytest.raises(KeyReused):
            await people.bet("ann", 55, "big", key="mine")


async def test_refusal_of_a_request_that_may_be_tried_again_leaves_its_key_unused() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        bet = PlaceBet(by=player("ann"), player="ann", box="big", amount=50)

        async def send() -> CommandResult:
            return await handler.handle(
                bet, table="1", account="ann", key="request/1", may_retry=True
            )

        with pytest.raises(Refusal):
            await send()
        assert await handler.find_outcome("ann", "request/1") is None
        await people.play("open betting")
        assert (await send()).events


async def test_command_of_the_house_is_decided_anew_after_a_refusal() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        setup = EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a")
        await people.open()
        for _ in range(2):
            with pytest.raises(Refusal):
                await handler.handle_for_house(setup, table="1", key="again")
        assert handler.store.answer("house", "again") is None


async def test_refusal_that_cannot_be_stored_is_not_sent() -> None:
    store = FailingStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        store.failures = [StoreUnavailable("away"), StoreUnavailable("away")]
        with pytest.raises(StoreUnavailable):
            await people.bet("ann", 50, "big", key="mine")
        assert await handler.find_outcome("ann", "mine") is None
        await people.play("open betting")
        assert (await people.bet("ann", 50, "big", key="mine")).events


async def test_refusal_is_final_for_two_servers_on_postgresql(postgres: PostgresServer) -> None:
    url = postgres.fresh()
    with closing(open_store(url)) as mine, closing(open_store(url)) as theirs:
        async with CommandHandler(mine) as slow, CommandHandler(theirs) as other:
            people = People(other)
            await people.open()
            first = await refused(people, "mine")
            await people.play("open betting")
            late = await refused(People(slow), "mine")
            assert (late.code, str(late)) == (first.code, str(first))
