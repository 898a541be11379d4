"""Commands that one person may send alone record the second person who approved them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR, Table
from threedice.table import Refusal, commands
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from threedice.table.commands import AnyCommand

PIT_MANAGER = Actor(id="pit", role="pit-manager")
APPROVED: list[tuple[AnyCommand, Actor]] = [
    (commands.BuyIn(by=DEALER, player="ann", amount=100, age_years=30), SUPERVISOR),
    (commands.CashOut(by=DEALER, player="ann", amount=100), SUPERVISOR),
    (commands.FillFloat(by=SUPERVISOR, amount=100), PIT_MANAGER),
    (commands.CreditFloat(by=SUPERVISOR, amount=100), PIT_MANAGER),
    (commands.MakeRuling(by=MANAGER, player="ann", amount=100, reason="fair"), PIT_MANAGER),
    (commands.RepayDebt(by=DEALER, player="cat", amount=100, source="cash"), SUPERVISOR),
    (commands.CloseTable(by=SUPERVISOR), PIT_MANAGER),
]


def table_with_debt() -> Table:
    table = Table()
    table.state.owing["cat"] = 100
    return table


def approve(command: AnyCommand, by: Actor) -> Any:
    return msgspec.structs.replace(command, approved_by=by)


@pytest.mark.parametrize(("command", "second"), APPROVED)
def test_event_names_both_people(command: AnyCommand, second: Actor) -> None:
    event: Any = table_with_debt().send(approve(command, second))[-1]
    assert (event.by, event.approved_by) == (command.by, second)


@pytest.mark.parametrize(("command", "second"), APPROVED)
def test_nobody_approves_their_own_command_and_no_player_approves(
    command: AnyCommand, second: Actor
) -> None:
    own = Actor(id=command.by.id, role=second.role)
    player = Actor(id="bob", role="player")
    for person, code in ((own, "role/same-person"), (player, "role/second-person")):
        with pytest.raises(Refusal) as refused:
            table_with_debt().send(approve(command, person))
        assert refused.value.code == code


def test_supervisor_does_not_approve_a_ruling() -> None:
    ruling = commands.MakeRuling(by=MANAGER, player="ann", amount=100, reason="fair")
    with pytest.raises(Refusal) as refused:
        Table().send(approve(ruling, SUPERVISOR))
    assert refused.value.code == "role/second-person"


def test_table_opened_on_new_terms_names_both_people() -> None:
    table = Table()
    opened: Any = table.events[0]
    table.play("close the table")
    command = commands.OpenTable(
        by=SUPERVISOR, table="t", currency="SGD", mode="record", chips=opened.chips,
        float_amount=500, limits=opened.limits, approved_by=PIT_MANAGER,
    )  # fmt: skip
    (event,) = table.send(command)
    assert (event.by, event.approved_by) == (SUPERVISOR, PIT_MANAGER)  # type: ignore[union-attr]


def test_command_without_a_second_person_is_recorded_as_before() -> None:
    (event,) = Table().send(commands.CashOut(by=DEALER, player="ann", amount=100))
    recorded = {"type": "CashedOut", "player": "ann", "amount": 100, "to": "outside"}
    assert msgspec.to_builtins(event) == recorded
