"""Staking plans of the user's own: a small function in a Python file, tried out, then compiled.

The function is one of the form of `maths.plans`: `(due, memory, net, base, maximum)` in whole
numbers, returning what is due next and one number to remember. It is first called in Python along
random paths, where a mistake can be told in words, and then compiled for the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from random import Random
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numba
from numpy import int32, int64

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.sim.terms import Terms

ARGUMENTS = ("due", "memory", "net", "base", "maximum")
_TRIED = 5_000


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """A plan as it is sent to whoever plays it: where it comes from, and its text."""

    name: str
    function: str
    text: str

    @property
    def plain(self) -> Any:
        """The function as it was written."""
        return _loaded(self)


def read_own(name: str) -> OwnPlan:
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
    _check_form(plan)
    return plan


@cache
def _loaded(plan: OwnPlan) -> Any:
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


def _check_form(plan: OwnPlan) -> None:
    parameters = list(signature(plan.plain).parameters.values())
    plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) != len(ARGUMENTS) or any(each.kind not in plain for each in parameters):
        raise InvalidInput(
            f"{plan.name} must take five numbers, ({', '.join(ARGUMENTS)}), and return two, what "
            "is due next and what to remember"
        )


def try_out(plan: OwnPlan, terms: Terms) -> None:
    """Call a plan along random paths in Python, and refuse it where it makes no sense."""
    dice = Random(1)
    nets, ways = zip(*terms.outcomes, strict=True)
    due, memory = terms.base, 0
    for round_number in range(_TRIED):
        if round_number % 100 == 0:
            due, memory = terms.base, 0
        stake = min(max(due, terms.minimum), terms.maximum) // terms.step * terms.step
        net = dice.choices(nets, ways)[0] * stake // terms.step
        given = (due, memory, net, terms.base, terms.maximum)
        try:
            returned = plan.plain(*given)
        except (Exception, SystemExit) as error:
            raise InvalidInput(
                f"{plan.name} fails on {told(given)}: {type(error).__name__}: {error}"
            ) from None
        due, memory = _sensible(plan, given, returned)


def _sensible(plan: OwnPlan, given: tuple[int, ...], returned: Any) -> tuple[int, int]:
    pair = isinstance(returned, tuple) and len(returned) == 2
    if not pair or any(type(each) is not int for each in returned):
        raise InvalidInput(
            f"{plan.name} returns {returned!r} on {told(given)}; it must return two whole numbers, "
            "what is due next and what to remember"
        )
    due, memory = returned
    if due < 1:
        raise InvalidInput(
            f"{plan.name} makes {due} due on {told(given)}; a stake is a whole number above zero"
        )
    if max(due, abs(memory)) >= 2**31:
        raise InvalidInput(
            f"{plan.name} returns {returned!r} on {told(given)}; both numbers must be below 2^31"
        )
    return due, memory


def told(given: tuple[int, ...]) -> str:
    """Return the arguments of a plan in words."""
    return ", ".join(f"{name} {value}" for name, value in zip(ARGUMENTS, given, strict=True))


def check_compiles(plan: OwnPlan) -> None:
    """Refuse a plan that cannot be turned into machine code."""
    machine = numba.njit(plan.plain)
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
def move_of(plan: OwnPlan, by: Any) -> Any:
    """Return a plan as a move of the kernel; what makes no sense becomes -1 due, for good."""
    inner = by(plan.plain)

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
