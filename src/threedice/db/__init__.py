"""Database code that the log and the identity store share, for SQLite and PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

SqlRow = tuple[Any, ...]

Result = TypeVar("Result")


class SqlRunner(Protocol):
    """Function that runs a statement and returns its rows."""

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        """Run a statement with `?` for each parameter."""
