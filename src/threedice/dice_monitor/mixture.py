"""The evidence of face counts against fair dice: a mixture of likelihood ratios.

Each component is the probability that some alternative gives to the faces seen so far, divided by
the probability that fair dice give them. Under fair dice every component has expectation one at any
stopping time, and so has their mean: an e-process. By Ville's inequality it ever reaches e with a
probability of at most 1/e, however long and however often one looks.

Half of the weight lies on four Dirichlet-multinomial predictive processes, which learn the
probabilities of the faces from the faces themselves: with a prior counts per face, after n faces of
which f show the same, the next is predicted to show it too with (a + f) / (6a + n). The other half
lies on 36 targeted ratios, which name the loaded face, by how much more often it comes, and the
faces that come less often instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, log
from operator import add
from typing import TYPE_CHECKING, Final

from threedice.dice import FACES

if TYPE_CHECKING:
    from collections.abc import Iterable

FaceCounts = tuple[int, ...]
"""How often each of the six faces was seen."""

CONCENTRATIONS: Final = (5, 50, 500, 5000)
"""Prior counts per face: the larger, the smaller the deviations that the process looks for."""

EXCESSES: Final = (Fraction(5, 100), Fraction(10, 100), Fraction(20, 100))
"""By how much more often a loaded face comes, as a share of 1/6."""

LEARNING_WEIGHT: Final = Fraction(1, 2)
"""Weight of the Dirichlet-multinomial processes together; the targets have the rest."""


def opposite(face: int) -> int:
    """Return the face on the other side of the die: together they have seven pips.

    No rulebook says how symbols are arranged on a die. They are paired by their place in its list
    of faces, first with last; another arrangement costs power against a face that gains from its
    opposite, and never validity.

    >>> [opposite(face) for face in (1, 2, 3, 4, 5, 6)]
    [6, 5, 4, 3, 2, 1]
    """
    return 7 - face


def _shared_loss(face: int, excess: Fraction) -> tuple[Fraction, ...]:
    """Return six times the probability of each face if the other five share the loss."""
    return tuple(1 + excess if each == face else 1 - excess / 5 for each in FACES)


def _opposite_loss(face: int, excess: Fraction) -> tuple[Fraction, ...]:
    """Return six times the probability of each face if the opposite face bears the loss."""
    factors = {face: 1 + excess, opposite(face): 1 - excess}
    return tuple(factors.get(each, Fraction(1)) for each in FACES)


TARGETS: Final = tuple(
    load(face, excess)
    for load in (_shared_loss, _opposite_loss)
    for excess in EXCESSES
    for face in FACES
)
"""The 36 loaded dice, each as the likelihood ratio of every face."""

WEIGHTS: Final = (
    *(LEARNING_WEIGHT / len(CONCENTRATIONS) for _ in CONCENTRATIONS),
    *((1 - LEARNING_WEIGHT) / len(TARGETS) for _ in TARGETS),
)
"""Weights of the components: the Dirichlet-multinomial processes, then the targets."""

_LOG_WEIGHTS: Final = tuple(log(weight) for weight in WEIGHTS)
_LOG_TARGETS: Final = tuple(tuple(log(factor) for factor in target) for target in TARGETS)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The counts of the faces seen so far, and the logarithm of each component.

    >>> round(exp(Evidence().add((6, 6, 6)).log_total), 4)
    1.0796
    """

    counts: FaceCounts = (0, 0, 0, 0, 0, 0)
    learning: tuple[float, ...] = (0.0,) * len(CONCENTRATIONS)
    targets: tuple[float, ...] = (0.0,) * len(TARGETS)

    def add(self, faces: tuple[int, ...]) -> Evidence:
        """Return the evidence after some more faces."""
        counts, learning = list(self.counts), list(self.learning)
        seen = sum(counts)
        for face in faces:
            same = counts[face - 1]
            for i, prior in enumerate(CONCENTRATIONS):
                learning[i] += log(6 * (prior + same) / (6 * prior + seen))
            counts[face - 1] += 1
            seen += 1
        targets = tuple(map(add, self.targets, log_target_ratios(faces)))
        return Evidence(tuple(counts), tuple(learning), targets)

    @property
    def log_total(self) -> float:
        """The logarithm of the evidence: of the weighted sum of the components."""
        return log_sum(map(add, _LOG_WEIGHTS, (*self.learning, *self.targets)))


NO_EVIDENCE: Final = Evidence()


@cache
def log_target_ratios(faces: tuple[int, ...]) -> tuple[float, ...]:
    """Return the logarithm of each target's likelihood ratio for some faces: at most three."""
    return tuple(sum(logs[face - 1] for face in faces) for logs in _LOG_TARGETS)


def log_sum(logs: Iterable[float]) -> float:
    """Return the logarithm of a sum of which the logarithms of the terms are given."""
    terms = list(logs)
    largest = max(terms)
    return largest + log(sum([exp(term - largest) for term in terms]))


def log_mean(logs: Iterable[float]) -> float:
    """Return the logarithm of a mean of which the logarithms of the terms are given."""
    terms = list(logs)
    return log_sum(terms) - log(len(terms))
