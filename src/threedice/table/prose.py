"""A table's events as prose, for playthroughs that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.table import events as happened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.money import Say
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.events import AnyEvent, Stake


def tell(game: Game, events: Iterable[AnyEvent], say: Say = str) -> list[str]:
    """Return one line for each event, in the trade's words."""
    return [_line(game, event, say) for event in events]


def _line(game: Game, event: AnyEvent, say: Say) -> str:
    unit = game.facts.procedure.unit
    match event:
        case happened.TableOpened():
            return (
                f"The table opens on {event.game}: chips {', '.join(map(say, event.chips))}, "
                f"float {say(event.float_amount)}, bets are {_MODES[event.mode]}."
            )
        case happened.CheckPassed():
            check = game.facts.opening[event.check]
            return f"  The {event.by.role} checks: {check.what or event.check}."
        case happened.LimitsSet():
            return f"  New limits wait, agreed by the {event.approved_by.role}."
        case happened.FloatFilled():
            return f"  A fill of {say(event.amount)} comes from the vault."
        case happened.FloatCredited():
            return f"  A credit of {say(event.amount)} goes to the vault."
        case happened.TableClosed():
            return f"The table closes: float {say(event.float_amount)}, drop {say(event.drop)}."
        case happened.TableLocked():
            return f"  The table is locked: {event.cause}."
        case happened.TableReleased():
            return f"  The {event.by.role} releases the table: {event.reason}."
        case happened.BoughtIn():
            return f"  {event.player} buys in for {say(event.amount)} ({event.source})."
        case happened.CashedOut():
            return f"  {event.player} leaves with {say(event.amount)} (to {event.to})."
        case happened.ChipsChanged():
            return f"  {event.player} changes {say(event.amount)} into chips of {say(event.into)}."
        case happened.DebtRepaid():
            return f"  {event.player} repays {say(event.amount)} (from {event.source})."
        case happened.ColourTaken():
            return f"  {event.player} plays {event.colour} chips worth {say(event.value)} each."
        case happened.ColouredUp():
            return f"  {event.player} colours up."
        case happened.RoundStarted():
            return f"{unit.capitalize()} {event.round}."
        case happened.BettingOpened():
            return f"  {_announced(game, 'open-betting', 'Betting is open')}"
        case happened.BettingClosed():
            return f"  {_announced(game, 'close-betting', 'Betting is closed')}"
        case happened.StepTaken():
            return f"  The {event.by.role} takes the step: {event.step}."
        case happened.BetPlaced():
            how = _MANNERS[event.manner]
            return f"  {event.player} bets {say(event.amount)} on {event.spot}{how}."
        case happened.BetWithdrawn():
            return f"  {event.player} withdraws {say(event.amount)} from {event.spot}."
        case happened.BetRejected():
            where, limit = event.spot, event.limit
            return f"  {say(event.amount)} of {event.player}'s on {where} is over the {limit}."
        case happened.ChipsMoved():
            where = f"{event.spot} to {event.to_spot}"
            return f"  {say(event.amount)} of {event.player}'s is moved, {where}."
        case happened.ChipsPutBack():
            return f"  {say(event.amount)} of {event.player}'s is put back on {event.to_spot}."
        case happened.LineJudged():
            word = "counts" if event.accepted else "is no bet and goes back"
            return f"  {say(event.amount)} of {event.player}'s on the line of {event.spot} {word}."
        case happened.DiceOffered():
            return f"  The dice are offered to {event.player}."
        case happened.DiceChosen():
            return f"  {event.player} chooses dice {', '.join(map(str, event.dice))}."
        case happened.DiceTumbled():
            return f"  The dice are tumbled {event.times} times."
        case happened.ResultCalled():
            return f'  The {event.by.role} calls: "{event.call}".'
        case happened.KeyPressed():
            return f"  Key {event.key}."
        case happened.ResultEntered():
            return f"  Entered: {_faces(game, event.dice)}."
        case happened.ResultAmended():
            return f"  Amended to {_faces(game, event.dice)}, under the {event.approved_by.role}."
        case happened.AreasLit():
            lit = "Lit" if event.correct else "The lights fail; they should show"
            return f"  {lit}: {', '.join(event.boxes)}."
        case happened.BetsApportioned():
            shares = "; ".join(
                f"{player}'s {say(stake)} on {spot} plays {say(plays)}"
                for spot, player, stake, plays in event.bets
            )
            return f"  Pro rata: {shares}."
        case happened.LosersCollected():
            return f"  Losers collected: {_stakes(event.bets, say)}."
        case happened.WinnersPaid():
            paid = "; ".join(
                f"{player}'s {say(stake)} on {spot} wins {say(won)}"
                for spot, player, stake, won in event.bets
            )
            return f"  Winners paid: {paid or 'none'}."
        case happened.ShooterAdvanced():
            return f"  {event.player} has thrown {event.throws} and throws again."
        case happened.ShooterWon():
            stake, won = say(event.stake), say(event.winnings)
            return f"  {event.player}'s {stake} on the shooter's bet wins {won}."
        case happened.ShooterLost():
            return f"  {event.player} loses the shooter's bet of {say(event.stake)}."
        case happened.RoundVoided():
            back = (
                "bets stand"
                if event.bets == "stand"
                else f"returned: {_stakes(event.returned, say)}"
            )
            return f"  {unit.capitalize()} {event.round} is void ({event.cause}); {back}."
        case happened.RoundsReversed():
            moved = "; ".join(
                f"{player} {_moved(amount, say)}" for player, amount in event.transfers
            )
            rounds = ", ".join(map(str, event.rounds))
            return f"  Undone ({event.cause}), {unit} {rounds}: {moved or 'nothing moves'}."
        case happened.ThrowRepeated():
            rule = game.facts.irregularities[event.cause]
            return f'  "{rule.announces or event.cause}": the dice are thrown again.'
        case happened.RoundContinued():
            known = ", ".join(game.faces.name(face) for face in event.known)
            return (
                f"  Known: {known}; {len(event.won)} boxes have won, {len(event.lost)} have lost."
            )
        case happened.IrregularityNoted():
            return f"  Noted: {event.irregularity}{': ' + event.note if event.note else ''}."
        case happened.BetCorrected():
            return f"  Correction for {event.player}: {_moved(event.amount, say)} ({event.reason})."
        case happened.RulingMade():
            return f"  Ruling for {event.player}: {_moved(event.amount, say)} ({event.reason})."
        case _:
            assert_never(event)


_MODES = {"refuse": "refused over a limit", "record": "recorded as they lie"}
_MANNERS = {
    "self": "",
    "behalf": ", placed by a pit employee",
    "call": ", as a call bet",
    "shooter": ", and it is locked",
}


def _announced(game: Game, step: StepName, otherwise: str) -> str:
    rule = game.facts.procedure.steps[step]
    bell = " The bell rings." if rule.bell else ""
    return f'"{rule.announces}".{bell}' if rule.announces else f"{otherwise}.{bell}"


def _faces(game: Game, dice: tuple[int, int, int]) -> str:
    return " ".join(game.faces.name(face) for face in dice)


def _stakes(stakes: Iterable[Stake], say: Say) -> str:
    each = (f"{player}'s {say(amount)} on {spot}" for spot, player, amount in stakes)
    return "; ".join(each) or "none"


def _moved(amount: int, say: Say) -> str:
    return f"{'+' if amount >= 0 else ''}{say(amount)}"
