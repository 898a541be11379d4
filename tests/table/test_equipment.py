"""The register of a table's equipment, opening checks, the test mode and sets of dice."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.table.table_driver import SUPERVISOR, Table, replace_facts, table_on_changed_game
from threedice import load, shipped_games
from threedice.house.stream_state import FOLDS, HouseTable, encode_state
from threedice.money import Balances
from threedice.table import TableState, commands, decide, events, evolve, replay
from threedice.table.commands import Actor, Die
from threedice.table.equipment.history import equipment_in_use, equipment_of_round
from threedice.table.money import table_postings
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from threedice.table.commands import AnyCommand

NZ = "nz-tai-sai-2008/1"
DOUBLE_ENDED = "sg-rws-tai-sai-v6/e"
RESULTS = list(combinations_with_replacement(range(1, 7), 3))


def state_after_tests(game: str, *dark: str) -> tuple[TableState, list[events.AnyEvent]]:
    """Return a closed table on which all 56 results were tested, some lamps being dark."""
    played, state, history = load(game), TableState(), list[events.AnyEvent]()
    wins = {roll: set(played.winning(roll)) for roll in RESULTS}
    working = [lamp for lamp in played.lamps if lamp not in dark]
    lit = {
        roll: [each for each in working if each.partition("@")[0] in wins[roll]] for roll in RESULTS
    }
    by = Actor(id="d", role="dealer")
    sent: list[AnyCommand] = [
        commands.RegisterPiece(by=SUPERVISOR, piece="l-1", kind="lights"),
        commands.StartTest(by=by),
        *(commands.EnterTrial(by=by, keys=[*roll], lit=lit[roll]) for roll in RESULTS),
        commands.EndTest(by=by),
    ]
    for command in sent:
        for event in decide(played, state, command):
            evolve(state, event)
            history.append(event)
    return state, history


# --- the test mode ------------------------------------------------------------------------------


def test_double_ended_layout_has_a_lamp_under_each_of_its_145_areas() -> None:
    assert len(load(DOUBLE_ENDED).lamps) == len(set(load(DOUBLE_ENDED).lamps)) == 145


@pytest.mark.parametrize("game", shipped_games())
def test_all_56_results_are_tested_on_every_layout_without_a_round_or_a_posting(game: str) -> None:
    state, history = state_after_tests(game)

    balances = Balances()
    for event in history:
        balances.post(table_postings(event))
    assert len(RESULTS) == 56
    assert sum(isinstance(event, events.TrialEntered) for event in history) == 56
    assert not any(balances.values())
    assert (state.round, state.rounds, state.equipment.test) == (None, 0, 0)
    assert not state.equipment.dark | state.equipment.stray
    assert state.equipment.proved == {*load(game).lamps}


@pytest.mark.clause("nz-tai-sai-2008 5.0(b)")
@pytest.mark.parametrize("number", [0, 17, 100, 144])
def test_one_dark_lamp_among_145_is_named_and_blocks_the_first_round(number: int) -> None:
    opening = load(NZ).facts.opening
    game = replace_facts(load(DOUBLE_ENDED), opening=opening)
    lamp = game.lamps[number]
    state, _ = state_after_tests(DOUBLE_ENDED, lamp)
    table = table_on_changed_game(game)
    table.state.checks = set(opening) - {"test-runs"}
    table.state.equipment = state.equipment

    refused = table.expect_refusal("supervisor checks test-runs")
    assert (refused.code, refused.facts["dark"]) == ("equipment/test-failed", lamp)
    assert table.expect_refusal("open betting").code == "table/checks-missing"

    table.state.checks.add("test-runs")  # as if the lamp had gone dark after the check
    refused = table.expect_refusal("open betting")
    assert (refused.code, refused.facts["dark"]) == ("equipment/test-failed", lamp)
    assert refused.clause == ("5.0(b)",)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
@pytest.mark.parametrize("remedy", ["", " under a substitute procedure"])
def test_dark_lamp_of_lights_without_a_check_blocks_rounds_until_they_are_released(
    remedy: str,
) -> None:
    table = Table(DOUBLE_ENDED)
    table.play("supervisor registers lights l-1", "supervisor starts a test")
    table.play("supervisor tests 4 5 6 with big@left dark", "supervisor ends the test")

    refused = table.expect_refusal("open betting")
    assert (refused.code, refused.facts["dark"]) == ("equipment/test-failed", "big@left")
    assert refused.clause == ("5.10",)

    table.play(f"supervisor releases l-1{remedy}: looked after", "open betting")


@pytest.mark.clause("nz-tai-sai-2008 5.0(b)")
def test_lamp_that_is_called_rectified_has_to_be_seen_lit_for_the_check() -> None:
    table = Table(NZ)
    table.play("close the table", "supervisor registers lights l-1", "supervisor starts a test")
    table.play("supervisor tests every result", "supervisor tests 4 5 6 with big dark")
    table.play("supervisor ends the test", "supervisor releases l-1: the lamp was exchanged")

    assert not table.state.equipment.dark
    assert "big" not in table.state.equipment.proved


@pytest.mark.clause("nz-tai-sai-2008 5.0(b)")
def test_tests_before_the_opening_count_for_its_check_and_no_later_one() -> None:
    table = Table(NZ)
    table.play("close the table", "supervisor registers lights l-1", "supervisor starts a test")
    table.play("supervisor tests every result", "supervisor ends the test")
    opening = next(each for each in table.events if isinstance(each, events.TableOpened))
    open_table = commands.OpenTable(
        by=SUPERVISOR,
        table="t",
        currency=opening.currency,
        mode=opening.mode,
        chips=opening.chips,
        float_amount=opening.float_amount,
        limits=opening.limits,
    )
    table.send(open_table)
    (passed,) = table.play("supervisor checks test-runs")
    assert isinstance(passed, events.CheckPassed)
    assert passed.test == 1

    table.play("close the table")
    table.send(open_table)
    refused = table.expect_refusal("supervisor checks test-runs")
    assert (refused.code, refused.facts["count"]) == ("equipment/untested", 50)


def test_trial_at_a_table_without_lights_expects_none() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("supervisor sets the table up without lights", "dealer starts a test")
    by = Actor(id="d", role="dealer")
    (entered,) = table.send(commands.EnterTrial(by=by, keys=[1, 2, 3]))
    assert isinstance(entered, events.TrialEntered)
    assert entered.dark == []


@pytest.mark.clause("nz-tai-sai-2008 5.0(b)")
def test_new_lights_are_tested_from_the_beginning() -> None:
    table = Table(NZ)
    table.play("supervisor registers lights l-1", "supervisor starts a test")
    table.play("supervisor tests every result with big dark with small stray")
    table.play("supervisor tests 1 2 3 with big dark echoing 1 displaying 1")
    table.play("supervisor registers terminal k-1", "supervisor registers results-display d-1")
    assert table.state.equipment.wrong == set()
    assert table.state.equipment.dark == {"big"}

    table.play("supervisor replaces l-1 by l-2: dark")
    equipment = table.state.equipment
    assert (equipment.dark, equipment.stray, equipment.proved) == (set(), set(), set())
    table.play("supervisor ends the test")
    assert table.expect_refusal("supervisor checks test-runs").code == "equipment/untested"


# --- checks and the register --------------------------------------------------------------------


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_table_is_released_from_one_cause_with_the_pieces_of_that_cause_only() -> None:
    table = Table(NZ)
    for piece in ("tumbler t-1", "results-display d-1"):
        table.play(f"supervisor registers {piece}")
    table.play("dealer reports tumbler-fault by t-1", "dealer reports display-wrong by d-1")
    table.play("supervisor releases the table from tumbler-fault: mended")
    conditions = {name: piece.condition for name, piece in table.state.equipment.pieces.items()}
    assert conditions == {"t-1": "in-order", "d-1": "faulty"}


def test_check_that_names_no_equipment_fails_by_any_piece() -> None:
    game = load(NZ)
    power = msgspec.structs.replace(game.facts.opening["power"], pieces=[])
    table = table_on_changed_game(replace_facts(game, opening={"power": power}))
    table.play("supervisor registers bell b-1", "supervisor fails power by b-1: no power")
    assert table.expect_refusal("supervisor checks power").code == "equipment/faulty"
    with pytest.raises(Exception, match="give the reason"):
        table.play("supervisor fails power by b-1:  ")


def test_equipment_commands_need_a_reason() -> None:
    table = Table(NZ)
    table.play("supervisor registers tumbler t-1", "dealer reports tumbler-fault by t-1")
    for line in ("supervisor replaces t-1 by t-2:  ", "supervisor releases t-1:  "):
        assert table.expect_refusal(line).code == "reason/missing"


def test_dealer_does_not_register_equipment() -> None:
    assert Table(NZ).expect_refusal("dealer registers bell b-1").code == "role/not-allowed"


def test_lights_that_fail_name_no_piece_if_there_are_two() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("supervisor registers lights l-1", "supervisor registers lights l-2")
    table.play("open betting", "close betting", "tumbles 3 times", "uncover the dice", "call 1 2 3")
    failed = table.play("enter 1 2 3", "the lights fail")
    assert not any(isinstance(event, events.PieceFailed) for event in failed)


@pytest.mark.clause("triple-dice 9")
def test_repeated_throw_leaves_out_the_same_steps_again() -> None:
    game = load("triple-dice/mat")
    steps = game.facts.procedure.steps
    entry = msgspec.structs.replace(steps["call-result"], optional=True, equipment=["terminal"])
    order = [*game.facts.procedure.order]
    order.insert(order.index("call-result") + 1, "enter-result")
    procedure = msgspec.structs.replace(
        game.facts.procedure, order=order, steps={**steps, "enter-result": entry}
    )
    terminal = msgspec.structs.replace(game.facts.equipment["dice"], needed="optional")
    equipment = {**game.facts.equipment, "terminal": terminal}
    table = table_on_changed_game(replace_facts(game, procedure=procedure, equipment=equipment))
    table.play("supervisor sets the table up without terminal", "offer the dice to ann")
    table.play("ann chooses dice 1 2 3", "open betting", "ann bets 50 on shooter", "close betting")
    table.play("ann throws", "dealer reports dice-not-flat")
    assert "enter-result" in table.state.current.done
    assert "throw" not in table.state.current.done


def test_rulebook_without_equipment_uses_what_every_table_has() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    people = msgspec.structs.replace(game.facts.people, acts={})
    table = table_on_changed_game(replace_facts(game, equipment={}, people=people))
    table.play("supervisor registers dice d-1 with 3 dice", "supervisor registers chip-rack r-1")
    table.play("supervisor installs dice d-1", "supervisor starts a test", "supervisor tests 1 2 3")
    refused = table.expect_refusal("supervisor sets the table up without lights")
    assert refused.code == "equipment/unknown-kind"


# --- the log ------------------------------------------------------------------------------------


def life_of_a_table() -> Table:
    """Return a table with two rounds, between which dice and tumbler were exchanged."""
    table = Table(NZ)
    table.play("supervisor registers tumbler t-1", "supervisor checks tumbler")
    table.play("supervisor registers dice d-1 with 3 dice", "supervisor registers bell b-1")
    table.play("supervisor installs dice d-1 under seal n-1")
    table.play("supervisor checks seal seeing seal n-1", "open betting", "dice 6 5 4")
    table.play("supervisor replaces t-1 by t-2: worn", "supervisor checks tumbler")
    table.play("supervisor finds dice d-1 damaged by 2: chipped", "supervisor removes dice d-1: -")
    table.play("supervisor destroys dice d-1 with pit-manager")
    table.play("supervisor registers dice d-2 with 3 dice")
    table.play("supervisor installs dice d-2 under seal n-2")
    table.play("supervisor checks seal seeing seal n-2", "open betting")
    table.play("dealer reports tumbler-fault by t-2")
    return table


@pytest.mark.clause("nz-tai-sai-2008 3.4(e)")
def test_log_tells_which_equipment_served_a_round() -> None:
    table = life_of_a_table()

    first, second = (equipment_of_round(table.events, number) for number in (1, 2))
    assert first
    assert second
    assert [(each.piece, each.seal, each.condition) for each in first.pieces] == [
        ("t-1", "", "in-order"),
        ("d-1", "n-1", "in-order"),
        ("b-1", "", "in-order"),
    ]
    assert first.pieces[1].dice == ["d-1-1", "d-1-2", "d-1-3"]
    assert [(each.piece, each.seal, each.condition) for each in second.pieces] == [
        ("b-1", "", "in-order"),
        ("t-2", "", "in-order"),
        ("d-2", "n-2", "in-order"),
    ]
    assert equipment_of_round(table.events, 3) is None
    assert [each.condition for each in equipment_in_use(table.events).pieces][1] == "faulty"


def test_fault_that_is_found_in_a_round_is_told_with_the_round() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("supervisor registers lights l-1", "open betting", "close betting")
    table.play("tumbles 3 times", "uncover the dice", "call 1 2 3", "enter 1 2 3")
    table.play("the lights fail", "collect the losers", "pay the winners")
    table.play("supervisor releases l-1: mended")

    served = equipment_of_round(table.events, 1)
    assert served
    assert [each.condition for each in served.pieces] == ["faulty"]


def test_log_shows_the_equipment_of_a_round_that_leaves_out_steps_with_a_failed_piece() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("supervisor registers lights l-1", "open betting", "close betting")
    table.play("tumbles 3 times", "uncover the dice", "call 1 2 3", "enter 1 2 3")
    (failed, *_) = table.play("dealer reports illumination-failed by l-1")[1:]
    table.play("collect the losers", "pay the winners")

    assert isinstance(failed, events.PieceFailed)
    assert failed.skipped == ["illuminate"]
    for served in (equipment_of_round(table.events, 1), equipment_in_use(table.events)):
        assert served
        assert [each.condition for each in served.pieces] == ["faulty"]


def test_events_about_equipment_replay_and_are_described() -> None:
    table = life_of_a_table()
    table.play("supervisor releases the table under a substitute procedure: by hand")
    table.play("supervisor starts a test", "supervisor tests 1 2 3 with small dark echoing 1")
    table.play("supervisor ends the test", "supervisor registers lights l-1 under seal z-1")
    table.play("supervisor fails power by l-1: no power", "supervisor releases l-1: plugged in")
    table.play("supervisor sets the table up without results-display")

    assert replay(table.events) == table.state
    text = "\n".join(describe_events(table.game, table.events))
    for line in (
        "The supervisor registers lights l-1, seal z-1.",
        "the seal is untouched, seal n-1.",
        "The supervisor replaces tumbler t-1 by t-2: worn.",
        "The supervisor inspects the dice d-1, damaged (dice 2): chipped.",
        "The supervisor and the pit-manager destroy the dice d-1.",
        "The dealer reports t-2 as faulty: tumbler-fault.",
        "The supervisor releases t-2, out of use, with a substitute: by hand.",
        "Test 1, 1 2 3: dark small; wrong echo.",
        "The supervisor checks, and l-1 fails: The electronic equipment is connected to power",
        "The supervisor releases l-1, rectified: plugged in.",
        "The supervisor sets the table up without results-display.",
    ):
        assert line in text


def test_state_with_a_register_is_encoded_and_decoded() -> None:
    house_table = HouseTable(table=life_of_a_table().state)
    assert FOLDS["table"].decode_state(encode_state(house_table)) == house_table


def test_die_has_a_serial_number() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"serial": ""}, Die)
