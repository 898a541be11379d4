"""Identity, dice and wagers that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    SINGLES,
    SMALL,
    Swap,
    edit_book,
    expect_error,
    load_book,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('id = "my-game"', 'id = "My Game"', "id"),
        ('id = "my-game"', 'id = ""', "id"),
        ('id = "my-game"', 'id = "my--game"', "id"),
        ('id = "my-game"', 'id = "my-game\\n"', "id"),
        ("[layouts.short]", "[layouts.Short]", "layouts.Short"),
        ("[layouts.short]", '[layouts."a/b"]', 'layouts."a/b"'),
        ("[wagers.small]", '[wagers.Odd]\nname = "Odd"\nwins = "total-odd"\nclause = "2"\n'
         "[wagers.small]", "wagers.Odd"),
    ],
)  # fmt: skip
def test_bad_id_is_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert error.key == key
    assert "id" in error.problem
    assert "lower-case" in error.remedy


@pytest.mark.parametrize("date", ["2023-13-01", "2023-02-29", "yesterday", "2023-10-06T25:00"])
def test_bad_effective_date_is_refused(tmp_path: Path, date: str) -> None:
    error = expect_error(tmp_path, edit_book(("2024-02-29", date)))

    assert error.key == "effective"
    assert date in error.problem
    assert "2023-10-06" in error.remedy


@pytest.mark.parametrize(
    "faces",
    [
        "[1, 2, 3, 4, 5, 5]",
        "[6, 5, 4, 3, 2, 1]",
        "[0, 1, 2, 3, 4, 5]",
        '["a", "b", "c", "d", "e", "a"]',
        '["a", "b", "c", "d", "e", 6]',
        '["a", "b", "c", "d", "e", "F"]',
        '["a", "b", "c", "d", "e", "f-g"]',
        '["a", "b", "c", "d", "e", "f:g"]',
        '["a", "b", "c", "d", "e", "f,g"]',
        '["a", "b", "c", "d", "e", "f\\ng"]',
        '["a", "b", "c", "d", "e", ""]',
    ],
)
def test_duplicate_or_malformed_faces_are_refused(tmp_path: Path, faces: str) -> None:
    error = expect_error(tmp_path, edit_book(("[1, 2, 3, 4, 5, 6]", faces)))

    assert (error.key, error.clause) == ("dice.faces", "1")


@pytest.mark.parametrize("key", ["words", "zh"])
def test_words_for_only_some_faces_are_refused(tmp_path: Path, key: str) -> None:
    error = expect_error(tmp_path, edit_book(("[dice]", f'[dice]\n{key} = ["ONE", "TWO"]')))

    assert (error.key, error.clause) == (f"dice.{key}", "1")


@pytest.mark.parametrize(
    ("old", "new", "key", "clause", "face"),
    [
        ("of = [6]", "of = [7]", "wagers.run", "2.4", "7"),
        ("of = [6]", 'of = ["six"]', "wagers.run", "2.4", "six"),
        ('"1-2", "5-6"]', '"1-2", "5-7"]', "pay_tables.full.rows.domino", "3", "7"),
        ('"1-2", "5-6"]', '"1-2", ""]', "pay_tables.full.rows.domino", "3", "''"),
    ],
)
def test_unknown_face_is_refused(
    tmp_path: Path, old: str, new: str, key: str, clause: str, face: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == (key, clause)
    assert "unknown face" in error.problem
    assert face in error.problem
    assert "5 or 6" in error.remedy


def test_unknown_face_in_a_list_of_selections_is_refused_at_the_wager(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('selects = ["1-2-3", ', 'selects = ["1-2-x", ')))

    assert (error.key, error.clause) == ("wagers.group.selects", "2.3")
    assert "unknown face 'x'" in error.problem


@pytest.mark.parametrize(
    ("selection", "ascending"),
    [("3-2-1", "1-2-3"), ("1-2-2", "1-2"), ("6-6-1", "1-6"), ("5-5", "5")],
)
def test_listed_selection_that_does_not_ascend_is_refused_with_its_faces_in_order(
    tmp_path: Path, selection: str, ascending: str
) -> None:
    listed = ('selects = ["1-2-3", "4-5-6"]', f'selects = ["4-5-6", "{selection}"]')

    error = expect_error(tmp_path, edit_book(listed))

    assert (error.key, error.clause) == ("wagers.group.selects", "2.3")
    assert error.problem == f"'{selection}' does not ascend"
    assert error.remedy == f"write it as {ascending}"


def test_selection_that_a_wager_lists_twice_is_refused(tmp_path: Path) -> None:
    listed = ('selects = ["1-2-3", "4-5-6"]', 'selects = ["1-2-3", "4-5-6", "1-2-3"]')

    error = expect_error(tmp_path, edit_book(listed))

    assert (error.key, error.clause) == ("wagers.group.selects", "2.3")
    assert error.problem == "a selection is listed twice"


def test_wager_with_an_empty_list_of_selections_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('selects = ["1-2-3", "4-5-6"]', "selects = []")))

    assert (error.key, error.clause) == ("wagers.group.selects", "2.3")
    assert error.problem == "the family has no box"


@pytest.mark.parametrize(
    "total", ["2", "19", '"x"', '"012"', '"²"', '"٤"', f'"{"9" * 5000}"', "-4"]
)
def test_impossible_total_of_three_dice_is_refused(tmp_path: Path, total: str) -> None:
    wins = f'wins = {{ when = "total-is", of = [4, {total}] }}'

    error = expect_error(tmp_path, edit_book((SMALL, wins)))

    assert (error.key, error.clause) == ("wagers.small", "2")
    shown = total.replace('"', "")[:20]
    assert error.problem == f"{shown!r} is not a total of three dice"


@pytest.mark.parametrize(
    ("old", "new", "family"),
    [
        ('"face"\nwins = "count"', '"face"\nwins = "total-is"', "single"),
        ('wins = "shows-both"', 'wins = "total-is"', "domino"),
        ('wins = "all-within"', 'wins = "total-is"', "group"),
        ('wins = "all-within"', 'wins = "shows"', "group"),
        ('wins = "shows-both"', 'wins = "exactly"', "domino"),
        (SMALL, 'wins = "total-is"', "small"),
        (SMALL, 'wins = { when = "shows", of = [] }', "small"),
        (SMALL, 'wins = { when = "shows", of = [1, 2] }', "small"),
    ],
)
def test_condition_that_does_not_fit_the_selection_is_refused(
    tmp_path: Path, old: str, new: str, family: str
) -> None:
    assert expect_error(tmp_path, edit_book((old, new))).key.startswith(f"wagers.{family}")


def test_condition_on_faces_for_a_selection_of_totals_is_refused(tmp_path: Path) -> None:
    wager = '[wagers.total]\nname = "T"\nselects = "total"\nwins = "shows"\nclause = "2"\n\n'
    row = 'run = { odds = "9 to 1" }\ntotal = { odds = "6 to 1" }'

    text = edit_book(("[wagers.run]", f"{wager}[wagers.run]"), ('run = { odds = "9 to 1" }', row))

    assert expect_error(tmp_path, text).key.startswith("wagers.total")


@pytest.mark.parametrize(
    "wins",
    [
        '{ when = "any-triple", of = [9] }',
        '{ when = "total-odd", of = ["anchor"] }',
        '{ when = "total-even", of = [4] }',
    ],
)
def test_of_key_for_a_condition_without_operands_is_refused(tmp_path: Path, wins: str) -> None:
    error = expect_error(tmp_path, edit_book((SMALL, f"wins = {wins}")))

    assert error.key.startswith("wagers.small")
    assert error.clause == "2"


@pytest.mark.parametrize(
    ("new", "box"),
    [
        ('wins = { when = "total-is", of = [3, 18], unless = "any-triple" }', "small"),
        ('wins = { when = "triple", of = [1], unless = "any-triple" }', "small"),
        ('wins = { when = "three-different-within", of = [1, 1, 2] }', "small"),
    ],
)
def test_box_that_can_never_win_is_refused(tmp_path: Path, new: str, box: str) -> None:
    error = expect_error(tmp_path, edit_book((SMALL, new)))

    assert (error.key, error.clause) == (f"wagers.{box}", "2")
    assert f"{box!r} can never win" in error.problem


@pytest.mark.parametrize(
    "swaps",
    [
        [(SMALL, "wins = []")],
        [("throws = 2", "throws = 0")],
        [("throws = 2", "throws = -1")],
    ],
)
def test_wager_without_ways_or_throws_is_refused(tmp_path: Path, swaps: list[Swap]) -> None:
    error = expect_error(tmp_path, edit_book(*swaps))

    assert error.key.startswith("wagers.")
    assert "cannot be won" in error.problem


def test_unreachable_way_to_win_with_its_own_odds_is_refused(tmp_path: Path) -> None:
    """The third odds, for three dice, would never be paid."""
    text = edit_book(('wins = "count"', 'wins = { when = "count", unless = "any-triple" }'))

    assert "never" in expect_error(tmp_path, text).problem


@pytest.mark.parametrize(
    "wins",
    [
        '[{ when = "total-is", of = [4, 5] }, { when = "total-is", of = [5, 6] }]',
        '[{ when = "any-triple" }, { when = "triple", of = [2] }]',
        '[{ when = "total-odd" }, { when = "count", of = [6] }]',
    ],
)
def test_box_that_can_win_twice_is_refused(tmp_path: Path, wins: str) -> None:
    error = expect_error(tmp_path, edit_book((SMALL, f"wins = {wins}")))

    assert (error.key, error.clause) == ("wagers.small", "2")
    assert "'small' can win twice" in error.problem
    assert "exclude" in error.remedy


def test_roll_on_which_a_box_wins_twice_is_named(tmp_path: Path) -> None:
    wins = 'wins = [{ when = "any-triple" }, { when = "exactly", of = [2, 2, 2] }]'

    assert "2,2,2" in expect_error(tmp_path, edit_book((SMALL, wins))).problem


def test_excessive_number_of_throws_is_refused(tmp_path: Path) -> None:
    assert expect_error(tmp_path, edit_book(("throws = 2", "throws = 1_000_000"))).key.startswith(
        "wagers.run"
    )


def test_several_odds_for_a_bet_over_several_throws_are_refused(tmp_path: Path) -> None:
    """Nothing says what a throw with one six and a throw with two pay together."""
    text = edit_book(('when = "shows", of = [6]', 'when = "count", of = [6]'),
                   ('run = { odds = "9 to 1" }', f"run = {{ {SINGLES} }}"))  # fmt: skip

    assert expect_error(tmp_path, text).key.startswith(("wagers.run", "pay_tables.full.rows.run"))


def test_wager_without_a_pay_table_row_is_validated(tmp_path: Path) -> None:
    wager = '[wagers.spare]\nname = "Spare"\nwins = { when = "shows", of = [9] }\nclause = "2"\n'

    assert expect_error(
        tmp_path, edit_book(("[wagers.small]", f"{wager}[wagers.small]"))
    ).key.startswith("wagers.spare")


@pytest.mark.parametrize("name", ["under", "clause"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("small", "{}", id="wager"),
        pytest.param("group = { odds", '{} = { wager = "group", odds', id="row"),
        pytest.param("evens", "{}", id="pay table and block"),
        pytest.param("legends.odds", "legends.{}", id="legend"),
        pytest.param("layouts.short", "layouts.{}", id="layout"),
        pytest.param("readings.generous", "readings.{}", id="reading"),
        pytest.param("options.yes", "options.{}", id="option"),
        pytest.param("equipment.dice", "equipment.{}", id="thing"),
        pytest.param('"7" = {', '"{}" = {', id="clause"),
    ],
)
def test_user_defined_names_may_equal_keys_of_the_format(
    tmp_path: Path, old: str, new: str, name: str
) -> None:
    text = BOOK.replace(old, new.replace("{}", name))

    assert text != BOOK
    assert load_book(tmp_path, text).payoffs
