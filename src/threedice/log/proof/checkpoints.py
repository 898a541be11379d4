"""Checkpoints: the heads of all streams, signed, each holding the hash of the one before.

A chain alone cannot show that its end was cut off, or that all of it was written anew; a checkpoint
can, and the more so as each is also kept in a file outside the store. Most say only which heads
have moved since the one before; now and then one holds them all.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, BinaryIO

import msgspec

from threedice.errors import InvalidInput, StoreFailed, StreamConflict, TamperedData
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.proof.keys import has_signing_key, open_keys, read_public_keys
from threedice.log.store import Checkpoint
from threedice.log.stores.files import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from threedice.log.proof.keys import SigningKeys
    from threedice.log.store import Store

CHECKPOINTS_FILE = "checkpoints.jsonl"
NO_PREVIOUS_HASH = "0" * 64
MAX_SIGN_ATTEMPTS = 20

HexDigest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
StreamVersion = Annotated[int, msgspec.Meta(ge=1)]

_encoder = msgspec.json.Encoder(order="sorted")


class CheckpointBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=1
):
    """What is signed: the time, the checkpoint before, and the heads that moved, or all of them."""

    number: int
    at: int
    previous: HexDigest
    full: bool
    heads: dict[str, tuple[StreamVersion, HexDigest]]
    key_id: str


class CheckpointPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a checkpoint is made: after so many settled rounds, after so many seconds, or both.

    Nothing stands for never.
    """

    rounds: int | None = 1
    seconds: float | None = 10.0


def is_checkpoint_due(policy: CheckpointPolicy, *, settled: int, last: int, now: int) -> bool:
    """Tell whether it is time, with so many rounds settled since the last one.

    `last` and `now` count microseconds, like the times of entries.

    >>> is_checkpoint_due(CheckpointPolicy(rounds=1), settled=1, last=0, now=0)
    True
    >>> is_checkpoint_due(CheckpointPolicy(rounds=None, seconds=10), settled=7, last=0, now=9_999_999)
    False
    """
    by_rounds = policy.rounds is not None and settled >= policy.rounds
    return by_rounds or (policy.seconds is not None and now - last >= policy.seconds * 1_000_000)


class CheckpointSigner:
    """Makes the checkpoints of a server, in the store and in the file beside its keys.

    One thread at a time may use it.
    """

    def __init__(self, store: Store, keys: SigningKeys, state_dir: Path) -> None:
        self._store, self._keys, self._state_dir, self._file = (
            store,
            keys,
            state_dir,
            state_dir / CHECKPOINTS_FILE,
        )
        self._file_size, self._last_written = -1, 0  # of the file, as it was left
        self._heads: dict[str, Head] = {}  # as they were signed last, by whomever
        self._has_signed_all = False
        self._since_full = 0
        self._last: Checkpoint | None = None
        self._catch_up()
        self._append_to_file(self._last)

    def create_checkpoint(self, at: int) -> Checkpoint:
        """Sign what the heads are now and keep it, in the store first and then in the file."""
        for _ in range(MAX_SIGN_ATTEMPTS):
            heads = self._store.heads()
            body = self._next_body(heads, at)
            checkpoint = sign_checkpoint(self._keys, body)
            try:
                self._store.add_checkpoint(checkpoint)
            except StreamConflict:  # another server was first: this one follows on from that
                self._catch_up()
                continue
            self._advance_to(checkpoint, body)
            self._has_signed_all = True
            self._append_to_file(checkpoint)
            return checkpoint
        raise StreamConflict(f"{MAX_SIGN_ATTEMPTS} times others made a checkpoint first; try again")

    def set_keys(self, keys: SigningKeys) -> None:
        """Sign with another key from now on."""
        self._keys = keys

    def _next_body(self, heads: dict[str, Head], at: int) -> CheckpointBody:
        """Return all heads the first time, and again when as many have moved as there are."""
        moved = _moved_heads(self._heads, heads)
        self._require_same_past(moved)
        full = not self._has_signed_all or self._since_full + len(moved) >= len(heads)
        said = {name: (head.version, head.hash.hex()) for name, head in moved.items()}
        if full:
            said = {name: (head.version, head.hash.hex()) for name, head in heads.items()}
        number = 1 if self._last is None else self._last.number + 1
        return CheckpointBody(number, at, link_hash(self._last), full, said, self._keys.key_id)

    def _require_same_past(self, moved: Iterable[str]) -> None:
        """Refuse to sign a stream that does not go on from what was signed of it before."""
        for name in moved:
            signed = self._heads.get(name, EMPTY_HEAD)
            if signed.version:
                found = self._store.read(name, signed.version - 1, 1)
                if not found or found[0].hash != signed.hash:
                    where = f"{name} version {signed.version}"
                    raise TamperedData(where, "is not what was signed; verify the log")

    def _catch_up(self) -> None:
        """Take in what others have added to the store; what they say moves the known heads.

        Whoever signs after them signs with a key read after them: where one of them has signed
        with a new key, the one it retired signs nothing more.
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
        """Bring the file to where the store is; what it holds already must agree with the store."""
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
                f"the file of checkpoints {self._file} cannot be written ({error.strerror});"
                " make room for it or move it, and start again"
            ) from error

    def _missing_from_file(self, file: BinaryIO) -> list[Checkpoint]:
        """Return what is in the store and not in the file, which is left at its last whole line."""
        file.seek(0)
        text = file.read()
        whole = text.rfind(b"\n") + 1
        file.truncate(whole)  # what follows is an append that a crash cut short
        file.seek(whole)
        kept = {each.number: each for each in parse_checkpoints(text[:whole], str(self._file))}
        stored = {each.number: each for each in self._store.checkpoints()}
        for number, checkpoint in kept.items():
            if stored.get(number) != checkpoint:
                is_there = "another" if number in stored else "none"
                raise TamperedData(
                    f"checkpoint {number}",
                    f"{self._file} has it, and the store has {is_there}; verify the log, and if"
                    " the database was brought back from a backup, keep the file elsewhere",
                )
        lacking = sorted(stored.keys() - kept.keys())
        if lacking and lacking[0] < max(kept, default=0):
            raise TamperedData(f"checkpoint {lacking[0]}", f"is no longer in {self._file}")
        return [stored[number] for number in lacking]


def sign_checkpoint(keys: SigningKeys, body: CheckpointBody) -> Checkpoint:
    """Return a checkpoint that says what a body says."""
    data = _encoder.encode(body)
    return Checkpoint(body.number, data, keys.key_id, keys.sign(data))


def decode_checkpoint(checkpoint: Checkpoint) -> CheckpointBody:
    """Return what a checkpoint says, signed or not."""
    try:
        return msgspec.json.decode(checkpoint.body, type=CheckpointBody)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        raise TamperedData(f"checkpoint {checkpoint.number}", f"cannot be read: {error}") from error


def signed_heads(checkpoints: Iterable[Checkpoint]) -> dict[str, Head]:
    """Return the heads at the last of some checkpoints, which are all there are from the first."""
    heads: dict[str, Head] = {}
    for checkpoint in checkpoints:
        _advance(heads, decode_checkpoint(checkpoint))
    return heads


def _advance(heads: dict[str, Head], body: CheckpointBody) -> None:
    """Take heads on to a checkpoint from the one before."""
    if body.full:
        heads.clear()
    said = {
        name: Head(version, bytes.fromhex(digest)) for name, (version, digest) in body.heads.items()
    }
    heads.update(said)


def link_hash(previous: Checkpoint | None) -> str:
    """Return the hash by which a checkpoint holds on to the one before it."""
    if previous is None:
        return NO_PREVIOUS_HASH
    return sha256(previous.body + previous.signature).hexdigest()


def _moved_heads(known: Mapping[str, Head], heads: Mapping[str, Head]) -> dict[str, Head]:
    """Return the heads that moved; one that went back is never signed."""
    for name, head in known.items():
        now = heads.get(name, EMPTY_HEAD)
        if now != head and now.version <= head.version:
            what = f"is at version {now.version}, and was signed at version {head.version}"
            raise TamperedData(f"head of {name}", what)
    return {name: head for name, head in heads.items() if known.get(name) != head}


# --- the file outside the store -----------------------------------------------------------------


def encode_checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """Write a checkpoint as one line of JSON."""
    return _encoder.encode(checkpoint) + b"\n"


def read_checkpoints(file: Path) -> list[Checkpoint]:
    """Return the checkpoints in a file kept outside the store, without an unfinished last line."""
    return _require_all(*read_checkpoint_lines(file))


def read_checkpoint_lines(
    file: Path, *, growing: bool = True
) -> tuple[list[Checkpoint], list[TamperedData]]:
    """Return the checkpoints in a file, and which of its lines are none.

    The last line of one that is growing may not be all there yet.
    """
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"no checkpoints can be read from {file}: {error.strerror}") from error
    begun = text.rfind(b"\n") + 1
    if growing and not _parse_lines(text[begun:], "")[0]:
        text = text[:begun]
    return _parse_lines(text, str(file))


def parse_checkpoints(text: bytes, name: str) -> list[Checkpoint]:
    """Read lines written by `encode_checkpoint_line`."""
    return _require_all(*_parse_lines(text, name))


def _require_all(checkpoints: list[Checkpoint], troubles: list[TamperedData]) -> list[Checkpoint]:
    if troubles:
        raise troubles[0]
    return checkpoints


def _parse_lines(text: bytes, name: str) -> tuple[list[Checkpoint], list[TamperedData]]:
    checkpoints, troubles = list[Checkpoint](), list[TamperedData]()
    for number, each in enumerate(text.splitlines(), start=1):
        try:
            checkpoints.append(msgspec.json.decode(each, type=Checkpoint))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            troubles.append(TamperedData(f"{name} line {number}", f"is no checkpoint: {error}"))
    return checkpoints, troubles


@contextmanager
def _open_locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading and adding to, alone among all servers of this machine."""
    made = not path.exists()
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if made:
            sync_directory(path.parent)
        yield file
