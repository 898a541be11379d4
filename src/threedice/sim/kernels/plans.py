"""Staking plans as compilable functions: the built-in ones, and users' own from a file.

The staking plans of `maths.plans`, once more, for machines: no branches, 32-bit numbers.

`maths.plans` is the definition; a test holds each of these against it along random paths. A move
takes four groups of numbers and returns what is due and remembered next:

- before: what was due, and what the plan remembers;
- brought: the stake made, the net result, and whether that won or lost (a push does neither);
- limits: the base stake, and the maximum;
- line, for the Labouchere: a ring of numbers in `lines[lane]`, with its first place and its length
  packed into the memory, and the numbers of a fresh one.

Staking plans of the user's own: a small function in a Python file, tried out, then compiled.

The function is one of the form of `maths.plans`: `(due, memory, net, base, maximum)` in whole
numbers, returning what is due next and one number to remember. It is first called in Python along
random paths, where a mistake can be told in words, and then compiled for the device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from random import Random
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numba
from numpy import float64, int32, int64

from threedice.errors import InvalidInput
from threedice.sim.kernels.generator import greater, lesser

if TYPE_CHECKING:
    from threedice.sim.session_terms import Terms


Int32 = Any
"""A whole number of 32 bits: Python's own, numpy's, or the device's where it is compiled."""


KernelMove = Callable[..., tuple[Int32, Int32]]


PAROLI_WINS: Final = 3


LINE_CAPACITY: Final = 64
"""Places in the ring of a Labouchere, as many as its line may hold."""


def flat(state: Any, _outcome: Any, _limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Stake the same in every round."""
    return state[0], state[1]


def martingale(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Double after a loss, go back to the base after a win."""
    due, memory = state
    _, _, won, lost = outcome
    base, maximum = limits
    doubled = lesser(int32(due + due), maximum)
    return base if won else (doubled if lost else due), memory


def grand_martingale(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Double and add a base after a loss, go back to the base after a win."""
    due, memory = state
    _, _, won, lost = outcome
    base, maximum = limits
    more = lesser(int32(due + due + base), maximum)
    return base if won else (more if lost else due), memory


def paroli(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Double after a win, up to three in a row; go back to the base after those or after a loss."""
    due, memory = state
    _, _, won, lost = outcome
    base, maximum = limits
    wins = int32(memory + won)
    over = lost | (wins == PAROLI_WINS)
    doubled = lesser(int32(due + due), maximum)
    return base if over else (doubled if won else due), int32(0) if over else wins


def dalembert(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Add a base after a loss, take one off after a win."""
    due, memory = state
    _, _, won, lost = outcome
    base, maximum = limits
    less = greater(int32(due - base), base)
    more = lesser(int32(due + base), maximum)
    return less if won else (more if lost else due), memory


def fibonacci(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Go one step along the Fibonacci numbers after a loss, two steps back after a win."""
    due, memory = state
    _, _, won, lost = outcome
    base, maximum = limits
    on = lost & (due < maximum)
    back = won & (memory < due) & (due < memory + memory)
    ahead = int32(due + memory) if on else due
    behind = int32(due - memory) if back else base
    earlier = int32(memory + memory - due) if back else int32(0)
    return behind if won else ahead, earlier if won else (due if on else memory)


def oscars_grind(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Raise by a base after a win, aiming at one base of profit in each series, and no more."""
    due, memory = state
    _, net, won, _ = outcome
    base, maximum = limits
    result = int32(memory + net)
    reached = result >= base
    short = int32(1) if reached else int32(base + base - result - 1)
    # Below 2^31 a division of floats cut off is exact, and unlike one of integers it has vectors.
    needed = int32(int32(float64(short) / float64(base)) * base)
    raised = lesser(lesser(int32(due + base), needed), maximum)
    return base if reached else (raised if won else due), int32(0) if reached else result


def labouchere(state: Any, outcome: Any, limits: Any, line: Any) -> tuple[Int32, Int32]:
    """Strike the outer numbers of a line after a win, add the stake made after a loss."""
    stake, _, won, lost = outcome
    lines, lane, fresh = line
    first, length = state[1] >> 8, state[1] & 255
    end, room = (first + length) & (LINE_CAPACITY - 1), length < LINE_CAPACITY
    lines[lane, end] = stake if lost & room else lines[lane, end]
    first = (first + won) & (LINE_CAPACITY - 1)
    longer = length + 1 if room else 0
    length = length - 2 if won else (longer if lost else length)
    if length <= 0:
        first, length = 0, len(fresh)
        for place in range(len(fresh)):
            lines[lane, place] = fresh[place]
    last = lines[lane, (first + length - 1) & (LINE_CAPACITY - 1)]
    whole = lines[lane, first] + (last if length > 1 else int32(0))
    return lesser(int32(whole), limits[1]), int32(first << 8 | length)


MOVES: Final[dict[str, KernelMove]] = {
    "flat": flat,
    "martingale": martingale,
    "grand-martingale": grand_martingale,
    "paroli": paroli,
    "dalembert": dalembert,
    "fibonacci": fibonacci,
    "oscars-grind": oscars_grind,
    "labouchere": labouchere,
}


PLANS_ABOVE_MAXIMUM: Final = frozenset({"fibonacci"})
"""Plans that may make more due than the table takes."""


PLAN_ARGUMENTS = ("due", "memory", "net", "base", "maximum")


_TRIAL_ROUNDS = 5_000


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A plan as it is sent to whoever plays it: where it comes from, and its text."""

    name: str
    function: str
    text: str

    @property
    def python_function(self) -> Any:
        """The function as it was written."""
        return _load_function(self)


def read_own_plan(name: str) -> OwnPlan:
    """Read a plan given as FILE.py:FUNCTION, and see that it is a function of the right form."""
    file, colon, function = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise InvalidInput(f"{name!r} is no plan; name one of ours, or give FILE.py:FUNCTION")
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or "not text"
        raise InvalidInput(f"cannot read the plan {file}: {told}") from None
    plan = OwnPlan(name, function, text)
    _check_signature(plan)
    return plan


@cache
def _load_function(plan: OwnPlan) -> Any:
    file = plan.name.rpartition(":")[0]
    names: dict[str, Any] = {"__name__": "threedice_own_plan"}
    try:
        exec(compile(plan.text, file, "exec"), names)
    except (Exception, SystemExit) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise InvalidInput(
            f"the plan {file} cannot be run{where}: {type(error).__name__}: {error}"
        ) from None
    found = names.get(plan.function)
    if not isinstance(found, FunctionType):
        functions = [each for each, value in names.items() if isinstance(value, FunctionType)]
        raise InvalidInput(
            f"there is no function {plan.function!r} in {file}; it has "
            f"{', '.join(functions) or 'none at all'}"
        )
    return found


def _check_signature(plan: OwnPlan) -> None:
    parameters = list(signature(plan.python_function).parameters.values())
    plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) != len(PLAN_ARGUMENTS) or any(each.kind not in plain for each in parameters):
        raise InvalidInput(
            f"{plan.name} must take five numbers, ({', '.join(PLAN_ARGUMENTS)}), and return two, what "
            "is due next and what to remember"
        )


def check_plan_in_python(plan: OwnPlan, terms: Terms) -> None:
    """Call a plan along random paths in Python, and refuse it where it makes no sense."""
    dice = Random(1)
    nets, ways = zip(*terms.outcomes, strict=True)
    due, memory = terms.base, 0
    for round_number in range(_TRIAL_ROUNDS):
        if round_number % 100 == 0:
            due, memory = terms.base, 0
        stake = min(max(due, terms.minimum), terms.maximum) // terms.step * terms.step
        net = dice.choices(nets, ways)[0] * stake // terms.step
        given = (due, memory, net, terms.base, terms.maximum)
        try:
            returned = plan.python_function(*given)
        except (Exception, SystemExit) as error:
            raise InvalidInput(
                f"{plan.name} fails on {format_arguments(given)}: {type(error).__name__}: {error}"
            ) from None
        due, memory = _check_returned(plan, given, returned)


def _check_returned(plan: OwnPlan, given: tuple[int, ...], returned: Any) -> tuple[int, int]:
    pair = isinstance(returned, tuple) and len(returned) == 2
    if not pair or any(type(each) is not int for each in returned):
        raise InvalidInput(
            f"{plan.name} returns {returned!r} on {format_arguments(given)}; it must return two whole numbers, "
            "what is due next and what to remember"
        )
    due, memory = returned
    if due < 1:
        raise InvalidInput(
            f"{plan.name} makes {due} due on {format_arguments(given)}; a stake is a whole number above zero"
        )
    if max(due, abs(memory)) >= 2**31:
        raise InvalidInput(
            f"{plan.name} returns {returned!r} on {format_arguments(given)}; both numbers must be below 2^31"
        )
    return due, memory


def format_arguments(given: tuple[int, ...]) -> str:
    """Return the arguments of a plan in words."""
    return ", ".join(f"{name} {value}" for name, value in zip(PLAN_ARGUMENTS, given, strict=True))


def check_compiles(plan: OwnPlan) -> None:
    """Refuse a plan that cannot be turned into machine code."""
    machine = numba.njit(plan.python_function)
    try:
        machine.compile((numba.int64,) * 5)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[1] if len(lines) > 1 else "".join(lines)
        raise InvalidInput(
            f"{plan.name} cannot be compiled; use whole numbers and plain arithmetic only "
            f"({type(error).__name__}: {reason})"
        ) from None
    returned = machine.nopython_signatures[0].return_type
    whole = (isinstance(each, numba.types.Integer) for each in getattr(returned, "types", ()))
    if not all(whole):
        raise InvalidInput(
            f"{plan.name} returns {returned} at times; both numbers must be whole in every case, "
            "so use // where / stands and no decimals"
        )


@cache
def own_plan_move(plan: OwnPlan, compile_one: Any) -> Any:
    """Return a plan as a move of the kernel; what makes no sense becomes -1 due, for good."""
    inner = compile_one(plan.python_function)

    def own(before: Any, brought: Any, limits: Any, _line: Any) -> Any:
        due, memory = before
        if brought[0] <= 0:
            return due, memory
        after, kept = inner(
            int64(due), int64(memory), int64(brought[1]), int64(limits[0]), int64(limits[1])
        )
        least, most = int64(-(2**31)), int64(2**31 - 1)
        if after < 1 or after > most or kept < least or kept > most:
            return int32(-1), memory
        return int32(after), int32(kept)

    return own
