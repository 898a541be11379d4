"""Explain why a bet was paid what it was paid, with the clauses.

`explain` reads only a table's events. Every number in an explanation is an amount of an event, a
limit in force, or a term of the calculation shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

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
    from threedice.table.limits import PlayerId, Spot, UpperLimit


@dataclass(frozen=True, slots=True)
class BetRef:
    """A bet, identified by round, player and spot."""

    round: int
    player: PlayerId
    spot: Spot


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
    bets: dict[Spot, _Explanation] = {}
    for event in history:
        if not is_over:
            if isinstance(event, events.RoundStarted):
                bets = {spot: each for spot, each in bets.items() if each.is_carried(state)}
                for each in bets.values():
                    each.outcome = []
            for spot in _spots_bet_on(event, player):
                bets.setdefault(spot, _Explanation(game, fmt, number, player, spot))
            for each in bets.values():
                each.add(state, event)
            evolve(state, event)
            is_over = state.round is None and state.rounds >= number
        if isinstance(event, POST_SETTLEMENT_EVENTS):
            for each in bets.values():
                each.add_later(event)
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


@dataclass(slots=True)
class _Explanation:
    """The explanation of one bet, collected from events."""

    game: Game
    fmt: AmountFormatter
    round: int
    player: PlayerId
    spot: Spot
    stake: int = 0
    staked: list[str] = field(default_factory=list)
    share: list[str] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def is_carried(self, state: TableState) -> bool:
        """Return whether a bet of an earlier round is still down: standing, or the shooter's."""
        rule, shooter = self.game.facts.shooter, state.shooter
        if rule and shooter and self.spot == rule.box:
            return shooter.player == self.player
        return state.standing is not None

    def add(self, state: TableState, event: AnyEvent) -> None:
        """Add the effect on the bet of an event of its own round."""
        game, fmt = self.game, self.fmt
        match event:
            case events.BetPlaced(player=self.player, spot=self.spot):
                how = {"behalf": " by a pit employee", "call": " as a call bet"}
                self._add_stake(event.amount, f"placed on {self.spot}{how.get(event.manner, '')}")
            case events.BetWithdrawn(player=self.player, spot=self.spot):
                self._add_stake(-event.amount, f"withdrawn from {self.spot}")
            case events.BetRejected(player=self.player, spot=self.spot):
                clause = _limit_clause(game, event.limit)
                self._add_stake(-event.amount, f"rejected, over the {event.limit} ({clause})")
            case events.LineJudged(player=self.player, spot=self.spot):
                clause = _cause_clauses(game, "bet-on-line")
                if event.accepted:
                    self.staked.append(f"{fmt(event.amount)} on the line counts ({clause}).")
                else:
                    text = f"on the line does not count and is returned ({clause})"
                    self._add_stake(-event.amount, text)
            case events.ChipsMoved(player=self.player) | events.ChipsPutBack(player=self.player):
                verb = "moved" if isinstance(event, events.ChipsMoved) else "put back"
                if event.spot == self.spot:
                    self._add_stake(-event.amount, f"{verb} to {event.to_spot}")
                if event.to_spot == self.spot:
                    self._add_stake(event.amount, f"{verb} from {event.spot}")
            case events.BetsApportioned():
                for spot, player, stake, plays in event.bets:
                    if (spot, player) == (self.spot, self.player):
                        self.share = self._explain_pro_rata(state, stake, plays)
                        self.stake = plays
            case events.LosersCollected() if state.current.result:
                if (self.spot, self.player, self.stake) in event.bets:
                    roll = state.current.result
                    self.outcome = explain_payout(game, self.spot, roll, self.stake, fmt)
            case events.WinnersPaid():
                for spot, player, stake, _ in event.bets:
                    if (spot, player) == (self.spot, self.player):
                        self.outcome = explain_payout(game, spot, event.dice, stake, fmt)
            case events.RoundVoided() if self.stake:
                self.outcome = [self._void_line(event)]
            case events.ShooterAdvanced() | events.ShooterLost() | events.ShooterWon():
                self._add_shooter_event(event)

    def _add_stake(self, change: int, text: str) -> None:
        self.stake += change
        self.staked.append(f"{self.fmt(abs(change))} {text}.")

    def _add_shooter_event(
        self, event: events.ShooterAdvanced | events.ShooterLost | events.ShooterWon
    ) -> None:
        rule, fmt = self.game.facts.shooter, self.fmt
        if rule is None or self.spot != rule.box or event.player != self.player:
            return
        box = self.game.boxes[rule.box]
        clauses = ", ".join(dict.fromkeys((*box.rule, *box.pays)))
        match event:
            case events.ShooterAdvanced():
                self.outcome = [
                    f"Throw {event.throws} of {box.throws} was won; the series goes on."
                ]
            case events.ShooterLost():
                self.outcome = [
                    f"{box.name} wins when {box.meaning}; this throw did not, so "
                    f"{fmt(event.stake)} is lost ({clauses})."
                ]
            case events.ShooterWon():
                self.outcome = [
                    f"{box.name} won on the last of {box.throws} throws ({clauses}).",
                    f"{fmt(event.stake)} at {box.lines[0].odds} pays {fmt(event.winnings)}.",
                ]
            case _:
                assert_never(event)

    def _explain_pro_rata(self, state: TableState, stake: int, plays: int) -> list[str]:
        """Show the calculation by which a stake plays in part."""
        spot, fmt, rule = self.spot, self.fmt, self.game.facts.limits.pro_rata
        limits, totals = limits_in_force(state), state.current.totals
        allowed = permitted_total(self.game, limits, totals, spot)
        box = limits.for_box(box_of(spot))
        limit = "maximum" if allowed == box.maximum else "differential"
        clauses = ", ".join(clause_numbers(rule.clause) if rule else ())
        share = f"{fmt(stake)} x {fmt(allowed)} / {fmt(totals[spot])}"
        if rule and rule.method == "absorb":
            stakes = {owner: each.total for owner, each in state.current.bets[spot].items()}
            step = stake_step(self.game.boxes[box_of(spot)], state.chips)
            fixed, left, total = split_fixed_stakes(stakes, allowed, box.minimum, step, box.minimum)
            shared = f"{fmt(stake)} x {fmt(left)} / {fmt(total)}, sharing what fixed stakes leave"
            share = "the minimum, its share being less" if self.player in fixed else shared
        return [
            f"The box held {fmt(totals[spot])} and may hold {fmt(allowed)} by its {limit}, so the "
            f"stake of {fmt(stake)} plays in proportion: {share}, rounded down to chips of "
            f"{fmt(state.chips[0])} and not below the minimum of {fmt(box.minimum)}.",
            f"{fmt(plays)} plays; {fmt(stake - plays)} is returned ({clauses}).",
        ]

    def _void_line(self, event: events.RoundVoided) -> str:
        unit, stake = self.game.facts.procedure.unit.capitalize(), self.fmt(self.stake)
        returned = any(bet[:2] == (self.spot, self.player) for bet in event.returned)
        outcome = "is returned" if returned else "stays for the next"
        clauses = _cause_clauses(self.game, event.cause)
        return f"{unit} {event.round} is void, {event.cause} ({clauses}); {stake} {outcome}."

    def add_later(self, event: events.RoundsReversed | events.BetCorrected) -> None:
        """Add a reversal or a correction of the bet's round after it was settled."""
        match event:
            case events.RoundsReversed() if self.round in event.rounds:
                self.after.append(self._reversal_line(event))
            case events.BetCorrected(round=self.round, player=self.player):
                verb = "paid" if event.amount > 0 else "taken back"
                amount = self.fmt(abs(event.amount))
                self.after.append(f"{amount} {verb} as a correction: {event.reason}.")

    def _reversal_line(self, event: events.RoundsReversed) -> str:
        unit, fmt = self.game.facts.procedure.unit.capitalize(), self.fmt
        moved = dict(event.transfers).get(self.player, 0)
        owing = dict(event.owing).get(self.player, 0)
        verb = "paid" if moved > 0 else "taken"
        transfer = f"{fmt(abs(moved))} {verb} back over all rounds voided with it"
        debt = f", of which {fmt(owing)} is owed" if owing > 0 else ""
        clauses = _cause_clauses(self.game, event.cause)
        return f"{unit} {self.round} was voided later, {event.cause} ({clauses}): {transfer}{debt}."


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


def _cause_clauses(game: Game, cause: str) -> str:
    """Return the clauses of an irregularity, or those on void rounds for any other cause."""
    rules = game.facts.irregularities.items()
    rule = next((rule for name, rule in rules if name == cause), None)
    return ", ".join(clause_numbers((rule or game.facts.procedure.void).clause))


def _limit_clause(game: Game, limit: UpperLimit) -> str:
    policy = game.facts.limits
    rule = policy.differential if limit == "differential" else None
    return ", ".join(clause_numbers((rule or policy.maximum).clause))
