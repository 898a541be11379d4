"""Steps and call bets that the dealer records for players."""

from __future__ import annotations

import msgspec
import pytest

from tests.table.table_driver import DEALER, Table
from threedice.table import commands, replay
from threedice.table import events as table_events
from threedice.table.commands import Actor
from threedice.table.prose import describe_events

SHOOTER = Actor(id="ann", role="shooter")


@pytest.mark.clause("triple-dice 3", "triple-dice 7.8")
def test_recorded_choice_and_throw_name_the_shooter_and_who_recorded_them() -> None:
    table = Table("triple-dice")
    (chosen,) = table.play("offer the dice to ann", "dealer chooses dice 1 2 5 for ann")[-1:]
    table.play("open betting", "dealer bets 100 on shooter for ann", "close betting")
    (thrown,) = table.play("dealer throws for ann")

    assert chosen == table_events.DiceChosen(player="ann", dice=[1, 2, 5], recorded_by=DEALER)
    assert thrown == table_events.StepTaken(step="throw", by=SHOOTER, recorded_by=DEALER)
    assert describe_events(table.game, [chosen, thrown]) == [
        "  ann chooses dice 1, 2, 5, recorded by the dealer.",
        "  The shooter takes the step: throw, recorded by the dealer.",
    ]
    assert replay(table.events) == table.state


@pytest.mark.clause("triple-dice 7.2")
def test_dealer_throws_for_a_shooter_who_has_left() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 5", "open betting",
               "ann bets 100 on shooter", "dealer reports walked-away of ann",
               "close betting")  # fmt: skip

    assert table.play("dealer throws for ann") == [table_events.StepTaken(step="throw", by=DEALER)]


def test_steps_that_the_shooter_takes_are_encoded_as_before() -> None:
    by = {"id": "ann", "role": "shooter"}
    command: commands.AnyCommand
    for command, fields in (
        (commands.ChooseDice(by=SHOOTER, dice=[1, 2, 5]), {"by": by, "dice": [1, 2, 5]}),
        (commands.Throw(by=SHOOTER), {"by": by}),
    ):
        assert msgspec.to_builtins(command) == {"type": type(command).__name__, **fields}
    table = Table("triple-dice")
    chosen = table.play("offer the dice to ann", "ann chooses dice 1 2 5")[-1]

    assert msgspec.to_builtins(chosen) == {
        "type": "DiceChosen",
        "player": "ann",
        "dice": [1, 2, 5],
    }


@pytest.mark.clause("triple-dice 7.1")
def test_shooter_s_bet_by_the_dealer_is_the_shooter_s_and_names_the_dealer() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "dealer chooses dice 1 2 5 for ann", "open betting")
    (placed,) = table.play("dealer bets 100 on shooter for ann")

    assert isinstance(placed, table_events.BetPlaced)
    assert (placed.player, placed.manner, placed.by) == ("ann", "shooter", DEALER)
    assert table.state.shooter is not None
    assert table.state.shooter.stake == 100


@pytest.mark.clause("triple-dice 7")
def test_table_without_a_willing_shooter_closes_and_returns_the_bets() -> None:
    table = Table("triple-dice", stacks={"ann": 1000, "bob": 1000})
    table.play("offer the dice to ann", "dealer chooses dice 1 2 5 for ann", "open betting",
               "bob bets 50 on black", "dealer reports walked-away of ann")  # fmt: skip
    closed = table.play("close the table")[-1]

    assert isinstance(closed, table_events.TableClosed)
    assert dict(closed.carried_away) == {"ann": 1000, "bob": 1000}


@pytest.mark.clause("nz-tai-sai-2008 4.5")
def test_call_bet_that_the_dealer_records_is_no_bet_on_behalf() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting")
    (placed,) = table.play("dealer calls 100 on big for ann")

    assert isinstance(placed, table_events.BetPlaced)
    assert (placed.player, placed.manner, placed.by) == ("ann", "call", DEALER)
    assert describe_events(table.game, [placed]) == ["  ann bets 100 on big, as a call bet."]
