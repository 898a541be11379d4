"""Lines of a case that people perform: who acts, where, and under which limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from threedice.cases.runner import Case, run_case
from threedice.table.commands import Actor

BOOK = "sg-rws-tai-sai-v6"


def run(
    *lines: str, game: str = f"{BOOK}/a", clause: str = f"{BOOK} 1.5", **options: Any
) -> list[str]:
    options.setdefault("players", {"ann": 500})
    return run_case(Case("c", clause, game, [*lines, "the table is open"], **options)).differences


def people(*lines: str) -> set[Actor]:
    """Return the people whom the events of these lines name."""
    case = Case("c", f"{BOOK} 1.5", f"{BOOK}/a", list(lines), players={"ann": 500})
    before = run_case(Case("c", f"{BOOK} 1.5", f"{BOOK}/a", [], players={"ann": 500}))
    outcome = run_case(case)
    assert not [each for each in outcome.differences if "expects nothing" not in each]
    events = outcome.events[len(before.events) :]
    return {by for event in events if (by := getattr(event, "by", None)) is not None}


KIM = Actor(id="kim", role="pit-manager")


@pytest.mark.clause(f"{BOOK} 1.5")
def test_every_step_of_a_round_names_the_person_who_takes_it() -> None:
    lines = ("opens betting", "closes betting", "tumbles 3 times", "uncovers the dice",
             "calls 6 5 4", "enters 6 5 4", "lights the areas", "collects the losers",
             "pays the winners")  # fmt: skip

    assert people(*(f"pit-manager/kim {line}" for line in lines)) == {KIM}
    assert people("pit-manager/kim opens betting", "pit-manager/kim plays dice 6 5 4") == {KIM}


@pytest.mark.parametrize(
    "line",
    [
        "pit-manager/kim fills 5000",
        "pit-manager/kim credits 5000 with shift-manager",
        "pit-manager/kim closes the table",
        "pit-manager/kim buys 100 for ann with shift-manager",
        "pit-manager/kim cashes out 100 for ann with shift-manager",
        "pit-manager/kim sets limits 50 to 500 with supervisor",
    ],
)
def test_person_who_performs_a_line_is_recorded(line: str) -> None:
    assert people(line) == {KIM}


def test_short_forms_are_performed_by_the_dealer_or_the_supervisor() -> None:
    assert people("open betting", "dice 6 5 4") == {Actor(id="dealer", role="dealer")}
    assert people("fill 500", "close the table") == {Actor(id="supervisor", role="supervisor")}


@pytest.mark.parametrize(
    "line",
    [
        "ann opens betting", "ann changes 100 into 25s for ann", "ann takes red at 25 for ann",
        "ann colours up for ann", "ann records 5 of ann's is moved from big to small",
        "shift-manager opens betting", "ann fills 50", "ann sees the lights fail",
        "ann closes the table", "ann offers the dice to ann",
    ],
)  # fmt: skip
def test_line_is_refused_if_the_person_may_not_perform_it(line: str) -> None:
    assert run(f"{line} -> refused") == []


def test_two_people_of_one_role_are_different_people() -> None:
    reports = "supervisor reports dice-damaged with"

    assert run("open betting", f"{reports} supervisor -> refused role/same-person") == []
    assert run("open betting", f"{reports} supervisor/bo", "round 1 is void") == []


@pytest.mark.parametrize(
    "parts", ["affecting 1 with pit-manager", "with pit-manager affecting 1", "of ann affecting 1"
              " with pit-manager: chipped"],
)  # fmt: skip
def test_parts_of_a_report_stand_in_any_order(parts: str) -> None:
    assert run("open betting", f"supervisor reports dice-damaged {parts}", "round 1 is void") == []


def test_member_of_staff_serves_a_player() -> None:
    lines = ("dealer buys 100 for ann", "ann has 600", "dealer changes 100 into 25s for ann",
             "supervisor cashes out 100 for ann", "ann has 500", "dealer takes red at 25 for ann",
             "supervisor colours up for ann")  # fmt: skip

    assert run(*lines, game="nz-tai-sai-2008/1", clause="nz-tai-sai-2008 4.2") == []


def test_unknown_role_stops_the_case() -> None:
    (difference,) = run("boss/bo opens betting")

    assert "no role 'boss'" in difference


def test_unexpected_refusal_of_an_unknown_person_suggests_names() -> None:
    (difference,) = run("spervisor opens betting")

    assert difference.startswith(
        "line 1, 'spervisor opens betting', stopped: player may not do this"
    )
    assert "no player or role in this case 'spervisor'; did you mean supervisor" in difference


def test_unexpected_refusal_says_how_to_expect_it() -> None:
    (difference,) = run("ann bets 5 on big")

    assert "add '-> refused betting/not-open'" in difference


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("amn bets 5 on big -> refused", "no player or role in this case 'amn'; did you mean ann?"),
        ("dealer bets 5 on big for an -> refused 3.2", "no player or role in this case 'an'"),
        ("spervisor opens betting -> refused role/not-allowed", "did you mean supervisor"),
        ("dealer reports dice-not-flt -> refused", "no irregularity 'dice-not-flt'; did you mean"),
        ("dealer reports dice-not-flt", "no irregularity 'dice-not-flt'; did you mean"),
        ("ann bets 5 on bgi -> refused", "no box in any rulebook 'bgi'; did you mean big"),
        ("ann bets 5 on tripel:6 -> refused 3.2", "'tripel:6'; did you mean triple:6"),
        ("5 of ann's is moved from big to smal -> refused", "'smal'; did you mean small"),
        ("ann bets 5 on big at lft -> refused", "no end of a table 'lft'; did you mean left"),
        ("5 of ann's is moved from big to small at rihgt -> refused", "did you mean right"),
        ("fill 500 with ann", "no member of staff 'ann'; did you mean"),
        ("fill 500 with pitmanager", "no member of staff 'pitmanager'; did you mean pit-manager"),
        ("dealer reports walked-away of amn", "no player or role in this case 'amn'; did you mean"),
        ("supervisor checks powr -> refused", "no opening check 'powr'; did you mean power"),
        ("supervisor fails seel by d-1: broken -> refused", "no opening check 'seel'"),
        ("supervisor registers tumblr t-1 -> refused", "no equipment 'tumblr'; did you mean"),
        ("supervisor sets the table up without lihgts -> refused", "no equipment 'lihgts'"),
        ("supervisor releases the table from display-wong: off -> refused", "'display-wong'; did"),
        ("the table is locked by display-wong", "no irregularity 'display-wong'; did you mean"),
        ("dealer buys 500", "'dealer' is a role, not the name of a player"),
        ("dealer buys 500 for supervisor", "'supervisor' is a role, not the name of a player"),
    ],
)
def test_slip_in_a_name_stops_the_case(line: str, problem: str) -> None:
    (difference,) = run(line, expect={"amn": 0, "an": 0})

    assert difference.startswith(f"line 1, {line!r}, stopped: ")
    assert problem in difference


@pytest.mark.parametrize(
    "line",
    [
        "amn bets 5 on big -> refused player/unknown",
        "amn buys 7 -> refused",
        "zoe bets 5 on big -> refused",
        "zoe opens betting -> refused role/not-allowed",
        "dealer reports walked-away of zoe",
        "supervisor checks power -> refused",
        "supervisor checks powr -> refused table/unknown-check",
        "supervisor registers bell b-1 -> refused",
        "dealer buys 7 for bob -> refused",
        "dealer reports not-thrown-together -> refused irregularity/unknown",
        "fill 500 with ann -> refused role/second-person",
        "dealer buys 7 -> refused",
        "dealer bets 5 on big for dealer -> refused",
        "ann bets 5 on bgi -> refused bet/unknown-box",
        "ann bets 5 on pair:1-1-2 -> refused",
        "ann bets 5 on big at middle -> refused bet/unknown-area",
        "ann bets 5 on big at left -> refused",
    ],
)
def test_name_that_the_table_must_refuse_is_not_a_slip(line: str) -> None:
    assert run("open betting", line) == []


def test_somebody_whose_age_or_chips_a_case_states_is_not_a_slip() -> None:
    lines = ("open betting", "anne bets 5 on big -> refused")

    assert run(*lines, ages={"anne": 30}) == []
    assert run(*lines, "anne buys 100", expect={"anne": 100}) == []


def test_player_named_like_a_role_stops_the_case() -> None:
    assert run(players={"dealer": 100}) == [
        "stopped: players: 'dealer' is a role, not the name of a player"
    ]


def test_second_person_where_none_is_needed_is_an_error() -> None:
    (difference,) = run("supervisor releases the table with pit-manager: mended")

    assert "this line takes no second person; remove 'with ...'" in difference


@pytest.mark.clause(f"{BOOK} 1.3")
def test_every_kind_of_bet_can_be_at_one_end_of_the_table() -> None:
    lines = ("open betting", "dealer bets 50 on big at left for ann", "ann bets 20 on big at right",
             "ann has 50 on big at left", "dealer withdraws 25 from big at left for ann",
             "ann withdraws 20 from big at right", "there is 25 on big",
             "25 of ann's is moved from big at left to small at right",
             "ann has 25 on small at right",
             "dealer rejects the excess on small at right -> refused bet/nothing-over",
             "supervisor rejects 25 of ann's on the line of small at right -> refused",
             "supervisor puts 25 of ann's back from small at right to big at left -> refused",
             "ann calls 50 on big at left -> refused")  # fmt: skip

    assert run(*lines, game=f"{BOOK}/e") == []


@pytest.mark.clause(f"{BOOK} 1.3", f"{BOOK} 3.3")
@pytest.mark.parametrize("pair", ["big", "small", "big-small", "small-big"])
def test_each_pair_has_its_own_differential(pair: str) -> None:
    limits = {"maximum": 1000, "differential": {pair: 100, "odd-even": 200}}
    lines = ("open betting", "ann bets 150 on big", "ann bets 250 on odd",
             "flags: big over the differential; odd over the differential",
             "ann withdraws 50 from big", "ann withdraws 50 from odd", "flags: none")  # fmt: skip

    assert convert_and_run(*lines, limits=limits) == []


def test_pair_without_a_differential_has_the_maximum() -> None:
    limits = {"maximum": 300, "differential": {"big-small": 100}}

    assert (
        convert_and_run("open betting", "ann bets 300 on odd", "flags: none", limits=limits) == []
    )


def test_pair_that_the_layout_does_not_have_stops_the_case() -> None:
    (difference,) = convert_and_run(limits={"differential": {"red-black": 5}})

    assert "no pair with a differential on sg-rws-tai-sai-v6/c 'red-black'" in difference


@pytest.mark.parametrize("game", ["nz-tai-sai-2008/1", "triple-dice/mat"])
def test_differential_of_a_game_without_one_stops_the_case(game: str) -> None:
    case = {"game": game, "clause": f"{game.partition('/')[0]} 7.1"}
    problem = f"stopped: {game} has no maximum differential; leave it out"
    line = "dealer sets limits 5 to 500 differential 100 with supervisor"

    assert convert_and_run(**case, limits={"differential": 100}) == [problem]
    assert convert_and_run(line, **case) == [f"line 1, {line!r}, {problem}"]


def test_line_sets_a_differential_for_each_pair() -> None:
    sets = "dealer sets limits 5 to 1000 differential big-small 100, odd-even 200 with supervisor"
    lines = (sets, "open betting", "ann bets 105 on big", "ann bets 205 on odd",
             "flags: big over the differential; odd over the differential")  # fmt: skip

    assert convert_and_run(*lines) == []


def convert_and_run(*lines: str, **options: Any) -> list[str]:
    data = {
        "name": "c",
        "clause": f"{BOOK} 1.3",
        "game": f"{BOOK}/c",
        "players": {"ann": 500},
        "play": [*lines, "the table is open"],
        **options,
    }
    return run_case(msgspec.convert(data, Case)).differences


@pytest.mark.parametrize(
    ("game", "line", "clause"),
    [
        (f"{BOOK}/a", "dealer amends the result to 1 2 3", "5.10"),
        (f"{BOOK}/a", "dealer corrects round 1 for ann by 50: a slip", "5.14"),
        (f"{BOOK}/a", "dealer sets limits 50 to 500", "5.14"),
        ("nz-tai-sai-2008/1", "dealer amends the result to 1 2 3", "7.2"),
    ],
)
def test_line_without_the_second_person_it_needs_is_refused(
    game: str, line: str, clause: str
) -> None:
    cited = f"{game.partition('/')[0]} {clause}"
    refused = f"{line} -> refused role/second-person {clause}"

    assert run("open betting", "dice 6 5 4", refused, game=game, clause=cited) == []


@pytest.mark.clause("nz-tai-sai-2008 5.0")
def test_refusal_by_a_part_of_a_clause_is_one_by_the_clause() -> None:
    game, clause = "nz-tai-sai-2008/1", "nz-tai-sai-2008 5.0"
    lines = ("open betting -> refused table/checks-missing 5.0(a)", "open betting -> refused 5.0")

    assert run(*lines, game=game, clause=clause, checked=False) == []
    (difference,) = run("open betting -> refused 5.1", game=game, clause=clause, checked=False)
    assert difference.endswith("was refused for 5.0(a), table/checks-missing, expected 5.1")


def test_tumbler_is_turned_in_the_imperative_like_every_other_step() -> None:
    assert run("open betting", "close betting", "tumble 3 times", "round 1 is being played") == []


@pytest.mark.clause("triple-dice 10")
def test_ages_of_players_apply_to_every_purchase() -> None:
    young, game, clause = {"ann": 17}, "triple-dice", "triple-dice 10"
    lines = ("ann buys 100 -> refused player/age", "dealer buys 100 for ann -> refused player/age",
             "ann buys 100 aged 18")  # fmt: skip

    assert run(*lines, game=game, clause=clause, ages=young, players={}) == []


@pytest.mark.clause("triple-dice 10")
def test_refused_opening_says_how_to_expect_it() -> None:
    game, clause = "triple-dice", "triple-dice 10"
    (player,) = run(game=game, clause=clause, ages={"ann": 17})
    (staff,) = run(game=game, clause=clause, ages={"supervisor": 17})

    assert player == (
        "stopped: players: players must be at least 18 years old (10); to expect this, leave ann"
        " out of players and begin with the line 'ann buys 500 -> refused player/age'"
    )
    assert staff.startswith("stopped: the table cannot be opened: nobody under 18 years")
    assert "'supervisor/bo opens the table -> refused role/age' after 'close the table'" in staff
    lines = ("close the table", "supervisor/bo opens the table -> refused role/age 10")
    young = {"bo": 17}
    case = Case("c", clause, game, list(lines), players={"ann": 500}, ages=young)
    assert run_case(case).differences == []


@pytest.mark.clause("triple-dice 10")
def test_ages_of_staff_apply_to_every_line_that_they_perform_or_approve() -> None:
    young = {"dealer": 17, "bo": 17, "may": 18}
    lines = ("offer the dice to ann -> refused role/age 10",
             "supervisor/bo fills 500 -> refused role/age 10",
             "supervisor fills 500 with pit-manager/bo -> refused role/age 10",
             "dealer/may offers the dice to ann")  # fmt: skip

    assert run(*lines, game="triple-dice", clause="triple-dice 10", ages=young) == []


@pytest.mark.clause("triple-dice 10")
def test_age_of_a_member_of_staff_can_be_stated_with_the_role() -> None:
    refused = "supervisor/bo fills 500 -> refused role/age 10"
    game, clause = "triple-dice", "triple-dice 10"

    assert run(refused, game=game, clause=clause, ages={"supervisor/bo": 17}) == []
    (difference,) = run(refused, game=game, clause=clause, ages={"dealer/bo": 17})
    assert difference.startswith("ages: no person in this case 'dealer/bo'")


def test_age_of_somebody_who_does_not_take_part_is_an_error() -> None:
    (difference,) = run(ages={"ann": 30, "dealr": 17})

    assert difference.startswith("ages: no person in this case 'dealr'")
