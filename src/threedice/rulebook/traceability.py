"""Trace every clause to the keys that cite it and to the tests that cite it.

`make citations` collects the `clause` markers of the tests into `citations.json`, which is shipped
with the package, so that an installed copy can show the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from threedice.rulebook.consistency import iter_citations
from threedice.rulebook.source import RULEBOOKS_PACKAGE
from threedice.rulebook.validation import format_key

if TYPE_CHECKING:
    from threedice.rulebook.schema import Clause
    from threedice.rulebook.source import RulebookSource


@dataclass(frozen=True, slots=True)
class ClauseTrace:
    """A clause, the book whose file states it, and the keys and tests that cite it."""

    number: str
    clause: Clause
    origin: str
    data: tuple[str, ...]
    tests: tuple[str, ...]


def trace_clauses(source: RulebookSource) -> list[ClauseTrace]:
    """Return the trace of every clause of a rulebook, in the order of the document.

    An inherited clause belongs to both books: tests that cite it in either are listed.
    """
    data: dict[str, list[str]] = {}
    for number, path in iter_citations(source.book):
        data.setdefault(number, []).append(format_key(path))
    return [
        ClauseTrace(
            number,
            clause,
            source.origin[number],
            tuple(data.get(number, [])),
            _tests(number, source),
        )
        for number, clause in source.book.clauses.items()
    ]


def _tests(number: str, source: RulebookSource) -> tuple[str, ...]:
    """Return the tests that cite a clause of a shipped book; a user's book has none."""
    if not source.shipped:
        return ()
    books = (source.book.id, source.origin[number])
    cited = (
        test for book in dict.fromkeys(books) for test in citing_tests().get(f"{book} {number}", [])
    )
    return tuple(dict.fromkeys(cited))


@cache
def citing_tests() -> dict[str, list[str]]:
    """Return, for each citation 'rulebook clause', the tests that contain it."""
    text = files(RULEBOOKS_PACKAGE).joinpath("citations.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[str]])
