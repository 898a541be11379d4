"""What the errors of PostgreSQL mean for whoever meets them, and how often to try again."""

from __future__ import annotations

from enum import Enum, auto
from time import monotonic
from typing import Final

import psycopg

TRIES: Final = 5


class Trouble(Enum):
    """What an error of PostgreSQL means for whoever met it."""

    AGAIN = auto()  # others were in the way; the same again may succeed at once
    LOST = auto()  # the connection is gone; a new one may serve
    SLOW = auto()  # the server gave up in time; nothing happened
    INPUT = auto()  # no database could hold what was given
    FAILED = auto()  # it could not be written, and a person must look


def trouble(error: BaseException) -> Trouble:
    """Tell what an error means, by its SQLSTATE."""
    if isinstance(error, UnicodeEncodeError | OverflowError | psycopg.DataError):
        return Trouble.INPUT
    if not isinstance(error, psycopg.Error):
        return Trouble.FAILED
    state = error.sqlstate or ""
    for prefixes, meaning in _MEANINGS.items():
        if state.startswith(prefixes):
            return meaning
    lost = not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return Trouble.LOST if lost else Trouble.FAILED


_MEANINGS: Final = {
    ("40P01", "40001", "23505"): Trouble.AGAIN,
    ("08", "57P", "25P03", "25P04"): Trouble.LOST,
    ("57014", "55P03", "53200", "53300", "25006"): Trouble.SLOW,
    ("22",): Trouble.INPUT,
}


class Tries:
    """How often the same is tried, and until when."""

    def __init__(self, seconds: float) -> None:
        self._left, self._until = TRIES, monotonic() + seconds

    def another(self) -> bool:
        """Tell whether to try once more, and count it."""
        self._left -= 1
        return self._left > 0 and monotonic() < self._until

    def end(self) -> None:
        """Try no more."""
        self._left = 0
