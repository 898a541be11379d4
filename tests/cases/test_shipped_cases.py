"""Shipped cases have their expected outcome and cite their clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.cases import Case, read_cases, run_case, shipped_cases
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
        ("v6/a", "v6/z", "stopped: no game"),
    ],
)  # fmt: skip
def test_difference_from_the_expected_outcome_is_described(
    tmp_path: Path, old: str, new: str, difference: str
) -> None:
    text = CASE.replace(old, new, 1) if old != "v6/a" else CASE.replace("v6/a", "v6/z")

    assert difference in run_case_text(tmp_path, text)[0]


def test_case_with_its_expected_outcome_has_no_differences(tmp_path: Path) -> None:
    assert run_case_text(tmp_path, CASE) == []
