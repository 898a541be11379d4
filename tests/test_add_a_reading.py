"""The page about adding a reading is true: its reading loads, and its case shows the reading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from threedice import load
from threedice.cases import read_cases, run_case
from threedice.errors import ThreediceError

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contributing" / "add-a-reading.md").read_text(encoding="utf-8")
READING, CASE = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
BOOK = ROOT / "src" / "threedice" / "rulebooks" / "crown-and-anchor.toml"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a copy of the rulebook with the reading of the page, under an id of its own."""
    file = tmp_path / BOOK.name
    text = BOOK.read_text(encoding="utf-8").replace('id = "crown-and-anchor"', 'id = "mine"')
    file.write_text(f"{text}\n{READING}", encoding="utf-8")
    return file


@pytest.mark.parametrize(("option", "returned"), [("return", True), ("throw-again", False)])
def test_bets_are_returned_only_under_the_option_that_says_so(
    book: Path, tmp_path: Path, option: str, returned: bool
) -> None:
    file = tmp_path / "cases.toml"
    text = CASE.replace('"crown-and-anchor"', f'"{book}/main"').replace('"return"', f'"{option}"')
    text = text.replace('"crown-and-anchor 6"', '"mine 6"')
    file.write_text(text, encoding="utf-8")

    (case,) = read_cases(file)

    assert run_case(case).passed == returned


def test_an_option_that_the_reading_does_not_offer_is_refused(book: Path) -> None:
    with pytest.raises(ThreediceError, match="not-flat"):
        load(f"{book}/main", readings={"not-flat": "stand"})
