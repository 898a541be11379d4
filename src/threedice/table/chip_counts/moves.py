"""Plan which chips a decision moves: for every event the chips that make its amounts up.

The amounts of an event are what the rules decide; this module chooses the chips for them, and is
the only place that does. Stakes that go back or to the rack go as they lie. Other amounts are made
with the fewest chips that their holder has; where those do not make it exactly, the dealer changes
one chip from the rack. An amount that the rack cannot make is refused; only a rejection is recorded
all the same, and what it cannot return waits with the bet.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar, assert_never, cast

import msgspec

from threedice.errors import Refusal
from threedice.money import stack_account
from threedice.table import commands, events
from threedice.table.chip_counts.counts import (
    ChipValues,
    differences,
    fewest_chips,
    is_value_chip,
    most_chips_within,
    value_of,
    without_zeros,
)
from threedice.table.chip_counts.ledger import (
    ChipHolders,
    apply_moves,
    bet_holder,
    change_of_colours,
    chip_values,
    variance_moves,
)
from threedice.table.money import table_postings
from threedice.table.rules import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.money import Posting
    from threedice.rulebook import Game
    from threedice.table.chip_counts.counts import ChipCounts, ChipMove
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import PlayerId, Spot
    from threedice.table.state import TableState

_ChipEventType = TypeVar("_ChipEventType", bound=events.ChipEvent)


def plan_chips(
    game: Game, state: TableState, command: AnyCommand, decided: Iterable[AnyEvent]
) -> list[AnyEvent]:
    """Return the events of a decision at a table that deals in chips, with the chips they move."""
    plan = ChipPlan(game, state)
    if type(command) is commands.PlaceBet and not command.counts:  # most commands are bets
        (placed,) = decided
        return [plan.complete_bet(cast("events.BetPlaced", placed))]
    requested = _requested_counts(state, command)
    return [plan.complete(event, requested) for event in decided]


def _requested_counts(state: TableState, command: AnyCommand) -> ChipCounts | None:
    """Return the chips that a command names for its amount, refusing those that do not make it."""
    counts = getattr(command, "counts", None)
    if not isinstance(command, commands.BuyIn | commands.PlaceBet) or not counts:
        return None
    values = chip_values(state, command.player)
    for name in counts:
        require_chip(name, values)
    if value_of(counts, values) != command.amount:
        raise refuse("chips/counts", value=value_of(counts, values), amount=command.amount)
    return without_zeros(counts)


def require_chip(name: str, known: Iterable[str]) -> None:
    """Refuse a chip that the table does not have, or that this player does not use."""
    if name not in known:
        raise refuse("chips/unknown", chip=name, chips=", ".join(known))


class ChipPlan:
    """The chips of a table as a decision moves them, event by event; the state is only read."""

    def __init__(self, game: Game, state: TableState) -> None:
        self._game, self._state = game, state
        self._holders: ChipHolders = {}

    def held(self, holder: str) -> ChipCounts:
        """Return the chips of a holder at this point of the decision."""
        if holder in self._holders:
            return self._holders[holder]
        return (self._state.holders or {}).get(holder, {})

    def complete(self, event: AnyEvent, requested: ChipCounts | None = None) -> AnyEvent:
        """Return an event with the chips that it moves."""
        if isinstance(event, events.RackCounted):
            self.apply(variance_moves(event))
        if not isinstance(event, events.ChipEvent):
            return event
        if event.chip_moves:
            self.apply(event.chip_moves)
            return event
        if isinstance(event, events.BetRejected) and not self._can_return(event):
            return msgspec.structs.replace(event, waits=True)
        return self._with_moves(event, list(self._moves(event, requested)))

    def _with_moves(self, event: _ChipEventType, moves: list[ChipMove]) -> _ChipEventType:
        """Return an event with the chips that it moves, and what these change of the colours."""
        if not moves:
            return event
        owed = change_of_colours(self._state, event, moves)
        return msgspec.structs.replace(event, chip_moves=moves, colours_owed=owed or msgspec.UNSET)

    def complete_bet(self, event: events.BetPlaced) -> events.BetPlaced:
        """Return a bet with the chips that it moves, as `complete` does, but faster.

        It must be the only event of its decision: the plan itself does not move the chips.
        """
        stack, bet = stack_account(event.player), bet_holder(event.spot, event.player)
        moves = self._require_transfer(stack, bet, event.player, event.amount)
        return self._with_moves(event, moves)

    def _moves(
        self, event: events.AnyChipEvent, requested: ChipCounts | None
    ) -> Iterator[ChipMove]:
        match event:
            case events.BoughtIn():
                yield self._buy_in(event, requested)
            case events.BetPlaced() if requested:
                stack, bet = stack_account(event.player), bet_holder(event.spot, event.player)
                yield self._move_requested(stack, bet, event.player, requested)
            case events.ChipsMoved() | events.ChipsPutBack():
                yield from self._relocate(event)
            case events.LosersCollected():
                yield from self._collect(event)
            case events.ChipsChanged():
                yield from self._change(event)
            case events.ColourTaken():
                yield from self._take_colour(event)
            case events.ColouredUp():
                yield from self._colour_up(event.player)
            case events.TableClosed():
                yield from self._close(event)
            case (
                events.BetPlaced() | events.TableOpened() | events.FloatFilled()
                | events.FloatCredited() | events.CashedOut() | events.DebtRepaid()
                | events.BetWithdrawn() | events.BetRejected() | events.LineJudged()
                | events.BetsApportioned() | events.AreaPaid() | events.WinnersPaid()
                | events.ShooterWon() | events.ShooterLost() | events.ShooterRestored()
                | events.RoundVoided() | events.RoundsReversed() | events.ThrowRepeated()
                | events.BetCorrected() | events.RulingMade()
            ):  # fmt: skip
                yield from self._move_postings(event)
            case _:
                assert_never(event)

    def _move_postings(self, event: events.AnyChipEvent) -> Iterator[ChipMove]:
        """Yield the chips for the postings of chips, in their order.

        What goes the same way goes at once: a bet that plays in part goes back as it lies.
        """
        amounts: dict[tuple[str, str, PlayerId], int] = {}
        for posting in table_postings(event):
            if _is_of_chips(posting):
                way = (*self._holders_of(posting), posting.player)
                amounts[way] = amounts.get(way, 0) + posting.amount
        for (source, destination, player), amount in amounts.items():
            yield from self._transfer(source, destination, player, amount)

    def _holders_of(self, posting: Posting) -> tuple[str, str]:
        """Return the holders of the accounts of a posting: chips on the layout lie on a spot."""
        shooter = self._game.facts.shooter
        bet = bet_holder(posting.spot or (shooter.box if shooter else ""), posting.player)
        source = bet if posting.source == "layout" else posting.source
        return source, bet if posting.destination == "layout" else posting.destination

    # --- single moves ---------------------------------------------------------------------------

    def _move(
        self, source: str, destination: str, player: PlayerId, counts: ChipCounts
    ) -> ChipMove:
        move = (source, destination, player, counts)
        self.apply([move])
        return move

    def apply(self, moves: Iterable[ChipMove]) -> None:
        """Apply moves to the plan's own copy of the holders that they concern."""
        for move in moves:
            for holder in move[:2]:
                self._holders.setdefault(holder, dict(self.held(holder)))
            apply_moves(self._holders, [move])
            for holder in move[:2]:  # a holder without chips is known to be empty
                self._holders.setdefault(holder, {})

    def _move_requested(
        self, source: str, destination: str, player: PlayerId, counts: ChipCounts
    ) -> ChipMove:
        """Move the chips that a command names, refusing those that the source does not have."""
        held = self.held(source)
        for name, count in counts.items():
            if count > held.get(name, 0):
                raise refuse("chips/lacking", chip=name, count=count, held=held.get(name, 0))
        return self._move(source, destination, player, counts)

    def _from_rack(self, player: PlayerId, amount: int) -> ChipCounts:
        """Return the fewest chips of the rack for an amount to a player, or refuse it."""
        found = fewest_chips(self.held("float"), self._values(player), amount)
        if found is None:
            raise refuse("chips/rack", amount=amount)
        return found

    def _colour_chips(self, player: PlayerId, amount: int) -> ChipCounts:
        """Return chips of a player's own colour for an amount, if the rack has as many."""
        seat = self._state.seats.get(player)
        if seat is None or not seat.colour:
            return {}
        count = amount // seat.colour_value
        return {seat.colour: count} if count <= self.held("float").get(seat.colour, 0) else {}

    def _values(self, player: PlayerId) -> ChipValues:
        return chip_values(self._state, player)

    # --- amounts --------------------------------------------------------------------------------

    def _transfer(
        self, source: str, destination: str, player: PlayerId, amount: int
    ) -> Iterator[ChipMove]:
        """Yield the moves of an amount between two holders, with change from the rack if needed."""
        moves = self._require_transfer(source, destination, player, amount)
        self.apply(moves)
        yield from moves

    def _require_transfer(
        self, source: str, destination: str, player: PlayerId, amount: int
    ) -> list[ChipMove]:
        """Return the moves of an amount between two holders, or refuse it."""
        moves = self.find_transfer(source, destination, player, amount)
        if moves is None:
            raise refuse("chips/rack" if source == "float" else "chips/change", amount=amount)
        return moves

    def find_transfer(
        self, source: str, destination: str, player: PlayerId, amount: int
    ) -> list[ChipMove] | None:
        """Return the moves of an amount between two holders, or None if it cannot be made."""
        if not amount:
            return []
        held, values = self.held(source), self._values(player)
        if destination == "outside":
            return self._find_redemption(source, destination, player, amount)
        if source == "float":
            chips = fewest_chips(held, values, amount)
            return None if chips is None else [(source, destination, player, chips)]
        fitting, rest = most_chips_within(held, values, amount)
        if not rest:
            return [(source, destination, player, fitting)]
        change = self._find_change(held, values, fitting, rest, rest, values)
        if change is None:
            return None
        broken, added, returned = change
        moves = [
            (source, destination, player, fitting),
            (source, "float", player, broken),
            ("float", destination, player, added),
            ("float", source, player, returned),
        ]
        return [move for move in moves if move[3]]

    def _find_redemption(
        self, source: str, destination: str, player: PlayerId, amount: int
    ) -> list[ChipMove] | None:
        """Return the moves of an amount that leaves the table, where only value chips may.

        If the player's value chips do not make it, chips in their colour are changed for value
        chips of the rack, with one chip for the rest of the amount.
        """
        held, values = self.held(source), self._values(player)
        value_chips = _value_chips(values)
        direct = fewest_chips(held, value_chips, amount)
        if direct is not None:
            return [(source, destination, player, direct)]
        fitting, rest = most_chips_within(held, values, amount)
        coloured = {name: n for name, n in fitting.items() if not is_value_chip(name)}
        paid = value_of(coloured, values) + rest
        change = self._find_change(held, values, fitting, rest, paid, value_chips)
        if change is None:
            return None
        broken, added, returned = change
        moves = [
            (source, destination, player, differences(fitting, coloured)),
            (source, "float", player, dict(Counter(coloured) + Counter(broken))),
            ("float", destination, player, added),
            ("float", source, player, returned),
        ]
        return [move for move in moves if move[3]]

    def _find_change(
        self,
        held: ChipCounts,
        values: ChipValues,
        fitting: ChipCounts,
        rest: int,
        paid: int,
        given: ChipValues,
    ) -> tuple[ChipCounts, ChipCounts, ChipCounts] | None:
        """Return the chip that the dealer breaks for the rest of an amount, and both its parts.

        It is the smallest of the chips held that do not go directly, and none without a rest. The
        rack gives what is `paid` to the destination, and the change back, in the chips `given`.
        """
        if not rest:
            parts = self._split(given, paid, 0)
            return None if parts is None else ({}, *parts)
        for broken in reversed(values):
            if held.get(broken, 0) > fitting.get(broken, 0):
                parts = self._split(given, paid, values[broken] - rest)
                if parts is not None:
                    return {broken: 1}, *parts
        return None

    def _split(
        self, values: ChipValues, first: int, second: int
    ) -> tuple[ChipCounts, ChipCounts] | None:
        """Return chips of the rack for two amounts at once, or None if it cannot make both."""
        rack = self.held("float")
        for one, other in ((first, second), (second, first)):
            part = fewest_chips(rack, values, one)
            if part is None:
                continue
            left = {**rack, **{name: rack[name] - count for name, count in part.items()}}
            rest = fewest_chips(left, values, other)
            if rest is not None:
                return (part, rest) if one == first else (rest, part)
        return None

    # --- events of their own kind ---------------------------------------------------------------

    def _can_return(self, event: events.BetRejected) -> bool:
        """Return whether chips make what a rejection returns."""
        player, bet = event.player, bet_holder(event.spot, event.player)
        returned = event.amount + event.excess
        return self.find_transfer(bet, stack_account(player), player, returned) is not None

    def _collect(self, event: events.LosersCollected) -> Iterator[ChipMove]:
        """Yield the losing bets, which go to the rack as they lie, and what goes back of them."""
        excess = list(event.excess or ())
        for spot, player in dict.fromkeys(bet[:2] for bet in (*event.bets, *excess)):
            bet = bet_holder(spot, player)
            yield self._move(bet, "float", player, dict(self.held(bet)))
        for _, player, amount in excess:
            yield from self._transfer("float", stack_account(player), player, amount)

    def _buy_in(self, event: events.BoughtIn, requested: ChipCounts | None) -> ChipMove:
        """Return the chips that a player buys: as asked for, else of their colour, else fewest."""
        player, stack = event.player, stack_account(event.player)
        if requested:
            racked = self.held("float")
            if event.source == "account" and any(
                count > racked.get(name, 0) for name, count in requested.items()
            ):  # the player reads it, and does not see the rack
                raise refuse("chips/rack", amount=event.amount)
            return self._move_requested("float", stack, player, requested)
        counts = self._colour_chips(player, event.amount) or self._from_rack(player, event.amount)
        return self._move("float", stack, player, counts)

    def _relocate(self, event: events.ChipsMoved | events.ChipsPutBack) -> Iterator[ChipMove]:
        """Yield the chips of a bet that lie on another spot now."""
        if event.spot != event.to_spot:
            source = bet_holder(event.spot, event.player)
            destination = bet_holder(event.to_spot, event.player)
            amount = event.amount + event.excess
            yield from self._transfer(source, destination, event.player, amount)

    def _change(self, event: events.ChipsChanged) -> Iterator[ChipMove]:
        """Yield a change of a player's chips into one denomination."""
        player, stack = event.player, stack_account(event.player)
        into = str(event.into)
        others = {name: count for name, count in self.held(stack).items() if name != into}
        given = fewest_chips(others, self._values(player), event.amount)
        if given is None:
            raise refuse("chips/change", amount=event.amount)
        yield self._move(stack, "float", player, given)
        wanted = {into: event.amount // event.into}
        yield self._move_requested("float", stack, player, wanted)

    def _take_colour(self, event: events.ColourTaken) -> Iterator[ChipMove]:
        """Yield the exchange of a player's stack for chips of a colour."""
        player, stack = event.player, stack_account(event.player)
        given, racked = dict(self.held(stack)), self.held("float").get(event.colour, 0)
        if not racked:
            raise refuse("chips/lacking", chip=event.colour, count=1, held=racked)
        if not given:
            return
        count = self._state.seats[player].stack // event.value
        yield self._move(stack, "float", player, given)
        yield self._move_requested("float", stack, player, {event.colour: count})

    def _colour_up(self, player: PlayerId) -> Iterator[ChipMove]:
        """Yield the exchange of a player's coloured chips for value chips."""
        seat, stack = self._state.seats[player], stack_account(player)
        count = self.held(stack).get(seat.colour, 0)
        if not count:
            return
        yield self._move(stack, "float", player, {seat.colour: count})
        values = _value_chips(self._values(player))
        counts = fewest_chips(self.held("float"), values, count * seat.colour_value)
        if counts is None:
            raise refuse("chips/rack", amount=count * seat.colour_value)
        yield self._move("float", stack, player, counts)

    def _close(self, event: events.TableClosed) -> Iterator[ChipMove]:
        """Yield the chips that leave with the players, and the rack that goes to the vault."""
        for player, _ in event.carried_away:
            stack = stack_account(player)
            if self.held(stack):
                yield self._move(stack, "outside", player, dict(self.held(stack)))
        if self.held("float"):
            yield self._move("float", "vault", "", dict(self.held("float")))


def _value_chips(values: ChipValues) -> ChipValues:
    return ChipValues({name: value for name, value in values.items() if is_value_chip(name)})


def _is_of_chips(posting: Posting) -> bool:
    accounts = (posting.source, posting.destination)
    return any(name in ("float", "layout") or name.startswith("stack/") for name in accounts)


def rack_payments(
    game: Game,
    state: TableState,
    collected: Iterable[AnyEvent],
    payouts: Iterable[tuple[Spot, PlayerId, int, int]],
) -> Iterator[tuple[tuple[Spot, PlayerId, int, int], ChipCounts | None]]:
    """Yield each payout with the chips that the rack proposes for the winnings, fewest first.

    None for winnings that the rack cannot make with the chips that the events `collected` and the
    payouts before leave: for all, if it cannot return what goes back of the losing bets.
    """
    plan, lacks_change = ChipPlan(game, state), False
    try:
        for event in collected:
            plan.complete(event)
    except Refusal:
        lacks_change = True
    for payout in payouts:
        if lacks_change:
            yield payout, None
            continue
        _, player, _, winnings = payout
        moves = plan.find_transfer("float", stack_account(player), player, winnings)
        if moves is not None:
            plan.apply(moves)
        yield payout, None if moves is None else moves[0][3]
