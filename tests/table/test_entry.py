"""The called roll is the result of a round; the entry at the terminal is a separate fact."""

from __future__ import annotations

import pytest

from tests.table.table_driver import Table
from threedice.table import events
from threedice.table.commands import Actor
from threedice.table.evolve import replay
from threedice.table.explanation import BetRef, explain

CALLED = ("open betting", "ann bets 100 on big", "bob bets 100 on small", "close betting",
          "tumbles 3 times", "uncover the dice", "call 6 5 4")  # fmt: skip


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10", "sg-rws-tai-sai-v6 5.11")
@pytest.mark.parametrize(
    "equipment",
    [
        [],
        ["the lights fail"],
        ["enter 1 2 4"],
        ["enter 1 2 4", "the lights fail"],
        ["enter 6 5 4"],
        ["enter 6 5 4", "light the areas"],
    ],
    ids=", ".join,
)
def test_called_dice_are_paid_whatever_the_equipment_shows(equipment: list[str]) -> None:
    table = Table()
    table.play(*CALLED, *equipment, "collect the losers", "pay the winners")

    assert (table.stack("ann"), table.stack("bob")) == (2100, 1900)
    paid = next(each for each in table.events if isinstance(each, events.WinnersPaid))
    assert paid.dice == (6, 5, 4)
    assert explain(table.game, table.events, BetRef(1, "bob", "small"))[-1] == "100 is taken."
    assert replay(table.events) == table.state


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
def test_lights_that_fail_are_recorded_with_the_areas_that_win_by_the_dice() -> None:
    table = Table()
    (failed,) = table.play(*CALLED, "enter 1 2 4", "the lights fail")[-1:]

    assert isinstance(failed, events.AreasLit)
    assert not failed.correct
    assert "big" in failed.boxes
    assert not table.state.locked


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
def test_going_by_the_dice_changes_neither_the_call_nor_the_entry() -> None:
    table = Table()
    table.play(*CALLED, "enter 1 2 4", "collect the losers")

    assert table.state.current.called == (6, 5, 4)
    assert table.state.current.result == (1, 2, 4)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
def test_amended_call_without_an_entry_leaves_the_terminal_empty() -> None:
    table = Table()
    table.play(*CALLED, "dealer amends the result to 1 2 4 with supervisor")

    assert (table.state.current.called, table.state.current.result) == ((1, 2, 4), None)
    table.play("collect the losers", "pay the winners")
    assert (table.stack("ann"), table.stack("bob")) == (1900, 2100)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6", "sg-rws-tai-sai-v6 5.12")
def test_void_during_settlement_by_the_dice_returns_the_winning_bets_of_the_called_dice() -> None:
    table = Table()
    table.play(*CALLED, "enter 1 2 4", "collect the losers",
               "supervisor reports dice-damaged with pit-manager")  # fmt: skip

    assert (table.stack("ann"), table.stack("bob")) == (2000, 2000)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
@pytest.mark.parametrize("line", ["enter 6 5 4", "light the areas", "the lights fail"])
def test_step_that_was_left_out_cannot_be_taken_after_settlement_has_begun(line: str) -> None:
    table = Table()
    table.play(*CALLED, "collect the losers")

    assert table.expect_refusal(line).code == "step/too-late"


@pytest.mark.clause("nz-tai-sai-2008 6.4", "nz-tai-sai-2008 6.5", "nz-tai-sai-2008 7.2")
def test_new_zealand_requires_the_entry_and_the_lights() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big", "close betting", "uncover the dice",
               "call 6 5 4")  # fmt: skip

    assert table.expect_refusal("collect the losers").code == "step/not-now"
    assert table.expect_refusal("the lights fail").code == "step/not-now"
    table.play("enter 1 2 4")
    assert table.expect_refusal("collect the losers").code == "step/not-now"
    assert table.expect_refusal("the lights fail").code == "dice/unequal"


@pytest.mark.clause("sg-rws-tai-sai-v6 5.10")
def test_pit_manager_may_approve_a_changed_call_and_a_player_may_not() -> None:
    table = Table()
    table.play(*CALLED)
    refused = table.expect_refusal("dealer amends the result to 1 2 4 with ann")

    assert refused.code == "role/second-person"
    (amended,) = table.play("dealer amends the result to 1 2 4 with pit-manager")
    assert isinstance(amended, events.ResultAmended)
    assert amended.approved_by == Actor(id="pit-manager", role="pit-manager")
