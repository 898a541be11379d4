"""Verify a log: chains, heads, answers, games and checkpoints.

Everything is recomputed from the rows exactly as stored. Faults are returned as findings with their
location; no content of a row makes the verification itself fail.

Stored checkpoints must be numbered without gaps, hold the hash of the previous one, and be signed
by a trusted key that was not retired before. Checkpoints kept outside must be in the store,
unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain, pairwise
from struct import Struct
from typing import TYPE_CHECKING

from threedice.errors import TamperedData
from threedice.log.proof import (
    IntegrityFinding,
    VerificationReport,
    describe_versions,
    tampering_as_finding,
)
from threedice.log.proof.answers import SpanSums, find_mismatches, read_claims
from threedice.log.proof.chains import ChainVerifier
from threedice.log.proof.checkpoints import decode_checkpoint, link_hash
from threedice.log.proof.keys import is_valid_signature, retired_keys
from threedice.log.records import Checkpoint
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.log.proof.answers import SelectedSpans
    from threedice.log.proof.chains import RowVisitor
    from threedice.log.proof.checkpoints import CheckpointBody
    from threedice.log.proof.keys import PublicKey
    from threedice.log.records import EntrySpan, StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.rows import LogRows


def verify_log(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    streams: Sequence[str] | None = None,
    visitor: RowVisitor | None = None,
    progress: Callable[[int, int], None] | None = None,
    elsewhere: Callable[[SignedHashes, bytes], Callable[[StreamsCheck], None]] | None = None,
) -> VerificationReport:
    """Verify a store, an SQLite file such as a backup, or rows, as of this moment.

    With `streams`, only those streams and the records about them are verified. The visitor receives
    all sound rows. `progress` receives the number of entries done and the total. `elsewhere` starts
    to verify all streams in other processes, and returns a function that waits for the result and
    fills it in; the rest is verified here in the meantime.
    """
    findings, checks, game_count = list[IntegrityFinding](), StreamsCheck(), 0
    checkpoints, answers = CheckpointVerifier(public_keys), AnswersCheck(streams)
    with tampering_as_finding(findings), open_rows(store) as rows:
        with tampering_as_finding(checkpoints.findings):
            checkpoints.verify(chain.from_iterable(rows.chunks(schema.checkpoints)), against)
        signed = checkpoints.signed_hashes.select(streams)
        finish_streams = (
            partial(check_streams, rows, streams, signed, answers.sums.key, visitor, progress)
            if elsewhere is None
            else elsewhere(signed, answers.sums.key)
        )
        if streams is None:
            findings += _database_findings(rows.find_damage())
        answers.add_claims(rows)
        with tampering_as_finding(checks.findings):
            finish_streams(checks)
            if streams is None:
                checks.findings += _database_findings(rows.find_unread_entries(checks.entries))
            answers.compare(rows, checks.sums)
        findings += (*checkpoints.findings, *checks.findings, *answers.findings)
        game_count = _check_games(rows, findings)
    return VerificationReport(
        tuple(findings),
        checks.streams,
        checks.entries,
        answers.count,
        game_count,
        checkpoints.checkpoint_count,
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
        for stream, version, digest in chunk
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


# --- checkpoints --------------------------------------------------------------------------------


class CheckpointVerifier:
    """Verify checkpoints one by one, and collect their signed hashes."""

    def __init__(self, public_keys: Mapping[str, PublicKey]) -> None:
        self.findings: list[IntegrityFinding] = []
        self.signed_hashes, self.checkpoint_count = SignedHashes(), 0
        self._keys = public_keys
        self._retires = retired_keys(public_keys)
        self._retired: dict[str, int] = {}  # key id -> number of the retiring checkpoint
        self._last: Checkpoint | None = None
        self._last_is_verified = True
        self._signed_heads: dict[str, tuple[int, str]] = {}

    def verify(self, stored: Iterable[StoredRow], against: Sequence[Checkpoint]) -> None:
        """Verify the stored checkpoints, and those kept outside that the store lacks."""
        external = self._index_external(against)
        for row in stored:
            self.checkpoint_count += 1
            if tuple(map(type, row)) != (int, bytes, str, bytes):
                self._note(row[0], "has columns of the wrong type")
                continue
            checkpoint = Checkpoint(*row)
            external_copy = external.pop(checkpoint.number, checkpoint)
            if external_copy != checkpoint:
                self._note(checkpoint.number, "differs from the copy kept outside the store")
                self._add_external(external_copy)
            self._verify_next(checkpoint)
        for number, external_copy in sorted(external.items()):
            self._note(number, "is kept outside the store, but missing in it")
            self._add_external(external_copy)

    def _index_external(self, against: Sequence[Checkpoint]) -> dict[int, Checkpoint]:
        external: dict[int, Checkpoint] = {}
        for checkpoint in against:
            if external.setdefault(checkpoint.number, checkpoint) != checkpoint:
                self._note(
                    checkpoint.number, "is kept outside the store twice, with different content"
                )
        numbers = sorted(external)
        for before, number in pairwise(numbers):
            if number != before + 1:
                self._note(number, f"outside the store, directly follows checkpoint {before}")
        return external

    def _add_external(self, checkpoint: Checkpoint) -> None:
        """Add the signed hashes of a checkpoint kept outside, if it is valid."""
        if (body := self._verified_body(checkpoint)) is not None:
            for stream, head in body.heads.items():
                self.signed_hashes.add(stream, *head, body.number)

    def _verify_next(self, checkpoint: Checkpoint) -> None:
        """Verify the next stored checkpoint, and add its hashes if it is valid."""
        number, before = checkpoint.number, 0 if self._last is None else self._last.number
        body = self._verified_body(checkpoint)
        if number != before + 1:
            self._note(
                number, f"directly follows checkpoint {before}" if before else "is the first"
            )
        elif body and self._last_is_verified and body.previous != link_hash(self._last):
            self._note(number, f"does not hold the hash of checkpoint {before}")
        if body is not None:
            self._add_body(body)
        self._last, self._last_is_verified = checkpoint, body is not None

    def _add_body(self, body: CheckpointBody) -> None:
        for stream, head in body.heads.items():
            signed = self._signed_heads.get(stream)
            if head == signed:
                continue
            if signed is not None and head[0] <= signed[0]:
                what = f"signs version {head[0]} of {stream} after version {signed[0]} was signed"
                self._note(body.number, what)
            self.signed_hashes.add(stream, *head, body.number)
            self._signed_heads[stream] = head
        if body.full:
            for stream in sorted(self._signed_heads.keys() - body.heads.keys()):
                self._note(body.number, f"omits {stream}, which was signed before")

    def _verified_body(self, checkpoint: Checkpoint) -> CheckpointBody | None:
        number, key_id = checkpoint.number, checkpoint.key_id
        try:
            body = decode_checkpoint(checkpoint)
        except TamperedData as tampered:
            self._note(number, tampered.problem)
            return None
        if (body.number, body.key_id) != (number, key_id):
            self._note(number, "its number or key id is not the signed one")
        elif (key := self._keys.get(key_id)) is None:
            self._note(number, f"is signed with the key {key_id}, which is not trusted")
        elif not is_valid_signature(key, checkpoint.body, checkpoint.signature):
            self._note(number, f"its signature is not that of the key {key_id}")
        elif (since := self._retired.get(key_id, number)) < number:
            self._note(number, f"is signed with the key {key_id}, retired by checkpoint {since}")
        else:
            for old in self._retires[key_id]:
                self._retired[old] = min(number, self._retired.get(old, number))
            return body
        return None

    def _note(self, number: object, what: str) -> None:
        self.findings.append(IntegrityFinding(f"checkpoint {number}", what))


_SIGNED_HASH = Struct(">Q32sQ")


class SignedHashes:
    """The hashes that checkpoints signed, by stream and version, in compact form."""

    def __init__(self) -> None:
        self._packed: dict[str, bytearray] = {}

    def add(self, stream: str, version: int, digest: str, number: int) -> None:
        """Add a head that a checkpoint signed."""
        packed = _SIGNED_HASH.pack(version, bytes.fromhex(digest), number)
        self._packed.setdefault(stream, bytearray()).extend(packed)

    def pop(self, stream: str) -> dict[int, list[tuple[bytes, int]]]:
        """Remove and return the signed hashes of a stream, by version."""
        claims: dict[int, list[tuple[bytes, int]]] = {}
        for version, digest, number in _SIGNED_HASH.iter_unpack(self._packed.pop(stream, b"")):
            claims.setdefault(version, []).append((digest, number))
        return claims

    def select(self, streams: Iterable[str] | None) -> SignedHashes:
        """Return the signed hashes of some streams, or of all."""
        if streams is None:
            return self
        part = SignedHashes()
        part._packed = {name: self._packed[name] for name in streams if name in self._packed}
        return part

    def streams(self) -> list[str]:
        """Return the streams with signed hashes left."""
        return sorted(self._packed)
