"""Why a bet was paid what it was paid: the commonest complaint in this trade, answered.

`explain` reads a table's history alone; every number in its words is one that was posted, a limit
in force, or a term of the sum that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.rulebook.conduct import clause_numbers
from threedice.table import events
from threedice.table.evolve import evolve
from threedice.table.limits import box_of, limits_in_force, permitted_total, stake_step
from threedice.table.settlement import split_fixed_stakes
from threedice.table.state import TableState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.dice import Roll
    from threedice.money import AmountFormatter
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.limits import PlayerId, Spot


@dataclass(frozen=True, slots=True)
class BetRef:
    """Which bet: of whom, where, in which round."""

    round: int
    player: PlayerId
    spot: Spot


@dataclass(slots=True)
class _BetHistory:
    """What history says of a bet."""

    fmt: AmountFormatter
    staked: list[str] = field(default_factory=list)
    stake: int = 0
    share: list[str] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


POST_SETTLEMENT_EVENTS: Final = (events.RoundsReversed, events.BetCorrected)
"""What may still be done about a round that is over: nothing else after it need be shown."""


def explain(game: Game, history: Iterable[AnyEvent], bet: BetRef) -> list[str]:
    """Return, line by line, what became of a bet and under which clause."""
    told = explain_round(game, history, bet.round, bet.player)
    if bet.spot not in told:
        unit = game.facts.procedure.unit
        raise InvalidInput(f"{bet.player} had no bet on {bet.spot} in {unit} {bet.round}")
    return told[bet.spot]


def explain_round(
    game: Game,
    history: Iterable[AnyEvent],
    number: int,
    player: PlayerId,
    fmt: AmountFormatter = str,
) -> dict[Spot, list[str]]:
    """Return what became of every bet that a player had in a round, by spot."""
    state, over = TableState(), False
    bets: dict[Spot, _BetHistory] = {}
    for event in history:
        if not over:
            if isinstance(event, events.RoundStarted):
                bets = _still_down(game, state, bets, player)
            for spot in _laid_by(event, player):
                bets.setdefault(spot, _BetHistory(fmt))
            for spot, found in bets.items():
                _note(game, state, event, BetRef(number, player, spot), found)
            evolve(state, event)
            over = state.round is None and state.rounds >= number
        if isinstance(event, POST_SETTLEMENT_EVENTS):
            for spot, found in bets.items():
                _note_later(game, event, BetRef(number, player, spot), found)
    return {
        spot: [*found.staked, *found.share, *found.outcome, *found.after]
        for spot, found in bets.items()
    }


def _laid_by(event: AnyEvent, player: PlayerId) -> tuple[Spot, ...]:
    """Return where chips of a player come to lie by an event."""
    match event:
        case events.BetPlaced(player=whose) if whose == player:
            return (event.spot,)
        case events.ChipsMoved(player=whose) | events.ChipsPutBack(player=whose):
            return (event.to_spot,) if whose == player else ()
    return ()


def _still_down(
    game: Game, state: TableState, bets: dict[Spot, _BetHistory], player: PlayerId
) -> dict[Spot, _BetHistory]:
    """Return the bets that go on into the round that begins, whose outcome is open again."""
    down = {
        spot: found
        for spot, found in bets.items()
        if _goes_on(game, state, BetRef(state.rounds + 1, player, spot))
    }
    for found in down.values():
        found.outcome = []
    return down


def _goes_on(game: Game, state: TableState, bet: BetRef) -> bool:
    """Tell whether a bet is still down from an earlier round: it stands, or is the shooter's."""
    rule, shooter = game.facts.shooter, state.shooter
    if rule and shooter and bet.spot == rule.box:
        return shooter.player == bet.player
    return state.standing is not None


def _note(game: Game, state: TableState, event: AnyEvent, bet: BetRef, found: _BetHistory) -> None:
    """Add what an event of the bet's own round did to it."""
    match event:
        case events.BetPlaced(player=bet.player, spot=bet.spot):
            found.stake += event.amount
            how = {"behalf": " by a pit employee", "call": " as a call bet"}.get(event.manner, "")
            found.staked.append(f"{found.fmt(event.amount)} placed on {event.spot}{how}.")
        case events.BetWithdrawn(player=bet.player, spot=bet.spot):
            found.stake -= event.amount
            found.staked.append(f"{found.fmt(event.amount)} withdrawn from {event.spot}.")
        case events.BetRejected(player=bet.player, spot=bet.spot):
            found.stake -= event.amount
            clause = _limit_clause(game, event.limit)
            said = found.fmt(event.amount)
            found.staked.append(f"{said} rejected, over the {event.limit} ({clause}).")
        case events.LineJudged(player=bet.player, spot=bet.spot):
            word = "counts" if event.accepted else "does not count and is returned"
            found.stake -= 0 if event.accepted else event.amount
            said = found.fmt(event.amount)
            found.staked.append(f"{said} on the line {word} ({_line_clause(game)}).")
        case events.ChipsMoved() | events.ChipsPutBack():
            _note_move(event, bet, found)
        case events.BetsApportioned():
            for spot, player, stake, plays in event.bets:
                if (spot, player) == (bet.spot, bet.player):
                    found.share = _explain_pro_rata(game, state, bet, stake, plays, found.fmt)
                    found.stake = plays
        case events.LosersCollected() if state.current.result:
            if (bet.spot, bet.player, found.stake) in event.bets:
                found.outcome = explain_payout(
                    game, bet.spot, state.current.result, found.stake, found.fmt
                )
        case events.WinnersPaid():
            for spot, player, stake, _ in event.bets:
                if (spot, player) == (bet.spot, bet.player):
                    found.outcome = explain_payout(game, spot, event.dice, stake, found.fmt)
        case events.RoundVoided() if found.stake:
            found.outcome = [_void_line(game, event, bet, found.fmt(found.stake))]
        case _:
            _note_shooter(game, event, bet, found)


def _note_move(
    event: events.ChipsMoved | events.ChipsPutBack, bet: BetRef, found: _BetHistory
) -> None:
    word = "moved" if isinstance(event, events.ChipsMoved) else "put back"
    if event.player != bet.player:
        return
    if event.spot == bet.spot:
        found.stake -= event.amount
        found.staked.append(f"{found.fmt(event.amount)} {word} to {event.to_spot}.")
    if event.to_spot == bet.spot:
        found.stake += event.amount
        found.staked.append(f"{found.fmt(event.amount)} {word} from {event.spot}.")


def _note_shooter(game: Game, event: AnyEvent, bet: BetRef, found: _BetHistory) -> None:
    rule = game.facts.shooter
    if rule is None or bet.spot != rule.box or getattr(event, "player", "") != bet.player:
        return
    box = game.boxes[rule.box]
    clauses = ", ".join(dict.fromkeys((*box.rule, *box.pays)))
    match event:
        case events.ShooterAdvanced():
            found.outcome = [f"Throw {event.throws} of {box.throws} was won; the series goes on."]
        case events.ShooterLost():
            found.outcome = [
                f"{box.name} wins when {box.meaning}; this throw did not, so "
                f"{found.fmt(event.stake)} is lost ({clauses})."
            ]
        case events.ShooterWon():
            found.outcome = [
                f"{box.name} won on the last of {box.throws} throws ({clauses}).",
                f"{found.fmt(event.stake)} at {box.lines[0].odds} pays "
                f"{found.fmt(event.winnings)}.",
            ]
        case _:
            pass


def _note_later(game: Game, event: AnyEvent, bet: BetRef, found: _BetHistory) -> None:
    """Add what was done about the bet's round after it was settled."""
    match event:
        case events.RoundsReversed() if bet.round in event.rounds:
            found.after.append(_reversal_line(game, event, bet, found.fmt))
        case events.BetCorrected(round=bet.round, player=bet.player):
            word = "paid" if event.amount > 0 else "taken back"
            said = found.fmt(abs(event.amount))
            found.after.append(f"{said} {word} as a correction: {event.reason}.")
        case _:
            pass


def explain_payout(
    game: Game, spot: Spot, roll: Roll, plays: int, fmt: AmountFormatter = str
) -> list[str]:
    """Return the cell of the payoff matrix in words, and what it pays."""
    cell = game.cell(box_of(spot), roll)
    clauses = ", ".join(cell.clauses)
    lines = [f"{game.verdict(box_of(spot), roll)} ({clauses})."]
    if cell.odds:
        stake, winnings = fmt(plays), fmt(plays * cell.odds.a // cell.odds.b)
        lines.append(f"{stake} at {cell.odds} pays {winnings}; {stake} is handed back.")
    else:
        lines.append(f"{fmt(plays)} is taken.")
    return lines


def _explain_pro_rata(
    game: Game, state: TableState, bet: BetRef, stake: int, plays: int, fmt: AmountFormatter
) -> list[str]:
    """Show the sum by which a stake plays in part."""
    spot, player = bet.spot, bet.player
    rule, limits, totals = game.facts.limits.pro_rata, limits_in_force(state), state.current.totals
    allowed = permitted_total(game, limits, totals, spot)
    box = limits.for_box(box_of(spot))
    which = "maximum" if allowed == box.maximum else "differential"
    clauses = ", ".join(clause_numbers(rule.clause) if rule else ())
    sum_ = f"{fmt(stake)} x {fmt(allowed)} / {fmt(totals[spot])}"
    if rule and rule.method == "absorb":
        stakes = {each: laid.total for each, laid in state.current.bets[spot].items()}
        step = stake_step(game.boxes[box_of(spot)], state.chips)
        fixed, rest, total = split_fixed_stakes(stakes, allowed, box.minimum, step, box.minimum)
        shared = f"{fmt(stake)} x {fmt(rest)} / {fmt(total)}, sharing what fixed stakes leave"
        sum_ = "the minimum, its share being less" if player in fixed else shared
    return [
        f"The box held {fmt(totals[spot])} and may hold {fmt(allowed)} by its {which}, so the "
        f"stake of {fmt(stake)} plays in proportion: {sum_}, rounded down to chips of "
        f"{fmt(state.chips[0])} and not below the minimum of {fmt(box.minimum)}.",
        f"{fmt(plays)} plays; {fmt(stake - plays)} is returned ({clauses}).",
    ]


def _void_line(game: Game, event: events.RoundVoided, bet: BetRef, stake: str) -> str:
    unit = game.facts.procedure.unit.capitalize()
    back = any((spot, player) == (bet.spot, bet.player) for spot, player, _ in event.returned)
    kept = "is returned" if back else "stays for the next"
    clauses = _cause_clauses(game, event.cause)
    return f"{unit} {event.round} is void, {event.cause} ({clauses}); {stake} {kept}."


def _reversal_line(
    game: Game, event: events.RoundsReversed, bet: BetRef, fmt: AmountFormatter
) -> str:
    unit = game.facts.procedure.unit.capitalize()
    moved, owing = dict(event.transfers).get(bet.player, 0), dict(event.owing).get(bet.player, 0)
    done = "paid" if moved > 0 else "taken"
    words = f"{fmt(abs(moved))} {done} back over all rounds voided with it"
    debt = f", of which {fmt(owing)} is owed" if owing > 0 else ""
    clauses = _cause_clauses(game, event.cause)
    return f"{unit} {bet.round} was voided later, {event.cause} ({clauses}): {words}{debt}."


def _cause_clauses(game: Game, cause: str) -> str:
    """Return the clauses of an irregularity, or those on void rounds where there is none."""
    rules = game.facts.irregularities.items()
    rule = next((rule for name, rule in rules if name == cause), None)
    return ", ".join(clause_numbers((rule or game.facts.procedure.void).clause))


def _line_clause(game: Game) -> str:
    return _cause_clauses(game, "bet-on-line")


def _limit_clause(game: Game, limit: str) -> str:
    policy = game.facts.limits
    rule = (
        policy.differential if limit == "differential" and policy.differential else policy.maximum
    )
    return ", ".join(clause_numbers(rule.clause))
