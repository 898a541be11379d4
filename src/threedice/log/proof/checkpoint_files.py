"""Files of checkpoints outside the store: one checkpoint per line, in JSON."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from threedice.db.sqlite import sync_directory
from threedice.errors import InvalidInput, TamperedData
from threedice.log.records import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECKPOINTS_FILE = "checkpoints.jsonl"

ExternalCheckpoint = Checkpoint | TamperedData | None
"""A checkpoint kept outside the store, an error for a malformed line, or the end of a file."""

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Checkpoint)


def encode_checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """Encode a checkpoint as one line of JSON."""
    return _encoder.encode(checkpoint) + b"\n"


def decode_checkpoint_line(line: bytes, where: str) -> Checkpoint:
    """Decode a line written by `encode_checkpoint_line`."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TamperedData(where, f"is not a checkpoint: {error}") from error


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """The checkpoints in files outside the store, read line by line each time.

    Lines that a house appends later are left out, so that a snapshot of its store that is taken
    after this object is created holds all of them. The last line of a file that a house appends to
    may be incomplete, and is then ignored.
    """

    copies: tuple[Path, ...] = ()
    growing: Path | None = None
    _sizes: dict[Path, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for path in (*self.copies, *((self.growing,) if self.growing else ())):
            with suppress(OSError):  # reading it reports the problem
                self._sizes[path] = path.stat().st_size

    def __iter__(self) -> Iterator[ExternalCheckpoint]:
        """Yield the checkpoints."""
        for copy in self.copies:
            yield from _read_lines(copy, self._sizes.get(copy, 0))
            yield None
        if self.growing is not None:
            yield from _read_lines(self.growing, self._sizes.get(self.growing, 0), growing=True)


def _read_lines(path: Path, size: int, *, growing: bool = False) -> Iterator[ExternalCheckpoint]:
    """Yield the lines within the first bytes of a file."""
    try:
        with path.open("rb") as file:
            for number in count(1):
                if not (line := file.readline(max(0, size - file.tell()))):
                    return
                try:
                    yield decode_checkpoint_line(line, f"{path} line {number}")
                except TamperedData as error:
                    if line.endswith(b"\n") or not growing:
                        yield error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def read_checkpoints(file: Path) -> list[Checkpoint]:
    """Read all checkpoints of a house's file; raise if a line is malformed."""
    checkpoints = list[Checkpoint]()
    for each in CheckpointFiles(growing=file):
        if isinstance(each, TamperedData):
            raise each
        if each is not None:
            checkpoints.append(each)
    return checkpoints


# --- appending ----------------------------------------------------------------------------------

TAIL_BYTES = 1 << 14
"""Bytes read from the end of a file at first: reading all of it would take longer every day."""


@contextmanager
def open_locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading and appending, locked against other servers on this machine."""
    while True:
        is_new = not path.exists()
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not (path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))):
                continue  # moved away while this server waited for the lock
            if is_new:
                sync_directory(path.parent)
            yield file
            return


def read_tail(file: BinaryIO, name: str) -> list[Checkpoint]:
    """Return the checkpoints of the last lines, and cut off an incomplete last line.

    Leaves the position at the end.
    """
    checkpoints, end = _read_end(file, name)
    file.truncate(end)  # the rest is an append that a crash interrupted
    file.seek(end)
    return checkpoints


def read_last_lines(path: Path) -> list[Checkpoint]:
    """Return the checkpoints of the last complete lines of a house's file; none if it is absent."""
    try:
        with path.open("rb") as file:
            return _read_end(file, str(path))[0]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def _read_end(file: BinaryIO, name: str) -> tuple[list[Checkpoint], int]:
    """Return the checkpoints of the last complete lines, at least one if there is one.

    Returns also where the last complete line ends.
    """
    end, size = file.seek(0, os.SEEK_END), TAIL_BYTES
    while True:
        start = file.seek(max(0, end - size))
        text = file.read(end - start)
        if start == 0 or text.count(b"\n") > 1:
            break
        size *= 4
    complete = text.rfind(b"\n") + 1
    lines = text[:complete].splitlines()[1 if start else 0 :]
    found = [decode_checkpoint_line(line, f"{name} near its end") for line in lines]
    return found, start + complete


def set_aside(path: Path, last: int) -> None:
    """Rename a file, which ends at checkpoint `last`, so that another begins."""
    for number in count():
        suffix = f"-{number}" if number else ""
        target = path.with_name(f"{path.stem}-to-{last}{suffix}{path.suffix}")
        if not target.exists():
            path.rename(target)
            sync_directory(path.parent)
            return
