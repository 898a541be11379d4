"""A key of a rulebook's file, for errors to name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from threedice.errors import RulebookError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands, and under which clauses."""

    file: str
    path: tuple[str, ...]
    clauses: tuple[str, ...] = ()

    def at(self, *deeper: str) -> Place:
        """Return a place further down."""
        return Place(self.file, (*self.path, *deeper), self.clauses)

    def error(self, problem: str, remedy: str) -> RulebookError:
        """Return the error that something is wrong here."""
        key = key_text(self.path) or "the file"
        return RulebookError(self.file, key, problem, remedy, ", ".join(self.clauses))


def key_text(path: tuple[str, ...]) -> str:
    """Write a key as TOML does, quoting the parts that hold dots.

    >>> key_text(("clauses", "5.1", "status"))
    'clauses."5.1".status'
    """
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)
