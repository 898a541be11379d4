"""The shipped cases that hold for a rulebook: its own, and those of the book that it extends."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from threedice.cases import Case, read_cases, shipped_cases
from threedice.rulebook import load_rulebook
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.library import split_game_name
from threedice.rulebook.source import RulebookSource, shipped_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

UNCOVER = re.compile(r"\buncovers? the dice")
TUMBLES = re.compile(r"\btumbles? (\d) times?$")
TUMBLES_NEEDED = 3
VOID_ALONE = re.compile(r"^(dealer reports (?:dice-not-flat|interruption))(: .*)?$")


def own_cases(book_id: str) -> dict[str, Case]:
    """Return the shipped cases of the games of a rulebook, by file and name."""
    return {name: case for name, case in _all_cases().items() if _book_of(case) == book_id}


def inherited_cases(book_id: str) -> dict[str, Case]:
    """Return the cases of an extended book whose clauses a book inherits unchanged, at its games.

    A case with a reading or an irregularity that the book lacks is left out, and so are the lines
    of a step that it lacks. Without a cover, what one person decides under it takes two.
    """
    source = load_rulebook(book_id)
    bases = set(source.origin.values()) - {book_id}
    cases = {name: case for name, case in _all_cases().items() if _book_of(case) in bases}
    return {
        name: _at_book(case, source) for name, case in cases.items() if _is_inherited(case, source)
    }


def cases_of_rulebook(book_id: str) -> dict[str, Case]:
    """Return all cases that hold for a rulebook, by file and name."""
    return inherited_cases(book_id) | own_cases(book_id)


@cache
def _all_cases() -> dict[str, Case]:
    return {
        f"{file.stem}: {case.name}": case for file in shipped_cases() for case in read_cases(file)
    }


def _book_of(case: Case) -> str:
    return split_game_name(case.game)[0]


def _is_inherited(case: Case, source: RulebookSource) -> bool:
    base, book = _book_of(case), source.book
    cited = [each.split(" ", 1) for each in clause_numbers(case.clause)]
    removed = load_rulebook(base).book.irregularities.keys() - book.irregularities.keys()
    return (
        case.readings.keys() <= book.readings.keys()
        and not any(f"reports {name}" in line for name in removed for line in case.play)
        and all(source.origin.get(number) == base for cites, number in cited if cites == base)
    )


def _at_book(case: Case, source: RulebookSource) -> Case:
    base, book_id = _book_of(case), source.book.id
    clauses = [
        f"{book_id}{each.removeprefix(base)}" if each.startswith(f"{base} ") else each
        for each in clause_numbers(case.clause)
    ]
    play = case.play if "uncover" in source.book.procedure.steps else list(_with_open_dice(case))
    game = f"{book_id}{case.game.removeprefix(base)}"
    return msgspec.structs.replace(case, game=game, clause=clauses, play=play)


def _with_open_dice(case: Case) -> Iterator[str]:
    """Yield the lines of a case at a table without a cover."""
    is_covered = False
    for line in case.play:
        if UNCOVER.search(line):
            is_covered = False
            continue
        yield VOID_ALONE.sub(r"\1 with supervisor\2", line) if is_covered else line
        tumbles = TUMBLES.search(line)
        is_covered = bool(tumbles) or (is_covered and line != "open betting")
        if tumbles and int(tumbles[1]) < TUMBLES_NEEDED and "close betting" in case.play:
            yield "dealer reports too-few-tumbles with supervisor"


def inheriting_rulebooks() -> list[str]:
    """Return the shipped rulebooks that extend another."""
    return [book for book in shipped_ids() if set(load_rulebook(book).origin.values()) != {book}]
