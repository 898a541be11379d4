"""The chains of a log followed entry by entry, with every hash computed anew.

This is the inner loop of a verification. It computes what `entry.chained` defines, written out for
speed; a test ties the two together.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from threedice.errors import Tampered
from threedice.log.entry import EMPTY, Entry, chained
from threedice.log.findings import Finding, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.log.matching import Matching
    from threedice.log.rows import Row
    from threedice.log.witnesses import Claims

_COLUMNS = struct.Struct(">32sHQqHHI32s")
_MALFORMED = (struct.error, TypeError, AttributeError, UnicodeEncodeError)
_TYPES = {
    "version": int,
    "at": int,
    "kind": str,
    "schema": int,
    "data": bytes,
    "cause": bytes,
    "hash": bytes,
}


class Chains:
    """Follows streams one by one, and notes what is wrong with them."""

    def __init__(
        self,
        heads: dict[Any, tuple[Any, Any]],
        claims: Claims,
        matching: Matching,
        findings: list[Finding],
        visit: Callable[[Entry], None] | None,
    ) -> None:
        self._heads, self._claims, self._matching = heads, claims, matching
        self._findings, self._visit = findings, visit
        self._tags = _Tags()

    def follow(self, stream: Any, rows: Iterable[Row]) -> None:
        """Check all entries of a stream, against one another, its head and the checkpoints."""
        try:
            name = stream.encode()
        except (AttributeError, UnicodeEncodeError):
            self._note(f"stream {stream!r}", "has a name that no stream has")
            self._heads.pop(stream, None)
            return
        careful = _Careful(stream, self._findings)
        signed = _Signed(stream, self._claims.take(stream))
        claimed, visit, found = signed.versions, self._visit, self._matching.found
        size, pack, tags = len(name), _COLUMNS.pack, self._tags
        version, previous = 0, EMPTY.hash
        before, caused, first = 0, b"", 1
        for row in rows:
            _, number, at, kind, schema, data, cause, digest = row
            version += 1
            try:
                tag = tags[kind]
                columns = pack(previous, size, number, at, len(tag), schema, len(data), cause)
                right = sha256(b"".join((columns, name, tag, data))).digest()
                good = right == digest and number == version and len(cause) == 32
            except _MALFORMED:
                right, good = b"", False
            if not good:  # and the folds over this stream end here
                visit = None
                version, cause, digest = careful.examine(row, version, previous, right)
            if cause != caused:
                if caused:
                    found(caused, stream, first, before)
                caused, first = cause, version
            if version in claimed:
                signed.hear(version, digest)
            if visit is not None:
                self._show(visit, row)
            previous, before = digest, version
        if caused:
            found(caused, stream, first, before)
        self._findings += signed.contested(version)
        self._check_head(stream, version, previous)

    def finish(self) -> None:
        """Note heads and claims of streams that have no entries."""
        for stream, (version, digest) in self._heads.items():
            if (version, digest) != (EMPTY.version, EMPTY.hash):
                self._note(f"head of {stream}", f"says version {version}, and there are no entries")
        for stream in self._claims.streams():
            self._findings += _Signed(stream, self._claims.take(stream)).contested(0)

    def _check_head(self, stream: str, version: int, digest: bytes) -> None:
        head = self._heads.pop(stream, None)
        if head is None:
            self._note(f"head of {stream}", f"is missing; its entries end at version {version}")
        elif head[0] != version:
            what = f"says version {head[0]!r}, and the entries end at version {version}"
            self._note(f"head of {stream}", what)
        elif head[1] != digest:
            self._note(f"head of {stream}", f"its hash is not that of version {version}")

    def _show(self, visit: Callable[[Entry], None], row: Row) -> None:
        try:
            visit(Entry(*row))
        except Tampered as tampered:
            self._note(tampered.where, tampered.problem)

    def _note(self, where: str, what: str) -> None:
        self._findings.append(Finding(where, what))


class _Tags(dict[str, bytes]):
    """The few kinds of entries there are, as bytes."""

    def __missing__(self, kind: str) -> bytes:
        self[kind] = tag = kind.encode()
        return tag


class _Careful:
    """Says what is wrong with an entry, and what to go on with after it."""

    def __init__(self, stream: str, findings: list[Finding]) -> None:
        self._stream, self._findings = stream, findings
        self._doubtful = 0
        self._instead: bytes | None = None

    def examine(
        self, row: Row, expected: int, previous: bytes, right: bytes
    ) -> tuple[int, bytes, bytes]:
        """Note what is wrong; return the version, cause and hash that the next entry follows."""
        number, cause, digest = row[1], row[6], row[7]
        if type(number) is int and number < expected:
            what = f"stands where version {expected} should be"
            self._note(f"{self._stream} version {number}", what)
            return expected - 1, b"", previous
        missing = type(number) is int and number > expected
        if missing:
            self._note(versions(self._stream, expected, number - 1), "missing")
            expected = number
        if what := _malformation(row):
            self._note(f"{self._stream} version {expected}", what)
            self._doubtful, self._instead = expected, None
            known = type(digest) is bytes and len(digest) == 32
            return expected, b"", digest if known else EMPTY.hash
        if not missing and not self._is_explained(row, expected):
            what = "its hash is not that of its columns and of the entry before it"
            self._note(f"{self._stream} version {expected}", what)
            self._doubtful, self._instead = expected, right
        return expected, cause, digest

    def _is_explained(self, row: Row, expected: int) -> bool:
        """Tell whether the hash is wrong only because that of the entry before is."""
        if expected != self._doubtful + 1 or not self._doubtful:
            return False
        return self._instead is None or chained(self._instead, *row[:7]) == row[7]

    def _note(self, where: str, what: str) -> None:
        self._findings.append(Finding(where, what))


def _malformation(row: Row) -> str:
    for value, (column, kind) in zip(row[1:], _TYPES.items(), strict=True):
        if type(value) is not kind:
            return f"its {column} is {'empty' if value is None else type(value).__name__}"
    _, version, at, kind, schema, data, cause, digest = row
    if len(cause) != 32 or len(digest) != 32:
        return f"its {'cause' if len(cause) != 32 else 'hash'} is not 32 bytes long"
    try:
        _COLUMNS.pack(digest, 0, version, at, len(kind.encode()), schema, len(data), cause)
    except UnicodeEncodeError:
        return "its kind is no text"
    except struct.error:
        return f"its version {version}, time {at} or schema {schema} is out of range"
    return ""


class _Signed:
    """What checkpoints say of a stream, compared with what it holds."""

    def __init__(self, stream: str, claims: dict[int, list[tuple[bytes, int]]]) -> None:
        self.versions = claims
        self._stream, self._agreed = stream, 0
        self._wrong: list[tuple[int, int, int]] = []

    def hear(self, version: int, digest: bytes) -> None:
        """Compare what is claimed of a version."""
        for signed, number in self.versions.pop(version):
            if signed == digest:
                self._agreed = version
            else:
                self._wrong.append((self._agreed, version, number))

    def contested(self, last: int) -> list[Finding]:
        """Return where a stream of so many entries is not what was signed."""
        findings = []
        if self._wrong:
            agreed, version, number = self._wrong[0]
            first = min(agreed + 1, version)
            more = f", nor what {len(self._wrong) - 1} more say" if len(self._wrong) > 1 else ""
            findings.append(
                Finding(
                    versions(self._stream, first, version),
                    f"not what checkpoint {number} signed{more}",
                )
            )
        for version, claims in sorted(self.versions.items())[-1:]:
            where = versions(self._stream, min(last + 1, version), version)
            findings.append(Finding(where, f"missing, and signed in checkpoint {claims[0][1]}"))
        return findings
