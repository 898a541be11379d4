"""Describe a table's events in prose, for playthroughs and histories that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, cast

from threedice.table import events
from threedice.table.chip_counts.prose import (
    describe_drop_count,
    describe_moved_counts,
    describe_rack_count,
    describe_slip,
)
from threedice.table.equipment.prose import describe_equipment_event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.money import AmountFormatter
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import IrregularityName, StepName
    from threedice.table.commands import Actor
    from threedice.table.events import AnyEvent, Payout, Stake


def describe_events(
    game: Game, history: Iterable[AnyEvent], fmt: AmountFormatter = str
) -> list[str]:
    """Return one line of text for each event, in the terms of the trade."""
    return [_describe_event(game, event, fmt) for event in history]


def announcement(game: Game, event: AnyEvent) -> str:
    """Return the words that the rulebook lets the dealer announce at an event, or an empty text."""
    steps, irregularities = game.facts.procedure.steps, game.facts.irregularities
    match event:
        case events.BettingOpened():
            return steps["open-betting"].announces
        case events.BettingClosed():
            return steps["close-betting"].announces
        case (
            events.RoundStopped()
            | events.RoundVoided()
            | events.RoundsReversed()
            | events.ThrowRepeated()
        ):
            rule = irregularities.get(cast("IrregularityName", event.cause))
            return rule.announces if rule else ""
        case _:
            return ""


def _describe_event(game: Game, event: AnyEvent, fmt: AmountFormatter) -> str:
    unit = game.facts.procedure.unit
    match event:
        case events.TableOpened():
            return (
                f"The table opens on {event.game}: chips {', '.join(map(fmt, event.chips))}, "
                f"float {fmt(event.float_amount)}, bets are {_MODES[event.mode]}."
            )
        case events.CheckPassed():
            check = game.facts.opening[event.check]
            seal = f", seal {event.seal}" if event.seal else ""
            return f"  The {event.by.role} checks: {check.what or event.check}{seal}."
        case events.LimitsSet():
            return f"  New limits wait, agreed by the {event.approved_by.role}."
        case events.FloatFilled():
            chips = f"{describe_moved_counts(event, fmt)}{describe_slip(event.slip)}"
            return f"  A fill of {fmt(event.amount)}{chips} comes from the vault."
        case events.FloatCredited():
            chips = f"{describe_moved_counts(event, fmt)}{describe_slip(event.slip)}"
            return f"  A credit of {fmt(event.amount)}{chips} goes to the vault."
        case events.RackCounted():
            return describe_rack_count(event, fmt)
        case events.DropCounted():
            return describe_drop_count(event, fmt)
        case events.TableClosed():
            return f"The table closes: float {fmt(event.float_amount)}, drop {fmt(event.drop)}."
        case events.TableLocked():
            return f"  The table is locked: {event.cause}."
        case events.TableReleased():
            substitute = event.remedy == "substitute-procedure"
            how = f" from {event.cause}" if event.cause else ""
            how += " under a substitute procedure" if substitute else ""
            return f"  The {event.by.role} releases the table{how}: {event.reason}."
        case events.BoughtIn():
            return f"  {event.player} buys in for {fmt(event.amount)} ({event.source})."
        case events.CashedOut():
            return f"  {event.player} leaves with {fmt(event.amount)} (to {event.to})."
        case events.ChipsChanged():
            return f"  {event.player} changes {fmt(event.amount)} into chips of {fmt(event.into)}."
        case events.DebtRepaid():
            return f"  {event.player} repays {fmt(event.amount)} (from {event.source})."
        case events.ColourTaken():
            return f"  {event.player} plays {event.colour} chips worth {fmt(event.value)} each."
        case events.ColouredUp():
            return f"  {event.player} colours up."
        case events.RoundStarted():
            return f"{unit.capitalize()} {event.round}."
        case events.BettingOpened():
            return f"  {_describe_announcement(game, 'open-betting', 'Betting is open')}"
        case events.BettingClosed():
            return f"  {_describe_announcement(game, 'close-betting', 'Betting is closed')}"
        case events.StepTaken():
            recorded = _recorded(event.recorded_by)
            return f"  The {event.by.role} takes the step: {event.step}{recorded}."
        case events.BetPlaced():
            how = _MANNERS[event.manner]
            return f"  {event.player} bets {fmt(event.amount)} on {event.spot}{how}."
        case events.BetWithdrawn():
            return f"  {event.player} withdraws {fmt(event.amount)} from {event.spot}."
        case events.BetRejected():
            where, limit = event.spot, event.limit
            waits = "; it lies there without playing, for lack of change" if event.waits else ""
            return (
                f"  {fmt(event.amount)} of {event.player}'s on {where} is over the {limit}{waits}."
            )
        case events.ChipsMoved():
            where = f"{event.spot} to {event.to_spot}"
            return f"  {fmt(event.amount)} of {event.player}'s is moved, {where}."
        case events.ChipsPutBack():
            cause = f" (moved by {_MOVERS[event.moved_by]})" if event.moved_by else ""
            amount = fmt(event.amount)
            return f"  {amount} of {event.player}'s is put back on {event.to_spot}{cause}."
        case events.LineJudged():
            amount, spot = fmt(event.amount), event.spot
            decision = "counts" if event.accepted else "does not count and goes back"
            return f"  {amount} of {event.player}'s on the line of {spot} {decision}."
        case events.DiceOffered():
            return f"  The dice are offered to {event.player}."
        case events.DiceChosen():
            dice, recorded = ", ".join(map(str, event.dice)), _recorded(event.recorded_by)
            return f"  {event.player} chooses dice {dice}{recorded}."
        case events.DiceTumbled():
            return f"  The dice are tumbled {event.times} times."
        case events.ResultCalled():
            return f'  The {event.by.role} calls: "{event.call}".'
        case events.KeyPressed():
            return f"  Key {event.key}."
        case events.ResultEntered():
            return f"  Entered: {_faces(game, event.dice)}."
        case events.ResultAmended():
            return f"  Amended to {_faces(game, event.dice)}, under the {event.approved_by.role}."
        case events.AreasLit():
            lights = "Lit" if event.correct else "The lights fail; they should show"
            return f"  {lights}: {', '.join(event.boxes)}."
        case events.BetsApportioned():
            shares = "; ".join(
                f"{player}'s {fmt(stake)} on {spot} plays {fmt(plays)}"
                for spot, player, stake, plays in event.bets
            )
            return f"  Pro rata: {shares}."
        case events.LosersCollected():
            return f"  Losers collected: {_stakes(event.bets, fmt)}{_excess(event, fmt)}."
        case events.AreaPaid():
            payouts = _payouts(event.bets, fmt)
            return f"  Winners of {event.spot} paid: {payouts}{_excess(event, fmt)}."
        case events.WinnersPaid():
            return f"  Winners paid: {_payouts(event.bets, fmt)}{_excess(event, fmt)}."
        case events.ShooterAdvanced():
            return f"  {event.player} has thrown {event.throws} and throws again."
        case events.ShooterWon():
            stake, won = fmt(event.stake), fmt(event.winnings)
            return f"  {event.player}'s {stake} on the shooter's bet wins {won}."
        case events.ShooterLost():
            return f"  {event.player} loses the shooter's bet of {fmt(event.stake)}."
        case events.ShooterRestored():
            bet = f"{event.player}'s {fmt(event.stake)} on the shooter's bet"
            return f"  {bet} lies as before {unit} {event.round}."
        case events.RoundStopped():
            announced, number = _quoted_announcement(game, event), event.round
            return f"  {announced}{unit.capitalize()} {number} is stopped ({event.cause})."
        case events.RoundResumed():
            return f"  The {event.by.role} lets the {unit} go on: {event.reason}."
        case events.RoundVoided():
            put_back = f", put back: {_stakes(event.restored, fmt)}" if event.restored else ""
            bets = (
                f"bets stand{put_back}"
                if event.bets == "stand"
                else f"returned: {_stakes(event.returned, fmt)}"
            )
            announced = _quoted_announcement(game, event)
            return (
                f"  {announced}{unit.capitalize()} {event.round} is void ({event.cause}); {bets}."
            )
        case events.RoundsReversed():
            moved = "; ".join(
                f"{player} {_signed_amount(amount, fmt)}" for player, amount in event.transfers
            )
            rounds = ", ".join(map(str, event.rounds))
            announced, moved = _quoted_announcement(game, event), moved or "nothing moves"
            return f"  {announced}Undone ({event.cause}), {unit} {rounds}: {moved}."
        case events.ThrowRepeated():
            back = f" Put back: {_stakes(event.restored, fmt)}." if event.restored else ""
            call = announcement(game, event) or event.cause
            return f'  "{call}": the dice are thrown again.{back}'
        case events.RoundContinued():
            known = ", ".join(game.faces.name(face) for face in event.known)
            return (
                f"  Known: {known}; {len(event.won)} boxes have won, {len(event.lost)} have lost."
            )
        case events.IrregularityNoted():
            return f"  Noted: {event.irregularity}{': ' + event.note if event.note else ''}."
        case events.BetCorrected():
            amount = _signed_amount(event.amount, fmt)
            return f"  Correction for {event.player}: {amount} ({event.reason})."
        case events.RulingMade():
            amount = _signed_amount(event.amount, fmt)
            return f"  Ruling for {event.player}: {amount} ({event.reason})."
        case events.EquipmentEvent():
            return describe_equipment_event(game, event)
        case _:
            assert_never(event)


_MODES = {"refuse": "refused over a limit", "record": "recorded as they lie"}
_MANNERS = {
    "self": "",
    "behalf": ", placed by a pit employee",
    "call": ", as a call bet",
    "shooter": ", and it is locked",
}


_MOVERS = {"dealer": "the dealer", "patron": "another patron"}


def _recorded(by: Actor | None) -> str:
    return f", recorded by the {by.role}" if by else ""


def _quoted_announcement(game: Game, event: AnyEvent) -> str:
    words = announcement(game, event)
    return f'"{words}". ' if words else ""


def _describe_announcement(game: Game, step: StepName, default: str) -> str:
    rule = game.facts.procedure.steps[step]
    bell = " The bell rings." if rule.bell else ""
    return f'"{rule.announces}".{bell}' if rule.announces else f"{default}.{bell}"


def _faces(game: Game, dice: tuple[int, int, int]) -> str:
    return " ".join(game.faces.name(face) for face in dice)


def _stakes(stakes: Iterable[Stake], fmt: AmountFormatter) -> str:
    texts = (f"{player}'s {fmt(amount)} on {spot}" for spot, player, amount in stakes)
    return "; ".join(texts) or "none"


def _excess(event: events.SettlementEvent, fmt: AmountFormatter) -> str:
    """Return the mention of what goes back without having played, or nothing."""
    return f"; back without playing: {_stakes(event.excess, fmt)}" if event.excess else ""


def _payouts(payouts: Iterable[Payout], fmt: AmountFormatter) -> str:
    texts = (
        f"{player}'s {fmt(stake)} on {spot} wins {fmt(won)}" for spot, player, stake, won in payouts
    )
    return "; ".join(texts) or "none"


def _signed_amount(amount: int, fmt: AmountFormatter) -> str:
    return f"{'+' if amount >= 0 else ''}{fmt(amount)}"
