"""Shipped cases have their expected outcome and cite their clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cases.cases_of_rulebooks import inherited_cases, inheriting_rulebooks
from threedice.cases import Case, read_cases, run_case, shipped_cases
from threedice.errors import InvalidInput
from threedice.rulebook.conduct import clause_numbers

if TYPE_CHECKING:
    from pathlib import Path


def shipped_case_params() -> list[object]:
    return [
        pytest.param(
            case,
            marks=pytest.mark.clause(*clause_numbers(case.clause)),
            id=f"{file.stem}: {case.name}",
        )
        for file in shipped_cases()
        for case in read_cases(file)
    ]


@pytest.mark.parametrize("case", shipped_case_params())
def test_shipped_case_has_its_expected_outcome(case: Case) -> None:
    assert run_case(case).differences == []


def inherited_case_params() -> list[object]:
    return [
        pytest.param(
            case, marks=pytest.mark.clause(*clause_numbers(case.clause)), id=f"{book}: {name}"
        )
        for book in inheriting_rulebooks()
        for name, case in inherited_cases(book).items()
    ]


@pytest.mark.parametrize("case", inherited_case_params())
def test_case_of_inherited_clauses_has_its_outcome_in_the_book_that_inherits_them(
    case: Case,
) -> None:
    assert run_case(case).differences == []


def test_names_of_cases_are_unique_within_a_file() -> None:
    for file in shipped_cases():
        names = [case.name for case in read_cases(file)]
        assert len(set(names)) == len(names), file.name


CASE = """
[[case]]
name = "A bet on big"
clause = "sg-rws-tai-sai-v6 3.9"
game = "sg-rws-tai-sai-v6/a"
players = { ann = 1000 }
play = ["open betting", "ann bets 100 on big", "dice 6 5 4"]
expect = { ann = 1100 }
"""


def run_case_text(folder: Path, text: str) -> list[str]:
    file = folder / "case.toml"
    file.write_text(text, encoding="utf-8")
    (case,) = read_cases(file)
    return run_case(case).differences


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("ann = 1100", "ann = 1000", "ann has 1100, expected 1000"),
        ("expect = { ann = 1100 }", "expect = { ann = 1100 }\nowing = { ann = 5 }",
         "ann owes 0, expected 5"),
        ('"ann bets 100 on big"', '"ann bets 100 on big -> refused"', "was accepted"),
        ('"dice 6 5 4"]', '"dice 6 5 4", "ann bets 5 on big -> refused 9.9"]',
         "was refused for 1.7, 3.2, betting/not-open, expected 9.9"),
        ('"dice 6 5 4"]', '"dice 6 5 4", "ann bets 5 on big"]', "stopped: betting is not open"),
        ('"dice 6 5 4"]', '"ann sings"]', "'ann sings' is not a line of a case"),
        ('"dice 6 5 4"]', '"dice 6 5 9"]', "stopped: no face '9'"),
        ('"dice 6 5 4"]', '"ann bets 5 on bigg -> maybe"]', "write '-> refused'"),
        ('"dice 6 5 4"]', '"ann bet 5 on big"]',
         "the nearest are: ann bets 50 on big [at left] [in 2x25];"),
        ("v6/a", "v6/z", "stopped: no game"),
        ("{ ann = 1100 }", "{ an = 1100 }", "expect: no player in this case 'an'; did you mean"),
        ("{ ann = 1100 }", "{ ann = 1100 }\nowing = { dealer = 0 }",
         "owing: no player in this case 'dealer'"),
        ("expect = { ann = 1100 }", "", "the case expects nothing; add expect"),
        ('"sg-rws-tai-sai-v6 3.9"', "[]", "the case cites no clause; add one to clause"),
        ("v6 3.9", "v6 nine", "there is no clause 'sg-rws-tai-sai-v6 nine' to illustrate"),
        ("sg-rws-tai-sai-v6 3.9", "sg-rws-tai-sai-v7 3.9", "no rulebook 'sg-rws-tai-sai-v7'"),
        ("sg-rws-tai-sai-v6 3.9", "nz-tai-sai-2008 7.1", "is a clause of another book"),
        ("v6 3.9", "open-cover-v5 3.9", "is a clause of another book"),
    ],
)  # fmt: skip
def test_difference_from_the_expected_outcome_is_described(
    tmp_path: Path, old: str, new: str, difference: str
) -> None:
    text = CASE.replace(old, new, 1)

    assert difference in run_case_text(tmp_path, text)[0]


def test_case_with_its_expected_outcome_has_no_differences(tmp_path: Path) -> None:
    assert run_case_text(tmp_path, CASE) == []


@pytest.mark.parametrize(
    ("clause", "game"),
    [
        ("sg-rws-tai-sai-v6 3.9", "sg-rws-tai-sai-open-cover-v5/a"),
        ("nz-tai-sai-2008 6.3", "sg-rws-tai-sai-v6/a"),
        ("nz-tai-sai-2008 6.3", "sg-rws-tai-sai-open-cover-v5/a"),
        ("sg-rws-tai-sai-v6 5.4.1", "nz-tai-sai-2008/1"),
    ],
)
def test_case_may_cite_an_extended_book_and_clauses_that_its_rulebook_cites(
    tmp_path: Path, clause: str, game: str
) -> None:
    text = CASE.replace("sg-rws-tai-sai-v6 3.9", clause).replace("sg-rws-tai-sai-v6/a", game)

    assert run_case_text(tmp_path, text) == []


def test_player_who_was_refused_chips_may_be_expected_to_have_none(tmp_path: Path) -> None:
    text = CASE.replace('"dice 6 5 4"]', '"bob buys 7 -> refused", "dice 6 5 4"]')

    assert run_case_text(tmp_path, text.replace("ann = 1100", "ann = 1100, bob = 0")) == []


def test_mistyped_line_answers_with_the_three_nearest_phrases(tmp_path: Path) -> None:
    (difference,) = run_case_text(tmp_path, CASE.replace("dice 6 5 4", "supervisor closs betting"))

    assert difference.endswith(
        "is not a line of a case; the nearest are: close betting; open betting; close the table"
        " [counting 98x5 100x25]"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CASE.replace("play", "plays"), "case 1 (A bet on big): "),
        (CASE + CASE.replace("ann = 1100", "ann = 'many'"), "case 2 (A bet on big): "),
        ('title = "mine"\n' + CASE, "'title' is not a key of it; begin each with [[case]]"),
        ("", "it has no case; begin each with [[case]]"),
        ("case = 5", "it has no case"),
        ("case = [5]", "case 1 (not a table)"),
        ("[[case]]", "case 1 (without a name)"),
    ],
)
def test_file_that_holds_something_else_names_the_case_and_the_remedy(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=r"case\.toml is not a file of cases") as error:
        run_case_text(tmp_path, text)

    assert problem in str(error.value)
