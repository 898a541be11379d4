"""Interruptions: known dice, and whether the round continues or is void."""

from __future__ import annotations

import pytest

from tests.table.table_driver import SUPERVISOR, Table
from threedice.table import events as table_events

START = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4", "sg-rws-tai-sai-v6 5.5.3")
def test_interruption_with_known_dice_before_the_tumble_is_refused() -> None:
    table = Table()
    table.play("open betting")

    assert (
        table.expect_refusal("dealer reports interruption knowing 6 6").code == "irregularity/dice"
    )


@pytest.mark.clause("sg-rws-tai-sai-v6 5.5.3", "nz-tai-sai-2008 7.1(c)")
@pytest.mark.parametrize("game", ["sg-rws-tai-sai-v6/a", "nz-tai-sai-2008/1"])
def test_dice_exposed_while_betting_is_open_stop_the_round_until_a_second_person_voids_it(
    game: str,
) -> None:
    table = Table(game)
    table.play("open betting", "ann bets 50 on big")
    if "tumble" not in table.state.current.done:
        table.play("tumbles 3 times")
    (stopped,) = table.play("dealer reports interruption knowing 6 6")[:1]
    assert isinstance(stopped, table_events.RoundStopped)
    assert table.stack("ann") == 1950

    (voided,) = table.play("dealer reports interruption knowing 6 6 with supervisor")[:1]
    assert isinstance(voided, table_events.RoundVoided)
    assert stopped.cause == voided.cause == "exposed-before-close"
    assert table.stack("ann") == 2000


def test_uncovered_dice_are_known_only_after_betting_closes() -> None:
    table = Table("triple-dice")
    table.play(*START, "ann bets 50 on shooter", "close betting", "ann throws",
               "dealer reports interruption knowing crown")  # fmt: skip
    assert table.state.current.known == [1]
    other = Table("triple-dice")
    other.play(*START)
    other.state.current.done.add("throw")
    assert (
        other.expect_refusal("dealer reports interruption knowing crown").code
        == "irregularity/not-now"
    )


def test_result_that_contradicts_dice_known_at_an_interruption_is_refused() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "uncover the dice", "dealer reports interruption knowing 6 6")  # fmt: skip

    assert (
        table.expect_refusal("dealer reports interruption knowing 1 1").code == "irregularity/dice"
    )
    table.play("dealer reports interruption")
    assert table.state.current.known == [6, 6]
    assert table.expect_refusal("call 1 2 3").code == "dice/known"
    table.play("call 6 6 1", "enter 6 6 1")
    assert (
        table.expect_refusal("dealer amends the result to 1 2 3 with supervisor").code
        == "dice/known"
    )


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4.1", "sg-rws-tai-sai-v6 5.4.2")
@pytest.mark.parametrize("available", ["layout", "placed"])
@pytest.mark.parametrize(
    "steps",
    [
        ["call 6 5 4"],
        ["call 6 5 4", "enter 6 5 4"],
        ["call 6 5 4", "enter 6 5 4", "light the areas", "collect the losers"],
    ],
)
def test_interrupted_round_without_bets_continues_once_the_result_is_called(
    available: str, steps: list[str]
) -> None:
    table = Table(readings={"available": available})
    table.play("open betting", "close betting", "tumbles 3 times", "uncover the dice", *steps)
    events = table.play("dealer reports interruption")

    assert isinstance(events[0], table_events.RoundContinued)
    assert events[0].known == [6, 5, 4]
    table.play("dice 6 5 4")
    assert list(table.state.settled) == [1]


@pytest.mark.clause("nz-tai-sai-2008 7.2", "nz-tai-sai-2008 7.3")
@pytest.mark.parametrize("game", ["sg-rws-tai-sai-v6/a", "nz-tai-sai-2008/1"])
def test_wrong_entry_can_be_amended_to_the_called_result_after_an_interruption(game: str) -> None:
    table = Table(game)
    table.play("open betting", "ann bets 50 on total:10", "close betting")
    if "tumble" not in table.state.current.done:
        table.play("tumbles 3 times")
    table.play("uncover the dice", "call 1 3 6", "enter 1 3 5", "dealer reports interruption")

    assert table.state.current.known == [1, 3, 6]
    table.play("dealer amends the result to 1 3 6 with supervisor", "dice 1 3 6")
    assert table.stack("ann") == 2300


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4.2")
def test_interruption_before_the_call_voids_a_round_without_placed_bets() -> None:
    table = Table(readings={"available": "placed"})
    table.play("open betting", "close betting", "tumbles 3 times", "uncover the dice")
    events = table.play("dealer reports interruption knowing 6 5 4 with supervisor")

    assert isinstance(events[0], table_events.RoundVoided)
    assert events[0].approved_by == SUPERVISOR


def test_table_with_a_called_result_cannot_be_closed() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on triple:6", "close betting", "uncover the dice",
               "call 6 6 6")  # fmt: skip

    assert table.expect_refusal("close the table").code == "table/round-open"
