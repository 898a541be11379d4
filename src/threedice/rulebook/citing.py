"""Which clauses a rulebook's data cites, and whether they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.errors import did_you_mean, nearest
from threedice.rulebook.conduct import Fact, cited
from threedice.rulebook.place import Place
from threedice.rulebook.schema import Option, Under

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from threedice.rulebook.schema import Rulebook

Path = tuple[str, ...]


def citations(value: Any, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Yield every (clause, key) by which a rulebook cites a clause.

    What an option of a reading would set is not cited until it is set.
    """
    if isinstance(value, Option):
        return
    if isinstance(value, Fact):
        for name in value.__struct_fields__:
            each = getattr(value, name)
            if each and (name == "clause" or isinstance(value, Under)):
                yield from ((number, path) for number in cited(each))
            else:
                yield from citations(each, (*path, name))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from citations(each, (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from citations(each, (*path, str(i)))


def check_citations(
    book: Rulebook, clauses_of: Callable[[str], Collection[str] | None], file: str
) -> None:
    """Refuse a citation of a clause that is not there, in this book or in another.

    `clauses_of` returns the clause numbers of another book, or nothing where there is no such.
    """
    for citation, path in citations(book):
        place = Place(file, path, (citation,))
        other, space, number = citation.partition(" ")
        if not space:
            clauses: Collection[str] | None = book.clauses
            number = citation
        else:
            clauses = clauses_of(other)
        if clauses is None:
            raise place.error(
                f"it cites {citation!r}, which is no clause", f"there is no rulebook {other!r}"
            )
        if number not in clauses:
            known = did_you_mean(nearest(number, clauses))
            raise place.error(f"it cites {citation!r}, which is no clause", known)
    for number, clause in book.clauses.items():
        if clause.status == "out of scope" and not clause.reason.strip():
            place = Place(file, ("clauses", number), (number,))
            raise place.error("is out of scope without a reason", "add reason")
