"""Counting a session round by round: exactly in integers, or in floats with a bound.

Both walks go over the same states. The exact one counts ways out of `of` to the number of rounds;
the other keeps probabilities in float64. As it only ever adds and multiplies what is not negative,
no digits cancel, and a relative bound on its error follows from the number of operations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.maths.sessions import Session
    from threedice.maths.states import States

Number = int | float
_ROUNDING: Final = 2.0**-53


class Walk(Protocol):
    """A session some rounds under way."""

    @property
    def base(self) -> int:
        """What weights after t rounds are out of, to the power of t; 1 for probabilities."""

    def advance(self) -> dict[int, Number]:
        """Play a round; return the weight of each state in which sessions ended just now."""

    def standing(self) -> dict[int, Number]:
        """Return the weight of those still playing, by what they have left."""

    def error(self, rounds: int) -> float:
        """Return how far, relatively, any weight after so many rounds may be from the truth."""


class ExactWalk:
    """Counts in integers of any size."""

    def __init__(self, session: Session, states: States) -> None:
        self.base = session.spread.of
        self._states = states
        self._counts: dict[int, int] = {0: 1}

    def advance(self) -> dict[int, Number]:
        """Play a round; return the count of each state in which sessions ended just now."""
        arrows, ending = self._states.arrows, self._states.ending
        after: dict[int, int] = {}
        for place, count in self._counts.items():
            for ways, target in arrows[place]:
                after[target] = after.get(target, 0) + ways * count
        ended: dict[int, Number] = {each: after[each] for each in after if ending[each]}
        for each in ended:
            del after[each]
        self._counts = after
        return ended

    def standing(self) -> dict[int, Number]:
        """Return the count of those still playing, by what they have left."""
        left = self._states.left
        sums: dict[int, Number] = {}
        for place, count in self._counts.items():
            sums[left[place]] = sums.get(left[place], 0) + count
        return sums

    def error(self, rounds: int) -> float:  # noqa: ARG002
        """Return nought."""
        return 0.0


class FloatWalk:
    """Carries probabilities in float64, all states at once."""

    base = 1

    def __init__(self, session: Session, states: States) -> None:
        np = self._np = numpy("float64 sessions")
        whole = session.spread.of
        flat = [
            (source, target, ways / whole)
            for source, arrows in enumerate(states.arrows)
            for ways, target in arrows
        ]
        self._source, self._target = (np.array([each[i] for each in flat]) for i in (0, 1))
        self._share = np.array([each[2] for each in flat])
        self._ends = np.array([i for i, each in enumerate(states.ending) if each], dtype=int)
        self._left, self._slot = np.unique(np.array(states.left), return_inverse=True)
        self._now = np.zeros(len(states.left))
        self._now[0] = 1.0
        self._most_in = int(np.bincount(self._target).max())

    def advance(self) -> dict[int, Number]:
        """Play a round; return the probability of each ending reached just now."""
        np, size = self._np, len(self._now)
        flow = self._share * self._now[self._source]
        self._now = np.bincount(self._target, weights=flow, minlength=size)
        ended = {int(each): float(self._now[each]) for each in self._ends if self._now[each]}
        self._now[self._ends] = 0.0
        return dict(ended)

    def standing(self) -> dict[int, Number]:
        """Return the probability of still playing, by what is left."""
        sums = self._np.bincount(self._slot, weights=self._now)
        pairs = zip(self._left, sums, strict=True)
        return {int(left): float(weight) for left, weight in pairs if weight}

    def error(self, rounds: int) -> float:
        """Return the bound: per round a rounded share, a product, and the sum at a state.

        Two more sums are made when results are put together, each of at most all the states.
        """
        operations = rounds * (self._most_in + 1) + 2 * len(self._now) + rounds
        return 1.01 * operations * _ROUNDING


def numpy(purpose: str) -> Any:
    """Return numpy, or say what to install for this purpose."""
    try:
        return import_module("numpy")
    except ImportError:
        raise InvalidInput(
            f"{purpose} need numpy, which is not installed; run pip install 'threedice[sim]'"
        ) from None
