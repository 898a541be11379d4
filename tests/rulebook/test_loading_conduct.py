"""Limits, procedure, people and readings that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    OPTION,
    ORDER,
    SET,
    Swap,
    edit_book,
    expect_error,
    load_book,
)
from threedice import RulebookError, UnknownName

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("new", "odd"),
    [
        ('order = ["open-betting", "close-betting", "throw"]', "pay-winners"),
        (ORDER.replace('"throw"', '"throw", "throw"'), "throw"),
        (ORDER.replace('"throw"', '"throw", "tumble"'), "tumble"),
        ("order = []", "throw"),
    ],
)
def test_order_that_disagrees_with_the_steps_is_refused(tmp_path: Path, new: str, odd: str) -> None:
    error = expect_error(tmp_path, edit_book((ORDER, new)))

    assert (error.key, error.clause) == ("procedure.order", "5")
    assert odd in error.problem
    assert "steps" in error.remedy


@pytest.mark.parametrize("step", ["pay-winners", "throw", "tumble"])
def test_step_as_early_as_one_that_is_not_earlier_is_refused(tmp_path: Path, step: str) -> None:
    error = expect_error(
        tmp_path, edit_book(('as_early_as = "open-betting"', f'as_early_as = "{step}"'))
    )

    assert (error.key, error.clause) == ("procedure.steps.throw.as_early_as", "5.1")
    assert f"{step!r} does not come before 'throw'" in error.problem


def test_optional_step_that_a_round_needs_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('as_early_as = "open-betting"', "optional = true")))

    assert (error.key, error.clause) == ("procedure.steps.throw.optional", "5.1")
    assert "enter-result and illuminate" in error.remedy


def test_act_that_only_old_logs_have_is_refused(tmp_path: Path) -> None:
    act = '[people.acts.operate-equipment]\nby = ["dealer"]\nclause = "6"\n\n[people.acts.bet]'
    error = expect_error(tmp_path, edit_book(("[people.acts.bet]", act)))

    assert (error.key, error.clause) == ("people.acts.operate-equipment", "6")
    assert error.remedy == "name the roles in by of each step of the procedure"


def test_step_that_a_round_needs_is_not_left_out_for_want_of_equipment(tmp_path: Path) -> None:
    step = ('as_early_as = "open-betting"', 'equipment = ["tumbler"]')
    error = expect_error(tmp_path, edit_book(step))

    assert (error.key, error.clause) == ("procedure.steps.throw.equipment", "5.1")
    assert "a round cannot do without 'throw'" in error.problem


def test_opening_check_of_unknown_equipment_is_refused(tmp_path: Path) -> None:
    check = '\n[opening.power]\nby = ["dealer"]\nclause = "5"\npieces = ["bell", "tumblr"]\n'
    error = expect_error(tmp_path, edit_book() + check)

    assert (error.key, error.clause) == ("opening.power.pieces", "5")
    assert "there is no equipment 'tumblr'" in error.problem
    assert "tumbler" in error.remedy


def test_positions_fixed_at_an_absent_step_are_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('fixed_at = "close-betting"', 'fixed_at = "tumble"')))

    assert (error.key, error.clause) == ("procedure.positions.fixed_at", "5")
    assert "close-betting" in error.remedy


def test_differential_between_unknown_boxes_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('[["big", "small"]]', '[["big", "smal"]]')))

    assert (error.key, error.clause) == ("limits.differential.pairs", "4.1")
    assert "'smal'" in error.problem
    assert error.remedy == "did you mean small?"


def test_differential_of_a_box_with_itself_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('[["big", "small"]]', '[["big", "big"]]')))

    assert error.key.startswith("limits.differential.pairs")


@pytest.mark.parametrize(
    "swap",
    [
        ('scope = "box"\nunnoticed = "stands"',
         'scope = "box"\nunnoticed = "pro-rata"'),
        ('"small"]]\nunnoticed = "stands"',
         '"small"]]\nunnoticed = "pro-rata"'),
    ],
    ids=["maximum", "differential"],
)  # fmt: skip
def test_pro_rata_without_a_method_is_refused(tmp_path: Path, swap: Swap) -> None:
    error = expect_error(tmp_path, edit_book(swap))

    assert error.key.startswith("limits.")
    assert error.clause
    assert "pro_rata" in error.remedy


def test_displaying_an_undefined_differential_is_refused(tmp_path: Path) -> None:
    start = BOOK.index("[limits.differential]")
    text = BOOK[:start] + BOOK[BOOK.index("[procedure]") :]

    assert expect_error(tmp_path, text).key.startswith("limits.d")


def test_unknown_shooters_box_is_refused_with_nearest_box(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book(('box = "run"', 'box = "rum"')))

    assert (error.key, error.clause) == ("shooter.box", "6.1")
    assert error.remedy == "did you mean run?"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("dice_offered = 5", "dice_offered = 2", "shooter.dice_"),
        ("dice_chosen = 3", "dice_chosen = 4", "shooter.dice_"),
        ("dice_chosen = 3", "dice_chosen = 0", "shooter.dice_"),
        ("years = 18", "years = -18", "people.minimum_age.years"),
        ('as_early_as = "open-betting"', "at_least = 0", "procedure.steps.throw.at_least"),
        ('as_early_as = "open-betting"', "at_least = -3", "procedure.steps.throw.at_least"),
    ],
)
def test_impossible_counts_and_ages_are_refused(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    assert expect_error(tmp_path, edit_book((old, new))).key.startswith(key)


@pytest.mark.parametrize(
    ("old", "new", "key", "hole"),
    [
        ("[call]", '[call]\ndouble = "two alike"', "call.double", "{face}"),
        ("[call]", '[call]\ndouble = "{face} and {face}"', "call.double", "{face}"),
        ("[call]", '[call]\ntriple = "{total}"', "call.triple", "{face}"),
        ("[call]", '[call]\ntriple = "{{face}}"', "call.triple", "{face}"),
        ("[call]", '[call]\ntriple = "{face!x}"', "call.triple", "{face}"),
        ("[call]", '[call]\ntriple = "{face}}"', "call.triple", "{face}"),
        ("[call]", '[call]\ndouble = ""', "call.double", "{face}"),
        ('"total {total}"', '"total"', "call.total", "{total}"),
        ('"total {total}"', '"{total}}"', "call.total", "{total}"),
    ],
)
def test_call_without_exactly_one_placeholder_is_refused(
    tmp_path: Path, old: str, new: str, key: str, hole: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == (key, "5.2")
    assert hole in error.remedy


def test_reading_applies_its_option_and_changes_the_hash(tmp_path: Path) -> None:
    usual = load_book(tmp_path, BOOK)
    generous = load_book(tmp_path, BOOK, readings={"generous": "yes"})

    assert generous.readings == {"generous": "yes"}
    assert [str(line.odds) for line in usual.box("domino:1-2").lines] == ["5 to 1"]
    assert [str(line.odds) for line in generous.box("domino:1-2").lines] == ["6 to 1"]
    assert generous.hash != usual.hash


@pytest.mark.parametrize(
    ("layout", "readings", "kind", "nearest"),
    [
        ("main", {"generus": "yes"}, "reading of my-game/main", ["generous"]),
        ("main", {"generous": "yess"}, "option of the reading generous", ["yes"]),
        ("main", {"generous": ""}, "option of the reading generous", ["no", "yes"]),
        ("short", {"generous": "yes"}, "reading of my-game/short", []),
    ],
)
def test_unknown_reading_or_option_is_refused_with_nearest(
    tmp_path: Path, layout: str, readings: dict[str, str], kind: str, nearest: list[str]
) -> None:
    with pytest.raises(UnknownName) as caught:
        load_book(tmp_path, BOOK, layout, readings)
    assert caught.value.kind == kind
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    ("old", "new", "key", "meant"),
    [
        ('default = "no"', 'default = "noo"', "readings.generous.default", "no"),
        ('layouts = ["main"]', 'layouts = ["mian"]', "readings.generous.layouts", "main"),
    ],
)
def test_reading_with_an_unknown_default_or_layout_is_refused(
    tmp_path: Path, old: str, new: str, key: str, meant: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == (key, "3")
    assert meant in error.remedy


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("wagers.nope", "1"),
        ("pay_tables.ful.clause", '"3"'),
        ("wagers.domino.wins.when", '"shows"'),
    ],
)
def test_option_that_sets_a_key_that_does_not_exist_is_refused(
    tmp_path: Path, key: str, value: str
) -> None:
    error = expect_error(tmp_path, edit_book((SET, f"set.{key} = {value}")))

    assert (error.key, error.clause) == (OPTION, "3")
    assert f"no key {key}" in error.problem


@pytest.mark.parametrize(
    "bad",
    [
        "pay_tables = 5",
        'pay_tables.full = "x"',
        "pay_tables.full.rows.domino.odds = 6",
        'pay_tables.full.rows.domino.odds = "6 too 1"',
        'pay_tables.full.rows.domino.boxes = ["1-2"]',
        'wagers.domino.wins = "triple"',
        'wagers.domino.clause = "9.9"',
        "wagers.domino.clause = 5",
        'layouts.main.pay_table = "nowhere"',
        'procedure.order = ["throw"]',
        'procedure.order = ["zzz"]',
        'limits.maximum.unnoticed = "pro-rata"',
        'limits.differential.pairs = [["big", "nope"]]',
        'shooter.box = "nope"',
        'call.total = "total"',
        'effective = "yesterday"',
        'id = "My Game"',
    ],
)
def test_option_that_sets_a_bad_value_is_refused_at_the_option(tmp_path: Path, bad: str) -> None:
    """Also when nobody has chosen it yet: a book is refused before a table is opened under it."""
    assert expect_error(tmp_path, edit_book((SET, f"set.{bad}"))).key.startswith(OPTION)


def test_option_that_sets_a_bad_value_cannot_be_played(tmp_path: Path) -> None:
    text = edit_book((SET, 'set.procedure.order = ["throw"]'))

    with pytest.raises(RulebookError):
        load_book(tmp_path, text, readings={"generous": "yes"})


def test_default_option_that_sets_something_is_refused(tmp_path: Path) -> None:
    text = edit_book(
        ('says = "No."', 'says = "No."\nset.pay_tables.full.rows.domino.odds = "4 to 1"')
    )

    assert expect_error(tmp_path, text).key.startswith("readings.generous.options.no")


def test_two_readings_that_set_the_same_key_are_refused(tmp_path: Path) -> None:
    again = (
        '[readings.again]\nquestion = "?"\nclause = "3"\ndefault = "a"\noptions.a.says = "A"\n'
        'options.b.says = "B"\noptions.b.set.pay_tables.full.rows.domino.odds = "7 to 1"\n\n'
    )
    error = expect_error(tmp_path, edit_book(("[limits]\n", f"{again}[limits]\n")))

    assert error.key == "readings.again.options.b.set"
    assert "'generous' sets pay_tables.full.rows.domino.odds too" in error.problem


def test_reading_that_sets_the_identity_of_a_book_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, edit_book((SET, 'set.title = "Other"')))

    assert "a reading cannot set title" in error.problem


def test_refusal_that_cites_a_clause_of_another_rule_is_refused(tmp_path: Path) -> None:
    old = '[limits.minimum]\nscope = "player"\n'
    new = f'{old}refusals = {{ "bet/under-minimum" = "5" }}\n'
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == ('limits.minimum.refusals."bet/under-minimum"', "5")
    assert "not among the clauses of the rule" in error.problem
