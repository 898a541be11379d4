"""Lines of a case in plain words, each translated into commands for the table.

Staff are named by their role; every other name is a player. A line that is short for several
commands ("dice 1 3 6" plays the rest of a round) yields them one by one, so that each handler sees
the state of the table after the previous command.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from heapq import nlargest
from re import sub
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.cases.chip_phrases import CHIP_EXPECTATIONS, CHIP_PHRASES
from threedice.cases.equipment_phrases import EQUIPMENT_PHRASES
from threedice.cases.expectations import EXPECTATIONS
from threedice.cases.language import (
    STAFF_ROLES,
    CaseContext,
    Phrase,
    build,
    build_limits,
    send,
    send_by_dealer,
    send_for_player,
)
from threedice.errors import InvalidInput
from threedice.table import commands
from threedice.table.chip_counts.counts import face_value
from threedice.table.commands import Actor
from threedice.table.usual_steps import (
    ADULT_YEARS,
    DEALER,
    SUPERVISOR,
    commands_before,
    rest_of_round,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.cases.language import Fields
    from threedice.table.commands import AnyCommand


def parse_line(line: str, context: CaseContext) -> Iterator[AnyCommand]:
    """Yield the commands of a line, reading the table's state between them."""
    phrase, fields = read_line(line, context)
    yield from phrase.handler(context, fields) or ()


def read_line(line: str, context: CaseContext) -> tuple[Phrase, Fields]:
    """Return the phrase that a line has the form of, and the values that the line gives."""
    for phrase in PHRASES:
        fields = phrase.read(line, context)
        if fields is not None:
            return phrase, fields
    examples = "; ".join(nearest_examples(line))
    raise InvalidInput(f"{line!r} is not a line of a case; the nearest are: {examples}")


def nearest_examples(line: str, limit: int = 3) -> list[str]:
    """Return the examples of the phrases that a mistyped line is most similar to."""
    simplified = _simplify(line)

    def similarity(phrase: Phrase) -> float:
        full, short = phrase.example, sub(r" ?\[[^]]*\]", "", phrase.example)
        return max(_similarity(simplified, _simplify(each)) for each in (full, short))

    return [phrase.example for phrase in nlargest(limit, PHRASES, similarity)]


def _simplify(line: str) -> str:
    """Return a line without its actor, and without differences between numbers and boxes."""
    line = sub(r"[][\"]", "", line)
    line = sub(rf"^({'|'.join(STAFF_ROLES)})(/\S+)? ", "", line)
    return sub(r"\b(small|big|odd|even|[a-z]+:[0-9a-z-]+)\b", "box", sub(r"\d+", "0", line))


def _similarity(line: str, example: str) -> float:
    """Return how similar a line is to an example, by its letters and by its whole words."""
    letters = SequenceMatcher(None, line, example).ratio()
    return letters + SequenceMatcher(None, line.split(), example.split()).ratio()


# --- lines that need more than one command with their values ------------------------------------


def _buy(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    player = fields.get("player", fields["by"].id)
    age = context.ages.get(player, ADULT_YEARS)
    yield build(commands.BuyIn, {"player": player, "age_years": age, **fields})


def _bet(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    manner = "behalf" if "player" in fields else "self"
    yield build(commands.PlaceBet, {"player": fields["by"].id, "manner": manner, **fields})


def _open_betting(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    by = fields.get("by", DEALER)
    yield from commands_before(context.game, context.state, "open-betting", by)
    yield commands.OpenBetting(by=by)


def _choose_dice(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    by = fields["by"]
    if by.role not in STAFF_ROLES:
        by = Actor(id=by.id, role="shooter")
    yield commands.ChooseDice(by=by, dice=fields["dice"])


def _enter_result(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    by = fields.get("by", DEALER)
    for key in fields["keys"]:
        yield commands.PressKey(by=by, key=key)
    yield commands.PressEnter(by=by)


def _play_round(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    by = fields.get("by", DEALER)
    yield from rest_of_round(context.game, context.state, fields["dice"], by)


def _set_limits(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    limits = build_limits(
        context.game, fields["minimum"], fields["maximum"], fields.get("differential")
    )
    second = fields.get("approved_by")
    yield build(commands.SetLimits, {"by": fields["by"], "limits": limits, "approved_by": second})


def _fill_or_credit(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    command = commands.FillFloat if fields.pop("what") == "fill" else commands.CreditFloat
    yield build(command, {"by": SUPERVISOR, **fields})


def _release(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    remedy = "substitute-procedure" if "remedy" in fields else "rectified"
    yield build(commands.ReleaseTable, {**fields, "remedy": remedy})


def _resume(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    yield build(commands.ResumeRound, {"reason": "", **fields})


def _open_table(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    """Repeat the commands that opened the table, by another person and with another float."""
    for command in context.opening:
        if isinstance(command, commands.OpenTable):
            counted = {"float_amount": face_value(fields["rack"])} if "rack" in fields else {}
            yield msgspec.structs.replace(command, **counted, **fields)
        else:
            yield command


# --- all lines ----------------------------------------------------------------------------------

_BY: Final = "({by:actor} )?"
_AREA: Final = "( at {area:word})?"
_TO_AREA: Final = "( at {to_area:word})?"
_FOR: Final = "( for {player})?"
_WITH: Final = "( with {approved_by:actor})?"
_IN: Final = "( in {counts:counts})?"
_NO_PART_TWICE: Final = (
    "(?![^:]* (?P<part>of|knowing|affecting|by|with) [^:]* (?P=part) )"  # before the note
)
_MOVED_BY: Final = "(, moved by (?:the |a ){moved_by=dealer|patron})?"

PHRASES: Final = (
    *EXPECTATIONS,
    *CHIP_EXPECTATIONS,
    # chips
    Phrase(
        "ann buys 500 [in 4x100 4x25] [from account] [aged 17]",
        "{by:actor} buys {amount:int}"
        + _IN
        + "( from {source=account})?( aged {age_years:int})?"
        + _FOR
        + _WITH,
        _buy,
        introduces=True,
    ),
    Phrase(
        "ann leaves with 300 [to account]",
        "{by:actor} (?:leaves with|cashes out) {amount:int}( to {to=account})?" + _FOR + _WITH,
        send_for_player(commands.CashOut),
    ),
    Phrase(
        "ann repays 50 [in cash]",
        "{by:actor} repays {amount:int}( in {source=cash})?" + _FOR + _WITH,
        send_for_player(commands.RepayDebt),
    ),
    Phrase(
        "ann changes 100 into 25s",
        "{by:actor} changes {amount:int} into {into:int}s" + _FOR,
        send_by_dealer(commands.ChangeChips),
    ),
    Phrase(
        "ann takes red at 25",
        "{by:actor} takes {colour:colour} at {value:int}" + _FOR,
        send_by_dealer(commands.TakeColour),
    ),
    Phrase("ann colours up", "{by:actor} colours up" + _FOR, send_by_dealer(commands.ColourUp)),
    # bets
    Phrase(
        "ann bets 50 on big [at left] [in 2x25]",
        "{by:actor} bets {amount:signed} on {box:box}" + _AREA + _IN + _FOR,
        _bet,
    ),
    Phrase(
        "ann calls 50 on big [at left]",
        "{by:actor} calls {amount:int} on {box:box}" + _AREA + _FOR,
        send_for_player(commands.PlaceBet, manner="call"),
    ),
    Phrase(
        "ann withdraws 50 from big [at left]",
        "{by:actor} withdraws {amount:int} from {box:box}" + _AREA + _FOR,
        send_for_player(commands.WithdrawBet),
    ),
    Phrase(
        "dealer rejects the excess on big [at left]",
        "{by:actor} rejects the excess on {box:box}" + _AREA,
        send(commands.RejectExcess),
    ),
    Phrase(
        "50 of ann's is moved from big [at left] to small [at right]",
        "({by:actor} records )?{amount:int} of {player}'s is moved"
        " from {box:box}" + _AREA + " to {to_box:box}" + _TO_AREA,
        send(commands.MoveChips, by=DEALER),
    ),
    Phrase(
        "supervisor puts 50 of ann's back from small [at left] to big [at right]"
        " [with pit-manager] [, moved by a patron]",
        "{by:actor} puts {amount:int} of {player}'s back"
        " from {box:box}" + _AREA + " to {to_box:box}" + _TO_AREA + _WITH + _MOVED_BY,
        send(commands.PutBack),
    ),
    Phrase(
        "supervisor accepts 50 of ann's on the line of big [at left] [with pit-manager]",
        "{by:actor} {accepted:verdict} {amount:int} of {player}'s on the line of {box:box}"
        + _AREA
        + _WITH,
        send(commands.JudgeLine),
    ),
    # the round
    Phrase("open betting", _BY + "opens? betting", _open_betting),
    Phrase("close betting", _BY + "closes? betting", send(commands.CloseBetting, by=DEALER)),
    Phrase(
        "tumbles 3 times", _BY + "tumbles? {times:int} times?", send(commands.Tumble, by=DEALER)
    ),
    Phrase("uncover the dice", _BY + "uncovers? the dice", send(commands.Uncover, by=DEALER)),
    Phrase(
        "offer the dice to ann",
        _BY + "offers? the dice to {player}",
        send(commands.OfferDice, by=DEALER),
    ),
    Phrase("ann chooses dice 1 2 3", "{by:actor} chooses dice {dice:ints}", _choose_dice),
    Phrase(
        "dealer chooses dice 1 2 3 for ann",
        "{by:actor} chooses dice {dice:ints} for {player}",
        send(commands.ChooseDice),
    ),
    Phrase("ann throws", "{by:actor} throws( for {player})?", send(commands.Throw)),
    Phrase("call 1 3 6", _BY + "calls? {dice:roll}", send(commands.CallResult, by=DEALER)),
    Phrase("enter 1 3 6", _BY + "enters? {keys:ints}", _enter_result),
    Phrase("light the areas", _BY + "lights? the areas", send(commands.Illuminate, by=DEALER)),
    Phrase(
        "the lights fail",
        "({by:actor} sees )?the lights fail",
        send(commands.Illuminate, by=DEALER, correct=False),
    ),
    Phrase(
        "collect the losers", _BY + "collects? the losers", send(commands.CollectLosers, by=DEALER)
    ),
    Phrase(
        "pay the winners on big [at left]",
        _BY + "pays? the winners on {box:box}" + _AREA,
        send(commands.PayArea, by=DEALER),
    ),
    Phrase("pay the winners", _BY + "pays? the winners", send(commands.PayWinners, by=DEALER)),
    Phrase("dice 1 3 6", "({by:actor} plays )?dice {dice:roll}", _play_round),
    # irregularities
    Phrase(
        "dealer reports walked-away [of ann] [knowing 6 6] [affecting 1 2] [by bell-1]"
        " [with supervisor] [: a note]",
        "{by:actor} reports {irregularity:irregularity}" + _NO_PART_TWICE + "( of {player}"
        "| knowing {known:faces}| affecting {rounds:ints}| by {piece}| with {approved_by:actor})*"
        "(: {note:text})?",
        send(commands.Report),
    ),
    Phrase(
        "dealer abandons the round [with supervisor]: a reason",
        "{by:actor} abandons the (?:round|spin|throw)" + _WITH + ": {reason:text}",
        send(commands.AbandonRound),
    ),
    Phrase(
        "supervisor resumes the round: a reason",
        "{by:actor} resumes the (?:round|spin|throw):( {reason:text})?",
        _resume,
    ),
    Phrase(
        "dealer amends the result to 1 3 5 [with supervisor]",
        "{by:actor} amends the result to {dice:roll}" + _WITH,
        send(commands.AmendResult, approved_by=None),
    ),
    Phrase(
        "dealer corrects round 1 for ann by -50 [with supervisor]: a reason",
        "{by:actor} corrects (?:round|spin|throw) {round:int} for {player} by {amount:signed}"
        + _WITH
        + ": {reason:text}",
        send(commands.CorrectBet, approved_by=None),
    ),
    Phrase(
        "shift-manager rules 50 for ann [with pit-manager]: a reason",
        "{by:actor} rules {amount:signed} for {player}" + _WITH + ": {reason:text}",
        send(commands.MakeRuling),
    ),
    *EQUIPMENT_PHRASES,
    *CHIP_PHRASES,
    # the table
    Phrase(
        "dealer sets limits 50 to 500 [differential 1000] [with supervisor]",
        "{by:actor} sets limits {minimum:int} to {maximum:int}"
        "( differential {differential:differential})?" + _WITH,
        _set_limits,
    ),
    Phrase("fill 5000", _BY + "{what=fill|credit}s? {amount:int}" + _WITH, _fill_or_credit),
    Phrase(
        "supervisor releases the table [from display-wrong] [under a substitute procedure]"
        ": a reason",
        "{by:actor} releases the table( from {cause:irregularity})?"
        "( under a {remedy=substitute procedure})?" + _WITH + ": {reason:text}",
        _release,
    ),
    Phrase(
        "close the table [counting 98x5 100x25]",
        _BY + "closes? the table( counting {counted:counts})?" + _WITH,
        send(commands.CloseTable, by=SUPERVISOR),
    ),
    Phrase(
        "open the table [counting 98x5 100x25] [issued 100x5 100x25] [with a float of 5000]",
        _BY + "opens? the table( counting {rack:counts})?( issued {issued:counts})?"
        "( with a float of {float_amount:int})?" + _WITH,
        _open_table,
    ),
)
"""Every phrase; the first that matches a line counts."""
