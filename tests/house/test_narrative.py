"""Bets explained from the log: as from the whole history, in one pass, in a currency if need be."""

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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.table.events import AnyEvent


def logged(events: Iterable[AnyEvent]) -> MemoryStore:
    store = MemoryStore()
    cause = hash_cause("night", "all of it", bytes(32))
    entries, _ = extend_stream(EMPTY_HEAD, "table/1", 5, cause, map(encode, events))
    append = Append("table/1", EMPTY_HEAD, entries)
    store.write([Proposal("night", "all of it", bytes(32), (append,))])
    return store


def test_every_bet_is_explained_from_the_log_as_from_all_that_happened() -> None:
    explained = 0
    for number, (name, readings) in enumerate(GAMES_AND_READINGS):
        table = run_random_table(load(name, readings), "record", number, 400)
        store, game = logged(table.events), table.game
        bets = [event for event in table.events if isinstance(event, BetPlaced)]
        rounds = [event.round for event in table.events if isinstance(event, RoundStarted)]
        for round_ in rounds[:: max(1, len(rounds) // 4)]:
            for player in {bet.player for bet in bets}:
                told = explain_player_bets(store, lambda _: game, "1", round_, player)  # noqa: B023
                assert told is not None
                for spot, lines in told.items():
                    assert lines == explain(game, table.events, BetRef(round_, player, spot))
                    explained += 1
        assert explain_player_bets(store, lambda _: game, "1", 10**6, "ann") is None  # noqa: B023
    assert explained > 50


def test_amounts_are_said_as_whoever_reads_them_counts() -> None:
    table = Table()
    table.play("open betting", "ann bets 150 on big", "ann bets 50 on total:15", "dice 6 5 4")
    store, say = logged(table.events), partial(format_currency, currency="SGD")
    told = explain_player_bets(store, lambda _: table.game, "1", 1, "ann", say)

    assert told is not None
    assert told["big"][0] == "1.50 placed on big."
    assert told["big"][-1] == "1.50 at 1 to 1 pays 1.50; 1.50 is handed back."
    assert told["total:15"][-1].startswith("0.50 at ")
