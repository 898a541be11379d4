"""Verify checkpoints: those in the store, and copies kept outside it.

Stored checkpoints must hold the hash of the previous one and be signed by a trusted key that was
not retired before. Numbers have no gaps, except where a signed roll-up let the oldest be deleted
and where a restore gave some up. A copy kept outside must be in the store, unchanged, or be one of
those; then it must be signed, and fit the copies next to it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from threedice.errors import TamperedData
from threedice.log.proof import IntegrityFinding
from threedice.log.proof.checkpoints import RESTORE_REMEDY, decode_checkpoint, link_hash
from threedice.log.proof.keys import is_valid_signature, retired_keys
from threedice.log.records import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.proof.checkpoints import CheckpointBody, RestoreMark, RollUp
    from threedice.log.proof.keys import PublicKey
    from threedice.log.proof.replaced_keys import ReplacedSigningKey
    from threedice.log.records import StoredRow


class CheckpointVerifier:
    """Verify checkpoints one by one, and collect their signed hashes.

    With `restoring`, the store is a backup: it may lack later checkpoints that are kept outside.
    """

    def __init__(self, public_keys: Mapping[str, PublicKey], *, restoring: bool = False) -> None:
        self.findings: list[IntegrityFinding] = []
        self.signed_hashes, self.checkpoint_count = SignedHashes(), 0
        self.restores: tuple[RestoreMark, ...] = ()
        self.given_up: Checkpoint | None = None  # the last one that the store lacks, if restoring
        self._keys, self._restoring = public_keys, restoring
        self._retires = retired_keys(public_keys)
        self._retired: dict[str, int] = {}  # key id -> number of the retiring checkpoint
        self._replacements: Mapping[str, ReplacedSigningKey] = {}
        self._replaced_since: dict[str, int] = {}  # untrusted key id -> its first checkpoint
        self._last: Checkpoint | None = None
        self._last_is_verified = True
        self._signed_heads: dict[str, tuple[int, str]] = {}
        self._external_heads: dict[str, tuple[int, str]] = {}
        self._rolled_up: RollUp | None = None
        self._first: CheckpointBody | None = None  # unless the store has all those before
        self._stored_hashes, self._external_hashes = LinkHashes(), LinkHashes()

    def verify(self, stored: Iterable[StoredRow], against: Iterable[ExternalCheckpoint]) -> None:
        """Verify the stored checkpoints, then those kept outside."""
        for row in stored:
            self.checkpoint_count += 1
            if tuple(map(type, row)) != (int, bytes, str, bytes):
                self._note(row[0], "has columns of the wrong type")
                continue
            self._verify_next(Checkpoint(*row))
        if self._first is not None:
            self._verify_beginning(self._first)
        before: _Predecessor | None = None
        for each in against:
            if isinstance(each, TamperedData):
                self.findings.append(IntegrityFinding(each.where, each.problem))
            else:
                before = None if each is None else self._verify_external(each, before)

        for key_id, number in self._replaced_since.items():
            replacement = self._replacements[key_id]
            what = (
                f"are signed with the key {key_id}, which replaced {', '.join(replacement.old)}"
                f" {replacement}. Compare the key id with the house, and get its new export"
            )
            self.findings.append(IntegrityFinding(f"checkpoints from {number} on", what))

    def add_replacements(self, replacements: Mapping[str, ReplacedSigningKey]) -> None:
        """Add the replacements of lost keys that the log names; a lost key signs nothing more."""
        self._replacements = replacements
        for key_id, replacement in replacements.items():
            if key_id in self._retires:
                self._retires[key_id] |= frozenset(replacement.old)

    def signed_versions(self) -> dict[str, int]:
        """Return the last signed version of each stream."""
        heads = [*self._external_heads.items(), *self._signed_heads.items()]
        return {stream: version for stream, (version, _) in sorted(heads)}

    # --- stored checkpoints

    def _verify_next(self, checkpoint: Checkpoint) -> None:
        """Verify the next stored checkpoint, and add its hashes if it is valid."""
        number, before = checkpoint.number, 0 if self._last is None else self._last.number
        body = self._verified_body(checkpoint)
        if (body.previous_number if body else number - 1) != before:
            if before or body is None:
                self._note(
                    number, f"directly follows checkpoint {before}" if before else "is the first"
                )
            else:
                self._first = body
        elif body and self._last_is_verified and body.previous != link_hash(self._last):
            self._note(number, f"does not hold the hash of checkpoint {before}")
        self._stored_hashes.add(number, link_hash(checkpoint))
        if body is not None:
            self._add_body(body)
        self._last, self._last_is_verified = checkpoint, body is not None

    def _verify_beginning(self, first: CheckpointBody) -> None:
        """Verify that a roll-up let the checkpoints before the first stored one be deleted."""
        before, roll_up = first.previous_number, self._rolled_up
        if roll_up is None or roll_up.up_to < before:
            self._note(first.number, "is the first")
        elif roll_up.up_to == before and roll_up.last_hash != first.previous:
            self._note(first.number, f"does not hold the hash of checkpoint {before}")

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
            self._add_history(body)

    def _add_history(self, body: CheckpointBody) -> None:
        """Add the restores and the roll-up of a full checkpoint."""
        if body.restores[: len(self.restores)] != self.restores:
            self._note(body.number, "omits a restore that was signed before")
        else:
            self.restores = body.restores
        if (roll_up := body.rolled_up) is not None:
            if self._stored_hashes.get(roll_up.up_to) not in (None, roll_up.last_hash):
                self._note(body.number, f"does not hold the hash of checkpoint {roll_up.up_to}")
            self._rolled_up = roll_up
        elif self._rolled_up is not None:
            self._note(body.number, "omits a roll-up that was signed before")

    # --- copies kept outside

    def _verify_external(
        self, checkpoint: Checkpoint, before: _Predecessor | None
    ) -> _Predecessor | None:
        """Verify a copy kept outside and return it, as the predecessor of the next one."""
        number, digest = checkpoint.number, link_hash(checkpoint)
        if (seen := self._external_hashes.get(number)) is not None:
            if seen != digest:
                self._note(number, "is kept outside the store twice, with different content")
                return before
            return _Predecessor(number, digest)
        self._external_hashes.add(number, digest)
        body = self._verify_content(checkpoint, digest)
        if body is not None and before is not None:
            self._verify_order(body, before)
        return _Predecessor(number, None if body is None else digest)

    def _verify_order(self, body: CheckpointBody, before: _Predecessor) -> None:
        """Verify that a valid copy fits the copy before it; files may overlap."""
        number, mark = body.number, body.restore
        is_gap = mark is None or before.number < mark.after
        if number > before.number + 1 and is_gap:
            self._note(number, f"outside the store, directly follows checkpoint {before.number}")
        expected = {mark.last: mark.last_hash} if mark else {}
        expected[body.previous_number] = body.previous
        if before.digest not in (None, expected.get(before.number, before.digest)):
            self._note(
                number, f"outside the store, does not hold the hash of checkpoint {before.number}"
            )

    def _verify_content(self, checkpoint: Checkpoint, digest: str) -> CheckpointBody | None:
        """Verify a copy by the stored one or by its signature, and return its body if valid."""
        number, stored = checkpoint.number, self._stored_hashes.get(checkpoint.number)
        if stored == digest:
            return self._decode_columns(checkpoint)
        is_later = self._last is None or number > self._last.number
        if stored is not None:
            remedy = ""
            if any(mark.number <= number for mark in self.restores):
                remedy = (
                    "; if the copy is older than the restore, the house was restored without it;"
                    " restore the backup again with --against and the file that has the copy"
                )
            self._note(number, f"differs from the copy kept outside the store{remedy}")
        elif any(mark.gave_up(number) for mark in self.restores):
            return self._verify_reference(self._verified_body(checkpoint), digest)
        elif self._is_rolled_up(number):
            return self._verify_reference(self._add_external(checkpoint), digest)
        elif is_later and self._restoring:
            body = self._verify_reference(self._verified_body(checkpoint), digest)
            if body is not None and (self.given_up is None or self.given_up.number < number):
                self.given_up = checkpoint
            return body
        else:
            remedy = f"; {RESTORE_REMEDY}" if is_later else ""
            self._note(number, f"is kept outside the store, but missing in it{remedy}")
        return self._add_external(checkpoint)

    def _decode_columns(self, checkpoint: Checkpoint) -> CheckpointBody | None:
        """Decode a copy whose body and signature are verified; the other columns must fit."""
        try:
            body = decode_checkpoint(checkpoint)
        except TamperedData:
            return None  # reported with the stored checkpoint
        return body if self._has_signed_columns(checkpoint, body) else None

    def _is_rolled_up(self, number: int) -> bool:
        return (
            self._first is not None
            and self._rolled_up is not None
            and number <= min(self._first.previous_number, self._rolled_up.up_to)
        )

    def _verify_reference(self, body: CheckpointBody | None, digest: str) -> CheckpointBody | None:
        """Compare a copy that the store rightly lacks with its stored neighbours, if any."""
        if body is None:
            return None
        number, before = body.number, body.previous_number
        if digest != self._referred_hashes().get(number, digest):
            self._note(number, "outside the store, is not the one that later checkpoints refer to")
        elif self._stored_hashes.get(before) not in (None, body.previous):
            self._note(number, f"outside the store, does not hold the hash of checkpoint {before}")
        else:
            return body
        return None

    def _referred_hashes(self) -> dict[int, str]:
        """Return the hashes of absent checkpoints that stored ones hold, by number."""
        hashes = {mark.last: mark.last_hash for mark in self.restores}
        if self._rolled_up is not None:
            hashes[self._rolled_up.up_to] = self._rolled_up.last_hash
        if self._first is not None:
            hashes[self._first.previous_number] = self._first.previous
        return hashes

    def _add_external(self, checkpoint: Checkpoint) -> CheckpointBody | None:
        """Add the signed hashes of a copy kept outside and return its body, if it is valid."""
        body = self._verified_body(checkpoint)
        if body is not None:
            for stream, head in body.heads.items():
                if self._external_heads.get(stream) != head:
                    self.signed_hashes.add(stream, *head, body.number)
                    self._external_heads[stream] = head
        return body

    # --- both

    def _verified_body(self, checkpoint: Checkpoint) -> CheckpointBody | None:
        """Decode a checkpoint and verify its signature."""
        number, key_id = checkpoint.number, checkpoint.key_id
        try:
            body = decode_checkpoint(checkpoint)
        except TamperedData as tampered:
            self._note(number, tampered.problem)
            return None
        if not self._has_signed_columns(checkpoint, body):
            return None
        if (key := self._keys.get(key_id)) is None and key_id in self._replacements:
            self._replaced_since.setdefault(key_id, number)
        elif key is None:
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

    def _has_signed_columns(self, checkpoint: Checkpoint, body: CheckpointBody) -> bool:
        if (body.number, body.key_id) == (checkpoint.number, checkpoint.key_id):
            return True
        self._note(checkpoint.number, "its number or key id is not the signed one")
        return False

    def _note(self, number: object, what: str) -> None:
        self.findings.append(IntegrityFinding(f"checkpoint {number}", what))


class _Predecessor(NamedTuple):
    """The copy before another one in a file: its number, and its hash if it is valid."""

    number: int
    digest: str | None


_HASHES_PER_PAGE = 16


class LinkHashes:
    """The hashes of many checkpoints by number, in compact form."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def add(self, number: int, digest: str) -> None:
        """Add the hash of a checkpoint."""
        page, place = divmod(number, _HASHES_PER_PAGE)
        hashes = self._pages.setdefault(page, bytearray(32 * _HASHES_PER_PAGE))
        hashes[32 * place : 32 * place + 32] = bytes.fromhex(digest)

    def get(self, number: int) -> str | None:
        """Return the hash of a checkpoint, or None."""
        page, place = divmod(number, _HASHES_PER_PAGE)
        found = self._pages.get(page, b"")[32 * place : 32 * place + 32]
        return found.hex() if any(found) else None


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
