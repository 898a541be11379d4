"""Events of a table: immutable records that are stored in the log.

Events: what has happened at a table, never changed afterwards.

`decide` makes them, `evolve` applies them, `ledger` turns them into postings. Lists of bets
are plain tuples, because a settlement may hold a hundred thousand of them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from threedice.rulebook.conduct import IrregularityName, StepName
from threedice.table.commands import Actor
from threedice.table.limits import BoxId, LimitMode, PlayerId, Spot, TableLimits

Stake = tuple[Spot, PlayerId, int]
"""A player's chips on a spot."""


Payout = tuple[Spot, PlayerId, int, int]
"""A player's winning chips on a spot, and the winnings."""


Transfer = tuple[PlayerId, int]
"""Money to a player, or from him where below zero."""


class TableEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Something that has happened; it cannot hold itself, so no collector need look at it."""


class TableOpened(TableEvent, frozen=True, kw_only=True, tag="TableOpened"):
    """A table was opened on a game, which it pins by hash."""

    table: str
    game: str
    game_hash: str
    currency: str
    mode: LimitMode
    chips: list[int]
    float_amount: int
    limits: TableLimits
    by: Actor


class CheckPassed(TableEvent, frozen=True, kw_only=True, tag="CheckPassed"):
    """Something to be seen to before opening is in order."""

    check: str
    by: Actor


class LimitsSet(TableEvent, frozen=True, kw_only=True, tag="LimitsSet"):
    """New limits wait for the next opening of betting."""

    limits: TableLimits
    by: Actor
    approved_by: Actor


class FloatFilled(TableEvent, frozen=True, kw_only=True, tag="FloatFilled"):
    """Chips came from the vault."""

    amount: int
    by: Actor


class FloatCredited(TableEvent, frozen=True, kw_only=True, tag="FloatCredited"):
    """Chips went to the vault."""

    amount: int
    by: Actor


class TableClosed(TableEvent, frozen=True, kw_only=True, tag="TableClosed"):
    """The table was closed; players carried their chips away, the house counted its own."""

    carried_away: list[Transfer]
    float_amount: int
    drop: int
    by: Actor


class TableLocked(TableEvent, frozen=True, kw_only=True, tag="TableLocked"):
    """No further round starts until the table is released."""

    cause: IrregularityName


class TableReleased(TableEvent, frozen=True, kw_only=True, tag="TableReleased"):
    """Play may go on."""

    reason: str
    by: Actor


class BoughtIn(TableEvent, frozen=True, kw_only=True, tag="BoughtIn"):
    """A player got chips for cash or from his account."""

    player: PlayerId
    amount: int
    source: Literal["cash", "account"]


class CashedOut(TableEvent, frozen=True, kw_only=True, tag="CashedOut"):
    """A player took chips away or put them into his account."""

    player: PlayerId
    amount: int
    to: Literal["outside", "account"]


class ChipsChanged(TableEvent, frozen=True, kw_only=True, tag="ChipsChanged"):
    """A player's chips were changed into others of the same worth."""

    player: PlayerId
    amount: int
    into: int


class DebtRepaid(TableEvent, frozen=True, kw_only=True, tag="DebtRepaid"):
    """A player paid off some of what he owed."""

    player: PlayerId
    amount: int
    source: Literal["stack", "cash"]


class ColourTaken(TableEvent, frozen=True, kw_only=True, tag="ColourTaken"):
    """A player plays in a colour of his own at a declared value."""

    player: PlayerId
    colour: str
    value: int


class ColouredUp(TableEvent, frozen=True, kw_only=True, tag="ColouredUp"):
    """A player plays in value chips again."""

    player: PlayerId


class RoundStarted(TableEvent, frozen=True, kw_only=True, tag="RoundStarted"):
    """A round began, under the game that it pins by hash.

    Steps that are done once for each shooter are not taken again while his series goes on.
    """

    round: int
    game_hash: str
    skipped: list[StepName] = []


class BettingOpened(TableEvent, frozen=True, kw_only=True, tag="BettingOpened"):
    """Bets may be placed, within these limits."""

    limits: TableLimits
    by: Actor


class BettingClosed(TableEvent, frozen=True, kw_only=True, tag="BettingClosed"):
    """No more bets may be placed, increased or withdrawn."""

    by: Actor


class StepTaken(TableEvent, frozen=True, kw_only=True, tag="StepTaken"):
    """A step of the procedure without consequences of its own was taken."""

    step: StepName
    by: Actor


class BetPlaced(TableEvent, frozen=True, kw_only=True, tag="BetPlaced"):
    """Chips of a player went onto a box."""

    player: PlayerId
    spot: Spot
    area: str
    amount: int
    number: int
    manner: Literal["self", "behalf", "call", "shooter"]
    by: Actor


class BetWithdrawn(TableEvent, frozen=True, kw_only=True, tag="BetWithdrawn"):
    """Chips of a player came back from a box before the close, from one end if it is named."""

    player: PlayerId
    spot: Spot
    amount: int
    area: str = ""


class BetRejected(TableEvent, frozen=True, kw_only=True, tag="BetRejected"):
    """Chips over a limit went back to a player."""

    player: PlayerId
    spot: Spot
    amount: int
    number: int
    limit: Literal["maximum", "differential"]


class ChipsMoved(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="ChipsMoved"):
    """Chips lie elsewhere now than where they were put; at which ends, if named."""

    player: PlayerId
    spot: Spot
    to_spot: Spot
    amount: int
    by: Actor
    area: str = ""
    to_area: str = ""


class ChipsPutBack(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="ChipsPutBack"):
    """Chips moved by accident lie where they were put again; at which ends, if named."""

    player: PlayerId
    spot: Spot
    to_spot: Spot
    amount: int
    by: Actor
    area: str = ""
    to_area: str = ""


class LineJudged(TableEvent, frozen=True, kw_only=True, omit_defaults=True, tag="LineJudged"):
    """It was decided whether chips on a line are a bet; if not, they went back."""

    player: PlayerId
    spot: Spot
    amount: int
    accepted: bool
    by: Actor
    area: str = ""


class DiceOffered(TableEvent, frozen=True, kw_only=True, tag="DiceOffered"):
    """A player was offered the dice."""

    player: PlayerId


class DiceChosen(TableEvent, frozen=True, kw_only=True, tag="DiceChosen"):
    """The shooter chose his dice."""

    player: PlayerId
    dice: list[int]


class DiceTumbled(TableEvent, frozen=True, kw_only=True, tag="DiceTumbled"):
    """The tumbler was activated."""

    times: int
    by: Actor


class ResultCalled(TableEvent, frozen=True, kw_only=True, tag="ResultCalled"):
    """The dealer called what the dice show."""

    dice: tuple[int, int, int]
    call: str
    by: Actor


class KeyPressed(TableEvent, frozen=True, kw_only=True, tag="KeyPressed"):
    """A key of the terminal was pressed."""

    key: int


class ResultEntered(TableEvent, frozen=True, kw_only=True, tag="ResultEntered"):
    """Enter was pressed; these faces count until amended."""

    dice: tuple[int, int, int]
    by: Actor


class ResultAmended(TableEvent, frozen=True, kw_only=True, tag="ResultAmended"):
    """A wrong entry was amended under supervision."""

    dice: tuple[int, int, int]
    by: Actor
    approved_by: Actor


class AreasLit(TableEvent, frozen=True, kw_only=True, tag="AreasLit"):
    """The winning boxes were lit, or should have been."""

    boxes: list[BoxId]
    correct: bool


class BetsApportioned(TableEvent, frozen=True, kw_only=True, tag="BetsApportioned"):
    """Bets over an unnoticed limit play in part: (spot, player, stake, plays)."""

    bets: list[tuple[Spot, PlayerId, int, int]]


class LosersCollected(TableEvent, frozen=True, kw_only=True, tag="LosersCollected"):
    """Losing bets were taken."""

    bets: list[Stake]


class WinnersPaid(TableEvent, frozen=True, kw_only=True, tag="WinnersPaid"):
    """Winning bets were paid and handed back; the round is settled."""

    round: int
    dice: tuple[int, int, int]
    bets: list[Payout]


class ShooterAdvanced(TableEvent, frozen=True, kw_only=True, tag="ShooterAdvanced"):
    """The shooter threw what he needed and throws again."""

    player: PlayerId
    throws: int


class ShooterWon(TableEvent, frozen=True, kw_only=True, tag="ShooterWon"):
    """The shooter's bet won on its last throw."""

    player: PlayerId
    stake: int
    winnings: int


class ShooterLost(TableEvent, frozen=True, kw_only=True, tag="ShooterLost"):
    """The shooter's bet was lost, and his series ended."""

    player: PlayerId
    stake: int


class RoundVoided(TableEvent, frozen=True, kw_only=True, tag="RoundVoided"):
    """A round has no result; its bets are returned, or stay for the next.

    Once a result has been called, a second person has agreed.
    """

    round: int
    cause: str
    bets: Literal["returned", "stand"]
    returned: list[Stake]
    by: Actor
    approved_by: Actor | None = None


class RoundsReversed(TableEvent, frozen=True, kw_only=True, tag="RoundsReversed"):
    """Settled rounds were voided; what they paid and took is undone, as far as stacks reach."""

    rounds: list[int]
    cause: str
    transfers: list[Transfer]
    owing: list[Transfer]
    by: Actor
    approved_by: Actor


class ThrowRepeated(TableEvent, frozen=True, kw_only=True, tag="ThrowRepeated"):
    """A throw did not count; the dice are thrown again and no bet may be altered."""

    cause: IrregularityName


class RoundContinued(TableEvent, frozen=True, kw_only=True, tag="RoundContinued"):
    """An interrupted round goes on, because these boxes are decided already."""

    known: list[int]
    won: list[BoxId]
    lost: list[BoxId]


class IrregularityNoted(TableEvent, frozen=True, kw_only=True, tag="IrregularityNoted"):
    """An irregularity that changes nothing by itself was recorded."""

    irregularity: IrregularityName
    note: str
    by: Actor
    player: PlayerId = ""


class BetCorrected(TableEvent, frozen=True, kw_only=True, tag="BetCorrected"):
    """What a settled bet should have been paid was paid, or taken."""

    round: int
    player: PlayerId
    amount: int
    owing: int
    reason: str
    by: Actor
    approved_by: Actor


class RulingMade(TableEvent, frozen=True, kw_only=True, tag="RulingMade"):
    """The shift manager decided what the rules do not provide for."""

    player: PlayerId
    amount: int
    owing: int
    reason: str
    by: Actor


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
