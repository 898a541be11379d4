"""Winning conditions: the rolls they contain, their operands and their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import BOOK, SMALL, edit_book, expect_error, load_book
from threedice import load
from threedice.dice import contains, count, members
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY, describe_condition, roll_sets

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook.schema import ConditionName


@pytest.mark.parametrize("when", ["total-odd", "total-even", "any-triple"])
def test_condition_without_operands_takes_zero_operands(when: ConditionName) -> None:
    assert list(VOCABULARY[when].operand_counts) == [0]


@pytest.mark.parametrize("of", ["[]", "[1]"])
@pytest.mark.parametrize("when", ["total-odd", "total-even", "any-triple"])
def test_operands_of_a_condition_without_operands_are_refused(
    tmp_path: Path, when: str, of: str
) -> None:
    error = expect_error(tmp_path, edit_book((SMALL, f'wins = {{ when = "{when}", of = {of} }}')))

    assert error.problem == f"{when!r} takes no faces or totals"
    assert error.remedy == "leave of out"


def test_face_named_twice_counts_once_as_a_different_face() -> None:
    (rolls,) = roll_sets("three-different-within", (1, 1, 2, 3))

    assert {tuple(sorted(roll)) for roll in members(rolls)} == {(1, 2, 3)}


@pytest.mark.parametrize(
    ("when", "of", "ways"),
    [
        ("total-is", (3,), [1]),
        ("total-is", (18,), [1]),
        ("total-is", (3, 4, 18), [5]),
        ("total-odd", (), [108]),
        ("total-even", (), [108]),
        ("shows", (6,), [91]),
        ("count", (6,), [75, 15, 1]),
        ("shows-both", (1, 6), [30]),
        ("shows-pair", (6,), [16]),
        ("any-triple", (), [6]),
        ("triple", (6,), [1]),
        ("exactly", (1, 2, 3), [6]),
        ("exactly", (1, 1, 2), [3]),
        ("exactly", (1, 1, 1), [1]),
        ("three-different-within", (1, 2, 3, 4), [24]),
        ("three-different-within", (1, 2, 3), [6]),
        ("all-within", (1, 2, 3), [27]),
        ("all-within", (1,), [1]),
        ("one-within", (1, 6), [96]),
        ("one-within", (1,), [75]),
        ("two-within", (1, 6), [48]),
        ("two-within", (1,), [15]),
        ("pair-within", (1, 2, 3), [48]),
        ("exact-pair-within", (1, 2, 3), [45]),
    ],
)
def test_condition_wins_on_the_expected_number_of_rolls(
    when: ConditionName, of: tuple[int, ...], ways: list[int]
) -> None:
    assert [count(rolls) for rolls in roll_sets(when, of)] == ways


def test_total_of_three_is_odd_and_total_of_four_is_even() -> None:
    (odd,), (even,) = roll_sets("total-odd", ()), roll_sets("total-even", ())

    assert contains(odd, (1, 1, 1))
    assert contains(even, (1, 1, 2))


def test_any_triple_contains_six_rolls() -> None:
    assert count(ANY_TRIPLE) == 6


@pytest.mark.parametrize(
    ("when", "of", "description"),
    [
        ("total-is", ["4"], "the dice total 4"),
        ("total-is", ["4", "5"], "the dice total 4 or 5"),
        ("total-is", ["4", "5", "6"], "the dice total 4, 5 or 6"),
        ("total-odd", [], "the total is odd"),
        ("shows-both", ["1", "4"], "1 and 4 both appear"),
        ("exactly", ["1", "1", "4"], "the dice show 1, 1 and 4"),
        ("two-within", ["fish", "crab"], "exactly two dice show fish or crab"),
    ],
)
def test_condition_is_described_in_english(
    when: ConditionName, of: list[str], description: str
) -> None:
    assert describe_condition(when, of) == description


OPERANDS = {
    "total-is": (1, 16, "totals"),
    "shows": (1, 1, "faces"),
    "count": (1, 1, "faces"),
    "shows-both": (2, 2, "faces"),
    "shows-pair": (1, 1, "faces"),
    "triple": (1, 1, "faces"),
    "exactly": (3, 3, "faces"),
    "three-different-within": (3, 6, "faces"),
    "all-within": (1, 6, "faces"),
    "one-within": (1, 6, "faces"),
    "two-within": (1, 6, "faces"),
    "pair-within": (1, 6, "faces"),
    "exact-pair-within": (1, 6, "faces"),
}


@pytest.mark.parametrize("when", OPERANDS)
def test_condition_takes_the_expected_number_and_kind_of_operands(when: ConditionName) -> None:
    condition = VOCABULARY[when]
    counts = condition.operand_counts

    assert (counts[0], counts[-1], condition.operand_kind) == OPERANDS[when]


def test_all_other_conditions_take_no_operands() -> None:
    without = {when for when, each in VOCABULARY.items() if each.operand_kind == "nothing"}

    assert without == VOCABULARY.keys() - OPERANDS.keys()


@pytest.mark.parametrize(
    ("wins", "remedy"),
    [
        ('{ when = "exactly", of = [1, 2] }', "give 3 in of"),
        ('{ when = "shows", of = [1, 2] }', "give 1 in of"),
        ('{ when = "three-different-within", of = [1, 2] }', "give 3 to 6 in of"),
        ('{ when = "all-within", of = [] }', "give 1 to 6 in of"),
        ('{ when = "total-is", of = [] }', "give 1 to 16 in of"),
        ('"total-is"', "give 1 to 16 in of"),
    ],
)
def test_wrong_number_of_operands_is_refused_with_the_right_number(
    tmp_path: Path, wins: str, remedy: str
) -> None:
    assert remedy in expect_error(tmp_path, edit_book((SMALL, f"wins = {wins}"))).remedy


def test_condition_without_operands_ignores_the_selection(tmp_path: Path) -> None:
    game = load_book(tmp_path, edit_book(('wins = "all-within"', 'wins = "any-triple"')))

    assert game.box("group:1-2-3").wins == game.box("group:4-5-6").wins == ANY_TRIPLE
    assert game.facts.boxes["group:1-2-3"].ways[0].of == []


def test_order_of_operands_does_not_change_the_game(tmp_path: Path) -> None:
    turned = SMALL.replace("[4, 5, 6, 7, 8, 9, 10]", "[10, 5, 6, 7, 8, 9, 4]")
    plain, other = load_book(tmp_path, BOOK), load_book(tmp_path, edit_book((SMALL, turned)))

    assert other.facts.boxes["small"].ways[0].of == [4, 5, 6, 7, 8, 9, 10]
    assert other.hash == plain.hash


@pytest.mark.parametrize("when", ['"total-odd"', '{ when = "total-is", of = [4] }'])
def test_total_of_faces_that_are_not_numbers_is_refused(tmp_path: Path, when: str) -> None:
    text = f'extends = "triple-dice"\nid = "t"\ntitle = "T"\n[wagers.red]\nwins = {when}\n'
    error = expect_error(tmp_path, text)

    assert error.key == "wagers.red"
    assert "adds up faces that are not numbers" in error.problem
    assert "points" in error.remedy


def test_symbols_with_points_add_up_in_their_order() -> None:
    game = load("yee-hah-hi")

    assert contains(game.box("total:9").wins, game.roll(["fish", "prawn", "rooster"]))
    assert not contains(game.box("total:9").wins, game.roll(["fish", "prawn", "crab"]))
