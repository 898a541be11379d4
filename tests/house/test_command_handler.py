"""Commands and their results: durability, idempotency keys, concurrency, transfers and tables."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import SUPERVISOR, ManualClock, People, player
from tests.log.proposals import PATIENCE
from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import InvalidInput, KeyReused, QueueFull, Refusal
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.house.streams import LiveStreams
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.events import BetPlaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from threedice.log.entry import Entry

pytestmark = pytest.mark.anyio


async def test_accepted_command_is_in_the_log_when_its_result_returns() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")

        answer = await people.bet("ann", 50, "big")

        (entry,) = store.read("table/1", answer.version("table/1") - 1)
        assert answer.entries == (entry,)
        assert isinstance(answer.events[0], BetPlaced)


@pytest.mark.parametrize(("account", "key"), [("ann", "\ud800"), ("\udfff", "mine")])
async def test_account_or_key_that_is_not_encodable_is_refused_every_time(
    account: str, key: str
) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        deposit = OpenAccount(by="cage", player="ann", currency="SGD")
        for _ in range(2):
            with pytest.raises(InvalidInput, match="text that can be encoded"):
                await handler.handle(deposit, account=account, key=key)


async def test_repeated_key_and_command_return_the_first_result() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        first = await people.bet("ann", 50, "big", key="mine")

        again = await people.bet("ann", 50, "big", key="mine")

        assert again == first
        assert await people.stack("ann") == 950


async def test_repeated_command_returns_its_first_result_after_a_restart_and_closed_betting() -> (
    None
):
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        first = await people.bet("ann", 50, "big", key="mine")
        await people.play("close betting")
    async with CommandHandler(store) as handler:
        people = People(handler)

        assert await people.bet("ann", 50, "big", key="mine") == first
        assert await handler.find_outcome("ann", "mine") == first
        assert await handler.find_outcome("ann", "other") is None
        assert await people.stack("ann") == 950


async def test_repeated_command_is_not_executed_again_after_a_restart() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        first = await people.bet("ann", 50, "big", key="mine")
    async with CommandHandler(store) as handler:
        people = People(handler)

        again, other = await asyncio.gather(
            people.bet("ann", 50, "big", key="mine"), people.bet("bob", 100, "big")
        )

        assert again == first
        assert other.version("table/1") == first.version("table/1") + 1
        assert (await people.stack("ann"), await people.stack("bob")) == (950, 900)


async def test_concurrent_repeats_of_a_key_execute_one_command() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")

        answers = await asyncio.gather(
            *(people.bet("ann", 50, "big", key="mine") for _ in range(5))
        )

        assert len({answer.entries for answer in answers}) == 1
        assert await people.stack("ann") == 950


@pytest.mark.parametrize("restart", [False, True])
async def test_key_reused_for_another_command_is_refused(restart: bool) -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")
        await people.bet("ann", 50, "big", key="mine")
        if not restart:
            with pytest.raises(KeyReused, match="mine"):
                await people.bet("ann", 55, "big", key="mine")
            return
    async with CommandHandler(store) as handler:
        people = People(handler)
        with pytest.raises(KeyReused, match="mine"):
            await people.bet("ann", 55, "big", key="mine")
        assert (await people.bet("bob", 50, "big", key="mine")).events  # keys are per account


async def test_command_without_account_or_key_is_refused() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        with pytest.raises(InvalidInput, match="an account and an idempotency key"):
            await handler.handle(
                OpenAccount(by="x", player="ann", currency="SGD"), account="", key=""
            )


async def test_establishing_a_table_without_a_name_is_refused() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        command = EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a")
        with pytest.raises(InvalidInput, match="name the table"):
            await handler.handle(command, account="staff", key="set up")
    assert store.streams() == []


async def test_two_handlers_on_one_store_write_every_command_once() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as one, CommandHandler(store) as other:
        people, others = People(one), People(other)
        await people.open()
        await people.play("open betting")

        await asyncio.gather(
            *(people.bet("ann", 5, "big") for _ in range(40)),
            *(others.bet("bob", 5, "small") for _ in range(40)),
        )

        await others.play("close betting")
        with pytest.raises(Refusal, match="closed"):
            await people.bet("ann", 5, "big")
        for each in (people, others):
            assert (await each.stack("ann"), await each.stack("bob")) == (800, 800)
        head = store.head("table/1")
        assert [entry.version for entry in store.scan("table/1")] == list(
            range(1, head.version + 1)
        )


class DelayedStore(MemoryStore):
    """A store whose next read returns late, so that entries are written meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.late, self.has_read, self.go_on = False, Event(), Event()

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        entries = super().read(stream, after, limit)
        if self.late:
            self.late = False
            self.has_read.set()
            self.go_on.wait(PATIENCE)
        return entries


@pytest.mark.parametrize("known", [False, True], ids=["first-load", "reload"])
@pytest.mark.parametrize(
    "hint",
    [lambda streams: streams.mark_changed("table/1", 8), LiveStreams.mark_all_changed],
    ids=["notified", "not-notified"],
)
async def test_entries_written_while_a_stream_is_read_are_loaded(
    known: bool, hint: Callable[[LiveStreams], None]
) -> None:
    store = DelayedStore()
    async with CommandHandler(store) as one, CommandHandler(store) as other:
        people, others = People(one), People(other)
        await people.open()
        await people.play("open betting")
        if known:
            assert await others.stack("ann") == 1000
        await people.bet("ann", 50, "big")
        if known:
            hint(other.streams)
        store.late = True
        loading = asyncio.create_task(others.stack("ann"))
        await asyncio.to_thread(store.has_read.wait, PATIENCE)
        answer = await people.bet("ann", 50, "big")
        assert answer.version("table/1") == 8

        hint(other.streams)
        store.go_on.set()

        assert await loading == 900


async def test_commands_over_the_queue_limit_are_refused_and_change_nothing() -> None:
    async with CommandHandler(MemoryStore(), max_queued=5) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting")

        answers = await asyncio.gather(
            *(people.bet("ann", 5, "big") for _ in range(100)), return_exceptions=True
        )

        full = [answer for answer in answers if isinstance(answer, QueueFull)]
        assert full
        assert await people.stack("ann") == 1000 - 5 * (100 - len(full))


# --- player accounts ----------------------------------------------------------------------------


async def test_transfer_between_account_and_table_is_one_append() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.send(Deposit(by="cashier", player="cat", amount=1000))

        await people.send(
            commands.BuyIn(by=player("cat"), player="cat", amount=600, source="account")
        )
        await people.send(
            commands.CashOut(by=player("cat"), player="cat", amount=100, to="account")
        )

        assert (await handler.account("cat")).balance == 500
        assert await people.stack("cat") == 500
        assert store.head("cage/cat").version == 4


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (
            commands.BuyIn(by=player("cat"), player="cat", amount=1005, source="account"),
            "cage/balance",
        ),
        (
            commands.BuyIn(by=player("dan"), player="dan", amount=5, source="account"),
            "cage/no-account",
        ),
        (
            commands.CashOut(by=player("ann"), player="ann", amount=5, to="account"),
            "cage/no-account",
        ),
        (
            commands.BuyIn(by=player("cat"), player="cat", amount=3, source="account"),
            "chips/amount",
        ),
        (Withdraw(by="cashier", player="cat", amount=1001), "cage/balance"),
        (Deposit(by="cashier", player="cat", amount=0), "cage/amount"),
        (OpenAccount(by="cashier", player="cat", currency="SGD"), "cage/account-open"),
        (
            commands.BuyIn(by=player("eve"), player="eve", amount=5, source="account"),
            "cage/currency",
        ),
    ],
)
async def test_refused_account_command_writes_to_no_stream(command: object, code: str) -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        for name, currency in (("cat", "SGD"), ("eve", "NZD")):
            await people.send(OpenAccount(by="cashier", player=name, currency=currency))
            await people.send(Deposit(by="cashier", player=name, amount=1000))
        before = store.heads()

        with pytest.raises(Refusal) as refused:
            await people.send(command)  # type: ignore[arg-type]

        assert refused.value.code == code
        assert store.heads() == before


# --- tables -------------------------------------------------------------------------------------


async def test_command_for_an_unknown_table_is_refused() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        with pytest.raises(Refusal) as refused:
            await People(handler, "9").bet("ann", 5, "big")
        assert refused.value.code == "floor/no-table"


@pytest.mark.parametrize(
    ("game", "code"),
    [("nonsense", "floor/unknown-game"), ("sg-rws-tai-sai-v6/z", "floor/unknown-game")],
)
async def test_table_for_an_unknown_game_is_refused(game: str, code: str) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        with pytest.raises(Refusal) as refused:
            await People(handler).send(EstablishTable(by=SUPERVISOR, game=game))
        assert refused.value.code == code


async def test_open_table_cannot_be_established_again() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        with pytest.raises(Refusal) as refused:
            await people.open("triple-dice/mat")
        assert refused.value.code == "floor/table-open"
        await people.play("close the table")
        await people.open("triple-dice/mat")
        assert (await handler.table("1")).game == "triple-dice/mat"


async def test_table_opens_only_once_its_rulebook_is_in_force() -> None:
    clock = ManualClock()
    in_force = int(datetime(2023, 10, 6, tzinfo=UTC).timestamp() * 1_000_000)  # 08:00 in Singapore
    async with CommandHandler(MemoryStore(), runtime=clock) as handler:
        people = People(handler)
        clock.time = in_force - 1_000_000
        with pytest.raises(Refusal) as refused:
            await people.open()
        assert refused.value.code == "floor/not-in-force"
        await people.open("nz-tai-sai-2008/1")  # undated: always in force
        await people.play("close the table")
        clock.time = in_force
        await people.open()
        assert (await handler.table("1")).table.open


async def test_order_of_readings_does_not_change_a_command() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        one = {"pro-rata": "absorb", "minimum": "box-total"}
        other = dict(reversed(one.items()))
        for readings in (one, other):
            command = EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a", readings=readings)
            await people.send(command, key="same")
        with pytest.raises(KeyReused):
            await people.send(EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a"), key="same")


async def test_cancelled_caller_does_not_cancel_the_command() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.send(OpenAccount(by="c", player="ann", currency="SGD"))
        await people.send(Deposit(by="c", player="ann", amount=100))
        command = Withdraw(by="c", player="ann", amount=100)
        first = asyncio.create_task(people.send(command, key="w1"))
        second = asyncio.create_task(people.send(command, key="w1"))
        await asyncio.sleep(0)

        first.cancel()

        with pytest.raises(asyncio.CancelledError):
            await first
        answer = await second
        assert await people.send(command, key="w1") == answer
        assert (await handler.account("ann")).balance == 0


async def test_written_entries_are_published_to_subscribers_at_once(tmp_path: Path) -> None:
    async with House(f"sqlite:///{tmp_path}/house.sqlite") as house:
        people = People(house.command_handler)
        await people.open()
        heard = Event()
        publish = house.command_handler.streams.publish
        assert publish is not None

        def listen(fresh: dict[str, list[Entry]]) -> None:
            publish(fresh)
            if "BettingOpened" in [entry.kind for entry in fresh.get("table/1", ())]:
                heard.set()

        house.command_handler.streams.publish = listen
        await people.play("open betting")
        assert await asyncio.to_thread(heard.wait, 60)
