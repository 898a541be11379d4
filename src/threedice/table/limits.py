"""Limits at work: room left, what is over or under, whose excess goes, and pro rata.

Pure arithmetic over the bets of a round; `betting` refuses and rejects with it, `settling`
apportions with it. The maximum of a box may be shared by all players (sg-rws-tai-sai-v6 3.5), the
differential bounds two opposite boxes (sg-rws-tai-sai-v6 1.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from threedice.errors import InvariantBroken
from threedice.rulebook.conduct import cited
from threedice.table.state import box_of
from threedice.table.terms import step_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import ProRata
    from threedice.table.events import Spot
    from threedice.table.state import Bet, Round, TableState
    from threedice.table.terms import PlayerId, TableLimits


@dataclass(frozen=True, slots=True)
class Flag:
    """A limit that bets on the layout break, for the dealer to see before the close."""

    kind: Literal["maximum", "differential", "minimum"]
    spot: Spot
    player: PlayerId
    staked: int
    limit: int
    clauses: tuple[str, ...]


def limits_of(state: TableState) -> TableLimits:
    """Return the limits in force."""
    if state.limits is None:
        raise InvariantBroken("the table has no limits")
    return state.limits


def opposite(game: Game, spot: Spot) -> tuple[Spot, str] | None:
    """Return the spot across the differential from this one, and the first box of their pair."""
    policy = game.facts.limits.differential
    box, at, area = spot.partition("@")
    for pair in policy.pairs if policy else []:
        if box in pair:
            other = pair[1] if box == pair[0] else pair[0]
            return f"{other}{at}{area}", pair[0]
    return None


def permitted(game: Game, limits: TableLimits, totals: Mapping[Spot, int], spot: Spot) -> int:
    """Return how much may play on a spot that all players share.

    The lesser of its maximum and what the other side, after its own maximum, leaves room for
    (sg-rws-tai-sai-v6 5.1).
    """
    most = limits.of(box_of(spot)).maximum
    across = opposite(game, spot)
    if across is None:
        return most
    other, first = across
    held = min(totals.get(other, 0), limits.of(box_of(other)).maximum)
    return min(most, held + limits.differential[first])


def room(game: Game, state: TableState, spot: Spot, player: PlayerId) -> int:
    """Return how much more a player may stake on a spot before its maximum is reached.

    The differential is not part of it: it is trimmed at the close, when both sides are known.
    """
    most = limits_of(state).of(box_of(spot)).maximum
    current = state.current
    if game.facts.limits.maximum.scope == "box":
        return max(most - current.totals.get(spot, 0), 0)
    bet = current.bets.get(spot, {}).get(player)
    return max(most - (bet.total if bet else 0), 0)


def flags(game: Game, state: TableState) -> Iterator[Flag]:
    """Yield every limit that the bets on the layout break, the shooter's bet included."""
    policy, limits, current = game.facts.limits, limits_of(state), state.current
    yield from _shooter_flags(game, state, limits)
    for spot, bets in current.bets.items():
        total, box = current.totals[spot], limits.of(box_of(spot))
        if policy.maximum.scope == "box":
            yield from _shared_flags(game, limits, current, spot)
        for player, bet in bets.items():
            if policy.maximum.scope == "player" and bet.total > box.maximum:
                clauses = cited(policy.maximum.clause)
                yield Flag("maximum", spot, player, bet.total, box.maximum, clauses)
            staked = bet.total if policy.minimum.scope == "player" else total
            if staked < box.minimum:
                clauses = cited(policy.minimum.clause)
                yield Flag("minimum", spot, player, staked, box.minimum, clauses)


def _shooter_flags(game: Game, state: TableState, limits: TableLimits) -> Iterator[Flag]:
    rule, shooter, policy = game.facts.shooter, state.shooter, game.facts.limits
    if rule is None or shooter is None or not shooter.stake:
        return
    box = limits.of(rule.box)
    stake, player = shooter.stake, shooter.player
    if stake > box.maximum:
        clauses = cited(policy.maximum.clause)
        yield Flag("maximum", rule.box, player, stake, box.maximum, clauses)
    if stake < box.minimum:
        clauses = cited(policy.minimum.clause)
        yield Flag("minimum", rule.box, player, stake, box.minimum, clauses)


def _shared_flags(game: Game, limits: TableLimits, current: Round, spot: Spot) -> Iterator[Flag]:
    policy, total = game.facts.limits, current.totals[spot]
    most = limits.of(box_of(spot)).maximum
    if total > most:
        yield Flag("maximum", spot, "", total, most, cited(policy.maximum.clause))
    allowed = permitted(game, limits, current.totals, spot)
    if policy.differential and allowed < most and total > allowed:
        yield Flag("differential", spot, "", total, allowed, cited(policy.differential.clause))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Chips of one placement that go back, and the limit they broke."""

    spot: Spot
    player: PlayerId
    number: int
    amount: int
    limit: Literal["maximum", "differential"]


def rejections(game: Game, state: TableState, spots: Iterable[Spot]) -> list[Rejection]:
    """Return whose excess on some spots goes back: the last placement first.

    A placement trimmed below the minimum goes back whole, which may put the other side of a
    differential over in its turn; so the spots are judged again until all of them fit.
    """
    bets, totals = state.current.bets, dict(state.current.totals)
    laid = {spot: _laid(bets[spot]) for spot in spots if spot in bets}
    if game.facts.limits.maximum.scope == "player":
        return [each for spot in laid for each in _over_own(game, state, spot, laid[spot])]
    found: list[Rejection] = []
    while True:
        before = len(found)
        for spot, placements in laid.items():
            found += _trim_shared(game, state, spot, placements, totals)
        if len(found) == before:
            return found


Laid = list[tuple[int, str, int]]
"""Placements as (number, player, amount), the last placed at the end."""


def _laid(bets: Mapping[PlayerId, Bet]) -> Laid:
    return sorted(
        (each.number, player, each.amount)
        for player, bet in bets.items()
        for each in bet.placements
    )


def _trim_shared(
    game: Game, state: TableState, spot: Spot, placements: Laid, totals: dict[Spot, int]
) -> list[Rejection]:
    """Trim a spot whose limits all players share."""
    limits = limits_of(state)
    allowed = permitted(game, limits, totals, spot)
    most = limits.of(box_of(spot)).maximum
    limit: Literal["maximum", "differential"] = "differential" if allowed < most else "maximum"
    gone = _last_first(game, state, spot, placements, totals[spot] - allowed, limit)
    totals[spot] -= sum(each.amount for each in gone)
    return gone


def _over_own(game: Game, state: TableState, spot: Spot, placements: Laid) -> Iterator[Rejection]:
    """Yield what each player has on a spot over his own maximum."""
    most = limits_of(state).of(box_of(spot)).maximum
    own: dict[PlayerId, Laid] = {}
    for number, player, amount in placements:
        own.setdefault(player, []).append((number, player, amount))
    for player, laid in own.items():
        excess = state.current.bets[spot][player].total - most
        yield from _last_first(game, state, spot, laid, excess, "maximum")


def _last_first(
    game: Game,
    state: TableState,
    spot: Spot,
    placements: Laid,
    excess: int,
    limit: Literal["maximum", "differential"],
) -> list[Rejection]:
    """Take an excess off placements, the last first, leaving amounts that can still be paid."""
    step = step_of(game.boxes[box_of(spot)], state.chips)
    minimum = limits_of(state).of(box_of(spot)).minimum
    found = []
    while excess > 0:
        number, player, amount = placements.pop()
        goes = min(amount, -(-excess // step) * step)
        if amount - goes < minimum:
            goes = amount
        else:
            placements.append((number, player, amount - goes))
        excess -= goes
        found.append(Rejection(spot, player, number, goes, limit))
    return found


# --- pro rata -----------------------------------------------------------------------------------


def share(
    rule: ProRata, stakes: Mapping[PlayerId, int], allowed: int, minimum: int, step: int
) -> dict[PlayerId, int]:
    """Return what each stake plays by a rulebook's rule of apportionment."""
    least = minimum if rule.never_below_minimum else 0
    exempt = minimum if rule.exempt_below_minimum else 0
    return apportioned(rule.method, stakes, allowed, least, step, exempt)


def apportioned(
    method: Literal["floor", "absorb"],
    stakes: Mapping[PlayerId, int],
    allowed: int,
    minimum: int,
    chip: int,
    exempt: int | None = None,
) -> dict[PlayerId, int]:
    """Return what each stake in a box over its limit plays.

    `floor`: stake x allowed / total, rounded down to the smallest chip but not below the minimum;
    a stake below the minimum plays whole (sg-rws-tai-sai-v6 5.1.1, sg-rws-tai-sai-v6 5.1.2).

    >>> apportioned("floor", {"a": 900, "b": 300, "c": 40}, 1000, 50, 5)
    {'a': 725, 'b': 240, 'c': 40}

    `absorb`: the others give up what floors and exemptions add.

    >>> apportioned("absorb", {"a": 900, "b": 300, "c": 40}, 1000, 50, 5)
    {'a': 720, 'b': 240, 'c': 40}
    """
    below = minimum if exempt is None else exempt
    total = sum(stakes.values())
    if total <= allowed:
        return dict(stakes)
    if method == "absorb":
        return _absorbed(stakes, allowed, minimum, chip, below)
    return {
        player: stake
        if stake < below
        else min(max(stake * allowed // total // chip * chip, minimum), stake)
        for player, stake in stakes.items()
    }


def _absorbed(
    stakes: Mapping[PlayerId, int], allowed: int, minimum: int, chip: int, below: int
) -> dict[PlayerId, int]:
    """Return what stakes play when the others give up what floors and exemptions add."""
    fixed, rest, total = absorbing(stakes, allowed, minimum, chip, below)
    return {
        player: fixed[player] if player in fixed else stake * rest // total // chip * chip
        for player, stake in stakes.items()
    }


def absorbing(
    stakes: Mapping[PlayerId, int], allowed: int, minimum: int, chip: int, below: int
) -> tuple[dict[PlayerId, int], int, int]:
    """Return who plays a fixed amount, what that leaves, and the stakes that share it.

    Exempt stakes play whole; whoever would fall below the minimum by his share plays it instead.
    """
    fixed = {player: stake for player, stake in stakes.items() if stake < below}
    while True:
        rest = max(allowed - sum(fixed.values()), 0)
        sharing = {player: stake for player, stake in stakes.items() if player not in fixed}
        total = sum(sharing.values())
        low = [
            each
            for each, stake in sharing.items()
            if stake * rest // total // chip * chip < minimum
        ]
        if not low:
            return fixed, rest, total
        fixed.update((player, min(minimum, stakes[player])) for player in low)
