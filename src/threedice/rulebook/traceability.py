"""Trace every clause to the keys and tests that cite it, and to the proof that it is modelled.

`make citations` collects the `clause` markers of the tests into `citations.json`. `make clauses`
writes `proof.json`: for every modelled clause, a change of its rules and a case that then fails.
Both are shipped with the package, so that an installed copy can show the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.rulebook.consistency import iter_citations
from threedice.rulebook.source import RULEBOOKS_PACKAGE, value_at
from threedice.rulebook.validation import format_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook.schema import Clause
    from threedice.rulebook.source import RulebookSource
    from threedice.rulebook.validation import KeyPath


class KeyChange(msgspec.Struct, frozen=True):
    """A key of a rulebook, and its values before and after a change; None: it is absent."""

    key: list[str]
    old: Any
    new: Any


class ClauseProof(msgspec.Struct, frozen=True):
    """A change of the rules that cite a clause, a case that then fails, and how it fails."""

    clause: str
    changes: list[KeyChange]
    case: str
    difference: str


@dataclass(frozen=True, slots=True)
class ClauseTrace:
    """A clause, the book whose file states it, the keys and tests that cite it, and its proof."""

    number: str
    clause: Clause
    origin: str
    data: tuple[str, ...]
    tests: tuple[str, ...]
    proof: ClauseProof | None


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
            proofs().get(f"{source.book.id} {number}") if source.shipped else None,
        )
        for number, clause in source.book.clauses.items()
    ]


def facts_of_clause(source: RulebookSource, number: str) -> list[str]:
    """Return the facts of a rulebook that cite a clause, each as 'key: value'.

    Readings, wagers and odds are left out: pages of their own show them.
    """
    paths = dict.fromkeys(path for cited, path in iter_citations(source.book) if cited == number)
    return [
        line
        for path in paths
        if path[0] not in ("readings", "wagers", "pay_tables")
        for line in iter_facts(source, path)
        if not line.startswith(f"{format_key(path)}.clause: ")
    ]


def iter_facts(source: RulebookSource, path: KeyPath) -> Iterator[str]:
    """Yield the facts of a table of a rulebook, each as 'key: value', but for its geometry."""
    yield from _flatten(value_at(source.data, path), path)


def _flatten(value: Any, path: KeyPath) -> Iterator[str]:
    """Yield the leaves of nested tables as text."""
    if isinstance(value, dict):
        for key, each in value.items():
            if (path[0], key) not in _GEOMETRY:
                yield from _flatten(each, (*path, key))
    else:
        items = value if isinstance(value, list) else [value]
        text = ", ".join(
            " and ".join(map(str, each)) if isinstance(each, list) else str(each) for each in items
        )
        yield f"{format_key(path)}: {text}"


_GEOMETRY = {("layouts", key) for key in ("size", "blocks", "legends", "like")}


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


@cache
def proofs() -> dict[str, ClauseProof]:
    """Return, for each modelled clause 'rulebook clause', its proof."""
    text = files(RULEBOOKS_PACKAGE).joinpath("proof.json").read_bytes()
    return {each.clause: each for each in msgspec.json.decode(text, type=list[ClauseProof])}
