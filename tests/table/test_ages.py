"""The minimum age of players and of the staff who deal or conduct the game."""

from __future__ import annotations

import msgspec
import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR, Table
from threedice.table import Refusal, commands, decide
from threedice.table.commands import Actor

TEN = pytest.mark.clause("triple-dice 10")
ANN = Actor(id="ann", role="player")
ADULTS = {"dealer": 18, "supervisor": 40, "manager": 50, "ann": 18}


def refusal(table: Table, command: commands.AnyCommand, ages: dict[str, int | None]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        decide(table.game, table.state, command, ages)
    return refused.value


@TEN
@pytest.mark.parametrize(
    "command",
    [
        commands.OfferDice(by=DEALER, player="ann"),
        commands.FillFloat(by=SUPERVISOR, amount=5000),
        commands.CloseTable(by=MANAGER),
        commands.BuyIn(by=DEALER, player="bob", amount=100, age_years=30),
        commands.FillFloat(by=SUPERVISOR, amount=5000, approved_by=MANAGER),
    ],
    ids=lambda command: type(command).__name__,
)
def test_nobody_under_age_deals_or_conducts_the_game(command: commands.AnyCommand) -> None:
    table = Table("triple-dice")
    approver: Actor | None = getattr(command, "approved_by", None) or None
    person = approver or command.by

    refused = refusal(table, command, {**ADULTS, person.id: 17})

    assert (refused.code, refused.clause) == ("role/age", ("10",))
    assert refused.facts == {"role": person.role, "years": 18}
    assert decide(table.game, table.state, command, ADULTS)


@TEN
def test_player_under_age_does_not_take_part() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    bet = commands.PlaceBet(by=ANN, player="ann", box="red", amount=50)
    shot = commands.PlaceBet(
        by=msgspec.structs.replace(ANN, role="shooter"), player="ann", box="shooter", amount=50
    )

    assert refusal(table, bet, {"ann": 17}).code == "player/age"
    assert refusal(table, shot, {"ann": 17}).code == "player/age"
    assert decide(table.game, table.state, shot, {"ann": 18})


@TEN
def test_age_of_staff_must_be_known_under_the_reading_that_everybody_proves_it() -> None:
    command = commands.OfferDice(by=DEALER, player="ann")
    lenient, strict = Table("triple-dice"), Table("triple-dice", readings=EVERYBODY)

    assert decide(lenient.game, lenient.state, command, {})
    assert decide(lenient.game, lenient.state, command, {"dealer": None})
    assert refusal(strict, command, {}).code == "role/age-unknown"
    assert refusal(strict, command, {"dealer": None}).code == "role/age-unknown"
    assert decide(strict.game, strict.state, command, {"dealer": 18})


EVERYBODY = {"age-proof": "everybody"}


def test_rulebook_without_a_minimum_age_asks_for_none() -> None:
    table = Table("nz-tai-sai-2008/1")

    assert decide(table.game, table.state, commands.CloseTable(by=SUPERVISOR), {"supervisor": 3})
