"""Commands to a table; each names the person who acts and their role.

A command carries ids and rolls from outside; `decide` turns it into events or refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import msgspec

from threedice.facts import (
    APPROVERS,
    DEALERS,
    MANAGERS,
    ROUND_STAFF,
    STAFF,
    SUPERVISORS,
    CommandFacts,
)
from threedice.money import Currency, RequestedAmount
from threedice.names import OptionalPlayerId, ValidPlayerId
from threedice.rulebook.conduct import IrregularityName, StepName, TableRole
from threedice.table.chip_counts.counts import RequestedCounts
from threedice.table.limits import BoxId, LimitMode, TableLimits

if TYPE_CHECKING:
    from collections.abc import Callable

ShortText = Annotated[str, msgspec.Meta(max_length=100)]
RequiredText = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
LongText = Annotated[str, msgspec.Meta(max_length=2000)]

Mover = Literal["dealer", "patron"]
"""The person who moved a player's chips by accident: the dealer, or another patron."""


class Actor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A person in a role."""

    id: ShortText
    role: TableRole


OptionalActor = Actor | msgspec.UnsetType
"""A second person, if one approved; unset, the field is not encoded."""

OptionalCounts = RequestedCounts | msgspec.UnsetType
"""Counts of chips, at a table that deals in chips; unset, the field is not encoded."""


class TableCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base of all commands to a table."""

    facts: ClassVar[CommandFacts]
    by: Actor


class RoundCommand(TableCommand, frozen=True, kw_only=True):
    """Base of the commands that take the round on or change its bets, which a stop prevents."""


class StepCommand(RoundCommand, frozen=True, kw_only=True):
    """Base of the commands that take a step of the procedure; dealers take most of them."""

    facts = CommandFacts((*DEALERS, "game-supervisor"), "deal", automatic="house")
    step: ClassVar[StepName]

    @property
    def is_recorded(self) -> bool:
        """True if the sender records that another person took the step."""
        return False


class ShooterCommand(StepCommand, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the steps of the shooter; `player` names them if the dealer records the step."""

    facts = CommandFacts(("player", *DEALERS), "play", as_shooter=True, automatic="player")
    player: OptionalPlayerId = ""

    @property
    def is_recorded(self) -> bool:
        """True if the sender records that another person took the step."""
        return self.player not in ("", self.by.id)


# --- the table ----------------------------------------------------------------------------------


class OpenTable(TableCommand, frozen=True, kw_only=True, tag="OpenTable"):
    """Open a table with its float, chips and limits; a second person must approve new terms.

    With a `rack`, counted by chip by two people, the table deals in chips, else in amounts. At the
    first opening in chips the count is compared with the chips that the cage `issued`, by the house
    file; later ones are compared with the last closer.
    """

    facts = CommandFacts(
        STAFF,
        "manage",
        second_person="approved_by",
        alone="approved-terms",
        while_closed=True,
        counts_rack=True,
        house_fields=("issued",),
    )
    table: ShortText
    currency: Currency
    mode: LimitMode
    chips: list[RequestedAmount]
    float_amount: RequestedAmount
    limits: TableLimits
    approved_by: OptionalActor = msgspec.UNSET
    rack: OptionalCounts = msgspec.UNSET
    issued: OptionalCounts = msgspec.UNSET


class PassCheck(TableCommand, frozen=True, kw_only=True, tag="PassCheck"):
    """Record that an opening check was made and passed; `seal` is the number of the seal seen."""

    facts = CommandFacts(STAFF, "deal")
    check: ShortText
    seal: ShortText | msgspec.UnsetType = msgspec.UNSET
    note: LongText | msgspec.UnsetType = msgspec.UNSET


class FailCheck(TableCommand, frozen=True, kw_only=True, omit_defaults=True, tag="FailCheck"):
    """Record that an opening check was made and failed, and by which piece of equipment."""

    facts = CommandFacts(STAFF, "deal", automatic="house", between_rounds=True)
    check: ShortText
    piece: RequiredText
    reason: LongText
    seal: ShortText = ""


class SetLimits(TableCommand, frozen=True, kw_only=True, tag="SetLimits"):
    """Change the limits from the next opening of betting; a second person must approve."""

    facts = CommandFacts(STAFF, "nobody", second_person="approved_by")
    limits: TableLimits
    approved_by: Actor


class FillFloat(TableCommand, frozen=True, kw_only=True, tag="FillFloat"):
    """Add chips from the vault to the float; a table that deals in chips needs their `counts`."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="float_alone",
    )
    amount: RequestedAmount
    approved_by: OptionalActor = msgspec.UNSET
    counts: OptionalCounts = msgspec.UNSET


class CreditFloat(TableCommand, frozen=True, kw_only=True, tag="CreditFloat"):
    """Return chips from the float to the vault; a table that deals in chips needs `counts`."""

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="up-to-amount",
        alone_up_to="float_alone",
    )
    amount: RequestedAmount
    approved_by: OptionalActor = msgspec.UNSET
    counts: OptionalCounts = msgspec.UNSET


class CloseTable(TableCommand, frozen=True, kw_only=True, tag="CloseTable"):
    """Close the table; an unfinished round is voided, and players take their chips away.

    At a table that deals in chips, two people have `counted` the rack.
    """

    facts = CommandFacts(
        SUPERVISORS,
        "manage",
        second_person="approved_by",
        alone="always",
        automatic="alone-if-empty",
        counts_rack=True,
    )
    approved_by: OptionalActor = msgspec.UNSET
    counted: OptionalCounts = msgspec.UNSET


class CountRack(TableCommand, frozen=True, kw_only=True, omit_defaults=True, tag="CountRack"):
    """Count the rack by chip between two rounds, as at the end of a shift."""

    facts = CommandFacts(
        SUPERVISORS,
        "nobody",
        second_person="approved_by",
        automatic="house",
        between_rounds=True,
        counts_rack=True,
    )
    counted: RequestedCounts
    approved_by: Actor
    note: LongText = ""


class CountDrop(TableCommand, frozen=True, kw_only=True, omit_defaults=True, tag="CountDrop"):
    """Count the cash of the drop box of a closing, by the value of its notes and coins."""

    facts = CommandFacts(SUPERVISORS, "nobody", second_person="approved_by", while_closed=True)
    closing: int
    notes: RequestedCounts
    approved_by: Actor
    note: LongText = ""


ReleaseRemedy = Literal["rectified", "substitute-procedure"]
"""Why a locked table may be played on again: the fault is mended, or play goes on without it."""


class ReleaseTable(TableCommand, frozen=True, kw_only=True, omit_defaults=True, tag="ReleaseTable"):
    """Unlock the table after a malfunction was rectified, or under a substitute procedure.

    With a `cause`, the table stays locked for its other causes.
    """

    facts = CommandFacts(SUPERVISORS, "manage")
    reason: LongText
    remedy: ReleaseRemedy = "rectified"
    cause: IrregularityName | msgspec.UnsetType = msgspec.UNSET


# --- equipment ----------------------------------------------------------------------------------


class Die(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A die of a set."""

    serial: RequiredText
    colour: ShortText = ""


class EquipmentCommand(TableCommand, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the commands about equipment; a table that the house deals has none."""

    facts = CommandFacts(
        SUPERVISORS, "manage", automatic="house", while_closed=True, between_rounds=True
    )


class RegisterPiece(EquipmentCommand, frozen=True, kw_only=True, tag="RegisterPiece"):
    """Enter a piece of equipment, or a set of dice, into the table's register."""

    piece: RequiredText
    kind: RequiredText
    serial: ShortText = ""
    seal: ShortText = ""
    dice: Annotated[list[Die], msgspec.Meta(max_length=20)] = []


class OmitEquipment(EquipmentCommand, frozen=True, kw_only=True, tag="OmitEquipment"):
    """Set the table up without an optional kind of equipment, and without the steps with it."""

    kind: RequiredText


class ReplacePiece(EquipmentCommand, frozen=True, kw_only=True, tag="ReplacePiece"):
    """Put a piece of equipment out of use and another of the same kind in its place."""

    piece: RequiredText
    replacement: RequiredText
    reason: LongText
    serial: ShortText = ""
    seal: ShortText = ""


class ReleasePiece(EquipmentCommand, frozen=True, kw_only=True, tag="ReleasePiece"):
    """Return a faulty piece to use, or play on without it under a substitute procedure."""

    piece: RequiredText
    reason: LongText
    remedy: ReleaseRemedy = "rectified"


class InstallDice(EquipmentCommand, frozen=True, kw_only=True, tag="InstallDice"):
    """Put a set of dice into play; `seen` is the seal it had, `seal` the one it lies under now."""

    piece: RequiredText
    seen: ShortText = ""
    seal: ShortText = ""


class InspectDice(EquipmentCommand, frozen=True, kw_only=True, tag="InspectDice"):
    """Record the inspection of a set of dice, and which of its dice, by number, are damaged."""

    piece: RequiredText
    good: bool
    damaged: Annotated[list[int], msgspec.Meta(max_length=20)] = []
    note: LongText = ""


class RemoveDice(EquipmentCommand, frozen=True, kw_only=True, tag="RemoveDice"):
    """Take a set of dice out of play; `seal` is the one under which it is kept."""

    piece: RequiredText
    reason: LongText = ""
    seal: ShortText = ""


class DestroyDice(EquipmentCommand, frozen=True, kw_only=True, tag="DestroyDice"):
    """Destroy a set of dice in the presence of a second person."""

    facts = CommandFacts(
        SUPERVISORS,
        "nobody",
        second_person="approved_by",
        automatic="house",
        while_closed=True,
        between_rounds=True,
    )
    piece: RequiredText
    approved_by: Actor


class TrialCommand(EquipmentCommand, frozen=True, kw_only=True):
    """Base of the commands of the test mode; those who may operate the equipment send them."""

    facts = CommandFacts(
        ROUND_STAFF, "deal", automatic="house", while_closed=True, between_rounds=True
    )


class StartTest(TrialCommand, frozen=True, kw_only=True, tag="StartTest"):
    """Switch the terminal to test mode; no round starts until the test is ended."""


class EnterTrial(TrialCommand, frozen=True, kw_only=True, tag="EnterTrial"):
    """Press keys and Enter in test mode, and say what was seen.

    `lit` are the areas that lit up, `echo` the keys that the terminal showed and `display` the dice
    that the results display showed; unset, nobody looked.
    """

    keys: Annotated[list[int], msgspec.Meta(max_length=20)]
    lit: Annotated[list[ShortText], msgspec.Meta(max_length=1000)] = []
    echo: Annotated[list[int], msgspec.Meta(max_length=20)] | msgspec.UnsetType = msgspec.UNSET
    display: Annotated[list[int], msgspec.Meta(max_length=20)] | msgspec.UnsetType = msgspec.UNSET


class EndTest(TrialCommand, frozen=True, kw_only=True, tag="EndTest"):
    """Switch the terminal back from test mode."""


# --- chips --------------------------------------------------------------------------------------


class BuyIn(TableCommand, frozen=True, kw_only=True, tag="BuyIn"):
    """Change cash, or money from the player's account, into chips; `counts` says into which."""

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
    counts: OptionalCounts = msgspec.UNSET


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


class BetCommand(RoundCommand, frozen=True, kw_only=True):
    """Base of the commands that may name their `round`, and are refused in any other."""

    round: Annotated[int, msgspec.Meta(ge=1)] | msgspec.UnsetType = msgspec.UNSET


class PlaceBet(BetCommand, frozen=True, kw_only=True, tag="PlaceBet"):
    """Put a player's chips on a box: by the player, by a pit employee, or as a call bet.

    `counts` says which chips, at a table that deals in chips.
    """

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
    counts: OptionalCounts = msgspec.UNSET


class WithdrawBet(BetCommand, frozen=True, kw_only=True, tag="WithdrawBet"):
    """Take a player's chips back from a box."""

    facts = CommandFacts(("player", *DEALERS), "play", own_player=True, automatic="player")
    player: ValidPlayerId
    box: BoxId
    amount: RequestedAmount
    area: ShortText = ""


class RejectExcess(RoundCommand, frozen=True, kw_only=True, tag="RejectExcess"):
    """Reject the chips in a box that exceed the maximum or the differential."""

    facts = CommandFacts(STAFF, "deal", automatic="house")
    box: BoxId
    area: ShortText = ""


class RelocationCommand(RoundCommand, frozen=True, kw_only=True):
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
    """Put chips that were moved or misplaced by accident where they belong.

    `moved_by` says who moved them, if no move was recorded. Once dice lie open or are known, that
    may need a second person.
    """

    facts = CommandFacts(
        STAFF,
        "deal",
        second_person="approved_by",
        alone="by-rulebook",
        automatic="house",
        concerns_round=True,
    )
    moved_by: Mover | msgspec.UnsetType = msgspec.UNSET
    approved_by: OptionalActor = msgspec.UNSET


class JudgeLine(RoundCommand, frozen=True, kw_only=True, tag="JudgeLine"):
    """Decide whether chips that touch a line count as a bet in the box.

    Once dice lie open or are known, rejecting them may need a second person.
    """

    facts = CommandFacts(
        STAFF,
        "deal",
        second_person="approved_by",
        alone="by-rulebook",
        automatic="house",
        concerns_round=True,
    )
    player: ValidPlayerId
    box: BoxId
    amount: RequestedAmount
    accepted: bool
    area: ShortText = ""
    approved_by: OptionalActor = msgspec.UNSET


# --- the round ----------------------------------------------------------------------------------


class OfferDice(StepCommand, frozen=True, kw_only=True, tag="OfferDice"):
    """Offer a player the dice."""

    facts = CommandFacts(DEALERS, "deal", automatic="house", seats_player=True)
    step = "offer-dice"
    player: ValidPlayerId


class ChooseDice(ShooterCommand, frozen=True, kw_only=True, tag="ChooseDice"):
    """Choose dice, by number, from the dice offered; the dealer may record the choice."""

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


class Throw(ShooterCommand, frozen=True, kw_only=True, tag="Throw"):
    """Throw the dice; the dealer may record the shooter's throw."""

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


class PayArea(StepCommand, frozen=True, kw_only=True, omit_defaults=True, tag="PayArea"):
    """Pay the winning bets of one box before the others; its players may take their chips.

    `area` names the area of the box, only where each area has limits of its own.
    """

    step = "pay-winners"
    box: BoxId
    area: ShortText = ""


class PayWinners(StepCommand, frozen=True, kw_only=True, tag="PayWinners"):
    """Pay the winning bets that are still unpaid."""

    step = "pay-winners"


# --- irregularities -----------------------------------------------------------------------------


class Report(TableCommand, frozen=True, kw_only=True, tag="Report"):
    """Report an irregularity: known dice, affected rounds, a second person where required.

    Once dice lie open or are known, a report without a second person only stops the round that it
    would void. `piece` names the piece of equipment that malfunctions.
    """

    facts = CommandFacts(
        ROUND_STAFF,
        "deal",
        second_person="approved_by",
        alone="by-rulebook",
        concerns_round=True,
    )
    irregularity: IrregularityName
    player: OptionalPlayerId = ""
    known: list[int] = []
    rounds: list[int] = []
    note: LongText = ""
    approved_by: Actor | None = None
    piece: RequiredText | msgspec.UnsetType = msgspec.UNSET


class AbandonRound(TableCommand, frozen=True, kw_only=True, tag="AbandonRound"):
    """Void a round whose outcome can no longer be established.

    Once dice lie open or are known, that needs a second person.
    """

    facts = CommandFacts(
        STAFF,
        "deal",
        second_person="approved_by",
        alone="by-rulebook",
        automatic="house",
        concerns_round=True,
    )
    reason: LongText
    approved_by: OptionalActor = msgspec.UNSET


class ResumeRound(TableCommand, frozen=True, kw_only=True, tag="ResumeRound"):
    """Let a round go on that another person has stopped by a report."""

    facts = CommandFacts(SUPERVISORS, "deal", automatic="house", concerns_round=True)
    reason: LongText


class AmendResult(RoundCommand, frozen=True, kw_only=True, tag="AmendResult"):
    """Amend a wrongly called or entered result under supervision."""

    facts = CommandFacts(
        ROUND_STAFF,
        "nobody",
        second_person="approved_by",
        approvers=APPROVERS,
        approval_rule="wrong-entry",
        automatic="house",
        concerns_round=True,
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
    | CountRack | CountDrop
    | BuyIn | CashOut | ChangeChips | RepayDebt | TakeColour | ColourUp
    | PlaceBet | WithdrawBet | RejectExcess | MoveChips | PutBack | JudgeLine
    | OfferDice | ChooseDice | OpenBetting | CloseBetting | Tumble | Throw | Uncover
    | CallResult | PressKey | PressEnter | Illuminate | CollectLosers | PayArea | PayWinners
    | Report | AbandonRound | ResumeRound | AmendResult | CorrectBet | MakeRuling
    | FailCheck | RegisterPiece | OmitEquipment | ReplacePiece | ReleasePiece
    | InstallDice | InspectDice | RemoveDice | DestroyDice | StartTest | EnterTrial | EndTest
)  # fmt: skip

PLAIN_STEP_COMMANDS: Final[dict[StepName, Callable[..., AnyCommand]]] = {
    each.step: each
    for each in (OpenBetting, CloseBetting, Uncover, Illuminate, CollectLosers, PayWinners)
}
"""The commands of the dealer's steps that need no more than their sender."""
