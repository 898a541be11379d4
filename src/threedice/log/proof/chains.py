"""The chains of a log followed entry by entry, with every hash computed anew.

This is the inner loop of a verification. It computes what `entry.chained` defines, written out for
speed; a test ties the two together.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from threedice.errors import TamperedData
from threedice.log.entry import EMPTY_HEAD, hash_entry
from threedice.log.proof import IntegrityFinding, describe_versions
from threedice.log.proof.answers import CAUSE_BYTES, span_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.proof.answers import AnswerMatcher
    from threedice.log.proof.verification import SignedHashes
    from threedice.log.store import StoredRow

_HASHED_COLUMNS = struct.Struct(">32sHQqHHI32s")
_stream_of = itemgetter(0)
_RECORD_FORMAT = b"%b%b%d,%d]]"
"""A record of `matching`: the cause, how spans of the stream begin, first and last version."""

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
    """Is shown the rows of each stream in turn and in order, as far as they are sound."""

    def visit(self, rows: Sequence[StoredRow]) -> None:
        """Take the next rows of a stream; what is raised as `Tampered` is a finding."""

    def stop(self, stream: str) -> None:
        """Hear that the rest of a stream is not shown: it is not as it was written."""


class ChainVerifier:
    """Follows streams one after another, and notes what is wrong with them."""

    def __init__(
        self,
        heads: dict[Any, tuple[Any, Any]],
        signed_hashes: SignedHashes,
        matcher: AnswerMatcher,
        findings: list[IntegrityFinding],
        visitor: RowVisitor | None,
    ) -> None:
        self._heads, self._signed_hashes, self._matcher = heads, signed_hashes, matcher
        self._findings, self._visitor = findings, visitor
        self._chain: _StreamChain | None = None
        self._current_stream: Any = object()
        self.stream_count = 0

    def check_rows(self, rows: Sequence[StoredRow]) -> None:
        """Check the next rows of all, which come by stream and version."""
        if len(set(map(_stream_of, rows))) == 1:  # as nearly always
            self._follow(rows[0][0], rows)
            return
        for stream, some in groupby(rows, key=_stream_of):
            self._follow(stream, list(some))

    def finish(self) -> None:
        """Note heads and claims of streams that have no entries."""
        self._end()
        for stream, (version, digest) in self._heads.items():
            if (version, digest) != (EMPTY_HEAD.version, EMPTY_HEAD.hash):
                self._note(f"head of {stream}", f"says version {version}, and there are no entries")
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
        try:
            name = stream.encode()
        except (AttributeError, UnicodeEncodeError):
            self._note(f"stream {stream!r}", "has a name that no stream has")
            self._heads.pop(stream, None)
            return
        signed = _SignedVersions(stream, self._signed_hashes.pop(stream))
        self._chain = _StreamChain(
            stream, name, signed, self._matcher, self._findings, self._visitor
        )

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
            what = f"says version {head[0]!r}, and the entries end at version {version}"
            self._note(f"head of {stream}", what)
        elif head[1] != digest:
            self._note(f"head of {stream}", f"its hash is not that of version {version}")

    def _note(self, where: str, what: str) -> None:
        self._findings.append(IntegrityFinding(where, what))


class _StreamChain:
    """One stream, as far as it was followed."""

    def __init__(
        self,
        stream: str,
        name: bytes,
        signed: _SignedVersions,
        matcher: AnswerMatcher,
        findings: list[IntegrityFinding],
        visitor: RowVisitor | None,
    ) -> None:
        self._stream = stream
        self._size, self._suffixes, self._spans = (
            len(name),
            _HashSuffixes(name),
            span_prefix(stream),
        )
        self._signed, self._examiner = signed, _EntryExaminer(stream, findings)
        self._matcher, self._findings, self._visitor = matcher, findings, visitor
        self._version, self._hash = EMPTY_HEAD.version, EMPTY_HEAD.hash
        self._cause, self._first = b"", 0

    def follow(self, rows: Sequence[StoredRow]) -> None:
        """Check the next rows, against one another and what is signed."""
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
        """Return the version and the hash with which the stream ends."""
        self._record_current_cause()
        self._findings += self._signed.find_contradictions(self._version)
        return self._version, self._hash

    def _check_sound_rows(self, rows: Sequence[StoredRow], start: int) -> int:
        """Go over rows that are as they were written, and return where the first other stands."""
        version, previous, caused, first = self._version, self._hash, self._cause, self._first
        size, tails, spans, pack = self._size, self._suffixes, self._spans, _HASHED_COLUMNS.pack
        found: list[tuple[bytes, bytes, int, int]] = []
        try:
            for _, number, at, kind, schema, data, cause, digest in rows[start:]:
                length, tail = tails[kind]
                columns = pack(previous, size, number, at, length, schema, len(data), cause)
                right = sha256(columns + tail + data).digest()
                if right != digest or number != version + 1 or len(cause) != CAUSE_BYTES:
                    break
                if cause != caused:
                    if caused:
                        found.append((caused, spans, first, version))
                    caused, first = cause, number
                version, previous = number, digest
        except _MALFORMED_ERRORS:
            pass  # `_examine` says what is wrong
        stop = start + version - self._version
        self._version, self._hash, self._cause, self._first = version, previous, caused, first
        if found:
            self._matcher.add_found(spans, [_RECORD_FORMAT % each for each in found])
        return stop

    def _examine(self, row: StoredRow) -> None:
        """Go over a row that is not as it was written; the folds over this stream end here."""
        if self._visitor is not None:
            self._visitor.stop(self._stream)
            self._visitor = None
        try:
            right = hash_entry(self._hash, *row[:7])
        except _MALFORMED_ERRORS:
            right = b""
        version, cause, digest = self._examiner.examine(row, self._version + 1, self._hash, right)
        if cause != self._cause:
            self._record_current_cause()
            self._cause, self._first = cause, version
        self._signed.compare(version, [(*row[:7], digest)])
        self._version, self._hash = version, digest

    def _record_current_cause(self) -> None:
        if self._cause:
            last = (self._cause, self._spans, self._first, self._version)
            self._matcher.add_found(self._spans, [_RECORD_FORMAT % last])

    def _visit(self, rows: Sequence[StoredRow]) -> None:
        if self._visitor is None:
            return
        try:
            self._visitor.visit(rows)
        except TamperedData as tampered:
            self._findings.append(IntegrityFinding(tampered.where, tampered.problem))


class _HashSuffixes(dict[str, tuple[int, bytes]]):
    """What follows the columns in what is hashed, for the few kinds there are of a stream."""

    def __init__(self, name: bytes) -> None:
        super().__init__()
        self._name = name

    def __missing__(self, kind: str) -> tuple[int, bytes]:
        tag = kind.encode()
        self[kind] = tail = len(tag), self._name + tag
        return tail


class _EntryExaminer:
    """Says what is wrong with an entry, and what to go on with after it."""

    def __init__(self, stream: str, findings: list[IntegrityFinding]) -> None:
        self._stream, self._findings = stream, findings
        self._doubtful = 0
        self._expected_hash: bytes | None = None

    def examine(
        self, row: StoredRow, expected: int, previous: bytes, right: bytes
    ) -> tuple[int, bytes, bytes]:
        """Note what is wrong; return the version, cause and hash that the next entry follows."""
        number, cause, digest = row[1], row[6], row[7]
        if type(number) is int and number < expected:
            what = f"stands where version {expected} should be"
            self._note(f"{self._stream} version {number}", what)
            return expected - 1, b"", previous
        missing = type(number) is int and number > expected
        if missing:
            self._note(describe_versions(self._stream, expected, number - 1), "missing")
            expected = number
        if what := _describe_malformation(row):
            self._note(f"{self._stream} version {expected}", what)
            self._doubtful, self._expected_hash = expected, None
            known = type(digest) is bytes and len(digest) == 32
            return expected, b"", digest if known else EMPTY_HEAD.hash
        if not missing and not self._is_explained(row, expected):
            what = "its hash is not that of its columns and of the entry before it"
            self._note(f"{self._stream} version {expected}", what)
            self._doubtful, self._expected_hash = expected, right
        return expected, cause, digest

    def _is_explained(self, row: StoredRow, expected: int) -> bool:
        """Tell whether the hash is wrong only because that of the entry before is."""
        if expected != self._doubtful + 1 or not self._doubtful:
            return False
        return self._expected_hash is None or hash_entry(self._expected_hash, *row[:7]) == row[7]

    def _note(self, where: str, what: str) -> None:
        self._findings.append(IntegrityFinding(where, what))


def _describe_malformation(row: StoredRow) -> str:
    for value, (column, kind) in zip(row[1:], _COLUMN_TYPES.items(), strict=True):
        if type(value) is not kind:
            return f"its {column} is {'empty' if value is None else type(value).__name__}"
    _, version, at, kind, schema, data, cause, digest = row
    if len(cause) != 32 or len(digest) != 32:
        return f"its {'cause' if len(cause) != 32 else 'hash'} is not 32 bytes long"
    try:
        _HASHED_COLUMNS.pack(digest, 0, version, at, len(kind.encode()), schema, len(data), cause)
    except UnicodeEncodeError:
        return "its kind is no text"
    except struct.error:
        return f"its version {version}, time {at} or schema {schema} is out of range"
    return ""


class _SignedVersions:
    """What checkpoints say of a stream, compared with what it holds."""

    def __init__(self, stream: str, claims: dict[int, list[tuple[bytes, int]]]) -> None:
        self._claims, self._order = claims, sorted(claims)
        self._stream, self._agreed = stream, 0
        self._wrong: list[tuple[int, int, int]] = []

    def compare(self, first: int, rows: Sequence[StoredRow]) -> None:
        """Compare what is claimed of the versions that rows hold, from the first on."""
        start, stop = (bisect_left(self._order, each) for each in (first, first + len(rows)))
        for version in self._order[start:stop]:
            digest = rows[version - first][7]
            for signed, number in self._claims.pop(version, ()):
                if signed == digest:
                    self._agreed = version
                else:
                    self._wrong.append((self._agreed, version, number))

    def find_contradictions(self, last: int) -> list[IntegrityFinding]:
        """Return where a stream of so many entries is not what was signed."""
        findings = []
        if self._wrong:
            agreed, version, number = self._wrong[0]
            first = min(agreed + 1, version)
            more = f", nor what {len(self._wrong) - 1} more say" if len(self._wrong) > 1 else ""
            findings.append(
                IntegrityFinding(
                    describe_versions(self._stream, first, version),
                    f"not what checkpoint {number} signed{more}",
                )
            )
        for version, claims in sorted(self._claims.items())[-1:]:
            where = describe_versions(self._stream, min(last + 1, version), version)
            findings.append(
                IntegrityFinding(where, f"missing, and signed in checkpoint {claims[0][1]}")
            )
        return findings
