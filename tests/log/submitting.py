"""Who submits to a writer, and stores that wait or fail as they are told, for its tests."""

from __future__ import annotations

from concurrent.futures import Future
from queue import SimpleQueue
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Self

from tests.log.proposing import PATIENCE
from threedice.errors import StoreFailed
from threedice.log.records import ProposalOutcome
from threedice.log.stores.memory import MemoryStore
from threedice.log.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.records import Proposal
    from threedice.log.store import Store
    from threedice.log.writer import WriteResult


class GatedStore(MemoryStore):
    """Says when a write begins, and ends it when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = SimpleQueue[int]()
        self.gate = Semaphore(0)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self.begun.put(len(proposals))
        assert self.gate.acquire(timeout=PATIENCE)
        return super().write(proposals)

    def let(self, writes: int) -> None:
        self.gate.release(writes)

    def size_of_next(self) -> int:
        return self.begun.get(timeout=PATIENCE)


class FailingStore(MemoryStore):
    """Fails as it is told to, once each; what it is told to fail with, it has not written."""

    def __init__(self, *failures: Exception, notes: bool = True) -> None:
        super().__init__()
        self.failures, self.notes, self.writes = list(failures), notes, 0

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        self.writes += 1
        if self.failures:
            raise self.failures.pop(0)
        return super().write(proposals)

    def suspend(self, reason: str) -> None:
        if not self.notes:
            raise StoreFailed("no space left on device")
        super().suspend(reason)


class Callers:
    """Everybody who has submitted something; remembers what was delivered, and in how many goes."""

    def __init__(self) -> None:
        self.batches = SimpleQueue[list[tuple[int, "WriteResult"]]]()

    def deliver(self, tokens: Sequence[int], results: Sequence[WriteResult]) -> None:
        self.batches.put(list(zip(tokens, results, strict=True)))

    def next_batch(self) -> list[tuple[int, WriteResult]]:
        return self.batches.get(timeout=PATIENCE)


class WaitingWriter(Writer[Future[ProposalOutcome]]):
    """A writer whose callers wait for what becomes of their proposals."""

    def __init__(self, store: Store, **options: Any) -> None:
        super().__init__(store, deliver=_resolve, **options)

    def write_and_wait(self, proposal: Proposal) -> ProposalOutcome:
        future = Future[ProposalOutcome]()
        self.submit(proposal, future)
        return future.result(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _resolve(futures: Sequence[Future[ProposalOutcome]], results: Sequence[WriteResult]) -> None:
    for future, result in zip(futures, results, strict=True):
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
