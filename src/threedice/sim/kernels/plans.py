"""Staking plans as compilable functions: the built-in ones, and users' own from a file.

The built-in plans repeat those of `odds.sessions.plans`, the definition, without branches and in
32-bit integers; a test compares them along random paths. Compiled from the definition instead, a
Martingale ran at 0.79 of the speed, d'Alembert at 0.56 and Oscar's grind at 0.18. A move takes four
tuples and returns the next (due, memory):

- state: the due stake, and the memory of the plan;
- outcome: the actual stake, the net result, and whether it won or lost (a push is neither);
- limits: the base stake, and the maximum;
- line, for the Labouchere: ring buffers `lines`, the index `lane` of this session's, and the
  numbers of a new line. The memory packs the start and the length of the line in the ring.

A user's own plan is a function in a Python file with the signature of `odds.sessions.plans`:
`(due, memory, net, base, maximum)` in whole numbers, returning the next due stake and memory. It is
first called in Python along random paths, which gives clear error messages, and then compiled.
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
"""A 32-bit integer: Python's or numpy's, or the device's when compiled."""

KernelMove = Callable[..., tuple[Int32, Int32]]

PAROLI_WINS: Final = 3

LINE_CAPACITY: Final = 64
"""Size of the ring buffer of a Labouchere: the maximum length of its line, a power of two."""

PLAN_ARGUMENTS = ("due", "memory", "net", "base", "maximum")

_TRIAL_ROUNDS = 5_000


def flat(state: Any, _outcome: Any, _limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Keep the same stake in every round."""
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
    ended = lost | (wins == PAROLI_WINS)
    doubled = lesser(int32(due + due), maximum)
    return base if ended else (doubled if won else due), int32(0) if ended else wins


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
    forward = lost & (due < maximum)
    back = won & (memory < due) & (due < memory + memory)
    due_forward = int32(due + memory) if forward else due
    due_back = int32(due - memory) if back else base
    memory_back = int32(memory + memory - due) if back else int32(0)
    return due_back if won else due_forward, memory_back if won else (due if forward else memory)


def oscars_grind(state: Any, outcome: Any, limits: Any, _line: Any) -> tuple[Int32, Int32]:
    """Raise by a base after a win, aiming at a profit of exactly one base in each series."""
    due, memory = state
    _, net, won, _ = outcome
    base, maximum = limits
    result = int32(memory + net)
    reached = result >= base
    short = int32(1) if reached else int32(base + base - result - 1)
    # Below 2^31 a truncated float division is exact, and unlike an integer division it vectorises.
    needed = int32(int32(float64(short) / float64(base)) * base)
    raised = lesser(lesser(int32(due + base), needed), maximum)
    return base if reached else (raised if won else due), int32(0) if reached else result


def labouchere(state: Any, outcome: Any, limits: Any, line: Any) -> tuple[Int32, Int32]:
    """Strike the outer numbers of a line after a win, append the actual stake after a loss."""
    stake, _, won, lost = outcome
    lines, lane, new_line = line
    first, length = state[1] >> 8, state[1] & 255
    end, has_room = (first + length) & (LINE_CAPACITY - 1), length < LINE_CAPACITY
    lines[lane, end] = stake if lost & has_room else lines[lane, end]
    first = (first + won) & (LINE_CAPACITY - 1)
    longer = length + 1 if has_room else 0
    length = length - 2 if won else (longer if lost else length)
    if length <= 0:
        first, length = 0, len(new_line)
        for i in range(len(new_line)):
            lines[lane, i] = new_line[i]
    last = lines[lane, (first + length - 1) & (LINE_CAPACITY - 1)]
    due = lines[lane, first] + (last if length > 1 else int32(0))
    return lesser(int32(due), limits[1]), int32(first << 8 | length)


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
"""Plans whose due stake may exceed the maximum."""


# --- users' own plans ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A user's own plan: FILE.py:FUNCTION, the function's name, and the source for the workers."""

    name: str
    function: str
    text: str

    @property
    def python_function(self) -> Any:
        """The function, not compiled."""
        return _load_function(self)


def read_own_plan(name: str) -> OwnPlan:
    """Read a plan given as FILE.py:FUNCTION, and check its signature."""
    file, colon, function = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise InvalidInput(
            f"{name!r} is not a plan; name a built-in plan, or give FILE.py:FUNCTION"
        )
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise InvalidInput(f"cannot read the plan {file}: {reason}") from None
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
    function = names.get(plan.function)
    if not isinstance(function, FunctionType):
        functions = [name for name, value in names.items() if isinstance(value, FunctionType)]
        raise InvalidInput(
            f"there is no function {plan.function!r} in {file}; it has "
            f"{', '.join(functions) or 'no functions'}"
        )
    return function


def _check_signature(plan: OwnPlan) -> None:
    parameters = list(signature(plan.python_function).parameters.values())
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) != len(PLAN_ARGUMENTS) or any(
        parameter.kind not in positional for parameter in parameters
    ):
        raise InvalidInput(
            f"{plan.name} must take five numbers, ({', '.join(PLAN_ARGUMENTS)}), and return two, "
            "the next due stake and its memory"
        )


def check_plan_in_python(plan: OwnPlan, terms: Terms) -> None:
    """Call a plan along random paths in Python; raise `InvalidInput` for an invalid result."""
    dice = Random(1)
    nets, ways = zip(*terms.outcomes, strict=True)
    for round_number in range(_TRIAL_ROUNDS):
        if round_number % 100 == 0:
            due, memory = terms.base, 0
        stake = min(max(due, terms.minimum), terms.maximum) // terms.step * terms.step
        net = dice.choices(nets, ways)[0] * stake // terms.step
        due, memory = _call_plan(plan, (due, memory, net, terms.base, terms.maximum))


def _call_plan(plan: OwnPlan, arguments: tuple[int, ...]) -> tuple[int, int]:
    pairs = zip(PLAN_ARGUMENTS, arguments, strict=True)
    call = f"on {', '.join(f'{name} {value}' for name, value in pairs)}"
    try:
        returned = plan.python_function(*arguments)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{plan.name} fails {call}: {type(error).__name__}: {error}") from None
    is_pair = isinstance(returned, tuple) and len(returned) == 2
    if not is_pair or any(type(number) is not int for number in returned):
        raise InvalidInput(
            f"{plan.name} returns {returned!r} {call}; "
            "it must return two whole numbers, the next due stake and its memory"
        )
    due, memory = returned
    if due < 1:
        raise InvalidInput(
            f"{plan.name} makes {due} due {call}; a stake is a whole number above zero"
        )
    if max(due, abs(memory)) >= 2**31:
        raise InvalidInput(
            f"{plan.name} returns {returned!r} {call}; both numbers must be below 2^31"
        )
    return due, memory


def check_compiles(plan: OwnPlan) -> None:
    """Raise `InvalidInput` for a plan that numba cannot compile."""
    compiled = numba.njit(plan.python_function)
    try:
        compiled.compile((numba.int64,) * 5)
    except numba.core.errors.NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[1] if len(lines) > 1 else "".join(lines)
        raise InvalidInput(
            f"{plan.name} cannot be compiled; use whole numbers and plain arithmetic only "
            f"({type(error).__name__}: {reason})"
        ) from None
    returned = compiled.nopython_signatures[0].return_type
    types = getattr(returned, "types", ())
    if not all(isinstance(each, numba.types.Integer) for each in types):
        raise InvalidInput(
            f"{plan.name} returns {returned} at times; both numbers must be whole in every case, "
            "so use // instead of /, and no decimals"
        )


@cache
def own_plan_move(plan: OwnPlan, compile_one: Any) -> Any:
    """Return a plan as a move of the kernel; after an invalid result, -1 is due for good."""
    inner = compile_one(plan.python_function)

    def own(state: Any, outcome: Any, limits: Any, _line: Any) -> Any:
        due, memory = state
        if outcome[0] <= 0:
            return due, memory
        next_due, next_memory = inner(
            int64(due), int64(memory), int64(outcome[1]), int64(limits[0]), int64(limits[1])
        )
        low, high = int64(-(2**31)), int64(2**31 - 1)
        if next_due < 1 or next_due > high or next_memory < low or next_memory > high:
            return int32(-1), memory
        return int32(next_due), int32(next_memory)

    return own
