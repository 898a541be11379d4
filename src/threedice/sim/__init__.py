"""Rounds by the billion: simulation that comes out the same on any machine, in any order.

`generator` (dice) and `moves` (plans) -> `kernel` (rounds) -> `compiling` and `gpu` (machine code)
-> `jobs` (sessions, flat bets, tables as ranges of work) -> `running` and `cluster` (who does it)
-> `studies` (what it says, and how surely). Needs the extra `sim`; importing the package without it
says so.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.sim.estimates import Estimate
    from threedice.sim.simulation import flat_study, session_study, simulated_session, table_study
    from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

__all__ = [
    "Estimate",
    "FlatStudy",
    "MissingExtra",
    "SessionStudy",
    "TableStudy",
    "flat_study",
    "session_study",
    "simulated_session",
    "table_study",
]


class MissingExtra(InvalidInput, ImportError):
    """Something that simulation needs is not installed: what, and what to do."""


def require_modules(modules: tuple[str, ...], extra: str) -> None:
    """Refuse to go on without modules that an extra brings."""
    missing = [each for each in modules if find_spec(each) is None]
    if missing:
        raise MissingExtra(
            f"this needs {' and '.join(missing)}, which is not installed; "
            f"run pip install 'threedice[{extra}]'"
        )


require_modules(("numpy", "numba"), "sim")

_HOMES = {
    "threedice.sim.simulation": ("flat_study", "session_study", "simulated_session", "table_study"),
    "threedice.sim.estimates": ("Estimate",),
    "threedice.sim.studies": ("FlatStudy", "SessionStudy", "TableStudy"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for; a GPU's machine needs few of them."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'threedice.sim' has no attribute {name!r}")
