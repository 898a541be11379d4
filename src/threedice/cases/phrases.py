"""Lines of a case in plain words, each turned into commands for the table.

Staff are named by their role; every other name is a player. Where a line is short for several
commands ("dice 1 3 6" plays the rest of a round), it yields them one by one, so that each can look
at the table before the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.cases import expectations as _statements  # noqa: F401 - declares its phrases
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
    """Yield the commands that a line asks for."""
    for pattern, lines, _ in PHRASES:
        match = pattern.fullmatch(line)
        if match:
            yield from lines(context, match)
            return
    known = "; ".join(written for *_, written in PHRASES)
    raise InvalidInput(f"{line!r} is no line of a case; the lines are: {known}")


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split()]


def _dice(scene: CaseContext, text: str) -> tuple[int, int, int]:
    return scene.game.roll(text.split())


# --- chips and bets -----------------------------------------------------------------------------


@phrase(
    "ann buys 500 [from account] [aged 17]",
    rf"(?P<who>{NAME_PATTERN}) buys (?P<amount>\d+)(?P<account> from account)?( aged (?P<age>\d+))?",
)
def _buys(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.BuyIn(
        by=actor(line["who"]),
        player=line["who"],
        amount=int(line["amount"]),
        source="account" if line["account"] else "cash",
        age_years=int(line["age"] or 30),
    )


@phrase(
    "ann leaves with 300 [to account]",
    rf"(?P<who>{NAME_PATTERN}) leaves with (?P<amount>\d+)(?P<account> to account)?",
)
def _leaves(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    to: Any = "account" if line["account"] else "outside"
    who = line["who"]
    yield commands.CashOut(by=actor(who), player=who, amount=int(line["amount"]), to=to)


@phrase(
    "ann repays 50 [in cash]", rf"(?P<who>{NAME_PATTERN}) repays (?P<amount>\d+)(?P<cash> in cash)?"
)
def _repays(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    source: Any = "cash" if line["cash"] else "stack"
    who, amount = line["who"], int(line["amount"])
    yield commands.RepayDebt(by=actor(who), player=who, amount=amount, source=source)


@phrase(
    "ann changes 100 into 25s",
    rf"(?P<who>{NAME_PATTERN}) changes (?P<amount>\d+) into (?P<into>\d+)s",
)
def _changes(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    amount, into = int(line["amount"]), int(line["into"])
    yield commands.ChangeChips(by=DEALER, player=line["who"], amount=amount, into=into)


@phrase("ann takes red at 25", rf"(?P<who>{NAME_PATTERN}) takes (?P<colour>\w+) at (?P<value>\d+)")
def _takes(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.TakeColour(
        by=DEALER, player=line["who"], colour=line["colour"], value=int(line["value"])
    )


@phrase("ann colours up", rf"(?P<who>{NAME_PATTERN}) colours up")
def _colours_up(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.ColourUp(by=DEALER, player=line["who"])


@phrase(
    "ann bets 50 on big [at left]",
    rf"(?P<who>{NAME_PATTERN}) bets (?P<amount>-?\d+) on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _bets(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(line["who"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        area=line["area"] or "",
    )


@phrase(
    "dealer bets 50 on big for ann",
    rf"(?P<by>{NAME_PATTERN}) bets (?P<amount>\d+) on (?P<box>{BOX_PATTERN}) for (?P<who>{NAME_PATTERN})",
)
def _bets_for(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(line["by"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        manner="behalf",
    )


@phrase(
    "ann calls 50 on big",
    rf"(?P<who>{NAME_PATTERN}) calls (?P<amount>\d+) on (?P<box>{BOX_PATTERN})",
)
def _calls(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PlaceBet(
        by=actor(line["who"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        manner="call",
    )


@phrase(
    "ann withdraws 50 from big [at left] (or: dealer withdraws 50 from big for ann)",
    rf"(?P<by>{NAME_PATTERN}) withdraws (?P<amount>\d+) from (?P<box>{BOX_PATTERN}){AREA_PATTERN}"
    rf"( for (?P<who>{NAME_PATTERN}))?",
)
def _withdraws(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.WithdrawBet(
        by=actor(line["by"], scene),
        player=line["who"] or line["by"],
        box=line["box"],
        area=line["area"] or "",
        amount=int(line["amount"]),
    )


@phrase(
    "dealer rejects the excess on big [at left]",
    rf"(?P<by>{NAME_PATTERN}) rejects the excess on (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _rejects(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.RejectExcess(by=actor(line["by"]), box=line["box"], area=line["area"] or "")


@phrase(
    "50 of ann's is moved from big [at left] to small [at right]",
    rf"(?P<amount>\d+) of (?P<who>{NAME_PATTERN})'s is moved "
    rf"from (?P<box>{BOX_PATTERN}){AREA_PATTERN} to (?P<to>{BOX_PATTERN})( at (?P<to_area>\w+))?",
)
def _moved(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.MoveChips(
        by=DEALER,
        player=line["who"],
        box=line["box"],
        to_box=line["to"],
        amount=int(line["amount"]),
        area=line["area"] or "",
        to_area=line["to_area"] or "",
    )


@phrase(
    "supervisor puts 50 of ann's back from small [at left] to big [at right]",
    rf"(?P<by>{NAME_PATTERN}) puts (?P<amount>\d+) of (?P<who>{NAME_PATTERN})'s back "
    rf"from (?P<box>{BOX_PATTERN}){AREA_PATTERN} to (?P<to>{BOX_PATTERN})( at (?P<to_area>\w+))?",
)
def _puts_back(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PutBack(
        by=actor(line["by"]),
        player=line["who"],
        box=line["box"],
        to_box=line["to"],
        amount=int(line["amount"]),
        area=line["area"] or "",
        to_area=line["to_area"] or "",
    )


@phrase(
    "supervisor accepts 50 of ann's on the line of big [at left] (or: rejects)",
    rf"(?P<by>{NAME_PATTERN}) (?P<word>accepts|rejects) (?P<amount>\d+) of (?P<who>{NAME_PATTERN})'s "
    rf"on the line of (?P<box>{BOX_PATTERN}){AREA_PATTERN}",
)
def _judges(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.JudgeLine(
        by=actor(line["by"]),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        accepted=line["word"] == "accepts",
        area=line["area"] or "",
    )


# --- the round ----------------------------------------------------------------------------------


@phrase("open betting", "open betting")
def _opens(scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield from commands_before(scene, "open-betting")
    yield commands.OpenBetting(by=DEALER)


@phrase("close betting", "close betting")
def _closes(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CloseBetting(by=DEALER)


@phrase("[dealer] tumbles 3 times", rf"((?P<by>{NAME_PATTERN}) )?tumbles (?P<times>\d+) times?")
def _tumbles(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Tumble(by=actor(line["by"] or "dealer"), times=int(line["times"]))


@phrase("uncover the dice", rf"((?P<by>{NAME_PATTERN}) )?uncovers? the dice")
def _uncovers(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Uncover(by=actor(line["by"] or "dealer"))


@phrase("offer the dice to ann", rf"offer the dice to (?P<who>{NAME_PATTERN})")
def _offers(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.OfferDice(by=DEALER, player=line["who"])


@phrase("ann chooses dice 1 2 3", rf"(?P<who>{NAME_PATTERN}) chooses dice (?P<dice>[\d ]+)")
def _chooses(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    by = Actor(id=line["who"], role="shooter")
    yield commands.ChooseDice(by=by, dice=_numbers(line["dice"]))


@phrase("ann throws", rf"(?P<who>{NAME_PATTERN}) throws")
def _throws(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Throw(by=actor(line["who"], scene))


@phrase("call 1 3 6", r"call (?P<dice>[\w ]+)")
def _call(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CallResult(by=DEALER, dice=_dice(scene, line["dice"]))


@phrase("[dealer] enters 1 3 6", rf"((?P<by>{NAME_PATTERN}) )?enters? (?P<keys>[\d ]+)")
def _enters(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    by = actor(line["by"] or "dealer")
    for key in _numbers(line["keys"]):
        yield commands.PressKey(by=by, key=key)
    yield commands.PressEnter(by=by)


@phrase("light the areas", "light the areas")
def _lights(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Illuminate(by=DEALER)


@phrase("the lights fail", "the lights fail")
def _lights_fail(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.Illuminate(by=DEALER, correct=False)


@phrase("collect the losers", "collect the losers")
def _collects(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CollectLosers(by=DEALER)


@phrase("pay the winners", "pay the winners")
def _pays(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PayWinners(by=DEALER)


@phrase("dice 1 3 6 (plays the rest of the round)", r"dice (?P<dice>[\w ]+)")
def _plays_out(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(scene, line["dice"])
    for step in scene.game.facts.procedure.order:
        if scene.state.round is None or step not in scene.state.round.done:
            yield from step_commands(scene, step, dice)


# --- irregularities -----------------------------------------------------------------------------


@phrase(
    "dealer reports walked-away [of ann] [knowing 6 6] [affecting 1 2] [with supervisor] [: note]",
    rf"(?P<by>{NAME_PATTERN}) reports (?P<what>{NAME_PATTERN})( of (?P<who>{NAME_PATTERN}))?"
    rf"( knowing (?P<known>[\w ]+?))?( affecting (?P<rounds>[\d ]+?))?"
    rf"( with (?P<second>{NAME_PATTERN}))?(: (?P<note>.*))?",
)
def _reports(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    known = [scene.game.faces.number(each) for each in (line["known"] or "").split()]
    what: Any = line["what"]
    yield commands.Report(
        by=actor(line["by"], scene),
        irregularity=what,
        player=line["who"] or "",
        known=known,
        rounds=_numbers(line["rounds"] or ""),
        note=line["note"] or "",
        approved_by=actor(line["second"]) if line["second"] else None,
    )


@phrase(
    "dealer amends the result to 1 3 5 with supervisor",
    rf"(?P<by>{NAME_PATTERN}) amends the result to (?P<dice>[\w ]+?) with (?P<second>{NAME_PATTERN})",
)
def _amends(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(scene, line["dice"])
    yield commands.AmendResult(by=actor(line["by"]), dice=dice, approved_by=actor(line["second"]))


@phrase(
    "dealer corrects round 1 for ann by -50 with supervisor: a reason",
    rf"(?P<by>{NAME_PATTERN}) corrects round (?P<round>\d+) for (?P<who>{NAME_PATTERN}) "
    rf"by (?P<amount>-?\d+) with (?P<second>{NAME_PATTERN}): (?P<reason>.*)",
)
def _corrects(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CorrectBet(
        by=actor(line["by"]),
        round=int(line["round"]),
        player=line["who"],
        amount=int(line["amount"]),
        reason=line["reason"],
        approved_by=actor(line["second"]),
    )


@phrase(
    "shift-manager rules 50 for ann: a reason",
    rf"(?P<by>{NAME_PATTERN}) rules (?P<amount>-?\d+) for (?P<who>{NAME_PATTERN}): (?P<reason>.*)",
)
def _rules(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.MakeRuling(
        by=actor(line["by"]),
        player=line["who"],
        amount=int(line["amount"]),
        reason=line["reason"],
    )


# --- the table ----------------------------------------------------------------------------------


@phrase("supervisor checks power", rf"(?P<by>{NAME_PATTERN}) checks (?P<check>{NAME_PATTERN})")
def _checks(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.PassCheck(by=actor(line["by"]), check=line["check"])


@phrase(
    "dealer sets limits 50 to 500 [differential 1000] with supervisor",
    rf"(?P<by>{NAME_PATTERN}) sets limits (?P<minimum>\d+) to (?P<maximum>\d+)"
    rf"( differential (?P<differential>\d+))? with (?P<second>{NAME_PATTERN})",
)
def _sets_limits(scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    differential = int(line["differential"]) if line["differential"] else None
    limits = uniform_limits(scene.game, int(line["minimum"]), int(line["maximum"]), differential)
    yield commands.SetLimits(by=actor(line["by"]), limits=limits, approved_by=actor(line["second"]))


@phrase("fill 5000 / credit 5000", r"(?P<what>fill|credit) (?P<amount>\d+)")
def _fills(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    kind = commands.FillFloat if line["what"] == "fill" else commands.CreditFloat
    yield kind(by=SUPERVISOR, amount=int(line["amount"]))


@phrase(
    "supervisor releases the table: a reason",
    rf"(?P<by>{NAME_PATTERN}) releases the table: (?P<reason>.*)",
)
def _releases(_scene: CaseContext, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.ReleaseTable(by=actor(line["by"]), reason=line["reason"])


@phrase("close the table", "close the table")
def _closes_table(_scene: CaseContext, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield commands.CloseTable(by=SUPERVISOR)
