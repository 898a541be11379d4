"""A session as a Markov chain: enumerate its states, then propagate their weights per round.

States are enumerated first, which shows the amount of work, so that a session that is too large is
refused before it starts. Ended states are absorbing.

Both propagators use the same states. The exact one counts ways out of the spread's total to the
power of the number of rounds; the other keeps probabilities in float64. It only adds and multiplies
non-negative numbers, so nothing cancels, and a relative error bound follows from the number of
operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING, Final

from threedice.errors import InfeasibleComputation
from threedice.odds.tilted_distribution import UNIT_ROUNDOFF, require_numpy

if TYPE_CHECKING:
    from threedice.odds.sessions.plans import PlanState
    from threedice.odds.sessions.session import BettingSession, SessionEnding


MAX_STATES: Final = 400_000
"""Default maximum number of states: a few seconds and half a gigabyte."""

StateKey = tuple[int, "PlanState | SessionEnding"]
"""Bankroll, and the state of the plan, or the ending of an ended state."""

Weight = int | float
"""A count of ways, or a probability."""


@dataclass(slots=True)
class StateSpace:
    """Numbered states with their bankroll, their ending (None while playing) and transitions.

    `transitions[i]` are (ways, target state) pairs; an absorbing state, and one that is reached in
    the last round only, has none. State 0 is the start.
    """

    bankrolls: list[int] = field(default_factory=list)
    endings: list[SessionEnding | None] = field(default_factory=list)
    transitions: list[tuple[tuple[int, int], ...]] = field(default_factory=list)

    @property
    def transition_count(self) -> int:
        """Number of transitions, the unit of work in every round."""
        return sum(map(len, self.transitions))

    def estimate_exact_bytes(self, session: BettingSession) -> int:
        """Return an estimate of the memory of exact counts of all states in the last round."""
        bytes_per_count = 28 + session.rounds * log2(session.spread.total_ways) / 7.5
        return int(len(self.bankrolls) * (2 * bytes_per_count + 300))


def enumerate_states(session: BettingSession, max_states: int = MAX_STATES) -> StateSpace:
    """Return every state that the session can reach in its rounds, breadth first."""
    plan, spread = session.plan, session.spread
    states = StateSpace()
    plan_states: list[PlanState] = []
    numbers: dict[StateKey, int] = {}

    def number_of(plan_state: PlanState, bankroll: int) -> int:
        """Return the number of a state, adding it if it is new.

        Ended states with the same bankroll and ending are one state, whatever their plan state.
        """
        ending = session.ending(plan_state, bankroll)
        number = numbers.setdefault((bankroll, ending or plan_state), len(plan_states))
        if number == len(plan_states):
            plan_states.append(plan_state)
            states.bankrolls.append(bankroll)
            states.endings.append(ending)
            states.transitions.append(())
        return number

    frontier = [number_of(plan.initial_state(), session.bankroll)]
    for round_number in range(session.rounds):
        first_new = len(plan_states)
        if first_new > max_states:
            raise InfeasibleComputation(
                f"{plan.name} has more than {max_states:,} states "
                f"after {round_number} of {session.rounds} rounds",
                first_new,
                "play fewer rounds, stake in larger steps or simulate it",
            )
        for number in frontier:
            state, bankroll = plan_states[number], states.bankrolls[number]
            stake = session.next_stake(state, bankroll)
            nets = ((net * (stake // spread.step), ways) for net, ways in spread.results)
            states.transitions[number] = tuple(
                (ways, number_of(plan.next_state(state, stake, net), bankroll + net))
                for net, ways in nets
            )
        frontier = [i for i in range(first_new, len(plan_states)) if states.endings[i] is None]
    return states


class ExactPropagator:
    """Propagate counts in integers of any size; after t rounds they are out of denominator^t."""

    def __init__(self, session: BettingSession, states: StateSpace) -> None:
        self.denominator = session.spread.total_ways
        self._states = states
        self._counts: dict[int, int] = {0: 1}

    def advance(self) -> dict[int, Weight]:
        """Play a round; return the count of each absorbing state reached in it."""
        transitions, endings = self._states.transitions, self._states.endings
        counts: dict[int, int] = {}
        for source, count in self._counts.items():
            for ways, target in transitions[source]:
                counts[target] = counts.get(target, 0) + ways * count
        ended: dict[int, Weight] = {number: counts[number] for number in counts if endings[number]}
        for number in ended:
            del counts[number]
        self._counts = counts
        return ended

    def active_weights(self) -> dict[int, Weight]:
        """Return the count of the sessions still playing, by bankroll."""
        bankrolls = self._states.bankrolls
        sums: dict[int, Weight] = {}
        for number, count in self._counts.items():
            bankroll = bankrolls[number]
            sums[bankroll] = sums.get(bankroll, 0) + count
        return sums

    def error_bound(self, rounds: int) -> float:  # noqa: ARG002
        """Return 0: the counts are exact."""
        return 0.0


class FloatPropagator:
    """Propagate probabilities in float64 (out of 1), all states in one numpy operation."""

    denominator = 1

    def __init__(self, session: BettingSession, states: StateSpace) -> None:
        np = self._np = require_numpy("a float64 session")
        total_ways = session.spread.total_ways
        edges = [
            (source, target, ways / total_ways)
            for source, transitions in enumerate(states.transitions)
            for ways, target in transitions
        ]
        self._sources, self._targets = (np.array([edge[i] for edge in edges]) for i in (0, 1))
        self._edge_probabilities = np.array([edge[2] for edge in edges])
        self._absorbing = np.array(
            [number for number, ending in enumerate(states.endings) if ending], dtype=int
        )
        self._bankrolls, self._bankroll_index = np.unique(
            np.array(states.bankrolls), return_inverse=True
        )
        self._probabilities = np.zeros(len(states.bankrolls))
        self._probabilities[0] = 1.0
        self._max_in_degree = int(np.bincount(self._targets).max())

    def advance(self) -> dict[int, Weight]:
        """Play a round; return the probability of each absorbing state reached in it."""
        np, size = self._np, len(self._probabilities)
        flow = self._edge_probabilities * self._probabilities[self._sources]
        after = self._probabilities = np.bincount(self._targets, weights=flow, minlength=size)
        ended: dict[int, Weight] = {
            int(number): float(after[number]) for number in self._absorbing if after[number]
        }
        after[self._absorbing] = 0.0
        return ended

    def active_weights(self) -> dict[int, Weight]:
        """Return the probability of the sessions still playing, by bankroll."""
        sums = self._np.bincount(self._bankroll_index, weights=self._probabilities)
        pairs = zip(self._bankrolls, sums, strict=True)
        return {int(bankroll): float(weight) for bankroll, weight in pairs if weight}

    def error_bound(self, rounds: int) -> float:
        """Return a bound on the relative error of every probability after `rounds` rounds.

        A round makes a rounded probability, a product, and the sum at a state. Two more sums, each
        over at most all states, are made when the results are collected.
        """
        operations = rounds * (self._max_in_degree + 1) + 2 * len(self._probabilities) + rounds
        return 1.01 * operations * UNIT_ROUNDOFF
