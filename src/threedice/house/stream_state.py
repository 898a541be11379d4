"""State that the entries of a stream fold into, and the games that tables pin.

What the entries of a stream add up to: a table as the floor runs it, or a player's account.

A fold can be frozen into bytes and thawed again, for snapshots and to start over from what is
durable when something that was decided could not be written.

The games that tables are played on: those installed, and those that some round has pinned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, get_args

import msgspec

from threedice.account import PlayerAccount
from threedice.account import evolve as evolve_account
from threedice.errors import InvariantBroken, TamperedData, ThreediceError
from threedice.house import events
from threedice.house.events import AnyHouseEvent, AnyStreamEvent, Timing
from threedice.rulebook import Game
from threedice.rulebook import load as load_game
from threedice.rulebook.game import from_canonical
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

    from threedice.account.events import AnyPlayerAccountEvent
    from threedice.log.store import Store


State = TypeVar("State")


@dataclass(slots=True)
class HouseTable:
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
class HouseState:
    """What is known of the house itself: how often writing had to be released."""

    releases: int = 0


@dataclass(frozen=True, slots=True)
class Fold(Generic[State]):
    """How the events of a kind of stream add up, and how the sum is kept as bytes."""

    state_type: type[State]
    form: str
    evolve: Callable[[State, AnyStreamEvent, int, int], None]

    def encode_state(self, state: State) -> bytes:
        """Return a state as bytes."""
        return _ENCODER.encode(state)

    def decode_state(self, data: bytes) -> State:
        """Return the state that bytes hold."""
        state: State = _DECODERS[self.state_type].decode(data)
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


def account_stream(player: str) -> str:
    """Return the stream of a player's account."""
    return f"cage/{player}"


HOUSE_STREAM: Final = "house"


_TIMED_STEPS: Final = frozenset({
    TableOpened, DiceOffered, DiceChosen, BettingOpened, BettingClosed, ResultCalled,
    WinnersPaid, RoundVoided,
})  # fmt: skip
"""Events after which an automatic dealer leaves people some time."""


_HOUSE_EVENTS: Final = frozenset(get_args(AnyHouseEvent))


def _evolve_house_table(
    house_table: HouseTable, event: AnyStreamEvent, at: int, version: int
) -> None:
    kind = type(event)
    if kind in _HOUSE_EVENTS:
        _apply_house_event(house_table, cast("AnyHouseEvent", event))
        return
    evolve_table(house_table.table, cast("AnyEvent", event))
    if kind in _TIMED_STEPS:
        house_table.stepped_at, house_table.stepped_version = at, version
        if kind is BettingOpened:
            house_table.betting_since = at
        elif kind is BettingClosed:
            house_table.closed_version = version


def _apply_house_event(house_table: HouseTable, event: AnyHouseEvent) -> None:
    match event:
        case events.TableEstablished():
            house_table.id, house_table.game, house_table.game_hash = (
                event.table,
                event.game,
                event.game_hash,
            )
            house_table.dealt_by_house = event.dealt_by_house
        case events.SeedCommitted():
            house_table.sealed_round, house_table.commitment = event.round, event.commitment
            house_table.revealed = False
        case events.SeedRevealed():
            house_table.revealed = True
        case events.SeedLost():
            house_table.seeds_lost += 1
        case events.TableInterrupted():
            house_table.interrupted = event.round
        case events.InterruptionResolved():
            house_table.interrupted = 0
        case _:
            pass


def _evolve_account(account: PlayerAccount, event: AnyStreamEvent, _at: int, _version: int) -> None:
    evolve_account(account, cast("AnyPlayerAccountEvent", event))


def _evolve_house_state(house: HouseState, _event: AnyStreamEvent, _at: int, _version: int) -> None:
    house.releases += 1


FOLDS: Final[dict[str, Fold[Any]]] = {
    "table": Fold(HouseTable, "tended-3", _evolve_house_table),
    "cage": Fold(PlayerAccount, "account-1", _evolve_account),
    HOUSE_STREAM: Fold(HouseState, "house-1", _evolve_house_state),
}


_ENCODER: Final = msgspec.msgpack.Encoder()


_DECODERS: Final[dict[type[Any], msgspec.msgpack.Decoder[Any]]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in (HouseTable, PlayerAccount, HouseState)
}


class GameRegistry:
    """Finds a game by its hash: as it is installed if it is still the same, else as it was stored.

    An installed game knows labels and the felt besides; what decides is in both alike.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Game] = {}

    def get(self, game_hash: str) -> Game | None:
        """Return a game that has been asked for before."""
        return self._known.get(game_hash)

    def load_installed(self, name: str, readings: dict[str, str]) -> Game:
        """Return a game as it is installed, under some readings."""
        game = load_game(name, readings)
        return self._known.setdefault(game.hash, game)

    def load_pinned(self, game_hash: str) -> Game:
        """Return the game that a hash stands for, from its stored bytes if need be."""
        if game_hash not in self._known:
            canonical = self.store.game(game_hash)
            if canonical is None:
                raise InvariantBroken(f"the store has no game {game_hash}")
            if sha256(canonical).hexdigest() != game_hash:
                raise TamperedData(f"game {game_hash}", "its bytes do not have that hash")
            self._known[game_hash] = _prefer_installed(from_canonical(canonical))
        return self._known[game_hash]


def _prefer_installed(stored: Game) -> Game:
    """Return the installed game that a stored one is the same as, or the stored one."""
    try:
        game = load_game(stored.id, stored.readings)
    except ThreediceError:
        return stored
    return game if game.hash == stored.hash else stored
