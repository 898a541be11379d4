"""One stream folded again for the audit: its state, its money, its books."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from threedice.errors import Tampered
from threedice.floor.encoding import READERS, SCHEMA, decode
from threedice.floor.events import FloorEvent, TableEstablished
from threedice.floor.folds import Tended, fold_of
from threedice.ledger import STILL, Balances, add, cage_postings
from threedice.log.entry import Entry
from threedice.log.findings import Finding
from threedice.table import events as happened
from threedice.table.evolve import lay
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from threedice.cage.events import AnyCageEvent
    from threedice.floor.books_again import StreamBooks
    from threedice.floor.events import AnyStreamEvent
    from threedice.log.rows import Row
    from threedice.table.events import AnyEvent

_KIND: Final = itemgetter(3)
_BET: Final = tag_of(happened.BetPlaced)
_READ_BET: Final = {SCHEMA: msgspec.json.Decoder(happened.BetPlaced).decode}
_PINNING: Final = frozenset(
    tag_of(each) for each in (TableEstablished, happened.TableOpened, happened.RoundStarted)
)
"""Kinds of entries that pin a game."""

_QUIET: Final = frozenset(tag_of(each) for each in STILL) - _PINNING
"""Kinds of entries that take a round a step further and do nothing else."""

_SETTLED: Final = tag_of(happened.WinnersPaid)
_BLIND_TO_BETS: Final = frozenset({tag_of(happened.LosersCollected), _SETTLED})
"""Other kinds for which no bet is looked for where it lies."""

WITHOUT_LINES: Final = _QUIET | {_BET}
"""Kinds of entries, the commonest, of which the books say nothing."""


class StreamAgain:
    """A stream as it is folded again; `kept` is its snapshot: form, version, hash, data."""

    def __init__(
        self, name: str, kept: Row | None, books: StreamBooks, games: Container[str]
    ) -> None:
        self.name, self._kept, self._books, self._games = name, kept, books, games
        self._kept_version = kept[1] if kept else 0
        self._fold, self._is_cage = fold_of(name), name.startswith("cage/")
        self._state: Any = self._fold.kind()
        self.balances = Balances()
        self._findings: list[Finding] = []
        self._now = 0
        self._held: list[happened.BetPlaced] = []
        self.failed = False
        if type(self._kept_version) is not int or (kept and self._kept_version < 1):
            self._note(f"snapshot of {name}", f"stands for no version: {self._kept_version!r}")
            self._kept, self._kept_version = None, 0

    @property
    def state(self) -> Any:
        """What the entries so far lead to."""
        self._lay_held()
        return self._state

    def take(self, rows: Sequence[Row]) -> None:
        """Fold the next entries; one that cannot have been caused is `Tampered`, and the last."""
        before = self._kept_version - rows[0][1] + 1  # versions follow one another
        try:
            if 0 < before <= len(rows):
                self._take_all(rows[:before])
                self._compare_snapshot(rows[before - 1][7])
                self._take_all(rows[before:])
            else:
                self._take_all(rows)
        except Tampered:
            self.failed = True
            raise
        except Exception as error:  # whatever folding raises over what nobody could have caused
            self.failed = True
            problem = f"cannot follow from what is before it: {str(error) or type(error).__name__}"
            raise Tampered(f"{self.name} version {self._now}", problem) from None

    def _take_all(self, rows: Sequence[Row]) -> None:
        for kind, some in groupby(rows, key=_KIND):
            if kind == _BET and self._has_boxes():
                self._take_bets(some)
            else:
                self._take_each(some)

    def _take_each(self, rows: Iterable[Row]) -> None:
        evolve, state = self._fold.evolve, self._state
        for row in rows:
            _, self._now, at, kind, _, _, _, _ = row
            event = event_in(row)
            if kind in _QUIET:
                evolve(state, event, at, self._now)
            else:
                self._take_one(row, event)

    def _take_one(self, row: Row, event: Any) -> None:
        _, version, at, kind, _, _, _, _ = row
        if kind in _PINNING:
            self._need_game(event)
        if kind not in _BLIND_TO_BETS:
            self._lay_held()
        self._fold.evolve(self._state, event, at, version)
        self._post(event)
        if self._is_cage and self._state.balance < 0:
            raise Tampered(f"{self.name} version {version}", "the account went below zero")
        if kind != _BET:
            self._books.take(Entry(*row), event)
        if kind == _SETTLED:
            self._held.clear()  # they are gone from the layout

    def _post(self, event: AnyStreamEvent) -> None:
        if self._is_cage:
            self.balances.post(cage_postings(cast("AnyCageEvent", event)))
        elif not isinstance(event, FloorEvent):
            add(self.balances, cast("AnyEvent", event))

    def _has_boxes(self) -> bool:
        """Tell whether bets that are placed now can only be on boxes."""
        if not isinstance(self._state, Tended):
            return False
        return self._state.table.round is not None and self._state.table.shooter is None

    def _take_bets(self, rows: Iterable[Row]) -> None:
        """Fold bets on boxes: what `table.evolve` and `ledger.add` make of each, written out.

        Nine of ten entries are bets, and nearly all are settled before anything asks where each
        lies: until then they are held. A test compares this with folding them one by one.
        """
        table, balances, laid = self._state.table, self.balances, 0
        seats, held, now = table.seats, self._held, self._now
        try:
            for row in rows:
                _, now, _, _, schema, data, _, _ = row
                try:
                    event = _READ_BET[schema](data)
                except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
                    event = event_in(row)  # written in another form, or not at all
                player, amount = event.player, event.amount
                seat = seats[player]
                seat.stack -= amount
                seat.at_risk += amount
                held.append(event)
                stack = f"stack/{player}"
                left = balances.get(stack, 0) - amount
                if amount > 0 and left >= 0:
                    balances[stack] = left
                    laid += amount
                else:
                    add(balances, event)  # which says what is wrong
        finally:
            self._now = now
        table.placements = event.number
        balances["layout"] = balances.get("layout", 0) + laid

    def _lay_held(self) -> None:
        """Lay the bets that are held, now that something asks where each lies."""
        if self._held:
            for event in self._held:
                lay(self._state.table, event)
            self._held.clear()

    def finish(self) -> list[Finding]:
        """Return what does not agree; where the folding failed, nothing can be compared."""
        if self.failed:
            return self._findings
        if self._kept_version > self._now:
            self._note(f"snapshot of {self.name}", "goes further than the stream")
        self._findings += self._books.finish(self._now)
        if sum(self.balances.values()):
            self._note(self.name, f"postings sum to {sum(self.balances.values())}, not to zero")
        if isinstance(self.state, Tended):
            self._compare_money(self.state)
        return self._findings

    def _note(self, where: str, what: str) -> None:
        self._findings.append(Finding(where, what))

    def _need_game(self, event: Any) -> None:
        if event.game_hash not in self._games:
            where = f"{self.name} version {self._now}"
            raise Tampered(where, f"the game that it pins, {event.game_hash}, is missing")

    def _compare_snapshot(self, digest: bytes) -> None:
        if self._kept is None:
            return
        form, version, stood_for, data = self._kept
        where = f"snapshot of {self.name} at version {version}"
        if form != self._fold.form:
            return  # another version's; it is not used, and made again
        if stood_for != digest:
            self._note(where, "stands for another entry")
        try:
            same = self._fold.thaw(data) == self.state
        except (ValueError, TypeError) as error:
            self._note(where, f"cannot be read: {error}")
            return
        if not same:
            self._note(where, "is not what the entries lead to")

    def _compare_money(self, tended: Tended) -> None:
        table, get = tended.table, self.balances.get
        pairs = {"float": table.float_amount, "cash": table.drop}
        pairs["layout"] = sum(seat.at_risk for seat in table.seats.values())
        pairs |= {f"stack/{player}": seat.stack for player, seat in table.seats.items()}
        pairs |= {f"owing/{player}": -owed for player, owed in table.owing.items()}
        for account, amount in pairs.items():
            if get(account, 0) != amount:
                problem = f"{account} is {amount}, its postings come to {get(account, 0)}"
                self._note(self.name, problem)


def event_in(row: Row) -> Any:
    """Return the event that a row holds."""
    try:
        event = READERS[row[4]](row[5])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        event = None
    if event is not None and tag_of(event) == row[3]:
        return event
    return decode(Entry(*row))  # which says what is wrong
