"""Enumerate the states of a session and propagate their probabilities round by round.

Everything that can happen in a session, laid out as numbered states before any counting.

Laying them out tells how much work a session is, so that one which is too large is refused before
it begins.

Counting a session round by round: exactly in integers, or in floats with a bound.

Both walks go over the same states. The exact one counts ways out of `of` to the number of rounds;
the other keeps probabilities in float64. As it only ever adds and multiplies what is not negative,
no digits cancel, and a relative bound on its error follows from the number of operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING, Final, Protocol

from threedice.errors import InfeasibleComputation
from threedice.odds.tilted_distribution import require_numpy

if TYPE_CHECKING:
    from threedice.odds.sessions.plans import PlanState
    from threedice.odds.sessions.session import BettingSession, SessionEnding


MAX_STATES: Final = 400_000
"""More are not laid out unless asked: a few seconds' work and half a gigabyte."""


@dataclass(slots=True)
class StateSpace:
    """Numbered states: what is left in each, how it ended if it did, and where each result leads.

    `arrows[i]` are (ways, state) pairs; a state that ended, or is reached in the last round only,
    has none. State nought is the start.
    """

    bankrolls: list[int] = field(default_factory=list)
    endings: list[SessionEnding | None] = field(default_factory=list)
    transitions: list[tuple[tuple[int, int], ...]] = field(default_factory=list)

    @property
    def transition_count(self) -> int:
        """How many arrows there are, each one step of work in every round."""
        return sum(map(len, self.transitions))

    def estimate_exact_bytes(self, session: BettingSession) -> int:
        """Return about how much memory exact counts of all states take at the last round."""
        number = 28 + session.rounds * log2(session.spread.total_ways) / 7.5
        return int(len(self.bankrolls) * (2 * number + 300))


StateKey = tuple[int, "PlanState | SessionEnding"]


def enumerate_states(session: BettingSession, max_states: int = MAX_STATES) -> StateSpace:
    """Return every state that the session can reach in its rounds."""
    states = StateSpace()
    numbers: dict[StateKey, int] = {}
    start = session.plan.initial_state()
    frontier = [_intern_state(session, states, numbers, start, session.bankroll)]
    told: list[PlanState] = [start]
    for done in range(session.rounds):
        if len(states.bankrolls) > max_states:
            raise InfeasibleComputation(
                f"{session.plan.name} comes to more than {max_states:,} states "
                f"after {done} of {session.rounds} rounds",
                len(states.bankrolls),
                "play fewer rounds, stake in larger steps or simulate it",
            )
        known = len(states.bankrolls)
        for place in frontier:
            states.transitions[place] = _transitions(session, states, numbers, told, place)
        frontier = [i for i in range(known, len(states.bankrolls)) if states.endings[i] is None]
    return states


def _intern_state(
    session: BettingSession,
    states: StateSpace,
    numbers: dict[StateKey, int],
    state: PlanState,
    bankroll: int,
) -> int:
    """Return a state's number, a new one where it is new; ended states forget their plan."""
    ending = session.ending(state, bankroll)
    key: StateKey = (bankroll, ending or state)
    number = numbers.setdefault(key, len(states.bankrolls))
    if number == len(states.bankrolls):
        states.bankrolls.append(bankroll)
        states.endings.append(ending)
        states.transitions.append(())
    return number


def _transitions(
    session: BettingSession,
    states: StateSpace,
    numbers: dict[StateKey, int],
    plan_states: list[PlanState],
    state_number: int,
) -> tuple[tuple[int, int], ...]:
    """Return where each result of the spread leads from a state."""
    state, left = plan_states[state_number], states.bankrolls[state_number]
    stake = session.next_stake(state, left)
    steps = stake // session.spread.step
    arrows = []
    for net, ways in session.spread.results:
        won = net * steps
        after = session.plan.next_state(state, stake, won)
        number = _intern_state(session, states, numbers, after, left + won)
        if number == len(plan_states):
            plan_states.append(after)
        arrows.append((ways, number))
    return tuple(arrows)


Weight = int | float


_UNIT_ROUNDOFF: Final = 2.0**-53


class Propagator(Protocol):
    """A session some rounds under way."""

    @property
    def denominator(self) -> int:
        """What weights after t rounds are out of, to the power of t; 1 for probabilities."""

    def advance(self) -> dict[int, Weight]:
        """Play a round; return the weight of each state in which sessions ended just now."""

    def active_weights(self) -> dict[int, Weight]:
        """Return the weight of those still playing, by what they have left."""

    def error_bound(self, rounds: int) -> float:
        """Return how far, relatively, any weight after so many rounds may be from the truth."""


class ExactPropagator:
    """Counts in integers of any size."""

    def __init__(self, session: BettingSession, states: StateSpace) -> None:
        self.denominator = session.spread.total_ways
        self._states = states
        self._counts: dict[int, int] = {0: 1}

    def advance(self) -> dict[int, Weight]:
        """Play a round; return the count of each state in which sessions ended just now."""
        arrows, ending = self._states.transitions, self._states.endings
        after: dict[int, int] = {}
        for place, count in self._counts.items():
            for ways, target in arrows[place]:
                after[target] = after.get(target, 0) + ways * count
        ended: dict[int, Weight] = {each: after[each] for each in after if ending[each]}
        for each in ended:
            del after[each]
        self._counts = after
        return ended

    def active_weights(self) -> dict[int, Weight]:
        """Return the count of those still playing, by what they have left."""
        left = self._states.bankrolls
        sums: dict[int, Weight] = {}
        for place, count in self._counts.items():
            sums[left[place]] = sums.get(left[place], 0) + count
        return sums

    def error_bound(self, rounds: int) -> float:  # noqa: ARG002
        """Return nought."""
        return 0.0


class FloatPropagator:
    """Carries probabilities in float64, all states at once."""

    denominator = 1

    def __init__(self, session: BettingSession, states: StateSpace) -> None:
        np = self._np = require_numpy("float64 sessions")
        whole = session.spread.total_ways
        flat = [
            (source, target, ways / whole)
            for source, arrows in enumerate(states.transitions)
            for ways, target in arrows
        ]
        self._source, self._target = (np.array([each[i] for each in flat]) for i in (0, 1))
        self._share = np.array([each[2] for each in flat])
        self._ends = np.array([i for i, each in enumerate(states.endings) if each], dtype=int)
        self._left, self._slot = np.unique(np.array(states.bankrolls), return_inverse=True)
        self._now = np.zeros(len(states.bankrolls))
        self._now[0] = 1.0
        self._most_in = int(np.bincount(self._target).max())

    def advance(self) -> dict[int, Weight]:
        """Play a round; return the probability of each ending reached just now."""
        np, size = self._np, len(self._now)
        flow = self._share * self._now[self._source]
        self._now = np.bincount(self._target, weights=flow, minlength=size)
        ended = {int(each): float(self._now[each]) for each in self._ends if self._now[each]}
        self._now[self._ends] = 0.0
        return dict(ended)

    def active_weights(self) -> dict[int, Weight]:
        """Return the probability of still playing, by what is left."""
        sums = self._np.bincount(self._slot, weights=self._now)
        pairs = zip(self._left, sums, strict=True)
        return {int(left): float(weight) for left, weight in pairs if weight}

    def error_bound(self, rounds: int) -> float:
        """Return the bound: per round a rounded share, a product, and the sum at a state.

        Two more sums are made when results are put together, each of at most all the states.
        """
        operations = rounds * (self._most_in + 1) + 2 * len(self._now) + rounds
        return 1.01 * operations * _UNIT_ROUNDOFF
