"""Money as integer minor units, odds in the form "a to b", and postings between accounts.

Every payment is computed with `Odds`; no module uses a float for money. What an event moves is
defined in `table.money` and `account.money`, and nowhere else.

Accounts: `cash` (the drop box), `float` (the table's chips), `stack/<player>` (a player's chips at
the table), `layout` (chips at risk), `account/<player>` (a player's account with the house),
`transfer/<player>` (money between that account and a table: zero once both streams have posted it),
`vault`, `outside` (the source of cash and the destination of chips carried away), `owing/<player>`
(a player's debt, as a negative balance), `variance` (money that a count found or missed), `colours`
(what the house owes for coloured chips in play, as a negative balance).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, NamedTuple, NewType

import msgspec

from threedice.errors import InvalidInput, InvariantBroken

Amount = NewType("Amount", int)
"""A sum of money in minor units (cents, or the unit the table counts in)."""

MAX_AMOUNT = 10**12
"""The largest amount one command can move; sums over very many commands stay exact."""

RequestedAmount = Annotated[int, msgspec.Meta(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
"""An amount in a command, bounded in size only; the command's handler checks its value."""

Currency = Annotated[
    str,
    msgspec.Meta(pattern=r"^[A-Z]{3}\Z", extra={"form": "three capital letters, such as SGD"}),
]
"""The code of a currency by ISO 4217."""

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


class Posting(NamedTuple):
    """A non-negative amount that moves from one account to another.

    `player` is the player it concerns and `spot` the spot whose chips move, where there is one.
    """

    source: str
    destination: str
    amount: int
    player: str = ""
    spot: str = ""


_NON_NEGATIVE_ACCOUNTS = ("cash", "float", "layout", "stack/", "account/")


class Balances(dict[str, int]):
    """The balance of each account; postings keep their sum at zero."""

    def post(self, postings: Iterable[Posting]) -> None:
        """Apply the postings of one event.

        Raises `InvariantBroken` for a negative amount, and when an account that holds chips or
        money goes below zero.
        """
        for source, destination, amount, _, _ in postings:
            if amount < 0:
                raise InvariantBroken(f"a posting of {amount} from {source} to {destination}")
            self[source] = balance = self.get(source, 0) - amount
            self[destination] = self.get(destination, 0) + amount
            if balance < 0 and source.startswith(_NON_NEGATIVE_ACCOUNTS):
                raise InvariantBroken(f"{source} went below zero, to {balance}")


def balance_changes(postings: Iterable[Posting]) -> dict[str, int]:
    """Return by how much postings change each account."""
    changes: dict[str, int] = {}
    for source, destination, amount, _, _ in postings:
        changes[source] = changes.get(source, 0) - amount
        changes[destination] = changes.get(destination, 0) + amount
    return changes


def stack_account(player: str) -> str:
    """Return the name of the account of a player's chips at the table."""
    return f"stack/{player}"


def player_account(player: str) -> str:
    """Return the name of a player's account with the house."""
    return f"account/{player}"


def transfer_account(player: str) -> str:
    """Return the name of the account of a player's money between account and table."""
    return f"transfer/{player}"


def owing_account(player: str) -> str:
    """Return the name of the account of a player's debt, whose balance is negative."""
    return f"owing/{player}"
