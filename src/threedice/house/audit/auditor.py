"""Audit a house: verify its log, and compare everything derived from the log with a replay.

`verify_log` passes every stored row once; the entries are decoded and replayed with the functions
that ran the house, and the results compared with the snapshots, the statement rows and the balances
read from the same state of the database.

The streams of a large log are divided among processes, one for each core (`processes`).
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from threedice.errors import InvariantBroken, TamperedData
from threedice.house.audit.people import compare_people
from threedice.house.audit.processes import ProcessFailed, start_processes, useful_processes
from threedice.house.audit.replay import StatementsReplay, StreamReplay
from threedice.house.interpreter import reduced_gc
from threedice.house.live_stream import SNAPSHOT_NAME
from threedice.house.stream_state import account_stream
from threedice.log.proof import IntegrityFinding, VerificationReport
from threedice.log.proof.verification import verify_log
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.log.store import split_form
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.house.audit.processes import AuditProcesses, TaskResult
    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.proof.checkpoint_verification import SignedHashes
    from threedice.log.proof.head_macs import HeadMacs
    from threedice.log.proof.keys import PublicKey
    from threedice.log.proof.verification import StreamsCheck
    from threedice.log.records import StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import DatabaseTable
    from threedice.rulebook import Game


def audit(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Iterable[ExternalCheckpoint] = (),
    restoring: bool = False,
    head_macs: HeadMacs | None = None,
    progress: Callable[[int, int], None] | None = None,
    processes: int | None = None,
) -> VerificationReport:
    """Verify a house's log and all data derived from it, as of one moment.

    `against` and `restoring` are those of `verify_log`. Without `head_macs`, the database may be a
    copy of a log, which holds no rows about people.
    `processes` is the number of processes that verify and replay streams. None chooses as many as
    are worth starting; with 0, or if other processes cannot read the log, all is done here.
    """
    verify = partial(
        verify_log,
        public_keys=public_keys,
        against=against,
        restoring=restoring,
        head_macs=head_macs,
    )
    try:
        with reduced_gc(), open_rows(store) as rows:
            if processes is None:
                processes = useful_processes(rows)
            if processes:
                with suppress(ProcessFailed), start_processes(rows, processes) as others:
                    auditor = Auditor(rows)
                    report, results = _audit_with(others, auditor, partial(verify, rows), progress)
                    return _complete(report, auditor, results, is_house=head_macs is not None)
            auditor = Auditor(rows)
            report = verify(rows, visitor=auditor, progress=progress)
            results = auditor.take_results()
            return _complete(report, auditor, results, is_house=head_macs is not None)
    except TamperedData as error:
        return VerificationReport((IntegrityFinding(error.where, error.problem),), 0, 0, 0, 0, 0)


def _audit_with(
    others: AuditProcesses,
    auditor: Auditor,
    verify: Callable[..., VerificationReport],
    progress: Callable[[int, int], None] | None,
) -> tuple[VerificationReport, ReplayResults]:
    """Verify a log while other processes verify and replay its streams."""
    results = auditor.take_results()

    def start(signed: SignedHashes, key: bytes) -> Callable[[StreamsCheck], None]:
        return partial(_add_results, others.start(signed, key, progress), results)

    return verify(elsewhere=start), results


def _add_results(
    pending: Iterable[TaskResult], results: ReplayResults, checks: StreamsCheck
) -> None:
    for check, replayed in pending:
        checks.add(check)
        results.add(replayed)
    checks.findings.sort()
    results.findings.sort()


def _complete(
    report: VerificationReport, auditor: Auditor, results: ReplayResults, *, is_house: bool
) -> VerificationReport:
    """Add the findings of the replay, and those about people, to a report."""
    people = compare_people(auditor.rows, is_house=is_house)
    findings = (
        *report.findings,
        *results.findings,
        *auditor.compare_streams(results),
        *people.findings,
    )
    notes = (*report.notes, people.note) if people.note else report.notes
    return replace(report, findings=tuple(dict.fromkeys(findings)), people=people.rows, notes=notes)


@dataclass(slots=True)
class ReplayResults:
    """The findings of replayed streams, and what must agree between streams."""

    findings: list[IntegrityFinding] = field(default_factory=list)
    transfers: Counter[str] = field(default_factory=Counter)
    """Amounts that accounts and tables moved to each other, by transfer account."""
    visited: set[str] = field(default_factory=set)
    is_incomplete: bool = False
    """True if a stream could not be replayed to its end, so that postings are missing."""

    def add(self, other: ReplayResults) -> None:
        """Add the results of other streams."""
        self.findings += other.findings
        self.transfers.update(other.transfers)
        self.visited |= other.visited
        self.is_incomplete |= other.is_incomplete


class Auditor:
    """Replay a house's entries stream by stream, and record differences from the stored data."""

    def __init__(self, rows: LogRows) -> None:
        self.rows, self._results = rows, ReplayResults()
        self._findings: list[IntegrityFinding] = []
        self._canonical: dict[str, bytes] = dict(self._read_all(schema.games))
        self._games: dict[str, Game] = {}
        self._statements = StatementsReplay(rows, self._game, self._findings)
        self._snapshots: dict[Any, StoredRow] = {}
        for stream, name, form, *snapshot in self._read_all(schema.snapshots):
            if name == SNAPSHOT_NAME:
                self._snapshots[stream] = (split_form(str(form))[0], *snapshot)
            else:
                self._note(f"snapshot of {stream}", f"has the unknown name {name!r}")
        self._replay: StreamReplay | None = None

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

    def take_results(self) -> ReplayResults:
        """Return the results of the streams visited since the last call."""
        self._finish_stream()
        results, self._results = self._results, ReplayResults()
        results.findings += self._findings
        self._findings.clear()
        return results

    def compare_streams(self, results: ReplayResults) -> list[IntegrityFinding]:
        """Compare what spans streams, once all are visited."""
        findings = [
            IntegrityFinding(f"snapshot of {stream}", "the stream has no entries")
            for stream in sorted(self._snapshots.keys() - results.visited, key=repr)
        ]
        findings += self._statements.finish(results.visited)
        if not results.is_incomplete:
            findings += _compare_transfers(results.transfers)
        return findings

    def _read_all(self, table: DatabaseTable) -> list[StoredRow]:
        """Read all rows of a small table; return none and record a finding if that fails."""
        try:
            return list(chain.from_iterable(self.rows.chunks(table)))
        except TamperedData as error:
            self._note(error.where, error.problem)
            return []

    def _replay_of(self, name: str) -> StreamReplay | None:
        """Return the replay of a stream; None if the stream is not one of a house's."""
        if self._replay is not None and self._replay.name == name:
            return self._replay
        if name in self._results.visited or name == PEOPLE_STREAM:  # of which nothing is derived
            return None
        self._finish_stream()
        self._results.visited.add(name)
        snapshot, statements = self._snapshots.get(name), self._statements.for_stream(name)
        try:
            self._replay = StreamReplay(name, snapshot, statements, self._canonical)
        except InvariantBroken as error:
            self._note(name, str(error))
        return self._replay

    def _finish_stream(self) -> None:
        replay, self._replay = self._replay, None
        if replay is None:
            return
        try:
            self._findings += replay.finish()
        except Exception as error:  # bad derived data must not stop the verification of the log
            problem = f"derived data cannot be compared: {str(error) or type(error).__name__}"
            self._note(replay.name, problem)
        self._results.is_incomplete |= replay.failed
        for account, amount in replay.balances.items():
            if account.startswith("transfer/"):
                self._results.transfers[account] += amount

    def _game(self, game_hash: str) -> Game:
        if game_hash not in self._games:
            self._games[game_hash] = from_canonical(self._canonical[game_hash])
        return self._games[game_hash]

    def _note(self, where: str, problem: str) -> None:
        self._findings.append(IntegrityFinding(where, problem))


def _compare_transfers(transfers: Mapping[str, int]) -> Iterator[IntegrityFinding]:
    """Compare what players' accounts and tables say went from one to the other."""
    for account, amount in sorted(transfers.items()):
        if amount:
            player = account.partition("/")[2]
            problem = f"the account and the tables differ by {amount} over their transfers"
            yield IntegrityFinding(account_stream(player), problem)
