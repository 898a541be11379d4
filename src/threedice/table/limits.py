"""Betting limits of a table: definition, validation, remaining room, breaches and rejections.

`betting` refuses and rejects bets with these functions, `settlement` apportions with them. The
maximum of a box may be shared by all players (sg-rws-tai-sai-v6 3.5); a differential bounds two
opposite boxes (sg-rws-tai-sai-v6 1.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.errors import InvalidInput, InvariantBroken, UnknownName
from threedice.money import RequestedAmount
from threedice.rulebook.conduct import clause_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from threedice.rulebook import Box, Game
    from threedice.table.state import Bet, Round, TableState


LimitMode = Literal["refuse", "record"]
"""An electronic table refuses bets that break a limit; chips on felt are recorded as they lie."""

PlayerId = str
BoxId = str

Spot = str
"""The place where a bet counts: a box, or `box@area` where each area has its own limits."""


class StakeRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The smallest and the largest permitted stake."""

    minimum: RequestedAmount
    maximum: RequestedAmount


class TableLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits by family, with exceptions by box; differentials by the first box of the pair."""

    families: dict[str, StakeRange]
    boxes: dict[BoxId, StakeRange] = {}
    differential: dict[BoxId, RequestedAmount] = {}

    def for_box(self, box: BoxId) -> StakeRange:
        """Return the limits of a box."""
        if box in self.boxes:
            return self.boxes[box]
        return self.families[box.partition(":")[0]]


def box_of(spot: Spot) -> str:
    """Return the box of a spot.

    >>> box_of("big@left"), box_of("total:9")
    ('big', 'total:9')
    """
    return spot.partition("@")[0]


def stake_step(box: Box, chips: list[int]) -> int:
    """Return the amount of which stakes on a box must be multiples to be paid exactly in chips.

    It is the smallest chip, or a multiple of it where odds such as 19 to 20 require that.
    """
    return chips[0] * box.unit


def check_chips(chips: list[int]) -> None:
    """Raise InvalidInput unless the denominations ascend and are multiples of the smallest."""
    if not chips or chips != sorted(set(chips)) or chips[0] < 1:
        raise InvalidInput("chips are denominations above zero in ascending order")
    for chip in chips[1:]:
        if chip % chips[0]:
            raise InvalidInput(f"a chip of {chip} is not a multiple of the smallest, {chips[0]}")


def check_limits(limits: TableLimits, game: Game, chips: list[int]) -> None:
    """Raise an error if limits omit a box, name an unknown one, or cannot be met in chips."""
    families = {box.family for box in game.boxes.values()}
    for name in limits.families:
        if name not in families:
            raise UnknownName(f"family on {game.id}", name, sorted(families))
    for name in limits.boxes:
        game.box(name)
    for name in game.boxes:
        if name not in limits.boxes and name.partition(":")[0] not in limits.families:
            raise InvalidInput(f"no limits for {name}; give them by its family or for the box")
    for name, box in game.boxes.items():
        stakes, step = limits.for_box(name), stake_step(box, chips)
        if not 0 < stakes.minimum <= stakes.maximum:
            raise InvalidInput(
                f"limits {stakes.minimum} to {stakes.maximum} on {name} leave no room"
            )
        if stakes.minimum % step or stakes.maximum % step:
            raise InvalidInput(f"limits on {name} are not multiples of {step}, its unit of payment")
    _check_differential(limits, game, chips)


def _check_differential(limits: TableLimits, game: Game, chips: list[int]) -> None:
    policy = game.facts.limits.differential
    firsts = [pair[0] for pair in policy.pairs] if policy else []
    for box, amount in limits.differential.items():
        if box not in firsts:
            raise UnknownName(f"differential of {game.id}", box, firsts)
        if amount <= 0 or amount % chips[0]:
            raise InvalidInput(f"a differential of {amount} on {box} cannot be met in chips")
    for box in firsts:
        if box not in limits.differential:
            raise InvalidInput(f"no maximum differential for {box}; the rulebook requires one")


def uniform_limits(
    game: Game, minimum: int, maximum: int, differential: int | None = None
) -> TableLimits:
    """Return the same limits for every box, and the same differential for every pair."""
    families = {box.family for box in game.boxes.values()}
    policy = game.facts.limits.differential
    max_difference = maximum if differential is None else differential
    return TableLimits(
        families={family: StakeRange(minimum, maximum) for family in sorted(families)},
        differential={pair[0]: max_difference for pair in policy.pairs} if policy else {},
    )


def split_into_chips(amount: int, chips: list[int]) -> list[tuple[int, int]]:
    """Return a stack as (denomination, count), the largest denomination first.

    >>> split_into_chips(385, [5, 25, 100])
    [(100, 3), (25, 3), (5, 2)]
    """
    stack = []
    for chip in reversed(chips):
        count, amount = divmod(amount, chip)
        if count:
            stack.append((chip, count))
    return stack


@dataclass(frozen=True, slots=True)
class LimitBreach:
    """A limit that bets on the layout break, shown to the dealer before the close."""

    kind: Literal["maximum", "differential", "minimum"]
    spot: Spot
    player: PlayerId
    staked: int
    limit: int
    clauses: tuple[str, ...]


def limits_in_force(state: TableState) -> TableLimits:
    """Return the limits in force at an open table."""
    if state.limits is None:
        raise InvariantBroken("the table has no limits")
    return state.limits


def opposite_spot(game: Game, spot: Spot) -> tuple[Spot, str] | None:
    """Return the other spot of this one's differential, and the first box of the pair."""
    policy = game.facts.limits.differential
    box, at, area = spot.partition("@")
    for pair in policy.pairs if policy else []:
        if box in pair:
            other = pair[1] if box == pair[0] else pair[0]
            return f"{other}{at}{area}", pair[0]
    return None


def permitted_total(game: Game, limits: TableLimits, totals: Mapping[Spot, int], spot: Spot) -> int:
    """Return the permitted total of a spot whose limits all players share.

    It is the smaller of the spot's maximum and the opposite spot's total, capped at that spot's
    maximum, plus the differential (sg-rws-tai-sai-v6 5.1).
    """
    maximum = limits.for_box(box_of(spot)).maximum
    opposite = opposite_spot(game, spot)
    if opposite is None:
        return maximum
    other, first = opposite
    other_total = min(totals.get(other, 0), limits.for_box(box_of(other)).maximum)
    return min(maximum, other_total + limits.differential[first])


def remaining_room(game: Game, state: TableState, spot: Spot, player: PlayerId) -> int:
    """Return how much more a player may stake on a spot before its maximum is reached.

    The differential is not considered: it is applied at the close, when both sides are known.
    """
    maximum = limits_in_force(state).for_box(box_of(spot)).maximum
    current = state.current
    if game.facts.limits.maximum.scope == "box":
        return max(maximum - current.totals.get(spot, 0), 0)
    bet = current.bets.get(spot, {}).get(player)
    return max(maximum - (bet.total if bet else 0), 0)


def find_breaches(game: Game, state: TableState) -> Iterator[LimitBreach]:
    """Yield every limit that the bets on the layout break, the shooter's bet included."""
    policy, limits, current = game.facts.limits, limits_in_force(state), state.current
    yield from _shooter_breaches(game, state, limits)
    for spot, bets in current.bets.items():
        total, box = current.totals[spot], limits.for_box(box_of(spot))
        if policy.maximum.scope == "box":
            yield from _shared_breaches(game, limits, current, spot)
        for player, bet in bets.items():
            if policy.maximum.scope == "player" and bet.total > box.maximum:
                clauses = clause_numbers(policy.maximum.clause)
                yield LimitBreach("maximum", spot, player, bet.total, box.maximum, clauses)
            staked = bet.total if policy.minimum.scope == "player" else total
            if staked < box.minimum:
                clauses = clause_numbers(policy.minimum.clause)
                yield LimitBreach("minimum", spot, player, staked, box.minimum, clauses)


def _shooter_breaches(game: Game, state: TableState, limits: TableLimits) -> Iterator[LimitBreach]:
    rule, shooter, policy = game.facts.shooter, state.shooter, game.facts.limits
    if rule is None or shooter is None or not shooter.stake:
        return
    box = limits.for_box(rule.box)
    stake, player = shooter.stake, shooter.player
    if stake > box.maximum:
        clauses = clause_numbers(policy.maximum.clause)
        yield LimitBreach("maximum", rule.box, player, stake, box.maximum, clauses)
    if stake < box.minimum:
        clauses = clause_numbers(policy.minimum.clause)
        yield LimitBreach("minimum", rule.box, player, stake, box.minimum, clauses)


def _shared_breaches(
    game: Game, limits: TableLimits, current: Round, spot: Spot
) -> Iterator[LimitBreach]:
    """Yield the limits that the total of a spot shared by all players breaks."""
    policy, total = game.facts.limits, current.totals[spot]
    maximum = limits.for_box(box_of(spot)).maximum
    if total > maximum:
        clauses = clause_numbers(policy.maximum.clause)
        yield LimitBreach("maximum", spot, "", total, maximum, clauses)
    allowed = permitted_total(game, limits, current.totals, spot)
    if policy.differential and allowed < maximum and total > allowed:
        clauses = clause_numbers(policy.differential.clause)
        yield LimitBreach("differential", spot, "", total, allowed, clauses)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Chips of one placement to be returned, and the limit they broke."""

    spot: Spot
    player: PlayerId
    number: int
    amount: int
    limit: Literal["maximum", "differential"]


def find_rejections(game: Game, state: TableState, spots: Iterable[Spot]) -> list[Rejection]:
    """Return what must be rejected to bring spots within their limits, the last placement first.

    A placement reduced below the minimum is rejected whole, which may put the opposite spot over
    the differential. The spots are therefore checked repeatedly until all are within limits.
    """
    bets, totals = state.current.bets, dict(state.current.totals)
    rows = {spot: _placements_in_order(bets[spot]) for spot in spots if spot in bets}
    if game.facts.limits.maximum.scope == "player":
        return [each for spot in rows for each in _trim_each_player(game, state, spot, rows[spot])]
    rejections: list[Rejection] = []
    while True:
        before = len(rejections)
        for spot, placements in rows.items():
            rejections += _trim_shared(game, state, spot, placements, totals)
        if len(rejections) == before:
            return rejections


PlacementRows = list[tuple[int, str, int]]
"""Placements as (number, player, amount), the last placed at the end."""


def _placements_in_order(bets: Mapping[PlayerId, Bet]) -> PlacementRows:
    return sorted(
        (each.number, player, each.amount)
        for player, bet in bets.items()
        for each in bet.placements
    )


def _trim_shared(
    game: Game, state: TableState, spot: Spot, placements: PlacementRows, totals: dict[Spot, int]
) -> list[Rejection]:
    """Return the rejections on a spot whose limits all players share; reduce its total."""
    limits = limits_in_force(state)
    allowed = permitted_total(game, limits, totals, spot)
    maximum = limits.for_box(box_of(spot)).maximum
    limit: Literal["maximum", "differential"] = "differential" if allowed < maximum else "maximum"
    rejections = _reject_last_first(game, state, spot, placements, totals[spot] - allowed, limit)
    totals[spot] -= sum(each.amount for each in rejections)
    return rejections


def _trim_each_player(
    game: Game, state: TableState, spot: Spot, placements: PlacementRows
) -> Iterator[Rejection]:
    """Yield the rejections on a spot where the maximum applies to each player."""
    maximum = limits_in_force(state).for_box(box_of(spot)).maximum
    by_player: dict[PlayerId, PlacementRows] = {}
    for number, player, amount in placements:
        by_player.setdefault(player, []).append((number, player, amount))
    for player, rows in by_player.items():
        excess = state.current.bets[spot][player].total - maximum
        yield from _reject_last_first(game, state, spot, rows, excess, "maximum")


def _reject_last_first(
    game: Game,
    state: TableState,
    spot: Spot,
    placements: PlacementRows,
    excess: int,
    limit: Literal["maximum", "differential"],
) -> list[Rejection]:
    """Take an excess off placements, the last first, leaving amounts that can be paid."""
    step = stake_step(game.boxes[box_of(spot)], state.chips)
    minimum = limits_in_force(state).for_box(box_of(spot)).minimum
    rejections = []
    while excess > 0:
        number, player, amount = placements.pop()
        rejected = min(amount, -(-excess // step) * step)
        if amount - rejected < minimum:
            rejected = amount
        else:
            placements.append((number, player, amount - rejected))
        excess -= rejected
        rejections.append(Rejection(spot, player, number, rejected, limit))
    return rejections
