"""The examples of the how-to page."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "research.md"


def test_examples_of_the_how_to_page_run() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False)

    assert results.attempted > 20
    assert results.failed == 0
