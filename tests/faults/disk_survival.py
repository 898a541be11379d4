"""What of the writes in a disk's cache has reached the disk when the power goes.

Each sector is found as it was after any one of the writes to it since it was last durable, whatever
became of other sectors: writes are dropped and reordered. A sector may also be torn, between what
it was before a write and after, with rubbish where the disk was just writing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


class Version(NamedTuple):
    """A sector as a write left it in the cache: which write, and which bytes of it were written."""

    when: int
    data: bytes
    start: int
    end: int


class Weather(NamedTuple):
    """The manner of a power cut.

    `reach` is the chance of each sector, size and name to be found in its latest state, `tear` that
    of a sector to be torn. With `upto`, writes reached the disk in order, until that one.
    """

    reach: float
    tear: float
    upto: int | None = None


class Sector(NamedTuple):
    """What is found in a sector, and the last write that reached it and first that did not."""

    data: bytes
    last: int
    missing: int
    torn: bool


NEVER = 1 << 62


def weather(random: Random, moments: int) -> Weather:
    """Draw the manner of a power cut; `moments` is how many writes there were."""
    reach = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    tear = random.choice((0.0, 0.0, 0.05, 0.3))
    in_order = random.random() < 0.2
    return Weather(reach, tear, random.randrange(moments + 1) if in_order else None)


def chosen(moments: Sequence[int], manner: Weather, random: Random) -> int:
    """Return how many of some changes, made one after the other, have reached the disk."""
    if manner.upto is not None:
        return sum(each < manner.upto for each in moments)
    return len(moments) if random.random() < manner.reach else random.randrange(len(moments))


def sector(
    durable: bytes, versions: Sequence[Version], manner: Weather, powersafe: bool, random: Random
) -> Sector:
    """Return what is found in a sector that was written to since it was durable."""
    reached = chosen([each.when for each in versions], manner, random)
    torn = random.random() < manner.tear
    if torn:
        reached = max(reached, 1)
    last = versions[reached - 1].when if reached else -1
    missing = versions[reached].when if reached < len(versions) else NEVER
    states = (durable, *(each.data for each in versions))
    if not torn:
        return Sector(states[reached], last, missing, False)
    write = versions[reached - 1]
    mixed = tear(states[reached - 1], write, powersafe, random)
    return Sector(mixed, last, missing, mixed not in states)


def tear(before: bytes, write: Version, powersafe: bool, random: Random) -> bytes:
    """Return a sector that the power cut caught while it was written.

    Where the disk claims powersafe overwrite, bytes outside those written are as they were; where
    it does not, any of the sector may be rubbish.
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
