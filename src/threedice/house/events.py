"""What happens to a table beyond its rules: who runs it, its sealed dice, its interruptions.

These stand in the table's stream beside the events of `table`, which know nothing of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from threedice.account.events import AnyPlayerAccountEvent
from threedice.table.commands import Actor
from threedice.table.events import AnyEvent

Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long an automatic dealer leaves for what."""

    betting_seconds: Seconds = 20.0
    closing_seconds: Seconds = 2.0
    showing_seconds: Seconds = 6.0


class HouseEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Something that has happened on the floor."""


class TableEstablished(HouseEvent, frozen=True, kw_only=True, tag="TableEstablished"):
    """A table was set up for a game, to be dealt by people or, with a timing, by the house."""

    table: str
    game: str
    game_hash: str
    dealt_by_house: Timing | None
    by: str


class SeedCommitted(HouseEvent, frozen=True, kw_only=True, tag="SeedCommitted"):
    """The house holds a seed with this hash for the dice of a round."""

    round: int
    commitment: str


class SeedRevealed(HouseEvent, frozen=True, kw_only=True, tag="SeedRevealed"):
    """The seed of a round, from which anybody can work out its dice."""

    round: int
    seed: str


class SeedLost(HouseEvent, frozen=True, kw_only=True, tag="SeedLost"):
    """The seed of a round is gone with the server that held it; the round is void."""

    round: int


class TableInterrupted(HouseEvent, frozen=True, kw_only=True, tag="TableInterrupted"):
    """The house was away in the middle of a round; its people say what the dice show."""

    round: int


class InterruptionResolved(HouseEvent, frozen=True, kw_only=True, tag="InterruptionResolved"):
    """The dealer stated which dice are known, a supervisor confirmed it."""

    round: int
    known: list[int]
    by: Actor
    confirmed_by: Actor


class PlayersNotified(HouseEvent, frozen=True, kw_only=True, tag="PlayersNotified"):
    """Everyone with a bet in an interrupted round, settled already or not, is told of its end."""

    round: int
    players: list[str]
    outcome: Literal["void", "goes on"]


class WritingReleased(HouseEvent, frozen=True, kw_only=True, tag="WritingReleased"):
    """A person has looked at a store that failed, and lets the house write again."""

    cause: str
    reason: str
    by: str


AnyHouseEvent = (
    TableEstablished | SeedCommitted | SeedRevealed | SeedLost | TableInterrupted
    | InterruptionResolved | PlayersNotified | WritingReleased
)  # fmt: skip

TableStreamEvent = AnyEvent | AnyHouseEvent
AnyStreamEvent = AnyEvent | AnyHouseEvent | AnyPlayerAccountEvent
