"""Queries of a game about rolls and known dice, and their invalid arguments."""

from __future__ import annotations

from typing import Any

import pytest

from threedice import InvalidInput, load

GAME = load("sg-rws-tai-sai-v6/c")


@pytest.mark.parametrize("known", [(7,), (0,), ("6",), (1, 2, 3, 4), (True,), (1.0,)])
def test_conclusive_boxes_of_invalid_dice_are_refused(known: Any) -> None:
    with pytest.raises(InvalidInput, match="faces numbered 1 to 6"):
        GAME.conclusive(known)


def test_conclusive_boxes_accept_a_list_of_dice() -> None:
    assert GAME.conclusive([6]) == GAME.conclusive((6,))


@pytest.mark.parametrize("roll", [(7, 7, 7), (0, 1, 1), (1, 2), (1, 2, 3, 4)])
def test_queries_about_an_invalid_roll_are_refused(roll: Any) -> None:
    for query in (GAME.winning, GAME.call, lambda each: GAME.cell("big", each)):
        with pytest.raises(InvalidInput):
            query(roll)


def test_roll_of_other_than_three_dice_is_refused() -> None:
    game = load("triple-dice")

    assert game.book_id == "triple-dice"
    assert game.roll(["crown", " Anchor", "3"]) == (1, game.faces.number("anchor"), 3)
    with pytest.raises(InvalidInput, match="2 dice given; give three faces, such as crown,"):
        game.roll(["crown", "anchor"])


def test_game_shows_itself_by_its_id_and_the_number_of_its_boxes() -> None:
    assert repr(load("nz-tai-sai-2008/2")) == "<Game nz-tai-sai-2008/2, 106 boxes>"
