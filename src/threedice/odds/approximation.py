"""Distribution over many rounds: exact if feasible, otherwise in float64 with an error bound.

`long_run` chooses the method. Exact counting was measured at 0.2 to 0.5 ns on one core for each
unit of `estimate_exact_work`, so that the limit is about half a minute, or a gigabyte of counts,
whichever comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log2
from typing import TYPE_CHECKING, Any, Final, Literal

from threedice.errors import InvalidInput
from threedice.odds.convolution import (
    Distribution,
    chance_at_least,
    check_probability,
    check_rounds,
    over_rounds,
)
from threedice.odds.distribution import NetDistribution
from threedice.odds.tilted_distribution import (
    UNIT_ROUNDOFF,
    TiltedDistribution,
    tail_probability,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.odds.distribution import RoundDistribution


@dataclass(frozen=True)
class Approximation(NetDistribution[float]):
    """Distribution in float64: the probabilities from the lattice index `first_index` on."""

    first_index: int
    probabilities: Any

    def net(self, index: int) -> Fraction:
        """Return the net result at an index of the window."""
        return self.one_round.net(self.first_index + index, self.rounds)

    def results(self) -> Iterator[tuple[Fraction, float]]:
        """Yield the net results of the window, worst first, with their probabilities."""
        return (
            (self.one_round.net(k, self.rounds), probability)
            for k, probability in self.indexed_probabilities()
        )

    def indexed_probabilities(self) -> Iterator[tuple[int, float]]:
        """Yield the lattice index of each net result of the window and its probability."""
        pairs = enumerate(self.probabilities.tolist(), self.first_index)
        return ((k, probability) for k, probability in pairs if probability)

    def as_floats(self) -> list[tuple[float, float]]:
        """Return the net results with their probabilities as floats, for charts."""
        (indices,) = self.probabilities.nonzero()
        nets = float(self.net(0)) + indices * (self.one_round.step / self.one_round.unit)
        return list(zip(nets.tolist(), self.probabilities[indices].tolist(), strict=True))

    @property
    def level(self) -> float:
        """Probability of a net result of zero; rounding does not make it negative."""
        return max(super().level, 0.0)

    def quantile(self, probability: Fraction) -> Fraction:
        """Return the least net result with a cumulative probability of at least this.

        A probability closer to 0 or 1 than `error` is refused: its quantile is not known.
        """
        check_probability(probability)
        if probability == 1:
            return self.one_round.highest * self.rounds
        if not self.error < probability < 1 - self.error:
            raise InvalidInput(
                f"a quantile of {float(probability):g} among probabilities that are known within "
                f"{self.error:.1e} only; count exactly, or give a less extreme probability"
            )
        index = int(self._cumulative.searchsorted(float(probability)))
        return self.net(min(index, len(self.probabilities) - 1))

    @cached_property
    def _cumulative(self) -> Any:
        return self.probabilities.cumsum()

    def _below(self, index: int) -> float:
        clamped = min(max(index - self.first_index, 0), len(self.probabilities))
        return min(float(self._cumulative[clamped - 1]), 1.0) if clamped else 0.0


LongRun = Distribution | Approximation

LongRunMethod = Literal["exact", "float64"]

MAX_EXACT_WORK: Final = 10**11
"""Maximum work of exact counts, in the unit of `estimate_exact_work`."""

MAX_EXACT_BYTES: Final = 10**9
"""Maximum memory of exact counts."""


def long_run(
    one_round: RoundDistribution, rounds: int, method: LongRunMethod | None = None
) -> LongRun:
    """Return the distribution of the net result of independent rounds."""
    check_rounds(rounds)
    method = method or choose_method(one_round, rounds)
    return over_rounds(one_round, rounds) if method == "exact" else approximate(one_round, rounds)


def chance_above(
    one_round: RoundDistribution, rounds: int, net: Fraction | int
) -> tuple[Fraction | float, float]:
    """Return the probability of more than a net result, and a bound on its error."""
    check_rounds(rounds)
    next_net = Fraction(floor(net * one_round.unit) + 1, one_round.unit)
    if choose_method(one_round, rounds) == "exact":
        return chance_at_least(one_round, rounds, next_net), 0.0
    return tail_probability(one_round, rounds, next_net)


def approximate(one_round: RoundDistribution, rounds: int) -> Approximation:
    """Return the distribution of the net result of very many rounds in float64."""
    check_rounds(rounds)
    window = TiltedDistribution(one_round).convolve(rounds)
    # A cumulative sum rounds once for each of its terms, and stays at most one.
    summation_error = len(window.probabilities) * UNIT_ROUNDOFF
    return Approximation(
        one_round,
        rounds,
        window.first_index,
        window.probabilities.clip(0.0, None),
        error=window.sum_error + summation_error,
    )


def choose_method(one_round: RoundDistribution, rounds: int) -> LongRunMethod:
    """Return the default method: exact if time and memory allow."""
    fits = estimate_exact_bytes(one_round, rounds) <= MAX_EXACT_BYTES
    return (
        "exact" if fits and estimate_exact_work(one_round, rounds) <= MAX_EXACT_WORK else "float64"
    )


def estimate_exact_work(one_round: RoundDistribution, rounds: int) -> float:
    """Return the work of exact counts: coefficients x terms x (1000 + half the bits of a count)."""
    bits = rounds * log2(one_round.total_ways)
    return (rounds * one_round.degree + 1) * len(one_round.ways) * (1000 + bits / 2)


def estimate_exact_bytes(one_round: RoundDistribution, rounds: int) -> int:
    """Return an estimate of the memory of all exact counts."""
    return int((rounds * one_round.degree + 1) * (44 + rounds * log2(one_round.total_ways) / 7.5))
