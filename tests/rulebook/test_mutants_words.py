"""The words of winning, exactly: the rolls themselves, and what a word refuses to speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_book import SMALL, changed, refused
from threedice.dice import members
from threedice.rulebook.conditions import VOCABULARY, roll_sets

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook.schema import ConditionName


@pytest.mark.parametrize("when", ["total-odd", "total-even", "any-triple"])
def test_a_word_that_speaks_of_nothing_speaks_of_none(when: ConditionName) -> None:
    assert list(VOCABULARY[when].operand_counts) == [0]


@pytest.mark.parametrize("of", ["[]", "[1]"])
@pytest.mark.parametrize("when", ["total-odd", "total-even", "any-triple"])
def test_a_word_that_speaks_of_nothing_refuses_to_speak_of_something(
    tmp_path: Path, when: str, of: str
) -> None:
    error = refused(tmp_path, changed((SMALL, f'wins = {{ when = "{when}", of = {of} }}')))

    assert error.problem == f"{when!r} takes no faces or totals"
    assert error.remedy == "leave of out"


def test_faces_named_twice_make_no_different_ones() -> None:
    (rolls,) = roll_sets("three-different-within", (1, 1, 2, 3))

    assert {tuple(sorted(roll)) for roll in members(rolls)} == {(1, 2, 3)}
