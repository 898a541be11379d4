"""Find the chips that exceed a limit and must be returned, the last placement first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from threedice.table.events import ALL_PLACEMENTS, BetRejected
from threedice.table.limits import box_of, limits_in_force, permitted_total, stake_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from threedice.rulebook import Game
    from threedice.table.limits import PlayerId, Spot, UpperLimit
    from threedice.table.state import Bet, TableState


def find_rejections(game: Game, state: TableState, spots: Iterable[Spot]) -> list[BetRejected]:
    """Return what must be rejected to bring spots within their limits, the last placement first.

    A bet reduced below the minimum is rejected whole, which may put the opposite spot over the
    differential. The spots are therefore checked repeatedly until all are within limits. At a table
    that deals in chips a whole bet goes back at once, as it lies.
    """
    rejections = _find_parts(game, state, spots)
    return rejections if state.holders is None else list(_join_whole_bets(state, rejections))


def _find_parts(game: Game, state: TableState, spots: Iterable[Spot]) -> list[BetRejected]:
    bets, totals = state.current.bets, dict(state.current.totals)
    rows = {spot: _placements_in_order(bets[spot]) for spot in spots if spot in bets}
    if game.facts.limits.maximum.scope == "player":
        return [each for spot in rows for each in _trim_each_player(game, state, spot, rows[spot])]
    rejections: list[BetRejected] = []
    while True:
        before = len(rejections)
        for spot, placements in rows.items():
            rejections += _trim_shared(game, state, spot, placements, totals)
        if len(rejections) == before:
            return rejections


def _join_whole_bets(state: TableState, rejections: list[BetRejected]) -> Iterator[BetRejected]:
    """Yield rejections; those that take a whole bet as one, with the excess that lies with it."""
    parts: dict[tuple[Spot, PlayerId], list[BetRejected]] = {}
    for each in rejections:
        parts.setdefault((each.spot, each.player), []).append(each)
    for (spot, player), rejected in parts.items():
        bet, amount = state.current.bets[spot][player], sum(each.amount for each in rejected)
        if amount == bet.total and (bet.excess or len(rejected) > 1):
            whole = {"number": ALL_PLACEMENTS, "amount": amount, "excess": bet.excess}
            yield msgspec.structs.replace(rejected[-1], **whole)
        else:
            yield from rejected


def rejects_at_close(game: Game, state: TableState) -> bool:
    """Return whether the close rejects excess over a differential, as at electronic tables."""
    return state.mode != "record" and game.facts.limits.differential is not None


_PlacementRows = list[tuple[int, str, int]]
"""Placements as (number, player, amount), the last placed at the end."""


def _placements_in_order(bets: Mapping[PlayerId, Bet]) -> _PlacementRows:
    return sorted(
        (each.number, player, each.amount)
        for player, bet in bets.items()
        for each in bet.placements
    )


def _trim_shared(
    game: Game,
    state: TableState,
    spot: Spot,
    placements: _PlacementRows,
    totals: dict[Spot, int],
) -> list[BetRejected]:
    """Return the rejections on a spot whose limits all players share; reduce its total."""
    limits = limits_in_force(state)
    allowed = permitted_total(game, limits, totals, spot)
    maximum = limits.for_box(box_of(spot)).maximum
    limit: UpperLimit = "differential" if allowed < maximum else "maximum"
    excess = totals[spot] - allowed
    rejections = _reject_last_first(game, state, spot, placements, excess, limit)
    totals[spot] -= sum(each.amount for each in rejections)
    return rejections


def _trim_each_player(
    game: Game, state: TableState, spot: Spot, placements: _PlacementRows
) -> Iterator[BetRejected]:
    """Yield the rejections on a spot where the maximum applies to each player."""
    maximum = limits_in_force(state).for_box(box_of(spot)).maximum
    by_player: dict[PlayerId, _PlacementRows] = {}
    for row in placements:
        by_player.setdefault(row[1], []).append(row)
    for player, rows in by_player.items():
        excess = state.current.bets[spot][player].total - maximum
        yield from _reject_last_first(game, state, spot, rows, excess, "maximum")


def _reject_last_first(
    game: Game,
    state: TableState,
    spot: Spot,
    placements: _PlacementRows,
    excess: int,
    limit: UpperLimit,
) -> list[BetRejected]:
    """Take an excess off placements, the last first, leaving amounts that can be paid.

    If the player's bet on the spot would fall below the minimum, all of that bet is returned; where
    the minimum applies to the total of a box, if that total would.
    """
    step = stake_step(game.boxes[box_of(spot)], state.chips)
    minimum = limits_in_force(state).for_box(box_of(spot)).minimum
    is_per_player = game.facts.limits.minimum.scope == "player"
    rejections = []
    while excess > 0:
        number, player, amount = placements.pop()
        rejected = min(amount, -(-excess // step) * step)
        staked = amount + sum(row[2] for row in placements if row[1] == player or not is_per_player)
        if staked - rejected < minimum:
            others = [row for row in placements if row[1] == player]
            returned = [(number, player, amount), *reversed(others)]
            placements[:] = [row for row in placements if row[1] != player]
        else:
            returned = [(number, player, rejected)]
            if rejected < amount:
                placements.append((number, player, amount - rejected))
        for number, _, part in returned:
            excess -= part
            rejections.append(
                BetRejected(player=player, spot=spot, amount=part, number=number, limit=limit)
            )
    return rejections
