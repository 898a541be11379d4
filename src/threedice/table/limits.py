"""Betting limits of a table: definition, validation, remaining room and breaches.

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
    from collections.abc import Iterator, Mapping

    from threedice.rulebook import Box, Game
    from threedice.table.state import TableState


LimitMode = Literal["refuse", "record"]
"""An electronic table refuses bets that break a limit; chips on felt are recorded as they lie."""

UpperLimit = Literal["maximum", "differential"]
"""A limit that rejects what exceeds it."""

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
    for chip in chips:
        if chip % chips[0]:
            raise InvalidInput(f"a chip of {chip} is not a multiple of the smallest, {chips[0]}")


def check_limits(limits: TableLimits, game: Game, chips: list[int]) -> None:
    """Raise an error if limits omit a box, name an unknown one, or cannot be met in chips."""
    families = dict.fromkeys(box.family for box in game.boxes.values())
    for name in limits.families:
        if name not in families:
            raise UnknownName(f"family on {game.id}", name, families)
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
            raise InvalidInput(
                f"limits {stakes.minimum} to {stakes.maximum} on {name} are not multiples of "
                f"{step}, the least stake that its odds pay in chips of {chips[0]}; "
                "change them, or give the box limits of its own"
            )
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
    rule, shooter = game.facts.shooter, state.shooter
    if rule and shooter and shooter.stake:
        yield from _over_maximum(game, limits, rule.box, shooter.player, shooter.stake)
        yield from _under_minimum(game, limits, rule.box, shooter.player, shooter.stake)
    for spot, bets in current.bets.items():
        if policy.maximum.scope == "box":
            yield from _over_maximum(game, limits, spot, "", current.totals[spot])
            yield from _over_differential(game, limits, current.totals, spot)
        for player, bet in bets.items():
            if policy.maximum.scope == "player":
                yield from _over_maximum(game, limits, spot, player, bet.total)
            lowest = bet.total if policy.minimum.scope == "player" else current.totals[spot]
            yield from _under_minimum(game, limits, spot, player, lowest)


def _over_maximum(
    game: Game, limits: TableLimits, spot: Spot, player: PlayerId, staked: int
) -> Iterator[LimitBreach]:
    maximum = limits.for_box(box_of(spot)).maximum
    if staked > maximum:
        clauses = clause_numbers(game.facts.limits.maximum.clause)
        yield LimitBreach("maximum", spot, player, staked, maximum, clauses)


def _over_differential(
    game: Game, limits: TableLimits, totals: Mapping[Spot, int], spot: Spot
) -> Iterator[LimitBreach]:
    policy, maximum = game.facts.limits.differential, limits.for_box(box_of(spot)).maximum
    allowed = permitted_total(game, limits, totals, spot)
    if policy and allowed < maximum and totals[spot] > allowed:
        clauses = clause_numbers(policy.clause)
        yield LimitBreach("differential", spot, "", totals[spot], allowed, clauses)


def _under_minimum(
    game: Game, limits: TableLimits, spot: Spot, player: PlayerId, staked: int
) -> Iterator[LimitBreach]:
    minimum = limits.for_box(box_of(spot)).minimum
    if staked < minimum:
        clauses = clause_numbers(game.facts.limits.minimum.clause)
        yield LimitBreach("minimum", spot, player, staked, minimum, clauses)
