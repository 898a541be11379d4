"""Lines of a case in plain words, each turned into commands for the table.

Staff are named by their role; every other name is a player. Where a line is short for several
commands ("dice 1 3 6" plays the rest of a round), it yields them one by one, so that each can look
at the table before the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.cases import statements as _statements  # noqa: F401 - declares its phrases
from threedice.cases.language import AT, BOX, NAME, PHRASES, phrase
from threedice.cases.script import DEALER, SUPERVISOR, Scene, actor, before, step_commands
from threedice.errors import InvalidInput
from threedice.table import commands as asked
from threedice.table.commands import Actor
from threedice.table.terms import plain_limits

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from threedice.table.commands import AnyCommand


def commands_of(line: str, scene: Scene) -> Iterator[AnyCommand]:
    """Yield the commands that a line asks for."""
    for pattern, lines, _ in PHRASES:
        match = pattern.fullmatch(line)
        if match:
            yield from lines(scene, match)
            return
    known = "; ".join(written for *_, written in PHRASES)
    raise InvalidInput(f"{line!r} is no line of a case; the lines are: {known}")


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split()]


def _dice(scene: Scene, text: str) -> tuple[int, int, int]:
    return scene.game.roll(text.split())


# --- chips and bets -----------------------------------------------------------------------------


@phrase(
    "ann buys 500 [from account] [aged 17]",
    rf"(?P<who>{NAME}) buys (?P<amount>\d+)(?P<account> from account)?( aged (?P<age>\d+))?",
)
def _buys(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.BuyIn(
        by=actor(line["who"]),
        player=line["who"],
        amount=int(line["amount"]),
        source="account" if line["account"] else "cash",
        age_years=int(line["age"] or 30),
    )


@phrase(
    "ann leaves with 300 [to account]",
    rf"(?P<who>{NAME}) leaves with (?P<amount>\d+)(?P<account> to account)?",
)
def _leaves(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    to: Any = "account" if line["account"] else "outside"
    who = line["who"]
    yield asked.CashOut(by=actor(who), player=who, amount=int(line["amount"]), to=to)


@phrase("ann repays 50 [in cash]", rf"(?P<who>{NAME}) repays (?P<amount>\d+)(?P<cash> in cash)?")
def _repays(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    source: Any = "cash" if line["cash"] else "stack"
    who, amount = line["who"], int(line["amount"])
    yield asked.RepayDebt(by=actor(who), player=who, amount=amount, source=source)


@phrase("ann changes 100 into 25s", rf"(?P<who>{NAME}) changes (?P<amount>\d+) into (?P<into>\d+)s")
def _changes(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    amount, into = int(line["amount"]), int(line["into"])
    yield asked.ChangeChips(by=DEALER, player=line["who"], amount=amount, into=into)


@phrase("ann takes red at 25", rf"(?P<who>{NAME}) takes (?P<colour>\w+) at (?P<value>\d+)")
def _takes(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.TakeColour(
        by=DEALER, player=line["who"], colour=line["colour"], value=int(line["value"])
    )


@phrase("ann colours up", rf"(?P<who>{NAME}) colours up")
def _colours_up(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.ColourUp(by=DEALER, player=line["who"])


@phrase(
    "ann bets 50 on big [at left]",
    rf"(?P<who>{NAME}) bets (?P<amount>-?\d+) on (?P<box>{BOX}){AT}",
)
def _bets(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PlaceBet(
        by=actor(line["who"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        area=line["area"] or "",
    )


@phrase(
    "dealer bets 50 on big for ann",
    rf"(?P<by>{NAME}) bets (?P<amount>\d+) on (?P<box>{BOX}) for (?P<who>{NAME})",
)
def _bets_for(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PlaceBet(
        by=actor(line["by"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        manner="behalf",
    )


@phrase("ann calls 50 on big", rf"(?P<who>{NAME}) calls (?P<amount>\d+) on (?P<box>{BOX})")
def _calls(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PlaceBet(
        by=actor(line["who"], scene),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        manner="call",
    )


@phrase(
    "ann withdraws 50 from big [at left] (or: dealer withdraws 50 from big for ann)",
    rf"(?P<by>{NAME}) withdraws (?P<amount>\d+) from (?P<box>{BOX}){AT}"
    rf"( for (?P<who>{NAME}))?",
)
def _withdraws(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.WithdrawBet(
        by=actor(line["by"], scene),
        player=line["who"] or line["by"],
        box=line["box"],
        area=line["area"] or "",
        amount=int(line["amount"]),
    )


@phrase(
    "dealer rejects the excess on big [at left]",
    rf"(?P<by>{NAME}) rejects the excess on (?P<box>{BOX}){AT}",
)
def _rejects(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.RejectExcess(by=actor(line["by"]), box=line["box"], area=line["area"] or "")


@phrase(
    "50 of ann's is moved from big [at left] to small [at right]",
    rf"(?P<amount>\d+) of (?P<who>{NAME})'s is moved "
    rf"from (?P<box>{BOX}){AT} to (?P<to>{BOX})( at (?P<to_area>\w+))?",
)
def _moved(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.MoveChips(
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
    rf"(?P<by>{NAME}) puts (?P<amount>\d+) of (?P<who>{NAME})'s back "
    rf"from (?P<box>{BOX}){AT} to (?P<to>{BOX})( at (?P<to_area>\w+))?",
)
def _puts_back(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PutBack(
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
    rf"(?P<by>{NAME}) (?P<word>accepts|rejects) (?P<amount>\d+) of (?P<who>{NAME})'s "
    rf"on the line of (?P<box>{BOX}){AT}",
)
def _judges(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.JudgeLine(
        by=actor(line["by"]),
        player=line["who"],
        box=line["box"],
        amount=int(line["amount"]),
        accepted=line["word"] == "accepts",
        area=line["area"] or "",
    )


# --- the round ----------------------------------------------------------------------------------


@phrase("open betting", "open betting")
def _opens(scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield from before(scene, "open-betting")
    yield asked.OpenBetting(by=DEALER)


@phrase("close betting", "close betting")
def _closes(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.CloseBetting(by=DEALER)


@phrase("[dealer] tumbles 3 times", rf"((?P<by>{NAME}) )?tumbles (?P<times>\d+) times?")
def _tumbles(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.Tumble(by=actor(line["by"] or "dealer"), times=int(line["times"]))


@phrase("uncover the dice", rf"((?P<by>{NAME}) )?uncovers? the dice")
def _uncovers(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.Uncover(by=actor(line["by"] or "dealer"))


@phrase("offer the dice to ann", rf"offer the dice to (?P<who>{NAME})")
def _offers(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.OfferDice(by=DEALER, player=line["who"])


@phrase("ann chooses dice 1 2 3", rf"(?P<who>{NAME}) chooses dice (?P<dice>[\d ]+)")
def _chooses(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    by = Actor(id=line["who"], role="shooter")
    yield asked.ChooseDice(by=by, dice=_numbers(line["dice"]))


@phrase("ann throws", rf"(?P<who>{NAME}) throws")
def _throws(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.Throw(by=actor(line["who"], scene))


@phrase("call 1 3 6", r"call (?P<dice>[\w ]+)")
def _call(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.CallResult(by=DEALER, dice=_dice(scene, line["dice"]))


@phrase("[dealer] enters 1 3 6", rf"((?P<by>{NAME}) )?enters? (?P<keys>[\d ]+)")
def _enters(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    by = actor(line["by"] or "dealer")
    for key in _numbers(line["keys"]):
        yield asked.PressKey(by=by, key=key)
    yield asked.PressEnter(by=by)


@phrase("light the areas", "light the areas")
def _lights(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.Illuminate(by=DEALER)


@phrase("the lights fail", "the lights fail")
def _lights_fail(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.Illuminate(by=DEALER, correct=False)


@phrase("collect the losers", "collect the losers")
def _collects(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.CollectLosers(by=DEALER)


@phrase("pay the winners", "pay the winners")
def _pays(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PayWinners(by=DEALER)


@phrase("dice 1 3 6 (plays the rest of the round)", r"dice (?P<dice>[\w ]+)")
def _plays_out(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(scene, line["dice"])
    for step in scene.game.facts.procedure.order:
        if scene.state.round is None or step not in scene.state.round.done:
            yield from step_commands(scene, step, dice)


# --- irregularities -----------------------------------------------------------------------------


@phrase(
    "dealer reports walked-away [of ann] [knowing 6 6] [affecting 1 2] [with supervisor] [: note]",
    rf"(?P<by>{NAME}) reports (?P<what>{NAME})( of (?P<who>{NAME}))?"
    rf"( knowing (?P<known>[\w ]+?))?( affecting (?P<rounds>[\d ]+?))?"
    rf"( with (?P<second>{NAME}))?(: (?P<note>.*))?",
)
def _reports(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    known = [scene.game.faces.number(each) for each in (line["known"] or "").split()]
    what: Any = line["what"]
    yield asked.Report(
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
    rf"(?P<by>{NAME}) amends the result to (?P<dice>[\w ]+?) with (?P<second>{NAME})",
)
def _amends(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    dice = _dice(scene, line["dice"])
    yield asked.AmendResult(by=actor(line["by"]), dice=dice, approved_by=actor(line["second"]))


@phrase(
    "dealer corrects round 1 for ann by -50 with supervisor: a reason",
    rf"(?P<by>{NAME}) corrects round (?P<round>\d+) for (?P<who>{NAME}) "
    rf"by (?P<amount>-?\d+) with (?P<second>{NAME}): (?P<reason>.*)",
)
def _corrects(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.CorrectBet(
        by=actor(line["by"]),
        round=int(line["round"]),
        player=line["who"],
        amount=int(line["amount"]),
        reason=line["reason"],
        approved_by=actor(line["second"]),
    )


@phrase(
    "shift-manager rules 50 for ann: a reason",
    rf"(?P<by>{NAME}) rules (?P<amount>-?\d+) for (?P<who>{NAME}): (?P<reason>.*)",
)
def _rules(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.MakeRuling(
        by=actor(line["by"]),
        player=line["who"],
        amount=int(line["amount"]),
        reason=line["reason"],
    )


# --- the table ----------------------------------------------------------------------------------


@phrase("supervisor checks power", rf"(?P<by>{NAME}) checks (?P<check>{NAME})")
def _checks(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.PassCheck(by=actor(line["by"]), check=line["check"])


@phrase(
    "dealer sets limits 50 to 500 [differential 1000] with supervisor",
    rf"(?P<by>{NAME}) sets limits (?P<minimum>\d+) to (?P<maximum>\d+)"
    rf"( differential (?P<differential>\d+))? with (?P<second>{NAME})",
)
def _sets_limits(scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    differential = int(line["differential"]) if line["differential"] else None
    limits = plain_limits(scene.game, int(line["minimum"]), int(line["maximum"]), differential)
    yield asked.SetLimits(by=actor(line["by"]), limits=limits, approved_by=actor(line["second"]))


@phrase("fill 5000 / credit 5000", r"(?P<what>fill|credit) (?P<amount>\d+)")
def _fills(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    kind = asked.FillFloat if line["what"] == "fill" else asked.CreditFloat
    yield kind(by=SUPERVISOR, amount=int(line["amount"]))


@phrase(
    "supervisor releases the table: a reason",
    rf"(?P<by>{NAME}) releases the table: (?P<reason>.*)",
)
def _releases(_scene: Scene, line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.ReleaseTable(by=actor(line["by"]), reason=line["reason"])


@phrase("close the table", "close the table")
def _closes_table(_scene: Scene, _line: re.Match[str]) -> Iterator[AnyCommand]:
    yield asked.CloseTable(by=SUPERVISOR)
