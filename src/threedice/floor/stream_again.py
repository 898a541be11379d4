"""One stream folded again for the audit: its state, its money, its books."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from threedice.errors import Tampered
from threedice.floor.encoding import decode
from threedice.floor.events import FloorEvent, TableEstablished
from threedice.floor.folds import Tended, fold_of
from threedice.ledger import Balances, cage_postings, postings
from threedice.log.findings import Finding
from threedice.table.events import RoundStarted, TableOpened

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from threedice.floor.books_again import StreamBooks
    from threedice.floor.events import AnyStreamEvent
    from threedice.ledger import Posting
    from threedice.log.entry import Entry
    from threedice.log.rows import Row
    from threedice.table.events import AnyEvent

_WITHOUT_LINES = frozenset({"BetPlaced", "KeyPressed", "StepTaken"})
"""The commonest kinds of entries of which the books say nothing."""

_PINNING = frozenset(each.__name__ for each in (TableEstablished, TableOpened, RoundStarted))
"""Kinds of entries that pin a game."""


class StreamAgain:
    """A stream as it is folded again; `kept` is its snapshot: form, version, hash, data."""

    def __init__(
        self, name: str, kept: Row | None, books: StreamBooks, games: Container[str]
    ) -> None:
        self.name, self._kept, self._books, self._games = name, kept, books, games
        self._kept_version = kept[1] if kept else 0
        self._fold = fold_of(name)
        self._evolve = self._fold.evolve
        self._postings: Callable[[Any], list[Posting]] = (
            cage_postings if name.startswith("cage/") else _table_postings
        )
        self.state: Any = self._fold.kind()
        self.balances = Balances()
        self._findings: list[Finding] = []
        self._last = 0
        self.failed = False

    def take(self, entry: Entry) -> None:
        """Fold the next entry."""
        event, version = decode(entry), entry.version
        if entry.kind in _PINNING:
            self._need_game(entry, event)
        self._evolve(self.state, event, entry.at, version)
        self._last = version
        self.balances.post(self._postings(event))
        if entry.kind not in _WITHOUT_LINES:
            self._books.take(entry, event)
        if version == self._kept_version and self._kept:
            self._compare_snapshot(entry, self._kept)

    def finish(self) -> list[Finding]:
        """Return what does not agree; where the folding failed, nothing can be compared."""
        if self.failed:
            return self._findings
        if self._kept_version > self._last:
            self._note(f"snapshot of {self.name}", "goes further than the stream")
        self._findings += self._books.finish(self._last)
        if sum(self.balances.values()):
            self._note(self.name, f"postings sum to {sum(self.balances.values())}, not to zero")
        if isinstance(self.state, Tended):
            self._compare_money(self.state)
        return self._findings

    def _note(self, where: str, what: str) -> None:
        self._findings.append(Finding(where, what))

    def _need_game(self, entry: Entry, event: Any) -> None:
        if event.game_hash not in self._games:
            where = f"{entry.stream} version {entry.version}"
            raise Tampered(where, f"the game that it pins, {event.game_hash}, is missing")

    def _compare_snapshot(self, entry: Entry, kept: Row) -> None:
        form, version, digest, data = kept
        where = f"snapshot of {self.name} at version {version}"
        if form != self._fold.form:
            return  # another version's; it is not used, and made again
        if digest != entry.hash:
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


def _table_postings(event: AnyStreamEvent) -> list[Posting]:
    return [] if isinstance(event, FloorEvent) else postings(cast("AnyEvent", event))
