"""Checkpoints: the signed heads of all streams, each with the hash of the previous checkpoint.

A hash chain alone cannot show that its end was cut off or that all of it was rewritten; a
checkpoint can, the more so because each is also written to a file outside the store. Most hold only
the heads that moved since the previous one; now and then one holds them all.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, BinaryIO

import msgspec

from threedice.db.sqlite import sync_directory
from threedice.errors import InvalidInput, StoreFailed, StreamConflict, TamperedData
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.proof.keys import has_signing_key, open_keys, read_public_keys
from threedice.log.records import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from threedice.log.proof.keys import SigningKeys
    from threedice.log.store import Store

CHECKPOINTS_FILE = "checkpoints.jsonl"
NO_PREVIOUS_HASH = "0" * 64
MAX_SIGN_ATTEMPTS = 20
HexDigest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
StreamVersion = Annotated[int, msgspec.Meta(ge=1)]
_encoder = msgspec.json.Encoder(order="sorted")


class CheckpointBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=1
):
    """The signed content: time, previous checkpoint, and the moved heads or all of them."""

    number: int
    at: int
    previous: HexDigest
    full: bool
    heads: dict[str, tuple[StreamVersion, HexDigest]]
    key_id: str


class CheckpointSigner:
    """Sign the checkpoints of a server, into the store and the file next to its keys.

    Not thread-safe.
    """

    def __init__(self, store: Store, keys: SigningKeys, state_dir: Path) -> None:
        self._store, self._keys = store, keys
        self._state_dir, self._file = state_dir, state_dir / CHECKPOINTS_FILE
        self._file_size, self._last_written = -1, 0  # of the file, after the last append
        self._heads: dict[str, Head] = {}  # as signed last, by any server
        self._has_signed_all = False
        self._since_full = 0
        self._last: Checkpoint | None = None
        self._catch_up()
        self._append_to_file(self._last)

    def create_checkpoint(self, at: int) -> Checkpoint:
        """Sign the current heads and save them, first in the store, then in the file."""
        for _ in range(MAX_SIGN_ATTEMPTS):
            heads = self._store.heads()
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
            return checkpoint
        raise StreamConflict(
            f"other servers signed a checkpoint first {MAX_SIGN_ATTEMPTS} times; try again"
        )

    def set_keys(self, keys: SigningKeys) -> None:
        """Sign with another key from now on."""
        self._keys = keys

    def _next_body(self, heads: dict[str, Head], at: int) -> CheckpointBody:
        """Build the next body, with the moved heads or all of them.

        All heads are included the first time, and once as many have moved as there are streams.
        """
        moved = _moved_heads(self._heads, heads)
        self._require_same_past(moved)
        full = not self._has_signed_all or self._since_full + len(moved) >= len(heads)
        included = heads if full else moved
        signed = {name: (head.version, head.hash.hex()) for name, head in included.items()}
        number = 1 if self._last is None else self._last.number + 1
        return CheckpointBody(number, at, link_hash(self._last), full, signed, self._keys.key_id)

    def _require_same_past(self, moved: Iterable[str]) -> None:
        """Refuse to sign a stream that does not extend its last signed head."""
        for name in moved:
            signed = self._heads.get(name, EMPTY_HEAD)
            if signed.version:
                entries = self._store.read(name, signed.version - 1, 1)
                if not entries or entries[0].hash != signed.hash:
                    where = f"{name} version {signed.version}"
                    raise TamperedData(where, "differs from its signed head; verify the log")

    def _catch_up(self) -> None:
        """Take in checkpoints that other servers added, and reload the signing key.

        If another server has signed with a new key, the key that it retired must sign nothing more.
        """
        for checkpoint in self._store.checkpoints():
            if self._last is None or checkpoint.number > self._last.number:
                self._advance_to(checkpoint, decode_checkpoint(checkpoint))
        if has_signing_key(self._state_dir) and self._keys.key_id in read_public_keys(
            self._state_dir
        ):
            self._keys = open_keys(self._state_dir)

    def _advance_to(self, checkpoint: Checkpoint, body: CheckpointBody) -> None:
        _advance(self._heads, body)
        self._since_full = 0 if body.full else self._since_full + len(body.heads)
        self._last = checkpoint

    def _append_to_file(self, latest: Checkpoint | None) -> None:
        """Append missing checkpoints to the file; its content must agree with the store."""
        try:
            with _open_locked(self._file) as file:
                size = file.seek(0, os.SEEK_END)
                follows = latest is not None and latest.number == self._last_written + 1
                new = (
                    [latest]
                    if latest and follows and size == self._file_size
                    else self._missing_from_file(file)
                )
                file.write(b"".join(encode_checkpoint_line(each) for each in new))
                file.flush()
                os.fsync(file.fileno())
                self._file_size = file.tell()
                self._last_written = new[-1].number if new else self._last_written
        except OSError as error:
            self._file_size = -1
            raise StoreFailed(
                f"the checkpoint file {self._file} cannot be written ({error.strerror});"
                " free disk space or move the file, and start again"
            ) from error

    def _missing_from_file(self, file: BinaryIO) -> list[Checkpoint]:
        """Return the checkpoints that only the store has; cut an incomplete last line."""
        file.seek(0)
        text = file.read()
        complete = text.rfind(b"\n") + 1
        file.truncate(complete)  # the rest is an append that a crash interrupted
        file.seek(complete)
        in_file = {
            each.number: each for each in parse_checkpoints(text[:complete], str(self._file))
        }
        stored = {each.number: each for each in self._store.checkpoints()}
        for number, checkpoint in in_file.items():
            if stored.get(number) != checkpoint:
                other = "another" if number in stored else "none"
                raise TamperedData(
                    f"checkpoint {number}",
                    f"{self._file} has it, and the store has {other}; verify the log, and if"
                    " the database was restored from a backup, move the file elsewhere",
                )
        missing = sorted(stored.keys() - in_file.keys())
        if missing and missing[0] < max(in_file, default=0):
            raise TamperedData(f"checkpoint {missing[0]}", f"is no longer in {self._file}")
        return [stored[number] for number in missing]


def _moved_heads(known: Mapping[str, Head], heads: Mapping[str, Head]) -> dict[str, Head]:
    """Return the heads that moved; raise if one went back."""
    for name, head in known.items():
        current = heads.get(name, EMPTY_HEAD)
        if current != head and current.version <= head.version:
            what = f"is at version {current.version}, but was signed at version {head.version}"
            raise TamperedData(f"head of {name}", what)
    return {name: head for name, head in heads.items() if known.get(name) != head}


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


def signed_heads(checkpoints: Iterable[Checkpoint]) -> dict[str, Head]:
    """Return the heads at the last checkpoint, given all checkpoints from the first."""
    heads: dict[str, Head] = {}
    for checkpoint in checkpoints:
        _advance(heads, decode_checkpoint(checkpoint))
    return heads


def _advance(heads: dict[str, Head], body: CheckpointBody) -> None:
    """Update heads from one checkpoint to the next."""
    if body.full:
        heads.clear()
    for name, (version, digest) in body.heads.items():
        heads[name] = Head(version, bytes.fromhex(digest))


def link_hash(previous: Checkpoint | None) -> str:
    """Return the hash by which a checkpoint refers to the previous one."""
    if previous is None:
        return NO_PREVIOUS_HASH
    return sha256(previous.body + previous.signature).hexdigest()


# --- the file outside the store -----------------------------------------------------------------


def encode_checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """Encode a checkpoint as one line of JSON."""
    return _encoder.encode(checkpoint) + b"\n"


def read_checkpoints(file: Path) -> list[Checkpoint]:
    """Read the checkpoints of a file outside the store, ignoring an incomplete last line."""
    return _require_all(*read_checkpoint_lines(file))


def read_checkpoint_lines(
    file: Path, *, growing: bool = True
) -> tuple[list[Checkpoint], list[TamperedData]]:
    """Return the checkpoints of a file, and an error for each malformed line.

    The last line of a growing file may be incomplete, and is then ignored.
    """
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    last_line = text.rfind(b"\n") + 1
    if growing and not _parse_lines(text[last_line:], "")[0]:
        text = text[:last_line]
    return _parse_lines(text, str(file))


def parse_checkpoints(text: bytes, name: str) -> list[Checkpoint]:
    """Parse lines written by `encode_checkpoint_line`."""
    return _require_all(*_parse_lines(text, name))


def _require_all(checkpoints: list[Checkpoint], errors: list[TamperedData]) -> list[Checkpoint]:
    if errors:
        raise errors[0]
    return checkpoints


def _parse_lines(text: bytes, name: str) -> tuple[list[Checkpoint], list[TamperedData]]:
    checkpoints, errors = list[Checkpoint](), list[TamperedData]()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            checkpoints.append(msgspec.json.decode(line, type=Checkpoint))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            errors.append(TamperedData(f"{name} line {number}", f"is not a checkpoint: {error}"))
    return checkpoints, errors


@contextmanager
def _open_locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading and appending, locked against other servers on this machine."""
    is_new = not path.exists()
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if is_new:
            sync_directory(path.parent)
        yield file
