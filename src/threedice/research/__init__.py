"""Environments for learning agents, explicit chance nodes, and columnar data, for every game.

Importing the package registers an environment with Gymnasium for each shipped game
(`registration`): `BettingEnv` (`single`) for one player, `BettingVectorEnv` (`vector`) for many
tables of one player each. `SharedTableEnv` (`shared`) is a PettingZoo environment for several
players. These and `BettingGame` (`chance`) play at a table of `threedice.table` (`table_rounds`);
the vectorised one uses a compiled twin. `log_export` and `histories` write Parquet files. Needs the
extra `research`: importing the package without it raises `MissingExtra`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from threedice.extras import require_extra

if TYPE_CHECKING:
    from threedice.research.chance import BettingGame, BettingState, expected_returns
    from threedice.research.histories import write_flat_history, write_session_history
    from threedice.research.log_export import export_log
    from threedice.research.registration import environment_ids
    from threedice.research.shared import SharedTableEnv
    from threedice.research.single import BettingEnv
    from threedice.research.vector import BettingVectorEnv

__all__ = [
    "BettingEnv",
    "BettingGame",
    "BettingState",
    "BettingVectorEnv",
    "SharedTableEnv",
    "environment_ids",
    "expected_returns",
    "export_log",
    "write_flat_history",
    "write_session_history",
]


require_extra("research", "the research kit")

_MODULES = {
    "threedice.research.chance": ("BettingGame", "BettingState", "expected_returns"),
    "threedice.research.histories": ("write_flat_history", "write_session_history"),
    "threedice.research.log_export": ("export_log",),
    "threedice.research.registration": ("environment_ids",),
    "threedice.research.shared": ("SharedTableEnv",),
    "threedice.research.single": ("BettingEnv",),
    "threedice.research.vector": ("BettingVectorEnv",),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use; `export_log` also needs the extra `house`."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'threedice.research' has no attribute {name!r}")


import_module("threedice.research.registration").register_environments()
