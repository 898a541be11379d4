"""A simulated disk with a volatile cache: what is not synced may be lost when the power goes.

Files live in memory. A write goes to the cache in sectors, and a sync makes one file's sectors
durable. Names are made and removed durably only when a new file is synced, or the directory is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tests.faults.disk_survival import NEVER, Version, Weather, chosen, sector, weather

if TYPE_CHECKING:
    from random import Random

Image = Mapping[str, bytes]
"""What lies on a disk: the files by name."""


class Call(Enum):
    """What is asked of a disk; each call has the next index and can be made to fail."""

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    DELETE = "delete"


class Fault(Enum):
    """How calls fail."""

    BROKEN = "EIO"
    FULL = "ENOSPC"
    UNSYNCED = "failing fsync"

    def concerns(self, call: Call) -> bool:
        """Return whether a call can fail so."""
        match self:
            case Fault.BROKEN:
                return True
            case Fault.FULL:
                return call in (Call.OPEN, Call.WRITE, Call.SYNC)
            case Fault.UNSYNCED:
                return call is Call.SYNC


class Failing(NamedTuple):
    """When a disk fails and how: at one call, or from that one on."""

    fault: Fault
    at: int
    lasting: bool = False


class DiskFailed(Exception):
    """A call that the disk was told to fail."""

    def __init__(self, call: Call, fault: Fault) -> None:
        self.call, self.fault = call, fault
        super().__init__(f"{call.value} fails with {fault.value}")


class Operation(NamedTuple):
    """A call that changed something, so that it can be done again on a disk of the same image."""

    call: Call
    file: int
    name: str = ""
    offset: int = 0
    data: bytes = b""
    durably: bool = False


@dataclass(slots=True, eq=False)
class File:
    """A file: what programs see of it, what is durable of it, and what is pending in between.

    What is `abandoned` no later sync makes durable, unless it is written again.
    """

    number: int
    content: bytearray
    durable: bytearray
    sizes: list[tuple[int, int]] = field(default_factory=list)
    pending: dict[int, list[Version]] = field(default_factory=dict)
    abandoned: set[int] = field(default_factory=set)

    def copy(self) -> File:
        """Return a file in the same state."""
        return File(
            self.number,
            bytearray(self.content),
            bytearray(self.durable),
            list(self.sizes),
            {number: list(versions) for number, versions in self.pending.items()},
            set(self.abandoned),
        )


class Cut(NamedTuple):
    """What a power cut left, and what it did to that which was pending."""

    image: Image
    dropped: bool
    torn: bool
    reordered: bool


class Disk:
    """A disk that holds an image at first, and keeps a trace of everything that changes it."""

    def __init__(self, image: Image, *, sector: int = 4096, powersafe: bool = True) -> None:
        self.sector, self.powersafe = sector, powersafe
        self.files: list[File] = []
        self.names = {name: self._file(data) for name, data in image.items()}
        self.pending_names: dict[str, list[tuple[int, File | None]]] = {}
        self.calls: list[Call] = []
        self.trace: list[Operation] = []
        self.failing: Failing | None = None

    # --- what programs do ---

    def open(self, name: str) -> File:
        """Return the file of a name; it is made where there is none."""
        self._called(Call.OPEN)
        if name not in self.names:
            file = self._file()
            self._name(name, file)
            self.trace.append(Operation(Call.OPEN, file.number, name))
        return self.names[name]

    def read(self, file: File, offset: int, amount: int) -> bytes:
        """Return bytes of a file as programs see it, fewer where it ends before."""
        self._called(Call.READ)
        return bytes(file.content[offset : offset + amount])

    def write(self, file: File, offset: int, data: bytes) -> None:
        """Write into the cache: nothing is durable yet. Half of a write that fails is there."""
        try:
            self._called(Call.WRITE)
        except DiskFailed:
            self._cache(file, offset, data[: len(data) // 2])
            raise
        self._cache(file, offset, data)

    def _cache(self, file: File, offset: int, data: bytes) -> None:
        when, end, size, content = len(self.trace), offset + len(data), self.sector, file.content
        if end > len(content):
            content.extend(bytes(end - len(content)))
            file.sizes.append((when, end))
        content[offset:end] = data
        for number in range(offset // size, -(-end // size)):
            start = number * size
            now = bytes(content[start : start + size])
            version = Version(when, now, max(offset - start, 0), min(end - start, size))
            file.pending.setdefault(number, []).append(version)
        if file.abandoned:
            file.abandoned.difference_update(range(offset // size, -(-end // size)))
        self.trace.append(Operation(Call.WRITE, file.number, offset=offset, data=data))

    def truncate(self, file: File, size: int) -> None:
        """Set the length of a file; that is pending like a write."""
        self._called(Call.TRUNCATE)
        file.sizes.append((len(self.trace), size))
        del file.content[size:]
        file.content.extend(bytes(size - len(file.content)))
        self.trace.append(Operation(Call.TRUNCATE, file.number, offset=size))

    def sync(self, file: File) -> None:
        """Make durable what was written to a file, and all names where it is a new one.

        The latter because SQLite syncs the directory of a new journal with it. After a sync that
        failed the cache holds what it held but takes it for written, as operating systems do: no
        later sync makes that durable.
        """
        try:
            self._called(Call.SYNC)
        except DiskFailed:
            file.abandoned.update(file.pending)
            raise
        self._settle(file)
        if any(self.names.get(name) is file for name in self.pending_names):
            self.pending_names.clear()
        self.trace.append(Operation(Call.SYNC, file.number))

    def delete(self, name: str, *, durably: bool) -> None:
        """Remove a name, durably where the directory is synced as well."""
        self._called(Call.DELETE)
        number = self.names[name].number
        self._name(name, None)
        if durably:
            self.pending_names.clear()
        self.trace.append(Operation(Call.DELETE, number, name, durably=durably))

    def again(self, operation: Operation) -> None:
        """Do again what a disk with the same image at first has in its trace."""
        call, number, name, offset, data, durably = operation
        match call:
            case Call.OPEN:
                self.open(name)
            case Call.WRITE:
                self.write(self.files[number], offset, data)
            case Call.TRUNCATE:
                self.truncate(self.files[number], offset)
            case Call.SYNC:
                self.sync(self.files[number])
            case Call.DELETE:
                self.delete(name, durably=durably)
            case Call.READ:
                raise ValueError("a read changes nothing, so no trace has one")

    def forget(self, name: str) -> None:
        """Let go of what the cache takes for written, as the operating system does when asked."""
        file = self.names.get(name)
        if file is None:
            return
        for number in file.abandoned:
            start = number * self.sector
            length = len(file.content[start : start + self.sector])
            file.content[start : start + length] = file.durable[start : start + length].ljust(
                length, b"\0"
            )
            del file.pending[number]
        file.abandoned.clear()

    # --- what is found afterwards ---

    def image(self) -> Image:
        """Return what programs see: what is found when a process dies but the machine lives."""
        return {name: bytes(file.content) for name, file in self.names.items()}

    def copy(self) -> Disk:
        """Return a disk in the same state, pending writes and all, that does not fail."""
        other = Disk({}, sector=self.sector, powersafe=self.powersafe)
        other.files = [file.copy() for file in self.files]
        other.names = {name: other.files[file.number] for name, file in self.names.items()}
        other.pending_names = {
            name: [(when, file and other.files[file.number]) for when, file in history]
            for name, history in self.pending_names.items()
        }
        other.calls, other.trace = list(self.calls), list(self.trace)
        return other

    def cut(self, random: Random) -> Cut:
        """Return what may be found after a power cut at this moment."""
        manner = weather(random, len(self.trace))
        image: dict[str, bytes] = {}
        last, missing, torn = -1, NEVER, False
        for name, file in self._names_found(manner, random).items():
            content = bytearray(file.durable)
            for number, versions in file.pending.items():
                start = number * self.sector
                durable = bytes(file.durable[start : start + self.sector])
                found = sector(durable, versions, manner, self.powersafe, random)
                content.extend(bytes(max(start - len(content), 0)))
                content[start : start + len(found.data)] = found.data
                last, missing = max(last, found.last), min(missing, found.missing)
                torn = torn or found.torn
            image[name] = _sized(content, self._size_found(file, manner, random))
        return Cut(image, missing != NEVER, torn, missing < last)

    def _names_found(self, manner: Weather, random: Random) -> dict[str, File]:
        found = dict(self.names)
        for name, history in self.pending_names.items():
            reached = chosen([when for when, _ in history[1:]], manner, random)
            found.pop(name, None)
            file = history[reached][1]
            if file is not None:
                found[name] = file
        return found

    def _size_found(self, file: File, manner: Weather, random: Random) -> int:
        if not file.sizes:
            return len(file.durable)
        reached = chosen([when for when, _ in file.sizes], manner, random)
        return file.sizes[reached - 1][1] if reached else len(file.durable)

    # --- within ---

    def _called(self, call: Call) -> None:
        index, failing = len(self.calls), self.failing
        self.calls.append(call)
        if failing is None or not failing.fault.concerns(call):
            return
        if index == failing.at or (failing.lasting and index > failing.at):
            raise DiskFailed(call, failing.fault)

    def _file(self, data: bytes = b"") -> File:
        file = File(len(self.files), bytearray(data), bytearray(data))
        self.files.append(file)
        return file

    def _name(self, name: str, file: File | None) -> None:
        before = self.names.pop(name, None)
        history = self.pending_names.setdefault(name, [(-1, before)])
        history.append((len(self.trace), file))
        if file is not None:
            self.names[name] = file

    def _settle(self, file: File) -> None:
        size, length = self.sector, len(file.content)
        file.durable = _resized(file.durable, length)
        for number in [each for each in file.pending if each not in file.abandoned]:
            del file.pending[number]
            start = number * size
            file.durable[start : start + size] = file.content[start : start + size]
        file.sizes.clear()


def _resized(content: bytearray, size: int) -> bytearray:
    del content[size:]
    content.extend(bytes(size - len(content)))
    return content


def _sized(content: bytearray, size: int) -> bytes:
    return bytes(_resized(content, size))
