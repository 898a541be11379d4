"""The table of proofs is current: the change of each row still makes its case fail."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.cases.cases_of_rulebooks import cases_of_rulebook
from tests.mutation.clause_proof import MutatedBook, without_clauses
from tests.mutation.rulebook_mutants import (
    Change,
    Mutant,
    apply_mutant,
    compiles,
    mutants_of_clause,
)
from threedice.cases import Case
from threedice.rulebook import load_rulebook
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.source import ABSENT, shipped_ids, value_at
from threedice.rulebook.traceability import ClauseProof, proofs


def rows_of(book_id: str) -> list[ClauseProof]:
    return [row for row in proofs().values() if row.clause.startswith(f"{book_id} ")]


@pytest.mark.parametrize("book_id", shipped_ids())
def test_modelled_clauses_are_those_with_a_proof(book_id: str) -> None:
    clauses = load_rulebook(book_id).book.clauses
    modelled = [f"{book_id} {number}" for number in clauses if clauses[number].status == "modelled"]

    assert [row.clause for row in rows_of(book_id)] == modelled, "run `make clauses`"


@pytest.mark.no_cover  # tracing would double its time
@pytest.mark.parametrize("book_id", shipped_ids())
def test_case_of_each_proof_cites_its_clause_and_fails_once_the_rule_is_changed(
    book_id: str,
) -> None:
    source, cases = load_rulebook(book_id), cases_of_rulebook(book_id)
    rows = sorted(rows_of(book_id), key=lambda row: repr(row.changes))
    for _, group in groupby(rows, key=lambda row: repr(row.changes)):
        same = list(group)
        mutated = apply_mutant(source, mutant_of(same[0]))
        assert mutated, same[0].clause
        book = MutatedBook(mutated)
        for row in same:
            assert row.case in cases, "run `make clauses`"
            case = cases[row.case]
            assert row.clause in clause_numbers(case.clause), "run `make clauses`"
            assert book.difference(case) == row.difference, "run `make clauses`"


def mutant_of(row: ClauseProof) -> Mutant:
    return Mutant(tuple(Change(tuple(each.key), each.old, each.new) for each in row.changes))


@pytest.mark.parametrize("book_id", shipped_ids())
def test_value_before_the_change_of_each_proof_is_that_of_the_rulebook(book_id: str) -> None:
    data = load_rulebook(book_id).data
    stale = [
        (row.clause, change.key)
        for row in rows_of(book_id)
        for change in row.changes
        if value_at(data, tuple(change.key)) != (ABSENT if change.old is None else change.old)
    ]

    assert stale == [], "run `make clauses`"


# --- the mutants --------------------------------------------------------------------------------


def test_mutants_of_a_clause_change_only_tables_that_cite_it() -> None:
    source = load_rulebook("sg-rws-tai-sai-v6")

    changed = {mutant.changes[0].key for mutant in mutants_of_clause(source, "5.2.1")}

    assert changed
    assert all(key[:2] == ("limits", "minimum") for key in changed)


@pytest.mark.parametrize(
    ("book", "number", "change"),
    [
        (
            "sg-rws-tai-sai-v6",
            "5.7",
            (("irregularities", "bet-after-close", "consequence"), "refuse", "settle-as-placed"),
        ),
        (
            "nz-tai-sai-2008",
            "6.2",
            (("procedure", "steps", "close-betting", "by"), ["dealer"], ["dealer", "supervisor"]),
        ),
    ],
)
def test_subject_of_a_clause_names_its_change(
    book: str, number: str, change: tuple[tuple[str, ...], object, object]
) -> None:
    assert [each.changes for each in mutants_of_clause(load_rulebook(book), number)] == [(change,)]


def test_booleans_of_a_table_are_negated_together_too() -> None:
    mutants = mutants_of_clause(load_rulebook("sg-rws-tai-sai-v6"), "5.1.2")

    assert max(len(each.changes) for each in mutants) == 2


def test_changed_book_that_contradicts_itself_does_not_compile() -> None:
    source = load_rulebook("triple-dice")

    def changed(key: str, old: int, new: int) -> bool:
        mutated = apply_mutant(source, Mutant((Change(("shooter", key), old, new),)))
        assert mutated
        return compiles(mutated)

    assert changed("dice_offered", 5, 4)
    assert not changed("dice_offered", 5, 2)


def test_refusal_for_another_reason_is_no_changed_decision() -> None:
    roles = ["player", "shooter"]
    change = Change(("people", "acts", "bet", "by"), roles, [*roles, "dealer"])
    mutated = apply_mutant(load_rulebook("triple-dice"), Mutant((change,)))
    assert mutated

    case = cases_of_rulebook("triple-dice")["triple-dice: The dealer does not bet"]
    assert MutatedBook(mutated).difference(case) == ""


def test_clauses_of_expected_refusals_do_not_count() -> None:
    play = [
        "ann bets 5 on big -> refused betting/closed 4.7(b)",
        "dealer throws -> refused 3",
        "ann has 5",
    ]
    case = Case(name="", clause="", game="", play=play)

    assert without_clauses(case).play == [
        "ann bets 5 on big -> refused betting/closed",
        "dealer throws -> refused",
        "ann has 5",
    ]
