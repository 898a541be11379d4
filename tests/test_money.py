"""Odds and amounts."""

from fractions import Fraction

import pytest

from threedice.errors import InvalidInput
from threedice.money import Amount, Odds, parse_amount


@pytest.mark.parametrize(
    ("text", "stake", "winnings"),
    [("62 to 1", 5, 310), ("11 to 10", 50, 55), ("19 to 20", 40, 38), ("3 to 2", 2, 3)],
)
def test_odds_pay_a_for_every_b_staked(text: str, stake: int, winnings: int) -> None:
    assert Odds.parse(text).winnings(Amount(stake)) == winnings
    assert str(Odds.parse(text)) == text


@pytest.mark.parametrize("text", ["11 to 10", "22 to 20"])
def test_stake_that_cannot_be_paid_exactly_is_refused_with_the_multiple_that_can(text: str) -> None:
    with pytest.raises(InvalidInput, match="stake a multiple of 10"):
        Odds.parse(text).winnings(Amount(15))


@pytest.mark.parametrize(
    "text", ["", "1", "1:1", "60:1", "1 too 1", " 1 to 1", "1 to 1 ", "0 to 1", "1 to 0", "-1 to 1",
             "1.5 to 1", "1  to 1", "١ to 1", "1 TO 1"],
)  # fmt: skip
def test_malformed_odds_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="write them as 'a to b'"):
        Odds.parse(text)


def test_ratio_of_odds_is_reduced() -> None:
    assert Odds.parse("22 to 20").ratio == Fraction(11, 10)


@pytest.mark.parametrize(
    "text", ["0", "-5", "5.5", "1e3", "", "nan", "inf", "05", "٣", "1_000", " 5"]
)
def test_amount_that_is_not_a_positive_integer_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="whole number above zero"):
        parse_amount(text)
