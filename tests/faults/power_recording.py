"""Rounds written to a store on a simulated disk, recorded so that they can be cut anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tests.faults.disk import Disk, Image, Operation
from tests.faults.disk_store import Level, opened
from tests.faults.power_found import Written
from tests.faults.power_round import Play, Step
from threedice.log.entry import EMPTY_HEAD
from threedice.log.records import Acceptance, Checkpoint, ProjectionLine, Proposal, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.log.store import Store


class Kind(NamedTuple):
    """What kind of disk a round is played on."""

    sector: int
    powersafe: bool

    def __str__(self) -> str:
        overwrite = "powersafe overwrite" if self.powersafe else "no powersafe overwrite"
        return f"sectors of {self.sector} bytes, {overwrite}"

    def new(self, image: Image) -> Disk:
        """Return a disk of this kind with an image on it."""
        return Disk(image, sector=self.sector, powersafe=self.powersafe)

    def replayed(self, image: Image, trace: Iterable[Operation]) -> Disk:
        """Return a disk of this kind on which operations have been done again."""
        disk = self.new(image)
        for operation in trace:
            disk.again(operation)
        return disk


KINDS = (Kind(512, False), Kind(4096, True), Kind(512, True), Kind(4096, False))


@dataclass(frozen=True, slots=True)
class Base:
    """A database that was there before: its image, what was acknowledged then, how play goes on."""

    image: Image
    written: Written
    play: Play


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything that some steps did to a disk, and when each step began and was acknowledged."""

    base: Base
    trace: list[Operation]
    steps: list[Step]
    marks: list[tuple[int, int]]

    def written(self, moment: int) -> Written:
        """Return what was acknowledged after so many operations, and what was in flight."""
        acknowledged, checkpoints = list(self.base.written.acknowledged), []
        in_flight: list[Proposal] = []
        for step, (began, ended) in zip(self.steps, self.marks, strict=True):
            if isinstance(step, Checkpoint):
                checkpoints += [step] if ended <= moment else []
            elif ended <= moment:
                acknowledged += step
            elif began <= moment:
                in_flight += step
        return Written(acknowledged, [*self.base.written.checkpoints, *checkpoints], in_flight)


def record(
    base: Base, disk: Disk, steps: list[Step], *, level: Level, fold_every: int
) -> Recording:
    """Write steps to the store on a disk, from its opening to its closing."""
    marks = []
    with opened(disk, level=level, fold_every=fold_every) as store:
        for step in steps:
            began = len(disk.trace)
            write(store, step)
            marks.append((began, len(disk.trace)))
    return Recording(base, disk.trace, steps, marks)


def write(store: Store, step: Step) -> None:
    """Write one step, all of it to be accepted.

    With a checkpoint go folds over a round, and an erasure, which has the log moved into the file.
    """
    if isinstance(step, Checkpoint):
        store.add_checkpoint(step)
        store.set_person("anna", step.body)
        store.erase_person("anna")
        name = f"round-{step.number}"
        line = ProjectionLine("results", "", name, 1, 0, step.number, step.body)
        assert store.project("results", name, 0, 1, [line])
        store.save_snapshot(Snapshot("table/1", "state", "1", EMPTY_HEAD, step.body * 4))
    else:
        outcomes = store.write(step)
        assert all(isinstance(each, Acceptance) for each in outcomes), outcomes


@cache
def bases() -> tuple[Base, ...]:
    """Return a database that was closed, one whose process was killed, and none as yet."""
    disk, play = Disk({}), Play(Random(1))
    steps = [step for _ in range(2) for step in play.round()]
    proposals = [each for step in steps if not isinstance(step, Checkpoint) for each in step]
    written = Written(proposals, [step for step in steps if isinstance(step, Checkpoint)])
    with opened(disk) as store:
        for step in steps:
            write(store, step)
        killed = disk.image()
    return (
        Base(disk.image(), written, play),
        Base(killed, written, play),
        Base({}, Written([], []), Play(Random(1))),
    )
