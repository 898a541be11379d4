"""What the entries of a stream add up to: a table as the floor runs it, or a player's account.

A fold can be frozen into bytes and thawed again, for snapshots and to start over from what is
durable when something that was decided could not be written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, get_args

import msgspec

from threedice.cage import Account
from threedice.cage import evolve as evolve_account
from threedice.errors import InvariantBroken
from threedice.floor import events as happened
from threedice.floor.events import AnyFloorEvent, AnyStreamEvent, Timing
from threedice.table import TableState
from threedice.table import evolve as evolve_table
from threedice.table.events import (
    AnyEvent,
    BettingClosed,
    BettingOpened,
    DiceChosen,
    DiceOffered,
    ResultCalled,
    RoundVoided,
    TableOpened,
    WinnersPaid,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.cage.events import AnyCageEvent

State = TypeVar("State")


@dataclass(slots=True)
class Tended:
    """A table as the floor runs it: its state by the rules, and what the floor knows beside."""

    table: TableState = field(default_factory=TableState)
    id: str = ""
    game: str = ""
    game_hash: str = ""
    dealt_by_house: Timing | None = None
    sealed_round: int = 0
    commitment: str = ""
    revealed: bool = False
    interrupted: int = 0
    seeds_lost: int = 0
    betting_since: int = 0
    stepped_at: int = 0
    stepped_version: int = 0
    closed_version: int = 0


@dataclass(slots=True)
class House:
    """What is known of the house itself: how often writing had to be released."""

    releases: int = 0


@dataclass(frozen=True, slots=True)
class Fold(Generic[State]):
    """How the events of a kind of stream add up, and how the sum is kept as bytes."""

    kind: type[State]
    form: str
    evolve: Callable[[State, AnyStreamEvent, int, int], None]

    def freeze(self, state: State) -> bytes:
        """Return a state as bytes."""
        return _ENCODER.encode(state)

    def thaw(self, data: bytes) -> State:
        """Return the state that bytes hold."""
        state: State = _DECODERS[self.kind].decode(data)
        return state


def fold_of(stream: str) -> Fold[Any]:
    """Return how the events of a stream add up, by its name."""
    kind = stream.partition("/")[0]
    if kind not in FOLDS:
        raise InvariantBroken(f"a stream {stream!r} is neither a table nor an account")
    return FOLDS[kind]


def table_stream(table: str) -> str:
    """Return the stream of a table."""
    return f"table/{table}"


def cage_stream(player: str) -> str:
    """Return the stream of a player's account."""
    return f"cage/{player}"


HOUSE_STREAM: Final = "house"


_STEPS: Final = frozenset({
    TableOpened, DiceOffered, DiceChosen, BettingOpened, BettingClosed, ResultCalled,
    WinnersPaid, RoundVoided,
})  # fmt: skip
"""Events after which an automatic dealer leaves people some time."""

_ON_THE_FLOOR: Final = frozenset(get_args(AnyFloorEvent))


def _evolve_tended(tended: Tended, event: AnyStreamEvent, at: int, version: int) -> None:
    kind = type(event)
    if kind in _ON_THE_FLOOR:
        _evolve_floor(tended, cast("AnyFloorEvent", event))
        return
    evolve_table(tended.table, cast("AnyEvent", event))
    if kind in _STEPS:
        tended.stepped_at, tended.stepped_version = at, version
        if kind is BettingOpened:
            tended.betting_since = at
        elif kind is BettingClosed:
            tended.closed_version = version


def _evolve_floor(tended: Tended, event: AnyFloorEvent) -> None:
    match event:
        case happened.TableEstablished():
            tended.id, tended.game, tended.game_hash = event.table, event.game, event.game_hash
            tended.dealt_by_house = event.dealt_by_house
        case happened.SeedCommitted():
            tended.sealed_round, tended.commitment = event.round, event.commitment
            tended.revealed = False
        case happened.SeedRevealed():
            tended.revealed = True
        case happened.SeedLost():
            tended.seeds_lost += 1
        case happened.TableInterrupted():
            tended.interrupted = event.round
        case happened.InterruptionResolved():
            tended.interrupted = 0
        case _:
            pass


def _evolve_account(account: Account, event: AnyStreamEvent, _at: int, _version: int) -> None:
    evolve_account(account, cast("AnyCageEvent", event))


def _evolve_house(house: House, _event: AnyStreamEvent, _at: int, _version: int) -> None:
    house.releases += 1


FOLDS: Final[dict[str, Fold[Any]]] = {
    "table": Fold(Tended, "tended-3", _evolve_tended),
    "cage": Fold(Account, "account-1", _evolve_account),
    HOUSE_STREAM: Fold(House, "house-1", _evolve_house),
}
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODERS: Final[dict[type[Any], msgspec.msgpack.Decoder[Any]]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in (Tended, Account, House)
}
