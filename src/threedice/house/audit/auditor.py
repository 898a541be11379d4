"""The audit of a house: the log's own proof, and that everything kept beside it follows from it.

`verify_rows` shows every row once; here it is decoded and folded again, and the folds are
compared with what is stored at the same moment: states, lines of the books, and all money.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from threedice.errors import InvariantBroken, TamperedData
from threedice.house.audit.replay import StatementsReplay, StreamReplay
from threedice.house.interpreter import reduced_gc
from threedice.house.streams import SNAPSHOT_NAME
from threedice.log.proof import IntegrityFinding, VerificationReport
from threedice.log.proof.verification import verify_rows
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Table

    from threedice.log.proof.keys import PublicKey
    from threedice.log.store import Checkpoint, Store, StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.rulebook import Game


def audit(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Verify a house as it is at this moment: its log, and every fold of it that is kept."""
    noted: list[IntegrityFinding] = []
    try:
        with reduced_gc(), open_rows(store) as rows:
            auditor = Auditor(rows, noted)
            report = verify_rows(
                rows,
                public_keys=public_keys,
                against=against,
                visitor=auditor,
                progress=progress,
            )
            findings = (*report.findings, *auditor.finish())
    except TamperedData as tampered:
        return VerificationReport(
            (*noted, IntegrityFinding(tampered.where, tampered.problem)), 0, 0, 0, 0, 0
        )
    return replace(report, findings=tuple(dict.fromkeys(findings)))


class Auditor:
    """Folds the entries of a house again, stream by stream, and compares; notes what it finds."""

    def __init__(self, rows: LogRows, findings: list[IntegrityFinding]) -> None:
        self._rows, self._findings = rows, findings
        self._canonical: dict[str, bytes] = dict(self._read_all(schema.games))
        self._games: dict[str, Game] = {}
        self._statements = StatementsReplay(rows, self._game, self._findings)
        self._snapshots: dict[Any, StoredRow] = {}
        for stream, name, *kept in self._read_all(schema.snapshots):
            if name == SNAPSHOT_NAME:
                self._snapshots[stream] = tuple(kept)
            else:
                what = f"is called {name!r}, and none is called so"
                self._findings.append(IntegrityFinding(f"snapshot of {stream}", what))
        self._account_postings: dict[str, int] = {}
        self._account_balances: dict[str, int] = {}
        self._stream: StreamReplay | None = None
        self._seen: set[str] = set()
        self._is_incomplete = False

    def visit(self, rows: Sequence[StoredRow]) -> None:
        """Take the next rows of a stream; one that cannot be told is a finding, and the last."""
        stream = self._replay_of(rows[0][0])
        if stream is not None and not stream.failed:
            stream.apply(rows)

    def stop(self, stream: str) -> None:
        """Leave a stream of which the rest is not as it was written: nothing follows from it."""
        again = self._replay_of(stream)
        if again is not None:
            again.failed = True

    def finish(self) -> list[IntegrityFinding]:
        """Return everything that does not agree."""
        self._finish_stream()
        for stream in sorted(self._snapshots.keys() - self._seen, key=repr):
            self._findings.append(
                IntegrityFinding(f"snapshot of {stream}", "there are no entries of it")
            )
        self._findings += self._statements.finish(self._seen)
        if not self._is_incomplete:  # else there may be more postings than were seen
            self._compare_accounts()
        return self._findings

    def _compare_accounts(self) -> None:
        for player in sorted(self._account_postings.keys() | self._account_balances.keys()):
            posted, balance = (
                self._account_postings.get(player, 0),
                self._account_balances.get(player, 0),
            )
            if posted != balance:
                problem = f"the account holds {balance}, its postings come to {posted}"
                self._findings.append(IntegrityFinding(player, problem))

    def _read_all(self, table: Table) -> list[StoredRow]:
        """Return the rows of a table that is small, or none and a finding."""
        try:
            return list(chain.from_iterable(self._rows.chunks(table)))
        except TamperedData as tampered:
            self._findings.append(IntegrityFinding(tampered.where, tampered.problem))
            return []

    def _replay_of(self, name: str) -> StreamReplay | None:
        """Return a stream as it is folded again, unless it is none of a house's."""
        if self._stream is not None and self._stream.name == name:
            return self._stream
        if name in self._seen:
            return None
        self._finish_stream()
        self._seen.add(name)
        kept, books = self._snapshots.get(name), self._statements.for_stream(name)
        try:
            self._stream = StreamReplay(name, kept, books, self._canonical)
        except InvariantBroken as error:
            self._findings.append(IntegrityFinding(name, str(error)))
        return self._stream

    def _finish_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            self._findings += stream.finish()
        except Exception as error:  # whatever is kept of a stream, it is no failure of the proof
            what = f"what is kept of it cannot be compared: {str(error) or type(error).__name__}"
            self._findings.append(IntegrityFinding(stream.name, what))
        self._is_incomplete = self._is_incomplete or stream.failed
        for account, amount in stream.balances.items():
            if account.startswith("cage/"):
                self._account_postings[account] = self._account_postings.get(account, 0) + amount
        if stream.name.startswith("cage/"):
            self._account_balances[stream.name] = stream.state.balance

    def _game(self, game_hash: str) -> Game:
        if game_hash not in self._games:
            self._games[game_hash] = from_canonical(self._canonical[game_hash])
        return self._games[game_hash]
