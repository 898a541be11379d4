"""Lines of a case in plain words, each translated into commands for the table.

Staff are named by their role; every other name is a player. A line that is short for several
commands ("dice 1 3 6" plays the rest of a round) yields them one by one, so that each handler sees
the state of the table after the previous command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.cases import expectations as _expectations  # noqa: F401 - registers its phrases
from threedice.cases.language import (
    AREA_PATTERN,
    BOX_PATTERN,
    DEALER,
    NAME_PATTERN,
    PHRASES,
    SUPERVISOR,
    CaseContext,
    actor,
    commands_before,
    phrase,
    step_commands,
)
from threedice.errors import InvalidInput
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from threedice.table.commands import AnyCommand


def parse_line(line: str, context: CaseContext) -> Iterator[AnyCommand]:
    """Yield the commands of a line, reading the table's state between them."""
    for pattern, handler, _ in PHRASES:
        match = pattern.fullmatch(line)
        if match:
            yield from handler(context, match)
            return
    examples = "; ".join(example for *_, example in PHRASES)
    raise InvalidInput(f"{line!r} is not a line of a case; the lines are: {examples}")


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split()]


def _dice(context: CaseContext, text: str) -> tuple[int, int, int]:
    return context.game.roll(text.split())


# --- chips and bets -----------------------------------------------------------------------------


@phrase(
    "ann buys 500 [from account] [aged 17]",
    rf"(?P<who>{NAME_PATTERN}) buys (?P<amount>\d+)(?P<account> from account)?"
    r"( aged (?P<age>\d+))?",
)
def _buys(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.BuyIn(
        by=actor(match["who"]),
        player=match["who"],
        amount=int(match["amount"]),
        source="account" if match["account"] else "cash",
        age_years=int(match["age"] or 30),
    )


@phrase(
    "ann leaves with 300 [to account]",
    rf"(?P<who>{NAME_PATTERN}) leaves with (?P<amount>\d+)(?P<account> to account)?",
)
def _leaves(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    destination: Any = "account" if match["account"] else "outside"
    player = match["who"]
    yield commands.CashOut(
        by=actor(player), player=player, amount=int(match["amount"]), to=destination
    )


@phrase(
    "ann repays 50 [in cash]", rf"(?P<who>{NAME_PATTERN}) repays (?P<amount>\d+)(?P<cash> in cash)?"
)
def _repays(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    source: Any = "cash" if match["cash"] else "stack"
    player, amount = match["who"], int(match["amount"])
    yield commands.RepayDebt(by=actor(player), player=player, amount=amount, source=source)


@phrase(
    "ann changes 100 into 25s",
    rf"(?P<who>{NAME_PATTERN}) changes (?P<amount>\d+) into (?P<into>\d+)s",
)
def _changes(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    amount, into = int(match["amount"]), int(match["into"])
    yield commands.ChangeChips(by=DEALER, player=match["who"], amount=amount, into=into)


@phrase("ann takes red at 25", rf"(?P<who>{NAME_PATTERN}) takes (?P<colour>\w+) at (?P<value>\d+)")
def _takes(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.TakeColour(
        by=DEALER, player=match["who"], colour=match["colour"], value=int(match["value"])
    )


@phrase("ann colours up", rf"(?P<who>{NAME_PATTERN}) colours up")
def _colours_up(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.ColourUp(by=DEALER, player=match["who"])


@phrase(
    "ann bets 50 on big [at left]",
    rf"(?P<who>{NAME_PATTERN}) bets (?P<amount>-?\d+) on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _bets(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(match["who"], context),
        player=match["who"],
        box=match["box"],
        amount=int(match["amount"]),
        area=match["area"] or "",
    )


@phrase(
    "dealer bets 50 on big for ann",
    rf"(?P<by>{NAME_PATTERN}) bets (?P<amount>\d+) on (?P<box>{BOX_PATTERN})"
    rf" for (?P<who>{NAME_PATTERN})",
)
def _bets_for(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(match["by"], context),
        player=match["who"],
        box=match["box"],
        amount=int(match["amount"]),
        manner="behalf",
    )


@phrase(
    "ann calls 50 on big",
    rf"(?P<who>{NAME_PATTERN}) calls (?P<amount>\d+) on (?P<box>{BOX_PATTERN})",
)
def _calls(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(match["who"], context),
        player=match["who"],
        box=match["box"],
        amount=int(match["amount"]),
        manner="call",
    )


@phrase(
    "ann withdraws 50 from big [at left] (or: dealer withdraws 50 from big for ann)",
    rf"(?P<by>{NAME_PATTERN}) withdraws (?P<amount>\d+) from (?P<box>{BOX_PATTERN}){AREA_PATTERN}"
    rf"( for (?P<who>{NAME_PATTERN}))?",
)
def _withdraws(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.WithdrawBet(
        by=actor(match["by"], context),
        player=match["who"] or match["by"],
        box=match["box"],
        area=match["area"] or "",
        amount=int(match["amount"]),
    )


@phrase(
    "dealer rejects the excess on big [at left]",
    rf"(?P<by>{NAME_PATTERN}) rejects the excess on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _rejects(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.RejectExcess(by=actor(match["by"]), box=match["box"], area=match["area"] or "")


@phrase(
    "50 of ann's is moved from big [at left] to small [at right]",
    rf"(?P<amount>\d+) of (?P<who>{NAME_PATTERN})'s is moved "
    rf"from (?P<box>{BOX_PATTERN}){AREA_PATTERN} to (?P<to>{BOX_PATTERN})( at (?P<to_area>\w+))?",
)
def _moved(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.MoveChips(
        by=DEALER,
        player=match["who"],
        box=match["box"],
        to_box=match["to"],
        amount=int(match["amount"]),
        area=match["area"] or "",
        to_area=match["to_area"] or "",
    )


@phrase(
    "supervisor puts 50 of ann's back from small [at left] to big [at right]",
    rf"(?P<by>{NAME_PATTERN}) puts (?P<amount>\d+) of (?P<who>{NAME_PATTERN})'s back "
    rf"from (?P<box>{BOX_PATTERN}){AREA_PATTERN} to (?P<to>{BOX_PATTERN})( at (?P<to_area>\w+))?",
)
def _puts_back(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PutBack(
        by=actor(match["by"]),
        player=match["who"],
        box=match["box"],
        to_box=match["to"],
        amount=int(match["amount"]),
        area=match["area"] or "",
        to_area=match["to_area"] or "",
    )


@phrase(
    "supervisor accepts 50 of ann's on the line of big [at left] (or: rejects)",
    rf"(?P<by>{NAME_PATTERN}) (?P<word>accepts|rejects) (?P<amount>\d+) "
    rf"of (?P<who>{NAME_PATTERN})'s on the line of (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _judges(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.JudgeLine(
        by=actor(match["by"]),
        player=match["who"],
        box=match["box"],
        amount=int(match["amount"]),
        accepted=match["word"] == "accepts",
        area=match["area"] or "",
    )


# --- the round ----------------------------------------------------------------------------------


@phrase("open betting", "open betting")
def _opens(context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield from commands_before(context, "open-betting")
    yield commands.OpenBetting(by=DEALER)


@phrase("close betting", "close betting")
def _closes(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CloseBetting(by=DEALER)


@phrase("[dealer] tumbles 3 times", rf"((?P<by>{NAME_PATTERN}) )?tumbles (?P<times>\d+) times?")
def _tumbles(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Tumble(by=actor(match["by"] or "dealer"), times=int(match["times"]))


@phrase("uncover the dice", rf"((?P<by>{NAME_PATTERN}) )?uncovers? the dice")
def _uncovers(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Uncover(by=actor(match["by"] or "dealer"))


@phrase("offer the dice to ann", rf"offer the dice to (?P<who>{NAME_PATTERN})")
def _offers(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.OfferDice(by=DEALER, player=match["who"])


@phrase("ann chooses dice 1 2 3", rf"(?P<who>{NAME_PATTERN}) chooses dice (?P<dice>[\d ]+)")
def _chooses(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    by = Actor(id=match["who"], role="shooter")
    yield commands.ChooseDice(by=by, dice=_numbers(match["dice"]))


@phrase("ann throws", rf"(?P<who>{NAME_PATTERN}) throws")
def _throws(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Throw(by=actor(match["who"], context))


@phrase("call 1 3 6", r"call (?P<dice>[\w ]+)")
def _call(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CallResult(by=DEALER, dice=_dice(context, match["dice"]))


@phrase("[dealer] enters 1 3 6", rf"((?P<by>{NAME_PATTERN}) )?enters? (?P<keys>[\d ]+)")
def _enters(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    by = actor(match["by"] or "dealer")
    for key in _numbers(match["keys"]):
        yield commands.PressKey(by=by, key=key)
    yield commands.PressEnter(by=by)


@phrase("light the areas", "light the areas")
def _lights(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Illuminate(by=DEALER)


@phrase("the lights fail", "the lights fail")
def _lights_fail(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Illuminate(by=DEALER, correct=False)


@phrase("collect the losers", "collect the losers")
def _collects(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CollectLosers(by=DEALER)


@phrase("pay the winners", "pay the winners")
def _pays(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PayWinners(by=DEALER)


@phrase("dice 1 3 6 (plays the rest of the round)", r"dice (?P<dice>[\w ]+)")
def _plays_out(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(context, match["dice"])
    for step in context.game.facts.procedure.order:
        if context.state.round is None or step not in context.state.round.done:
            yield from step_commands(context, step, dice)


# --- irregularities -----------------------------------------------------------------------------


@phrase(
    "dealer reports walked-away [of ann] [knowing 6 6] [affecting 1 2] [with supervisor] [: note]",
    rf"(?P<by>{NAME_PATTERN}) reports (?P<what>{NAME_PATTERN})( of (?P<who>{NAME_PATTERN}))?"
    rf"( knowing (?P<known>[\w ]+?))?( affecting (?P<rounds>[\d ]+?))?"
    rf"( with (?P<second>{NAME_PATTERN}))?(: (?P<note>.*))?",
)
def _reports(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    known = [context.game.faces.number(each) for each in (match["known"] or "").split()]
    what: Any = match["what"]
    yield commands.Report(
        by=actor(match["by"], context),
        irregularity=what,
        player=match["who"] or "",
        known=known,
        rounds=_numbers(match["rounds"] or ""),
        note=match["note"] or "",
        approved_by=actor(match["second"]) if match["second"] else None,
    )


@phrase(
    "dealer amends the result to 1 3 5 with supervisor",
    rf"(?P<by>{NAME_PATTERN}) amends the result to (?P<dice>[\w ]+?)"
    rf" with (?P<second>{NAME_PATTERN})",
)
def _amends(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(context, match["dice"])
    yield commands.AmendResult(by=actor(match["by"]), dice=dice, approved_by=actor(match["second"]))


@phrase(
    "dealer corrects round 1 for ann by -50 with supervisor: a reason",
    rf"(?P<by>{NAME_PATTERN}) corrects round (?P<round>\d+) for (?P<who>{NAME_PATTERN}) "
    rf"by (?P<amount>-?\d+) with (?P<second>{NAME_PATTERN}): (?P<reason>.*)",
)
def _corrects(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CorrectBet(
        by=actor(match["by"]),
        round=int(match["round"]),
        player=match["who"],
        amount=int(match["amount"]),
        reason=match["reason"],
        approved_by=actor(match["second"]),
    )


@phrase(
    "shift-manager rules 50 for ann: a reason",
    rf"(?P<by>{NAME_PATTERN}) rules (?P<amount>-?\d+) for (?P<who>{NAME_PATTERN}): (?P<reason>.*)",
)
def _rules(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.MakeRuling(
        by=actor(match["by"]),
        player=match["who"],
        amount=int(match["amount"]),
        reason=match["reason"],
    )


# --- the table ----------------------------------------------------------------------------------


@phrase("supervisor checks power", rf"(?P<by>{NAME_PATTERN}) checks (?P<check>{NAME_PATTERN})")
def _checks(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PassCheck(by=actor(match["by"]), check=match["check"])


@phrase(
    "dealer sets limits 50 to 500 [differential 1000] with supervisor",
    rf"(?P<by>{NAME_PATTERN}) sets limits (?P<minimum>\d+) to (?P<maximum>\d+)"
    rf"( differential (?P<differential>\d+))? with (?P<second>{NAME_PATTERN})",
)
def _sets_limits(context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    differential = int(match["differential"]) if match["differential"] else None
    limits = uniform_limits(
        context.game, int(match["minimum"]), int(match["maximum"]), differential
    )
    yield commands.SetLimits(
        by=actor(match["by"]), limits=limits, approved_by=actor(match["second"])
    )


@phrase("fill 5000 / credit 5000", r"(?P<what>fill|credit) (?P<amount>\d+)")
def _fills(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    kind = commands.FillFloat if match["what"] == "fill" else commands.CreditFloat
    yield kind(by=SUPERVISOR, amount=int(match["amount"]))


@phrase(
    "supervisor releases the table: a reason",
    rf"(?P<by>{NAME_PATTERN}) releases the table: (?P<reason>.*)",
)
def _releases(_context: CaseContext, match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.ReleaseTable(by=actor(match["by"]), reason=match["reason"])


@phrase("close the table", "close the table")
def _closes_table(_context: CaseContext, _match: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CloseTable(by=SUPERVISOR)
