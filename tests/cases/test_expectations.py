"""Lines of a case that expect something of the table."""

from __future__ import annotations

from typing import Any

import pytest

from threedice.cases.runner import Case, CaseLimits, run_case

SINGAPORE, NEW_ZEALAND = "sg-rws-tai-sai-v6/a", "nz-tai-sai-2008/1"
CLAUSES = {
    SINGAPORE: "sg-rws-tai-sai-v6 5.1",
    "sg-rws-tai-sai-v6/e": "sg-rws-tai-sai-v6 5.1",
    NEW_ZEALAND: "nz-tai-sai-2008 7.1",
    "triple-dice": "triple-dice 4",
}
PLAYED_ROUND = ("open betting", "ann bets 100 on big", "dice 6 5 4")
PAID_AND_GONE = (*PLAYED_ROUND, "ann leaves with 600")
DAMAGED = "supervisor reports dice-damaged affecting 1 with pit-manager"
CLOSED = (*PLAYED_ROUND, "bob buys 200 from account", "fill 300", "close the table")
INTERRUPTED = ("open betting", "ann bets 100 on big", "dealer reports interruption")


def differences(*lines: str, game: str = SINGAPORE, **options: Any) -> list[str]:
    case = Case("c", CLAUSES[game], game, list(lines), players={"ann": 500}, **options)
    return run_case(case).differences


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("ann has 400", "ann has 500, expected 400"),
        ("ann has nothing", "ann has 500, expected 0"),
        ("ann owes 5", "ann owes 0, expected 5"),
        ("ann has 5 on big", "ann has on big 0, expected 5"),
        ("ann has 5 on the layout", "ann has on the layout 0, expected 5"),
        ("there is 5 on big", "on big there is 0, expected 5"),
        ("the float is 5", "the float is 999500, expected 5"),
        ("the drop is 5", "the drop is 500, expected 5"),
        ("ann has room for 5 on big", "ann has room on big for 10000, expected 5"),
        ("flags: big over the maximum", "flags: none, expected big over the maximum"),
        ("the closing float is 5", "the table has not been closed"),
        ("the table is closed", "the table is open, expected closed"),
        ("the table is locked", "the table is not locked, expected locked"),
        ("round 1 is void", "round 1 is being played, expected void"),
        ('the call is "1, 1, 3, total 5"', 'the call is "", expected "1, 1, 3, total 5"'),
        ('"No more Bets" is announced',
         'announced: "Place your Bets, please", expected "No more Bets"'),
        ('"No spin" is announced', 'announced: "Place your Bets, please", expected "No spin"'),
        ("nothing is announced", 'announced: "Place your Bets, please", expected nothing'),
        ('"Place your Bets, please" is not announced',
         'announced: "Place your Bets, please", expected not "Place your Bets, please"'),
    ],
)  # fmt: skip
def test_false_expectation_is_a_difference_and_the_case_continues(
    line: str, difference: str
) -> None:
    assert differences("open betting", line, "ann has 1") == [
        f"line 2, {line!r}: {difference}",
        "line 3, 'ann has 1': ann has 500, expected 1",
    ]


@pytest.mark.parametrize(
    "line", ["bob has 5", "bob owes 5", "bob has 5 on big", "bob has 5 on the layout",
             "bob has room for 5 on big", "bob carried away 5"],
)  # fmt: skip
def test_expectation_about_a_player_whom_the_case_does_not_have_stops_it(line: str) -> None:
    (difference,) = differences(line, "ann has 1")

    assert (
        difference == f"line 1, {line!r}, stopped: no player in this case 'bob'; did you mean ann?"
    )


def test_expectation_is_never_refused() -> None:
    (difference,) = differences("ann has 500 -> refused")

    assert "an expectation holds or fails, never refused" in difference


def test_table_before_its_first_round_has_no_room_and_no_flags() -> None:
    assert differences("ann has room for nothing on big", "flags: none") == []


def test_chips_on_the_layout_are_expected_by_player_box_and_end() -> None:
    lines = ("open betting", "ann bets 50 on big at left", "ann bets 20 on big at right",
             "ann has 70 on big", "ann has 50 on big at left", "ann has 20 on big at right",
             "there is 70 on big", "there is 20 on big at right", "ann has 70 on the layout",
             "ann has nothing on small", "ann has 430")  # fmt: skip

    assert differences(*lines, game="sg-rws-tai-sai-v6/e") == []
    assert differences(*lines, game="sg-rws-tai-sai-v6/e", readings={"areas": "per-area"}) == []


def test_chips_that_were_collected_are_no_longer_on_the_layout() -> None:
    lines = ("open betting", "ann bets 50 on big", "ann bets 20 on small", "close betting",
             "tumbles 3 times", "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
             "ann has 20 on small", "collect the losers", "ann has nothing on small",
             "ann has 50 on big", "pay the winners", "there is nothing on big")  # fmt: skip

    assert differences(*lines) == []


def test_chips_returned_by_pro_rata_are_no_longer_on_the_layout() -> None:
    lines = ("open betting", "ann bets 300 on big", "close betting", "tumbles 3 times",
             "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
             "collect the losers", "ann has 200 on big", "ann has 300")  # fmt: skip

    assert differences(*lines, limits=CaseLimits(maximum=200)) == []


def test_flag_at_one_end_of_the_table_is_expected_in_the_words_of_a_bet() -> None:
    lines = ("open betting", "ann bets 55 on big at left", "flags: big at left over the maximum",
             "ann bets 5 on big at right", "flags: big at left over the maximum; "
             "ann's on big at right under the minimum")  # fmt: skip
    limits = CaseLimits(minimum=10, maximum=50)
    options: dict[str, Any] = {"readings": {"areas": "per-area"}, "limits": limits}

    assert differences(*lines, game="sg-rws-tai-sai-v6/e", **options) == []


def test_expectation_about_a_box_or_an_end_that_does_not_exist_stops_the_case() -> None:
    (box,) = differences("open betting", "ann has 5 on bigg")
    (area,) = differences("open betting", "there is 5 on big at top")

    assert "there is no box bigg" in box
    assert "big has no area top" in area


def test_bets_that_stand_for_the_next_spin_are_chips_on_the_layout() -> None:
    lines = ("open betting", "ann bets 50 on big", "dealer reports dice-not-flat",
             "ann has 50 on big", "spin 1 is void")  # fmt: skip

    assert differences(*lines, game=NEW_ZEALAND, readings={"no-spin": "stand"}) == []
    assert "ann has on big 0, expected 50" in differences(*lines, game=NEW_ZEALAND)[0]


def test_bet_of_the_shooter_is_expected_like_any_other() -> None:
    lines = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
             "ann bets 50 on shooter", "ann has 50 on shooter",
             "there is 50 on shooter")  # fmt: skip

    assert differences(*lines, game="triple-dice") == []


def test_debt_is_expected_between_lines() -> None:
    lines = (*PAID_AND_GONE, DAMAGED, "ann owes 100", "ann repays 100 in cash", "ann owes nothing")

    assert differences(*lines) == []


def test_figures_at_closing_are_expected_after_it() -> None:
    # 1,000,000 less 500 and 200 sold, less the 100 won, and the fill of 300
    expected = ("the closing float is 999500", "the closing drop is 500", "ann carried away 600",
              "bob carried away 200", "the table is closed")  # fmt: skip

    assert differences(*CLOSED, *expected) == []


def test_table_is_opened_again_on_the_same_terms_with_its_checks() -> None:
    again = ("open the table", "the float is 1000000", "the drop is 0", "ann buys 100",
             "open betting", "round 2 is being played")  # fmt: skip

    assert differences(*CLOSED, *again) == []
    lines = ("close the table", "open the table", "open betting", "spin 1 is being played")
    assert differences(*lines, game=NEW_ZEALAND) == []


def test_table_is_opened_again_by_a_named_person_with_another_float() -> None:
    lines = ("close the table", "pit-manager/kim opens the table with a float of 400",
             "the float is 400", "ann buys 405 -> refused float/short")  # fmt: skip

    assert differences(*lines) == []


def test_call_is_expected_until_the_next_round_begins() -> None:
    lines = (*PLAYED_ROUND, 'the call is "4, 5, 6, total 15"', "the call is 4, 5, 6, total 15",
             "open betting", "nothing is called", "dice 3 3 4",
             'the call is "double 3, 4, total 10"')  # fmt: skip

    assert differences(*lines) == []
    (difference,) = differences(*PLAYED_ROUND, "nothing is called")
    assert 'the call is "4, 5, 6, total 15", expected nothing' in difference


@pytest.mark.parametrize(
    ("game", "lines"),
    [
        (SINGAPORE, ("open betting", '"Place your Bets, please" is announced', "ann has 500",
                     "Place your Bets, please is announced", "close betting",
                     '"No more Bets" is announced', '"Place your Bets, please" is not announced',
                     "tumbles 3 times", "nothing is announced")),
        (NEW_ZEALAND, ("open betting", "dealer reports dice-not-flat", '"No spin" is announced')),
        (NEW_ZEALAND, ("tumbles 2 times", '"No spin" is announced', "open betting",
                       '"No spin" is not announced')),
        ("triple-dice", ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
                         "ann bets 50 on shooter", "close betting", "ann throws",
                         "dealer reports not-thrown-together", '"No Throw" is announced')),
    ],
)  # fmt: skip
def test_announcements_of_the_last_line_are_expected(game: str, lines: tuple[str, ...]) -> None:
    assert differences(*lines, game=game) == []


@pytest.mark.parametrize(
    ("words", "nearest"),
    [("No spinn", "No spin?"), ("no more bets", "No more bets"), ("No more Bets", "No more bets")],
)
@pytest.mark.parametrize("negation", ["", "not "])
def test_mistyped_announcement_stops_the_case(negation: str, words: str, nearest: str) -> None:
    line = f'"{words}" is {negation}announced'
    (difference,) = differences(line, game=NEW_ZEALAND)

    assert difference.startswith(
        f"line 1, {line!r}, stopped: no announcement of nz-tai-sai-2008 {words!r}; did you mean"
    )
    assert nearest in difference


def test_announcement_of_another_rulebook_is_not_announced() -> None:
    assert differences("open betting", '"No spin" is not announced') == []


def test_lock_is_expected_with_its_cause() -> None:
    malfunction = "dealer reports equipment-malfunction"
    lines = ("the table is not locked", malfunction, "the table is locked",
             "the table is locked by equipment-malfunction",
             "supervisor releases the table: mended", "the table is not locked")  # fmt: skip

    assert differences(*lines, game=NEW_ZEALAND) == []
    both = (malfunction, "dealer reports display-wrong", "the table is locked by display-wrong",
            "the table is locked by equipment-malfunction",
            "supervisor releases the table from equipment-malfunction: mended",
            "the table is locked by display-wrong")  # fmt: skip
    assert not differences(*both, game=NEW_ZEALAND)
    locked = differences(malfunction, "the table is not locked", game=NEW_ZEALAND)
    other = differences(malfunction, "the table is locked by tumbler-fault", game=NEW_ZEALAND)
    assert "the table is locked by equipment-malfunction, expected not locked" in locked[0]
    assert "expected locked by tumbler-fault" in other[0]


def test_status_of_a_round_is_expected() -> None:
    lines = ("round 1 is not played", *PLAYED_ROUND, "round 1 is settled", "open betting",
             "round 2 is being played", "dealer abandons the round: the dice were lost",
             "round 2 is void", DAMAGED, "round 1 is void", "ann has 500")  # fmt: skip

    assert differences(*lines) == []


@pytest.mark.parametrize("line", ["supervisor tests 1 3 6 with bigg dark", "dark lamps: bigg"])
def test_lamp_that_the_layout_does_not_have_is_an_error(line: str) -> None:
    (difference,) = differences(
        "close the table", "supervisor starts a test", line, game=NEW_ZEALAND
    )

    assert f"no lamp on {NEW_ZEALAND} 'bigg'; did you mean" in difference


def test_difference_in_lamps_lists_their_names() -> None:
    (difference,) = differences("dark lamps: small, big")

    assert difference.endswith("dark lamps: none, expected big, small")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("amn holds nothing", "no player in this case 'amn'; did you mean ann?"),
        ("amn's pile on big is nothing", "no player in this case 'amn'; did you mean ann?"),
        ("ann's pile on bgi is nothing", "there is no box bgi on this layout"),
        ("ann holds 3x25 4x25", "'3x25 4x25' counts the chips 25 twice"),
        ("supervisor counts the rack as 4x25 10x25 with pit-manager",
         "'4x25 10x25' counts the chips 25 twice"),
    ],
)  # fmt: skip
def test_slip_in_a_line_about_chips_is_an_error(line: str, problem: str) -> None:
    case = Case("c", CLAUSES[NEW_ZEALAND], NEW_ZEALAND, [line], players={"ann": 500},
                rack={"25": 40})  # fmt: skip

    assert problem in " ".join(run_case(case).differences)


def test_count_with_a_chip_too_many_is_not_one_with_nothing_over() -> None:
    counted = "supervisor counts the rack as 41x25 with pit-manager"
    lines = [counted, "nothing is missing", "nothing is over"]
    case = Case("c", CLAUSES[SINGAPORE], SINGAPORE, lines, rack={"25": 40})

    assert run_case(case).differences == [
        "line 3, 'nothing is over': over: 1 x 25, expected no chips"
    ]


@pytest.mark.parametrize("line", ["ann holds nothing", "the rack holds nothing"])
def test_expectation_of_chips_at_a_table_that_deals_in_amounts_fails(line: str) -> None:
    assert "the table deals in amounts" in " ".join(differences(line))


@pytest.mark.parametrize(
    "part", ["of ann of bob", "knowing 6 knowing 5", "affecting 1 affecting 2",
             "with supervisor with pit-manager"],
)  # fmt: skip
def test_report_that_repeats_a_part_is_no_line_of_a_case(part: str) -> None:
    assert "is not a line of a case" in " ".join(differences(f"dealer reports interruption {part}"))
