"""Pay tables and clauses that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    SINGLES,
    Swap,
    edit_book,
    expect_error,
    load_book,
)
from threedice.dice import ROLLS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "odds",
    ["1 too 1", "60:1", "60", "0 to 1", "1 to 0", " 1 to 1", "1 to 1 ", "1  to 1", "01 to 1",
     "-1 to 1", "1.5 to 1", "1 TO 1", "1000000 to 1", "1 to 1\\n", "٣ to 1", ""],
)  # fmt: skip
def test_odds_that_do_not_parse_are_refused(tmp_path: Path, odds: str) -> None:
    row = 'domino = { odds = "5 to 1"'

    error = expect_error(tmp_path, edit_book((row, f'domino = {{ odds = "{odds}"')))

    assert (error.key, error.clause) == ("pay_tables.full.rows.domino.odds", "3")
    assert "is not odds" in error.problem
    assert "'62 to 1'" in error.remedy


@pytest.mark.parametrize("odds", ["60", "1.5", "true", "[60]", "{ a = 60, b = 1 }"])
def test_odds_that_are_not_text_are_refused(tmp_path: Path, odds: str) -> None:
    error = expect_error(
        tmp_path, edit_book(('domino = { odds = "5 to 1"', f"domino = {{ odds = {odds}"))
    )

    assert error.key.startswith("pay_tables.full.rows.domino.odds")
    assert error.clause == "3"


def test_error_in_odds_cites_the_clause_of_the_row(tmp_path: Path) -> None:
    text = edit_book(('big = { odds = "1 to 1"', 'big = { odds = "1 too 1"'))

    assert expect_error(tmp_path, text).clause == "3.1"


@pytest.mark.parametrize(
    "odds", ["[]", '["1 to 1", "2 to 1"]', '["1 to 1", "2 to 1", "3 to 1", "4 to 1"]']
)
def test_number_of_odds_that_does_not_match_the_ways_is_refused(tmp_path: Path, odds: str) -> None:
    error = expect_error(tmp_path, edit_book((SINGLES, f"odds = {odds}")))

    assert error.key.startswith("pay_tables.full.rows.single")
    assert "can win in 3 ways" in error.problem


def test_same_box_twice_in_a_row_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('"1-2", "5-6"]', '"1-2", "5-6", "1-2"]')))

    assert (error.key, error.clause) == ("pay_tables.full.rows.domino", "3")
    assert "'1-2' is listed twice" in error.problem
    assert "one id" in error.remedy


def test_box_written_in_another_order_is_refused_with_the_right_order(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('"1-2", "5-6"]', '"1-2", "6-5"]')))

    assert error.key == "pay_tables.full.rows.domino"
    assert "'6-5' is not a selection" in error.problem
    assert error.remedy == "did you mean 5-6?"


def test_pair_written_after_a_lower_face_is_refused_with_the_right_order(tmp_path: Path) -> None:
    wager = ('"two-faces"\nwins = "shows-both"', '"pair-and-single"\nwins = "exactly"')

    error = expect_error(tmp_path, edit_book(wager, ('"1-2", "5-6"]', '"2-2-1", "1-2-2"]')))

    assert "'1-2-2' is not a selection" in error.problem
    assert error.remedy == "did you mean 2-2-1?"


def test_selection_with_other_faces_is_refused_with_the_nearest_ones(tmp_path: Path) -> None:
    row = ('group = { odds = "6 to 1" }', 'group = { odds = "6 to 1", boxes = ["1-2-4"] }')

    error = expect_error(tmp_path, edit_book(row))

    assert error.key == "pay_tables.full.rows.group"
    assert error.remedy == "did you mean 1-2-3?"


@pytest.mark.parametrize(
    "row",
    [
        'again = { wager = "domino", boxes = ["5-6"], odds = "6 to 1" }',
        'big = { odds = "2 to 1" }',
    ],
)
def test_same_box_in_two_rows_is_refused(tmp_path: Path, row: str) -> None:
    error = expect_error(tmp_path, edit_book(("[layouts.main]", f"{row}\n[layouts.main]")))

    assert error.key == f"pay_tables.full.rows.{row.partition(' ')[0]}"
    assert "twice" in error.problem
    assert "one id" in error.remedy


@pytest.mark.parametrize("extra", ["1-2-3", "3-2-1", "2-1-3"])
def test_selection_listed_twice_is_refused_in_whatever_order(tmp_path: Path, extra: str) -> None:
    text = edit_book(('"4-5-6"]\nwins', f'"4-5-6", "{extra}"]\nwins'),
                   ('"run"]', f'"run", "group:{extra}"]'))  # fmt: skip

    assert expect_error(tmp_path, text).key.startswith(
        ("wagers.group", "pay_tables.full.rows.group")
    )


def test_unknown_wager_is_refused_with_nearest_wager(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(("group = { odds", "groop = { odds")))

    assert error.key == "pay_tables.full.rows.groop"
    assert error.remedy == "did you mean group?"


def test_row_that_offers_no_box_is_refused(tmp_path: Path) -> None:
    row = 'more = { wager = "domino", boxes = [], odds = "6 to 1" }'

    text = edit_book(("[layouts.main]", f"{row}\n[layouts.main]"))

    assert expect_error(tmp_path, text).key.startswith("pay_tables.full.rows.more")


def test_family_without_a_box_is_refused(tmp_path: Path) -> None:
    text = edit_book(('["1-2-3", "4-5-6"]', "[]"), ('"group:1-2-3", "group:4-5-6", ', ""))

    assert expect_error(tmp_path, text).key.startswith(
        ("wagers.group", "pay_tables.full.rows.group")
    )


def test_layout_without_a_box_is_refused(tmp_path: Path) -> None:
    table = '[pay_tables.none]\nclause = "3"\nrows = {}\n'
    text = edit_book(
        ("[pay_tables.full]", f"{table}[pay_tables.full]"),
        ('pay_table = "evens"', 'pay_table = "none"'),
    )

    assert expect_error(tmp_path, text).key.startswith(("pay_tables.none", "layouts.short"))


def test_unknown_pay_table_is_refused_with_nearest_table(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('pay_table = "full"', 'pay_table = "ful"')))

    assert (error.key, error.clause) == ("layouts.main.pay_table", "1.1")
    assert "'ful'" in error.problem
    assert error.remedy == "did you mean full?"


@pytest.mark.parametrize(
    ("swaps", "key"),
    [
        ([('includes = "evens"', 'includes = "odds"')], "pay_tables.full.includes"),
        ([('includes = "evens"', 'includes = "full"')], "pay_tables.full.includes"),
        ([("[pay_tables.evens]", '[pay_tables.evens]\nincludes = "full"')],
         "pay_tables.evens.includes"),
    ],
)  # fmt: skip
def test_including_an_unknown_pay_table_or_a_cycle_is_refused(
    tmp_path: Path, swaps: list[Swap], key: str
) -> None:
    error = expect_error(tmp_path, edit_book(*swaps))

    assert (error.key, error.clause) == (key, "3")
    assert "include" in error.problem


@pytest.mark.parametrize("fault", ['includes = "nowhere"', 'rows.small.odds = "1 too 1"'])
def test_unused_pay_table_is_validated(tmp_path: Path, fault: str) -> None:
    table = f'[pay_tables.spare]\nclause = "3"\nrows.big.odds = "1 to 1"\n{fault}\n'

    error = expect_error(tmp_path, edit_book(("[pay_tables.full]", f"{table}[pay_tables.full]")))

    assert error.key.startswith("pay_tables.spare")


def test_name_with_a_dot_is_quoted_in_the_key(tmp_path: Path) -> None:
    text = BOOK.replace("pay_tables.evens", 'pay_tables."4.1"').replace('"evens"', '"4.1"')

    error = expect_error(
        tmp_path, text.replace('small = { odds = "1 to 1"', 'small = { odds = "1"')
    )

    assert error.key == 'pay_tables."4.1".rows.small.odds'


def test_odds_of_11_to_10_and_19_to_20_are_paid_exactly(tmp_path: Path) -> None:
    game = load_book(
        tmp_path,
        edit_book(('small = { odds = "1 to 1"', 'small = { odds = "11 to 10"'),
                ('big = { odds = "1 to 1"', 'big = { odds = "19 to 20"')),
        "short",
    )  # fmt: skip

    assert game.unit == 20
    for i, roll in enumerate(ROLLS):
        plain = len(set(roll)) > 1
        assert game.payoffs["small"][i] == (22 if plain and sum(roll) <= 10 else -20)
        assert game.payoffs["big"][i] == (19 if plain and sum(roll) >= 11 else -20)


ABROAD = "nz-tai-sai-2008"
WAGER_CLAUSE = 'wins = "count"\nclause = "2.1"'


@pytest.mark.parametrize(
    ("clause", "key"),
    [
        ("", "wagers.single"),
        ('clause = ""', "wagers.single.clause"),
        ("clause = []", "wagers.single.clause"),
        ('clause = [""]', "wagers.single"),
        ("clause = 2", "wagers.single.clause"),
        ('clause = ["2", 2]', "wagers.single.clause"),
        ('clause = "2.9"', "wagers.single"),
        ('clause = ["2.1", "2.9"]', "wagers.single"),
        ('clause = " "', "wagers.single"),
        ('clause = "2.1 "', "wagers.single"),
        ('clause = "no-such-book 1"', "wagers.single"),
        (f'clause = "{ABROAD} 99.9"', "wagers.single"),
    ],
)
def test_wager_without_a_clause_that_exists_is_refused(
    tmp_path: Path, clause: str, key: str
) -> None:
    error = expect_error(tmp_path, edit_book((WAGER_CLAUSE, f'wins = "count"\n{clause}')))

    assert error.key in {key, f"{key}.clause"}


def test_unknown_clause_is_refused_with_nearest_clause(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book((WAGER_CLAUSE, 'wins = "count"\nclause = "2.9"')))

    assert error.clause == "2.9"
    assert "'2.9', which does not exist" in error.problem
    assert error.remedy.startswith("did you mean 2.")


def test_clause_of_a_shipped_book_may_be_cited(tmp_path: Path) -> None:
    game = load_book(
        tmp_path, edit_book((WAGER_CLAUSE, 'wins = "count"\nclause = "nz-tai-sai-2008 6.3"'))
    )

    assert game.box("single:1").rule == ("nz-tai-sai-2008 6.3",)


@pytest.mark.parametrize("reason", ["", ', reason = ""', ', reason = " "'])
def test_out_of_scope_without_a_reason_is_refused(tmp_path: Path, reason: str) -> None:
    error = expect_error(tmp_path, edit_book((', reason = "No money of the game."', reason)))

    assert (error.key, error.clause) == ("clauses.7", "7")
    assert "without a reason" in error.problem
    assert "add reason" in error.remedy
