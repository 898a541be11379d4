"""The reference of the Python names, rendered by mkdocstrings."""

from __future__ import annotations

from typing import Final

import threedice

_TITLES: Final = {
    "threedice.rulebook": "Rulebooks and games",
    "threedice.odds": "Odds",
    "threedice.odds.stakes": "Settlement",
    "threedice.table": "Tables",
    "threedice.table.commands": "Actors",
    "threedice.table.limits": "Limits",
    "threedice.cases": "Cases",
    "threedice.errors": "Errors",
    "threedice.house.commands": "Commands of a house",
    "threedice.house.house": "A house",
}


def page() -> str:
    """Return the page: every public name under the title of its module."""
    modules = threedice._LAZY_NAMES | threedice._EXTRA_NAMES
    parts = [
        "# Python",
        "For developers: every public name of `threedice`. `import threedice as td` is all that a "
        "program needs. `td.sim` and `td.research` are modules with extras of their own.",
    ]
    for module in sorted(modules, key=[*_TITLES, *modules].index):
        parts.append(f"## {_TITLES.get(module, module)}")
        parts += [f"::: threedice.{name}" for name in modules[module]]
    for module in threedice._EXTRA_MODULES:
        parts.append(f"## td.{module}")
        parts += [f"::: threedice.{module}.{name}" for name in getattr(threedice, module).__all__]
    return "\n\n".join([*parts, ""])
