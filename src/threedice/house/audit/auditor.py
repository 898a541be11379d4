"""Audit a house: verify its log, and compare everything derived from the log with a replay.

`verify_rows` passes every stored row once; the auditor decodes and replays it, and compares the
results with the snapshots, the statement rows and the balances read from the same state of the
database.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from threedice.errors import InvariantBroken, TamperedData
from threedice.house.audit.replay import StatementsReplay, StreamReplay
from threedice.house.interpreter import reduced_gc
from threedice.house.stream_state import account_stream
from threedice.house.streams import SNAPSHOT_NAME
from threedice.log.proof import IntegrityFinding, VerificationReport
from threedice.log.proof.verification import verify_rows
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from threedice.log.proof.keys import PublicKey
    from threedice.log.store import Checkpoint, Store, StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import Table
    from threedice.rulebook import Game


def audit(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Verify a house's log and all data derived from it, as of one moment."""
    findings: list[IntegrityFinding] = []
    try:
        with reduced_gc(), open_rows(store) as rows:
            auditor = Auditor(rows, findings)
            report = verify_rows(
                rows,
                public_keys=public_keys,
                against=against,
                visitor=auditor,
                progress=progress,
            )
            all_findings = (*report.findings, *auditor.finish())
    except TamperedData as error:
        return VerificationReport(
            (*findings, IntegrityFinding(error.where, error.problem)), 0, 0, 0, 0, 0
        )
    return replace(report, findings=tuple(dict.fromkeys(all_findings)))


class Auditor:
    """Replay a house's entries stream by stream, and record differences from the stored data."""

    def __init__(self, rows: LogRows, findings: list[IntegrityFinding]) -> None:
        self._rows, self._findings = rows, findings
        self._canonical: dict[str, bytes] = dict(self._read_all(schema.games))
        self._games: dict[str, Game] = {}
        self._statements = StatementsReplay(rows, self._game, self._findings)
        self._snapshots: dict[Any, StoredRow] = {}
        for stream, name, *snapshot in self._read_all(schema.snapshots):
            if name == SNAPSHOT_NAME:
                self._snapshots[stream] = tuple(snapshot)
            else:
                problem = f"has the unknown name {name!r}"
                self._findings.append(IntegrityFinding(f"snapshot of {stream}", problem))
        self._transfers: dict[str, int] = {}
        self._replay: StreamReplay | None = None
        self._visited: set[str] = set()
        self._is_incomplete = False

    def visit(self, rows: Sequence[StoredRow]) -> None:
        """Replay the next rows of a stream; after a row that fails, ignore the rest."""
        replay = self._replay_of(rows[0][0])
        if replay is not None and not replay.failed:
            replay.apply(rows)

    def stop(self, stream: str) -> None:
        """Stop the replay of a stream whose remaining rows do not verify."""
        replay = self._replay_of(stream)
        if replay is not None:
            replay.failed = True

    def finish(self) -> list[IntegrityFinding]:
        """Return all findings."""
        self._finish_stream()
        for stream in sorted(self._snapshots.keys() - self._visited, key=repr):
            self._findings.append(
                IntegrityFinding(f"snapshot of {stream}", "the stream has no entries")
            )
        self._findings += self._statements.finish(self._visited)
        if not self._is_incomplete:  # otherwise postings are missing from the sums
            self._compare_transfers()
        return self._findings

    def _compare_transfers(self) -> None:
        """Compare what players' accounts and tables say went from one to the other."""
        for account, amount in sorted(self._transfers.items()):
            if amount:
                player = account.partition("/")[2]
                problem = f"the account and the tables differ by {amount} over their transfers"
                self._findings.append(IntegrityFinding(account_stream(player), problem))

    def _read_all(self, table: Table) -> list[StoredRow]:
        """Read all rows of a small table; return none and record a finding if that fails."""
        try:
            return list(chain.from_iterable(self._rows.chunks(table)))
        except TamperedData as error:
            self._findings.append(IntegrityFinding(error.where, error.problem))
            return []

    def _replay_of(self, name: str) -> StreamReplay | None:
        """Return the replay of a stream; None if the stream is not one of a house's."""
        if self._replay is not None and self._replay.name == name:
            return self._replay
        if name in self._visited:
            return None
        self._finish_stream()
        self._visited.add(name)
        snapshot, statements = self._snapshots.get(name), self._statements.for_stream(name)
        try:
            self._replay = StreamReplay(name, snapshot, statements, self._canonical)
        except InvariantBroken as error:
            self._findings.append(IntegrityFinding(name, str(error)))
        return self._replay

    def _finish_stream(self) -> None:
        replay, self._replay = self._replay, None
        if replay is None:
            return
        try:
            self._findings += replay.finish()
        except Exception as error:  # bad derived data must not stop the verification of the log
            problem = f"derived data cannot be compared: {str(error) or type(error).__name__}"
            self._findings.append(IntegrityFinding(replay.name, problem))
        self._is_incomplete = self._is_incomplete or replay.failed
        for account, amount in replay.balances.items():
            if account.startswith("transfer/"):
                self._transfers[account] = self._transfers.get(account, 0) + amount

    def _game(self, game_hash: str) -> Game:
        if game_hash not in self._games:
            self._games[game_hash] = from_canonical(self._canonical[game_hash])
        return self._games[game_hash]
