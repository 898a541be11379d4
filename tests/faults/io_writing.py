"""A round written to a disk that fails, by the store itself or through the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.faults.disk_store import DATABASE, LOG, MEMORY, opened
from tests.log.doubles import WaitingWriter
from threedice.errors import StoreFailed, StoreUnusable
from threedice.log.records import Acceptance, DuplicateKey
from threedice.log.stores.sqlite import NEW_FILE_MAX_BYTES

if TYPE_CHECKING:
    from random import Random

    from tests.faults.disk import Cut, Disk, Operation
    from tests.faults.power_round import Batch
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.store import Store

FOLD_EVERY = 20
"""How often the store moves its log into the file: a few times in a round."""

Write = Callable[["Batch"], "list[ProposalOutcome]"]


@dataclass(frozen=True, slots=True)
class Way:
    """How batches reach a store at first and after a release, and whether it is halted before."""

    first: Callable[[Store], AbstractContextManager[Write]]
    released: Callable[[Store], AbstractContextManager[Write]]
    halted: Callable[[Store], bool] | None = None


@contextmanager
def by_store() -> Iterator[Way]:
    """Have batches written by the store itself, whose failure ends with its process."""

    @contextmanager
    def straight(store: Store) -> Iterator[Write]:
        yield store.write

    yield Way(straight, straight)


@contextmanager
def by_writer() -> Iterator[Way]:
    """Have proposals written one by one through the writer, which stays halted till released."""
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

        yield Way(first, released, halted)


@dataclass(slots=True)
class Attempt:
    """What came of writing a round: `left` is the disk as it was when the process died."""

    left: Disk
    acknowledged: list[Proposal] = field(default_factory=list)
    in_flight: list[Proposal] = field(default_factory=list)
    rest: list[Batch] = field(default_factory=list)
    calls: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)


def attempt(disk: Disk, batches: list[Batch], way: Way) -> Attempt:
    """Write a round until something fails; then try again what failed, and all the rest."""
    made = Attempt(disk, rest=list(batches))
    try:
        with opened(disk, fold_every=FOLD_EVERY) as store, way.first(store) as write:
            _write_all(made, write, store)
            made.calls = len(disk.calls)
            for batch in made.rest:
                _write_in_vain(made, write, batch)
            made.left = disk.copy()
    except (StoreUnusable, StoreFailed) as failure:
        if made.acknowledged or made.in_flight:
            made.problems.append(f"closing failed: {failure}")
        made.left = disk.copy()
    return made


def _write_all(made: Attempt, write: Write, store: Store) -> None:
    with suppress(StoreFailed):  # then the next write must fail
        store.acquire_lease("dealer", "this server", 60.0)  # which the next server deletes
    while made.rest:
        if len(made.rest) % 3 == 0:
            with suppress(StoreFailed):  # then the next write must fail
                store.erase_person("nobody")  # moves the log into the file
        try:
            outcomes = write(made.rest[0])
        except StoreFailed:
            made.in_flight = made.rest[0]
            return
        if not all(isinstance(each, Acceptance) for each in outcomes):
            made.problems.append(f"not accepted: {outcomes}")
        made.acknowledged += made.rest.pop(0)


def _write_in_vain(made: Attempt, write: Write, batch: Batch) -> None:
    try:
        outcomes = write(batch)
    except StoreFailed:
        made.refused += 1
    else:
        made.problems.append(f"answered after a failure: {outcomes}")


def cut_while_opened(made: Attempt, random: Random) -> Cut:
    """Start the process again on the same machine, and cut the power before it is ready."""
    disk = made.left.copy()
    disk.forget(LOG)
    if len(disk.image().get(DATABASE, b"")) <= NEW_FILE_MAX_BYTES:
        disk.forget(DATABASE)
    whole = disk.copy()
    done: list[Operation] = []
    with suppress(StoreUnusable), opened(whole, fold_every=FOLD_EVERY):  # unless it never was one
        done = whole.trace[len(disk.trace) :]
    for operation in done[: random.randrange(len(done) + 1)]:
        disk.again(operation)
    return disk.cut(random)


def go_on(made: Attempt, way: Way, then: list[Batch]) -> Disk:
    """Have a person release the store, and write what is left and more; returns the disk then.

    What was in flight at the failure may turn out to be known.
    """
    disk = made.left.copy()
    with opened(disk, fold_every=FOLD_EVERY) as store:
        if way.halted and way.halted(store) != bool(made.in_flight):
            made.problems.append("a halt was forgotten, or made up, over a restart")
        with way.released(store) as write:
            outcomes = [outcome for batch in (*made.rest, *then) for outcome in write(batch)]
        after = disk.copy()
    wrong = [each for each in outcomes if not isinstance(each, Acceptance | DuplicateKey)]
    made.problems += [f"refused when it was released: {each}" for each in wrong]
    return after
