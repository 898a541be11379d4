"""The page about cases is true: its lines are lines of a case, and its cases pass."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

from threedice.cases import read_cases, run_case
from threedice.cases.phrases import PHRASES
from threedice.cases.runner import Case

PAGE = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
TABLES = PAGE[PAGE.index("## Lines") :]


def documented_lines() -> list[str]:
    """Return the lines in the first column of the page's tables, with and without their options."""
    cells = re.findall(r"^\| (`.*?`) \|", TABLES, re.MULTILINE)
    return [
        variant
        for cell in cells
        for line in re.findall(r"`(.+?)`", cell)
        for variant in variants(line)
    ]


def variants(line: str) -> list[str]:
    """Return a line with each choice of its parts in brackets.

    >>> variants("[dealer] sings")
    ['sings', 'dealer sings']
    """
    parts = [
        ("", part[1:-1]) if part.startswith("[") else (part,)
        for part in re.split(r"(\[.*?\])", line)
    ]
    texts = ("".join(choice) for choice in product(*parts))
    return [re.sub(" +", " ", text).replace(" :", ":").replace(" ,", ",").strip() for text in texts]


def test_every_documented_line_is_a_line_of_a_case() -> None:
    lines = documented_lines()

    assert [line for line in lines if not any(each.matches(line) for each in PHRASES)] == []


def test_every_kind_of_line_is_documented() -> None:
    first = {next(each for each in PHRASES if each.matches(line)) for line in documented_lines()}

    assert [each.example for each in PHRASES if each not in first] == []


def test_example_of_every_phrase_has_its_form() -> None:
    for phrase in PHRASES:
        for line in variants(phrase.example):
            assert next(each for each in PHRASES if each.matches(line)) is phrase, line


def test_every_key_of_a_case_is_documented() -> None:
    keys = re.findall(r"^\| `(\w+)` \|", PAGE[: PAGE.index("## Lines")], re.MULTILINE)

    assert sorted(keys) == sorted(Case.__struct_fields__)


def test_cases_of_the_page_pass(tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text("\n".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)), encoding="utf-8")

    cases = read_cases(file)

    assert [run_case(case).differences for case in cases] == [[], [], [], []]
