"""Staking plans: the next stake, as a function of the results so far.

This module defines the plans. `session_odds` computes with it exactly, and the compiled kernels of
`sim` must agree with it state for state. All amounts are whole numbers in the table's unit.

**A session, round by round**

1. The plan names the *due* stake. The actual stake is the least of the due stake, the table maximum
   and the bankroll, rounded down to a multiple of the *step* (`actual_stake`). The step is the
   smallest stake that the odds can pay evenly: 1 for most boxes, 20 for odds of 19 to 20.
2. If the actual stake is under the table minimum, the player cannot bet any more and is *ruined*,
   even with chips left. (The due stake is never under the minimum, because the base stake is not.)
3. The roll gives a *net* result: positive is a win, zero a push, negative a loss. A box never
   pushes; a mix of bets may push, or lose only a part of its stake.
4. The plan changes its state by the net result (`StakingPlan.next_state`). A push changes nothing.
5. After each round the session may end, checked in this order: ruined, if the next stake cannot be
   made; stop-loss, if the player has lost that much or more since the start; stop-win, if the
   player has won that much or more; played out, if it was the last round. Stops do not reduce a
   stake, so the last round may exceed them.

**The plans.** The state of a plan is the due stake and one number of memory, `(due, memory)`, both
below 2^63; only the Labouchere remembers a whole line.

| plan | due after a win | due after a loss | memory |
|---|---|---|---|
| flat | the base | the base | none |
| martingale | the base | twice the last due | none |
| grand-martingale | the base | twice the last due plus a base | none |
| paroli | twice the last due; the base after three in a row | the base | wins in a row |
| dalembert | one base less, never under the base | one base more | none |
| fibonacci | two steps back along 1, 1, 2, 3, 5, ... bases | one step on | previous number |
| labouchere | strikes the outer numbers of its line | appends the actual stake | the line |
| oscars-grind | one base more, or what the series needs | the last due | the series' result |

The due stake never exceeds the table maximum, except that the Fibonacci stays on its first number
that reaches it. Doubling starts from the last due stake, not from the actual stake of a short
bankroll.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from threedice.errors import InvalidInput, UnknownName
from threedice.money import MAX_AMOUNT

PlanState = tuple[int, ...]
"""The due stake, then the plan's memory."""

Move = Callable[[int, int, int, int, int], tuple[int, int]]
"""(due, memory, net, base, maximum) -> (due, memory), in integer arithmetic that compiles."""

PAROLI_WINS: Final = 3
"""Wins in a row after which a Paroli returns to the base."""
DEFAULT_LINE: Final = (1, 2, 3, 4)
"""Default starting line of a Labouchere, in bases."""
MAX_LINE_LENGTH: Final = 64
"""Maximum length of a line; a loss that would make it longer starts a new line."""


def actual_stake(due: int, bankroll: int, minimum: int, maximum: int, step: int) -> int:
    """Return the stake that the player makes, 0 if it would be under the minimum.

    >>> actual_stake(640, 730, minimum=10, maximum=500, step=1)
    500
    >>> actual_stake(80, 55, minimum=10, maximum=500, step=20), actual_stake(10, 5, 10, 500, 1)
    (40, 0)
    """
    stake = min(due, maximum, bankroll)
    stake -= stake % step
    return stake if stake >= minimum else 0


def flat(due: int, memory: int, _net: int, _base: int, _maximum: int) -> tuple[int, int]:
    """Keep the same stake in every round."""
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

    `before` is the number before the due stake, 0 at the first step.
    """
    if net > 0:
        return (due - before, 2 * before - due) if before < due < 2 * before else (base, 0)
    if net < 0 and due < maximum:
        return due + before, due
    return due, before


def oscars_grind(due: int, result: int, net: int, base: int, maximum: int) -> tuple[int, int]:
    """Raise by a base after a win, aiming at a profit of exactly one base in each series.

    `result` is the net result of the series so far. The stake needed to reach the profit is
    computed at even money, in whole bases.
    """
    result += net
    if result >= base:
        return base, 0
    if net > 0:
        needed = (2 * base - result - 1) // base * base
        return min(due + base, needed, maximum), result
    return due, result


def labouchere(line: PlanState, stake: int, net: int, new_line: PlanState) -> PlanState:
    """Strike the outer numbers of a line after a win, append the actual stake after a loss.

    A line that is used up, or that would exceed `MAX_LINE_LENGTH`, is replaced by a new one.

    >>> labouchere((10, 20, 30), 40, 40, (10, 20, 30)), labouchere((10, 20), 30, -30, (10, 20))
    ((20,), (10, 20, 30))
    """
    if net > 0:
        return line[1:-1] or new_line
    if net < 0:
        return (*line, stake) if len(line) < MAX_LINE_LENGTH else new_line
    return line


def line_due(line: PlanState) -> int:
    """Return the due stake of a line: the sum of its first and last number, or its only number."""
    return line[0] + line[-1] if len(line) > 1 else line[0]


@dataclass(frozen=True, slots=True)
class StakingPlan:
    """A plan with its base stake, the table maximum, and the starting line of a Labouchere."""

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
                "lower the base stake or raise the maximum"
            )
        if not self.line or min(self.line) < 1 or len(self.line) > MAX_LINE_LENGTH:
            raise InvalidInput(
                f"a line of {len(self.line)} numbers such as {self.line[:4]}; give 1 to "
                f"{MAX_LINE_LENGTH} whole numbers above zero, such as 1,2,3,4"
            )

    def initial_state(self) -> PlanState:
        """Return the state before the first round.

        >>> [StakingPlan(name, 10).initial_state() for name in ("fibonacci", "labouchere")]
        [(10, 0), (50, 10, 20, 30, 40)]
        """
        if self.name == "labouchere":
            return self._line_state(self._new_line())
        return self.base, 0

    def next_state(self, state: PlanState, stake: int, net: int) -> PlanState:
        """Return the state after the net result of a stake.

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
        return tuple(self.base * number for number in self.line)

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
