"""Refusals at a table: what a person may not do now, with the clause that says so and the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from threedice.errors import Refusal
from threedice.rulebook.conduct import cited

if TYPE_CHECKING:
    from threedice.rulebook.conduct import Citation

TEXTS: Final[dict[str, str]] = {
    "table/not-open": "the table is not open",
    "table/already-open": "the table is open already",
    "table/currency": "this table has debts and rounds in {currency}; it cannot open in another",
    "table/checks-missing": "these checks are still to be made: {checks}",
    "table/unknown-check": "there is no check {check}; there are {checks}",
    "table/locked": "no further {unit} starts until the table is released: {cause}",
    "table/not-locked": "the table is not locked",
    "table/round-open": "a {unit} is being played; finish it first",
    "role/not-allowed": "{role} may not do this; {allowed} may",
    "role/second-person": "this takes a second person: {allowed}, and not the one who asks",
    "role/same-person": "nobody approves what they ask for themselves",
    "step/not-now": "{step} comes after {after}",
    "step/already-done": "{step} has been done",
    "step/not-in-rulebook": "this game has no step {step}",
    "betting/closed": "betting is closed",
    "betting/not-open": "betting is not open yet",
    "bet/unknown-box": "there is no box {box} on this layout; the nearest are {nearest}",
    "bet/unknown-area": "box {box} has no area {area}; it has {areas}",
    "bet/amount": "{amount} cannot be staked in chips of {chip}",
    "bet/not-payable": "{amount} cannot be paid exactly; stake multiples of {step}",
    "bet/stack": "{amount} is more than the {stack} in the stack",
    "bet/over-maximum": "{amount} is more than fits: {room} of {maximum}",
    "bet/under-minimum": "a bet of {total} is under the minimum of {minimum}",
    "bet/locked": "the bet is locked and may not be removed",
    "bet/not-there": "there is no bet of {amount} there, only {staked}",
    "bet/nothing-over": "nothing in {box} is over a limit",
    "bet/position-fixed": "where the chips lay has been settled; moving them changes nothing",
    "bet/call-bet": "a misplaced call bet stays where it was put",
    "chips/amount": "{amount} cannot be made in chips of {chip}",
    "chips/stack": "{amount} is more than the {stack} in the stack",
    "chips/colour-taken": "{colour} is another player's colour",
    "chips/no-colours": "non-value chips are not used in this game",
    "chips/colour-value": "a colour is worth a multiple of {chip}, the smallest chip, in which the "
    "stack can be made",
    "chips/bets-down": "there are bets of this player on the layout",
    "player/unknown": "player {player} has no chips at this table",
    "player/age": "nobody under {years} takes part",
    "debt/amount": "{player} owes {owing}; {amount} cannot be repaid",
    "float/short": "the float is {short} short; ask for a fill",
    "float/amount": "the float is {float}; {amount} cannot be taken from it",
    "dice/count": "the tumbler has to be activated",
    "dice/face": "{key} is no key of the terminal",
    "dice/too-few": "three keys have to be pressed before Enter",
    "dice/known": "the dice are known to show {known}",
    "dice/not-called": "the result has not been called",
    "dice/unequal": "{entered} was entered, {called} was called; have it amended",
    "dice/settled": "settlement has begun; the result cannot be amended",
    "dice/same": "the result is {dice} already",
    "irregularity/unknown": "the rulebook knows no {irregularity}",
    "irregularity/not-now": "{irregularity} cannot be reported now",
    "irregularity/dice": "{known} is not what up to three dice can show",
    "round/unknown": "there is no settled {unit} {round} to go back to",
    "round/no-bet": "{player} had no bet in {unit} {round}",
    "round/reversed": "{unit} {round} has been reversed already",
    "amount/zero": "an amount of nothing changes nothing",
    "reason/missing": "give the reason",
    "shooter/not-offered": "the dice have not been offered to {player}",
    "shooter/only": "only the shooter holds this bet",
    "shooter/must-bet": "the shooter must bet before the dice are thrown",
    "shooter/no-dice": "the dice have to be chosen first",
    "shooter/choose": "choose {chosen} different dice of the {offered} offered",
    "shooter/series": "the shooter's series goes on",
    "limits/wrong": "{problem}",
}
"""Every code with the words for it; the facts of a refusal fill them."""


def refuse(code: str, clause: Citation | tuple[str, ...] = (), /, **facts: Any) -> Refusal:
    """Return the refusal of a command, to be raised."""
    numbers = clause if isinstance(clause, tuple) else cited(clause)
    return Refusal(code, TEXTS[code], numbers, facts)
