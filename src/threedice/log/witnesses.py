"""Checkpoints as witnesses: whether they can be believed, and what they say the streams held.

Those in the store must follow one another without a gap, each signed by a trusted key that was not
retired by then and holding the hash of the one before; those kept outside must be in the store just
as they are.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

from threedice.errors import Tampered
from threedice.log.checkpoints import decode, link_to
from threedice.log.findings import Finding
from threedice.log.keys import is_signed, retired_by
from threedice.log.store import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from threedice.log.checkpoints import Body
    from threedice.log.keys import PublicKey
    from threedice.log.rows import Row

_CLAIM = Struct(">Q32sQ")


class Claims:
    """Which hash which version of a stream had, by which checkpoint; kept small, for all nights."""

    def __init__(self) -> None:
        self._packed: dict[str, bytearray] = {}

    def add(self, stream: str, version: int, digest: str, number: int) -> None:
        """Note what a checkpoint says of a stream."""
        packed = _CLAIM.pack(version, bytes.fromhex(digest), number)
        self._packed.setdefault(stream, bytearray()).extend(packed)

    def take(self, stream: str) -> dict[int, list[tuple[bytes, int]]]:
        """Return what is claimed of a stream, by version, and forget it."""
        claims: dict[int, list[tuple[bytes, int]]] = {}
        for version, digest, number in _CLAIM.iter_unpack(self._packed.pop(stream, b"")):
            claims.setdefault(version, []).append((digest, number))
        return claims

    def only(self, streams: Iterable[str]) -> Claims:
        """Return the claims about some streams alone."""
        part = Claims()
        part._packed = {name: self._packed[name] for name in streams if name in self._packed}
        return part

    def streams(self) -> list[str]:
        """Return the streams of which something is claimed still."""
        return sorted(self._packed)


class Witnesses:
    """Hears checkpoints one by one, and notes what is wrong with them."""

    def __init__(self, public_keys: Mapping[str, PublicKey], findings: list[Finding]) -> None:
        self.claims, self.heard = Claims(), 0
        self._keys, self._findings = public_keys, findings
        self._retires = retired_by(public_keys)
        self._retired: dict[str, int] = {}  # and by which checkpoint
        self._last: Checkpoint | None = None
        self._last_is_believed = True
        self._said: dict[str, tuple[int, str]] = {}

    def hear(self, stored: Iterable[Row], against: Sequence[Checkpoint]) -> None:
        """Hear all checkpoints in the store, and those kept outside that it no longer has."""
        outside = self._kept_outside(against)
        for row in stored:
            self.heard += 1
            if tuple(map(type, row)) != (int, bytes, str, bytes):
                self._note(row[0], "has columns that no checkpoint has")
                continue
            checkpoint = Checkpoint(*row)
            kept = outside.pop(checkpoint.number, checkpoint)
            if kept != checkpoint:
                self._note(checkpoint.number, "is not the one that was kept outside the store")
                self._take_over(kept)
            self._follow(checkpoint)
        for number, kept in sorted(outside.items()):
            self._note(number, "was kept outside the store, and is missing in it")
            self._take_over(kept)

    def _kept_outside(self, against: Sequence[Checkpoint]) -> dict[int, Checkpoint]:
        outside: dict[int, Checkpoint] = {}
        for checkpoint in against:
            if outside.setdefault(checkpoint.number, checkpoint) != checkpoint:
                self._note(checkpoint.number, "was kept outside the store twice, and not the same")
        numbers = sorted(outside)
        for before, number in pairwise(numbers):
            if number != before + 1:
                self._note(number, f"outside the store, follows checkpoint {before} at once")
        return outside

    def _take_over(self, kept: Checkpoint) -> None:
        """Take in what a checkpoint outside the store says, if it can be believed."""
        if (body := self._believed(kept)) is not None:
            for stream, head in body.heads.items():
                self.claims.add(stream, *head, body.number)

    def _follow(self, checkpoint: Checkpoint) -> None:
        """Take in what a checkpoint in the store says, if it can be believed."""
        number, before = checkpoint.number, 0 if self._last is None else self._last.number
        body = self._believed(checkpoint)
        if number != before + 1:
            self._note(number, f"follows checkpoint {before} at once" if before else "is the first")
        elif body and self._last_is_believed and body.previous != link_to(self._last):
            self._note(number, f"does not hold the hash of checkpoint {before}")
        if body is not None:
            self._take_in(body)
        self._last, self._last_is_believed = checkpoint, body is not None

    def _take_in(self, body: Body) -> None:
        for stream, head in body.heads.items():
            known = self._said.get(stream)
            if head == known:
                continue
            if known is not None and head[0] <= known[0]:
                what = f"says version {head[0]} of {stream} after version {known[0]} was signed"
                self._note(body.number, what)
            self.claims.add(stream, *head, body.number)
            self._said[stream] = head
        if body.full:
            for stream in sorted(self._said.keys() - body.heads.keys()):
                self._note(body.number, f"says nothing of {stream}, which was there before")

    def _believed(self, checkpoint: Checkpoint) -> Body | None:
        number, key_id = checkpoint.number, checkpoint.key_id
        try:
            body = decode(checkpoint)
        except Tampered as tampered:
            self._note(number, tampered.problem)
            return None
        if (body.number, body.key_id) != (number, key_id):
            self._note(number, "its number or its key is not the one that was signed")
        elif (key := self._keys.get(key_id)) is None:
            self._note(number, f"is signed with the key {key_id}, which is not trusted")
        elif not is_signed(key, checkpoint.body, checkpoint.signature):
            self._note(number, f"its signature is not that of the key {key_id}")
        elif (since := self._retired.get(key_id, number)) < number:
            self._note(number, f"is signed with the key {key_id}, retired by checkpoint {since}")
        else:
            for old in self._retires[key_id]:
                self._retired[old] = min(number, self._retired.get(old, number))
            return body
        return None

    def _note(self, number: object, what: str) -> None:
        self._findings.append(Finding(f"checkpoint {number}", what))
