"""What an outside reviewer could break once, and cannot any more."""

from __future__ import annotations

import asyncio
import errno
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.floor.setting import DEALER, QUICK, SUPERVISOR, HandClock, People
from tests.floor.test_books import ROUND, keep
from tests.floor.test_dealer import begun, is_open
from tests.floor.test_suspension import Failing
from threedice.cage.commands import Deposit, OpenAccount, Withdraw
from threedice.errors import (
    InvalidInput,
    InvariantBroken,
    KeyReused,
    Refusal,
    StoreFailed,
    Tampered,
)
from threedice.floor import Floor
from threedice.floor import house as house_module
from threedice.floor.auditing import audit
from threedice.floor.commands import EstablishTable, ResolveInterruption
from threedice.floor.dealer import LEASE_SECONDS
from threedice.floor.encoding import decode_command
from threedice.floor.events import Timing
from threedice.floor.fairness import check_dice
from threedice.floor.house import House
from threedice.floor.recovery import interrupt_tables
from threedice.floor.reports import shift, statement
from threedice.log.keys import public_keys
from threedice.log.memory import MemoryStore
from threedice.log.opening import open_store
from threedice.log.sqlite import SqliteStore
from threedice.table import commands as asked
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.entry import Entry, Head

pytestmark = pytest.mark.anyio
MANAGER = Actor(id="manager", role="shift-manager")


# --- only what can be read again is ever written ------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        EstablishTable(
            by=SUPERVISOR,
            game="sg-rws-tai-sai-v6/a",
            dealt_by_house=Timing(betting_seconds=float("nan")),
        ),
        EstablishTable(
            by=SUPERVISOR,
            game="sg-rws-tai-sai-v6/a",
            dealt_by_house=Timing(betting_seconds=float("inf")),
        ),
        Deposit(by="c", player="ann", amount=10.5),  # type: ignore[arg-type]
        Deposit(by="c", player="ann", amount=True),
        Deposit(by="c", player="ann", amount=2**63),
        Deposit(by="c", player="a/b", amount=5),
        Deposit(by="c", player="\ud800", amount=5),
        OpenAccount(by="c", player="ann", currency=""),
        OpenAccount(by="c", player="house", currency="SGD"),
        asked.FillFloat(by=SUPERVISOR, amount=10**13),
    ],
)
async def test_a_command_that_could_not_be_read_again_is_refused(command: Any) -> None:
    store = MemoryStore()
    async with Floor(store) as floor:
        with pytest.raises(InvalidInput):
            await floor.handle(command, table="1", account="x", key="k")
    assert store.heads() == {}


@pytest.mark.parametrize("table", ["a/b", "a b", "\n", "x" * 101, "\ud800"])
async def test_a_table_has_an_id_in_one_word(table: str) -> None:
    async with Floor(MemoryStore()) as floor:
        with pytest.raises(InvalidInput):
            await People(floor, table).open()


def test_bytes_that_are_no_command_are_told() -> None:
    for data in (b"", b'{"type":"Deposit"}', b'{"type":"FillFloat","amount":1e999}'):
        with pytest.raises(InvalidInput):
            decode_command(data)


async def test_nobody_asks_in_the_name_of_the_house() -> None:
    async with Floor(MemoryStore()) as floor:
        with pytest.raises(InvalidInput, match="in the name of the house"):
            await floor.handle(
                asked.CallResult(by=DEALER, dice=(6, 6, 6)), table="1", account="house", key="k"
            )


async def test_readings_in_another_order_are_the_same_command() -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        one = {"pro-rata": "absorb", "minimum": "box-total"}
        other = dict(reversed(one.items()))
        for readings in (one, other):
            command = EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a", readings=readings)
            await people.ask(command, key="same")
        with pytest.raises(KeyReused):
            await people.ask(EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a"), key="same")


# --- whoever goes away does not take the answer along -------------------------------------------


async def test_a_caller_who_is_cancelled_harms_neither_others_nor_himself() -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        await people.ask(OpenAccount(by="c", player="ann", currency="SGD"))
        await people.ask(Deposit(by="c", player="ann", amount=100))
        command = Withdraw(by="c", player="ann", amount=100)
        first = asyncio.create_task(people.ask(command, key="w1"))
        second = asyncio.create_task(people.ask(command, key="w1"))
        await asyncio.sleep(0)

        first.cancel()

        with pytest.raises(asyncio.CancelledError):
            await first
        answer = await second
        assert await people.ask(command, key="w1") == answer
        assert (await floor.account("ann")).balance == 0


async def test_whoever_follows_a_table_hears_of_a_bet_without_a_poll(tmp_path: Path) -> None:
    async with House(f"sqlite:///{tmp_path}/house.sqlite") as house:
        people = People(house.floor)
        await people.open()
        heard = Event()
        publish = house.floor.streams.publish
        assert publish is not None

        def listen(fresh: dict[str, list[Entry]]) -> None:
            publish(fresh)
            if "BettingOpened" in [entry.kind for entry in fresh.get("table/1", ())]:
                heard.set()

        house.floor.streams.publish = listen
        await people.play("open betting")
        assert await asyncio.to_thread(heard.wait, 60)


# --- dealt by the house -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        asked.Report(by=SUPERVISOR, irregularity="interruption", known=[1, 1]),
        asked.Report(by=SUPERVISOR, irregularity="dice-not-flat"),
        asked.Report(by=SUPERVISOR, irregularity="dice-damaged", approved_by=MANAGER),
        asked.AbandonRound(by=SUPERVISOR, reason="the dice are bad for us"),
        asked.CloseTable(by=SUPERVISOR),
        asked.MoveChips(by=DEALER, player="ann", box="big", to_box="small", amount=5),
    ],
)
async def test_nobody_calls_a_round_off_once_its_dice_can_be_known(
    command: Any, tmp_path: Path
) -> None:
    clock = HandClock()
    async with House("memory:", store=MemoryStore(), state=tmp_path, clock=clock) as house:
        people, watch = await begun(house, clock)
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)

        with pytest.raises(Refusal) as refused:
            await people.ask(command)

        assert refused.value.code == "floor/dealt-by-house"


async def test_a_round_that_was_void_while_bets_were_placed_is_shown(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state=tmp_path, clock=clock) as house:
        people, _ = await begun(house, clock)
        await people.ask(asked.CloseTable(by=SUPERVISOR))

    (checked,) = check_dice(store.scan("table/1"))
    assert (checked.round, checked.dice) == (1, None)
    assert "never drawn" in checked.problem


async def test_a_dealer_outlives_a_disk_that_failed(tmp_path: Path) -> None:
    store, clock = Failing(), HandClock()
    async with House("memory:", store=store, state=tmp_path, clock=clock) as house:
        people, watch = await begun(house, clock)
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
        clock.move(QUICK.betting_seconds)
        store.fails = False

        await house.release("sue", "there is room again")

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)


class Exhausted(MemoryStore):
    """A store for which the machine lacks something now and then: no error of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.lacks = False

    def take_lease(self, name: str, holder: str, seconds: float) -> bool:
        self._need()
        return super().take_lease(name, holder, seconds)

    def heads(self) -> dict[str, Head]:
        self._need()
        return super().heads()

    def _need(self) -> None:
        if self.lacks:
            raise OSError(errno.EMFILE, "Too many open files")


async def test_dealers_and_books_outlive_whatever_stands_in_their_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house_module, "BOOKS_SECONDS", 0.0)
    store, clock = Exhausted(), HandClock()
    async with House("memory:", store=store, state=tmp_path, clock=clock) as house:
        _, watch = await begun(house, clock)
        store.lacks = True
        clock.move(LEASE_SECONDS)
        house.hear("table/1", news=True)
        async with asyncio.timeout(60):
            while not (house.trouble and house.dealers["1"].stuck):
                await asyncio.sleep(0.01)
        assert "Too many open files" in house.trouble
        assert "Too many open files" in house.dealers["1"].stuck

        store.lacks = False
        clock.move(QUICK.betting_seconds)
        house.hear("table/1", news=True)

        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        async with asyncio.timeout(60):
            while house.trouble:
                await asyncio.sleep(0.01)


async def test_a_table_that_changes_hands_is_dealt_by_whoever_has_it(tmp_path: Path) -> None:
    clock = HandClock()
    async with House("memory:", store=MemoryStore(), state=tmp_path, clock=clock) as house:
        people, watch = await begun(house, clock)
        await people.play("close the table")
        await people.open()
        await people.play("open betting", "ann bets 5 on big", "dice 6 5 4", "close the table")
        await people.open(timing=QUICK)
        clock.move(QUICK.closing_seconds)
        rounds = (await house.floor.tended("1")).table.rounds
        await watch.until("1", partial(is_open, rounds + 1))


async def test_a_clock_that_is_set_stops_no_table(tmp_path: Path) -> None:
    store, clock = MemoryStore(), HandClock()
    async with House("memory:", store=store, state=tmp_path, clock=clock) as house:
        people, watch = await begun(house, clock)
        clock.ahead = 3600
        await people.bet("ann", 5, "big")
        clock.ahead = 0
        clock.move(QUICK.betting_seconds)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.ahead = -7200
        async with asyncio.timeout(60):
            while (await house.floor.tended("1")).table.current.called is None:
                clock.move(0.1)
                await asyncio.sleep(0)
        assert (await house.floor.tended("1")).seeds_lost == 0
    (checked,) = check_dice(store.scan("table/1"))
    assert checked.problem == ""


# --- coming back --------------------------------------------------------------------------------


async def test_a_house_released_after_a_restart_comes_back_interrupted(tmp_path: Path) -> None:
    store = Failing()
    async with House("memory:", store=store, state=tmp_path) as house:
        people = People(house.floor)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
        store.fails = True
        with pytest.raises(StoreFailed):
            await people.bet("ann", 5, "big")
    store.fails = False
    async with House("memory:", store=store, state=tmp_path) as house:
        assert house.interrupted == []

        await house.release("sue", "there is room again")

        assert house.interrupted == ["1"]
        assert (await house.floor.tended("1")).interrupted == 1


async def test_of_servers_that_come_back_together_one_marks_what_was_interrupted(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state=tmp_path / "one") as house:
        people = People(house.floor)
        await people.open()
        await people.play("open betting", "ann bets 5 on big")
    houses = [House(url, state=tmp_path / name) for name in ("one", "two")]
    await asyncio.gather(*(house.__aenter__() for house in houses))
    try:
        assert sorted(house.interrupted for house in houses) == [[], ["1"]]
    finally:
        for house in houses:
            await house.__aexit__(None, None, None)


async def test_servers_stop_when_one_has_found_the_database_failing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state=tmp_path / "one") as one, House(url, state=tmp_path / "two") as two:
        await People(one.floor).open()
        two.floor.store.suspend("the disk is full")
        async with asyncio.timeout(60):
            while not one.floor.suspended:
                await asyncio.sleep(0.05)
        with pytest.raises(StoreFailed):
            await People(one.floor).play("open betting")


async def test_a_start_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        await People(house.floor).open()
        await People(house.floor).play(*ROUND)
    checkpoints = tmp_path / "house.sqlite.state" / "checkpoints.jsonl"
    checkpoints.write_bytes(checkpoints.read_bytes().replace(b"a", b"b"))

    for _ in range(2):  # the second time nothing of the first holds the file
        house = House(url)
        with pytest.raises(Tampered):
            async with house:
                house.notary.make(1)


async def test_a_table_whose_past_was_changed_stands_still_and_the_others_play(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        for table in ("1", "2"):
            await People(house.floor, table).open()
    store = SqliteStore(tmp_path / "house.sqlite")
    store._change(lambda run: run("UPDATE entries SET at = 1 WHERE stream = 'table/1'", ()))
    store._change(lambda run: run("DELETE FROM snapshots", ()))
    store.close()

    async with House(url) as house:
        assert list(house.damaged) == ["table/1"]
        await People(house.floor, "2").play("open betting")
        with pytest.raises(InvariantBroken):
            await People(house.floor, "1").play("open betting")


@pytest.mark.parametrize("known", [[9, 9, 9, 9], [6, 6, 6]])
async def test_dice_that_were_called_are_not_known_to_show_others(known: list[int]) -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        await people.open()
        await people.play("open betting", "close betting", "tumbles 3 times", "uncover the dice")
        await people.play("call 1 3 6")
        await interrupt_tables(floor)
        with pytest.raises(Refusal) as refused:
            await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=known))
        assert refused.value.code == "floor/dice"


async def test_where_a_rulebook_is_silent_dice_that_were_known_are_those_that_count() -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        await people.open("crown-and-anchor/main")
        await people.play(
            "open betting", "ann bets 5 on single:crown", "close betting", "dealer throws"
        )
        await interrupt_tables(floor)
        await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR, known=[1, 2, 3]))
        with pytest.raises(Refusal, match="known to show"):
            await people.ask(asked.CallResult(by=DEALER, dice=(4, 5, 6)))


# --- money and books ----------------------------------------------------------------------------


async def test_a_table_does_not_change_its_currency() -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        await people.open()
        await people.play("close the table")
        tended = await floor.tended("1")
        assert tended.table.limits is not None
        command = asked.OpenTable(
            by=SUPERVISOR, table="1", currency="JPY", mode="record", chips=[5], float_amount=0,
            limits=tended.table.limits,
        )  # fmt: skip
        with pytest.raises(Refusal) as refused:
            await people.ask(command)
        assert refused.value.code == "table/currency"
        for other in ("2", ""):
            with pytest.raises(Refusal) as refused:
                await people.ask(asked.OpenTable(**{**_fields(command), "table": other}))
            assert refused.value.code == "floor/other-table"


def _fields(command: asked.OpenTable) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}


async def test_chips_carried_away_are_on_the_statement() -> None:
    store = MemoryStore()
    async with Floor(store) as floor:
        people = People(floor)
        await people.open()
        await people.play("close the table")
        keep(store, floor)
    assert [(each.said.what, each.said.amount) for each in statement(store, "ann")] == [
        ("bought in", 1000),
        ("carried away", -1000),
    ]


async def test_a_player_called_like_a_table_is_told_apart() -> None:
    store = MemoryStore()
    async with Floor(store) as floor:
        people = People(floor)
        with pytest.raises(InvalidInput):
            await people.open(stacks={"table/1": 1000})
    async with Floor(store) as floor:
        people = People(floor, "2")
        await people.open(stacks={"2": 1000})
        await people.ask(asked.MakeRuling(by=MANAGER, player="2", amount=50, reason="r"))
        keep(store, floor)
    assert shift(store, "2").win == -50
    assert [each.said.what for each in statement(store, "2")] == ["bought in", "ruling"]


# --- the audit ----------------------------------------------------------------------------------


async def test_a_house_that_is_playing_is_audited_as_it_is_at_one_moment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        people = People(house.floor)
        await people.open()
        stop = asyncio.Event()

        async def play() -> None:
            while not stop.is_set():
                await people.play(*ROUND)
                keep(house.floor.store, house.floor)

        playing = asyncio.create_task(play())
        beside = open_store(url)
        try:
            for _ in range(8):
                keys = public_keys(house.state)
                report = await asyncio.to_thread(audit, beside, public_keys=keys)
                assert report.findings == ()
        finally:
            stop.set()
            await playing
            beside.close()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "INSERT INTO lines VALUES ('house-2', 'player/ann', 'table/9', 1, 0, 1, x'7b7d')",
            "books of table/9: there are no entries of it",
        ),
        ("INSERT INTO views VALUES ('house-2', 'table/9', 1)", "books of table/9: there are no"),
        ("DELETE FROM games", "the game that it pins"),
    ],
)
async def test_what_was_forged_or_removed_beside_the_log_is_found(
    sql: str, words: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    async with Floor(store) as floor:
        await People(floor).ask(EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a"))
    store._change(lambda run: run(sql, ()))

    report = audit(store, public_keys={})

    assert any(words in str(finding) for finding in report.findings)
    store.close()


@pytest.mark.parametrize("player", ["", "a\0b", "a\nb", "a b", "a/b"])
async def test_a_player_that_no_database_could_list_is_no_player(player: str) -> None:
    async with Floor(MemoryStore()) as floor:
        people = People(floor)
        await people.open()
        command = asked.BuyIn(by=Actor(id="d", role="dealer"), player=player, amount=100)

        with pytest.raises(InvalidInput, match="no command"):
            await floor.handle(command, table="1", account="d", key="k")
