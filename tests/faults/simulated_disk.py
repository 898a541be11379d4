"""A simulated disk with a volatile cache: unsynced data can be lost or torn by a power cut.

Files live in memory. A write goes to the cache in sectors, and a sync makes one file's sectors
durable. Names are created and removed durably only when a new file or the directory is synced.

After a power cut each sector holds the state after any one of the writes since its last sync,
independent of other sectors: writes are dropped and reordered. A sector can also be torn between
the states before and after a write, with random bytes where the disk was writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


class SectorVersion(NamedTuple):
    """A cached sector after a write: the number of the write, and the range that it wrote."""

    when: int
    data: bytes
    start: int
    end: int


class CutProfile(NamedTuple):
    """The probabilities of a power cut.

    `reach` is the probability of each sector, size and name to survive in its latest state, `tear`
    that of a sector to be torn. With `upto`, writes reached the disk in order, up to that one.
    """

    reach: float
    tear: float
    upto: int | None = None


class SurvivingSector(NamedTuple):
    """A sector after a power cut, the last write that reached it and the first that did not."""

    data: bytes
    last: int
    missing: int
    torn: bool


NEVER = 1 << 62


def draw_cut_profile(random: Random, moments: int) -> CutProfile:
    """Draw the profile of a power cut after a number of writes."""
    reach = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    tear = random.choice((0.0, 0.0, 0.05, 0.3))
    in_order = random.random() < 0.2
    return CutProfile(reach, tear, random.randrange(moments + 1) if in_order else None)


def count_surviving(moments: Sequence[int], profile: CutProfile, random: Random) -> int:
    """Return how many of some consecutive changes have reached the disk."""
    if profile.upto is not None:
        return sum(each < profile.upto for each in moments)
    return len(moments) if random.random() < profile.reach else random.randrange(len(moments))


def surviving_sector(
    durable: bytes,
    versions: Sequence[SectorVersion],
    profile: CutProfile,
    powersafe: bool,
    random: Random,
) -> SurvivingSector:
    """Return the state after a power cut of a sector with unsynced writes."""
    reached = count_surviving([each.when for each in versions], profile, random)
    torn = random.random() < profile.tear
    if torn:
        reached = max(reached, 1)
    last = versions[reached - 1].when if reached else -1
    missing = versions[reached].when if reached < len(versions) else NEVER
    states = (durable, *(each.data for each in versions))
    if not torn:
        return SurvivingSector(states[reached], last, missing, False)
    write = versions[reached - 1]
    mixed = tear_sector(states[reached - 1], write, powersafe, random)
    return SurvivingSector(mixed, last, missing, mixed not in states)


def tear_sector(before: bytes, write: SectorVersion, powersafe: bool, random: Random) -> bytes:
    """Return a sector that was being written at the power cut.

    With powersafe overwrite, only bytes of the write can change; without it, any byte of the
    sector.
    """
    length = len(write.data)
    old, start, end = before.ljust(length, b"\0")[:length], write.start, write.end
    middle = random.randint(start, end)
    halves = (
        (write.data[:middle], old[middle:])
        if random.random() < 0.7
        else (
            old[:middle],
            write.data[middle:],
        )
    )
    mixed = bytearray(b"".join(halves))
    if random.random() < 0.5:
        low, high = (start, min(end, length)) if powersafe else (0, length)
        first = random.randint(low, high)
        last = random.randint(first, high)
        mixed[first:last] = random.randbytes(last - first)
    return bytes(mixed)


Image = Mapping[str, bytes]
"""The content of a disk: files by name."""


class Call(Enum):
    """A call to a disk; calls are numbered, and each can be made to fail."""

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    DELETE = "delete"


class Fault(Enum):
    """The way in which a call fails."""

    BROKEN = "EIO"
    FULL = "ENOSPC"
    UNSYNCED = "failing fsync"

    def applies_to(self, call: Call) -> bool:
        """Return whether a call can fail in this way."""
        match self:
            case Fault.BROKEN:
                return True
            case Fault.FULL:
                return call in (Call.OPEN, Call.WRITE, Call.SYNC)
            case Fault.UNSYNCED:
                return call is Call.SYNC


class FaultPlan(NamedTuple):
    """The call at which a disk fails, and whether all later calls fail as well."""

    fault: Fault
    at: int
    lasting: bool = False


class DiskFailed(Exception):
    """A call failed by the fault plan."""

    def __init__(self, call: Call, fault: Fault) -> None:
        self.call, self.fault = call, fault
        super().__init__(f"{call.value} fails with {fault.value}")


class Operation(NamedTuple):
    """A recorded call that changed the disk, to be replayed on a disk with the same image."""

    call: Call
    file: int
    name: str = ""
    offset: int = 0
    data: bytes = b""
    durably: bool = False


@dataclass(slots=True, eq=False)
class File:
    """A file: its content for programs, its durable content, and the pending writes in between.

    Abandoned sectors are not made durable by a later sync, unless they are written again.
    """

    number: int
    content: bytearray
    durable: bytearray
    sizes: list[tuple[int, int]] = field(default_factory=list)
    pending: dict[int, list[SectorVersion]] = field(default_factory=dict)
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
    """The image after a power cut, and the effect of the cut on pending writes."""

    image: Image
    dropped: bool
    torn: bool
    reordered: bool


class Disk:
    """A disk that starts with an image and records every change in a trace."""

    def __init__(self, image: Image, *, sector: int = 4096, powersafe: bool = True) -> None:
        self.sector, self.powersafe = sector, powersafe
        self.files: list[File] = []
        self.names = {name: self._file(data) for name, data in image.items()}
        self.pending_names: dict[str, list[tuple[int, File | None]]] = {}
        self.calls: list[Call] = []
        self.trace: list[Operation] = []
        self.fault_plan: FaultPlan | None = None

    # --- calls of programs ---

    def open(self, name: str) -> File:
        """Return the file of a name, created if missing."""
        self._called(Call.OPEN)
        if name not in self.names:
            file = self._file()
            self._name(name, file)
            self.trace.append(Operation(Call.OPEN, file.number, name))
        return self.names[name]

    def read(self, file: File, offset: int, amount: int) -> bytes:
        """Return bytes of a file, fewer at its end."""
        self._called(Call.READ)
        return bytes(file.content[offset : offset + amount])

    def write(self, file: File, offset: int, data: bytes) -> None:
        """Write into the cache; of a failed write, the first half is cached."""
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
            version = SectorVersion(when, now, max(offset - start, 0), min(end - start, size))
            file.pending.setdefault(number, []).append(version)
        if file.abandoned:
            file.abandoned.difference_update(range(offset // size, -(-end // size)))
        self.trace.append(Operation(Call.WRITE, file.number, offset=offset, data=data))

    def truncate(self, file: File, size: int) -> None:
        """Set the length of a file, which is pending until a sync."""
        self._called(Call.TRUNCATE)
        file.sizes.append((len(self.trace), size))
        del file.content[size:]
        file.content.extend(bytes(size - len(file.content)))
        self.trace.append(Operation(Call.TRUNCATE, file.number, offset=size))

    def sync(self, file: File) -> None:
        """Make the writes to a file durable, and all names if the file is new.

        The names, because SQLite syncs the directory together with a new journal. After a failed
        sync the cache keeps its sectors but marks them as written, as operating systems do: no
        later sync makes them durable.
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
        """Remove a name, durably if the directory is synced as well."""
        self._called(Call.DELETE)
        number = self.names[name].number
        self._name(name, None)
        if durably:
            self.pending_names.clear()
        self.trace.append(Operation(Call.DELETE, number, name, durably=durably))

    def replay(self, operation: Operation) -> None:
        """Repeat an operation from the trace of a disk with the same initial image."""
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

    def drop_abandoned(self, name: str) -> None:
        """Drop abandoned sectors from the cache, as the operating system does on advice."""
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

    # --- states after a failure ---

    def image(self) -> Image:
        """Return the content for programs, which survives the death of a process."""
        return {name: bytes(file.content) for name, file in self.names.items()}

    def copy(self) -> Disk:
        """Return a copy with all pending writes and without a fault plan."""
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
        """Return a possible state after a power cut at this moment."""
        profile = draw_cut_profile(random, len(self.trace))
        image: dict[str, bytes] = {}
        last, missing, torn = -1, NEVER, False
        for name, file in self._surviving_names(profile, random).items():
            content = bytearray(file.durable)
            for number, versions in file.pending.items():
                start = number * self.sector
                durable = bytes(file.durable[start : start + self.sector])
                found = surviving_sector(durable, versions, profile, self.powersafe, random)
                content.extend(bytes(max(start - len(content), 0)))
                content[start : start + len(found.data)] = found.data
                last, missing = max(last, found.last), min(missing, found.missing)
                torn = torn or found.torn
            image[name] = _sized(content, self._surviving_size(file, profile, random))
        return Cut(image, missing != NEVER, torn, missing < last)

    def _surviving_names(self, profile: CutProfile, random: Random) -> dict[str, File]:
        found = dict(self.names)
        for name, history in self.pending_names.items():
            reached = count_surviving([when for when, _ in history[1:]], profile, random)
            found.pop(name, None)
            file = history[reached][1]
            if file is not None:
                found[name] = file
        return found

    def _surviving_size(self, file: File, profile: CutProfile, random: Random) -> int:
        if not file.sizes:
            return len(file.durable)
        reached = count_surviving([when for when, _ in file.sizes], profile, random)
        return file.sizes[reached - 1][1] if reached else len(file.durable)

    # --- internals ---

    def _called(self, call: Call) -> None:
        index, plan = len(self.calls), self.fault_plan
        self.calls.append(call)
        if plan is None or not plan.fault.applies_to(call):
            return
        if index == plan.at or (plan.lasting and index > plan.at):
            raise DiskFailed(call, plan.fault)

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
