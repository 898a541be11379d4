"""Every clause of every document is listed, cited where it is data, and shown by tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle.documents import CLAUSE_NUMBERS
from threedice.rulebook import load_rulebook
from threedice.rulebook.consistency import iter_citations
from threedice.rulebook.source import shipped_ids
from threedice.rulebook.traceability import citing_tests, trace_clauses

ROOT = Path(__file__).parents[2]
CITATION = re.compile(rf"\b({'|'.join(shipped_ids())}) ((?:\d|appendix:|odds:)[\w.:()-]*)")


def test_a_document_has_an_oracle_of_its_clause_numbers() -> None:
    numbered_by_us = "rules numbered by the Threedice authors"
    sources = {book: load_rulebook(book).book.source for book in shipped_ids()}

    assert {book for book in sources if numbered_by_us not in sources[book]} == set(CLAUSE_NUMBERS)


@pytest.mark.parametrize("book", CLAUSE_NUMBERS)
def test_no_clause_of_a_document_is_missing_and_none_is_invented(book: str) -> None:
    assert list(load_rulebook(book).book.clauses) == list(CLAUSE_NUMBERS[book])


@pytest.mark.parametrize("book", shipped_ids())
def test_a_modelled_clause_is_data_and_a_test_cites_it(book: str) -> None:
    traced = trace_clauses(load_rulebook(book))
    modelled = [each for each in traced if each.clause.status == "modelled"]

    assert [each.number for each in modelled if not each.data] == []
    assert [each.number for each in modelled if not each.tests] == []


@pytest.mark.parametrize("book", shipped_ids())
def test_every_summary_is_a_sentence_and_every_exclusion_has_a_reason(book: str) -> None:
    for number, clause in load_rulebook(book).book.clauses.items():
        assert clause.summary.endswith("."), number
        assert bool(clause.reason) == (clause.status == "out of scope"), number


@pytest.mark.parametrize("book", shipped_ids())
def test_every_citation_in_data_resolves_across_books_too(book: str) -> None:
    for number, key in iter_citations(load_rulebook(book).book):
        other, _, clause = number.rpartition(" ")
        assert clause in load_rulebook(other or book).book.clauses, key


def resolves(citation: str) -> bool:
    book, _, number = citation.partition(" ")
    return number in load_rulebook(book).book.clauses


def test_every_citation_written_in_code_and_docs_resolves() -> None:
    patterns = ("src/**/*.py", "tests/**/*.py", "docs/**/*.md", "*.md")
    texts = [file.read_text(encoding="utf-8") for each in patterns for file in ROOT.glob(each)]
    cited = {" ".join(found) for text in texts for found in CITATION.findall(text)}

    assert len(cited) > 30
    assert {each for each in cited if not (resolves(each) or resolves(each.rstrip(".:)")))} == set()


def test_every_citation_by_a_test_resolves() -> None:
    assert {citation for citation in citing_tests() if not resolves(citation)} == set()


def test_the_shipped_list_of_citations_is_what_the_tests_say_now(tmp_path: Path) -> None:
    file = tmp_path / "citations.json"
    option = f"--write-citations={file}"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", option]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    assert citing_tests() == json.loads(file.read_text(encoding="utf-8")), "run `make citations`"


def test_a_clause_inherited_unchanged_counts_for_both_books_and_a_changed_one_does_not() -> None:
    covered, open_cover = (
        {each.number: each for each in trace_clauses(load_rulebook(book))}
        for book in ("sg-rws-tai-sai-v6", "sg-rws-tai-sai-open-cover-v5")
    )

    assert open_cover["5.1"].origin == "sg-rws-tai-sai-v6"
    assert set(covered["5.1"].tests) <= set(open_cover["5.1"].tests)
    assert open_cover["5.5.3"].origin == "sg-rws-tai-sai-open-cover-v5"
    assert not set(covered["5.5.3"].tests) & set(open_cover["5.5.3"].tests)
