"""Failing disks below SQLite: EIO, ENOSPC and failing fsync at every I/O call of a round.

After the first failure nothing is acknowledged any more. What was acknowledged before is there when
the process starts again on the same machine, whose cache then holds what never reached the disk;
when the power went at that moment, or while the process started again; and when a person let
writing go on, more was acknowledged, and the power went then. Each fault comes once, or from one
call on.

`python -m tests.faults.io_faults` is the long form.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from tests.faults.disk import Failing, Fault
from tests.faults.io_writing import attempt, by_store, by_writer, cut_while_opened, go_on
from tests.faults.power_found import Written
from tests.faults.power_recording import KINDS, bases
from tests.faults.power_tally import look
from threedice.log.records import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.faults.disk import Call, Disk
    from tests.faults.io_writing import Attempt, Way
    from tests.faults.power_recording import Base, Kind
    from tests.faults.power_round import Batch

WAYS: dict[str, Callable[[], AbstractContextManager[Way]]] = {
    "store": by_store,
    "writer": by_writer,
}

REOPENED = 1
"""How often the power goes while a store is opened again after each fault."""


@dataclass(slots=True)
class Tally:
    """What was injected, and what survived it."""

    injected: Counter[str] = field(default_factory=Counter)
    unopened: int = 0
    unmade: int = 0
    halts: int = 0
    refused: int = 0
    hidden: Counter[str] = field(default_factory=Counter)
    looks: int = 0
    acknowledged: int = 0
    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, made: Attempt, failing: Failing, what: str) -> None:
        """Count a fault, and whether it was noticed."""
        self.injected[what] += 1
        self.refused += made.refused
        if made.in_flight:
            self.halts += 1
        elif made.rest:
            self.unopened += 1
        elif failing.at < made.calls:
            self.hidden[what] += 1

    def look(self, disk: Disk, written: Written, where: str) -> None:
        """Open the store on a disk again, and count what is found."""
        found = look(disk, written)
        self.looks += 1
        if found.unfit and not written.acknowledged and not written.checkpoints:
            self.unmade += 1  # a person has to name another file; nobody was ever told anything
            return
        self.acknowledged += len(written.acknowledged)
        self.present += found.present
        self.absent += found.absent
        self.lost += found.lost
        self.damaged += found.damaged
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        each = ", ".join(f"{what} {count}" for what, count in sorted(self.injected.items()))
        hidden = ", ".join(f"{what} {count}" for what, count in sorted(self.hidden.items()))
        return (
            f"{self.injected.total()} faults ({each}): {self.unopened} kept the store from opening,"
            f" {self.halts} halted it, after which {self.refused} writes were refused;"
            f" kept to itself by SQLite: {hidden or 'none'}\n"
            f"{self.looks} disks looked at, {self.acknowledged} acknowledged proposals looked for:"
            f" {self.lost} lost; in flight: {self.present} present, {self.absent} absent;"
            f" {self.damaged} databases damaged; {self.unmade} never became one"
        )


@dataclass(frozen=True, slots=True)
class Script:
    """What is to be written, on which database and kind of disk, and what after a release."""

    base: Base
    kind: Kind
    batches: list[Batch]
    then: list[Batch]


def scripted(base: Base, kind: Kind, way: str, most: int, random: Random) -> Script:
    """Return a round, up to so many batches; through the writer, proposals go one by one."""
    play = base.play.after(random)
    steps = [*play.round(), *play.round()]
    batches = [step for step in steps if not isinstance(step, Checkpoint)]
    if way == "writer":
        batches = [[each] for batch in batches for each in batch]
    return Script(base, kind, batches[:most], batches[most : most + 1])


def io_faults(way: str, seed: int, kind: Kind, *, databases: int = 1, most: int = 6) -> Tally:
    """Let every I/O call of a round of so many batches fail in every way it can.

    The round is played on so many kinds of databases: closed before, left by a killed process, new.
    """
    tally, random = Tally(), Random(seed)
    for base in bases()[:databases]:
        script = scripted(base, kind, way, most, random)
        disk = kind.new(base.image)
        with WAYS[way]() as unharmed:
            attempt(disk, script.batches, unharmed)
        for failing in every_fault(disk.calls):
            what = f"{failing.fault.value} on {disk.calls[failing.at].value}"
            inject(failing, script, way, what, tally, random)
    return tally


def every_fault(calls: list[Call]) -> Iterator[Failing]:
    """Yield every way in which one of the calls can fail, by itself or with all after it."""
    for at, call in enumerate(calls):
        for fault in Fault:
            if fault.concerns(call):
                yield Failing(fault, at)
                yield Failing(fault, at, lasting=True)


def inject(
    failing: Failing, script: Script, way: str, what: str, tally: Tally, random: Random
) -> None:
    """Play a round on a disk that fails, and look at what may be found afterwards."""
    where = f"{what}, call {failing.at}, {'lasting' if failing.lasting else 'once'}"
    disk = script.kind.new(script.base.image)
    disk.failing = failing
    with WAYS[way]() as chosen:
        made = attempt(disk, script.batches, chosen)
        tally.add(made, failing, what)
        for left, written, then in aftermath(made, script, chosen, random):
            tally.look(left, written, f"{where}, {then}")
    tally.problems += [f"{where}: {problem}" for problem in made.problems]


def aftermath(
    made: Attempt, script: Script, way: Way, random: Random
) -> Iterator[tuple[Disk, Written, str]]:
    """Yield the disks that may be found after a failure, and what must be there."""
    before, checkpoints, _ = script.base.written
    then = Written([*before, *made.acknowledged], checkpoints, made.in_flight)
    yield script.kind.new(made.left.cut(random).image), then, "power cut at once"
    yield made.left.copy(), then, "process started again"
    for _ in range(REOPENED):
        cut = cut_while_opened(made, random)
        yield script.kind.new(cut.image), then, "started again, power cut meanwhile"
    later = go_on(made, way, script.then)
    round_and_more = [each for batch in (*script.batches, *script.then) for each in batch]
    whole = Written([*before, *round_and_more], checkpoints)
    yield script.kind.new(later.cut(random).image), whole, "power cut after a release"


def main() -> None:
    """Run the long form; it fails where anything is lost, damaged, or acknowledged too late."""
    parser = argparse.ArgumentParser(description="Failing disks below SQLite.")
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    asked = parser.parse_args()
    sys.stdout.write(f"seed {asked.seed}\n")
    wrong = []
    for way, kind in product(WAYS, KINDS):
        began = monotonic()
        tally = io_faults(way, asked.seed, kind, databases=3)
        sys.stdout.write(f"by the {way}, {kind}: {tally}\nin {monotonic() - began:.0f} s\n")
        wrong += [*tally.problems, *(f"not reported: {what}" for what in tally.hidden)]
    sys.stdout.writelines(f"{problem}\n" for problem in wrong[:20])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
