"""Events of a table: immutable records that are stored in the log.

`decide` creates them, `evolve` applies them, `money` turns them into postings. Bets in an event
are plain tuples, because a settlement may list a hundred thousand of them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from threedice.facts import ITS_PLAYER, PUBLIC, STAFF_ONLY, Audience
from threedice.rulebook.conduct import IrregularityName, StepName
from threedice.table.commands import Actor
from threedice.table.limits import BoxId, LimitMode, PlayerId, Spot, TableLimits, UpperLimit

Stake = tuple[Spot, PlayerId, int]
"""A player's chips on a spot."""

Payout = tuple[Spot, PlayerId, int, int]
"""A player's winning stake on a spot, and the winnings."""

Transfer = tuple[PlayerId, int]
"""Money to a player; negative if it is taken from the player."""

BetManner = Literal["self", "behalf", "call", "shooter"]
"""How a bet was placed: by the player, on the player's behalf, as a call bet, by the shooter."""


class TableEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base of all events of a table; they hold no cycles, so garbage collection skips them."""

    audience: ClassVar[Audience]


class PublicEvent(TableEvent, frozen=True, kw_only=True):
    """Base of the events that everybody sees."""

    audience = PUBLIC


class PlayerEvent(TableEvent, frozen=True, kw_only=True):
    """Base of the events about one player, whom other players do not see."""

    audience = ITS_PLAYER
    player: PlayerId


class TableOpened(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableOpened"):
    """The table was opened on a game, pinned by hash."""

    audience = Audience(hidden={"float_amount": 0})
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


class CheckPassed(TableEvent, frozen=True, kw_only=True, tag="CheckPassed"):
    """An opening check was made and passed."""

    audience = STAFF_ONLY
    check: str
    by: Actor


class LimitsSet(PublicEvent, frozen=True, kw_only=True, tag="LimitsSet"):
    """New limits were set, to apply from the next opening of betting."""

    limits: TableLimits
    by: Actor
    approved_by: Actor


class FloatFilled(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="FloatFilled"):
    """Chips came from the vault to the float."""

    audience = STAFF_ONLY
    amount: int
    by: Actor
    approved_by: Actor | None = None


class FloatCredited(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="FloatCredited"):
    """Chips went from the float to the vault."""

    audience = STAFF_ONLY
    amount: int
    by: Actor
    approved_by: Actor | None = None


class TableClosed(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableClosed"):
    """The table was closed: the chips players carried away, the float and drop counted."""

    audience = Audience(hidden={"float_amount": 0, "drop": 0}, lists={"carried_away": 0})
    carried_away: list[Transfer]
    float_amount: int
    drop: int
    by: Actor
    approved_by: Actor | None = None


class TableLocked(PublicEvent, frozen=True, kw_only=True, tag="TableLocked"):
    """The table was locked: no round starts until it is released."""

    cause: IrregularityName


class TableReleased(TableEvent, frozen=True, kw_only=True, tag="TableReleased"):
    """The table was unlocked; play may continue."""

    audience = Audience(hidden={"reason": ""})
    reason: str
    by: Actor


class BoughtIn(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="BoughtIn"):
    """A player received chips for cash or for money from their account."""

    amount: int
    source: Literal["cash", "account"]
    by: Actor | None = None
    approved_by: Actor | None = None


class CashedOut(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="CashedOut"):
    """A player took chips away, or their value went to the player's account."""

    amount: int
    to: Literal["outside", "account"]
    by: Actor | None = None
    approved_by: Actor | None = None


class ChipsChanged(PlayerEvent, frozen=True, kw_only=True, tag="ChipsChanged"):
    """A player's chips were changed into others of the same value."""

    amount: int
    into: int


class DebtRepaid(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="DebtRepaid"):
    """A player repaid a debt, in whole or in part."""

    amount: int
    source: Literal["stack", "cash"]
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


class StepTaken(PublicEvent, frozen=True, kw_only=True, tag="StepTaken"):
    """A step of the procedure that has no event of its own was taken."""

    step: StepName
    by: Actor


class BetPlaced(PlayerEvent, frozen=True, kw_only=True, tag="BetPlaced"):
    """A player's chips were put on a box."""

    spot: Spot
    area: str
    amount: int
    number: int
    manner: BetManner
    by: Actor


class BetWithdrawn(PlayerEvent, frozen=True, kw_only=True, tag="BetWithdrawn"):
    """A player's chips were withdrawn from a box before the close, from one area if named."""

    spot: Spot
    amount: int
    area: str = ""


class BetRejected(PlayerEvent, frozen=True, kw_only=True, tag="BetRejected"):
    """Chips over a limit were returned to a player."""

    spot: Spot
    amount: int
    number: int
    limit: UpperLimit


class ChipsRelocated(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the events that move chips to another box; the areas are named if known."""

    spot: Spot
    to_spot: Spot
    amount: int
    by: Actor
    area: str = ""
    to_area: str = ""


class ChipsMoved(ChipsRelocated, frozen=True, kw_only=True, tag="ChipsMoved"):
    """Chips were moved to another box; `area` and `to_area` name the areas, if known."""


class ChipsPutBack(ChipsRelocated, frozen=True, kw_only=True, tag="ChipsPutBack"):
    """Chips moved by accident were put back; `area` and `to_area` name the areas, if known."""


class LineJudged(PlayerEvent, frozen=True, kw_only=True, omit_defaults=True, tag="LineJudged"):
    """Chips on a line were accepted as a bet, or returned to the player."""

    spot: Spot
    amount: int
    accepted: bool
    by: Actor
    area: str = ""


class DiceOffered(PublicEvent, frozen=True, kw_only=True, tag="DiceOffered"):
    """The dice were offered to a player."""

    player: PlayerId


class DiceChosen(PublicEvent, frozen=True, kw_only=True, tag="DiceChosen"):
    """The shooter chose the dice."""

    player: PlayerId
    dice: list[int]


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
    """A result was entered; it counts unless it is amended."""

    dice: tuple[int, int, int]
    by: Actor


class ResultAmended(PublicEvent, frozen=True, kw_only=True, tag="ResultAmended"):
    """A wrongly entered result was amended under supervision."""

    dice: tuple[int, int, int]
    by: Actor
    approved_by: Actor


class AreasLit(PublicEvent, frozen=True, kw_only=True, tag="AreasLit"):
    """The winning boxes were lit; `correct` is false if the lights failed."""

    boxes: list[BoxId]
    correct: bool


class BetsApportioned(TableEvent, frozen=True, kw_only=True, tag="BetsApportioned"):
    """Bets over a limit that nobody noticed play in part: (spot, player, stake, amount played)."""

    audience = Audience(lists={"bets": 1})
    bets: list[tuple[Spot, PlayerId, int, int]]


class LosersCollected(TableEvent, frozen=True, kw_only=True, tag="LosersCollected"):
    """The losing bets were collected."""

    audience = Audience(lists={"bets": 1})
    bets: list[Stake]


class WinnersPaid(TableEvent, frozen=True, kw_only=True, tag="WinnersPaid"):
    """The winning bets were paid and returned; the round is settled."""

    audience = Audience(lists={"bets": 1})
    round: int
    dice: tuple[int, int, int]
    bets: list[Payout]


class ShooterAdvanced(PublicEvent, frozen=True, kw_only=True, tag="ShooterAdvanced"):
    """The shooter's bet survived a throw; the series continues."""

    player: PlayerId
    throws: int


class ShooterWon(TableEvent, frozen=True, kw_only=True, tag="ShooterWon"):
    """The shooter's bet won on its last throw."""

    audience = Audience(others={"stake": 0, "winnings": 0})
    player: PlayerId
    stake: int
    winnings: int


class ShooterLost(TableEvent, frozen=True, kw_only=True, tag="ShooterLost"):
    """The shooter's bet was lost, and the series ended."""

    audience = Audience(others={"stake": 0})
    player: PlayerId
    stake: int


class RoundVoided(TableEvent, frozen=True, kw_only=True, tag="RoundVoided"):
    """A round was voided; its bets are returned, or stand for the next round.

    `approved_by` is set if the result had been called, because a second person must then approve.
    """

    audience = Audience(lists={"returned": 1})
    round: int
    cause: str
    bets: Literal["returned", "stand"]
    returned: list[Stake]
    by: Actor
    approved_by: Actor | None = None


class RoundsReversed(TableEvent, frozen=True, kw_only=True, tag="RoundsReversed"):
    """Settled rounds were voided and their payments undone; `owing` is what stacks lacked."""

    audience = Audience(lists={"transfers": 0, "owing": 0})
    rounds: list[int]
    cause: str
    transfers: list[Transfer]
    owing: list[Transfer]
    by: Actor
    approved_by: Actor


class ThrowRepeated(PublicEvent, frozen=True, kw_only=True, tag="ThrowRepeated"):
    """A throw did not count; the dice are thrown again and the bets are locked."""

    cause: IrregularityName


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


class BetCorrected(TableEvent, frozen=True, kw_only=True, tag="BetCorrected"):
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


AnyEvent = (
    TableOpened | CheckPassed | LimitsSet | FloatFilled | FloatCredited | TableClosed
    | TableLocked | TableReleased | BoughtIn | CashedOut | ChipsChanged | DebtRepaid | ColourTaken
    | ColouredUp
    | RoundStarted | BettingOpened | BettingClosed | StepTaken
    | BetPlaced | BetWithdrawn | BetRejected | ChipsMoved | ChipsPutBack | LineJudged
    | DiceOffered | DiceChosen | DiceTumbled | ResultCalled | KeyPressed | ResultEntered
    | ResultAmended | AreasLit | BetsApportioned | LosersCollected | WinnersPaid
    | ShooterAdvanced | ShooterWon | ShooterLost | RoundVoided | RoundsReversed | ThrowRepeated
    | RoundContinued | IrregularityNoted | BetCorrected | RulingMade
)  # fmt: skip
