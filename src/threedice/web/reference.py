"""The tables of the API's reference, made from the application itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.people import ROLES
from threedice.web.authorisation import ANYONE, COMMANDS, QUERIES, Right

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.web.answering import Operation


def operations_table(operations: Iterable[Operation]) -> str:
    """Return all operations as a Markdown table, with who may use each."""
    rows = [
        (f"`{each.method} {each.path}`", each.summary, *_who(QUERIES[each.name]))
        for each in operations
    ]
    return _table(("operation", "what it does", "roles", "programs"), rows)


def commands_table() -> str:
    """Return all commands as a Markdown table, with who may send each."""
    rows = [(f"`{name}`", *_who(right)) for name, right in COMMANDS.items() if right.roles]
    return _table(("command", "roles", "programs"), rows)


def _who(right: Right) -> tuple[str, str]:
    if ANYONE in right.roles:
        return "anyone", "anyone"
    roles = [role for role in ROLES if role in right.roles]
    said = "everybody signed in" if len(roles) == len(ROLES) else ", ".join(roles)
    return said, "no" if right.scope == "nobody" else right.scope


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
