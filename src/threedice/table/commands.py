"""Commands: what people ask of a table. Each says who acts and in which role.

Time, ids and rolls arrive here from outside; `decide` turns a command into events or refuses it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from threedice.rulebook.conduct import IrregularityName, Role
from threedice.table.terms import BoxId, Mode, PlayerId, TableLimits


class Actor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person in a role."""

    id: str
    role: Role


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, kw_only=True):
    """Something asked of a table by somebody."""

    by: Actor


# --- the table ----------------------------------------------------------------------------------


class OpenTable(Command, frozen=True, kw_only=True):
    """Open a table with its float, chips and limits."""

    table: str
    currency: str
    mode: Mode
    chips: list[int]
    float_amount: int
    limits: TableLimits


class PassCheck(Command, frozen=True, kw_only=True):
    """State that something to be seen to before opening is in order."""

    check: str


class SetLimits(Command, frozen=True, kw_only=True):
    """Change the limits from the next opening of betting on; a second person agrees."""

    limits: TableLimits
    approved_by: Actor


class FillFloat(Command, frozen=True, kw_only=True):
    """Bring chips from the vault."""

    amount: int


class CreditFloat(Command, frozen=True, kw_only=True):
    """Take chips to the vault."""

    amount: int


class CloseTable(Command, frozen=True, kw_only=True):
    """Close the table; an unfinished round is void."""


class ReleaseTable(Command, frozen=True, kw_only=True):
    """Let play go on after a malfunction has been seen to."""

    reason: str


# --- chips --------------------------------------------------------------------------------------


class BuyIn(Command, frozen=True, kw_only=True):
    """Change cash, or money of the player's account, into chips."""

    player: PlayerId
    amount: int
    source: Literal["cash", "account"] = "cash"
    age_years: int | None = None


class CashOut(Command, frozen=True, kw_only=True):
    """Take chips away from the table, or put them into the player's account."""

    player: PlayerId
    amount: int
    to: Literal["outside", "account"] = "outside"


class ChangeChips(Command, frozen=True, kw_only=True):
    """Change chips of a player over the change block into chips of one denomination."""

    player: PlayerId
    amount: int
    into: int


class RepayDebt(Command, frozen=True, kw_only=True):
    """Pay what a reversal or a correction left a player owing, in chips or in cash."""

    player: PlayerId
    amount: int
    source: Literal["stack", "cash"] = "stack"


class TakeColour(Command, frozen=True, kw_only=True):
    """Give a player non-value chips of a colour of his own at a declared value."""

    player: PlayerId
    colour: str
    value: int


class ColourUp(Command, frozen=True, kw_only=True):
    """Change a player's non-value chips back into value chips."""

    player: PlayerId


# --- betting ------------------------------------------------------------------------------------


class PlaceBet(Command, frozen=True, kw_only=True):
    """Put chips of a player on a box, oneself or by a pit employee, or as a call bet."""

    player: PlayerId
    box: BoxId
    amount: int
    area: str = ""
    manner: Literal["self", "behalf", "call"] = "self"


class WithdrawBet(Command, frozen=True, kw_only=True):
    """Take chips of a player back from a box."""

    player: PlayerId
    box: BoxId
    amount: int
    area: str = ""


class RejectExcess(Command, frozen=True, kw_only=True):
    """Reject what is over the maximum or the differential in a box."""

    box: BoxId
    area: str = ""


class MoveChips(Command, frozen=True, kw_only=True):
    """Record that chips lie elsewhere now than where they were put."""

    player: PlayerId
    box: BoxId
    to_box: BoxId
    amount: int
    area: str = ""
    to_area: str = ""


class PutBack(Command, frozen=True, kw_only=True):
    """Put chips back that were moved by accident."""

    player: PlayerId
    box: BoxId
    to_box: BoxId
    amount: int
    area: str = ""
    to_area: str = ""


class JudgeLine(Command, frozen=True, kw_only=True):
    """Decide about chips that touch a line: they are in the box, or they are no bet."""

    player: PlayerId
    box: BoxId
    amount: int
    accepted: bool
    area: str = ""


# --- the round ----------------------------------------------------------------------------------


class OfferDice(Command, frozen=True, kw_only=True):
    """Offer a player the dice."""

    player: PlayerId


class ChooseDice(Command, frozen=True, kw_only=True):
    """Choose dice, by number, from those offered."""

    dice: list[int]


class OpenBetting(Command, frozen=True, kw_only=True):
    """Announce that bets may be placed."""


class CloseBetting(Command, frozen=True, kw_only=True):
    """Announce that no more bets may be placed."""


class Tumble(Command, frozen=True, kw_only=True):
    """Activate the tumbler."""

    times: int


class Throw(Command, frozen=True, kw_only=True):
    """Throw the dice."""


class Uncover(Command, frozen=True, kw_only=True):
    """Lift the cover from the dice."""


class CallResult(Command, frozen=True, kw_only=True):
    """Call what the dice show, by face numbers."""

    dice: tuple[int, int, int]


class PressKey(Command, frozen=True, kw_only=True):
    """Press a numbered key of the entry terminal."""

    key: int


class PressEnter(Command, frozen=True, kw_only=True):
    """Press the entry key of the terminal."""


class Illuminate(Command, frozen=True, kw_only=True):
    """See the winning areas lit, or not, or wrongly."""

    correct: bool = True


class CollectLosers(Command, frozen=True, kw_only=True):
    """Take the losing bets."""


class PayWinners(Command, frozen=True, kw_only=True):
    """Pay the winning bets."""


# --- irregularities -----------------------------------------------------------------------------


class Report(Command, frozen=True, kw_only=True):
    """Report an irregularity, with what is known and a second person where one is needed."""

    irregularity: IrregularityName
    player: PlayerId = ""
    known: list[int] = []
    rounds: list[int] = []
    note: str = ""
    approved_by: Actor | None = None


class AbandonRound(Command, frozen=True, kw_only=True):
    """Give up a round whose outcome can no longer be established."""

    reason: str


class AmendResult(Command, frozen=True, kw_only=True):
    """Amend a wrongly entered result under supervision."""

    dice: tuple[int, int, int]
    approved_by: Actor


class CorrectBet(Command, frozen=True, kw_only=True):
    """Pay or take what a settled bet should have been paid; below zero it is taken."""

    round: int
    player: PlayerId
    amount: int
    reason: str
    approved_by: Actor


class MakeRuling(Command, frozen=True, kw_only=True):
    """Decide what the rules do not provide for; below zero the amount is taken."""

    player: PlayerId
    amount: int
    reason: str


AnyCommand = (
    OpenTable | PassCheck | SetLimits | FillFloat | CreditFloat | CloseTable | ReleaseTable
    | BuyIn | CashOut | ChangeChips | RepayDebt | TakeColour | ColourUp
    | PlaceBet | WithdrawBet | RejectExcess | MoveChips | PutBack | JudgeLine
    | OfferDice | ChooseDice | OpenBetting | CloseBetting | Tumble | Throw | Uncover
    | CallResult | PressKey | PressEnter | Illuminate | CollectLosers | PayWinners
    | Report | AbandonRound | AmendResult | CorrectBet | MakeRuling
)  # fmt: skip
