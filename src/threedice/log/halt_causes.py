"""Classify why writing was halted, from the text that was recorded with the halt."""

from __future__ import annotations

from typing import Final, Literal

HaltCause = Literal[
    "disk-full", "read-only", "database-file-removed", "newer-database", "io-error", "other"
]

_PHRASES: Final[tuple[tuple[HaltCause, tuple[str, ...]], ...]] = (
    ("newer-database", ("this program knows version",)),
    ("database-file-removed", ("was removed or replaced", "was cut from")),
    ("disk-full", ("disk is full", "no space left", "quota exceeded", "could not extend file")),
    ("read-only", ("readonly", "read-only")),
    ("io-error", ("i/o error", "input/output error", "could not fsync")),
)
"""Phrases in the messages of SQLite, PostgreSQL and the system, most specific first."""


def classify_halt(reason: str) -> HaltCause:
    """Return the class of a halt; unlike the text, it names no file, host or user.

    >>> classify_halt("the store could not write: /srv/h.sqlite: database or disk is full")
    'disk-full'
    """
    text = reason.lower()
    for cause, phrases in _PHRASES:
        if any(phrase in text for phrase in phrases):
            return cause
    return "other"
