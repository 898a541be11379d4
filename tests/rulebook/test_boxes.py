"""Boxes of a pay table: throws, families, order and areas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import BOOK, edit_book, expect_error, load_book
from threedice import load
from threedice.dice import ROLLS, count
from threedice.rulebook import load_rulebook
from threedice.rulebook.boxes import all_selections, missing_from_families
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from pathlib import Path


def test_wager_on_totals_offers_those_that_not_only_a_triple_makes() -> None:
    assert all_selections("total") == [(total,) for total in range(4, 18)]
    assert {sum(roll) for roll in ROLLS if len(set(roll)) > 1} == set(range(4, 18))


# --- wagers over several throws -----------------------------------------------------------------


@pytest.mark.parametrize("throws", [1, 2, 12])
def test_wager_may_span_up_to_twelve_throws(tmp_path: Path, throws: int) -> None:
    game = load_book(tmp_path, edit_book(("throws = 2", f"throws = {throws}")))

    assert game.box("run").throws == throws


@pytest.mark.parametrize("throws", [0, 13])
def test_wager_over_zero_or_more_than_twelve_throws_is_refused(tmp_path: Path, throws: int) -> None:
    error = expect_error(tmp_path, edit_book(("throws = 2", f"throws = {throws}")))

    assert (error.key, error.clause) == ("wagers.run", "2.4")
    assert "1 to 12" in error.remedy


def test_several_odds_are_accepted_for_one_throw_and_refused_for_two(tmp_path: Path) -> None:
    several = ('single = { odds = ["1 to 1", "2 to 1", "3 to 1"] }',
               'single = { odds = ["1 to 1", "2 to 1", "4 to 1"] }')  # fmt: skip
    lines = load_book(tmp_path, edit_book(several)).box("single:1").lines
    assert [str(line.odds) for line in lines] == ["1 to 1", "2 to 1", "4 to 1"]
    twice = ('selects = "face"\nwins = "count"', 'selects = "face"\nwins = "count"\nthrows = 2')

    assert "several odds" in expect_error(tmp_path, edit_book(twice)).problem
    both = '[{ when = "triple", of = [6] }, { when = "triple", of = [5] }]'
    run = (('{ when = "shows", of = [6] }', both), ('"9 to 1"', '["9 to 1", "8 to 1"]'))
    assert "several odds" in expect_error(tmp_path, edit_book(*run)).problem


def test_unreachable_way_to_win_is_accepted_where_all_ways_pay_the_same(tmp_path: Path) -> None:
    ways = '[{ when = "triple", of = [6], unless = "any-triple" }, { when = "triple", of = [5] }]'
    game = load_book(tmp_path, edit_book(('{ when = "shows", of = [6] }', ways)))

    assert count(game.box("run").wins) == 1


# --- families -----------------------------------------------------------------------------------


def test_missing_boxes_are_listed_by_family() -> None:
    missing = missing_from_families(
        load("sg-rws-tai-sai-v6/c"), load_rulebook("sg-rws-tai-sai-v6").book
    )

    assert missing.keys() == {"four", "pair"}
    assert missing["pair"] == ["pair:1-1-2", "pair:6-6-5"]
    assert (len(missing["four"]), "four:1-2-3-4" in missing["four"]) == (11, False)


def test_game_with_complete_families_has_no_missing_boxes() -> None:
    assert missing_from_families(load("triple-dice"), load_rulebook("triple-dice").book) == {}


def test_boxes_are_in_the_order_of_the_pay_table_rows(tmp_path: Path) -> None:
    game = load_book(tmp_path, BOOK)

    assert list(game.boxes) == [
        "small", "big", *(f"single:{face}" for face in range(1, 7)), "domino:1-2", "domino:5-6",
        "group:1-2-3", "group:4-5-6", "run",
    ]  # fmt: skip
    assert (game.box("small").pays, game.box("big").pays) == (("3",), ("3.1",))


# --- what a layout changes in the conduct of a game ---------------------------------------------


def test_boxes_with_one_area_have_no_named_ends(tmp_path: Path) -> None:
    per_area = edit_book(('clause = "4"\n\n[limits.minimum]',
                        'clause = "4"\nareas = "per-area"\n\n[limits.minimum]'))  # fmt: skip

    assert load_book(tmp_path, BOOK).facts.areas == {}
    assert load_book(tmp_path, per_area).ends["big"] == ("",)
    assert load_book(tmp_path, per_area, "short").ends["big"] == ("",)


def test_game_rebuilt_from_canonical_bytes_has_the_same_ends() -> None:
    game = load("sg-rws-tai-sai-v6/e")

    assert game.ends["big"] == ("left", "right")
    assert from_canonical(game.canonical).ends == game.ends


def test_differential_applies_to_a_layout_of_only_its_pair(tmp_path: Path) -> None:
    game = load_book(tmp_path, BOOK, "short")

    assert list(game.boxes) == ["small", "big"]
    assert game.facts.limits.differential is not None
    assert game.facts.limits.differential.pairs == [("big", "small")]
