"""A table's stream as prose: what `table.prose` tells of the game, and what the floor did."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from threedice.floor import events as happened
from threedice.floor.events import FloorEvent
from threedice.table.events import RoundStarted, TableOpened
from threedice.table.prose import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from threedice.floor.events import AnyFloorEvent, AnyStreamEvent
    from threedice.money import Say
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


def tell_stream(
    events: Iterable[AnyStreamEvent], game_of: Callable[[str], Game], say: Say = str
) -> Iterator[str]:
    """Yield one line for each event of a table's stream, under the game that it was played on."""
    game: Game | None = None
    for event in events:
        if isinstance(event, happened.TableEstablished | TableOpened | RoundStarted):
            game = game_of(event.game_hash)
        if isinstance(event, FloorEvent):
            yield _line(event)
        elif game is not None:
            yield from tell(game, [cast("AnyEvent", event)], say)


def _line(event: AnyFloorEvent) -> str:
    match event:
        case happened.TableEstablished():
            dealt = "the house" if event.dealt_by_house else "people"
            return f"Table {event.table} is set up for {event.game}, dealt by {dealt}."
        case happened.SeedCommitted():
            return f"  The house commits to the dice of round {event.round}: {event.commitment}."
        case happened.SeedRevealed():
            return f"  The seed of round {event.round} is revealed: {event.seed}."
        case happened.SeedLost():
            return f"  The seed of round {event.round} is lost."
        case happened.TableInterrupted():
            return f"  The house was away: round {event.round} is interrupted."
        case happened.InterruptionResolved():
            known = ", ".join(map(str, event.known)) or "none"
            return f"  Dice known: {known}; confirmed by the {event.confirmed_by.role}."
        case happened.PlayersNotified():
            players = ", ".join(event.players) or "nobody"
            return f"  Told to {players}: round {event.round} {_OUTCOMES[event.outcome]}."
        case happened.WritingReleased():
            return f"The house writes again ({event.cause}): {event.reason}."


_OUTCOMES = {"void": "is void, bets are returned", "goes on": "goes on"}
