"""Explain why a bet was paid what it was paid, with the clauses.

`explain` reads only a table's events. Every number in an explanation is an amount of an event, a
limit in force, or a term of the calculation shown.
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
    """A bet, identified by round, player and spot."""

    round: int
    player: PlayerId
    spot: Spot


@dataclass(slots=True)
class _BetHistory:
    """The explanation of one bet, collected from events."""

    fmt: AmountFormatter
    staked: list[str] = field(default_factory=list)
    stake: int = 0
    share: list[str] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


POST_SETTLEMENT_EVENTS: Final = (events.RoundsReversed, events.BetCorrected)
"""Events that can still affect a round after it is over."""


def explain(game: Game, history: Iterable[AnyEvent], bet: BetRef) -> list[str]:
    """Explain the outcome of a bet line by line, with the clauses."""
    explanations = explain_round(game, history, bet.round, bet.player)
    if bet.spot not in explanations:
        unit = game.facts.procedure.unit
        raise InvalidInput(f"{bet.player} had no bet on {bet.spot} in {unit} {bet.round}")
    return explanations[bet.spot]


def explain_round(
    game: Game,
    history: Iterable[AnyEvent],
    number: int,
    player: PlayerId,
    fmt: AmountFormatter = str,
) -> dict[Spot, list[str]]:
    """Explain the outcome of every bet that a player had in a round, by spot."""
    state, is_over = TableState(), False
    bets: dict[Spot, _BetHistory] = {}
    for event in history:
        if not is_over:
            if isinstance(event, events.RoundStarted):
                bets = _carried_bets(game, state, bets, player)
            for spot in _spots_bet_on(event, player):
                bets.setdefault(spot, _BetHistory(fmt))
            for spot, bet_history in bets.items():
                _add_event(game, state, event, BetRef(number, player, spot), bet_history)
            evolve(state, event)
            is_over = state.round is None and state.rounds >= number
        if isinstance(event, POST_SETTLEMENT_EVENTS):
            for spot, bet_history in bets.items():
                _add_later_event(game, event, BetRef(number, player, spot), bet_history)
    return {
        spot: [*each.staked, *each.share, *each.outcome, *each.after] for spot, each in bets.items()
    }


def _spots_bet_on(event: AnyEvent, player: PlayerId) -> tuple[Spot, ...]:
    """Return the spot to which an event adds chips of a player, if any."""
    match event:
        case events.BetPlaced(player=owner) if owner == player:
            return (event.spot,)
        case events.ChipsMoved(player=owner) | events.ChipsPutBack(player=owner):
            return (event.to_spot,) if owner == player else ()
    return ()


def _carried_bets(
    game: Game, state: TableState, bets: dict[Spot, _BetHistory], player: PlayerId
) -> dict[Spot, _BetHistory]:
    """Return the bets that stay for the round that starts, with their outcome cleared."""
    carried = {
        spot: bet_history
        for spot, bet_history in bets.items()
        if _is_carried(game, state, BetRef(state.rounds + 1, player, spot))
    }
    for bet_history in carried.values():
        bet_history.outcome = []
    return carried


def _is_carried(game: Game, state: TableState, bet: BetRef) -> bool:
    """Return whether a bet of an earlier round is still down: it stands, or is the shooter's."""
    rule, shooter = game.facts.shooter, state.shooter
    if rule and shooter and bet.spot == rule.box:
        return shooter.player == bet.player
    return state.standing is not None


def _add_event(
    game: Game, state: TableState, event: AnyEvent, bet: BetRef, bet_history: _BetHistory
) -> None:
    """Add the effect on a bet of an event of its own round."""
    match event:
        case events.BetPlaced(player=bet.player, spot=bet.spot):
            bet_history.stake += event.amount
            how = {"behalf": " by a pit employee", "call": " as a call bet"}.get(event.manner, "")
            bet_history.staked.append(
                f"{bet_history.fmt(event.amount)} placed on {event.spot}{how}."
            )
        case events.BetWithdrawn(player=bet.player, spot=bet.spot):
            bet_history.stake -= event.amount
            bet_history.staked.append(
                f"{bet_history.fmt(event.amount)} withdrawn from {event.spot}."
            )
        case events.BetRejected(player=bet.player, spot=bet.spot):
            bet_history.stake -= event.amount
            clause = _limit_clause(game, event.limit)
            amount = bet_history.fmt(event.amount)
            bet_history.staked.append(f"{amount} rejected, over the {event.limit} ({clause}).")
        case events.LineJudged(player=bet.player, spot=bet.spot):
            decision = "counts" if event.accepted else "does not count and is returned"
            bet_history.stake -= 0 if event.accepted else event.amount
            amount, clause = bet_history.fmt(event.amount), _cause_clauses(game, "bet-on-line")
            bet_history.staked.append(f"{amount} on the line {decision} ({clause}).")
        case events.ChipsMoved() | events.ChipsPutBack():
            _add_move(event, bet, bet_history)
        case events.BetsApportioned():
            for spot, player, stake, plays in event.bets:
                if (spot, player) == (bet.spot, bet.player):
                    bet_history.share = _explain_pro_rata(
                        game, state, bet, stake, plays, bet_history.fmt
                    )
                    bet_history.stake = plays
        case events.LosersCollected() if state.current.result:
            if (bet.spot, bet.player, bet_history.stake) in event.bets:
                bet_history.outcome = explain_payout(
                    game, bet.spot, state.current.result, bet_history.stake, bet_history.fmt
                )
        case events.WinnersPaid():
            for spot, player, stake, _ in event.bets:
                if (spot, player) == (bet.spot, bet.player):
                    bet_history.outcome = explain_payout(
                        game, spot, event.dice, stake, bet_history.fmt
                    )
        case events.RoundVoided() if bet_history.stake:
            bet_history.outcome = [_void_line(game, event, bet, bet_history.fmt(bet_history.stake))]
        case _:
            _add_shooter_event(game, event, bet, bet_history)


def _add_move(
    event: events.ChipsMoved | events.ChipsPutBack, bet: BetRef, bet_history: _BetHistory
) -> None:
    verb = "moved" if isinstance(event, events.ChipsMoved) else "put back"
    if event.player != bet.player:
        return
    if event.spot == bet.spot:
        bet_history.stake -= event.amount
        bet_history.staked.append(f"{bet_history.fmt(event.amount)} {verb} to {event.to_spot}.")
    if event.to_spot == bet.spot:
        bet_history.stake += event.amount
        bet_history.staked.append(f"{bet_history.fmt(event.amount)} {verb} from {event.spot}.")


def _add_shooter_event(game: Game, event: AnyEvent, bet: BetRef, bet_history: _BetHistory) -> None:
    rule = game.facts.shooter
    if rule is None or bet.spot != rule.box or getattr(event, "player", "") != bet.player:
        return
    box = game.boxes[rule.box]
    clauses = ", ".join(dict.fromkeys((*box.rule, *box.pays)))
    match event:
        case events.ShooterAdvanced():
            bet_history.outcome = [
                f"Throw {event.throws} of {box.throws} was won; the series goes on."
            ]
        case events.ShooterLost():
            bet_history.outcome = [
                f"{box.name} wins when {box.meaning}; this throw did not, so "
                f"{bet_history.fmt(event.stake)} is lost ({clauses})."
            ]
        case events.ShooterWon():
            bet_history.outcome = [
                f"{box.name} won on the last of {box.throws} throws ({clauses}).",
                f"{bet_history.fmt(event.stake)} at {box.lines[0].odds} pays "
                f"{bet_history.fmt(event.winnings)}.",
            ]
        case _:
            pass


def _add_later_event(game: Game, event: AnyEvent, bet: BetRef, bet_history: _BetHistory) -> None:
    """Add a reversal or a correction of the bet's round after it was settled."""
    match event:
        case events.RoundsReversed() if bet.round in event.rounds:
            bet_history.after.append(_reversal_line(game, event, bet, bet_history.fmt))
        case events.BetCorrected(round=bet.round, player=bet.player):
            verb = "paid" if event.amount > 0 else "taken back"
            amount = bet_history.fmt(abs(event.amount))
            bet_history.after.append(f"{amount} {verb} as a correction: {event.reason}.")
        case _:
            pass


def explain_payout(
    game: Game, spot: Spot, roll: Roll, plays: int, fmt: AmountFormatter = str
) -> list[str]:
    """Explain a cell of the payoff matrix, and what it pays."""
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
    """Show the calculation by which a stake plays in part."""
    spot, player = bet.spot, bet.player
    rule, limits, totals = game.facts.limits.pro_rata, limits_in_force(state), state.current.totals
    allowed = permitted_total(game, limits, totals, spot)
    box = limits.for_box(box_of(spot))
    limit = "maximum" if allowed == box.maximum else "differential"
    clauses = ", ".join(clause_numbers(rule.clause) if rule else ())
    share = f"{fmt(stake)} x {fmt(allowed)} / {fmt(totals[spot])}"
    if rule and rule.method == "absorb":
        stakes = {owner: each.total for owner, each in state.current.bets[spot].items()}
        step = stake_step(game.boxes[box_of(spot)], state.chips)
        fixed, left, total = split_fixed_stakes(stakes, allowed, box.minimum, step, box.minimum)
        shared = f"{fmt(stake)} x {fmt(left)} / {fmt(total)}, sharing what fixed stakes leave"
        share = "the minimum, its share being less" if player in fixed else shared
    return [
        f"The box held {fmt(totals[spot])} and may hold {fmt(allowed)} by its {limit}, so the "
        f"stake of {fmt(stake)} plays in proportion: {share}, rounded down to chips of "
        f"{fmt(state.chips[0])} and not below the minimum of {fmt(box.minimum)}.",
        f"{fmt(plays)} plays; {fmt(stake - plays)} is returned ({clauses}).",
    ]


def _void_line(game: Game, event: events.RoundVoided, bet: BetRef, stake: str) -> str:
    unit = game.facts.procedure.unit.capitalize()
    returned = any((spot, player) == (bet.spot, bet.player) for spot, player, _ in event.returned)
    outcome = "is returned" if returned else "stays for the next"
    clauses = _cause_clauses(game, event.cause)
    return f"{unit} {event.round} is void, {event.cause} ({clauses}); {stake} {outcome}."


def _reversal_line(
    game: Game, event: events.RoundsReversed, bet: BetRef, fmt: AmountFormatter
) -> str:
    unit = game.facts.procedure.unit.capitalize()
    moved, owing = dict(event.transfers).get(bet.player, 0), dict(event.owing).get(bet.player, 0)
    verb = "paid" if moved > 0 else "taken"
    transfer = f"{fmt(abs(moved))} {verb} back over all rounds voided with it"
    debt = f", of which {fmt(owing)} is owed" if owing > 0 else ""
    clauses = _cause_clauses(game, event.cause)
    return f"{unit} {bet.round} was voided later, {event.cause} ({clauses}): {transfer}{debt}."


def _cause_clauses(game: Game, cause: str) -> str:
    """Return the clauses of an irregularity, or those on void rounds for any other cause."""
    rules = game.facts.irregularities.items()
    rule = next((rule for name, rule in rules if name == cause), None)
    return ", ".join(clause_numbers((rule or game.facts.procedure.void).clause))


def _limit_clause(game: Game, limit: str) -> str:
    policy = game.facts.limits
    rule = (
        policy.differential if limit == "differential" and policy.differential else policy.maximum
    )
    return ", ".join(clause_numbers(rule.clause))
