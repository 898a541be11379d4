"""Who submits to a writer, and stores that wait or fail as they are told, for its tests."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Semaphore
from typing import TYPE_CHECKING

from tests.log.proposing import PATIENCE
from threedice.errors import StoreFailed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.records import Proposal, ProposalOutcome
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
