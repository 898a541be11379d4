"""Verify a log: chains, heads, answers, games and checkpoints.

Everything is recomputed from the rows exactly as stored. Faults are returned as findings with their
location; no content of a row makes the verification itself fail.

Stored checkpoints must be numbered without gaps, hold the hash of the previous one, and be signed
by a trusted key that was not retired before. Checkpoints kept outside must be in the store,
unchanged.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from itertools import chain, pairwise
from struct import Struct
from typing import TYPE_CHECKING

from threedice.errors import TamperedData
from threedice.log.entry import hash_cause
from threedice.log.proof import IntegrityFinding, VerificationReport, describe_versions
from threedice.log.proof.answers import (
    MALFORMED_ANSWER_ERRORS,
    AnswerMatcher,
    decode_canonical_spans,
    encode_answer_records,
    encode_record,
)
from threedice.log.proof.chains import ChainVerifier
from threedice.log.proof.checkpoints import decode_checkpoint, link_hash
from threedice.log.proof.keys import is_valid_signature, retired_keys
from threedice.log.store import Checkpoint
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.log.proof.answers import AnswerMismatch
    from threedice.log.proof.chains import RowVisitor
    from threedice.log.proof.checkpoints import CheckpointBody
    from threedice.log.proof.keys import PublicKey
    from threedice.log.store import EntrySpan, Store, StoredRow
    from threedice.log.stores.rows import LogRows


def verify_log(
    store: Store | Path | LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    streams: Sequence[str] | None = None,
    visitor: RowVisitor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Verify a store, an SQLite file such as a backup, or rows, as of this moment.

    The visitor receives all sound rows. `progress` receives the number of entries done and the
    total.
    """
    try:
        with open_rows(store) as rows:
            return verify_rows(
                rows,
                public_keys=public_keys,
                against=against,
                streams=streams,
                visitor=visitor,
                progress=progress,
            )
    except TamperedData as tampered:
        return VerificationReport(
            (IntegrityFinding(tampered.where, tampered.problem),), 0, 0, 0, 0, 0
        )


def verify_rows(
    rows: LogRows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    streams: Sequence[str] | None = None,
    visitor: RowVisitor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Verify rows; with `streams`, only those streams and the records about them."""
    findings: list[IntegrityFinding] = []
    if streams is None:
        findings += (IntegrityFinding("the database", what) for what in rows.find_damage())
    with AnswerMatcher() as matcher:
        checkpoints = CheckpointVerifier(public_keys, findings)
        with _tampering_as_finding(findings):
            checkpoints.verify(chain.from_iterable(rows.chunks(schema.checkpoints)), against)
        walk = _LogWalk(rows, checkpoints.signed_hashes, matcher, findings, streams)
        with _tampering_as_finding(findings):
            walk.check_streams(visitor, progress)
            if streams is None:
                findings += (
                    IntegrityFinding("the database", what)
                    for what in rows.find_unread_entries(walk.entry_count)
                )
            walk.check_answers()
        games = 0
        with _tampering_as_finding(findings):
            games = _check_games(rows, findings)
    return VerificationReport(
        tuple(findings),
        walk.stream_count,
        walk.entry_count,
        walk.answer_count,
        games,
        checkpoints.checkpoint_count,
    )


@contextmanager
def _tampering_as_finding(findings: list[IntegrityFinding]) -> Iterator[None]:
    """Turn `TamperedData` into a finding and skip the rest of the block."""
    try:
        yield
    except TamperedData as tampered:
        findings.append(IntegrityFinding(tampered.where, tampered.problem))


# --- streams and answers ------------------------------------------------------------------------


class _LogWalk:
    """Read streams and answers once, and compare them with each other."""

    def __init__(
        self,
        rows: LogRows,
        signed_hashes: SignedHashes,
        matcher: AnswerMatcher,
        findings: list[IntegrityFinding],
        names: Sequence[str] | None,
    ) -> None:
        self._rows, self._signed_hashes, self._matcher = rows, signed_hashes, matcher
        self._findings, self._names = findings, names
        self.stream_count = self.entry_count = self.answer_count = 0

    def check_streams(
        self,
        visitor: RowVisitor | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Verify every stream."""
        heads = {
            stream: (version, digest)
            for chunk in self._rows.chunks(schema.streams, self._names)
            for stream, version, digest in chunk
        }
        total = sum(version for version, _ in heads.values() if type(version) is int)
        signed = (
            self._signed_hashes if self._names is None else self._signed_hashes.select(self._names)
        )
        chains = ChainVerifier(heads, signed, self._matcher, self._findings, visitor)
        try:
            for chunk in self._rows.chunks(schema.entries, self._names):
                chains.check_rows(chunk)
                self.entry_count += len(chunk)
                if progress is not None:
                    progress(self.entry_count, max(total, self.entry_count))
        finally:
            self.stream_count = chains.stream_count
        chains.finish()

    def check_answers(self) -> None:
        """Compare the entries that answers claim with those found."""
        if not self._answers_match():
            self._matcher.clear_claimed()
            self._add_answers()
            self._report_mismatches()

    def _answers_match(self) -> bool:
        """Return whether all answers agree with all entries, without locating faults."""
        if self._names is not None:
            return False
        try:
            for chunk in self._rows.chunks_unordered(schema.answers):
                self.answer_count += len(chunk)
                for prefix, records in encode_answer_records(chunk).items():
                    self._matcher.add_claimed(prefix, records)
        except MALFORMED_ANSWER_ERRORS:
            return False
        return self._matcher.is_consistent()

    def _add_answers(self) -> None:
        """Add the claims of every answer one by one, and report malformed answers."""
        wanted = None if self._names is None else set(self._names)
        self.answer_count = 0
        for row in self._all_answers():
            self.answer_count += 1
            account, key, command_hash, spans = row
            try:
                decoded = decode_canonical_spans(spans)
                cause = hash_cause(account, key, command_hash)
                for span in decoded:
                    if wanted is None or span.stream in wanted:
                        prefix, record = encode_record(cause, span)
                        self._matcher.add_claimed(prefix, [record])
            except MALFORMED_ANSWER_ERRORS as error:
                self._note(_describe_answer(row), f"cannot be read: {error}")

    def _report_mismatches(self) -> None:
        """Report entries that no answer claims, and answers with wrong claims."""
        mismatches = {each.cause: each for each in self._matcher.mismatches()}
        for mismatch in mismatches.values():
            if not mismatch.claimed:
                for span in mismatch.found:
                    self._note(_describe_span(span), "no answer names the command that caused it")
        if any(mismatch.claimed for mismatch in mismatches.values()):
            self._report_answers(mismatches)

    def _report_answers(self, mismatches: Mapping[bytes, AnswerMismatch]) -> None:
        """Report the answers with wrong claims, found by a second pass over all."""
        for row in self._all_answers():
            try:
                mismatch = mismatches.get(hash_cause(*row[:3]))
            except MALFORMED_ANSWER_ERRORS:
                continue
            if mismatch is not None:
                claimed = _describe_spans(mismatch.claimed)
                found = _describe_spans(mismatch.found)
                self._note(_describe_answer(row), f"claims {claimed}; its command caused {found}")

    def _all_answers(self) -> Iterator[StoredRow]:
        return chain.from_iterable(self._rows.chunks(schema.answers))

    def _note(self, where: str, what: str) -> None:
        self._findings.append(IntegrityFinding(where, what))


def _check_games(rows: LogRows, findings: list[IntegrityFinding]) -> int:
    count = 0
    for digest, canonical in chain.from_iterable(rows.chunks(schema.games)):
        count += 1
        if type(canonical) is not bytes or sha256(canonical).hexdigest() != digest:
            findings.append(IntegrityFinding(f"game {digest}", "its bytes do not have that hash"))
    return count


def _describe_answer(row: StoredRow) -> str:
    return f"answer to {row[0]} {row[1]}"


def _describe_spans(spans: Sequence[EntrySpan]) -> str:
    return ", ".join(map(_describe_span, spans)) or "nothing"


def _describe_span(span: EntrySpan) -> str:
    return describe_versions(span.stream, span.first, span.last)


# --- checkpoints --------------------------------------------------------------------------------


class CheckpointVerifier:
    """Verify checkpoints one by one, and collect their signed hashes."""

    def __init__(
        self, public_keys: Mapping[str, PublicKey], findings: list[IntegrityFinding]
    ) -> None:
        self.signed_hashes, self.checkpoint_count = SignedHashes(), 0
        self._keys, self._findings = public_keys, findings
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
        self._findings.append(IntegrityFinding(f"checkpoint {number}", what))


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

    def select(self, streams: Iterable[str]) -> SignedHashes:
        """Return the signed hashes of some streams only."""
        part = SignedHashes()
        part._packed = {name: self._packed[name] for name in streams if name in self._packed}
        return part

    def streams(self) -> list[str]:
        """Return the streams with signed hashes left."""
        return sorted(self._packed)
