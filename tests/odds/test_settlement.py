"""Settlement of bets on a roll."""

from __future__ import annotations

from typing import Any

import pytest

from threedice import InvalidInput, load, settle
from threedice.dice import ROLLS
from threedice.money import Amount


def test_settlement_pays_winners_and_takes_losers() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    big, ten = settle(game, (1, 3, 6), {"big": Amount(50), "total:10": Amount(20)})

    assert (big.wins, big.net, big.returned) == (False, -50, 0)
    assert (ten.wins, ten.net, ten.returned) == (True, 120, 140)
    assert big.explanation == (
        "Big wins when the dice total 11, 12, 13, 14, 15, 16 or 17, but not on a triple; "
        "on 1, 3, 6, total 10 it lost"
    )
    assert ten.explanation.endswith("it won, paid 6 to 1")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["sg-rws-tai-sai-v6/e", "nz-tai-sai-2008/2", "triple-dice"])
def test_settlement_agrees_with_the_matrix_for_every_box_and_roll(name: str) -> None:
    game = load(name)
    unit = {box: Amount(1) for box in game.payoffs}
    for i, roll in enumerate(ROLLS):
        settled = settle(game, roll, unit)
        assert [each.net for each in settled] == [row[i] for row in game.payoffs.values()]


def test_settling_the_shooter_bet_by_one_roll_is_refused() -> None:
    with pytest.raises(InvalidInput, match="over 4 throws"):
        settle(load("triple-dice"), (1, 1, 1), {"shooter": Amount(5)})


@pytest.mark.parametrize("stake", [0, -5, 1.5, True])
def test_settling_a_stake_that_is_not_a_positive_integer_is_refused(stake: Any) -> None:
    with pytest.raises(InvalidInput, match="whole number above zero"):
        settle(load("sg-rws-tai-sai-v6/c"), (1, 2, 3), {"big": stake})
