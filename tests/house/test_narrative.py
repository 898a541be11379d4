"""Explanations of bets, read from the log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.properties.random_table import GAMES_AND_READINGS, run_random_table
from tests.table.table_driver import Table
from threedice.house.codec import encode
from threedice.house.reports.narrative import explain_player_bets
from threedice.log.entry import EMPTY_HEAD, extend_stream, hash_cause
from threedice.log.records import Append, Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.money import format_currency
from threedice.rulebook import load
from threedice.table import BetRef, explain
from threedice.table.events import BetPlaced, RoundStarted
from threedice.table.explanation_texts import format_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.table.events import AnyEvent


def store_events(events: Iterable[AnyEvent]) -> MemoryStore:
    store = MemoryStore()
    cause = hash_cause("night", "all of it", bytes(32))
    entries, _ = extend_stream(EMPTY_HEAD, "table/1", 5, cause, map(encode, events))
    append = Append("table/1", EMPTY_HEAD, entries)
    store.write([Proposal("night", "all of it", bytes(32), (append,))])
    return store


def test_bets_are_explained_from_the_log_as_from_the_full_history() -> None:
    explained = 0
    for number, (name, readings) in enumerate(GAMES_AND_READINGS):
        table = run_random_table(load(name, readings), "record", number, 400)
        store, game = store_events(table.events), table.game
        bets = [event for event in table.events if isinstance(event, BetPlaced)]
        rounds = [event.round for event in table.events if isinstance(event, RoundStarted)]
        for round_ in rounds[:: max(1, len(rounds) // 4)]:
            for player in {bet.player for bet in bets}:
                found = explain_player_bets(store, lambda _: game, "1", round_, player)  # noqa: B023
                assert found is not None
                for spot, bet in found[1].items():
                    lines = [format_line(game, line) for line in bet.lines]
                    assert lines == explain(game, table.events, BetRef(round_, player, spot))
                    explained += 1
        assert explain_player_bets(store, lambda _: game, "1", 10**6, "ann") is None  # noqa: B023
    assert explained > 50


def test_bet_explanations_format_amounts_in_the_table_currency() -> None:
    table = Table()
    table.play("open betting", "ann bets 150 on big", "ann bets 50 on total:15", "dice 6 5 4")
    store, format_amount = store_events(table.events), partial(format_currency, currency="SGD")
    found = explain_player_bets(store, lambda _: table.game, "1", 1, "ann")

    assert found is not None
    game, bets = found
    texts = {
        spot: [format_line(game, line, format_amount) for line in bet.lines]
        for spot, bet in bets.items()
    }
    assert texts["big"][0] == "1.50 placed on big."
    assert texts["big"][-1] == "1.50 at 1 to 1 pays 1.50; 1.50 is handed back."
    assert texts["total:15"][-1].startswith("0.50 at ")
