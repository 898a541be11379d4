"""State that the entries of a stream fold into, its balances, and the games that tables pin.

A stream folds into a `HouseTable`, a `PlayerAccount` or the `HouseState`. States are encoded to
bytes for snapshots, and to reset a stream to its durable state when a decided command could not be
written. `StreamBalances` applies the postings of the same events and compares both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from threedice.account import PlayerAccount
from threedice.account import evolve as evolve_account
from threedice.account.money import account_balance, account_postings
from threedice.errors import (
    BalanceMismatch,
    InvariantBroken,
    TamperedData,
    ThreediceError,
)
from threedice.house import events
from threedice.house.allowances import MovedAlone, count_event
from threedice.house.events import AnyHouseEvent, AnyStreamEvent, HouseEvent, Timing
from threedice.house.variances import Variance, add_variance
from threedice.money import Balances, Posting, player_account
from threedice.rulebook import Game
from threedice.rulebook import load as load_game
from threedice.rulebook.game import from_canonical
from threedice.table import TableState
from threedice.table import evolve as evolve_table
from threedice.table.chip_counts.ledger import accounts_of, chip_balance
from threedice.table.events import (
    BetPlaced,
    BettingClosed,
    BettingOpened,
    ChipEvent,
    DiceChosen,
    DiceOffered,
    DropCounted,
    LimitsSet,
    RackCounted,
    ResultCalled,
    RoundVoided,
    TableClosed,
    TableEvent,
    TableOpened,
    WinnersPaid,
)
from threedice.table.limits import TableLimits  # noqa: TC001 -- states are decoded by it
from threedice.table.money import table_accounts, table_balance, table_postings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.log.store import Store


State = TypeVar("State")


@dataclass(slots=True)
class HouseTable:
    """A table as the house runs it: its state by the game rules, and the house's own facts."""

    table: TableState = field(default_factory=TableState)
    id: str = ""
    game: str = ""
    game_hash: str = ""
    dealt_by_house: Timing | None = None
    """The timing of the automatic dealer; None if people deal."""
    sealed_round: int = 0
    """The round of the last seed."""
    commitment: str = ""
    """The hash of the last seed."""
    revealed: bool = False
    """True if the last seed was revealed."""
    interrupted: int = 0
    """The number of the interrupted round, or 0."""
    seeds_lost: int = 0
    betting_since: int = 0
    """When betting last opened, in microseconds since 1970."""
    stepped_at: int = 0
    """When the last timed step was taken, in microseconds since 1970."""
    stepped_version: int = 0
    """The version of the last timed step."""
    closed_version: int = 0
    """The version at which betting last closed."""
    approved_limits: TableLimits | None = None
    """The limits that the table was last opened with or that were set since, even if not in force
    yet."""
    opening_float: int = 0
    """The float at the last opening."""
    closing_float: int = 0
    """The float counted at the last close."""
    moved_alone: MovedAlone = field(default_factory=dict)
    """The sums that were moved without a second person in the last 24 hours."""
    variances: dict[int, Variance] = field(default_factory=dict)
    """The last variances of counts, by slip."""


@dataclass(slots=True)
class HouseState:
    """State of the house's own stream: how often a person released a suspended house."""

    releases: int = 0


@dataclass(frozen=True, slots=True)
class Fold(Generic[State]):
    """How to fold the events of a kind of stream, and the format of its encoded state.

    `balance` returns what the state says an account holds, or None if it says nothing about it;
    `accounts` lists the accounts that it can say something about.
    """

    state_type: type[State]
    form: str
    decode_state: Callable[[bytes], State]
    evolve: Callable[[State, AnyStreamEvent, int, int], None]
    balance: Callable[[State, str], int | None]
    accounts: Callable[[State], list[str]]
    chip_balance: Callable[[State, str], int | None] = lambda *_: None
    """The value of an account's chips, or None if the state does not count them."""


encode_state: Final = msgspec.msgpack.Encoder().encode
"""Encode the state of any stream to bytes."""


def fold_of(stream: str) -> Fold[Any]:
    """Return the fold of a stream, by its name."""
    kind = stream.partition("/")[0]
    if kind not in FOLDS:
        raise InvariantBroken(
            f"stream {stream!r} belongs to no table, no account and not to the house"
        )
    return FOLDS[kind]


def table_stream(table: str) -> str:
    """Return the name of a table's stream."""
    return f"table/{table}"


def account_stream(player: str) -> str:
    """Return the name of the stream of a player's account."""
    return f"cage/{player}"


HOUSE_STREAM: Final = "house"

_TIMED_STEPS: Final = frozenset({
    TableOpened, DiceOffered, DiceChosen, BettingOpened, BettingClosed, ResultCalled,
    WinnersPaid, RoundVoided,
})  # fmt: skip
"""Events after which an automatic dealer waits, to give people time."""


def _evolve_house_table(
    house_table: HouseTable, event: AnyStreamEvent, at: int, version: int
) -> None:
    if isinstance(event, HouseEvent):
        _apply_house_event(house_table, event)
        return
    evolve_table(house_table.table, event)  # type: ignore[arg-type]  # raises for other events
    kind = type(event)
    if kind is BetPlaced:
        return
    count_event(house_table.moved_alone, event, at)
    if isinstance(event, TableOpened | LimitsSet):
        house_table.approved_limits = event.limits
    elif isinstance(event, RackCounted | DropCounted):
        add_variance(house_table.variances, event, at)
    if isinstance(event, TableOpened):
        house_table.opening_float = event.float_amount
    elif isinstance(event, TableClosed):
        house_table.closing_float = event.float_amount
    if kind in _TIMED_STEPS:
        house_table.stepped_at, house_table.stepped_version = at, version
        if kind is BettingOpened:
            house_table.betting_since = at
        elif kind is BettingClosed:
            house_table.closed_version = version


def _apply_house_event(house_table: HouseTable, event: AnyHouseEvent) -> None:
    match event:
        case events.TableEstablished():
            house_table.id = event.table
            house_table.game, house_table.game_hash = event.game, event.game_hash
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
        case events.VarianceAcknowledged():
            if event.slip in house_table.variances:  # else it was too old to be kept
                house_table.variances[event.slip].acknowledged_by.append(event.by.id)
        case _:
            pass


def _evolve_account(account: PlayerAccount, event: AnyStreamEvent, at: int, _version: int) -> None:
    evolve_account(account, event)  # type: ignore[arg-type]  # raises for other events
    count_event(account.moved_alone, event, at)


def _evolve_house_state(house: HouseState, event: AnyStreamEvent, _at: int, _version: int) -> None:
    house.releases += isinstance(event, events.WritingReleased)


FOLDS: Final[dict[str, Fold[Any]]] = {
    "table": Fold(
        HouseTable,
        "table-11",
        msgspec.msgpack.Decoder(HouseTable).decode,
        _evolve_house_table,
        lambda house_table, account: table_balance(house_table.table, account),
        lambda house_table: table_accounts(house_table.table),
        lambda house_table, account: chip_balance(house_table.table, account),
    ),
    "cage": Fold(
        PlayerAccount,
        "account-2",
        msgspec.msgpack.Decoder(PlayerAccount).decode,
        _evolve_account,
        account_balance,
        lambda account: [player_account(account.player)] if account.player else [],
    ),
    HOUSE_STREAM: Fold(
        HouseState,
        "house-1",
        msgspec.msgpack.Decoder(HouseState).decode,
        _evolve_house_state,
        lambda *_: None,
        lambda _: [],
    ),
}


def postings_of(event: AnyStreamEvent) -> list[Posting]:
    """Return the postings of an event of any stream; the house's own events move no money."""
    if isinstance(event, TableEvent):
        return table_postings(event)
    if isinstance(event, HouseEvent):
        return []
    return account_postings(event)


class StreamBalances(Generic[State]):
    """The balances of a stream by its postings, kept beside the state that its events fold into.

    State and postings are computed independently. A difference means that one of them is wrong, so
    the stream must stop before anything is paid by it.
    """

    def __init__(self, name: str, fold: Fold[State], state: State) -> None:
        self._name, self._fold = name, fold
        self.balances = Balances(
            {account: fold.balance(state, account) or 0 for account in fold.accounts(state)}
        )

    def post(self, event: AnyStreamEvent, state: State) -> None:
        """Post an event that the state already includes, and compare the accounts it moves.

        The layout is compared at all events but bets, because it is the sum over all seats.
        """
        postings = postings_of(event)
        self.balances.post(postings)
        if type(event) is BetPlaced:
            self._compare((postings[0].source,), state)
            return
        accounts = {name for each in postings for name in each[:2]}
        if isinstance(event, ChipEvent) and event.chip_moves:
            accounts |= accounts_of(event.chip_moves)
        self._compare(accounts, state)

    def compare_all(self, state: State) -> None:
        """Compare every account of the state, and every account with a balance."""
        self._compare({*self.balances, *self._fold.accounts(state)}, state)

    def _compare(self, accounts: Iterable[str], state: State) -> None:
        for account in accounts:
            held, posted = self._fold.balance(state, account), self.balances.get(account, 0)
            if held is not None and held != posted:
                raise BalanceMismatch(self._name, account, held, posted)
            worth = self._fold.chip_balance(state, account)
            if worth is not None and worth != posted:
                raise BalanceMismatch(self._name, account, worth, posted, "its chips")


class GameRegistry:
    """Games by hash: the installed game if its hash still matches, else the stored one.

    Both contain everything that a decision depends on; an installed game has labels and the layout
    of the felt as well.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._games: dict[str, Game] = {}

    def load_installed(self, name: str, readings: dict[str, str]) -> Game:
        """Load an installed game with the given readings."""
        game = load_game(name, readings)
        return self._games.setdefault(game.hash, game)

    def load_pinned(self, game_hash: str) -> Game:
        """Load the game with a hash, from the bytes in the store if it is not in memory."""
        if game_hash not in self._games:
            canonical = self.store.game(game_hash)
            if canonical is None:
                raise InvariantBroken(f"the store has no game {game_hash}")
            if sha256(canonical).hexdigest() != game_hash:
                raise TamperedData(f"game {game_hash}", "its bytes do not have that hash")
            self._games[game_hash] = _prefer_installed(from_canonical(canonical))
        return self._games[game_hash]


def _prefer_installed(stored: Game) -> Game:
    """Return the installed game with the same hash as a stored one, else the stored one."""
    try:
        game = load_game(stored.id, stored.readings)
    except ThreediceError:
        return stored
    return game if game.hash == stored.hash else stored
