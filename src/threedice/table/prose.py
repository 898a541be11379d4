"""Describe a table's events in prose, for playthroughs and histories that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.table import events as table_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.money import AmountFormatter
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.events import AnyEvent, Stake


def describe_events(
    game: Game, events: Iterable[AnyEvent], fmt: AmountFormatter = str
) -> list[str]:
    """Return one line of text for each event, in the terms of the trade."""
    return [_describe_event(game, event, fmt) for event in events]


def _describe_event(game: Game, event: AnyEvent, fmt: AmountFormatter) -> str:
    unit = game.facts.procedure.unit
    match event:
        case table_events.TableOpened():
            return (
                f"The table opens on {event.game}: chips {', '.join(map(fmt, event.chips))}, "
                f"float {fmt(event.float_amount)}, bets are {_MODES[event.mode]}."
            )
        case table_events.CheckPassed():
            check = game.facts.opening[event.check]
            return f"  The {event.by.role} checks: {check.what or event.check}."
        case table_events.LimitsSet():
            return f"  New limits wait, agreed by the {event.approved_by.role}."
        case table_events.FloatFilled():
            return f"  A fill of {fmt(event.amount)} comes from the vault."
        case table_events.FloatCredited():
            return f"  A credit of {fmt(event.amount)} goes to the vault."
        case table_events.TableClosed():
            return f"The table closes: float {fmt(event.float_amount)}, drop {fmt(event.drop)}."
        case table_events.TableLocked():
            return f"  The table is locked: {event.cause}."
        case table_events.TableReleased():
            return f"  The {event.by.role} releases the table: {event.reason}."
        case table_events.BoughtIn():
            return f"  {event.player} buys in for {fmt(event.amount)} ({event.source})."
        case table_events.CashedOut():
            return f"  {event.player} leaves with {fmt(event.amount)} (to {event.to})."
        case table_events.ChipsChanged():
            return f"  {event.player} changes {fmt(event.amount)} into chips of {fmt(event.into)}."
        case table_events.DebtRepaid():
            return f"  {event.player} repays {fmt(event.amount)} (from {event.source})."
        case table_events.ColourTaken():
            return f"  {event.player} plays {event.colour} chips worth {fmt(event.value)} each."
        case table_events.ColouredUp():
            return f"  {event.player} colours up."
        case table_events.RoundStarted():
            return f"{unit.capitalize()} {event.round}."
        case table_events.BettingOpened():
            return f"  {_announcement(game, 'open-betting', 'Betting is open')}"
        case table_events.BettingClosed():
            return f"  {_announcement(game, 'close-betting', 'Betting is closed')}"
        case table_events.StepTaken():
            return f"  The {event.by.role} takes the step: {event.step}."
        case table_events.BetPlaced():
            how = _MANNERS[event.manner]
            return f"  {event.player} bets {fmt(event.amount)} on {event.spot}{how}."
        case table_events.BetWithdrawn():
            return f"  {event.player} withdraws {fmt(event.amount)} from {event.spot}."
        case table_events.BetRejected():
            where, limit = event.spot, event.limit
            return f"  {fmt(event.amount)} of {event.player}'s on {where} is over the {limit}."
        case table_events.ChipsMoved():
            where = f"{event.spot} to {event.to_spot}"
            return f"  {fmt(event.amount)} of {event.player}'s is moved, {where}."
        case table_events.ChipsPutBack():
            return f"  {fmt(event.amount)} of {event.player}'s is put back on {event.to_spot}."
        case table_events.LineJudged():
            amount, spot = fmt(event.amount), event.spot
            decision = "counts" if event.accepted else "does not count and goes back"
            return f"  {amount} of {event.player}'s on the line of {spot} {decision}."
        case table_events.DiceOffered():
            return f"  The dice are offered to {event.player}."
        case table_events.DiceChosen():
            return f"  {event.player} chooses dice {', '.join(map(str, event.dice))}."
        case table_events.DiceTumbled():
            return f"  The dice are tumbled {event.times} times."
        case table_events.ResultCalled():
            return f'  The {event.by.role} calls: "{event.call}".'
        case table_events.KeyPressed():
            return f"  Key {event.key}."
        case table_events.ResultEntered():
            return f"  Entered: {_faces(game, event.dice)}."
        case table_events.ResultAmended():
            return f"  Amended to {_faces(game, event.dice)}, under the {event.approved_by.role}."
        case table_events.AreasLit():
            lights = "Lit" if event.correct else "The lights fail; they should show"
            return f"  {lights}: {', '.join(event.boxes)}."
        case table_events.BetsApportioned():
            shares = "; ".join(
                f"{player}'s {fmt(stake)} on {spot} plays {fmt(plays)}"
                for spot, player, stake, plays in event.bets
            )
            return f"  Pro rata: {shares}."
        case table_events.LosersCollected():
            return f"  Losers collected: {_stakes(event.bets, fmt)}."
        case table_events.WinnersPaid():
            paid = "; ".join(
                f"{player}'s {fmt(stake)} on {spot} wins {fmt(won)}"
                for spot, player, stake, won in event.bets
            )
            return f"  Winners paid: {paid or 'none'}."
        case table_events.ShooterAdvanced():
            return f"  {event.player} has thrown {event.throws} and throws again."
        case table_events.ShooterWon():
            stake, won = fmt(event.stake), fmt(event.winnings)
            return f"  {event.player}'s {stake} on the shooter's bet wins {won}."
        case table_events.ShooterLost():
            return f"  {event.player} loses the shooter's bet of {fmt(event.stake)}."
        case table_events.RoundVoided():
            bets = (
                "bets stand"
                if event.bets == "stand"
                else f"returned: {_stakes(event.returned, fmt)}"
            )
            return f"  {unit.capitalize()} {event.round} is void ({event.cause}); {bets}."
        case table_events.RoundsReversed():
            moved = "; ".join(
                f"{player} {_signed_amount(amount, fmt)}" for player, amount in event.transfers
            )
            rounds = ", ".join(map(str, event.rounds))
            return f"  Undone ({event.cause}), {unit} {rounds}: {moved or 'nothing moves'}."
        case table_events.ThrowRepeated():
            rule = game.facts.irregularities[event.cause]
            return f'  "{rule.announces or event.cause}": the dice are thrown again.'
        case table_events.RoundContinued():
            known = ", ".join(game.faces.name(face) for face in event.known)
            return (
                f"  Known: {known}; {len(event.won)} boxes have won, {len(event.lost)} have lost."
            )
        case table_events.IrregularityNoted():
            return f"  Noted: {event.irregularity}{': ' + event.note if event.note else ''}."
        case table_events.BetCorrected():
            amount = _signed_amount(event.amount, fmt)
            return f"  Correction for {event.player}: {amount} ({event.reason})."
        case table_events.RulingMade():
            amount = _signed_amount(event.amount, fmt)
            return f"  Ruling for {event.player}: {amount} ({event.reason})."
        case _:
            assert_never(event)


_MODES = {"refuse": "refused over a limit", "record": "recorded as they lie"}
_MANNERS = {
    "self": "",
    "behalf": ", placed by a pit employee",
    "call": ", as a call bet",
    "shooter": ", and it is locked",
}


def _announcement(game: Game, step: StepName, default: str) -> str:
    rule = game.facts.procedure.steps[step]
    bell = " The bell rings." if rule.bell else ""
    return f'"{rule.announces}".{bell}' if rule.announces else f"{default}.{bell}"


def _faces(game: Game, dice: tuple[int, int, int]) -> str:
    return " ".join(game.faces.name(face) for face in dice)


def _stakes(stakes: Iterable[Stake], fmt: AmountFormatter) -> str:
    texts = (f"{player}'s {fmt(amount)} on {spot}" for spot, player, amount in stakes)
    return "; ".join(texts) or "none"


def _signed_amount(amount: int, fmt: AmountFormatter) -> str:
    return f"{'+' if amount >= 0 else ''}{fmt(amount)}"
