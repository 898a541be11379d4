"""The boxes of a pay table, and the words of winning, seen from close by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_book import BOOK, SMALL, changed, loaded, refused
from threedice import load
from threedice.dice import contains, count
from threedice.rulebook import load_rulebook
from threedice.rulebook.boxes import missing_from_families
from threedice.rulebook.conditions import ANY_TRIPLE, VOCABULARY, describe_condition, roll_sets
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook.schema import ConditionName


# --- the words of winning -----------------------------------------------------------------------


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
        ("pair-within", (1, 2, 3), [48]),
        ("exact-pair-within", (1, 2, 3), [45]),
    ],
)
def test_a_word_wins_in_so_many_of_the_216_rolls(
    when: ConditionName, of: tuple[int, ...], ways: list[int]
) -> None:
    assert [count(rolls) for rolls in roll_sets(when, of)] == ways


def test_three_is_odd_and_four_is_even() -> None:
    (odd,), (even,) = roll_sets("total-odd", ()), roll_sets("total-even", ())

    assert contains(odd, (1, 1, 1))
    assert contains(even, (1, 1, 2))


def test_there_are_six_triples() -> None:
    assert count(ANY_TRIPLE) == 6


@pytest.mark.parametrize(
    ("when", "of", "says"),
    [
        ("total-is", ["4"], "the dice total 4"),
        ("total-is", ["4", "5"], "the dice total 4 or 5"),
        ("total-is", ["4", "5", "6"], "the dice total 4, 5 or 6"),
        ("total-odd", [], "the total is odd"),
        ("shows-both", ["1", "4"], "1 and 4 both appear"),
        ("exactly", ["1", "1", "4"], "the dice show 1, 1 and 4"),
    ],
)
def test_a_condition_is_put_into_words(when: ConditionName, of: list[str], says: str) -> None:
    assert describe_condition(when, of) == says


SPEAKS_OF = {
    "total-is": (1, 16, "totals"),
    "shows": (1, 1, "faces"),
    "count": (1, 1, "faces"),
    "shows-both": (2, 2, "faces"),
    "shows-pair": (1, 1, "faces"),
    "triple": (1, 1, "faces"),
    "exactly": (3, 3, "faces"),
    "three-different-within": (3, 6, "faces"),
    "all-within": (1, 6, "faces"),
    "pair-within": (1, 6, "faces"),
    "exact-pair-within": (1, 6, "faces"),
}


@pytest.mark.parametrize("when", SPEAKS_OF)
def test_a_word_speaks_of_so_many_and_no_more(when: ConditionName) -> None:
    word = VOCABULARY[when]

    assert (word.operand_counts[0], word.operand_counts[-1], word.operand_kind) == SPEAKS_OF[when]


def test_the_other_words_speak_of_nothing() -> None:
    silent = {when for when, word in VOCABULARY.items() if word.operand_kind == "nothing"}

    assert silent == VOCABULARY.keys() - SPEAKS_OF.keys()


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
def test_a_refusal_says_how_many_a_word_speaks_of(tmp_path: Path, wins: str, remedy: str) -> None:
    assert remedy in refused(tmp_path, changed((SMALL, f"wins = {wins}"))).remedy


def test_a_word_that_speaks_of_nothing_leaves_the_selection_aside(tmp_path: Path) -> None:
    game = loaded(tmp_path, changed(('wins = "all-within"', 'wins = "any-triple"')))

    assert game.box("group:1-2-3").wins == game.box("group:4-5-6").wins == ANY_TRIPLE
    assert game.facts.boxes["group:1-2-3"].ways[0].of == []


def test_it_does_not_matter_in_which_order_a_file_names_what_wins(tmp_path: Path) -> None:
    turned = SMALL.replace("[4, 5, 6, 7, 8, 9, 10]", "[10, 5, 6, 7, 8, 9, 4]")
    plain, other = loaded(tmp_path, BOOK), loaded(tmp_path, changed((SMALL, turned)))

    assert other.facts.boxes["small"].ways[0].of == [4, 5, 6, 7, 8, 9, 10]
    assert other.hash == plain.hash


@pytest.mark.parametrize("when", ['"total-odd"', '{ when = "total-is", of = [4] }'])
def test_faces_that_are_not_numbers_have_no_total(tmp_path: Path, when: str) -> None:
    text = f'extends = "triple-dice"\nid = "t"\ntitle = "T"\n[wagers.red]\nwins = {when}\n'
    error = refused(tmp_path, text)

    assert error.key == "wagers.red"
    assert "adds up faces that are not numbers" in error.problem


# --- wagers over several throws -----------------------------------------------------------------


@pytest.mark.parametrize("throws", [1, 2, 12])
def test_a_bet_may_span_up_to_twelve_throws(tmp_path: Path, throws: int) -> None:
    game = loaded(tmp_path, changed(("throws = 2", f"throws = {throws}")))

    assert game.box("run").throws == throws


@pytest.mark.parametrize("throws", [0, 13])
def test_a_bet_over_no_throws_or_too_many_is_refused(tmp_path: Path, throws: int) -> None:
    error = refused(tmp_path, changed(("throws = 2", f"throws = {throws}")))

    assert (error.key, error.clause) == ("wagers.run", "2.4")
    assert "1 to 12" in error.remedy


def test_one_throw_may_have_several_odds_and_two_may_not(tmp_path: Path) -> None:
    several = ('single = { odds = ["1 to 1", "2 to 1", "3 to 1"] }',
               'single = { odds = ["1 to 1", "2 to 1", "4 to 1"] }')  # fmt: skip
    lines = loaded(tmp_path, changed(several)).box("single:1").lines
    assert [str(line.odds) for line in lines] == ["1 to 1", "2 to 1", "4 to 1"]
    twice = ('selects = "face"\nwins = "count"', 'selects = "face"\nwins = "count"\nthrows = 2')

    assert "several odds" in refused(tmp_path, changed(twice)).problem
    both = '[{ when = "triple", of = [6] }, { when = "triple", of = [5] }]'
    run = (('{ when = "shows", of = [6] }', both), ('"9 to 1"', '["9 to 1", "8 to 1"]'))
    assert "several odds" in refused(tmp_path, changed(*run)).problem


def test_one_of_several_ways_may_be_out_of_reach_where_all_pay_the_same(tmp_path: Path) -> None:
    ways = '[{ when = "triple", of = [6], unless = "any-triple" }, { when = "triple", of = [5] }]'
    game = loaded(tmp_path, changed(('{ when = "shows", of = [6] }', ways)))

    assert count(game.box("run").wins) == 1


# --- families -----------------------------------------------------------------------------------


def test_what_a_game_leaves_out_of_its_families() -> None:
    missing = missing_from_families(
        load("sg-rws-tai-sai-v6/c"), load_rulebook("sg-rws-tai-sai-v6").book
    )

    assert missing.keys() == {"four", "pair"}
    assert missing["pair"] == ["pair:1-1-2", "pair:6-6-5"]
    assert (len(missing["four"]), "four:1-2-3-4" in missing["four"]) == (11, False)


def test_a_game_with_whole_families_leaves_nothing_out() -> None:
    assert missing_from_families(load("triple-dice"), load_rulebook("triple-dice").book) == {}


def test_the_small_book_has_the_boxes_of_its_rows_in_order(tmp_path: Path) -> None:
    game = loaded(tmp_path, BOOK)

    assert list(game.boxes) == [
        "small", "big", *(f"single:{face}" for face in range(1, 7)), "domino:1-2", "domino:5-6",
        "group:1-2-3", "group:4-5-6", "run",
    ]  # fmt: skip
    assert (game.box("small").pays, game.box("big").pays) == (("3",), ("3.1",))


# --- what a layout changes in the conduct of a game ---------------------------------------------


def test_boxes_of_which_each_has_one_area_name_no_ends(tmp_path: Path) -> None:
    per_area = changed(('clause = "4"\n\n[limits.minimum]',
                        'clause = "4"\nareas = "per-area"\n\n[limits.minimum]'))  # fmt: skip

    assert loaded(tmp_path, BOOK).facts.areas == {}
    assert loaded(tmp_path, per_area).ends["big"] == ("",)
    assert loaded(tmp_path, per_area, "short").ends["big"] == ("",)


def test_a_game_rebuilt_from_its_bytes_knows_the_ends_of_the_table() -> None:
    game = load("sg-rws-tai-sai-v6/e")

    assert game.ends["big"] == ("left", "right")
    assert from_canonical(game.canonical).ends == game.ends


def test_a_differential_holds_on_a_layout_of_nothing_but_its_pair(tmp_path: Path) -> None:
    game = loaded(tmp_path, BOOK, "short")

    assert list(game.boxes) == ["small", "big"]
    assert game.facts.limits.differential is not None
    assert game.facts.limits.differential.pairs == [("big", "small")]
