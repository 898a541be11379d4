"""Asking for games and rolls by name: what there is none of is said, with what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_book import BOOK
from threedice import InvalidInput, UnknownName, load
from threedice.rulebook import load_rulebook
from threedice.rulebook.traceability import trace_clauses

if TYPE_CHECKING:
    from pathlib import Path


def test_a_game_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(UnknownName, match=r"no game .tai-sai."):
        load("tai-sai")


def test_a_rulebook_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(UnknownName, match="triple-dice"):
        load_rulebook("quadruple-dice")


def test_a_roll_has_three_dice() -> None:
    game = load("triple-dice")

    assert game.book_id == "triple-dice"
    assert game.roll(["crown", " Anchor", "3"]) == (1, game.faces.number("anchor"), 3)
    with pytest.raises(InvalidInput, match="2 dice given; give three faces, such as crown,"):
        game.roll(["crown", "anchor"])


def test_nobody_has_tested_a_book_of_the_user_s(tmp_path: Path) -> None:
    file = tmp_path / "my-game.toml"
    file.write_text(BOOK)

    assert {each.tests for each in trace_clauses(load_rulebook(str(file)))} == {()}
