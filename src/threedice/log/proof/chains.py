"""Recompute the hash chain of every stream, entry by entry."""

from __future__ import annotations

import struct
from bisect import bisect_left
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from threedice.log.entry import EMPTY_HEAD, HASHED_COLUMNS, hash_entry
from threedice.log.proof import IntegrityFinding, describe_versions, tampering_as_finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.proof.answers import SpanRecorder
    from threedice.log.proof.checkpoint_verification import SignedHashes
    from threedice.log.records import StoredRow

CAUSE_BYTES = 32

_MALFORMED_ERRORS = (struct.error, TypeError, AttributeError, UnicodeEncodeError)
_COLUMN_TYPES = {
    "version": int,
    "at": int,
    "kind": str,
    "schema": int,
    "data": bytes,
    "cause": bytes,
    "hash": bytes,
}


class RowVisitor(Protocol):
    """Receives the sound rows of each stream in order, one stream after another."""

    def visit(self, rows: Sequence[StoredRow]) -> None:
        """Process the next rows of a stream; a `TamperedData` error becomes a finding."""

    def stop(self, stream: str) -> None:
        """Note that the rest of a stream is skipped because its chain is broken."""


class ChainVerifier:
    """Verify streams one after another and collect findings."""

    def __init__(
        self,
        heads: dict[Any, tuple[Any, Any]],
        signed_hashes: SignedHashes,
        add_span: SpanRecorder,
        findings: list[IntegrityFinding],
        visitor: RowVisitor | None,
    ) -> None:
        self._heads, self._signed_hashes, self._add_span = heads, signed_hashes, add_span
        self._findings, self._visitor = findings, visitor
        self._chain: _StreamChain | None = None
        self._current_stream: Any = object()
        self.stream_count = 0

    def check_rows(self, rows: Sequence[StoredRow]) -> None:
        """Check the next rows, which come in order of stream and version."""
        for stream, stream_rows in groupby(rows, key=itemgetter(0)):
            self._follow(stream, list(stream_rows))

    def finish(self) -> None:
        """Report heads and signed hashes of streams that have no entries."""
        self._end()
        for stream, (version, digest) in self._heads.items():
            if (version, digest) != (EMPTY_HEAD.version, EMPTY_HEAD.hash):
                self._note(f"head of {stream}", f"says version {version}, but there are no entries")
        for stream in self._signed_hashes.streams():
            self._findings += _SignedVersions(
                stream, self._signed_hashes.pop(stream)
            ).find_contradictions(0)

    def _follow(self, stream: Any, rows: Sequence[StoredRow]) -> None:
        if stream != self._current_stream:
            self._end()
            self._begin(stream)
        if self._chain is not None:
            self._chain.follow(rows)

    def _begin(self, stream: Any) -> None:
        self._current_stream = stream
        self.stream_count += 1
        if not is_valid_name(stream):
            self._note(f"stream {stream!r}", "is not a valid stream name")
            self._heads.pop(stream, None)
            return
        signed = _SignedVersions(stream, self._signed_hashes.pop(stream))
        self._chain = _StreamChain(stream, signed, self._add_span, self._findings, self._visitor)

    def _end(self) -> None:
        if self._chain is not None:
            version, digest = self._chain.finish()
            self._check_head(self._current_stream, version, digest)
            self._chain = None

    def _check_head(self, stream: str, version: int, digest: bytes) -> None:
        head = self._heads.pop(stream, None)
        if head is None:
            self._note(f"head of {stream}", f"is missing; its entries end at version {version}")
        elif head[0] != version:
            what = f"says version {head[0]!r}, but the entries end at version {version}"
            self._note(f"head of {stream}", what)
        elif head[1] != digest:
            self._note(f"head of {stream}", f"its hash is not that of version {version}")

    def _note(self, where: str, what: str) -> None:
        self._findings.append(IntegrityFinding(where, what))


def is_valid_name(stream: Any) -> bool:
    """Return whether the name of a stream is text that a database can hold."""
    try:
        return len(stream.encode()) < 1 << 16  # as `HASHED_COLUMNS` holds its length
    except (AttributeError, UnicodeEncodeError):
        return False


class _StreamChain:
    """The chain of one stream, up to the last row checked."""

    def __init__(
        self,
        stream: str,
        signed: _SignedVersions,
        add_span: SpanRecorder,
        findings: list[IntegrityFinding],
        visitor: RowVisitor | None,
    ) -> None:
        self._stream, self._signed = stream, signed
        self._add_span, self._findings, self._visitor = add_span, findings, visitor
        self._version, self._hash = EMPTY_HEAD.version, EMPTY_HEAD.hash
        self._cause, self._first = b"", 0
        self._faulty_version = 0
        self._correct_hash: bytes | None = None  # of the entry at the faulty version, if known

    def follow(self, rows: Sequence[StoredRow]) -> None:
        """Check the next rows against the chain and the signed hashes."""
        start = 0
        while True:
            before, stop = self._version, self._check_sound_rows(rows, start)
            if stop > start:
                sound = rows if stop - start == len(rows) else rows[start:stop]
                self._signed.compare(before + 1, sound)
                self._visit(sound)
            if stop == len(rows):
                return
            self._examine(rows[stop])
            start = stop + 1

    def finish(self) -> tuple[int, bytes]:
        """Return the version and hash at the end of the stream."""
        self._record_span(self._version)
        self._findings += self._signed.find_contradictions(self._version)
        return self._version, self._hash

    def _check_sound_rows(self, rows: Sequence[StoredRow], start: int) -> int:
        """Check rows until one deviates; return the index of that row."""
        version, previous = self._version, self._hash
        try:
            for row in rows[start:]:
                _, number, _, _, _, _, cause, digest = row
                expected_hash = hash_entry(previous, *row[:7])
                if expected_hash != digest or number != version + 1 or len(cause) != CAUSE_BYTES:
                    break
                if cause != self._cause:
                    self._record_span(version)
                    self._cause, self._first = cause, number
                version, previous = number, digest
        except _MALFORMED_ERRORS:
            pass  # `_examine` reports what is wrong
        stop = start + version - self._version
        self._version, self._hash = version, previous
        return stop

    def _examine(self, row: StoredRow) -> None:
        """Report a row that deviates, and continue after it; visitors skip the rest."""
        if self._visitor is not None:
            self._visitor.stop(self._stream)
            self._visitor = None
        version, cause, digest = self._report_faults(row)
        if cause != self._cause:
            self._record_span(self._version)
            self._cause, self._first = cause, version
        self._signed.compare(version, [(*row[:7], digest)])
        self._version, self._hash = version, digest

    def _report_faults(self, row: StoredRow) -> tuple[int, bytes, bytes]:
        """Report the faults of a row; return the version, cause and hash to continue from."""
        number, cause, digest, expected = row[1], row[6], row[7], self._version + 1
        if type(number) is int and number < expected:
            self._note(number, number, f"is where version {expected} should be")
            return self._version, b"", self._hash
        has_gap = type(number) is int and number > expected
        if has_gap:
            self._note(expected, number - 1, "missing")
            expected = number
        if what := _describe_malformation(row):
            self._note(expected, expected, what)
            self._faulty_version, self._correct_hash = expected, None
            well_formed = type(digest) is bytes and len(digest) == 32
            return expected, b"", digest if well_formed else EMPTY_HEAD.hash
        if not has_gap and not self._is_explained(row, expected):
            what = "its hash is not that of its columns and of the entry before it"
            self._note(expected, expected, what)
            self._faulty_version, self._correct_hash = expected, hash_entry(self._hash, *row[:7])
        return expected, cause, digest

    def _is_explained(self, row: StoredRow, expected: int) -> bool:
        """Return whether the hash is wrong only because the previous one is."""
        if expected != self._faulty_version + 1 or not self._faulty_version:
            return False
        return self._correct_hash is None or hash_entry(self._correct_hash, *row[:7]) == row[7]

    def _note(self, first: int, last: int, what: str) -> None:
        self._findings.append(IntegrityFinding(describe_versions(self._stream, first, last), what))

    def _record_span(self, last: int) -> None:
        """Record the entries since the cause changed, up to `last`."""
        if self._cause:
            self._add_span(self._cause, self._stream, self._first, last)

    def _visit(self, rows: Sequence[StoredRow]) -> None:
        if self._visitor is not None:
            with tampering_as_finding(self._findings):
                self._visitor.visit(rows)


def _describe_malformation(row: StoredRow) -> str:
    for value, (column, kind) in zip(row[1:], _COLUMN_TYPES.items(), strict=True):
        if type(value) is not kind:
            return f"its {column} is {'empty' if value is None else type(value).__name__}"
    _, version, at, kind, schema, data, cause, digest = row
    if len(cause) != CAUSE_BYTES or len(digest) != 32:
        return f"its {'cause' if len(cause) != CAUSE_BYTES else 'hash'} is not 32 bytes long"
    try:
        HASHED_COLUMNS.pack(digest, 0, version, at, len(kind.encode()), schema, len(data), cause)
    except UnicodeEncodeError:
        return "its kind is not valid text"
    except struct.error:
        return f"its version {version}, time {at} or schema {schema} is out of range"
    return ""


class _SignedVersions:
    """Compare the hashes that checkpoints signed for a stream with its entries."""

    def __init__(self, stream: str, claims: dict[int, list[tuple[bytes, int]]]) -> None:
        self._claims, self._order = claims, sorted(claims)
        self._stream, self._last_agreed = stream, 0
        self._contradictions: list[tuple[int, int, int]] = []

    def compare(self, first: int, rows: Sequence[StoredRow]) -> None:
        """Compare the signed hashes of the versions in rows, the first being `first`."""
        start, stop = (bisect_left(self._order, each) for each in (first, first + len(rows)))
        for version in self._order[start:stop]:
            digest = rows[version - first][7]
            for signed, number in self._claims.pop(version, ()):
                if signed == digest:
                    self._last_agreed = version
                else:
                    self._contradictions.append((self._last_agreed, version, number))

    def find_contradictions(self, last: int) -> list[IntegrityFinding]:
        """Report where a stream of `last` entries contradicts the checkpoints."""
        findings = []
        if self._contradictions:
            agreed, version, number = self._contradictions[0]
            first = min(agreed + 1, version)
            more = len(self._contradictions) - 1
            others = f" and {more} more" if more else ""
            findings.append(
                IntegrityFinding(
                    describe_versions(self._stream, first, version),
                    f"differs from checkpoint {number}{others}",
                )
            )
        for version, claims in sorted(self._claims.items())[-1:]:
            where = describe_versions(self._stream, min(last + 1, version), version)
            findings.append(
                IntegrityFinding(where, f"missing, and signed in checkpoint {claims[0][1]}")
            )
        return findings
