"""The forecast of a settlement, on a copy of the table."""

from __future__ import annotations

from tests.table.table_driver import Table
from threedice.table import events
from threedice.table.forecast import forecast_settlement, state_after

SINGAPORE = "sg-rws-tai-sai-v6/a"
CALLED = (
    "open betting", "ann bets 100 on big", "bob bets 50 on small", "close betting",
    "tumbles 3 times", "uncover the dice", "call 6 5 4",
)  # fmt: skip


def test_forecast_of_a_called_round_is_its_settlement_and_changes_nothing() -> None:
    table = Table(SINGAPORE)
    table.play(*CALLED)
    before = table.state.seats["ann"].stack

    collected, paid = forecast_settlement(table.game, table.state)

    assert isinstance(collected, events.LosersCollected)
    assert isinstance(paid, events.WinnersPaid)
    assert table.state.seats["ann"].stack == before
    table.play("collect the losers")
    assert [type(event) for event in forecast_settlement(table.game, table.state)] == [type(paid)]


def test_state_after_forecast_events_has_the_payments_of_the_settlement() -> None:
    table = Table(SINGAPORE)
    table.play(*CALLED)

    after = state_after(table.state, forecast_settlement(table.game, table.state))
    table.play("collect the losers", "pay the winners")

    assert {player: seat.stack for player, seat in after.seats.items()} == {
        player: seat.stack for player, seat in table.state.seats.items()
    }
