"""I/O faults below SQLite: EIO, ENOSPC and failing fsync at every I/O call of a round.

After the first failure nothing more is acknowledged. What was acknowledged before survives a
restart of the process on the same machine, whose cache then holds unsynced data; a power cut at the
failure or during the restart; and a power cut after a release and further writes. Each fault comes
once, or from one call on.

`python -m tests.faults.io_faults` is the long form.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from tests.faults.power_cuts import inspect_disk
from tests.faults.recorded_rounds import DISK_KINDS, WriteHistory, base_databases
from tests.faults.simulated_disk import Fault, FaultPlan
from tests.faults.sqlite_on_disk import DATABASE, LOG, MEMORY, open_on_disk
from tests.log.doubles import WaitingWriter
from threedice.errors import StoreFailed, StoreUnusable
from threedice.log.records import Acceptance, Checkpoint, DuplicateKey
from threedice.log.stores.sqlite import NEW_FILE_MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from tests.faults.recorded_rounds import BaseDatabase, Batch, DiskKind
    from tests.faults.simulated_disk import Call, Cut, Disk, Operation
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.store import Store

CHECKPOINT_EVERY = 20
"""Pages between WAL checkpoints: a few checkpoints in a round."""

Write = Callable[["Batch"], "list[ProposalOutcome]"]


@dataclass(frozen=True, slots=True)
class WritePath:
    """How batches reach a store before and after a release, and whether it is halted."""

    first: Callable[[Store], AbstractContextManager[Write]]
    released: Callable[[Store], AbstractContextManager[Write]]
    halted: Callable[[Store], bool] | None = None


@contextmanager
def write_directly() -> Iterator[WritePath]:
    """Write batches by the store itself, whose failure ends with its process."""

    @contextmanager
    def direct(store: Store) -> Iterator[Write]:
        yield store.write

    yield WritePath(direct, direct)


@contextmanager
def write_through_writer() -> Iterator[WritePath]:
    """Write proposals one by one through the writer, which stays halted until released."""
    with TemporaryDirectory(prefix="threedice-", dir=MEMORY) as folder:
        state = Path(folder)

        @contextmanager
        def first(store: Store) -> Iterator[Write]:
            with WaitingWriter(store, state_dir=state) as writer:
                yield lambda batch: [writer.write_and_wait(each) for each in batch]

        @contextmanager
        def released(store: Store) -> Iterator[Write]:
            with WaitingWriter(store, state_dir=state) as writer:
                writer.release()
                yield lambda batch: [writer.write_and_wait(each) for each in batch]

        def halted(store: Store) -> bool:
            with WaitingWriter(store, state_dir=state) as writer:
                return bool(writer.halt_reason)

        yield WritePath(first, released, halted)


@dataclass(slots=True)
class Attempt:
    """The result of writing a round; `left` is the disk when the process ended."""

    left: Disk
    acknowledged: list[Proposal] = field(default_factory=list)
    in_flight: list[Proposal] = field(default_factory=list)
    rest: list[Batch] = field(default_factory=list)
    calls: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)


def attempt(disk: Disk, batches: list[Batch], way: WritePath) -> Attempt:
    """Write a round until a failure; then try the failed batch and all others again."""
    made = Attempt(disk, rest=list(batches))
    try:
        with (
            open_on_disk(disk, checkpoint_every=CHECKPOINT_EVERY) as store,
            way.first(store) as write,
        ):
            _write_all(made, write, store)
            made.calls = len(disk.calls)
            for batch in made.rest:
                _expect_refusal(made, write, batch)
            made.left = disk.copy()
    except (StoreUnusable, StoreFailed):  # of opening, or of the last checkpoint when closing
        made.left = disk.copy()
    return made


def _write_all(made: Attempt, write: Write, store: Store) -> None:
    with suppress(StoreFailed):  # then the next write must fail
        store.acquire_lease("dealer", "this server", 60.0)  # deleted by the next server
    while made.rest:
        if len(made.rest) % 3 == 0:
            with suppress(StoreFailed):  # then the next write must fail
                store.erase_person("nobody")  # checkpoints the WAL
        try:
            outcomes = write(made.rest[0])
        except StoreFailed:
            made.in_flight = made.rest[0]
            return
        if not all(isinstance(each, Acceptance) for each in outcomes):
            made.problems.append(f"not accepted: {outcomes}")
        made.acknowledged += made.rest.pop(0)


def _expect_refusal(made: Attempt, write: Write, batch: Batch) -> None:
    try:
        outcomes = write(batch)
    except StoreFailed:
        made.refused += 1
    else:
        made.problems.append(f"answered after a failure: {outcomes}")


def cut_during_restart(made: Attempt, random: Random) -> Cut:
    """Restart the process on the same machine, and cut the power before it is ready."""
    disk = made.left.copy()
    disk.drop_abandoned(LOG)
    if len(disk.image().get(DATABASE, b"")) <= NEW_FILE_MAX_BYTES:
        disk.drop_abandoned(DATABASE)
    whole = disk.copy()
    done: list[Operation] = []
    with (
        suppress(StoreUnusable),
        open_on_disk(whole, checkpoint_every=CHECKPOINT_EVERY),
    ):  # unless the file never became a database
        done = whole.trace[len(disk.trace) :]
    for operation in done[: random.randrange(len(done) + 1)]:
        disk.replay(operation)
    return disk.cut(random)


def release_and_write(made: Attempt, way: WritePath, then: list[Batch]) -> Disk:
    """Release the store, write the remaining batches and more, and return the disk.

    Proposals in flight at the failure may turn out to be duplicates.
    """
    disk = made.left.copy()
    with open_on_disk(disk, checkpoint_every=CHECKPOINT_EVERY) as store:
        if way.halted and way.halted(store) != bool(made.in_flight):
            made.problems.append("the halt differs after the restart")
        with way.released(store) as write:
            outcomes = [outcome for batch in (*made.rest, *then) for outcome in write(batch)]
        after = disk.copy()
    wrong = [each for each in outcomes if not isinstance(each, Acceptance | DuplicateKey)]
    made.problems += [f"refused after the release: {each}" for each in wrong]
    return after


WRITE_PATHS: dict[str, Callable[[], AbstractContextManager[WritePath]]] = {
    "store": write_directly,
    "writer": write_through_writer,
}

REOPENED = 1
"""Power cuts during the restart after each fault."""


@dataclass(slots=True)
class FaultTally:
    """Counts of injected faults and of the proposals that survived them."""

    injected: Counter[str] = field(default_factory=Counter)
    unopened: int = 0
    unmade: int = 0
    halts: int = 0
    refused: int = 0
    hidden: Counter[str] = field(default_factory=Counter)
    inspected: int = 0
    acknowledged: int = 0
    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, made: Attempt, plan: FaultPlan, what: str) -> None:
        """Count a fault and whether it was noticed."""
        self.injected[what] += 1
        self.refused += made.refused
        if made.in_flight:
            self.halts += 1
        elif made.rest:
            self.unopened += 1
        elif plan.at < made.calls:
            self.hidden[what] += 1

    def inspect(self, disk: Disk, written: WriteHistory, where: str) -> None:
        """Open the store on a disk again and count the proposals found."""
        found = inspect_disk(disk, written)
        self.inspected += 1
        if found.unfit and not written.acknowledged and not written.checkpoints:
            self.unmade += 1  # needs another file, but nothing was acknowledged
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
            f" not reported by SQLite: {hidden or 'none'}\n"
            f"{self.inspected} disks inspected, {self.acknowledged} acknowledged proposals:"
            f" {self.lost} lost; in flight: {self.present} present, {self.absent} absent;"
            f" {self.damaged} databases damaged; {self.unmade} never became one"
        )


@dataclass(frozen=True, slots=True)
class Script:
    """The batches to write before and after a release, with their database and kind of disk."""

    base: BaseDatabase
    kind: DiskKind
    batches: list[Batch]
    then: list[Batch]


def make_script(base: BaseDatabase, kind: DiskKind, way: str, most: int, random: Random) -> Script:
    """Return batches of a round, up to a maximum; for the writer, of one proposal each."""
    generator = base.generator.fork(random)
    steps = [*generator.round(), *generator.round()]
    batches = [step for step in steps if not isinstance(step, Checkpoint)]
    if way == "writer":
        batches = [[each] for batch in batches for each in batch]
    return Script(base, kind, batches[:most], batches[most : most + 1])


def io_faults(
    way: str, seed: int, kind: DiskKind, *, databases: int = 1, most: int = 6
) -> FaultTally:
    """Fail every I/O call of a round in every possible way.

    The round is written to up to three databases: one closed before, one of a killed process, a
    new one.
    """
    tally, random = FaultTally(), Random(seed)
    for base in base_databases()[:databases]:
        script = make_script(base, kind, way, most, random)
        disk = kind.new(base.image)
        with WRITE_PATHS[way]() as unharmed:
            attempt(disk, script.batches, unharmed)
        for plan in every_fault(disk.calls):
            what = f"{plan.fault.value} on {disk.calls[plan.at].value}"
            inject(plan, script, way, what, tally, random)
    return tally


def every_fault(calls: list[Call]) -> Iterator[FaultPlan]:
    """Yield every fault of every call, once and lasting."""
    for at, call in enumerate(calls):
        for fault in Fault:
            if fault.applies_to(call):
                yield FaultPlan(fault, at)
                yield FaultPlan(fault, at, lasting=True)


def inject(
    plan: FaultPlan, script: Script, way: str, what: str, tally: FaultTally, random: Random
) -> None:
    """Write a round on a failing disk, and inspect its possible states afterwards."""
    where = f"{what}, call {plan.at}, {'lasting' if plan.lasting else 'once'}"
    disk = script.kind.new(script.base.image)
    disk.fault_plan = plan
    with WRITE_PATHS[way]() as chosen:
        made = attempt(disk, script.batches, chosen)
        tally.add(made, plan, what)
        for left, written, then in aftermath(made, script, chosen, random):
            tally.inspect(left, written, f"{where}, {then}")
    tally.problems += [f"{where}: {problem}" for problem in made.problems]


def aftermath(
    made: Attempt, script: Script, way: WritePath, random: Random
) -> Iterator[tuple[Disk, WriteHistory, str]]:
    """Yield the possible disks after a failure, with the expected write history."""
    before, checkpoints, _ = script.base.written
    then = WriteHistory([*before, *made.acknowledged], checkpoints, made.in_flight)
    yield script.kind.new(made.left.cut(random).image), then, "power cut at once"
    yield made.left.copy(), then, "process started again"
    for _ in range(REOPENED):
        cut = cut_during_restart(made, random)
        yield script.kind.new(cut.image), then, "started again, power cut meanwhile"
    later = release_and_write(made, way, script.then)
    all_proposals = [each for batch in (*script.batches, *script.then) for each in batch]
    whole = WriteHistory([*before, *all_proposals], checkpoints)
    yield script.kind.new(later.cut(random).image), whole, "power cut after a release"


def main() -> None:
    """Run the long form; fail if anything is lost, damaged, or acknowledged after a failure."""
    parser = argparse.ArgumentParser(description="I/O faults below SQLite.")
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    wrong = []
    for way, kind in product(WRITE_PATHS, DISK_KINDS):
        began = monotonic()
        tally = io_faults(way, options.seed, kind, databases=3)
        sys.stdout.write(f"by the {way}, {kind}: {tally}\nin {monotonic() - began:.0f} s\n")
        wrong += [*tally.problems, *(f"not reported: {what}" for what in tally.hidden)]
    sys.stdout.writelines(f"{problem}\n" for problem in wrong[:20])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
