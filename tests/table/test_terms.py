"""Validation of chips and limits, and invariants of the state."""

from __future__ import annotations

import pytest

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
def test_chip_denominations_out_of_order_are_refused(chips: list[int]) -> None:
    with pytest.raises(InvalidInput, match="ascending order"):
        check_chips(chips)


def test_chip_that_is_not_a_multiple_of_the_smallest_is_refused() -> None:
    check_chips([5, 25, 100])
    with pytest.raises(InvalidInput, match="a chip of 7 is not a multiple of the smallest, 5"):
        check_chips([5, 7, 25])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (TableLimits({**PLAIN.families, "lucky": StakeRange(5, 10)}, {}, PLAIN.differential),
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
        (TableLimits(PLAIN.families, {"big": StakeRange(50, 57)}, PLAIN.differential),
         "multiples of 5"),
        (TableLimits(PLAIN.families, {}, {"small": 50, "big": 50, "odd": 50}), "no differential"),
        (TableLimits(PLAIN.families, {}, {"big": 0, "odd": 50}), "cannot be met in chips"),
        (TableLimits(PLAIN.families, {}, {"big": 7, "odd": 50}), "cannot be met in chips"),
        (TableLimits(PLAIN.families, {}, {"big": 50}), "no maximum differential for odd"),
    ],
)  # fmt: skip
def test_inconsistent_limits_are_refused(limits: TableLimits, message: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=message):
        check_limits(limits, GAME, [5, 25, 100])


def test_limits_of_every_box_of_a_family_make_limits_of_the_family_unnecessary() -> None:
    families = {name: stakes for name, stakes in PLAIN.families.items() if name != "total"}
    boxes = {name: StakeRange(5, 10) for name in GAME.boxes if name.startswith("total:")}

    check_limits(TableLimits(families, boxes, PLAIN.differential), GAME, [5, 25, 100])


def test_a_minimum_a_maximum_and_a_differential_of_one_smallest_chip_are_limits() -> None:
    check_limits(uniform_limits(GAME, 1, 1, 1), GAME, [1, 5, 25])


def test_uniform_limits_list_the_families_in_alphabetical_order() -> None:
    assert list(PLAIN.families) == sorted(PLAIN.families)


def test_stake_step_of_a_box_at_whole_odds_is_the_smallest_chip() -> None:
    assert stake_step(GAME.box("total:4"), [5, 25]) == 5


def test_limits_that_odds_cannot_pay_in_chips_are_refused_with_the_least_stake() -> None:
    small = uniform_limits(GAME, 7, 1000)

    with pytest.raises(InvalidInput) as refused:
        check_limits(small, GAME, [5, 25])

    assert str(refused.value) == (
        "limits 7 to 1000 on small are not multiples of 5, the least stake that its odds pay in "
        "chips of 5; change them, or give the box limits of its own"
    )


def test_reading_a_missing_round_limits_or_shooter_is_an_invariant_error() -> None:
    state = TableState()
    with pytest.raises(InvariantBroken, match="no round"):
        _ = state.current
    with pytest.raises(InvariantBroken, match="no limits"):
        limits_in_force(state)
    with pytest.raises(InvariantBroken, match="no result"):
        _ = Round(1).final_result
    with pytest.raises(InvariantBroken, match="nobody has the dice"):
        evolve(state, table_events.ShooterAdvanced(player="ann", throws=1))
