"""Money as integer minor units, and odds in the form "a to b".

Every payment is computed with `Odds`; no module uses a float for money.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NewType

import msgspec

from threedice.errors import InvalidInput

Amount = NewType("Amount", int)
"""A sum of money in minor units (cents, or the unit the table counts in)."""

MAX_AMOUNT = 10**12
"""The largest amount one command can move; sums over very many commands stay exact."""

RequestedAmount = Annotated[int, msgspec.Meta(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
"""An amount in a command, bounded in size only; the command's handler checks its value."""

AmountFormatter = Callable[[int], str]
"""Formats an amount as text: in minor units, or in a currency's major unit."""

# Currencies of ISO 4217 whose minor unit is not a hundredth.
_NO_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND"

_ODDS = re.compile(r"([1-9][0-9]{0,5}) to ([1-9][0-9]{0,5})")
_AMOUNT = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Odds:
    """The winnings of a bet on top of its stake: `a` for every `b` staked.

    >>> str(Odds.parse("19 to 20")), Odds.parse("62 to 1").winnings(Amount(5))
    ('19 to 20', 310)
    """

    a: int
    b: int

    @classmethod
    def parse(cls, text: str) -> Odds:
        """Parse odds such as "62 to 1"; raise InvalidInput for any other form."""
        match = _ODDS.fullmatch(text)
        if match is None:
            raise InvalidInput(f"{text!r} is not odds; write them as 'a to b', such as '62 to 1'")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.a} to {self.b}"

    @property
    def ratio(self) -> Fraction:
        """The winnings per unit staked."""
        return Fraction(self.a, self.b)

    def winnings(self, stake: Amount) -> Amount:
        """Return the winnings of a stake; raise InvalidInput if they are not a whole amount."""
        paid, remainder = divmod(stake * self.a, self.b)
        if remainder:
            step = self.ratio.denominator
            raise InvalidInput(
                f"{self} on {stake} does not come out even; stake a multiple of {step}"
            )
        return Amount(paid)


def parse_amount(text: str) -> Amount:
    """Parse a stake: a whole number above zero, in the unit the table counts in.

    >>> parse_amount("50")
    50
    """
    if _AMOUNT.fullmatch(text) is None:
        raise InvalidInput(
            f"{text!r} is not an amount; give a whole number above zero of at most 18 digits "
            "(count in cents if need be)"
        )
    return Amount(int(text))


def format_currency(amount: int, currency: str) -> str:
    """Return an amount in a currency's major unit, as people write it.

    >>> format_currency(1234550, "SGD"), format_currency(-5, "SGD")
    ('12,345.50', '-0.05')
    >>> format_currency(5000, "JPY"), format_currency(5, "KWD")
    ('5,000', '0.005')
    """
    digits = 0 if currency in _NO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    major, minor = divmod(abs(amount), 10**digits)
    fraction = f".{minor:0{digits}}" if digits else ""
    return f"{'-' if amount < 0 else ''}{major:,}{fraction}"
