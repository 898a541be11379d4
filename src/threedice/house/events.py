"""Events of a table outside the game rules: setup, sealed dice, interruptions, releases.

They are stored in the table's stream together with the events of `table`, which does not depend on
them; releases, restores and changes of keys are stored in the house's own stream.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from threedice.account.events import AnyPlayerAccountEvent
from threedice.facts import PUBLIC, STAFF_ONLY, Audience
from threedice.table.commands import Actor
from threedice.table.events import AnyEvent

Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many seconds an automatic dealer allows for each phase of a round."""

    betting_seconds: Seconds = 20.0
    closing_seconds: Seconds = 2.0
    showing_seconds: Seconds = 6.0


class HouseEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base class of the house's own events."""

    audience: ClassVar[Audience]


class TableEstablished(
    HouseEvent, frozen=True, kw_only=True, omit_defaults=True, tag="TableEstablished"
):
    """A table was set up for a game; with a timing it is dealt by the house, else by people."""

    audience = PUBLIC
    table: str
    game: str
    game_hash: str
    dealt_by_house: Timing | None
    by: str
    approved_by: Actor | None = None


class SeedCommitted(HouseEvent, frozen=True, kw_only=True, tag="SeedCommitted"):
    """The house committed to the seed of a round's dice by its hash."""

    audience = PUBLIC
    round: int
    commitment: str


class SeedRevealed(HouseEvent, frozen=True, kw_only=True, tag="SeedRevealed"):
    """The seed of a round was revealed, so that anyone can recompute its dice."""

    audience = PUBLIC
    round: int
    seed: str


class SeedLost(HouseEvent, frozen=True, kw_only=True, tag="SeedLost"):
    """The seed of a round was lost with the server that held it; the round is void."""

    audience = PUBLIC
    round: int


class TableInterrupted(HouseEvent, frozen=True, kw_only=True, tag="TableInterrupted"):
    """An outage interrupted a round at a staffed table; the staff state which dice are known."""

    audience = PUBLIC
    round: int


class InterruptionResolved(HouseEvent, frozen=True, kw_only=True, tag="InterruptionResolved"):
    """The dealer stated which dice are known, and a supervisor confirmed the statement."""

    audience = PUBLIC
    round: int
    known: list[int]
    by: Actor
    confirmed_by: Actor


class PlayersNotified(HouseEvent, frozen=True, kw_only=True, tag="PlayersNotified"):
    """Every player with a bet in an interrupted round, settled or not, was notified of its end."""

    audience = Audience(lists={"players": None})
    round: int
    players: list[str]
    outcome: Literal["void", "goes on"]


class VarianceAcknowledged(HouseEvent, frozen=True, kw_only=True, tag="VarianceAcknowledged"):
    """A person acknowledged the variance of a count, by the number of its slip."""

    audience = STAFF_ONLY
    slip: int
    by: Actor


class WritingReleased(HouseEvent, frozen=True, kw_only=True, tag="WritingReleased"):
    """A person inspected a failed store and allowed the house to write again."""

    audience = STAFF_ONLY
    cause: str
    reason: str
    by: str


class SigningKeyRotated(HouseEvent, frozen=True, kw_only=True, tag="SigningKeyRotated"):
    """Somebody replaced the signing key by one that the old key endorses."""

    audience = STAFF_ONLY
    old: str
    new: str
    by: str


class KeysReplaced(HouseEvent, frozen=True, kw_only=True, omit_defaults=True, tag="KeysReplaced"):
    """Two persons replaced key files that were lost; no old key endorses the new ones.

    Without `second`, the house had no second person. The ids are those of signing keys.
    """

    audience = STAFF_ONLY
    files: list[str]
    reason: str
    by: str
    second: str = ""
    old: list[str] = []
    new: str = ""


class HouseRestored(HouseEvent, frozen=True, kw_only=True, omit_defaults=True, tag="HouseRestored"):
    """A person restored the house from a backup, and gave up everything that was written after it.

    `given_up` holds the first and the last version of each stream that checkpoints kept outside had
    signed. Times are in microseconds since 1970.
    """

    audience = STAFF_ONLY
    by: str
    backup: str
    """The SHA-256 of the backup's manifest; of the whole file for backups of earlier versions."""
    backup_at: int
    """When the backup was created; 0 if it does not say so."""
    checkpoint: int
    """The number of the last checkpoint in the backup, or 0."""
    given_up_checkpoints: tuple[int, int] | None = None
    given_up: dict[str, tuple[int, int]] = {}


class EntriesAccepted(HouseEvent, frozen=True, kw_only=True, tag="EntriesAccepted"):
    """A person accepted entries of a stream that the house had not written.

    They are those from version `first` to `version`, whose hash is `hash`.
    """

    audience = STAFF_ONLY
    stream: str
    first: int
    version: int
    hash: str
    reason: str
    by: str


AnyHouseEvent = (
    TableEstablished | SeedCommitted | SeedRevealed | SeedLost | TableInterrupted
    | InterruptionResolved | PlayersNotified | VarianceAcknowledged | WritingReleased
    | SigningKeyRotated | KeysReplaced | HouseRestored | EntriesAccepted
)  # fmt: skip

TableStreamEvent = AnyEvent | AnyHouseEvent
AnyStreamEvent = AnyEvent | AnyHouseEvent | AnyPlayerAccountEvent
