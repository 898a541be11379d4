"""Prove the clauses that a rulebook calls modelled: a changed rule makes a case fail.

    python -m tests.mutation.clause_proof [RULEBOOK...]

For every modelled clause, the rules that carry its subject are changed one at a time until a case
that cites it fails. A changed book must still compile, all layouts and readings. Cases play at the
engine, and state decisions, refusals, steps and payments: no hash, text or display counts, nor a
refusal for another reason. The rows are written to `rulebooks/proof.json`; a clause without one is
an error.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tests.cases.cases_of_rulebooks import cases_of_rulebook
from tests.mutation.rulebook_mutants import Mutant, apply_mutant, compiles, mutants_of_clause
from threedice.cases import run_case
from threedice.errors import Refusal, RulebookError, UnknownName
from threedice.rulebook import load_rulebook
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.library import compile_layout, split_game_name
from threedice.rulebook.source import shipped_ids
from threedice.rulebook.traceability import ClauseProof, KeyChange, proofs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.cases import Case
    from threedice.rulebook import Game
    from threedice.rulebook.source import RulebookSource

FILE = Path(__file__).parents[2] / "src" / "threedice" / "rulebooks" / "proof.json"

_OTHER_REASON = ": was refused for "
"""What a difference says of a line that is still refused: the decision has not changed."""


class MutatedBook:
    """A book with a mutant, whose games are compiled when a case needs them."""

    def __init__(self, source: RulebookSource) -> None:
        self.source = source
        self._games: dict[tuple[str, str], Game | None] = {}

    def difference(self, case: Case) -> str:
        """Return the first decision of a case that the mutant changes; empty if there is none."""
        game = self.game(case)
        if game is None:
            return ""
        try:
            outcome = run_case(without_clauses(case), game)
        except (KeyError, ValueError):
            return ""  # the engine cannot play the mutant at all: no decision has changed
        if outcome.stopped_by and not isinstance(outcome.stopped_by, Refusal):
            return ""
        return next((each for each in outcome.differences if _OTHER_REASON not in each), "")

    def game(self, case: Case) -> Game | None:
        """Return the changed game of a case, or None if it does not compile."""
        layout = split_game_name(case.game)[1] or next(iter(self.source.book.layouts))
        key = (layout, repr(case.readings))
        if key not in self._games:
            try:
                self._games[key] = compile_layout(self.source, layout, case.readings)
            except (RulebookError, UnknownName):
                self._games[key] = None
        return self._games[key]


def without_clauses(case: Case) -> Case:
    """Return a case that expects refusals by their code alone: a changed citation counts not."""
    play = [
        re.sub(r"-> refused.*", lambda found: " ".join(filter(_is_code, found[0].split())), line)
        for line in case.play
    ]
    return msgspec.structs.replace(case, play=play)


def _is_code(word: str) -> bool:
    return word in ("->", "refused") or "/" in word


def prove_rulebook(book_id: str) -> Iterator[ClauseProof | str]:
    """Yield the proof of every modelled clause of a book, or its citation if there is none."""
    source = load_rulebook(book_id)
    cases = {
        name: case for name, case in cases_of_rulebook(book_id).items() if run_case(case).passed
    }
    books: dict[str, MutatedBook | None] = {}
    for number, clause in source.book.clauses.items():
        if clause.status == "modelled":
            citation = f"{book_id} {number}"
            citing = {
                name: case
                for name, case in cases.items()
                if citation in clause_numbers(case.clause)
            }
            yield _prove(source, number, citing, books) or citation


def _prove(
    source: RulebookSource,
    number: str,
    cases: Mapping[str, Case],
    books: dict[str, MutatedBook | None],
) -> ClauseProof | None:
    """Return the first change that fails a case; cases that cite the fewest clauses come first."""
    names = sorted(cases, key=lambda name: len(clause_numbers(cases[name].clause)))
    for mutant in mutants_of_clause(source, number):
        if repr(mutant) not in books:
            mutated = apply_mutant(source, mutant)
            books[repr(mutant)] = MutatedBook(mutated) if mutated else None
        for name in names:
            book = books[repr(mutant)]
            difference = book.difference(cases[name]) if book else ""
            if book and difference and compiles(book.source):
                return _row(f"{source.book.id} {number}", mutant, name, difference)
            if difference:
                books[repr(mutant)] = None
    return None


def _row(citation: str, mutant: Mutant, case: str, difference: str) -> ClauseProof:
    changes = [KeyChange(list(each.key), each.old, each.new) for each in mutant.changes]
    return ClauseProof(citation, changes, case, difference)


def main(book_ids: list[str]) -> int:
    """Prove the clauses of the books and write their rows."""
    chosen = book_ids or list(shipped_ids())
    found = [each for book_id in chosen for each in prove_rulebook(book_id)]
    unproved = [each for each in found if isinstance(each, str)]
    rows = {each.clause: each for each in found if isinstance(each, ClauseProof)}
    kept = [each for each in proofs().values() if each.clause.split(" ", 1)[0] not in chosen]
    write_rows([*kept, *rows.values()])
    counts = Counter(each.split(" ", 1)[0] for each in rows)
    lines = [f"{book_id}: {count} modelled clauses proved" for book_id, count in counts.items()]
    lines += [f"{each}: no change of its rules fails a case that cites it" for each in unproved]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if unproved else 0


def write_rows(rows: list[ClauseProof]) -> None:
    """Write the rows, one to a line, in the order of the books and their clauses."""
    order = [
        f"{book} {number}" for book in shipped_ids() for number in load_rulebook(book).book.clauses
    ]
    lines = [
        msgspec.json.encode(row).decode()
        for row in sorted(rows, key=lambda row: order.index(row.clause))
    ]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
