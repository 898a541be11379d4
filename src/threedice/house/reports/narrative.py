"""Describe a table's stream in plain text, and explain a player's bets from it.

`table.prose` describes the events of the game; this module adds those of the house.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from threedice.house import events as house_events
from threedice.house.codec import decode, tag_of
from threedice.house.events import HouseEvent
from threedice.house.stream_state import table_stream
from threedice.table.events import RoundStarted, TableOpened
from threedice.table.explanation import POST_SETTLEMENT_EVENTS, explain_round
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from threedice.house.events import AnyHouseEvent, AnyStreamEvent
    from threedice.log.store import Store
    from threedice.money import AmountFormatter
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.limits import Spot


def describe_stream(
    events: Iterable[AnyStreamEvent], game_of: Callable[[str], Game], fmt: AmountFormatter = str
) -> Iterator[str]:
    """Yield one line of text for each event of a table's stream."""
    game: Game | None = None
    for event in events:
        if isinstance(event, house_events.TableEstablished | TableOpened | RoundStarted):
            game = game_of(event.game_hash)
        if isinstance(event, HouseEvent):
            yield _describe_house_event(event)
        elif game is not None:
            yield from describe_events(game, [cast("AnyEvent", event)], fmt)


def _describe_house_event(event: AnyHouseEvent) -> str:
    match event:
        case house_events.TableEstablished():
            dealt = "the house" if event.dealt_by_house else "people"
            return f"Table {event.table} is set up for {event.game}, dealt by {dealt}."
        case house_events.SeedCommitted():
            return f"  The house commits to the dice of round {event.round}: {event.commitment}."
        case house_events.SeedRevealed():
            return f"  The seed of round {event.round} is revealed: {event.seed}."
        case house_events.SeedLost():
            return f"  The seed of round {event.round} is lost."
        case house_events.TableInterrupted():
            return f"  After an outage: round {event.round} is interrupted."
        case house_events.InterruptionResolved():
            known = ", ".join(map(str, event.known)) or "none"
            return f"  Dice known: {known}; confirmed by the {event.confirmed_by.role}."
        case house_events.PlayersNotified():
            players = ", ".join(event.players) or "nobody"
            return f"  Notice to {players}: round {event.round} {_OUTCOMES[event.outcome]}."
        case house_events.WritingReleased():
            return f"The house writes again ({event.cause}): {event.reason}."


_OUTCOMES = {"void": "is void, bets are returned", "goes on": "goes on"}
_ROUND_STARTED: Final = tag_of(RoundStarted)
_LATER_KINDS: Final = frozenset(tag_of(event_type) for event_type in POST_SETTLEMENT_EVENTS)


def explain_player_bets(
    store: Store,
    game_of: Callable[[str], Game],
    table: str,
    number: int,
    player: str,
    fmt: AmountFormatter = str,
) -> dict[Spot, list[str]] | None:
    """Explain the outcome of each of a player's bets in a round; None if there is no such round."""
    for entry in store.scan(table_stream(table)):
        if entry.kind == _ROUND_STARTED:
            event = decode(entry)
            if isinstance(event, RoundStarted) and event.round == number:
                history = _history(store, table, number)
                return explain_round(game_of(event.game_hash), history, number, player, fmt)
    return None


def _history(store: Store, table: str, number: int) -> Iterator[AnyEvent]:
    """Yield the events up to the end of a round, and later events that can change its outcome."""
    is_over = False
    for entry in store.scan(table_stream(table)):
        if is_over and entry.kind not in _LATER_KINDS:
            continue
        event = decode(entry)
        if isinstance(event, RoundStarted) and event.round > number:
            is_over = True
        elif not isinstance(event, HouseEvent):
            yield cast("AnyEvent", event)
