"""Explain why a bet was paid what it was paid, with the clauses.

`explain` reads only a table's events. Every number in an explanation is an amount of an event, a
limit in force, or a term of the calculation shown. `explanation_texts` has the words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, assert_never

from threedice.errors import InvalidInput
from threedice.rulebook.conduct import clause_numbers
from threedice.table import events
from threedice.table.evolve import evolve
from threedice.table.explanation_texts import ExplanationLine, find_irregularity, format_line
from threedice.table.limits import box_of, limits_in_force, permitted_total, stake_step
from threedice.table.settlement import apportion_by_rule, split_fixed_stakes
from threedice.table.state import TableState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.dice import Roll
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent
    from threedice.table.limits import PlayerId, Spot, UpperLimit


@dataclass(frozen=True, slots=True)
class BetRef:
    """A bet, identified by round, player and spot."""

    round: int
    player: PlayerId
    spot: Spot


@dataclass(frozen=True, slots=True)
class ExplainedBet:
    """The outcome of a bet: what played, at which odds it was paid, the net, and the lines."""

    stake: int
    odds: str
    net: int
    lines: tuple[ExplanationLine, ...]


POST_SETTLEMENT_EVENTS: Final = (
    events.RoundsReversed,
    events.ShooterRestored,
    events.BetCorrected,
    events.DebtRepaid,
)
"""Events that can still affect a round after it is over."""


def explain(game: Game, history: Iterable[AnyEvent], bet: BetRef) -> list[str]:
    """Explain the outcome of a bet line by line, with the clauses."""
    explanations = explain_round(game, history, bet.round, bet.player)
    if bet.spot not in explanations:
        unit = game.facts.procedure.unit
        raise InvalidInput(f"{bet.player} had no bet on {bet.spot} in {unit} {bet.round}")
    return [format_line(game, line) for line in explanations[bet.spot].lines]


def explain_round(
    game: Game, history: Iterable[AnyEvent], number: int, player: PlayerId
) -> dict[Spot, ExplainedBet]:
    """Explain the outcome of every bet that a player had in a round, by spot."""
    state, is_over = TableState(), False
    bets: dict[Spot, _Explanation] = {}
    for event in history:
        if not is_over:
            if isinstance(event, events.RoundStarted):
                bets = {spot: each for spot, each in bets.items() if each.is_carried(state)}
                for each in bets.values():
                    each.settle([])
            for spot in _spots_bet_on(game, event, player):
                bets.setdefault(spot, _Explanation(game, number, player, spot))
            for each in bets.values():
                each.add(state, event)
            evolve(state, event)
            is_over = state.round is None and state.rounds >= number
        if isinstance(event, events.DebtRepaid) or (
            is_over and isinstance(event, POST_SETTLEMENT_EVENTS)
        ):
            for each in bets.values():
                each.add_later(event)
    return {spot: each.result() for spot, each in bets.items()}


def explain_payout(game: Game, spot: Spot, roll: Roll, plays: int) -> list[ExplanationLine]:
    """Explain a cell of the payoff matrix, and what it pays."""
    cell, facts = game.cell(box_of(spot), roll), {"box": box_of(spot), "dice": list(roll)}
    if not cell.odds:
        lost = ExplanationLine("lost", facts, cell.clauses)
        return [lost, ExplanationLine("taken", {"amount": plays})]
    odds, winnings = str(cell.odds), plays * cell.odds.a // cell.odds.b
    return [
        ExplanationLine("won", {**facts, "odds": odds}, cell.clauses),
        ExplanationLine("pays", {"stake": plays, "odds": odds, "winnings": winnings}),
    ]


def _shooter_box(game: Game) -> Spot | None:
    return game.facts.shooter.box if game.facts.shooter else None


def _spots_bet_on(game: Game, event: AnyEvent, player: PlayerId) -> tuple[Spot, ...]:
    """Return the spot to which an event adds chips of a player, if any."""
    match event:
        case events.ShooterRestored(player=owner) if owner == player and event.laid:
            return (_shooter_box(game) or "",)
        case events.BetPlaced(player=owner) if owner == player:
            return (event.spot,)
        case events.ChipsMoved(player=owner) | events.ChipsPutBack(player=owner):
            return (event.to_spot,) if owner == player else ()
    return ()


_PLACED: Final = {"behalf": "placed-behalf", "call": "placed-call"}
"""The codes of bets that staff placed; all others are `placed`."""


@dataclass(slots=True)
class _Explanation:
    """The explanation of one bet, collected from events."""

    game: Game
    round: int
    player: PlayerId
    spot: Spot
    stake: int = 0
    odds: str = ""
    net: int = 0
    staked: list[ExplanationLine] = field(default_factory=list)
    share: list[ExplanationLine] = field(default_factory=list)
    outcome: list[ExplanationLine] = field(default_factory=list)
    after: list[ExplanationLine] = field(default_factory=list)
    has_won: bool = False
    is_collected: bool = False
    is_void: bool = False

    def result(self) -> ExplainedBet:
        """Return what was collected."""
        lines = (*self.staked, *self.share, *self.outcome, *self.after)
        return ExplainedBet(self.stake, self.odds, self.net, lines)

    def is_carried(self, state: TableState) -> bool:
        """Return whether a bet of an earlier round is still down: standing, or the shooter's."""
        if state.shooter and self.spot == _shooter_box(self.game):
            return state.shooter.player == self.player
        return state.standing is not None

    def settle(self, outcome: list[ExplanationLine], net: int = 0, odds: str = "") -> None:
        """Record the outcome of the bet, in place of an earlier one."""
        self.outcome, self.net, self.odds = outcome, net, odds

    def add(self, state: TableState, event: AnyEvent) -> None:
        """Add the effect on the bet of an event of its own round."""
        game = self.game
        match event:
            case events.BetPlaced(player=self.player, spot=self.spot):
                self._add_stake(event.amount, _PLACED.get(event.manner, "placed"), box=self.spot)
            case events.BetWithdrawn(player=self.player, spot=self.spot):
                self._add_stake(-event.amount, "withdrawn", box=self.spot)
            case events.BetRejected(player=self.player, spot=self.spot):
                clauses = _limit_clauses(game, event.limit)
                self._add_stake(-event.amount, f"rejected-{event.limit}", clauses)
                if event.waits:
                    self.staked.append(ExplanationLine("excess-waits", {"amount": event.amount}))
            case events.LineJudged(player=self.player, spot=self.spot):
                clauses = _cause_clauses(game, "bet-on-line")
                if event.accepted:
                    line = ExplanationLine("line-counts", {"amount": event.amount}, clauses)
                    self.staked.append(line)
                else:
                    self._add_stake(-event.amount, "line-returned", clauses)
            case events.ChipsMoved(player=self.player) | events.ChipsPutBack(player=self.player):
                verb = "moved" if isinstance(event, events.ChipsMoved) else "put-back"
                if event.spot == self.spot:
                    self._add_stake(-event.amount, f"{verb}-to", box=event.to_spot)
                if event.to_spot == self.spot:
                    self._add_stake(event.amount, f"{verb}-from", box=event.spot)
            case events.BetsApportioned():
                for spot, player, stake, plays in event.bets:
                    if (spot, player) == (self.spot, self.player):
                        self.share = self._explain_pro_rata(state, stake, plays)
                        self.stake = plays
            case events.LosersCollected():
                if (self.spot, self.player, self.stake) in event.bets:
                    self.is_collected = True
                    roll = state.current.final_result
                    self.settle(explain_payout(game, self.spot, roll, self.stake), -self.stake)
            case events.AreaPaid() | events.WinnersPaid():
                roll = state.current.final_result
                for spot, player, stake, winnings in event.bets:
                    if (spot, player) == (self.spot, self.player):
                        odds = str(game.cell(box_of(spot), roll).odds)
                        self.settle(explain_payout(game, spot, roll, stake), winnings, odds)
                        self.has_won = True
            case events.RoundVoided() if self.stake:
                self.is_void = event.round == self.round
                self.settle([self._void_line(event)])
                self.is_collected = False
            case events.ThrowRepeated():
                self.settle([])
                self.is_collected = False
            case events.ShooterAdvanced() | events.ShooterLost() | events.ShooterWon():
                self._add_shooter_event(event)
            case events.ShooterRestored(player=self.player, laid=laid) if (
                laid and self.spot == _shooter_box(game)
            ):
                self.stake, self.staked, self.has_won = 0, [], False
                self._add_stake(laid, "laid-again")

    def _add_stake(
        self, change: int, code: str, clauses: tuple[str, ...] = (), **facts: str
    ) -> None:
        self.stake += change
        self.staked.append(ExplanationLine(code, {"amount": abs(change), **facts}, clauses))

    def _add_shooter_event(
        self, event: events.ShooterAdvanced | events.ShooterLost | events.ShooterWon
    ) -> None:
        if self.spot != _shooter_box(self.game) or event.player != self.player:
            return
        box = self.game.boxes[self.spot]
        clauses = tuple(dict.fromkeys((*box.rule, *box.pays)))
        match event:
            case events.ShooterAdvanced():
                throws = {"throws": event.throws, "of": box.throws}
                self.settle([ExplanationLine("throw-won", throws)])
            case events.ShooterLost():
                facts = {"box": self.spot, "amount": event.stake}
                self.settle([ExplanationLine("series-lost", facts, clauses)], -event.stake)
            case events.ShooterWon():
                self.has_won, odds = True, str(box.lines[0].odds)
                won = {"box": self.spot, "of": box.throws}
                pays = {"stake": event.stake, "odds": odds, "winnings": event.winnings}
                lines = [
                    ExplanationLine("series-won", won, clauses),
                    ExplanationLine("series-pays", pays),
                ]
                self.settle(lines, event.winnings, odds)
            case _:
                assert_never(event)

    def _explain_pro_rata(self, state: TableState, stake: int, plays: int) -> list[ExplanationLine]:
        """Show the calculation by which a stake plays in part."""
        spot, rule = self.spot, self.game.facts.limits.pro_rata
        limits, totals = limits_in_force(state), state.current.totals
        allowed = permitted_total(self.game, limits, totals, spot)
        box, code = limits.for_box(box_of(spot)), "share-in-proportion"
        facts: dict[str, Any] = {
            "total": totals[spot],
            "allowed": allowed,
            "limit": "maximum" if allowed == box.maximum else "differential",
            "stake": stake,
            "chip": state.chips[0],
            "minimum": box.minimum,
        }
        stakes = {owner: each.total for owner, each in state.current.bets[spot].items()}
        step = stake_step(self.game.boxes[box_of(spot)], state.chips)
        if rule and rule.method == "absorb":
            fixed, left, total = split_fixed_stakes(stakes, allowed, box.minimum, step, box.minimum)
            code = "share-least" if self.player in fixed else "share-left"
            facts |= {"left": left, "shared": total}
        clauses = clause_numbers(rule.clause) if rule else ()
        lines = [ExplanationLine(code, facts)]
        shares = apportion_by_rule(rule, stakes, allowed, box.minimum, step) if rule else {}
        share = shares.get(self.player, plays)
        if share != plays:  # older versions raised what the rack could not return
            lines.append(ExplanationLine("return-raised", {"amount": stake - share}))
        played = {"plays": plays, "returned": stake - plays}
        return [*lines, ExplanationLine("plays", played, clauses)]

    def _void_line(self, event: events.RoundVoided) -> ExplanationLine:
        returned = any(bet[:2] == (self.spot, self.player) for bet in event.returned)
        stays = event.bets == "stand" or self.spot == _shooter_box(self.game)
        fate = "stays" if stays and not returned else "returned"
        if self.is_collected:
            fate = f"put-back-{fate}" if event.bets == "stand" else "paid-back"
        elif self.has_won:
            fate = "payment-undone"
        facts = {"round": event.round, "cause": event.cause, "amount": self.stake}
        return ExplanationLine(f"void-{fate}", facts, _cause_clauses(self.game, event.cause))

    def add_later(
        self,
        event: (
            events.RoundsReversed | events.ShooterRestored | events.BetCorrected | events.DebtRepaid
        ),
    ) -> None:
        """Add what changed the payment of the bet's round after it was settled."""
        match event:
            case events.DebtRepaid(round=self.round, player=self.player) if self.has_won:
                rule = self.game.facts.debts
                clauses = clause_numbers(rule.clause) if rule else ()
                line = ExplanationLine("debt-reduced", {"amount": event.amount}, clauses)
                self.after.append(line)
            case events.ShooterRestored(round=self.round, player=self.player) if (
                self.spot == _shooter_box(self.game)
            ):
                of = self.game.boxes[self.spot].throws
                facts = {"amount": event.stake, "throws": event.throws, "of": of}
                self.after.append(ExplanationLine("locked-as-before", facts))
            case events.RoundsReversed() if self.round in event.rounds and not self.is_void:
                self.net = 0
                self.after += [*self._reversal_lines(event), *self._debt_lines(event)]
            case events.RoundsReversed() if self.round in event.rounds and self.has_won:
                self.after += self._debt_lines(event)
            case events.BetCorrected(round=self.round, player=self.player):
                code = "correction-paid" if event.amount > 0 else "correction-taken"
                corrected = {"amount": abs(event.amount), "reason": event.reason}
                self.after.append(ExplanationLine(code, corrected))

    def _reversal_lines(self, event: events.RoundsReversed) -> list[ExplanationLine]:
        moved = dict(event.transfers).get(self.player, 0)
        code = "reversed" if not moved else "reversed-paid" if moved > 0 else "reversed-taken"
        facts: dict[str, Any] = {
            "round": self.round, "cause": event.cause, "amount": abs(moved)
        }  # fmt: skip
        return [ExplanationLine(code, facts, _cause_clauses(self.game, event.cause))]

    def _debt_lines(self, event: events.RoundsReversed) -> list[ExplanationLine]:
        owing = dict(event.owing).get(self.player, 0)
        if not owing:
            return []
        return [ExplanationLine("owed" if owing > 0 else "debt-cancelled", {"owing": abs(owing)})]


def _cause_clauses(game: Game, cause: str) -> tuple[str, ...]:
    """Return the clauses of an irregularity, or those on void rounds for any other cause."""
    return clause_numbers((find_irregularity(game, cause) or game.facts.procedure.void).clause)


def _limit_clauses(game: Game, limit: UpperLimit) -> tuple[str, ...]:
    policy = game.facts.limits
    rule = policy.differential if limit == "differential" else None
    return clause_numbers((rule or policy.maximum).clause)
