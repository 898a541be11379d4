"""Staking plans: what a player stakes next, given how the last stake fared.

This module is the definition; `sessions` computes with it exactly, and a compiled simulation must
agree with it state for state. Everything is whole numbers, in the unit the table counts in.

**A session, round by round**

1. The plan says what is *due*. The stake made is the least of what is due, the table maximum and
   what is left, rounded down to a multiple of the *step* (`actual_stake`). The step is the smallest
   stake that the odds can pay evenly: 1 for most boxes, 20 for odds of 19 to 20.
2. Where that is under the table minimum, the player can bet no more: he is *ruined*, whatever
   little he has left. (What is due is never under the minimum, for the base stake may not be.)
3. The roll brings a *net*: above zero is a win, zero a push, below zero a loss. A box never
   pushes; a mix of bets may, and it may lose a part of its stake only.
4. The plan moves on (`Plan.after`) by what the stake brought. A push moves no plan.
5. After each round the session ends, in this order: ruined, if the next stake could not be made;
   stop-loss, if he has lost that much or more since the start; stop-win, if he has won that much
   or more; played out, if it was the last round. Stops do not shrink a stake, so the last round may
   carry him past them.

**The plans.** The state of a plan is what is due and one number to remember, `(due, memory)`, both
below 2^63; only the line of the Labouchere is longer.

| plan | on a win | on a loss | memory |
|---|---|---|---|
| flat | the base | the base | none |
| martingale | the base | twice what was due | none |
| grand-martingale | the base | twice what was due and a base more | none |
| paroli | twice what was due; the base after three in a row | the base | wins in a row |
| dalembert | one base less, never under the base | one base more | none |
| fibonacci | two steps back along 1, 1, 2, 3, 5, ... bases | one step on | the step before |
| labouchere | strikes the outer numbers of its line | adds the stake made | the line |
| oscars-grind | one base more, or what the series needs | the same again | the series' result |

What is due never grows past the table maximum, except that the Fibonacci rests on the first step
that reaches it. Doubling goes by what was due, not by what a short stack allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from threedice.errors import InvalidInput, UnknownName
from threedice.money import MAX_AMOUNT

PlanState = tuple[int, ...]
"""What is due, then what the plan remembers."""

Move = Callable[[int, int, int, int, int], tuple[int, int]]
"""(due, memory, net, base, maximum) -> (due, memory): plain arithmetic, fit to be compiled."""

PAROLI_WINS: Final = 3
DEFAULT_LINE: Final = (1, 2, 3, 4)
"""The line a Labouchere begins with, in bases, unless another is given."""
MAX_LINE_LENGTH: Final = 64
"""How many numbers a line may hold; a loss that would make it longer begins a fresh one."""


def actual_stake(due: int, bankroll: int, minimum: int, maximum: int, step: int) -> int:
    """Return the stake a player makes, nothing where he cannot make the minimum.

    >>> actual_stake(640, 730, minimum=10, maximum=500, step=1)
    500
    >>> actual_stake(80, 55, minimum=10, maximum=500, step=20), actual_stake(10, 5, 10, 500, 1)
    (40, 0)
    """
    made = min(due, maximum, bankroll)
    made -= made % step
    return made if made >= minimum else 0


def flat(due: int, memory: int, _net: int, _base: int, _maximum: int) -> tuple[int, int]:
    """Stake the same in every round."""
    return due, memory


def martingale(due: int, memory: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Double after a loss, go back to the base after a win."""
    if net > 0:
        return base, memory
    if net < 0:
        return min(2 * due, maximum), memory
    return due, memory


def grand_martingale(due: int, memory: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Double and add a base after a loss, go back to the base after a win."""
    if net > 0:
        return base, memory
    if net < 0:
        return min(2 * due + base, maximum), memory
    return due, memory


def paroli(due: int, wins: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Double after a win, up to three in a row; go back to the base after those or after a loss."""
    if net < 0 or (net > 0 and wins + 1 == PAROLI_WINS):
        return base, 0
    if net > 0:
        return min(2 * due, maximum), wins + 1
    return due, wins


def dalembert(due: int, memory: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Add a base after a loss, take one off after a win."""
    if net > 0:
        return max(due - base, base), memory
    if net < 0:
        return min(due + base, maximum), memory
    return due, memory


def fibonacci(due: int, before: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Go one step along the Fibonacci numbers after a loss, two steps back after a win.

    `before` is the number before what is due, nothing at the first step.
    """
    if net > 0:
        return (due - before, 2 * before - due) if before < due < 2 * before else (base, 0)
    if net < 0 and due < maximum:
        return due + before, due
    return due, before


def oscars_grind(due: int, result: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Raise by a base after a win, aiming at one base of profit in each series, and no more.

    `result` is that of the series so far. What is needed is reckoned at even money, in whole bases.
    """
    result += net
    if result >= base:
        return base, 0
    if net > 0:
        needed = (2 * base - result - 1) // base * base
        return min(due + base, needed, maximum), result
    return due, result


def labouchere(line: PlanState, stake: int, net: int, new_line: PlanState) -> PlanState:
    """Strike the outer numbers of a line after a win, add the stake made after a loss.

    A line that is used up, or that would grow past `MAX_LINE_LENGTH`, is followed by a fresh one.

    >>> labouchere((10, 20, 30), 40, 40, (10, 20, 30)), labouchere((10, 20), 30, -30, (10, 20))
    ((20,), (10, 20, 30))
    """
    if net > 0:
        return line[1:-1] or new_line
    if net < 0:
        return (*line, stake) if len(line) < MAX_LINE_LENGTH else new_line
    return line


def line_due(line: PlanState) -> int:
    """Return what a line makes due: its first and last number together, or the only one."""
    return line[0] + line[-1] if len(line) > 1 else line[0]


@dataclass(frozen=True, slots=True)
class StakingPlan:
    """A plan at a table: its name, the base stake, the maximum, and for a Labouchere its line."""

    name: str
    base: int
    maximum: int = MAX_AMOUNT
    line: PlanState = DEFAULT_LINE

    def __post_init__(self) -> None:
        if self.name not in PLANS:
            raise UnknownName("plan", self.name, PLANS)
        if self.base < 1:
            raise InvalidInput(f"a base stake of {self.base}; stake a whole number above zero")
        if self.maximum > MAX_AMOUNT:
            raise InvalidInput(f"a maximum of {self.maximum}; no stake is over {MAX_AMOUNT}")
        if self.base > self.maximum:
            raise InvalidInput(
                f"the base stake {self.base} is over the maximum {self.maximum}; "
                "lower the one or raise the other"
            )
        if not self.line or min(self.line) < 1 or len(self.line) > MAX_LINE_LENGTH:
            raise InvalidInput(
                f"a line of {len(self.line)} numbers such as {self.line[:4]}; give 1 to "
                f"{MAX_LINE_LENGTH} whole numbers above zero, such as 1,2,3,4"
            )

    def initial_state(self) -> PlanState:
        """Return the state before the first round.

        >>> StakingPlan("fibonacci", 10).initial_state(), StakingPlan("labouchere", 10).initial_state()
        ((10, 0), (50, 10, 20, 30, 40))
        """
        if self.name == "labouchere":
            return self._line_state(self._new_line())
        return self.base, 0

    def next_state(self, state: PlanState, stake: int, net: int) -> PlanState:
        """Return the state after a stake brought a net result.

        >>> plan = StakingPlan("martingale", 10, 500)
        >>> plan.next_state((320, 0), 320, -320), plan.next_state((500, 0), 500, 500)
        ((500, 0), (10, 0))
        """
        move = MOVES.get(self.name)
        if move is None:
            return self._line_state(labouchere(state[1:], stake, net, self._new_line()))
        due, memory = state
        return move(due, memory, net, self.base, self.maximum)

    def _new_line(self) -> PlanState:
        return tuple(self.base * each for each in self.line)

    def _line_state(self, line: PlanState) -> PlanState:
        return (min(line_due(line), self.maximum), *line)


MOVES: Final[dict[str, Move]] = {
    "flat": flat,
    "martingale": martingale,
    "grand-martingale": grand_martingale,
    "paroli": paroli,
    "dalembert": dalembert,
    "fibonacci": fibonacci,
    "oscars-grind": oscars_grind,
}
PLANS: Final = (*MOVES, "labouchere")
