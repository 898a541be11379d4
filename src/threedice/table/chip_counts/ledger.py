"""Apply the chips that events move to their holders, and value what a holder has.

Holders: `float` (the rack), `stack/<player>`, `bet/<spot>/<player>`, `vault`, `outside`, and
`variance` (chips that a count missed or found). A move takes chips from one holder and gives the
same chips to another, so that every kind of chip is conserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.errors import InvariantBroken
from threedice.table import events
from threedice.table.chip_counts.counts import (
    ChipCounts,
    differences,
    face_value,
    value_of,
    values_of_chips,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.rulebook import Game
    from threedice.table.chip_counts.counts import ChipMove, ChipValues
    from threedice.table.events import AnyEvent
    from threedice.table.limits import PlayerId, Spot
    from threedice.table.state import TableState

ChipHolders = dict[str, ChipCounts]
"""The chips of each holder; a holder without chips has no entry."""

OUTSIDE_HOLDERS: Final = ("vault", "outside", "variance")
"""Holders outside the table, whose counts may go below zero."""


def bet_holder(spot: Spot, player: PlayerId) -> str:
    """Return the holder of a player's chips on a spot."""
    return f"bet/{spot}/{player}"


def event_moves(event: AnyEvent) -> Iterable[ChipMove]:
    """Return the chips that an event moves; a count moves what it missed or found."""
    if isinstance(event, events.ChipEvent):
        return event.chip_moves or ()
    if isinstance(event, events.RackCounted):
        return variance_moves(event)
    return ()


def variance_moves(event: events.RackCounted) -> list[ChipMove]:
    """Return the moves that bring the rack to what was counted."""
    change = differences(event.counted, event.expected)
    missing = {name: -count for name, count in change.items() if count < 0}
    found = {name: count for name, count in change.items() if count > 0}
    moves = [("float", "variance", "", missing), ("variance", "float", "", found)]
    return [move for move in moves if move[3]]


def apply_moves(holders: ChipHolders, moves: Iterable[ChipMove]) -> None:
    """Move chips between holders, in place.

    Raises `InvariantBroken` if a holder at the table has fewer than it gives.
    """
    for source, destination, _, counts in moves:
        given, taken = holders.setdefault(source, {}), holders.setdefault(destination, {})
        for name, count in counts.items():
            if count <= 0:
                raise InvariantBroken(f"a move of {count} chips {name} from {source}")
            given[name] = left = given.get(name, 0) - count
            if left < 0 and source not in OUTSIDE_HOLDERS:
                raise InvariantBroken(f"{source} went below zero, to {left} chips {name}")
            if not left:
                del given[name]
            taken[name] = held = taken.get(name, 0) + count
            if not held:  # what a holder outside the table owed
                del taken[name]
        if not given:
            del holders[source]
        if not taken:
            holders.pop(destination, None)


def chip_values(state: TableState, player: PlayerId) -> ChipValues:
    """Return the values of the chips that a player uses: all value chips, and their own colour."""
    seat = state.seats.get(player)
    if seat and seat.colour:
        return values_of_chips(tuple(state.chips), seat.colour, seat.colour_value)
    return values_of_chips(tuple(state.chips))


def chip_balance(state: TableState, account: str) -> int | None:
    """Return what the chips of an account are worth; None if the table does not count them.

    Chips in a player's colour are worth money only while they are out of the rack: the house owes
    for those what the value chips taken in for them are worth. At a table without an account for
    that, the float owes it.
    """
    holders = state.holders
    if holders is None:
        return None
    kind, _, player = account.partition("/")
    match kind:
        case "stack":
            return value_of(holders.get(account, {}), chip_values(state, player))
        case "float":
            value = face_value(holders.get("float", {}))
            return value if state.colours_owed is not None else value - owed_for_colours(state)
        case "colours":
            return 0 if state.colours_owed is None else -owed_for_colours(state)
        case "layout":
            return sum(
                value_of(counts, chip_values(state, holder.split("/", 2)[2]))
                for holder, counts in holders.items()
                if holder.startswith("bet/")
            )
        case _:
            return None


def owed_for_colours(state: TableState) -> int:
    """Return the value of the coloured chips that players hold, in their stacks and bets."""
    return sum(
        seat.colour_value * _chips_out(state.holders or {}, seat.colour)
        for seat in state.seats.values()
        if seat.colour
    )


def change_of_colours(state: TableState, event: events.ChipEvent, moves: Iterable[ChipMove]) -> int:
    """Return by how much the house owes more for coloured chips that leave or enter the rack.

    At a table without an account for that, the float owes, and nothing is recorded.
    """
    if state.colours_owed is None:
        return 0
    change = 0
    for source, destination, player, counts in moves:
        holders = (source, destination)
        if "float" in holders and not any(each in OUTSIDE_HOLDERS for each in holders):
            is_given = source == "float"
            worth = value_of(counts, _colour_value(state, event, player, is_given=is_given))
            change += worth if is_given else -worth
    return change


def _colour_value(
    state: TableState, event: events.ChipEvent, player: PlayerId, *, is_given: bool
) -> dict[str, int]:
    """Return the value of a player's colour: for chips given out for it, the one just declared."""
    if is_given and isinstance(event, events.ColourTaken):
        return {event.colour: event.value}
    seat = state.seats.get(player)
    return {seat.colour: seat.colour_value} if seat and seat.colour else {}


def _chips_out(holders: Mapping[str, ChipCounts], colour: str) -> int:
    """Return how many chips of a colour are in play: all that are neither racked nor away."""
    racked = ("float", *OUTSIDE_HOLDERS)
    return -sum(holders.get(each, {}).get(colour, 0) for each in racked)


def accounts_of(moves: Iterable[ChipMove]) -> set[str]:
    """Return the accounts whose value moves of chips may change; bets are on the layout."""
    holders = {holder for move in moves for holder in move[:2]}
    return {"layout" if holder.startswith("bet/") else holder for holder in holders}


def colour_holders(state: TableState) -> list[PlayerId]:
    """Return the players who hold chips in their colour, on the layout or in their stacks."""
    return [
        player
        for player, seat in state.seats.items()
        if seat.colour and _chips_out(state.holders or {}, seat.colour)
    ]


def chip_pile(
    game: Game, state: TableState, player: PlayerId, counts: Mapping[str, int]
) -> list[tuple[str, int]]:
    """Return the chips of a bet from the bottom to the top, as (chip, count).

    The rulebook may want the smaller chips on top; else they lie in any order, here ascending.
    """
    values = chip_values(state, player)
    large_first = game.facts.chips.smaller_on_top
    names = sorted(counts, key=lambda name: values.get(name, 0), reverse=large_first)
    return [(name, counts[name]) for name in names]
