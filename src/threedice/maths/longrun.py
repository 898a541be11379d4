"""Which way to the long run: counting where that is feasible, a bounded approximation beyond.

The border was measured on one core: counting takes 0.2 to 0.5 ns for each unit of `work` here (a
coefficient times its terms times a number that grows with the digits), so the border stands at half
a minute, or at a gigabyte of counts, whichever comes first.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log2
from typing import TYPE_CHECKING, Final, Literal

from threedice.maths.approximation import Approximation, approximate
from threedice.maths.rounds import Distribution, chance_at_least, check_rounds, over_rounds
from threedice.maths.tilted import tail

if TYPE_CHECKING:
    from threedice.maths.laws import Law

Method = Literal["exact", "float64"]
LongRun = Distribution | Approximation

EXACT_WORK: Final = 10**11
EXACT_BYTES: Final = 10**9


def work(law: Law, rounds: int) -> float:
    """Return how much work counting is: coefficients x terms x (1000 + half a count's bits)."""
    bits = rounds * log2(law.of)
    return (rounds * law.degree + 1) * len(law.ways) * (1000 + bits / 2)


def bytes_needed(law: Law, rounds: int) -> int:
    """Return about how much memory all the counts take."""
    return int((rounds * law.degree + 1) * (44 + rounds * log2(law.of) / 7.5))


def method_for(law: Law, rounds: int) -> Method:
    """Return how the long run is found unless somebody asks otherwise."""
    small = bytes_needed(law, rounds) <= EXACT_BYTES
    return "exact" if small and work(law, rounds) <= EXACT_WORK else "float64"


def long_run(law: Law, rounds: int, method: Method | None = None) -> LongRun:
    """Return the distribution of the net result of independent rounds."""
    check_rounds(rounds)
    chosen = method or method_for(law, rounds)
    return over_rounds(law, rounds) if chosen == "exact" else approximate(law, rounds)


def chance_above(law: Law, rounds: int, net: Fraction | int) -> tuple[Fraction | float, float]:
    """Return the probability of more than a net result, and how far it may be from the truth."""
    check_rounds(rounds)
    reached = Fraction(floor(net * law.unit) + 1, law.unit)
    if method_for(law, rounds) == "exact":
        return chance_at_least(law, rounds, reached), 0.0
    return tail(law, rounds, reached)
