"""Events of a table: immutable records that are stored in the log.

`decide` creates them, `evolve` applies them, `money` turns them into postings. Bets in an event
are plain tuples, because a settlement may list a hundred thousand of them.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from threedice.facts import ITS_PLAYER, PUBLIC, STAFF_ONLY, Audience
from threedice.rulebook.conduct import IrregularityName, StepName
from threedice.table.chip_counts.counts import ChipCounts, ChipMove
from threedice.table.commands import Actor, Die, Mover, ReleaseRemedy
from threedice.table.limits import BoxId, LimitMode, PlayerId, Spot, TableLimits, UpperLimit

Stake = tuple[Spot, PlayerId, int]
"""A player's chips on a spot."""

Payout = tuple[Spot, PlayerId, int, int]
"""A player's winning stake on a spot, and the winnings."""

Transfer = tuple[PlayerId, int]
"""Money to a player; negative if it is taken from the player."""

BetManner = Literal["self", "behalf", "call", "shooter"]
"""How a bet was placed: by the player, on the player's behalf, as a call bet, by the shooter."""


CountKind = Literal["opener", "shift", "closer"]
"""When a rack is counted: at the opening, between two shifts, at the close."""

TestedDisplay = Literal["echo", "display"]
"""The displays that a test covers besides the lights."""


class TableEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base of all events of a table; they hold no cycles, so garbage collection skips them."""

    audience: ClassVar[Audience]


class PublicEvent(TableEvent, frozen=True, kw_only=True):
    """Base of the events that everybody sees."""

    audience = PUBLIC


class ChipEvent(TableEvent, frozen=True, kw_only=True):
    """Base of the events that move chips; at a table that deals in chips they say which.

    `colours_owed` is the change of what the house owes for coloured chips in play, at a table with
    an account for that; only staff see it.
    """

    chip_moves: list[ChipMove] | msgspec.UnsetType = msgspec.UNSET
    colours_owed: int | msgspec.UnsetType = msgspec.UNSET


class PlayerEvent(ChipEvent, frozen=True, kw_only=True):
    """Base of the events about one player, whom other players do not see."""

    audience = ITS_PLAYER
    player: PlayerId


class TableOpened(ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableOpened"):
    """The table was opened on a game, pinned by hash.

    `colours_account` is false in older logs: there the float owes for coloured chips in play.
    """

    audience = Audience(hidden={"float_amount": 0, "chip_moves": msgspec.UNSET})
    table: str
    game: str
    game_hash: str
    currency: str
    mode: LimitMode
    chips: list[int]
    float_amount: int
    limits: TableLimits
    by: Actor
    approved_by: Actor | None = None
    colours_account: bool = False


class CheckPassed(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="CheckPassed"):
    """An opening check was made and passed, on the evidence of a seal or a test run."""

    audience = STAFF_ONLY
    check: str
    by: Actor
    seal: str = ""
    note: str = ""
    test: int = 0


class LimitsSet(PublicEvent, frozen=True, kw_only=True, tag="LimitsSet"):
    """New limits were set, to apply from the next opening of betting."""

    limits: TableLimits
    by: Actor
    approved_by: Actor


class FloatFilled(ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="FloatFilled"):
    """Chips came from the vault to the float."""

    audience = STAFF_ONLY
    amount: int
    by: Actor
    approved_by: Actor | None = None
    slip: int = 0


class FloatCredited(ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="FloatCredited"):
    """Chips went from the float to the vault."""

    audience = STAFF_ONLY
    amount: int
    by: Actor
    approved_by: Actor | None = None
    slip: int = 0


class TableClosed(ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableClosed"):
    """The table was closed: the chips players carried away, the float and drop counted."""

    audience = Audience(
        hidden={"float_amount": 0, "drop": 0}, lists={"carried_away": 0, "chip_moves": 2}
    )
    carried_away: list[Transfer]
    float_amount: int
    drop: int
    by: Actor
    approved_by: Actor | None = None


class RackCounted(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="RackCounted"):
    """Two people counted the rack; from now on it holds what they counted.

    The opener is compared with the last closer, other counts with the chips that the log expects.
    `owed` is what the coloured chips in play are worth, for which value chips lie in the rack.
    """

    audience = STAFF_ONLY
    kind: CountKind
    slip: int
    counted: ChipCounts
    expected: ChipCounts
    by: Actor
    approved_by: Actor
    note: str = ""
    owed: int = 0


class DropCounted(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="DropCounted"):
    """Two people counted the cash in the drop box of a closing, by the value of its notes."""

    audience = STAFF_ONLY
    closing: int
    slip: int
    notes: ChipCounts
    expected: int
    by: Actor
    approved_by: Actor
    note: str = ""


class TableLocked(PublicEvent, frozen=True, kw_only=True, tag="TableLocked"):
    """The table was locked: no round starts until it is released from this and other causes."""

    cause: IrregularityName


class TableReleased(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableReleased"):
    """The table was unlocked, from all causes or from the one named."""

    audience = Audience(hidden={"reason": ""})
    reason: str
    by: Actor
    remedy: ReleaseRemedy = "rectified"
    cause: IrregularityName | None = None


class BoughtIn(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="BoughtIn"):
    """A player received chips for cash or for money from their account."""

    amount: int
    source: Literal["cash", "account"]
    by: Actor | None = None
    approved_by: Actor | None = None


class CashedOut(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="CashedOut"):
    """A player took chips away, or their value went to the player's account.

    `by` is set if a second person approved, or if chips left that a debt held at the table.
    """

    amount: int
    to: Literal["outside", "account"]
    by: Actor | None = None
    approved_by: Actor | None = None


class ChipsChanged(PlayerEvent, frozen=True, kw_only=True, tag="ChipsChanged"):
    """A player's chips were changed into others of the same value."""

    amount: int
    into: int


class DebtRepaid(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="DebtRepaid"):
    """A player's debt was reduced: repaid, or set off against winnings or cash paid in.

    Chips go from the stack to the float, unless `source` is cash. `round` is that of the winnings.
    """

    amount: int
    source: Literal["stack", "cash", "winnings", "buy-in"]
    round: int = 0
    by: Actor | None = None
    approved_by: Actor | None = None


class ColourTaken(PlayerEvent, frozen=True, kw_only=True, tag="ColourTaken"):
    """A player took non-value chips in a colour of their own at a declared value."""

    colour: str
    value: int


class ColouredUp(PlayerEvent, frozen=True, kw_only=True, tag="ColouredUp"):
    """A player's non-value chips were changed back into value chips."""


class RoundStarted(PublicEvent, frozen=True, kw_only=True, tag="RoundStarted"):
    """A round started, on a game pinned by hash.

    `skipped` lists the steps done once per shooter that a continuing series does not repeat.
    """

    round: int
    game_hash: str
    skipped: list[StepName] = []


class BettingOpened(PublicEvent, frozen=True, kw_only=True, tag="BettingOpened"):
    """Betting was opened, within these limits."""

    limits: TableLimits
    by: Actor


class BettingClosed(PublicEvent, frozen=True, kw_only=True, tag="BettingClosed"):
    """Betting was closed: bets may no longer be placed, increased or withdrawn."""

    by: Actor


class StepTaken(PublicEvent, frozen=True, kw_only=True, omit_defaults=True, tag="StepTaken"):
    """A step of the procedure that has no event of its own was taken.

    `recorded_by` is set if somebody else recorded that the shooter took it.
    """

    step: StepName
    by: Actor
    recorded_by: Actor | None = None


class BetPlaced(PlayerEvent, frozen=True, kw_only=True, tag="BetPlaced"):
    """A player's chips were put on a box."""

    spot: Spot
    area: str
    amount: int
    number: int
    manner: BetManner
    by: Actor


class BetWithdrawn(PlayerEvent, frozen=True, kw_only=True, tag="BetWithdrawn"):
    """A player's chips were withdrawn from a box before the close, from one area if named.

    The `excess` of a whole bet goes back with it.
    """

    spot: Spot
    amount: int
    area: str = ""
    excess: int | msgspec.UnsetType = msgspec.UNSET


ALL_PLACEMENTS: Final = 0
"""In place of the number of a placement: all placements of a bet."""


class BetRejected(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="BetRejected"):
    """Chips over a limit were returned to a player.

    `number` is the placement, or `ALL_PLACEMENTS` for the whole bet, with which its `excess` goes
    back. What cannot be returned for lack of change `waits`: it lies as excess until the bet is
    settled or taken back, and does not play.
    """

    spot: Spot
    amount: int
    number: int
    limit: UpperLimit
    waits: bool = False
    excess: int = 0


class ChipsRelocated(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the events that move chips to another box; the areas are named if known.

    The `excess` of a whole bet moves with it.
    """

    spot: Spot
    to_spot: Spot
    amount: int
    by: Actor
    area: str = ""
    to_area: str = ""
    excess: int = 0


class ChipsMoved(ChipsRelocated, frozen=True, kw_only=True, tag="ChipsMoved"):
    """Chips were moved to another box; `area` and `to_area` name the areas, if known."""


class ChipsPutBack(ChipsRelocated, frozen=True, kw_only=True, tag="ChipsPutBack"):
    """Chips moved or misplaced by accident were put where they belong.

    `area` and `to_area` name the areas, if known; `number` the placement, if not the last ones were
    taken; `moved_by` who had moved the chips, if no move was recorded.
    """

    number: int = 0
    moved_by: Mover | None = None
    approved_by: Actor | None = None


class LineJudged(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="LineJudged"):
    """Chips on a line were accepted as a bet, or returned to the player.

    The `excess` of a whole bet goes back with it.
    """

    spot: Spot
    amount: int
    accepted: bool
    by: Actor
    area: str = ""
    approved_by: Actor | None = None
    excess: int = 0


class DiceOffered(PublicEvent, frozen=True, kw_only=True, tag="DiceOffered"):
    """The dice were offered to a player."""

    player: PlayerId


class DiceChosen(PublicEvent, frozen=True, kw_only=True, omit_defaults=True, tag="DiceChosen"):
    """The shooter chose the dice; `recorded_by` is set if somebody else recorded the choice."""

    player: PlayerId
    dice: list[int]
    recorded_by: Actor | None = None


class DiceTumbled(PublicEvent, frozen=True, kw_only=True, tag="DiceTumbled"):
    """The tumbler was activated."""

    times: int
    by: Actor


class ResultCalled(PublicEvent, frozen=True, kw_only=True, tag="ResultCalled"):
    """The dealer called what the dice show."""

    dice: tuple[int, int, int]
    call: str
    by: Actor


class KeyPressed(PublicEvent, frozen=True, kw_only=True, tag="KeyPressed"):
    """A key of the terminal was pressed."""

    key: int


class ResultEntered(PublicEvent, frozen=True, kw_only=True, tag="ResultEntered"):
    """A result was entered at the terminal; the called dice are the ones that are settled."""

    dice: tuple[int, int, int]
    by: Actor


class ResultAmended(PublicEvent, frozen=True, kw_only=True, tag="ResultAmended"):
    """A wrongly called or entered result was amended under supervision."""

    dice: tuple[int, int, int]
    by: Actor
    approved_by: Actor


class AreasLit(PublicEvent, frozen=True, kw_only=True, tag="AreasLit"):
    """The winning boxes were lit; `correct` is false if the lights failed."""

    boxes: list[BoxId]
    correct: bool


class BetsApportioned(
    ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="BetsApportioned"
):
    """Bets over a limit that nobody noticed play in part: (spot, player, stake, amount played).

    At a table that deals in chips the rest `waits`: it lies as excess until the bet is settled.
    """

    audience = Audience(lists={"bets": 1, "chip_moves": 2})
    bets: list[tuple[Spot, PlayerId, int, int]]
    waits: bool = False


class SettlementEvent(ChipEvent, frozen=True, kw_only=True):
    """Base of the events that settle bets; the `excess` that lay with them goes back."""

    audience = Audience(lists={"bets": 1, "chip_moves": 2, "excess": 1})
    excess: list[Stake] | msgspec.UnsetType = msgspec.UNSET


class LosersCollected(SettlementEvent, frozen=True, kw_only=True, tag="LosersCollected"):
    """The losing bets were collected."""

    bets: list[Stake]


class AreaPaid(SettlementEvent, frozen=True, kw_only=True, tag="AreaPaid"):
    """The winning bets of one spot were paid and returned before those of the others."""

    spot: Spot
    bets: list[Payout]
    by: Actor


class WinnersPaid(SettlementEvent, frozen=True, kw_only=True, tag="WinnersPaid"):
    """The winning bets still unpaid were paid and returned; the round is settled."""

    round: int
    dice: tuple[int, int, int]
    bets: list[Payout]


class ShooterAdvanced(PublicEvent, frozen=True, kw_only=True, tag="ShooterAdvanced"):
    """The shooter's bet survived a throw; the series continues."""

    player: PlayerId
    throws: int


class ShooterWon(ChipEvent, frozen=True, kw_only=True, tag="ShooterWon"):
    """The shooter's bet won on its last throw."""

    audience = Audience(others={"stake": 0, "winnings": 0, "chip_moves": msgspec.UNSET})
    player: PlayerId
    stake: int
    winnings: int


class ShooterLost(ChipEvent, frozen=True, kw_only=True, tag="ShooterLost"):
    """The shooter's bet was lost, and the series ended."""

    audience = Audience(others={"stake": 0, "chip_moves": msgspec.UNSET})
    player: PlayerId
    stake: int


class RoundStopped(PublicEvent, frozen=True, kw_only=True, tag="RoundStopped"):
    """One person reported that the round is void, although its dice lie open or are known.

    Its bets lie as they are until a second person approves, or lets the round go on.
    """

    round: int
    cause: IrregularityName
    by: Actor


class RoundResumed(TableEvent, frozen=True, kw_only=True, tag="RoundResumed"):
    """A second person let a stopped round go on."""

    audience = Audience(hidden={"reason": ""})
    round: int
    cause: IrregularityName
    reason: str
    by: Actor


class RoundVoided(ChipEvent, frozen=True, kw_only=True, tag="RoundVoided"):
    """A round was voided; its bets are returned, or stand for the next round.

    `approved_by` is set if the dice lay open or were known and a second person had to approve.
    `restored` are collected bets that lie on the layout again, because the bets stand.
    """

    audience = Audience(lists={"returned": 1, "restored": 1, "chip_moves": 2})
    round: int
    cause: str
    bets: Literal["returned", "stand"]
    returned: list[Stake]
    by: Actor
    approved_by: Actor | None = None
    restored: list[Stake] | msgspec.UnsetType = msgspec.UNSET


class RoundsReversed(ChipEvent, frozen=True, kw_only=True, tag="RoundsReversed"):
    """Settled rounds were voided and their payments undone; `owing` is the change of debts."""

    audience = Audience(lists={"transfers": 0, "owing": 0, "chip_moves": 2})
    rounds: list[int]
    cause: str
    transfers: list[Transfer]
    owing: list[Transfer]
    by: Actor
    approved_by: Actor


class ShooterRestored(
    ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="ShooterRestored"
):
    """A throw is void: the shooter has the dice, the bet and the throws as before it.

    `laid` is what was put back on the layout from the stack, `owing` what the stack lacked of it.
    An `absent` shooter has walked away.
    """

    audience = Audience(
        others={"stake": 0, "laid": 0, "owing": 0, "chip_moves": msgspec.UNSET},
        hidden={"absent": False},
    )
    round: int
    player: PlayerId
    dice: list[int]
    throws: int
    stake: int
    laid: int = 0
    owing: int = 0
    absent: bool = False


class ThrowRepeated(ChipEvent, frozen=True, kw_only=True, omit_defaults=True, tag="ThrowRepeated"):
    """A throw did not count; the dice are thrown again and the bets are locked.

    `restored` are the lost bets that lie on the layout again. A second person approves once the
    dice have been established.
    """

    audience = Audience(lists={"restored": 1, "chip_moves": 2})
    cause: IrregularityName
    restored: list[Stake] = []
    by: Actor | None = None
    approved_by: Actor | None = None


class RoundContinued(PublicEvent, frozen=True, kw_only=True, tag="RoundContinued"):
    """An interrupted round continues; the known dice decide these boxes."""

    known: list[int]
    won: list[BoxId]
    lost: list[BoxId]


class IrregularityNoted(TableEvent, frozen=True, kw_only=True, tag="IrregularityNoted"):
    """An irregularity without an automatic consequence was recorded."""

    audience = STAFF_ONLY
    irregularity: IrregularityName
    note: str
    by: Actor
    player: PlayerId = ""


class BetCorrected(ChipEvent, frozen=True, kw_only=True, tag="BetCorrected"):
    """The payment of a settled bet was corrected; a negative amount was taken."""

    audience = ITS_PLAYER
    round: int
    player: PlayerId
    amount: int
    owing: int
    reason: str
    by: Actor
    approved_by: Actor


class RulingMade(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="RulingMade"):
    """The shift manager ruled on a case the rules do not provide for."""

    amount: int
    owing: int
    reason: str
    by: Actor
    approved_by: Actor | None = None


# --- equipment ----------------------------------------------------------------------------------


class EquipmentEvent(TableEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the events about equipment; the log is the history of every piece.

    `rechecks` are the opening checks that must be repeated because of it.
    """

    audience = STAFF_ONLY
    by: Actor


class PieceRegistered(EquipmentEvent, frozen=True, kw_only=True, tag="PieceRegistered"):
    """A piece of equipment, or a set of dice, was entered into the register."""

    piece: str
    kind: str
    serial: str = ""
    seal: str = ""
    dice: list[Die] = []
    rechecks: list[str] = []


class EquipmentOmitted(EquipmentEvent, frozen=True, kw_only=True, tag="EquipmentOmitted"):
    """The table was set up without a kind of equipment."""

    kind: str


class PieceReplaced(EquipmentEvent, frozen=True, kw_only=True, tag="PieceReplaced"):
    """A piece was put out of use, and another of its kind took its place."""

    piece: str
    kind: str
    replacement: str
    reason: str
    serial: str = ""
    seal: str = ""
    rechecks: list[str] = []


class PieceFailed(EquipmentEvent, frozen=True, kw_only=True, tag="PieceFailed"):
    """A piece was reported as faulty.

    `skipped` lists the steps that the round in play cannot take without it, and leaves out.
    Everybody sees them, because they are part of the round; players do not see the piece.
    """

    audience = Audience(hidden={"piece": ""})
    piece: str
    cause: IrregularityName
    skipped: list[StepName] = []


class PieceReleased(EquipmentEvent, frozen=True, kw_only=True, tag="PieceReleased"):
    """A faulty piece was rectified, or is out of use under a substitute procedure."""

    piece: str
    reason: str
    remedy: ReleaseRemedy


class CheckFailed(EquipmentEvent, frozen=True, kw_only=True, tag="CheckFailed"):
    """An opening check failed because of a piece of equipment."""

    check: str
    piece: str
    reason: str
    seal: str = ""


class DiceInstalled(EquipmentEvent, frozen=True, kw_only=True, tag="DiceInstalled"):
    """A set of dice was put into play, under a seal if the rulebook asks for one."""

    piece: str
    seal: str = ""
    rechecks: list[str] = []


class DiceInspected(EquipmentEvent, frozen=True, kw_only=True, tag="DiceInspected"):
    """A set of dice was inspected; `damaged` are the numbers of the damaged dice, if known."""

    piece: str
    good: bool
    damaged: list[int] = []
    note: str = ""


class DiceRemoved(EquipmentEvent, frozen=True, kw_only=True, tag="DiceRemoved"):
    """A set of dice was taken out of play."""

    piece: str
    reason: str = ""
    seal: str = ""


class DiceDestroyed(EquipmentEvent, frozen=True, kw_only=True, tag="DiceDestroyed"):
    """A set of dice was destroyed in the presence of a second person."""

    piece: str
    approved_by: Actor


class TestStarted(EquipmentEvent, frozen=True, kw_only=True, tag="TestStarted"):
    """The terminal was switched to test mode."""

    test: int


class TrialEntered(EquipmentEvent, frozen=True, kw_only=True, tag="TrialEntered"):
    """A result was entered in test mode.

    `lit` are the areas that lit up; of the areas that had to, those named in `dark` did not, and
    those in `stray` lit up although they do not win. `wrong` names what showed something else.
    """

    test: int
    dice: tuple[int, int, int]
    lit: list[str] = []
    dark: list[str] = []
    stray: list[str] = []
    wrong: list[TestedDisplay] = []


class TestEnded(EquipmentEvent, frozen=True, kw_only=True, tag="TestEnded"):
    """The terminal was switched back from test mode."""

    test: int


AnyEquipmentEvent = (
    PieceRegistered | EquipmentOmitted | PieceReplaced | PieceFailed | PieceReleased | CheckFailed
    | DiceInstalled | DiceInspected | DiceRemoved | DiceDestroyed
    | TestStarted | TrialEntered | TestEnded
)  # fmt: skip

AnyChipEvent = (
    TableOpened | FloatFilled | FloatCredited | TableClosed
    | BoughtIn | CashedOut | ChipsChanged | DebtRepaid | ColourTaken | ColouredUp
    | BetPlaced | BetWithdrawn | BetRejected | ChipsMoved | ChipsPutBack | LineJudged
    | BetsApportioned | LosersCollected | AreaPaid | WinnersPaid
    | ShooterWon | ShooterLost | ShooterRestored | RoundVoided | RoundsReversed | ThrowRepeated
    | BetCorrected | RulingMade
)  # fmt: skip

AnyEvent = (
    TableOpened | CheckPassed | LimitsSet | FloatFilled | FloatCredited | TableClosed
    | RackCounted | DropCounted
    | TableLocked | TableReleased | BoughtIn | CashedOut | ChipsChanged | DebtRepaid | ColourTaken
    | ColouredUp
    | RoundStarted | BettingOpened | BettingClosed | StepTaken
    | BetPlaced | BetWithdrawn | BetRejected | ChipsMoved | ChipsPutBack | LineJudged
    | DiceOffered | DiceChosen | DiceTumbled | ResultCalled | KeyPressed | ResultEntered
    | ResultAmended | AreasLit | BetsApportioned | LosersCollected | AreaPaid | WinnersPaid
    | ShooterAdvanced | ShooterWon | ShooterLost | ShooterRestored | RoundVoided | RoundsReversed
    | RoundStopped | RoundResumed
    | ThrowRepeated | RoundContinued | IrregularityNoted | BetCorrected | RulingMade
    | PieceRegistered | EquipmentOmitted | PieceReplaced | PieceFailed | PieceReleased | CheckFailed
    | DiceInstalled | DiceInspected | DiceRemoved | DiceDestroyed
    | TestStarted | TrialEntered | TestEnded
)  # fmt: skip
