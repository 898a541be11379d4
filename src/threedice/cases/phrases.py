"""Lines of a case in plain words, each translated into commands for the table.

Staff are named by their role; every other name is a player. A line that is short for several
commands ("dice 1 3 6" plays the rest of a round) yields them one by one, so that each handler sees
the state of the table after the previous command. An expectation that fails is a difference of the
case, and play continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.cases.language import (
    DEALER,
    SUPERVISOR,
    CaseContext,
    ExpectationFailed,
    Phrase,
    commands_before,
    send,
    step_commands,
)
from threedice.errors import InvalidInput
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import LimitBreach, find_breaches, remaining_room, uniform_limits
from threedice.table.rules import require_box, resolve_spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.cases.language import Fields
    from threedice.table.commands import AnyCommand


def parse_line(line: str, context: CaseContext) -> Iterator[AnyCommand]:
    """Yield the commands of a line, reading the table's state between them."""
    for phrase in PHRASES:
        fields = phrase.read(line, context)
        if fields is not None:
            yield from phrase.handler(context, fields) or ()
            return
    examples = "; ".join(phrase.example for phrase in PHRASES)
    raise InvalidInput(f"{line!r} is not a line of a case; the lines are: {examples}")


# --- lines that need more than one command with their values ------------------------------------


def _withdraw(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    yield commands.WithdrawBet(**{"player": fields["by"].id, **fields})


def _open_betting(context: CaseContext, _fields: Fields) -> Iterator[AnyCommand]:
    yield from commands_before(context, "open-betting")
    yield commands.OpenBetting(by=DEALER)


def _choose_dice(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    yield commands.ChooseDice(by=Actor(id=fields["player"], role="shooter"), dice=fields["dice"])


def _enter_result(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    by = fields.get("by", DEALER)
    for key in fields["keys"]:
        yield commands.PressKey(by=by, key=key)
    yield commands.PressEnter(by=by)


def _play_round(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    for step in context.game.facts.procedure.order:
        if context.state.round is None or step not in context.state.round.done:
            yield from step_commands(context, step, fields["dice"])


def _set_limits(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    limits = uniform_limits(
        context.game, fields["minimum"], fields["maximum"], fields.get("differential")
    )
    yield commands.SetLimits(by=fields["by"], limits=limits, approved_by=fields["approved_by"])


def _fill_or_credit(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
    command = commands.FillFloat if fields["what"] == "fill" else commands.CreditFloat
    yield command(by=SUPERVISOR, amount=fields["amount"])


# --- expectations: lines that send no command ---------------------------------------------------


def _expect_stack(context: CaseContext, fields: Fields) -> None:
    seat = context.state.seats.get(fields["player"])
    _expect_equal(f"{fields['player']} has", seat.stack if seat else 0, fields["amount"])


def _expect_float_or_drop(context: CaseContext, fields: Fields) -> None:
    actual = context.state.drop if fields["what"] == "drop" else context.state.float_amount
    _expect_equal(f"the {fields['what']} is", actual, fields["amount"])


def _expect_room(context: CaseContext, fields: Fields) -> None:
    game, state, player = context.game, context.state, fields["player"]
    require_box(game, fields["box"])
    spot = resolve_spot(game, fields["box"], fields.get("area", ""))
    actual = remaining_room(game, state, spot, player) if state.round else 0
    _expect_equal(f"{player} has room on {spot} for", actual, fields["amount"])


def _expect_equal(what: str, actual: int, expected: int) -> None:
    if actual != expected:
        raise ExpectationFailed(f"{what} {actual}, expected {expected}")


def _expect_flags(context: CaseContext, fields: Fields) -> None:
    breaches = find_breaches(context.game, context.state) if context.state.round else ()
    actual = [_describe_flag(each) for each in breaches] or ["none"]
    expected = [each.strip() for each in fields["flags"].split(";")]
    if sorted(actual) != sorted(expected):
        raise ExpectationFailed(f"flags: {'; '.join(actual)}, expected {'; '.join(expected)}")


def _describe_flag(flag: LimitBreach) -> str:
    side = "under" if flag.kind == "minimum" else "over"
    where = f"{flag.player}'s on {flag.spot}" if flag.player else flag.spot
    return f"{where} {side} the {flag.kind}"


# --- all lines ----------------------------------------------------------------------------------

PHRASES: Final = (
    # expectations about the table
    Phrase("ann has 300", "{player} has {amount:int}", _expect_stack),
    Phrase(
        "the float is 5000 / the drop is 500",
        "the {what=float|drop} is {amount:int}",
        _expect_float_or_drop,
    ),
    Phrase(
        "ann has room for 300 on big [at left]",
        "{player} has room for {amount:int} on {box:box}( at {area:word})?",
        _expect_room,
    ),
    Phrase(
        "flags: big over the maximum; odd over the differential; ann's on big under the minimum",
        "flags: {flags:text}",
        _expect_flags,
    ),
    # chips and bets
    Phrase(
        "ann buys 500 [from account] [aged 17]",
        "{player} buys {amount:int}( from {source=account})?( aged {age_years:int})?",
        send(commands.BuyIn, age_years=30),
    ),
    Phrase(
        "ann leaves with 300 [to account]",
        "{player} leaves with {amount:int}( to {to=account})?",
        send(commands.CashOut),
    ),
    Phrase(
        "ann repays 50 [in cash]",
        "{player} repays {amount:int}( in {source=cash})?",
        send(commands.RepayDebt),
    ),
    Phrase(
        "ann changes 100 into 25s",
        "{player} changes {amount:int} into {into:int}s",
        send(commands.ChangeChips, by=DEALER),
    ),
    Phrase(
        "ann takes red at 25",
        "{player} takes {colour:word} at {value:int}",
        send(commands.TakeColour, by=DEALER),
    ),
    Phrase("ann colours up", "{player} colours up", send(commands.ColourUp, by=DEALER)),
    Phrase(
        "ann bets 50 on big [at left]",
        "{player} bets {amount:signed} on {box:box}( at {area:word})?",
        send(commands.PlaceBet),
    ),
    Phrase(
        "dealer bets 50 on big for ann",
        "{by:actor} bets {amount:int} on {box:box} for {player}",
        send(commands.PlaceBet, manner="behalf"),
    ),
    Phrase(
        "ann calls 50 on big",
        "{player} calls {amount:int} on {box:box}",
        send(commands.PlaceBet, manner="call"),
    ),
    Phrase(
        "ann withdraws 50 from big [at left] (or: dealer withdraws 50 from big for ann)",
        "{by:actor} withdraws {amount:int} from {box:box}( at {area:word})?( for {player})?",
        _withdraw,
    ),
    Phrase(
        "dealer rejects the excess on big [at left]",
        "{by:actor} rejects the excess on {box:box}( at {area:word})?",
        send(commands.RejectExcess),
    ),
    Phrase(
        "50 of ann's is moved from big [at left] to small [at right]",
        "{amount:int} of {player}'s is moved from {box:box}( at {area:word})?"
        " to {to_box:box}( at {to_area:word})?",
        send(commands.MoveChips, by=DEALER),
    ),
    Phrase(
        "supervisor puts 50 of ann's back from small [at left] to big [at right]",
        "{by:actor} puts {amount:int} of {player}'s back from {box:box}( at {area:word})?"
        " to {to_box:box}( at {to_area:word})?",
        send(commands.PutBack),
    ),
    Phrase(
        "supervisor accepts 50 of ann's on the line of big [at left] (or: rejects)",
        "{by:actor} {accepted:verdict} {amount:int} of {player}'s on the line of {box:box}"
        "( at {area:word})?",
        send(commands.JudgeLine),
    ),
    # the round
    Phrase("open betting", "open betting", _open_betting),
    Phrase("close betting", "close betting", send(commands.CloseBetting, by=DEALER)),
    Phrase(
        "[dealer] tumbles 3 times",
        "({by:actor} )?tumbles {times:int} times?",
        send(commands.Tumble, by=DEALER),
    ),
    Phrase(
        "uncover the dice", "({by:actor} )?uncovers? the dice", send(commands.Uncover, by=DEALER)
    ),
    Phrase(
        "offer the dice to ann",
        "offer the dice to {player}",
        send(commands.OfferDice, by=DEALER),
    ),
    Phrase("ann chooses dice 1 2 3", "{player} chooses dice {dice:ints}", _choose_dice),
    Phrase("ann throws", "{by:actor} throws", send(commands.Throw)),
    Phrase("call 1 3 6", "call {dice:roll}", send(commands.CallResult, by=DEALER)),
    Phrase("[dealer] enters 1 3 6", "({by:actor} )?enters? {keys:ints}", _enter_result),
    Phrase("light the areas", "light the areas", send(commands.Illuminate, by=DEALER)),
    Phrase(
        "the lights fail", "the lights fail", send(commands.Illuminate, by=DEALER, correct=False)
    ),
    Phrase("collect the losers", "collect the losers", send(commands.CollectLosers, by=DEALER)),
    Phrase("pay the winners", "pay the winners", send(commands.PayWinners, by=DEALER)),
    Phrase("dice 1 3 6 (plays the rest of the round)", "dice {dice:roll}", _play_round),
    # irregularities
    Phrase(
        "dealer reports walked-away [of ann] [knowing 6 6] [affecting 1 2] [with supervisor] "
        "[: note]",
        "{by:actor} reports {irregularity}( of {player})?( knowing {known:faces})?"
        "( affecting {rounds:ints})?( with {approved_by:actor})?(: {note:text})?",
        send(commands.Report),
    ),
    Phrase(
        "dealer amends the result to 1 3 5 with supervisor",
        "{by:actor} amends the result to {dice:roll} with {approved_by:actor}",
        send(commands.AmendResult),
    ),
    Phrase(
        "dealer corrects round 1 for ann by -50 with supervisor: a reason",
        "{by:actor} corrects round {round:int} for {player} by {amount:signed}"
        " with {approved_by:actor}: {reason:text}",
        send(commands.CorrectBet),
    ),
    Phrase(
        "shift-manager rules 50 for ann: a reason",
        "{by:actor} rules {amount:signed} for {player}: {reason:text}",
        send(commands.MakeRuling),
    ),
    # the table
    Phrase("supervisor checks power", "{by:actor} checks {check}", send(commands.PassCheck)),
    Phrase(
        "dealer sets limits 50 to 500 [differential 1000] with supervisor",
        "{by:actor} sets limits {minimum:int} to {maximum:int}( differential {differential:int})?"
        " with {approved_by:actor}",
        _set_limits,
    ),
    Phrase("fill 5000 / credit 5000", "{what=fill|credit} {amount:int}", _fill_or_credit),
    Phrase(
        "supervisor releases the table: a reason",
        "{by:actor} releases the table: {reason:text}",
        send(commands.ReleaseTable),
    ),
    Phrase("close the table", "close the table", send(commands.CloseTable, by=SUPERVISOR)),
)
"""Every phrase; the first that matches a line counts."""
