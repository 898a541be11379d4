"""Verify a log: chains, heads, answers, games and checkpoints.

Proof that a log is what was written: every chain, head, answer, game and checkpoint.

Everything is computed anew from the rows exactly as they are stored. What is wrong comes out as
findings that say where; whatever a row may hold, it is a finding and never a failure.

Checkpoints as witnesses: whether they can be believed, and what they say the streams held.

Those in the store must follow one another without a gap, each signed by a trusted key that was not
retired by then and holding the hash of the one before; those kept outside must be in the store just
as they are.
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
    """Verify a store, an SQLite file such as a backup, or rows, as they are at this moment.

    The visitor is shown all rows that are sound. `progress` hears how many entries of how many are
    done.
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
    """Verify rows; with `streams`, only those streams and what concerns them."""
    found: list[IntegrityFinding] = []
    if streams is None:
        found += (IntegrityFinding("the database", what) for what in rows.find_damage())
    with AnswerMatcher() as matching:
        witnesses = CheckpointVerifier(public_keys, found)
        with _tampering_as_finding(found):
            witnesses.verify(chain.from_iterable(rows.chunks(schema.checkpoints)), against)
        walk = _LogWalk(rows, witnesses.signed_hashes, matching, found, streams)
        with _tampering_as_finding(found):
            walk.check_streams(visitor, progress)
            if streams is None:
                found += (
                    IntegrityFinding("the database", what)
                    for what in rows.find_unread_entries(walk.entry_count)
                )
            walk.check_answers()
        games = 0
        with _tampering_as_finding(found):
            games = _check_games(rows, found)
    return VerificationReport(
        tuple(found),
        walk.stream_count,
        walk.entry_count,
        walk.answer_count,
        games,
        witnesses.checkpoint_count,
    )


@contextmanager
def _tampering_as_finding(found: list[IntegrityFinding]) -> Iterator[None]:
    """Take what the database cannot read as a finding, and leave what follows from it unchecked."""
    try:
        yield
    except TamperedData as tampered:
        found.append(IntegrityFinding(tampered.where, tampered.problem))


class _LogWalk:
    """Goes through streams and answers, and compares what they say of each other."""

    def __init__(
        self,
        rows: LogRows,
        signed_hashes: SignedHashes,
        matcher: AnswerMatcher,
        found: list[IntegrityFinding],
        names: Sequence[str] | None,
    ) -> None:
        self._rows, self._signed_hashes, self._matcher = rows, signed_hashes, matcher
        self._found, self._names = found, names
        self.stream_count = self.entry_count = self.answer_count = 0

    def check_streams(
        self,
        visitor: RowVisitor | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Follow every stream."""
        heads = {
            stream: (version, digest)
            for chunk in self._rows.chunks(schema.streams, self._names)
            for stream, version, digest in chunk
        }
        total = sum(version for version, _ in heads.values() if type(version) is int)
        claims = (
            self._signed_hashes if self._names is None else self._signed_hashes.select(self._names)
        )
        chains = ChainVerifier(heads, claims, self._matcher, self._found, visitor)
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
        """Compare what every answer says was written with what was found."""
        if not self._answers_match():
            self._matcher.clear_claimed()
            self._add_answers()
            self._report_mismatches()

    def _answers_match(self) -> bool:
        """Tell whether all answers agree with all entries, without saying which do not."""
        if self._names is not None:
            return False
        try:
            for chunk in self._rows.chunks_unordered(schema.answers):
                self.answer_count += len(chunk)
                for begin, records in encode_answer_records(chunk).items():
                    self._matcher.add_claimed(begin, records)
        except MALFORMED_ANSWER_ERRORS:
            return False
        return self._matcher.is_consistent()

    def _add_answers(self) -> None:
        """Take in what every answer says, one by one, and note what cannot be read."""
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
                        begin, one = encode_record(cause, span)
                        self._matcher.add_claimed(begin, [one])
            except MALFORMED_ANSWER_ERRORS as error:
                self._note(_describe_answer(row), f"cannot be read: {error}")

    def _report_mismatches(self) -> None:
        """Note entries that no answer accounts for, and answers that account for what is not."""
        mismatches = {each.cause: each for each in self._matcher.mismatches()}
        for mismatch in mismatches.values():
            if not mismatch.claimed:
                for span in mismatch.found:
                    self._note(_describe_span(span), "no answer says which command caused it")
        if any(mismatch.claimed for mismatch in mismatches.values()):
            self._report_answers(mismatches)

    def _report_answers(self, mismatches: Mapping[bytes, AnswerMismatch]) -> None:
        """Note which answers are meant, by a second look at all of them."""
        for row in self._all_answers():
            try:
                mismatch = mismatches.get(hash_cause(*row[:3]))
            except MALFORMED_ANSWER_ERRORS:
                continue
            if mismatch is not None:
                said, found = _describe_spans(mismatch.claimed), _describe_spans(mismatch.found)
                self._note(
                    _describe_answer(row), f"says it wrote {said}; what it caused is {found}"
                )

    def _all_answers(self) -> Iterator[StoredRow]:
        return chain.from_iterable(self._rows.chunks(schema.answers))

    def _note(self, where: str, what: str) -> None:
        self._found.append(IntegrityFinding(where, what))


def _check_games(rows: LogRows, found: list[IntegrityFinding]) -> int:
    count = 0
    for digest, canonical in chain.from_iterable(rows.chunks(schema.games)):
        count += 1
        if type(canonical) is not bytes or sha256(canonical).hexdigest() != digest:
            found.append(IntegrityFinding(f"game {digest}", "its bytes do not have that hash"))
    return count


def _describe_answer(row: StoredRow) -> str:
    return f"answer to {row[0]} {row[1]}"


def _describe_spans(spans: Sequence[EntrySpan]) -> str:
    return ", ".join(map(_describe_span, spans)) or "nothing"


def _describe_span(span: EntrySpan) -> str:
    return describe_versions(span.stream, span.first, span.last)


_SIGNED_HASH = Struct(">Q32sQ")


class SignedHashes:
    """Which hash which version of a stream had, by which checkpoint; kept small, for all nights."""

    def __init__(self) -> None:
        self._packed: dict[str, bytearray] = {}

    def add(self, stream: str, version: int, digest: str, number: int) -> None:
        """Note what a checkpoint says of a stream."""
        packed = _SIGNED_HASH.pack(version, bytes.fromhex(digest), number)
        self._packed.setdefault(stream, bytearray()).extend(packed)

    def pop(self, stream: str) -> dict[int, list[tuple[bytes, int]]]:
        """Return what is claimed of a stream, by version, and forget it."""
        claims: dict[int, list[tuple[bytes, int]]] = {}
        for version, digest, number in _SIGNED_HASH.iter_unpack(self._packed.pop(stream, b"")):
            claims.setdefault(version, []).append((digest, number))
        return claims

    def select(self, streams: Iterable[str]) -> SignedHashes:
        """Return the claims about some streams alone."""
        part = SignedHashes()
        part._packed = {name: self._packed[name] for name in streams if name in self._packed}
        return part

    def streams(self) -> list[str]:
        """Return the streams of which something is claimed still."""
        return sorted(self._packed)


class CheckpointVerifier:
    """Hears checkpoints one by one, and notes what is wrong with them."""

    def __init__(
        self, public_keys: Mapping[str, PublicKey], findings: list[IntegrityFinding]
    ) -> None:
        self.signed_hashes, self.checkpoint_count = SignedHashes(), 0
        self._keys, self._findings = public_keys, findings
        self._retires = retired_keys(public_keys)
        self._retired: dict[str, int] = {}  # and by which checkpoint
        self._last: Checkpoint | None = None
        self._last_is_verified = True
        self._signed_heads: dict[str, tuple[int, str]] = {}

    def verify(self, stored: Iterable[StoredRow], against: Sequence[Checkpoint]) -> None:
        """Hear all checkpoints in the store, and those kept outside that it no longer has."""
        outside = self._index_external(against)
        for row in stored:
            self.checkpoint_count += 1
            if tuple(map(type, row)) != (int, bytes, str, bytes):
                self._note(row[0], "has columns that no checkpoint has")
                continue
            checkpoint = Checkpoint(*row)
            kept = outside.pop(checkpoint.number, checkpoint)
            if kept != checkpoint:
                self._note(checkpoint.number, "is not the one that was kept outside the store")
                self._add_external(kept)
            self._verify_next(checkpoint)
        for number, kept in sorted(outside.items()):
            self._note(number, "was kept outside the store, and is missing in it")
            self._add_external(kept)

    def _index_external(self, against: Sequence[Checkpoint]) -> dict[int, Checkpoint]:
        outside: dict[int, Checkpoint] = {}
        for checkpoint in against:
            if outside.setdefault(checkpoint.number, checkpoint) != checkpoint:
                self._note(checkpoint.number, "was kept outside the store twice, and not the same")
        numbers = sorted(outside)
        for before, number in pairwise(numbers):
            if number != before + 1:
                self._note(number, f"outside the store, follows checkpoint {before} at once")
        return outside

    def _add_external(self, kept: Checkpoint) -> None:
        """Take in what a checkpoint outside the store says, if it can be believed."""
        if (body := self._verified_body(kept)) is not None:
            for stream, head in body.heads.items():
                self.signed_hashes.add(stream, *head, body.number)

    def _verify_next(self, checkpoint: Checkpoint) -> None:
        """Take in what a checkpoint in the store says, if it can be believed."""
        number, before = checkpoint.number, 0 if self._last is None else self._last.number
        body = self._verified_body(checkpoint)
        if number != before + 1:
            self._note(number, f"follows checkpoint {before} at once" if before else "is the first")
        elif body and self._last_is_verified and body.previous != link_hash(self._last):
            self._note(number, f"does not hold the hash of checkpoint {before}")
        if body is not None:
            self._add_body(body)
        self._last, self._last_is_verified = checkpoint, body is not None

    def _add_body(self, body: CheckpointBody) -> None:
        for stream, head in body.heads.items():
            known = self._signed_heads.get(stream)
            if head == known:
                continue
            if known is not None and head[0] <= known[0]:
                what = f"says version {head[0]} of {stream} after version {known[0]} was signed"
                self._note(body.number, what)
            self.signed_hashes.add(stream, *head, body.number)
            self._signed_heads[stream] = head
        if body.full:
            for stream in sorted(self._signed_heads.keys() - body.heads.keys()):
                self._note(body.number, f"says nothing of {stream}, which was there before")

    def _verified_body(self, checkpoint: Checkpoint) -> CheckpointBody | None:
        number, key_id = checkpoint.number, checkpoint.key_id
        try:
            body = decode_checkpoint(checkpoint)
        except TamperedData as tampered:
            self._note(number, tampered.problem)
            return None
        if (body.number, body.key_id) != (number, key_id):
            self._note(number, "its number or its key is not the one that was signed")
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
