"""Everything that can happen in a session, laid out as numbered states before any counting.

Laying them out tells how much work a session is, so that one which is too large is refused before
it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING, Final

from threedice.errors import ThreediceError

if TYPE_CHECKING:
    from threedice.maths.plans import State
    from threedice.maths.sessions import Ending, Session

MOST_STATES: Final = 400_000
"""More are not laid out unless asked: a few seconds' work and half a gigabyte."""


class Infeasible(ThreediceError):
    """A question too large for an exact answer, with the size that was found."""

    def __init__(self, what: str, size: int, remedy: str) -> None:
        self.size = size
        super().__init__(f"{what}; {remedy}")


@dataclass(slots=True)
class States:
    """Numbered states: what is left in each, how it ended if it did, and where each result leads.

    `arrows[i]` are (ways, state) pairs; a state that ended, or is reached in the last round only,
    has none. State nought is the start.
    """

    left: list[int] = field(default_factory=list)
    ending: list[Ending | None] = field(default_factory=list)
    arrows: list[tuple[tuple[int, int], ...]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many arrows there are, each one step of work in every round."""
        return sum(map(len, self.arrows))

    def bytes(self, session: Session) -> int:
        """Return about how much memory exact counts of all states take at the last round."""
        number = 28 + session.rounds * log2(session.spread.of) / 7.5
        return int(len(self.left) * (2 * number + 300))


Key = tuple[int, "State | Ending"]


def lay_out(session: Session, most: int = MOST_STATES) -> States:
    """Return every state that the session can reach in its rounds."""
    states = States()
    numbers: dict[Key, int] = {}
    start = session.plan.start()
    frontier = [_number(session, states, numbers, start, session.bankroll)]
    told: list[State] = [start]
    for done in range(session.rounds):
        if len(states.left) > most:
            raise Infeasible(
                f"{session.plan.name} comes to more than {most:,} states "
                f"after {done} of {session.rounds} rounds",
                len(states.left),
                "play fewer rounds, stake in larger steps or simulate it",
            )
        known = len(states.left)
        for place in frontier:
            states.arrows[place] = _arrows(session, states, numbers, told, place)
        frontier = [i for i in range(known, len(states.left)) if states.ending[i] is None]
    return states


def _number(
    session: Session, states: States, numbers: dict[Key, int], state: State, left: int
) -> int:
    """Return a state's number, a new one where it is new; ended states forget their plan."""
    ending = session.ending(state, left)
    key: Key = (left, ending or state)
    number = numbers.setdefault(key, len(states.left))
    if number == len(states.left):
        states.left.append(left)
        states.ending.append(ending)
        states.arrows.append(())
    return number


def _arrows(
    session: Session, states: States, numbers: dict[Key, int], told: list[State], place: int
) -> tuple[tuple[int, int], ...]:
    """Return where each result of the spread leads from a state."""
    state, left = told[place], states.left[place]
    stake = session.stake(state, left)
    steps = stake // session.spread.step
    arrows = []
    for net, ways in session.spread.results:
        won = net * steps
        after = session.plan.after(state, stake, won)
        number = _number(session, states, numbers, after, left + won)
        if number == len(told):
            told.append(after)
        arrows.append((ways, number))
    return tuple(arrows)
