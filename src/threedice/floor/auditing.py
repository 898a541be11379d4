"""The audit of a house: the log's own proof, and that everything kept beside it follows from it.

`verify_rows` shows every row once; here it is decoded and folded again, and the folds are
compared with what is stored at the same moment: states, lines of the books, and all money.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from threedice.errors import InvariantBroken, Tampered
from threedice.floor.books_again import Books
from threedice.floor.interpreter import collecting_seldom
from threedice.floor.running import SNAPSHOT
from threedice.floor.stream_again import StreamAgain
from threedice.log import schema
from threedice.log.findings import Finding, Report
from threedice.log.rows import open_rows
from threedice.log.verification import verify_rows
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Table

    from threedice.log.keys import PublicKey
    from threedice.log.rows import Row, Rows
    from threedice.log.store import Checkpoint, Store
    from threedice.rulebook import Game


def audit(
    store: Store | Path | Rows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a house as it is at this moment: its log, and every fold of it that is kept."""
    noted: list[Finding] = []
    try:
        with collecting_seldom(), open_rows(store) as rows:
            auditor = Auditor(rows, noted)
            report = verify_rows(
                rows,
                public_keys=public_keys,
                against=against,
                visitor=auditor,
                progress=progress,
            )
            findings = (*report.findings, *auditor.finish())
    except Tampered as tampered:
        return Report((*noted, Finding(tampered.where, tampered.problem)), 0, 0, 0, 0, 0)
    return replace(report, findings=tuple(dict.fromkeys(findings)))


class Auditor:
    """Folds the entries of a house again, stream by stream, and compares; notes what it finds."""

    def __init__(self, rows: Rows, findings: list[Finding]) -> None:
        self._rows, self._findings = rows, findings
        self._canonical: dict[str, bytes] = dict(self._all(schema.games))
        self._games: dict[str, Game] = {}
        self._books = Books(rows, self._game, self._findings)
        self._snapshots: dict[Any, Row] = {}
        for stream, name, *kept in self._all(schema.snapshots):
            if name == SNAPSHOT:
                self._snapshots[stream] = tuple(kept)
            else:
                what = f"is called {name!r}, and none is called so"
                self._findings.append(Finding(f"snapshot of {stream}", what))
        self._cage: dict[str, int] = {}
        self._accounts: dict[str, int] = {}
        self._stream: StreamAgain | None = None
        self._seen: set[str] = set()
        self._broken = False

    def visit(self, rows: Sequence[Row]) -> None:
        """Take the next rows of a stream; one that cannot be told is a finding, and the last."""
        stream = self._at(rows[0][0])
        if stream is not None and not stream.failed:
            stream.take(rows)

    def stop(self, stream: str) -> None:
        """Leave a stream of which the rest is not as it was written: nothing follows from it."""
        again = self._at(stream)
        if again is not None:
            again.failed = True

    def finish(self) -> list[Finding]:
        """Return everything that does not agree."""
        self._finish_stream()
        for stream in sorted(self._snapshots.keys() - self._seen, key=repr):
            self._findings.append(Finding(f"snapshot of {stream}", "there are no entries of it"))
        self._findings += self._books.finish(self._seen)
        if not self._broken:  # else there may be more postings than were seen
            self._compare_accounts()
        return self._findings

    def _compare_accounts(self) -> None:
        for player in sorted(self._cage.keys() | self._accounts.keys()):
            posted, balance = self._cage.get(player, 0), self._accounts.get(player, 0)
            if posted != balance:
                problem = f"the account holds {balance}, its postings come to {posted}"
                self._findings.append(Finding(player, problem))

    def _all(self, table: Table) -> list[Row]:
        """Return the rows of a table that is small, or none and a finding."""
        try:
            return list(chain.from_iterable(self._rows.chunks(table)))
        except Tampered as tampered:
            self._findings.append(Finding(tampered.where, tampered.problem))
            return []

    def _at(self, name: str) -> StreamAgain | None:
        """Return a stream as it is folded again, unless it is none of a house's."""
        if self._stream is not None and self._stream.name == name:
            return self._stream
        if name in self._seen:
            return None
        self._finish_stream()
        self._seen.add(name)
        kept, books = self._snapshots.get(name), self._books.of(name)
        try:
            self._stream = StreamAgain(name, kept, books, self._canonical)
        except InvariantBroken as error:
            self._findings.append(Finding(name, str(error)))
        return self._stream

    def _finish_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            self._findings += stream.finish()
        except Exception as error:  # whatever is kept of a stream, it is no failure of the proof
            what = f"what is kept of it cannot be compared: {str(error) or type(error).__name__}"
            self._findings.append(Finding(stream.name, what))
        self._broken = self._broken or stream.failed
        for account, amount in stream.balances.items():
            if account.startswith("cage/"):
                self._cage[account] = self._cage.get(account, 0) + amount
        if stream.name.startswith("cage/"):
            self._accounts[stream.name] = stream.state.balance

    def _game(self, game_hash: str) -> Game:
        if game_hash not in self._games:
            self._games[game_hash] = from_canonical(self._canonical[game_hash])
        return self._games[game_hash]
