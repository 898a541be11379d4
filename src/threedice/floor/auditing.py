"""The audit of a house: the log's own proof, and that everything kept beside it follows from it.

`verify_log` shows every entry once; here it is decoded and folded again, and the folds are compared
with what is stored: states, lines of the books, and all money.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from threedice.errors import Tampered, ThreediceError
from threedice.floor.encoding import decode
from threedice.floor.events import FloorEvent
from threedice.floor.folds import Tended, fold_of
from threedice.floor.games import Games
from threedice.floor.projections import VIEW, Projector
from threedice.floor.running import SNAPSHOT
from threedice.ledger import Balances, cage_postings, postings
from threedice.log.findings import Finding
from threedice.log.verification import verify_log

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from threedice.cage import Account
    from threedice.floor.events import AnyStreamEvent
    from threedice.ledger import Posting
    from threedice.log.entry import Entry
    from threedice.log.findings import Report
    from threedice.log.keys import PublicKey
    from threedice.log.store import Checkpoint, Line, Snapshot, Store
    from threedice.table.events import AnyEvent


def audit(
    store: Store,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a house: its log, and every fold of it that is kept."""
    auditor = Auditor(store)
    report = verify_log(
        store, public_keys=public_keys, against=against, visit=auditor.visit, progress=progress
    )
    findings = (*report.findings, *auditor.finish())
    return replace(report, findings=tuple(dict.fromkeys(findings)))


_CANNOT = (ThreediceError, AssertionError, AttributeError, KeyError, TypeError, ValueError)
"""What folding raises over entries that nobody could have caused."""


class Auditor:
    """Folds the entries of a store again, stream by stream, and compares."""

    def __init__(self, store: Store) -> None:
        self.store, self._games = store, Games(store)
        self._findings: list[Finding] = []
        self._snapshots = {each.stream: each for each in store.snapshots() if each.name == SNAPSHOT}
        self._cage: dict[str, int] = {}
        self._accounts: dict[str, int] = {}
        self._stream: _Stream | None = None
        self._seen: set[str] = set()

    def visit(self, entry: Entry) -> None:
        """Take the next entry of a stream; one that cannot be told is a finding."""
        if self._stream is None or self._stream.name != entry.stream:
            self._finish_stream()
            self._seen.add(entry.stream)
            self._stream = _Stream(
                entry.stream, self._snapshots.get(entry.stream), self.store, self._games
            )
        try:
            self._stream.take(entry)
        except Tampered:
            raise
        except _CANNOT as error:
            problem = f"cannot follow from what is before it: {error}"
            raise Tampered(f"{entry.stream} version {entry.version}", problem) from None

    def finish(self) -> list[Finding]:
        """Return everything that does not agree."""
        self._finish_stream()
        for stream in self._snapshots.keys() - self._seen:
            self._findings.append(Finding(f"snapshot of {stream}", "there are no entries of it"))
        for player in sorted(self._cage.keys() | self._accounts.keys()):
            posted, balance = self._cage.get(player, 0), self._accounts.get(player, 0)
            if posted != balance:
                self._findings.append(
                    Finding(player, f"the account holds {balance}, its postings come to {posted}")
                )
        return self._findings

    def _finish_stream(self) -> None:
        if self._stream is None:
            return
        self._findings += self._stream.finish()
        for account, amount in self._stream.balances.items():
            if account.startswith("cage/"):
                self._cage[account] = self._cage.get(account, 0) + amount
        if self._stream.name.startswith("cage/"):
            account_state: Account = self._stream.state
            self._accounts[self._stream.name] = account_state.balance
        self._stream = None


class _Stream:
    """One stream as it is folded again."""

    def __init__(self, name: str, snapshot: Snapshot | None, store: Store, games: Games) -> None:
        self.name, self._snapshot, self._store = name, snapshot, store
        self._kept_version = snapshot.head.version if snapshot else 0
        self._fold = fold_of(name)
        self._evolve = self._fold.evolve
        self._postings: Callable[[Any], list[Posting]] = (
            cage_postings if name.startswith("cage/") else _table_postings
        )
        self.state: Any = self._fold.kind()
        self.balances = Balances()
        self._projector = Projector(name, games.pinned)
        self._projected = store.projected(VIEW, name)
        self._lines: list[Line] = []
        self._findings: list[Finding] = []
        self._last = 0

    def take(self, entry: Entry) -> None:
        event, version = decode(entry), entry.version
        self._evolve(self.state, event, entry.at, version)
        self._last = version
        self.balances.post(self._postings(event))
        if version <= self._projected and entry.kind not in _WITHOUT_LINES:
            self._lines += self._projector.lines(entry, event)
        if version == self._kept_version and self._snapshot:
            self._compare_snapshot(entry, self._snapshot)

    def finish(self) -> list[Finding]:
        if self._snapshot and self._snapshot.head.version > self._last:
            self._note(f"snapshot of {self.name}", "goes further than the stream")
        self._compare_lines()
        if sum(self.balances.values()):
            self._note(self.name, f"postings sum to {sum(self.balances.values())}, not to zero")
        if isinstance(self.state, Tended):
            self._compare_money(self.state)
        return self._findings

    def _note(self, where: str, what: str) -> None:
        self._findings.append(Finding(where, what))

    def _compare_snapshot(self, entry: Entry, snapshot: Snapshot) -> None:
        where = f"snapshot of {self.name} at version {entry.version}"
        if snapshot.form != self._fold.form:
            return  # another version's; it is not used, and made again
        if snapshot.head.hash != entry.hash:
            self._note(where, "stands for another entry")
        try:
            same = self._fold.thaw(snapshot.data) == self.state
        except ValueError as error:
            self._note(where, f"cannot be read: {error}")
            return
        if not same:
            self._note(where, "is not what the entries lead to")

    def _compare_lines(self) -> None:
        where = f"books of {self.name}"
        if self._projected > self._last:
            self._note(where, "go further than the stream")
        stored = sorted(self._store.lines(VIEW, stream=self.name), key=_place)
        if stored == sorted(self._lines, key=_place):
            return
        made = {_place(each): each for each in self._lines}
        for line in stored:
            if made.pop(_place(line), None) != line:
                self._note(f"{where} version {line.version}", f"line {line.place} does not follow")
        for version, place in made:
            self._note(f"{where} version {version}", f"line {place} is missing")

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


_WITHOUT_LINES = frozenset({"BetPlaced", "KeyPressed", "StepTaken"})
"""The commonest kinds of entries of which the books say nothing."""


def _table_postings(event: AnyStreamEvent) -> list[Posting]:
    return [] if isinstance(event, FloorEvent) else postings(cast("AnyEvent", event))


def _place(line: Line) -> tuple[int, int]:
    return line.version, line.place
