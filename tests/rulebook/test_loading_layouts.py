"""Layouts that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    Swap,
    edit_book,
    expect_error,
    load_book,
)
from threedice.rulebook.felt import chinese_numeral

if TYPE_CHECKING:
    from pathlib import Path


def test_layout_that_names_an_unknown_box_is_refused_with_nearest_box(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('boxes = ["small", ', 'boxes = ["smal", ')))

    assert (error.key, error.clause) == ("layouts.main.blocks.evens.boxes", "1.1")
    assert "no box 'smal'" in error.problem
    assert error.remedy == "did you mean small?"


@pytest.mark.parametrize(
    "swap", [('boxes = ["small", ', 'boxes = ["smal", '), ('odds_of = "single:1"', 'odds_of = "x"')]
)
def test_layout_without_a_size_that_names_an_unknown_box_is_refused(
    tmp_path: Path, swap: Swap
) -> None:
    error = expect_error(tmp_path, edit_book(swap, ("size = [600, 300]\n", "")))

    assert error.key.startswith("layouts.main.")


def test_box_without_an_area_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('boxes = ["small", "big"]', 'boxes = ["small"]')))

    assert (error.key, error.clause) == ("layouts.main.blocks", "1.1")
    assert error.problem == "box 'big' has no area"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("at = [0, 0]", "at = [0, 1]", "'small' and 'single:1' overlap"),
        ("at = [0, 150]", "at = [0, 149]", "'single:1' and 'domino:1-2' overlap"),
        ("at = [0, 0]", "at = [-1, 0]", "'small' leaves the felt"),
        ("at = [0, 0]", "at = [401, 0]", "'big' leaves the felt"),
        ("at = [0, 150]", "at = [0, 201]", "leaves the felt"),
        ("size = [600, 300]", "size = [0, 0]", "leaves the felt"),
        ("size = [600, 300]", "size = [-600, -300]", "leaves the felt"),
        ('boxes = ["small", "big"]', 'boxes = ["small", "big", "big"]', "two areas are 'big'"),
    ],
)
def test_areas_that_overlap_or_leave_the_felt_are_refused(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == ("layouts.main.blocks", "1.1")
    assert problem in error.problem


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cell = [100, 100]", "cell = [0, 100]"),
        ("cell = [100, 100]", "cell = [100, 0]"),
        ("cell = [100, 100]", "cell = [100, -10]"),
        ("columns = 6", "columns = 0"),
        ("columns = 6", "columns = -6"),
        ("at = [0, 250]\nsize = [600, 50]", "at = [0, 250]\nsize = [600, 0]"),
        ("at = [0, 250]\nsize = [600, 50]", "at = [0, 250]\nsize = [600, -5]"),
        ("at = [0, 250]\nsize = [600, 50]", "at = [0, 290]\nsize = [600, 50]"),
    ],
)
def test_areas_and_legends_that_cannot_be_drawn_are_refused(
    tmp_path: Path, old: str, new: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert error.key.startswith(("layouts.main.blocks", "layouts.main.legends"))
    assert error.clause == "1.1"


def test_legend_with_the_odds_of_an_unknown_box_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('odds_of = "single:1"', 'odds_of = "single:7"')))

    assert (error.key, error.clause) == ("layouts.main.legends.odds.odds_of", "1.1")
    assert "'single:7'" in error.problem
    assert "single:6" in error.remedy


def test_box_of_a_total_is_drawn_without_dice(tmp_path: Path) -> None:
    wager = '[wagers.total]\nname = "T"\nselects = "total"\nwins = "total-is"\nclause = "2"\n\n'
    text = edit_book(
        ("[wagers.run]", f"{wager}[wagers.run]"),
        ("[layouts.main]", 'total = { odds = "60 to 1", boxes = [17] }\n[layouts.main]'),
        ('"", "group:1-2-3"', '"total:17", "group:1-2-3"'),
        ("columns = 3", "columns = 3\ndice = true"),
    )

    felt = load_book(tmp_path, text).felt

    assert felt is not None
    assert {face for area in felt.areas for face in area.dice} <= set(range(1, 7))


@pytest.mark.parametrize("like", ["sg-rws-tai-sai-v6/z", "sg-rws-tai-sai-v6", "nowhere/a", "", "/"])
def test_layout_like_an_unknown_game_is_refused(tmp_path: Path, like: str) -> None:
    error = expect_error(
        tmp_path, edit_book(("[layouts.short]", f'[layouts.short]\nlike = "{like}"'))
    )

    assert error.key == "layouts.short.like"
    assert "did you mean" in error.remedy


@pytest.mark.parametrize("like", ["my-game/main", "my-game/short"])
def test_layout_like_another_of_the_same_file_is_refused(tmp_path: Path, like: str) -> None:
    error = expect_error(
        tmp_path, edit_book(("[layouts.short]", f'[layouts.short]\nlike = "{like}"'))
    )

    assert error.key == "layouts.short.like"


def test_placeholders_without_odds_are_left_unfilled(
    tmp_path: Path,
) -> None:
    text = edit_book(('odds_of = "single:1"', ""), ('en = ["{a} TO {b}"]', 'en = ["{4} OR {a3}"]'))
    felt = load_book(tmp_path, text).felt

    assert felt is not None
    assert felt.inscriptions[0].en == ("{a1}, {a2} OR {a3} TO {b}",)
    assert felt.areas[0].en == ("{4} OR {a3}",)


def test_felt_spells_faces_in_chinese_if_the_dice_have_chinese_words(tmp_path: Path) -> None:
    spelt = ("dice = true", 'zh = ["{1:zh}", "{4:zh}"]')
    words = ("[dice]", '[dice]\nzh = ["一", "二", "三", "四", "五", "六"]')
    with_words = load_book(tmp_path, edit_book(spelt, words)).felt
    without = load_book(tmp_path, edit_book(spelt)).felt

    assert with_words is not None
    assert without is not None
    assert ("一", "{4:zh}") in {area.zh for area in with_words.areas}
    assert {area.zh for area in without.areas} >= {("{1:zh}", "{4:zh}")}


def test_book_without_a_layout_is_refused(tmp_path: Path) -> None:
    start, end = BOOK.index("[layouts.main]"), BOOK.index("[limits]")
    error = expect_error(tmp_path, "layouts = {}\n" + BOOK[:start] + BOOK[end:])

    assert error.problem == "there is no layout"


def test_odds_from_1000_are_written_in_figures_in_chinese() -> None:
    assert chinese_numeral(1000) == "1000"
    assert chinese_numeral(110) == "一百一十"
