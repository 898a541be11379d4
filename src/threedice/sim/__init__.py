"""Simulate rounds by the billion, with the same result on any machine and in any order.

`simulation` is the entry point. It makes a job (`jobs`, with `session_terms` or `table_setup`),
which `runner` divides into ranges for threads or a cluster; the ranges are played by compiled
functions (`kernels`) and add up to a tally, from which `studies` computes `estimates`. Needs the
extra `sim`: importing the package without it raises `MissingExtra`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from threedice.extras import require_extra

if TYPE_CHECKING:
    from threedice.sim.estimates import Estimate
    from threedice.sim.simulation import flat_study, session_study, table_study
    from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

__all__ = [
    "Estimate",
    "FlatStudy",
    "SessionStudy",
    "TableStudy",
    "flat_study",
    "session_study",
    "table_study",
]


require_extra("sim", "simulation")

_MODULES = {
    "threedice.sim.simulation": ("flat_study", "session_study", "table_study"),
    "threedice.sim.estimates": ("Estimate",),
    "threedice.sim.studies": ("FlatStudy", "SessionStudy", "TableStudy"),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, because a worker needs few of them."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'threedice.sim' has no attribute {name!r}")
