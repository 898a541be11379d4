"""The effect of a command on players' money, before it is sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from threedice.errors import Refusal
from threedice.house.reports.projection import player_gains
from threedice.house.stream_state import HouseTable, postings_of
from threedice.table.events import TableEvent
from threedice.table.forecast import forecast_settlement, state_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.house.decisions import Decision
    from threedice.house.events import AnyStreamEvent
    from threedice.rulebook import Game
    from threedice.table.state import TableState


def effect_on_players(game: Game | None, state: object, decision: Decision) -> dict[str, int]:
    """Return by how much a decision changes what each player gains; players without change are out.

    `state` is that of the table or the account before it. Chips and money count at once. If a
    result of the round in play is called, the payments that are due by it before and after the
    decision count too: an amended result moves nothing itself, but changes who is paid.
    """
    gains = _gains_by(event for events in decision for event in events)
    if game is not None and isinstance(state, HouseTable):
        events = [event for event in decision[0] if isinstance(event, TableEvent)]
        gains.update(_due(game, state_after(state.table, events)))
        gains.subtract(_due(game, state.table))
    return {player: gain for player, gain in sorted(gains.items()) if gain}


def _gains_by(events: Iterable[AnyStreamEvent]) -> Counter[str]:
    gains = Counter[str]()
    for event in events:
        gains.update(player_gains(postings_of(event)))
    return gains


def _due(game: Game, state: TableState) -> Counter[str]:
    """Return what each player gains by the settlement of the round, if its result is called."""
    if state.round is None or state.round.called is None:
        return Counter()
    try:
        return _gains_by(forecast_settlement(game, state))
    except Refusal:  # a table that is locked or waits for a decision settles nothing yet
        return Counter()
