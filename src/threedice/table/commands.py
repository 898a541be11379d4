"""Commands: what people ask of a table. Each says who acts and in which role.

Time, ids and rolls arrive here from outside; `decide` turns a command into events or refuses it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from threedice.money import Asked
from threedice.rulebook.conduct import IrregularityName, Role
from threedice.table.terms import BoxId, Mode, PlayerId, TableLimits

Name = Annotated[str, msgspec.Meta(max_length=100)]
Player = Annotated[PlayerId, msgspec.Meta(max_length=100, pattern=r"^[^/\s\x00-\x1f\x7f]+$")]
PlayerIfAny = Annotated[PlayerId, msgspec.Meta(max_length=100, pattern=r"^[^/\s\x00-\x1f\x7f]*$")]
"""A player's id: opaque, in one word."""

Words = Annotated[str, msgspec.Meta(max_length=2000)]


class Actor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A person in a role."""

    id: Name
    role: Role


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Something asked of a table by somebody."""

    by: Actor


# --- the table ----------------------------------------------------------------------------------


class OpenTable(Command, frozen=True, kw_only=True, tag="OpenTable"):
    """Open a table with its float, chips and limits."""

    table: Name
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    mode: Mode
    chips: list[Asked]
    float_amount: Asked
    limits: TableLimits


class PassCheck(Command, frozen=True, kw_only=True, tag="PassCheck"):
    """State that something to be seen to before opening is in order."""

    check: Name


class SetLimits(Command, frozen=True, kw_only=True, tag="SetLimits"):
    """Change the limits from the next opening of betting on; a second person agrees."""

    limits: TableLimits
    approved_by: Actor


class FillFloat(Command, frozen=True, kw_only=True, tag="FillFloat"):
    """Bring chips from the vault."""

    amount: Asked


class CreditFloat(Command, frozen=True, kw_only=True, tag="CreditFloat"):
    """Take chips to the vault."""

    amount: Asked


class CloseTable(Command, frozen=True, kw_only=True, tag="CloseTable"):
    """Close the table; an unfinished round is void."""


class ReleaseTable(Command, frozen=True, kw_only=True, tag="ReleaseTable"):
    """Let play go on after a malfunction has been seen to."""

    reason: Words


# --- chips --------------------------------------------------------------------------------------


class BuyIn(Command, frozen=True, kw_only=True, tag="BuyIn"):
    """Change cash, or money of the player's account, into chips."""

    player: Player
    amount: Asked
    source: Literal["cash", "account"] = "cash"
    age_years: int | None = None


class CashOut(Command, frozen=True, kw_only=True, tag="CashOut"):
    """Take chips away from the table, or put them into the player's account."""

    player: Player
    amount: Asked
    to: Literal["outside", "account"] = "outside"


class ChangeChips(Command, frozen=True, kw_only=True, tag="ChangeChips"):
    """Change chips of a player over the change block into chips of one denomination."""

    player: Player
    amount: Asked
    into: Asked


class RepayDebt(Command, frozen=True, kw_only=True, tag="RepayDebt"):
    """Pay what a reversal or a correction left a player owing, in chips or in cash."""

    player: Player
    amount: Asked
    source: Literal["stack", "cash"] = "stack"


class TakeColour(Command, frozen=True, kw_only=True, tag="TakeColour"):
    """Give a player non-value chips of a colour of his own at a declared value."""

    player: Player
    colour: Name
    value: Asked


class ColourUp(Command, frozen=True, kw_only=True, tag="ColourUp"):
    """Change a player's non-value chips back into value chips."""

    player: Player


# --- betting ------------------------------------------------------------------------------------


class PlaceBet(Command, frozen=True, kw_only=True, tag="PlaceBet"):
    """Put chips of a player on a box, oneself or by a pit employee, or as a call bet."""

    player: Player
    box: BoxId
    amount: Asked
    area: Name = ""
    manner: Literal["self", "behalf", "call"] = "self"


class WithdrawBet(Command, frozen=True, kw_only=True, tag="WithdrawBet"):
    """Take chips of a player back from a box."""

    player: Player
    box: BoxId
    amount: Asked
    area: Name = ""


class RejectExcess(Command, frozen=True, kw_only=True, tag="RejectExcess"):
    """Reject what is over the maximum or the differential in a box."""

    box: BoxId
    area: Name = ""


class MoveChips(Command, frozen=True, kw_only=True, tag="MoveChips"):
    """Record that chips lie elsewhere now than where they were put."""

    player: Player
    box: BoxId
    to_box: BoxId
    amount: Asked
    area: Name = ""
    to_area: Name = ""


class PutBack(Command, frozen=True, kw_only=True, tag="PutBack"):
    """Put chips back that were moved by accident."""

    player: Player
    box: BoxId
    to_box: BoxId
    amount: Asked
    area: Name = ""
    to_area: Name = ""


class JudgeLine(Command, frozen=True, kw_only=True, tag="JudgeLine"):
    """Decide about chips that touch a line: they are in the box, or they are no bet."""

    player: Player
    box: BoxId
    amount: Asked
    accepted: bool
    area: Name = ""


# --- the round ----------------------------------------------------------------------------------


class OfferDice(Command, frozen=True, kw_only=True, tag="OfferDice"):
    """Offer a player the dice."""

    player: Player


class ChooseDice(Command, frozen=True, kw_only=True, tag="ChooseDice"):
    """Choose dice, by number, from those offered."""

    dice: list[int]


class OpenBetting(Command, frozen=True, kw_only=True, tag="OpenBetting"):
    """Announce that bets may be placed."""


class CloseBetting(Command, frozen=True, kw_only=True, tag="CloseBetting"):
    """Announce that no more bets may be placed."""


class Tumble(Command, frozen=True, kw_only=True, tag="Tumble"):
    """Activate the tumbler."""

    times: Annotated[int, msgspec.Meta(ge=-1000, le=1000)]


class Throw(Command, frozen=True, kw_only=True, tag="Throw"):
    """Throw the dice."""


class Uncover(Command, frozen=True, kw_only=True, tag="Uncover"):
    """Lift the cover from the dice."""


class CallResult(Command, frozen=True, kw_only=True, tag="CallResult"):
    """Call what the dice show, by face numbers."""

    dice: tuple[int, int, int]


class PressKey(Command, frozen=True, kw_only=True, tag="PressKey"):
    """Press a numbered key of the entry terminal."""

    key: int


class PressEnter(Command, frozen=True, kw_only=True, tag="PressEnter"):
    """Press the entry key of the terminal."""


class Illuminate(Command, frozen=True, kw_only=True, tag="Illuminate"):
    """See the winning areas lit, or not, or wrongly."""

    correct: bool = True


class CollectLosers(Command, frozen=True, kw_only=True, tag="CollectLosers"):
    """Take the losing bets."""


class PayWinners(Command, frozen=True, kw_only=True, tag="PayWinners"):
    """Pay the winning bets."""


# --- irregularities -----------------------------------------------------------------------------


class Report(Command, frozen=True, kw_only=True, tag="Report"):
    """Report an irregularity, with what is known and a second person where one is needed."""

    irregularity: IrregularityName
    player: PlayerIfAny = ""
    known: list[int] = []
    rounds: list[int] = []
    note: Words = ""
    approved_by: Actor | None = None


class AbandonRound(Command, frozen=True, kw_only=True, tag="AbandonRound"):
    """Give up a round whose outcome can no longer be established."""

    reason: Words


class AmendResult(Command, frozen=True, kw_only=True, tag="AmendResult"):
    """Amend a wrongly entered result under supervision."""

    dice: tuple[int, int, int]
    approved_by: Actor


class CorrectBet(Command, frozen=True, kw_only=True, tag="CorrectBet"):
    """Pay or take what a settled bet should have been paid; below zero it is taken."""

    round: int
    player: Player
    amount: Asked
    reason: Words
    approved_by: Actor


class MakeRuling(Command, frozen=True, kw_only=True, tag="MakeRuling"):
    """Decide what the rules do not provide for; below zero the amount is taken."""

    player: Player
    amount: Asked
    reason: Words


AnyCommand = (
    OpenTable | PassCheck | SetLimits | FillFloat | CreditFloat | CloseTable | ReleaseTable
    | BuyIn | CashOut | ChangeChips | RepayDebt | TakeColour | ColourUp
    | PlaceBet | WithdrawBet | RejectExcess | MoveChips | PutBack | JudgeLine
    | OfferDice | ChooseDice | OpenBetting | CloseBetting | Tumble | Throw | Uncover
    | CallResult | PressKey | PressEnter | Illuminate | CollectLosers | PayWinners
    | Report | AbandonRound | AmendResult | CorrectBet | MakeRuling
)  # fmt: skip
