"""Checkpoints: the signed heads of all streams, each with the hash of the previous checkpoint.

A hash chain alone cannot show that its end was cut off or that all of it was rewritten; a
checkpoint can, the more so because each is also written to a file outside the store. Most hold only
the heads that moved since the previous one; now and then one holds them all.

Old checkpoints are rolled up: a signed checkpoint permits their deletion from the store. They
remain in the file, and later checkpoints hold their hashes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import msgspec

from threedice.errors import (
    EntriesMissing,
    ForeignEntries,
    StoreFailed,
    StreamConflict,
    TamperedData,
)
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.proof.checkpoint_files import (
    CHECKPOINTS_FILE,
    encode_checkpoint_line,
    open_locked,
    read_tail,
    set_aside,
)
from threedice.log.proof.keys import (
    has_signing_key,
    is_valid_signature,
    read_keys,
    read_public_keys,
)
from threedice.log.records import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from threedice.log.proof.keys import SigningKeys
    from threedice.log.store import Store
    from threedice.log.stores.sql_rows import LogRows

NO_PREVIOUS_HASH = "0" * 64
MAX_SIGN_ATTEMPTS = 20
KEPT_CHECKPOINTS = 1_000
RESTORE_REMEDY = (
    "`threedice restore FILE` puts an older backup in place and records what is given up"
)
HexDigest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
StreamVersion = Annotated[int, msgspec.Meta(ge=1)]
_encoder = msgspec.json.Encoder(order="sorted")


class RestoreMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A restore of a backup that ended at checkpoint `after`.

    It gave up the later checkpoints, up to `last`; without any, `last` equals `after`.
    """

    at: int
    after: int
    last: int
    last_hash: HexDigest

    @property
    def number(self) -> int:
        """The number of the first checkpoint after the restore."""
        return self.last + 1

    def gave_up(self, number: int) -> bool:
        """Return whether the restore gave up a checkpoint."""
        return self.after < number <= self.last


class RollUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Permission to delete the checkpoints up to a number from the store, and the last one's hash.

    Each checkpoint holds the hash of the previous one, so the last hash covers all of them.
    """

    up_to: int
    last_hash: HexDigest


class CheckpointBody(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag=1,
):
    """The signed content: time, previous checkpoint, and the moved heads or all of them.

    Full checkpoints hold all restores so far and the last roll-up. `log_key` is the id of the key
    of the heads' MACs, if one is in use.
    """

    number: int
    at: int
    previous: HexDigest
    full: bool
    heads: dict[str, tuple[StreamVersion, HexDigest]]
    key_id: str
    restores: tuple[RestoreMark, ...] = ()
    rolled_up: RollUp | None = None
    log_key: str = ""

    @property
    def restore(self) -> RestoreMark | None:
        """The restore that directly precedes this checkpoint."""
        last = self.restores[-1] if self.restores else None
        return last if last is not None and last.number == self.number else None

    @property
    def previous_number(self) -> int:
        """The number of the checkpoint whose hash is `previous`."""
        return self.number - 1 if self.restore is None else self.restore.after


class CheckpointSigner:
    """Sign the checkpoints of a server, into the store and the file next to its keys.

    The store holds at least `kept` checkpoints and at most about three times as many: older ones
    are rolled up and deleted. Start-up therefore reads only the last ones, and the end of the file.

    Not thread-safe.
    """

    def __init__(
        self,
        store: Store,
        keys: SigningKeys,
        state_dir: Path,
        *,
        kept: int = KEPT_CHECKPOINTS,
    ) -> None:
        """Complete the file, whose end must agree with the store."""
        self._store, self._keys, self._kept = store, keys, kept
        self._state_dir, self._file = state_dir, state_dir / CHECKPOINTS_FILE
        self._file_size, self._last_written = -1, 0  # of the file, after the last append
        self._is_loaded = False
        self._heads: dict[str, Head] = {}  # as signed last, by any server
        self._has_signed_all = False
        self._since_full = self._heads_since_full = 0
        self._restores: tuple[RestoreMark, ...] = ()
        self._rolled_up: RollUp | None = None
        self._deleted_up_to = 0
        self._last: Checkpoint | None = None
        self._last_full: Checkpoint | None = None
        self.foreign: dict[str, ForeignEntries] = {}
        """Streams whose heads were not signed: the house did not write them, or they went back."""
        self._append_to_file(None)

    def create_checkpoint(self, at: int) -> Checkpoint:
        """Sign the current heads and save them, first in the store, then in the file."""
        self.load()
        for _ in range(MAX_SIGN_ATTEMPTS):
            heads = self._read_signable_heads()
            body = self._next_body(heads, at)
            checkpoint = sign_checkpoint(self._keys, body)
            try:
                self._store.add_checkpoint(checkpoint)
            except StreamConflict:  # another server was first: continue from its checkpoint
                self._catch_up()
                continue
            self._advance_to(checkpoint, body)
            self._has_signed_all = True
            self._append_to_file(checkpoint)
            self.delete_rolled_up()
            return checkpoint
        raise StreamConflict(
            f"other servers signed a checkpoint first {MAX_SIGN_ATTEMPTS} times; try again"
        )

    def load(self) -> None:
        """Read the signed heads, which are then known to the store."""
        if not self._is_loaded:
            self._catch_up()

    def signed_head(self, stream: str) -> Head:
        """Return the last signed head of a stream."""
        self.load()
        return self._heads.get(stream, EMPTY_HEAD)

    def set_keys(self, keys: SigningKeys) -> None:
        """Sign with another key from now on."""
        self._keys = keys

    def _read_signable_heads(self) -> dict[str, Head]:
        """Return the current heads; a stream in `foreign` keeps the one last signed.

        If entries of a stream were removed that this server knows, its head with them is signed, so
        that a restart does not forget them.
        """
        known = self._store.known_heads.copy()
        stored = self._store.heads_with_macs()
        heads, self.foreign = self._heads.copy(), {}
        for stream in stored.keys() | known.keys():
            head, mac = stored.get(stream, (EMPTY_HEAD, b""))
            signed, last_known = self._heads.get(stream), known.get(stream, EMPTY_HEAD)
            if head == signed == last_known:
                continue
            try:
                self._store.require_extension(stream, head, signed or EMPTY_HEAD)
                self._store.require_own(stream, head, mac, last_known)
            except EntriesMissing as missing:
                self.foreign[stream] = missing
                if last_known.version > (signed or EMPTY_HEAD).version:
                    heads[stream] = last_known
            except ForeignEntries as foreign:
                self.foreign[stream] = foreign
            else:
                heads[stream] = head
        return heads

    def _next_body(self, heads: dict[str, Head], at: int) -> CheckpointBody:
        """Build the next body, with the moved heads or all of them.

        All heads are included the first time, once as many have moved as there are streams, and
        often enough that the signed heads can be told from the checkpoints that are kept.
        """
        moved = {name: head for name, head in heads.items() if self._heads.get(name) != head}
        full = (
            not self._has_signed_all
            or self._heads_since_full + len(moved) >= len(heads)
            or self._since_full + 1 >= self._kept
        )
        return CheckpointBody(
            number=self._last_number + 1,
            at=at,
            previous=link_hash(self._last),
            full=full,
            heads=_encode_heads(heads if full else moved),
            key_id=self._keys.key_id,
            restores=self._restores if full else (),
            rolled_up=self._next_roll_up() if full else None,
            log_key=macs.key_id if (macs := self._store.head_macs) else "",
        )

    @property
    def _last_number(self) -> int:
        return 0 if self._last is None else self._last.number

    # --- the store

    def _catch_up(self) -> None:
        """Take in the checkpoints that other servers added, and reload the signing key.

        Reads back to the last known checkpoint, or to the last full one. If another server has
        signed with a new key, the key that it retired must sign nothing more.
        """
        for checkpoint in self._store.scan_checkpoints(self._last_needed()):
            self._advance_to(checkpoint, decode_checkpoint(checkpoint))
        self._is_loaded = True
        if has_signing_key(self._state_dir) and self._keys.key_id in read_public_keys(
            self._state_dir
        ):
            self._keys = read_keys(self._state_dir)

    def _last_needed(self) -> int:
        """Return the number after which checkpoints must be read."""
        known = self._last
        for checkpoint in self._store.scan_checkpoints_back():
            if known is not None and checkpoint.number <= known.number:
                if checkpoint != known:
                    break
                return known.number
            if decode_checkpoint(checkpoint).full:
                return checkpoint.number - 1
        if known is None:
            return 0
        raise TamperedData(
            f"checkpoint {known.number}", "is no longer in the store; verify the log"
        )

    def _advance_to(self, checkpoint: Checkpoint, body: CheckpointBody) -> None:
        heads = _heads_of(body)
        for stream, head in heads.items():
            self._store.know_head(stream, head)
        if body.full:
            self._heads, self._since_full, self._heads_since_full = heads, 0, 0
            self._restores, self._rolled_up = body.restores, body.rolled_up
            self._last_full = checkpoint
        else:
            self._heads |= heads
            self._since_full += 1
            self._heads_since_full += len(body.heads)
        self._last = checkpoint

    def _next_roll_up(self) -> RollUp | None:
        """Roll up all but the last checkpoints, if many have come since the last roll-up."""
        rolled_up_to = 0 if self._rolled_up is None else self._rolled_up.up_to
        if self._last_number - rolled_up_to >= 2 * self._kept:
            before = self._last_number - self._kept
            for checkpoint in self._store.scan_checkpoints_back(before):
                if checkpoint.number > rolled_up_to:
                    return RollUp(checkpoint.number, link_hash(checkpoint))
                break
        return self._rolled_up

    @property
    def has_rolled_up(self) -> bool:
        """True if the store may still hold checkpoints that are rolled up."""
        return self._rolled_up is not None and self._rolled_up.up_to != self._deleted_up_to

    def delete_rolled_up(self) -> None:
        """Delete the oldest of the checkpoints that are rolled up, a limited number at a time.

        Where a checkpoint does not hold the hash of the previous one, they stay as evidence.
        """
        if self._rolled_up is None or not self.has_rolled_up:
            return
        up_to = self._rolled_up.up_to
        oldest, intact = self._store.checkpoints(limit=2 * self._kept + 1), 0
        with suppress(TamperedData):
            for checkpoint, following in pairwise(oldest):
                is_linked = decode_checkpoint(following).previous == link_hash(checkpoint)
                if checkpoint.number > up_to or not is_linked:
                    break
                intact = checkpoint.number
        if intact:
            self._store.delete_checkpoints(intact)
        else:
            self._deleted_up_to = up_to

    # --- the file

    def _append_to_file(self, latest: Checkpoint | None) -> None:
        """Append missing checkpoints to the file; its end must agree with the store."""
        try:
            with open_locked(self._file) as file:
                size = file.seek(0, os.SEEK_END)
                follows = latest is not None and latest.number == self._last_written + 1
                new: Iterable[Checkpoint] | None
                if latest is not None and follows and size == self._file_size:
                    new = [latest]
                else:
                    new = self._missing_from_file(read_tail(file, str(self._file)))
                if new is None:
                    set_aside(self._file, self._last_written)
                else:
                    self._write(file, new)
        except OSError as error:
            self._file_size = -1
            raise StoreFailed(
                f"the checkpoint file {self._file} cannot be written ({error.strerror});"
                " free disk space or move the file, and start again"
            ) from error
        if new is None:
            self._append_to_file(None)

    def _write(self, file: BinaryIO, checkpoints: Iterable[Checkpoint]) -> None:
        for checkpoint in checkpoints:
            file.write(encode_checkpoint_line(checkpoint))
            self._last_written = checkpoint.number
        file.flush()
        os.fsync(file.fileno())
        self._file_size = file.tell()

    def _missing_from_file(self, tail: Sequence[Checkpoint]) -> Iterable[Checkpoint] | None:
        """Return the checkpoints that the store has after the end of the file.

        None if those that follow have been deleted, or if there are too many: then another file
        must begin, with the last ones.
        """
        newest = next(self._store.scan_checkpoints_back(), None)
        first_kept = 0 if newest is None else newest.number - self._kept
        if not tail:
            return self._store.scan_checkpoints(first_kept)
        self._require_stored(tail)
        self._last_written = last = tail[-1].number
        following = next(iter(self._store.checkpoints(last, limit=1)), None)
        if following is None:
            return ()
        if last < first_kept or decode_checkpoint(following).previous_number > last:
            return None
        return self._store.scan_checkpoints(last)

    def _require_stored(self, tail: Sequence[Checkpoint]) -> None:
        """Raise unless the store has these checkpoints, or rightly lacks them."""
        first, last = tail[0].number, tail[-1].number
        in_file = {each.number for each in tail}
        stored = {each.number: each for each in self._store.checkpoints(first - 1, up_to=last)}
        if not in_file <= stored.keys():
            self._catch_up()  # other servers may just have rolled them up
        for checkpoint in tail:
            number = checkpoint.number
            if stored.get(number) != checkpoint and not (
                number not in stored and self._is_rightly_absent(checkpoint)
            ):
                other = "another" if number in stored else "none"
                raise TamperedData(
                    f"checkpoint {number}",
                    f"{self._file} has it, and the store has {other}; verify the log;"
                    f" {RESTORE_REMEDY}",
                )
        for number in sorted(stored.keys() - in_file):
            raise TamperedData(f"checkpoint {number}", f"is no longer in {self._file}")

    def _is_rightly_absent(self, checkpoint: Checkpoint) -> bool:
        """Return whether a restore gave up a checkpoint, or a roll-up let it be deleted.

        Only a checkpoint signed by a known key may say so.
        """
        full = self._last_full
        key = None if full is None else read_public_keys(self._state_dir).get(full.key_id)
        if full is None or key is None or not is_valid_signature(key, full.body, full.signature):
            return False
        number, digest = checkpoint.number, link_hash(checkpoint)
        for mark in self._restores:
            if mark.gave_up(number):
                return number < mark.last or digest == mark.last_hash
        roll_up = self._rolled_up
        if roll_up is None or number > roll_up.up_to:
            return False
        return number < roll_up.up_to or digest == roll_up.last_hash


def sign_restore(
    keys: SigningKeys,
    at: int,
    heads: Mapping[str, Head],
    kept: Sequence[Checkpoint],
    given_up: Checkpoint | None,
) -> Checkpoint:
    """Sign the first checkpoint after a restore: all heads, and a mark of what it gives up.

    `kept` are the last checkpoints of the backup, from a full one on. `given_up` is the last one
    known that is later.
    """
    last, full = (kept[-1], decode_checkpoint(kept[0])) if kept else (None, None)
    restores, newest = full.restores if full else (), given_up or last
    if newest is not None:
        after = last.number if last else 0
        restores += (RestoreMark(at, after, newest.number, link_hash(newest)),)
    body = CheckpointBody(
        number=newest.number + 1 if newest else 1,
        at=at,
        previous=link_hash(last),
        full=True,
        heads=_encode_heads(heads),
        key_id=keys.key_id,
        restores=restores,
        rolled_up=full.rolled_up if full else None,
    )
    return sign_checkpoint(keys, body)


def sign_checkpoint(keys: SigningKeys, body: CheckpointBody) -> Checkpoint:
    """Sign a checkpoint body."""
    data = _encoder.encode(body)
    return Checkpoint(body.number, data, keys.key_id, keys.sign(data))


def decode_checkpoint(checkpoint: Checkpoint) -> CheckpointBody:
    """Decode the body of a checkpoint without checking its signature."""
    try:
        return msgspec.json.decode(checkpoint.body, type=CheckpointBody)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        raise TamperedData(f"checkpoint {checkpoint.number}", f"cannot be read: {error}") from error


def read_last_checkpoints(rows: LogRows) -> list[Checkpoint]:
    """Return the last full checkpoint among the rows of a log, and those after it."""
    checkpoints = list[Checkpoint]()
    for row in rows.newest_checkpoints():
        checkpoints.append(Checkpoint(*row))
        if decode_checkpoint(checkpoints[-1]).full:
            break
    return checkpoints[::-1]


def signed_heads(checkpoints: Iterable[Checkpoint]) -> dict[str, Head]:
    """Return the heads at the last checkpoint, given those from a full one on."""
    heads: dict[str, Head] = {}
    for checkpoint in checkpoints:
        body = decode_checkpoint(checkpoint)
        if body.full:
            heads.clear()
        heads |= _heads_of(body)
    return heads


def _encode_heads(heads: Mapping[str, Head]) -> dict[str, tuple[int, str]]:
    return {name: (head.version, head.hash.hex()) for name, head in heads.items()}


def _heads_of(body: CheckpointBody) -> dict[str, Head]:
    return {
        name: Head(version, bytes.fromhex(digest)) for name, (version, digest) in body.heads.items()
    }


def link_hash(previous: Checkpoint | None) -> str:
    """Return the hash by which a checkpoint refers to the previous one."""
    if previous is None:
        return NO_PREVIOUS_HASH
    return sha256(previous.body + previous.signature).hexdigest()
