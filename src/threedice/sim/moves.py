"""The staking plans of `maths.plans`, once more, for machines: no branches, 32-bit numbers.

`maths.plans` is the definition; a test holds each of these against it along random paths. A move
takes four groups of numbers and returns what is due and remembered next:

- before: what was due, and what the plan remembers;
- brought: the stake made, the net result, and whether that won or lost (a push does neither);
- limits: the base stake, and the maximum;
- line, for the Labouchere: a ring of numbers in `lines[lane]`, with its first place and its length
  packed into the memory, and the numbers of a fresh one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numpy import float64, int32

from threedice.sim.generator import greater, lesser

Number = Any
"""A whole number of 32 bits: Python's own, numpy's, or the device's where it is compiled."""
Move = Callable[..., tuple[Number, Number]]

PAROLI_WINS: Final = 3
RING: Final = 64
"""Places in the ring of a Labouchere, as many as its line may hold."""


def flat(before: Any, _brought: Any, _limits: Any, _line: Any) -> tuple[Number, Number]:
    """Stake the same in every round."""
    return before[0], before[1]


def martingale(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Double after a loss, go back to the base after a win."""
    due, memory = before
    _, _, won, lost = brought
    base, maximum = limits
    doubled = lesser(int32(due + due), maximum)
    return base if won else (doubled if lost else due), memory


def grand_martingale(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Double and add a base after a loss, go back to the base after a win."""
    due, memory = before
    _, _, won, lost = brought
    base, maximum = limits
    more = lesser(int32(due + due + base), maximum)
    return base if won else (more if lost else due), memory


def paroli(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Double after a win, up to three in a row; go back to the base after those or after a loss."""
    due, memory = before
    _, _, won, lost = brought
    base, maximum = limits
    wins = int32(memory + won)
    over = lost | (wins == PAROLI_WINS)
    doubled = lesser(int32(due + due), maximum)
    return base if over else (doubled if won else due), int32(0) if over else wins


def dalembert(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Add a base after a loss, take one off after a win."""
    due, memory = before
    _, _, won, lost = brought
    base, maximum = limits
    less = greater(int32(due - base), base)
    more = lesser(int32(due + base), maximum)
    return less if won else (more if lost else due), memory


def fibonacci(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Go one step along the Fibonacci numbers after a loss, two steps back after a win."""
    due, memory = before
    _, _, won, lost = brought
    base, maximum = limits
    on = lost & (due < maximum)
    back = won & (memory < due) & (due < memory + memory)
    ahead = int32(due + memory) if on else due
    behind = int32(due - memory) if back else base
    earlier = int32(memory + memory - due) if back else int32(0)
    return behind if won else ahead, earlier if won else (due if on else memory)


def oscars_grind(before: Any, brought: Any, limits: Any, _line: Any) -> tuple[Number, Number]:
    """Raise by a base after a win, aiming at one base of profit in each series, and no more."""
    due, memory = before
    _, net, won, _ = brought
    base, maximum = limits
    result = int32(memory + net)
    reached = result >= base
    short = int32(1) if reached else int32(base + base - result - 1)
    # Below 2^31 a division of floats cut off is exact, and unlike one of integers it has vectors.
    needed = int32(int32(float64(short) / float64(base)) * base)
    raised = lesser(lesser(int32(due + base), needed), maximum)
    return base if reached else (raised if won else due), int32(0) if reached else result


def labouchere(before: Any, brought: Any, limits: Any, line: Any) -> tuple[Number, Number]:
    """Strike the outer numbers of a line after a win, add the stake made after a loss."""
    stake, _, won, lost = brought
    lines, lane, fresh = line
    first, length = before[1] >> 8, before[1] & 255
    end, room = (first + length) & (RING - 1), length < RING
    lines[lane, end] = stake if lost & room else lines[lane, end]
    first = (first + won) & (RING - 1)
    longer = length + 1 if room else 0
    length = length - 2 if won else (longer if lost else length)
    if length <= 0:
        first, length = 0, len(fresh)
        for place in range(len(fresh)):
            lines[lane, place] = fresh[place]
    last = lines[lane, (first + length - 1) & (RING - 1)]
    whole = lines[lane, first] + (last if length > 1 else int32(0))
    return lesser(int32(whole), limits[1]), int32(first << 8 | length)


MOVES: Final[dict[str, Move]] = {
    "flat": flat,
    "martingale": martingale,
    "grand-martingale": grand_martingale,
    "paroli": paroli,
    "dalembert": dalembert,
    "fibonacci": fibonacci,
    "oscars-grind": oscars_grind,
    "labouchere": labouchere,
}
BEYOND_MAXIMUM: Final = frozenset({"fibonacci"})
"""Plans that may make more due than the table takes."""
