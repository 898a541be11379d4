"""From every clause to where it is data and to the tests that cite it.

Which test cites what is collected from the tests' `clause` markers into `citations.json`, which
ships with the package, so that an installed copy can show it too.
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
    """A clause, the book whose file states it, the keys that hold it and the tests that show it."""

    number: str
    clause: Clause
    origin: str
    data: tuple[str, ...]
    tests: tuple[str, ...]


def trace_clauses(source: RulebookSource) -> list[ClauseTrace]:
    """Return the trace of every clause of a rulebook, in the order of the document.

    A clause inherited unchanged counts for both books: a test that cites either shows it.
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
    """Return the tests that show a clause of a shipped book; nobody has tested a user's."""
    if not source.shipped:
        return ()
    books = (source.book.id, source.origin[number])
    cited = (
        test for book in dict.fromkeys(books) for test in citing_tests().get(f"{book} {number}", [])
    )
    return tuple(dict.fromkeys(cited))


@cache
def citing_tests() -> dict[str, list[str]]:
    """Return, for each citation 'rulebook clause', the tests that make it."""
    text = files(RULEBOOKS_PACKAGE).joinpath("citations.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[str]])
