"""Check the clauses that a case cites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.errors import did_you_mean, nearest_names
from threedice.rulebook.library import split_game_name
from threedice.rulebook.source import (
    RulebookSource,
    iter_leaves,
    read_rulebook,
    shipped_clause_numbers,
    shipped_ids,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def check_citations(game: str, citations: Collection[str]) -> Iterator[str]:
    """Yield a problem for each citation that a case of this game may not make, and for none.

    A case cites the clauses of its game's rulebook, of the books that this one extends, and those
    clauses of other books that the rulebook itself cites.
    """
    source = read_rulebook(split_game_name(game)[0])
    own = {source.book.id, *source.origin.values()}
    borrowed = set(_borrowed_clauses(source))
    if not citations:
        yield "the case cites no clause; add one to clause"
    for citation in citations:
        book, _, number = citation.partition(" ")
        numbers = source.book.clauses if book == source.book.id else shipped_clause_numbers(book)
        if number not in (numbers or ()):
            yield f"there is no clause {citation!r} to illustrate; {_remedy(book, number, numbers)}"
        elif book not in own and not any(is_part(citation, each) for each in borrowed):
            yield (
                f"{citation!r} is a clause of another book, which {source.book.id} does not cite;"
                f" cite a clause of {' or '.join(sorted(own))}"
            )


def _remedy(book: str, number: str, numbers: Collection[str] | None) -> str:
    if numbers is None:
        return f"no rulebook {book!r}, {did_you_mean(nearest_names(book, shipped_ids()))}"
    return did_you_mean(nearest_names(number, numbers))


def _borrowed_clauses(source: RulebookSource) -> Iterator[str]:
    """Yield the citations of other books in a rulebook, such as `nz-tai-sai-2008 6.3`."""
    for _, value in iter_leaves(source.data):
        values: list[Any] = value if isinstance(value, list) else [value]
        for each in values:
            book, space, _ = each.partition(" ") if isinstance(each, str) else ("", "", "")
            if space and book in shipped_ids():
                yield each


def is_part(citation: str, cited: str) -> bool:
    """Return whether a clause is the cited one, or a part of it such as 5.4.1 of 5.4."""
    return citation == cited or citation.startswith((f"{cited}.", f"{cited}("))
