"""Traceability: every clause is listed, its citations resolve, and tests cite it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from tests.oracle.documents import CLAUSE_NUMBERS
from tests.rulebook.small_rulebook import BOOK
from threedice.cli.rulebooks import rulebook_commands
from threedice.rulebook import load_rulebook
from threedice.rulebook.consistency import iter_citations
from threedice.rulebook.source import shipped_ids
from threedice.rulebook.traceability import (
    ClauseTrace,
    citing_tests,
    facts_of_clause,
    trace_clauses,
)

if TYPE_CHECKING:
    from threedice.rulebook.schema import ClauseStatus

ROOT = Path(__file__).parents[2]
CITATION = re.compile(rf"\b({'|'.join(shipped_ids())}) ((?:\d|appendix:|odds:)[\w.:()-]*)")


def test_every_official_document_has_an_oracle_of_clause_numbers() -> None:
    numbered_by_us = "rules numbered by the Threedice authors"
    sources = {book: load_rulebook(book).book.source for book in shipped_ids()}

    assert {book for book in sources if numbered_by_us not in sources[book]} == set(CLAUSE_NUMBERS)


@pytest.mark.parametrize("book", CLAUSE_NUMBERS)
def test_clause_numbers_of_a_rulebook_equal_those_of_its_document(book: str) -> None:
    assert list(load_rulebook(book).book.clauses) == list(CLAUSE_NUMBERS[book])


@pytest.mark.parametrize("book", shipped_ids())
def test_every_modelled_clause_has_data_a_citing_test_and_a_proof(book: str) -> None:
    modelled = traces_of(book, "modelled")

    assert [each.number for each in modelled if not each.data] == []
    assert [each.number for each in modelled if not each.tests] == []
    assert [each.number for each in modelled if not each.proof] == [], "run `make clauses`"


def traces_of(book: str, status: ClauseStatus) -> list[ClauseTrace]:
    return [each for each in trace_clauses(load_rulebook(book)) if each.clause.status == status]


@pytest.mark.parametrize("book", shipped_ids())
def test_every_prompted_clause_is_cited_by_a_browser_test(book: str) -> None:
    unseen = [
        each.number
        for each in traces_of(book, "prompted")
        if not any(test.startswith("tests/screens/") for test in each.tests)
    ]

    assert unseen == []


@pytest.mark.parametrize("book", shipped_ids())
def test_rulebooks_show_prints_every_fact_of_a_declared_clause(book: str) -> None:
    shown = CliRunner().invoke(rulebook_commands, ["show", book]).output.splitlines()

    for each in traces_of(book, "declared"):
        facts = facts_of_clause(load_rulebook(book), each.number)
        assert facts, each.number
        assert [fact for fact in facts if fact not in shown] == [], each.number


@pytest.mark.parametrize("book", shipped_ids())
def test_every_clause_has_a_summary_and_every_excused_one_a_reason(book: str) -> None:
    for number, clause in load_rulebook(book).book.clauses.items():
        assert clause.summary.endswith("."), number
        assert bool(clause.reason) == (clause.status == "excused"), number


@pytest.mark.parametrize("book", shipped_ids())
def test_every_citation_in_a_rulebook_resolves_also_to_other_rulebooks(book: str) -> None:
    for number, key in iter_citations(load_rulebook(book).book):
        other, _, clause = number.rpartition(" ")
        assert clause in load_rulebook(other or book).book.clauses, key


def citation_resolves(citation: str) -> bool:
    book, _, number = citation.partition(" ")
    return number in load_rulebook(book).book.clauses


def test_every_citation_in_code_and_docs_resolves() -> None:
    patterns = ("src/**/*.py", "tests/**/*.py", "docs/**/*.md", "*.md")
    texts = [file.read_text(encoding="utf-8") for each in patterns for file in ROOT.glob(each)]
    cited = {" ".join(found) for text in texts for found in CITATION.findall(text)}

    assert len(cited) > 30
    assert {
        each
        for each in cited
        if not (citation_resolves(each) or citation_resolves(each.rstrip(".:)")))
    } == set()


def test_every_citation_by_a_test_resolves() -> None:
    assert {citation for citation in citing_tests() if not citation_resolves(citation)} == set()


def test_shipped_citations_equal_the_clause_marks_of_the_tests(tmp_path: Path) -> None:
    """Collect only the files that mark clauses: a citation from any other file is a difference."""
    file = tmp_path / "citations.json"
    marking = [
        str(each)
        for each in sorted(ROOT.glob("tests/**/test_*.py"))
        if "mark.clause" in each.read_text(encoding="utf-8")
    ]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", f"--write-citations={file}"]
    subprocess.run([*command, *marking], cwd=ROOT, check=True, capture_output=True)

    assert citing_tests() == json.loads(file.read_text(encoding="utf-8")), "run `make citations`"


def test_tests_of_an_inherited_clause_count_for_both_rulebooks_unless_it_is_changed() -> None:
    covered, open_cover = (
        {each.number: each for each in trace_clauses(load_rulebook(book))}
        for book in ("sg-rws-tai-sai-v6", "sg-rws-tai-sai-open-cover-v5")
    )

    assert open_cover["5.1"].origin == "sg-rws-tai-sai-v6"
    assert set(covered["5.1"].tests) <= set(open_cover["5.1"].tests)
    assert open_cover["5.5.3"].origin == "sg-rws-tai-sai-open-cover-v5"
    assert not set(covered["5.5.3"].tests) & set(open_cover["5.5.3"].tests)


def test_clauses_of_a_user_rulebook_have_no_citing_tests(tmp_path: Path) -> None:
    file = tmp_path / "my-game.toml"
    file.write_text(BOOK)

    assert {each.tests for each in trace_clauses(load_rulebook(str(file)))} == {()}
