"""Statements: results, shift figures, exposure, and their derivation from the log."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import (
    MANAGER,
    ROUND,
    ManualClock,
    People,
    play_lines,
    player,
    results,
    shift_figures,
    statement,
    store_statements,
)
from tests.oracle import brute_force as oracle
from tests.oracle.table_figures import compute_table_figures
from threedice import load
from threedice.account.commands import Deposit, OpenAccount, Withdraw
from threedice.dice import ROLLS
from threedice.errors import InvalidInput
from threedice.house import CommandHandler
from threedice.house.codec import decode
from threedice.house.reports.figures import exposure
from threedice.house.reports.projection import VIEW, StatementProjector
from threedice.house.reports.rebuild import rebuild
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import GameRegistry
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.events import TableClosed, TableEvent

if TYPE_CHECKING:
    from threedice.log.entry import Entry

pytestmark = pytest.mark.anyio


async def test_result_row_has_dice_win_turnover_and_expected_win() -> None:
    store = await play_lines(*ROUND, *ROUND)

    first, second = results(store, "1")

    assert (first.row.round, first.row.dice, first.row.amount) == (1, (6, 5, 4), -50)
    assert first.row.turnover == 150
    edge = oracle.edge("sg-rws-tai-sai-v6/a", "big")
    assert Fraction(*first.row.theory) == edge * 150
    assert second.row.round == 2


async def test_shift_figures_match_the_accounting_oracle() -> None:
    store = await play_lines(
        *ROUND, "fill 5000", "credit 1000", *ROUND,
        "open betting", "ann bets 200 on total:9", "close betting", "tumbles 3 times",
        "dealer reports dice-not-flat",
        "dealer corrects round 1 for ann by -25 with supervisor: misread",
        "shift-manager rules 50 for bob: spilt drink",
        "supervisor reports dice-damaged affecting 2 with shift-manager",
    )  # fmt: skip
    events = [
        event for entry in store.scan("table/1") if isinstance(event := decode(entry), TableEvent)
    ]
    accounts = compute_table_figures(load("sg-rws-tai-sai-v6/a"), events)

    report = shift_figures(store, "1")

    assert report.win == accounts.win
    assert report.turnover == accounts.turnover
    assert report.theoretical_win == accounts.theoretical_win
    assert (report.drop, report.fills, report.credits) == (2000, 5000, 1000)
    assert (report.rounds, report.void) == (accounts.rounds, 1)
    assert report.hold == accounts.hold


async def test_buy_in_from_an_account_counts_as_shift_drop_and_not_in_the_drop_box() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open(stacks={"ann": 1000})
        await people.send(OpenAccount(by="cashier", player="zoe", currency="SGD"))
        await people.send(Deposit(by="cashier", player="zoe", amount=900))
        await people.send(
            commands.BuyIn(
                by=player("zoe"), player="zoe", amount=900, source="account", age_years=40
            )
        )
        await people.play("open betting", "zoe bets 100 on small", "dice 6 5 4")
        own = (await handler.table("1")).table.drop
        await people.send(commands.CloseTable(by=MANAGER))
        store_statements(store, handler)
    closed = [
        each for entry in store.scan("table/1") if isinstance(each := decode(entry), TableClosed)
    ]

    report = shift_figures(store, "1")

    assert (own, [each.drop for each in closed]) == (1000, [1000])
    assert (report.drop, report.hold) == (1900, Fraction(100, 1900))


async def test_reversal_of_an_earlier_round_counts_in_the_shift_of_the_reversal() -> None:
    store = await play_lines(*ROUND)
    since = results(store, "1")[-1].at + 1

    assert shift_figures(store, "1", until=since).win == -50
    nothing = shift_figures(store, "1", since=since)
    assert (nothing.win, nothing.rounds, nothing.hold) == (0, 0, None)

    async with CommandHandler(store) as handler:
        await People(handler).play("supervisor reports dice-damaged affecting 1 with shift-manager")
        store_statements(store, handler)
    undone = shift_figures(store, "1", since=since)
    assert (undone.win, undone.rounds, undone.turnover) == (50, -1, -150)


CORRECTION = "dealer corrects round 1 for ann by 5000 with supervisor: misread"
REVERSAL = "supervisor reports dice-damaged affecting 1 with shift-manager"


async def test_reversing_a_corrected_round_reverses_its_correction() -> None:
    store = await play_lines(*ROUND, CORRECTION, REVERSAL)

    report = shift_figures(store, "1")

    assert (report.win, report.rounds, report.turnover) == (0, 0, 0)
    assert report.theoretical_win == report.variance == 0
    async with CommandHandler(store) as handler:
        table = (await handler.table("1")).table
    assert (table.float_amount, table.seats["ann"].stack) == (1_000_000 - 2000, 1000)
    assert [(each.row.what, each.row.amount) for each in statement(store, "ann")] == [
        ("bought in", 1000),
        ("won", 100),
        ("corrected", 5000),
        ("reversed", -5100),
    ]


async def test_debt_is_counted_when_it_arises_and_not_when_chips_reduce_it() -> None:
    store = await play_lines(
        *ROUND, "ann leaves with 1050", "open betting", "ann bets 30 on big", REVERSAL,
        "ann repays 5 in cash", "ann buys 20", "dice 6 5 4", "ann repays 5",
    )  # fmt: skip

    rows = [each.row for each in statement(store, "ann")]
    assert [(row.what, row.round, row.amount, row.debt) for row in rows] == [
        ("bought in", 0, 1000, 0),
        ("won", 1, 100, 0),
        ("cashed out", 0, -1050, 0),
        ("reversed", 1, -100, 80),
        ("repaid", 0, 5, -5),
        ("bought in", 0, 20, 0),
        ("set off", 0, 0, -20),
        ("won", 2, 30, 0),
        ("set off", 2, 0, -30),
        ("repaid", 0, 0, -5),
    ]


async def test_reversal_of_two_rounds_has_a_row_of_each_with_its_amount_in_the_first() -> None:
    again = ("open betting", "ann bets 100 on big", "dice 6 5 4")
    reversal = "supervisor reports dice-damaged affecting 1 2 with shift-manager"
    store = await play_lines(*ROUND, *again, reversal)

    rows = [each.row for each in statement(store, "ann") if each.row.what == "reversed"]
    assert [(row.round, row.amount, row.note) for row in rows] == [
        (1, -200, "dice-damaged"),
        (2, 0, "dice-damaged"),
    ]


@pytest.mark.parametrize(
    ("shifts", "wins"),
    [
        (((*ROUND, CORRECTION), (), (REVERSAL,)), [-5050, 0, 5050]),
        ((ROUND, (CORRECTION,), (REVERSAL,)), [-50, -5000, 5050]),
        ((ROUND, (), (CORRECTION, REVERSAL)), [-50, 0, 50]),
        ((ROUND, (CORRECTION,), (CORRECTION, REVERSAL)), [-50, -5000, 5050]),
    ],
)
async def test_shift_of_a_reversal_reverses_results_and_corrections_of_earlier_shifts(
    shifts: tuple[tuple[str, ...], ...], wins: list[int]
) -> None:
    store, clock, starts = MemoryStore(), ManualClock(), list[int]()
    async with CommandHandler(store, runtime=clock) as handler:
        people = People(handler)
        await people.open()
        for lines in shifts:
            starts.append(clock.now())
            await people.play(*lines)
        store_statements(store, handler)
    ends = [*starts[1:], clock.now()]

    reports = [shift_figures(store, "1", *shift) for shift in zip(starts, ends, strict=True)]

    assert [each.win for each in reports] == wins
    assert [each.rounds for each in reports] == [1, 0, -1]
    assert shift_figures(store, "1").win == 0


async def test_reversal_keeps_rulings_and_corrections_of_other_rounds() -> None:
    store = await play_lines(
        *ROUND, *ROUND, CORRECTION,
        "dealer corrects round 2 for bob by 200 with supervisor: misread",
        "shift-manager rules 50 for bob: spilt drink",
        REVERSAL,
    )  # fmt: skip

    assert shift_figures(store, "1").win == -50 - 200 - 50


async def test_reversal_of_a_correction_that_became_debt_is_complete() -> None:
    store = await play_lines(
        *ROUND,
        "dealer corrects round 1 for bob by -1500 with supervisor: misread",
        "bob repays 100 in cash",
        REVERSAL,
    )

    assert shift_figures(store, "1").win == 0


async def test_reversed_unsettled_round_with_collected_losers_has_no_win() -> None:
    store = await play_lines(
        *ROUND, CORRECTION, *ROUND[:-1],
        "close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4", "enter 6 5 4",
        "light the areas", "collect the losers",
        "supervisor reports dice-damaged affecting 1 2 with shift-manager",
    )  # fmt: skip

    report = shift_figures(store, "1")

    assert (report.win, report.rounds, report.void) == (0, 0, 1)


async def test_bets_that_were_put_back_and_stand_are_not_lost_in_statements() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        game, readings = "nz-tai-sai-2008/1", {"no-spin": "stand"}
        await people.open(game, readings=readings)
        await people.play(
            "open betting", "ann bets 100 on small", "bob bets 50 on big", "close betting",
            "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
            "collect the losers", "dealer reports dice-not-flat with supervisor",
        )  # fmt: skip
        store_statements(store, handler)

    rows = [(each.row.what, each.row.amount) for each in statement(store, "ann")]
    assert rows == [("bought in", 1000), ("lost", -100), ("put back", 100)]
    assert [each.row.what for each in statement(store, "bob")] == ["bought in"]
    assert shift_figures(store, "1").win == 0


async def test_statement_has_all_rows_of_its_player_and_no_others() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="ann", currency="SGD"))
        await people.send(Deposit(by="cashier", player="ann", amount=500))
        await people.send(
            commands.BuyIn(by=player("ann"), player="ann", amount=300, source="account")
        )
        await people.play(*ROUND)
        await people.send(
            commands.CashOut(by=player("ann"), player="ann", amount=100, to="account")
        )
        await people.send(Withdraw(by="cashier", player="ann", amount=50))
        store_statements(store, handler)

    rows = statement(store, "ann")

    assert [(each.row.what, each.row.amount) for each in rows] == [
        ("bought in", 1000),
        ("deposited", 500),
        ("sent to table", -300),
        ("bought in", 300),
        ("won", 100),
        ("from table", 100),
        ("cashed out", -100),
        ("withdrawn", -50),
    ]
    assert not statement(store, "ann", since=rows[-1].at + 1)


async def test_shooter_bet_is_on_the_statement_when_it_is_decided() -> None:
    store = await play_lines(
        "offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
        "ann bets 50 on shooter", "dice crown crown heart",
        "open betting", "dice heart heart spade",
        game="triple-dice/mat",
    )  # fmt: skip

    assert [each.row.amount for each in results(store, "1")] == [0, 50]
    assert ("lost", -50, "shooter") in [
        (each.row.what, each.row.amount, each.row.note) for each in statement(store, "ann")
    ]


async def test_void_rounds_are_counted_by_the_people_who_voided_them() -> None:
    store = await play_lines(
        "open betting", "ann bets 100 on big", "close betting", "tumbles 2 times",
        "open betting", "ann bets 100 on big", "close betting", "tumbles 1 time",
        "open betting", "ann bets 100 on big", "close betting", "tumbles 3 times",
        "uncover the dice", "dealer reports dice-not-flat",
        "dealer reports dice-not-flat with supervisor",
    )  # fmt: skip

    report = shift_figures(store, "1")

    assert report.void == 3
    assert report.voided == {
        ("dealer", "", "too-few-tumbles"): 2,
        ("dealer", "supervisor", "dice-not-flat"): 1,
    }


async def test_rebuilt_statements_equal_the_stored_ones() -> None:
    store = await play_lines(*ROUND, *ROUND)
    before = store.lines(VIEW)
    progress: list[tuple[int, int]] = []

    assert rebuild(store, lambda *each: progress.append(each)) == (1, {})

    assert store.lines(VIEW) == before
    assert progress == [(1, 1)]


SHOOTING = (
    "offer the dice to ann", "ann chooses dice 1 2 3", "open betting", "ann bets 50 on shooter",
    "dice crown crown heart", "open betting", "bob bets 20 on single:heart",
    "dice heart heart spade",
)  # fmt: skip
VOID = (
    "open betting",
    "ann bets 100 on big",
    "bob buys 500",
    "close betting",
    "tumbles 3 times",
    "dealer reports dice-not-flat",
)


class PrefixStore(MemoryStore):
    """A store that reads the first entries of each stream of another store."""

    def __init__(self, whole: MemoryStore) -> None:
        super().__init__()
        self.whole, self.count = whole, 0

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        return self.whole.read(stream, after, max(0, min(limit, self.count - after)))


@pytest.mark.parametrize(
    ("game", "lines"),
    [
        ("sg-rws-tai-sai-v6/a", (*ROUND, *VOID, *ROUND[:2], "bob buys 70", *ROUND[2:])),
        ("triple-dice/mat", SHOOTING),
    ],
)
async def test_statements_do_not_depend_on_how_often_they_are_updated(
    game: str, lines: tuple[str, ...]
) -> None:
    whole = await play_lines(*lines, game=game)
    entries, store = list(whole.scan("table/1")), PrefixStore(whole)
    for count in range(1, len(entries) + 1):
        store.count = count
        reached = update_statements(store, "table/1", GameRegistry(whole).load_pinned)
        projector = StatementProjector("table/1", GameRegistry(whole).load_pinned)
        for entry in entries[:reached]:
            list(projector.project(entry, decode(entry)))
        assert projector.is_resumable

    assert store.lines(VIEW) == whole.lines(VIEW) != []


async def test_buy_in_during_a_round_is_on_the_statement_at_once() -> None:
    store = await play_lines("open betting", "ann bets 100 on big", "bob buys 500")

    assert [each.row.amount for each in statement(store, "bob")] == [1000, 500]


async def test_exposure_matches_the_house_net_of_each_of_the_216_rolls() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        assert set(exposure(game, (await handler.table("1")).table).values()) == {0}
        await people.play("open betting", "ann bets 100 on big", "bob bets 5 on triple:6")

        nets = exposure(game, (await handler.table("1")).table)

    for roll in ROLLS:
        expected = sum(
            -stake * oracle.net(game.id, box, roll)
            for box, stake in (("big", 100), ("triple:6", 5))
        )
        assert nets[roll] == expected


async def test_chips_carried_away_at_the_close_are_on_the_statement() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("close the table")
        store_statements(store, handler)
    assert [(each.row.what, each.row.amount) for each in statement(store, "ann")] == [
        ("bought in", 1000),
        ("carried away", -1000),
    ]


async def test_player_and_table_with_the_same_id_have_separate_statements() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        with pytest.raises(InvalidInput):
            await people.open(stacks={"table/1": 1000})
    async with CommandHandler(store) as handler:
        people = People(handler, "2")
        await people.open(stacks={"2": 1000})
        await people.send(commands.MakeRuling(by=MANAGER, player="2", amount=50, reason="r"))
        store_statements(store, handler)
    assert shift_figures(store, "2").win == -50
    assert [each.row.what for each in statement(store, "2")] == ["bought in", "ruling"]
