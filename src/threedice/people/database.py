"""What the rules of people use of a database; there is one for SQLite and one for PostgreSQL.

Changes happen one at a time in either, across all processes: whoever changes something sees what
is true and stays true until it is done. Numbers given out in one are therefore in the order of
their commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

Row = tuple[Any, ...]
Result = TypeVar("Result")


class Run(Protocol):
    """Runs a statement with `?` for its values, and returns its rows."""

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[Row]:
        """Run it."""


Work = Callable[[Run], Result]
"""Done within a transaction; it may be begun again, so it touches nothing else."""


class Database(Protocol):
    """Where people are kept."""

    name: str

    def change(self, work: Work[Result], *, lasting: bool = True) -> Result:
        """Do something in a transaction that no other is beside; `lasting` waits for the disk."""

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Return what is there."""

    def close(self) -> None:
        """Let go of the database."""
