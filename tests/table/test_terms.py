"""The terms of a table: chips, limits, and what a state must never be."""

from __future__ import annotations

import pytest

from tests.table.setting import Table
from threedice import InvalidInput, UnknownName, load
from threedice.errors import InvariantBroken
from threedice.table import TableState, evolve
from threedice.table import events as table_events
from threedice.table.limits import (
    StakeRange,
    TableLimits,
    check_chips,
    check_limits,
    limits_in_force,
    stake_step,
    uniform_limits,
)
from threedice.table.state import Round

GAME = load("sg-rws-tai-sai-v6/c")
PLAIN = uniform_limits(GAME, 50, 1000, 2000)


@pytest.mark.parametrize("chips", [[], [0, 5], [25, 5], [5, 5], [-5, 5]])
def test_chips_are_denominations_in_ascending_order(chips: list[int]) -> None:
    with pytest.raises(InvalidInput, match="ascending order"):
        check_chips(chips)


def test_every_chip_is_a_multiple_of_the_smallest() -> None:
    check_chips([5, 25, 100])
    with pytest.raises(InvalidInput, match="a chip of 7 is not a multiple"):
        check_chips([5, 7])


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (TableLimits({**PLAIN.families, "roulette": StakeRange(5, 10)}, {}, PLAIN.differential),
         "no family on"),
        (TableLimits(PLAIN.families, {"total:3": StakeRange(5, 10)}, PLAIN.differential),
         "no box on"),
        (TableLimits({"big": StakeRange(5, 10)}), "no limits for small"),
        (TableLimits(PLAIN.families, {"big": StakeRange(50, 5)}, PLAIN.differential),
         "leave no room"),
        (TableLimits(PLAIN.families, {"big": StakeRange(0, 5)}, PLAIN.differential),
         "leave no room"),
        (TableLimits(PLAIN.families, {"big": StakeRange(7, 50)}, PLAIN.differential),
         "multiples of 5"),
        (TableLimits(PLAIN.families, {}, {"small": 50, "big": 50, "odd": 50}), "no differential"),
        (TableLimits(PLAIN.families, {}, {"big": 0, "odd": 50}), "cannot be met in chips"),
        (TableLimits(PLAIN.families, {}, {"big": 7, "odd": 50}), "cannot be met in chips"),
        (TableLimits(PLAIN.families, {}, {"big": 50}), "no maximum differential for odd"),
    ],
)  # fmt: skip
def test_limits_that_cannot_be_are_refused(limits: TableLimits, says: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=says):
        check_limits(limits, GAME, [5, 25, 100])


def test_the_step_of_a_box_is_the_smallest_chip_at_whole_odds() -> None:
    assert stake_step(GAME.box("total:4"), [5, 25]) == 5


def test_a_state_without_a_round_limits_or_shooter_says_so() -> None:
    state = TableState()
    with pytest.raises(InvariantBroken, match="no round"):
        _ = state.current
    with pytest.raises(InvariantBroken, match="no limits"):
        limits_in_force(state)
    with pytest.raises(InvariantBroken, match="no result"):
        _ = Round(1).final_result
    with pytest.raises(InvariantBroken, match="nobody has the dice"):
        evolve(state, table_events.ShooterAdvanced(player="ann", throws=1))


@pytest.mark.parametrize("amount", [3, 52])
def test_chips_are_withdrawn_and_moved_in_chips(amount: int) -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big")

    assert table.refuses(f"ann withdraws {amount} from big").code == "bet/amount"
    assert table.refuses(f"{amount} of ann's is moved from big to small").code == "bet/amount"


def test_a_reversal_that_the_float_cannot_pay_is_refused() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000}, float_amount=1000)
    table.play("open betting", "ann bets 500 on big", "dice 1 1 2", "credit 500")
    refusal = table.refuses("supervisor reports dice-damaged affecting 1 with shift-manager")

    assert (refusal.code, refusal.facts) == ("float/short", {"short": 500})
    table.play("fill 500", "supervisor reports dice-damaged affecting 1 with shift-manager")
    assert table.stack("ann") == 1000


def test_losers_and_winners_are_listed_as_a_dealer_works_the_layout() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    events = table.play("open betting", "ann bets 50 on single:6", "ann bets 50 on total:17",
                        "ann bets 50 on small", "ann bets 50 on big", "ann bets 50 on domino:5-6",
                        "dice 6 6 5")  # fmt: skip
    (losers,) = (each for each in events if isinstance(each, table_events.LosersCollected))
    (winners,) = (each for each in events if isinstance(each, table_events.WinnersPaid))

    assert [spot for spot, *_ in losers.bets] == ["small"]
    assert [spot for spot, *_ in winners.bets] == ["big", "total:17", "domino:5-6", "single:6"]


def test_a_void_after_the_call_carries_two_people() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "uncover the dice", "call 6 6 5")  # fmt: skip

    assert table.refuses("dealer reports dice-not-flat").code == "role/second-person"
    (void,) = table.play("dealer reports dice-not-flat with supervisor")
    assert isinstance(void, table_events.RoundVoided)
    assert void.approved_by is not None
    assert (void.by.id, void.approved_by.id) == ("dealer", "supervisor")


def test_an_explanation_leaves_other_players_chips_out() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big", "bob bets 100 on big",
               "50 of bob's is moved from big to small", "dice 6 5 4")  # fmt: skip

    assert table.stack("ann") == 2100
    assert table.stack("bob") == 2000
