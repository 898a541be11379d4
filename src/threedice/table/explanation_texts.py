"""The lines of explanations as data, and their English texts.

A line is a code, the facts that fill its text, and its clauses. The screens have the texts of all
their languages, by the same codes (`player.explain.line`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.table.limits import box_of

if TYPE_CHECKING:
    from threedice.money import AmountFormatter
    from threedice.rulebook import Game
    from threedice.rulebook.conduct import Irregularity


class ExplanationLine(msgspec.Struct, frozen=True):
    """A line of an explanation: its code, the facts that fill its text, and its clauses.

    Amounts are whole minor units; boxes, causes and units are ids.
    """

    code: str
    facts: dict[str, Any]
    clauses: tuple[str, ...] = ()


AMOUNTS: Final = frozenset(
    {"amount", "total", "allowed", "stake", "left", "shared", "chip", "minimum", "plays",
     "returned", "winnings", "owing"}
)  # fmt: skip
"""The facts of explanations that are amounts."""

_SHARE: Final = (
    "The box held {total} and may hold {allowed} by its {limit}, so the stake of {stake} plays in "
    "proportion: "
)
_ROUNDED: Final = ", rounded down to chips of {chip} and not below the minimum of {minimum}."

EXPLANATION_TEXTS: Final[dict[str, str]] = {
    "placed": "{amount} placed on {box}.",
    "placed-behalf": "{amount} placed on {box} by a pit employee.",
    "placed-call": "{amount} placed on {box} as a call bet.",
    "withdrawn": "{amount} withdrawn from {box}.",
    "rejected-maximum": "{amount} rejected, over the maximum ({clauses}).",
    "rejected-differential": "{amount} rejected, over the differential ({clauses}).",
    "excess-waits": "The rack has no change for the {amount}, so it lies with the bet without "
    "playing, and goes back with it.",
    "line-counts": "{amount} on the line counts ({clauses}).",
    "line-returned": "{amount} on the line does not count and is returned ({clauses}).",
    "moved-to": "{amount} moved to {box}.",
    "moved-from": "{amount} moved from {box}.",
    "put-back-to": "{amount} put back to {box}.",
    "put-back-from": "{amount} put back from {box}.",
    "laid-again": "{amount} laid again, as before a void throw.",
    "share-in-proportion": _SHARE + "{stake} x {allowed} / {total}" + _ROUNDED,
    "share-least": _SHARE + "the minimum, its share being less" + _ROUNDED,
    "share-left": _SHARE
    + "{stake} x {left} / {shared}, sharing what fixed stakes leave"
    + _ROUNDED,
    "return-raised": "No chips make the {amount} to return, so the next higher amount goes back.",
    "plays": "{plays} plays; {returned} is returned ({clauses}).",
    "won": "{name} wins when {meaning}; on {call} it won, paid {odds} ({clauses}).",
    "lost": "{name} wins when {meaning}; on {call} it lost ({clauses}).",
    "pays": "{stake} at {odds} pays {winnings}; {stake} is handed back.",
    "taken": "{amount} is taken.",
    "throw-won": "Throw {throws} of {of} was won; the series goes on.",
    "series-lost": "{name} wins when {meaning}; this throw did not, so {amount} is lost "
    "({clauses}).",
    "series-won": "{name} won on the last of {of} throws ({clauses}).",
    "series-pays": "{stake} at {odds} pays {winnings}.",
    "void-returned": "{Unit} {round} is void: {cause} ({clauses}). {amount} is returned.",
    "void-stays": "{Unit} {round} is void: {cause} ({clauses}). {amount} stays for the next.",
    "void-paid-back": "{Unit} {round} is void: {cause} ({clauses}). {amount} was taken and is paid "
    "back.",
    "void-payment-undone": "{Unit} {round} is void: {cause} ({clauses}). {amount} was handed back, "
    "and its winnings are taken back.",
    "void-put-back-returned": "{Unit} {round} is void: {cause} ({clauses}). {amount} was taken and "
    "put back, and is returned.",
    "void-put-back-stays": "{Unit} {round} is void: {cause} ({clauses}). {amount} was taken and "
    "put back, and stays for the next.",
    "debt-reduced": "{amount} of the winnings of this {unit} reduced a debt to the house "
    "({clauses}).",
    "locked-as-before": "{amount} lies locked as before, {throws} of {of} throws won.",
    "reversed": "{Unit} {round} was voided later: {cause} ({clauses}). Nothing is paid back or "
    "taken back.",
    "reversed-paid": "{Unit} {round} was voided later: {cause} ({clauses}). {amount} paid back over"
    " all rounds voided with it.",
    "reversed-taken": "{Unit} {round} was voided later: {cause} ({clauses}). {amount} taken back "
    "over all rounds voided with it.",
    "owed": "{owing} of that is owed.",
    "debt-cancelled": "A debt of {owing} is cancelled.",
    "correction-paid": "{amount} paid as a correction: {reason}.",
    "correction-taken": "{amount} taken back as a correction: {reason}.",
}
"""The English text of every code; `clauses`, `call`, `name` and `meaning` follow from the game."""


def format_line(game: Game, line: ExplanationLine, fmt: AmountFormatter = str) -> str:
    """Return the English text of a line."""
    facts: dict[str, Any] = {
        key: fmt(fact) if key in AMOUNTS else fact for key, fact in line.facts.items()
    }
    box = game.boxes.get(box_of(line.facts.get("box", "")))
    cause = find_irregularity(game, line.facts.get("cause", ""))
    unit = game.facts.procedure.unit
    return EXPLANATION_TEXTS[line.code].format_map(
        {
            **facts,
            "name": box.name if box else "",
            "meaning": box.meaning if box else "",
            "call": game.call(facts["dice"]) if "dice" in facts else "",
            "cause": (cause and cause.what) or facts.get("cause", ""),
            "unit": unit,
            "Unit": unit.capitalize(),
            "clauses": ", ".join(line.clauses),
        }
    )


def find_irregularity(game: Game, cause: str) -> Irregularity | None:
    """Return the rule on a cause; None if it is in the staff's own words."""
    rules = game.facts.irregularities.items()
    return next((rule for name, rule in rules if name == cause), None)
