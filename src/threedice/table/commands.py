"""Commands to a table; each names the person who acts and their role.

A command carries ids and rolls from outside; `decide` turns it into events or refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import msgspec

from threedice.facts import DEALERS, MANAGERS, STAFF, SUPERVISORS, CommandFacts
from threedice.money import Currency, RequestedAmount
from threedice.names import OptionalPlayerId, ValidPlayerId
from threedice.rulebook.conduct import IrregularityName, StepName, TableRole
from threedice.table.limits import BoxId, LimitMode, TableLimits

if TYPE_CHECKING:
    from collections.abc import Callable

ShortText = Annotated[str, msgspec.Meta(max_length=100)]
LongText = Annotated[str, msgspec.Meta(max_length=2000)]


class Actor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A person in a role."""

    id: ShortText
    role: TableRole


OptionalActor = Actor | msgspec.UnsetType
"""A second person, if one approved; unset, the field is not encoded."""


class TableCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base of all commands to a table."""

    facts: ClassVar[CommandFacts]
    by: Actor


class StepCommand(TableCommand, frozen=True, kw_only=True):
    """Base of the commands that take a step of the procedure; dealers take most of them."""

    facts = CommandFacts(DEALERS, "deal", automatic="house")
    step: ClassVar[StepName]


# --- the table ----------------------------------------------------------------------------------


class OpenTable(TableCommand, frozen=True, kw_only=True, tag="OpenTable"):
    """Open a table with its float, chips and limits; a second person must approve new terms."""

    facts = CommandFacts(STAFF, "manage", second_person="approved_by", alone="approved-terms")
    table: ShortText
    currency: Currency
    mode: LimitMode
    chips: list[RequestedAmount]
    float_amount: RequestedAmount
    limits: TableLimits
    approved_by: OptionalActor = msgspec.UNSET


class PassCheck(TableCommand, frozen=True, kw_only=True, tag="PassCheck"):
    """Record that an opening check was made and passed."""

    facts = CommandFacts(STAFF, "deal")
    check: ShortText


class SetLimits(TableCommand, frozen=True, kw_only=True, tag="SetLimits"):
    """Change the limits from the next opening of betting; a second person must approve."""

    facts = CommandFacts(STAFF, "nobody", second_person="approved_by")
    limits: TableLimits
    approved_by: Actor


class FillFloat(TableCommand, frozen=True, kw_only=True, tag="FillFloat"):
    """Add chips from the vault to the float."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="float_alone",
    )
    amount: RequestedAmount
    approved_by: OptionalActor = msgspec.UNSET


class CreditFloat(TableCommand, frozen=True, kw_only=True, tag="CreditFloat"):
    """Return chips from the float to the vault."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="float_alone",
    )
    amount: RequestedAmount
    approved_by: OptionalActor = msgspec.UNSET


class CloseTable(TableCommand, frozen=True, kw_only=True, tag="CloseTable"):
    """Close the table; an unfinished round is voided, and players take their chips away."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="always",
        automatic="alone-if-empty",
    )
    approved_by: OptionalActor = msgspec.UNSET


class ReleaseTable(TableCommand, frozen=True, kw_only=True, tag="ReleaseTable"):
    """Unlock the table after a malfunction has been dealt with."""

    facts = CommandFacts(SUPERVISORS, "manage")
    reason: LongText


# --- chips --------------------------------------------------------------------------------------


class BuyIn(TableCommand, frozen=True, kw_only=True, tag="BuyIn"):
    """Change cash, or money from the player's account, into chips."""

    facts = CommandFacts(
        ("player", *STAFF),
        "play",
        own_player=True,
        player_values={"source": ("account",)},
        staff_values={"source": ("cash",)},
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="cash_alone",
        seats_player=True,
    )
    player: ValidPlayerId
    amount: RequestedAmount
    source: Literal["cash", "account"] = "cash"
    age_years: int | None = None
    approved_by: OptionalActor = msgspec.UNSET


class CashOut(TableCommand, frozen=True, kw_only=True, tag="CashOut"):
    """Take chips away from the table; only players put them into their own accounts."""

    facts = CommandFacts(
        ("player", *STAFF),
        "play",
        own_player=True,
        player_values={"to": ("account",)},
        staff_values={"to": ("outside",)},
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="cash_out_alone",
        automatic="second-person",
    )
    player: ValidPlayerId
    amount: RequestedAmount
    to: Literal["outside", "account"] = "outside"
    approved_by: OptionalActor = msgspec.UNSET


class ChangeChips(TableCommand, frozen=True, kw_only=True, tag="ChangeChips"):
    """Change a player's chips into chips of one denomination."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    player: ValidPlayerId
    amount: RequestedAmount
    into: RequestedAmount


class RepayDebt(TableCommand, frozen=True, kw_only=True, tag="RepayDebt"):
    """Repay, in chips or in cash, a debt left by a reversal or a correction."""

    facts = CommandFacts(
        ("player", *STAFF),
        "play",
        own_player=True,
        player_values={"source": ("stack",)},
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="cash_alone",
        automatic="player",
    )
    player: ValidPlayerId
    amount: RequestedAmount
    source: Literal["stack", "cash"] = "stack"
    approved_by: OptionalActor = msgspec.UNSET


class TakeColour(TableCommand, frozen=True, kw_only=True, tag="TakeColour"):
    """Give a player non-value chips in a colour of their own at a declared value."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    player: ValidPlayerId
    colour: ShortText
    value: RequestedAmount


class ColourUp(TableCommand, frozen=True, kw_only=True, tag="ColourUp"):
    """Change a player's non-value chips back into value chips."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    player: ValidPlayerId


# --- betting ------------------------------------------------------------------------------------


class PlaceBet(TableCommand, frozen=True, kw_only=True, tag="PlaceBet"):
    """Put a player's chips on a box: by the player, by a pit employee, or as a call bet."""

    facts = CommandFacts(
        ("player", *DEALERS),
        "play",
        own_player=True,
        player_values={"manner": ("self", "call")},
        automatic="player",
        seats_player=True,
    )
    player: ValidPlayerId
    box: BoxId
    amount: RequestedAmount
    area: ShortText = ""
    manner: Literal["self", "behalf", "call"] = "self"


class WithdrawBet(TableCommand, frozen=True, kw_only=True, tag="WithdrawBet"):
    """Take a player's chips back from a box."""

    facts = CommandFacts(("player", *DEALERS), "play", own_player=True, automatic="player")
    player: ValidPlayerId
    box: BoxId
    amount: RequestedAmount
    area: ShortText = ""


class RejectExcess(TableCommand, frozen=True, kw_only=True, tag="RejectExcess"):
    """Reject the chips in a box that exceed the maximum or the differential."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    box: BoxId
    area: ShortText = ""


class RelocationCommand(TableCommand, frozen=True, kw_only=True):
    """Base of the commands that move chips to another box."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    player: ValidPlayerId
    box: BoxId
    to_box: BoxId
    amount: RequestedAmount
    area: ShortText = ""
    to_area: ShortText = ""


class MoveChips(RelocationCommand, frozen=True, kw_only=True, tag="MoveChips"):
    """Record that chips have moved to another box."""


class PutBack(RelocationCommand, frozen=True, kw_only=True, tag="PutBack"):
    """Put back chips that were moved by accident."""


class JudgeLine(TableCommand, frozen=True, kw_only=True, tag="JudgeLine"):
    """Decide whether chips that touch a line count as a bet in the box."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    player: ValidPlayerId
    box: BoxId
    amount: RequestedAmount
    accepted: bool
    area: ShortText = ""


# --- the round ----------------------------------------------------------------------------------


class OfferDice(StepCommand, frozen=True, kw_only=True, tag="OfferDice"):
    """Offer a player the dice."""

    facts = CommandFacts(DEALERS, "deal", automatic="house", seats_player=True)
    step = "offer-dice"
    player: ValidPlayerId


class ChooseDice(StepCommand, frozen=True, kw_only=True, tag="ChooseDice"):
    """Choose dice, by number, from the dice offered."""

    facts = CommandFacts(("player",), "play", as_shooter=True)
    step = "choose-dice"
    dice: list[int]


class OpenBetting(StepCommand, frozen=True, kw_only=True, tag="OpenBetting"):
    """Announce that bets may be placed."""

    step = "open-betting"


class CloseBetting(StepCommand, frozen=True, kw_only=True, tag="CloseBetting"):
    """Announce that no more bets may be placed."""

    step = "close-betting"


class Tumble(StepCommand, frozen=True, kw_only=True, tag="Tumble"):
    """Activate the tumbler."""

    step = "tumble"
    times: Annotated[int, msgspec.Meta(ge=-1000, le=1000)]


class Throw(StepCommand, frozen=True, kw_only=True, tag="Throw"):
    """Throw the dice."""

    facts = CommandFacts(("player", *DEALERS), "play", as_shooter=True, automatic="player")
    step = "throw"


class Uncover(StepCommand, frozen=True, kw_only=True, tag="Uncover"):
    """Lift the cover from the dice."""

    step = "uncover"


class CallResult(StepCommand, frozen=True, kw_only=True, tag="CallResult"):
    """Call what the dice show, by face numbers."""

    step = "call-result"
    dice: tuple[int, int, int]


class PressKey(StepCommand, frozen=True, kw_only=True, tag="PressKey"):
    """Press a numbered key of the entry terminal."""

    step = "enter-result"
    key: int


class PressEnter(StepCommand, frozen=True, kw_only=True, tag="PressEnter"):
    """Press the entry key of the terminal."""

    step = "enter-result"


class Illuminate(StepCommand, frozen=True, kw_only=True, tag="Illuminate"):
    """Light the winning areas; `correct` says whether the lights showed them correctly."""

    step = "illuminate"
    correct: bool = True


class CollectLosers(StepCommand, frozen=True, kw_only=True, tag="CollectLosers"):
    """Collect the losing bets."""

    step = "collect-losers"


class PayWinners(StepCommand, frozen=True, kw_only=True, tag="PayWinners"):
    """Pay the winning bets."""

    step = "pay-winners"


# --- irregularities -----------------------------------------------------------------------------


class Report(TableCommand, frozen=True, kw_only=True, tag="Report"):
    """Report an irregularity: known dice, affected rounds, a second person where required."""

    facts = CommandFacts(STAFF, "deal", second_person="approved_by", alone="by-rulebook")
    irregularity: IrregularityName
    player: OptionalPlayerId = ""
    known: list[int] = []
    rounds: list[int] = []
    note: LongText = ""
    approved_by: Actor | None = None


class AbandonRound(TableCommand, frozen=True, kw_only=True, tag="AbandonRound"):
    """Void a round whose outcome can no longer be established."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    reason: LongText


class AmendResult(TableCommand, frozen=True, kw_only=True, tag="AmendResult"):
    """Amend a wrongly entered result under supervision."""

    facts = CommandFacts(
        STAFF,
        "nobody",
        second_person="approved_by",
        approval_rule="wrong-entry",
        automatic="house",
    )
    dice: tuple[int, int, int]
    approved_by: Actor


class CorrectBet(TableCommand, frozen=True, kw_only=True, tag="CorrectBet"):
    """Correct the payment of a settled bet; a negative amount is taken from the player."""

    facts = CommandFacts(
        STAFF,
        "nobody",
        second_person="approved_by",
        ceiling="correction_ceiling",
        seats_player=True,
    )
    round: int
    player: ValidPlayerId
    amount: RequestedAmount
    reason: LongText
    approved_by: Actor


class MakeRuling(TableCommand, frozen=True, kw_only=True, tag="MakeRuling"):
    """Rule on a case the rules do not provide for; a negative amount is taken from the player."""

    facts = CommandFacts(
        ("shift-manager",),
        "nobody",
        second_person="approved_by",
        approvers=MANAGERS,
        alone="up-to-amount",
        alone_up_to="ruling_alone",
        ceiling="ruling_ceiling",
        seats_player=True,
    )
    player: ValidPlayerId
    amount: RequestedAmount
    reason: LongText
    approved_by: OptionalActor = msgspec.UNSET


AnyCommand = (
    OpenTable | PassCheck | SetLimits | FillFloat | CreditFloat | CloseTable | ReleaseTable
    | BuyIn | CashOut | ChangeChips | RepayDebt | TakeColour | ColourUp
    | PlaceBet | WithdrawBet | RejectExcess | MoveChips | PutBack | JudgeLine
    | OfferDice | ChooseDice | OpenBetting | CloseBetting | Tumble | Throw | Uncover
    | CallResult | PressKey | PressEnter | Illuminate | CollectLosers | PayWinners
    | Report | AbandonRound | AmendResult | CorrectBet | MakeRuling
)  # fmt: skip

PLAIN_STEP_COMMANDS: Final[dict[StepName, Callable[..., AnyCommand]]] = {
    each.step: each
    for each in (OpenBetting, CloseBetting, Uncover, Illuminate, CollectLosers, PayWinners)
}
"""The commands of the dealer's steps that need no more than their sender."""
