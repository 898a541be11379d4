"""Verify a log: chains, heads, answers, games and checkpoints.

Everything is recomputed from the rows exactly as stored. Faults are returned as findings with their
location; no content of a row makes the verification itself fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from threedice.log.proof import (
    IntegrityFinding,
    VerificationReport,
    describe_versions,
    tampering_as_finding,
)
from threedice.log.proof.answers import SpanSums, find_mismatches, read_claims
from threedice.log.proof.chains import ChainVerifier
from threedice.log.proof.checkpoint_verification import CheckpointVerifier, SignedHashes
from threedice.log.proof.replaced_keys import read_replaced_keys
from threedice.log.proof.unsigned import (
    find_foreign_heads,
    find_unknown_rows,
    find_unsigned_tails,
)
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.log.proof.answers import SelectedSpans
    from threedice.log.proof.chains import RowVisitor
    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.proof.head_macs import HeadMacs
    from threedice.log.proof.keys import PublicKey
    from threedice.log.proof.unsigned import UnsignedTail
    from threedice.log.records import EntrySpan, StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.rows import LogRows


def verify_log(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Iterable[ExternalCheckpoint] = (),
    restoring: bool = False,
    head_macs: HeadMacs | None = None,
    streams: Sequence[str] | None = None,
    visitor: RowVisitor | None = None,
    progress: Callable[[int, int], None] | None = None,
    elsewhere: Callable[[SignedHashes, bytes], Callable[[StreamsCheck], None]] | None = None,
) -> VerificationReport:
    """Verify a store, an SQLite file such as a backup, or rows, as of this moment.

    `against` holds checkpoints kept outside. With `restoring`, the source is a backup: those after
    its last checkpoint are no findings, and the report names the last of them, which a restore
    gives up. With `head_macs`, heads that the house has not written are findings.

    With `streams`, only those streams and the records about them are verified. The visitor receives
    all sound rows. `progress` receives the number of entries done and the total. `elsewhere` starts
    to verify all streams in other processes, and returns a function that waits for the result and
    fills it in; the rest is verified here in the meantime.
    """
    findings, checks, game_count = list[IntegrityFinding](), StreamsCheck(), 0
    unsigned: list[UnsignedTail] = []
    checkpoints = CheckpointVerifier(public_keys, restoring=restoring)
    answers = AnswersCheck(streams)
    with tampering_as_finding(findings), open_rows(store) as rows:
        with tampering_as_finding(checkpoints.findings):
            checkpoints.add_replacements(read_replaced_keys(rows))
            checkpoints.verify(chain.from_iterable(rows.chunks(schema.checkpoints)), against)
        signed, versions = checkpoints.signed_hashes.select(streams), checkpoints.signed_versions()
        finish_streams = (
            partial(check_streams, rows, streams, signed, answers.sums.key, visitor, progress)
            if elsewhere is None
            else elsewhere(signed, answers.sums.key)
        )
        if streams is None:
            findings += _database_findings(rows.find_damage())
            with tampering_as_finding(findings):
                findings.extend(find_unknown_rows(rows))
        answers.add_claims(rows)
        with tampering_as_finding(checks.findings):
            finish_streams(checks)
            if streams is None:
                checks.findings += _database_findings(rows.find_unread_entries(checks.entries))
            answers.compare(rows, checks.sums)
            unsigned.extend(find_unsigned_tails(rows, streams, versions))
            if head_macs is not None:
                checks.findings.extend(find_foreign_heads(rows, streams, versions, head_macs))
        findings += (*checkpoints.findings, *checks.findings, *answers.findings)
        game_count = _check_games(rows, findings)
    return VerificationReport(
        tuple(findings),
        checks.streams,
        checks.entries,
        answers.count,
        game_count,
        checkpoints.checkpoint_count,
        restores=checkpoints.restores,
        given_up=checkpoints.given_up,
        unsigned=tuple(unsigned),
        judged_macs=head_macs is not None,
    )


def _database_findings(problems: Iterable[str]) -> list[IntegrityFinding]:
    return [IntegrityFinding("the database", problem) for problem in problems]


# --- streams ------------------------------------------------------------------------------------


@dataclass(slots=True)
class StreamsCheck:
    """The findings about some streams, how much was verified, and the sums of their spans."""

    findings: list[IntegrityFinding] = field(default_factory=list)
    streams: int = 0
    entries: int = 0
    sums: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, other: StreamsCheck) -> None:
        """Add the results of other streams."""
        self.findings += other.findings
        self.streams += other.streams
        self.entries += other.entries
        self.sums |= other.sums


def check_streams(
    rows: LogRows,
    names: Sequence[str] | None,
    signed: SignedHashes,
    key: bytes,
    visitor: RowVisitor | None,
    progress: Callable[[int, int], None] | None,
    checks: StreamsCheck,
) -> None:
    """Verify the chains and heads of some streams, or of all, and fill in the results."""
    sums = SpanSums(key)
    heads = {
        stream: (version, digest)
        for chunk in rows.chunks(schema.streams, names)
        for stream, version, digest, _ in chunk
    }
    total = sum(version for version, _ in heads.values() if type(version) is int)
    chains = ChainVerifier(heads, signed, sums.add_found, checks.findings, visitor)
    try:
        for chunk in rows.chunks(schema.entries, names):
            chains.check_rows(chunk)
            checks.entries += len(chunk)
            if progress is not None:
                progress(checks.entries, max(total, checks.entries))
    finally:
        checks.streams = chains.stream_count
    chains.finish()
    checks.sums = dict(sums.sums)


# --- answers ------------------------------------------------------------------------------------


class AnswersCheck:
    """Compare the entries that answers claim with those found."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.findings: list[IntegrityFinding] = []
        self.sums, self.count = SpanSums(SYSTEM_RUNTIME.random_bytes(32)), 0
        self._names, self._is_readable = names, False

    def add_claims(self, rows: LogRows) -> None:
        """Subtract the claims of all answers from the sums, and report malformed answers."""
        with tampering_as_finding(self.findings):
            for _, cause, spans in self._claims(rows, self._note):
                self.sums.add_claimed(cause, spans)
            self._is_readable = True

    def compare(self, rows: LogRows, found: Mapping[tuple[str, int], int]) -> None:
        """Report the causes whose claims differ from the entries found, given their sums."""
        self.sums.merge(found)
        if not self._is_readable or not (differing := self.sums.differing()):
            return
        causes = find_mismatches(differing, partial(self._collect, rows)).values()
        for each in causes:
            if not each.answer:
                for span in each.found:
                    self._note(_describe_span(span), "no answer names the command that caused it")
        for each in causes:
            if each.answer:
                claimed, caused = _describe_spans(each.claimed), _describe_spans(each.found)
                self._note(each.answer, f"claims {claimed}; its command caused {caused}")

    def _collect(self, rows: LogRows, spans: SelectedSpans) -> None:
        chains = ChainVerifier({}, SignedHashes(), spans.add_found, [], None)
        for chunk in rows.chunks(schema.entries, self._names):
            chains.check_rows(chunk)
        chains.finish()
        for answer, cause, claimed in self._claims(rows):
            spans.add_claimed(answer, cause, claimed)

    def _claims(
        self, rows: LogRows, note: Callable[[str, str], None] | None = None
    ) -> Iterator[tuple[StoredRow, bytes, Sequence[EntrySpan]]]:
        """Yield each answer with its cause and its claims about the wanted streams."""
        self.count = 0
        for chunk in rows.chunks_unordered(schema.answers):
            self.count += len(chunk)
            for answer, cause, spans in read_claims(chunk, note):
                if self._names is None:
                    yield answer, cause, spans
                else:
                    yield answer, cause, [span for span in spans if span.stream in self._names]

    def _note(self, where: str, what: str) -> None:
        self.findings.append(IntegrityFinding(where, what))


def _describe_spans(spans: Sequence[EntrySpan]) -> str:
    return ", ".join(map(_describe_span, spans)) or "nothing"


def _describe_span(span: EntrySpan) -> str:
    return describe_versions(span.stream, span.first, span.last)


# --- games --------------------------------------------------------------------------------------


def _check_games(rows: LogRows, findings: list[IntegrityFinding]) -> int:
    count = 0
    for digest, canonical in chain.from_iterable(rows.chunks(schema.games)):
        count += 1
        if type(canonical) is not bytes or sha256(canonical).hexdigest() != digest:
            findings.append(IntegrityFinding(f"game {digest}", "its bytes do not have that hash"))
    return count
