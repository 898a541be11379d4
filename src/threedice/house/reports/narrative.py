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
    from threedice.table.explanation import ExplainedBet
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
        case house_events.VarianceAcknowledged():
            return f"  The {event.by.role} acknowledges the variance of slip {event.slip}."
        case house_events.WritingReleased():
            return f"The house writes again ({event.cause}): {event.reason}."
        case _:
            return _describe_operation(event)


def _describe_operation(
    event: (
        house_events.HouseRestored
        | house_events.SigningKeyRotated
        | house_events.KeysReplaced
        | house_events.EntriesAccepted
    ),
) -> str:
    match event:
        case house_events.HouseRestored():
            return f"The house is restored from a backup up to checkpoint {event.checkpoint}."
        case house_events.SigningKeyRotated():
            return f"The house signs with the key {event.new}, endorsed by {event.old}."
        case house_events.KeysReplaced():
            return f"Lost key files are replaced ({', '.join(event.files)}): {event.reason}."
        case house_events.EntriesAccepted():
            versions = f"Versions {event.first} to {event.version} of {event.stream}"
            return f"{versions}, which the house did not write, are accepted: {event.reason}."


_OUTCOMES = {"void": "is void, bets are returned", "goes on": "goes on"}
_ROUND_STARTED: Final = tag_of(RoundStarted)
_LATER_KINDS: Final = frozenset(tag_of(event_type) for event_type in POST_SETTLEMENT_EVENTS)


def explain_player_bets(
    store: Store,
    game_of: Callable[[str], Game],
    table: str,
    number: int,
    player: str,
) -> tuple[Game, dict[Spot, ExplainedBet]] | None:
    """Explain the outcome of each of a player's bets in a round; None if there is no such round.

    The game that the round was played by comes with it: it has the words.
    """
    for entry in store.scan(table_stream(table)):
        if entry.kind == _ROUND_STARTED:
            event = decode(entry)
            if isinstance(event, RoundStarted) and event.round == number:
                history = _history(store, table, number)
                game = game_of(event.game_hash)
                return game, explain_round(game, history, number, player)
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
