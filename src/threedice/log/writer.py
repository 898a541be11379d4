"""The writer: the one thread that writes all proposals, with group commit.

Proposals submitted while a transaction commits go into the next one. A batch is acknowledged after
it is durable, and published after it is acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Lock
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from threedice.errors import (
    InvalidInput,
    InvariantBroken,
    OperatingFailure,
    QueueFull,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    StreamConflict,
)
from threedice.log.conflicts import check_proposal
from threedice.log.entry import Entry
from threedice.log.records import Acceptance, DuplicateKey, HeadConflict, ProposalOutcome
from threedice.log.stores.files import clear_halt, mark_halted, read_halt
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.records import Proposal
    from threedice.log.store import Store
    from threedice.runtime import Runtime

Token = TypeVar("Token")
"""How a caller identifies its proposal, such as the future that it awaits."""

WriteResult: TypeAlias = ProposalOutcome | OperatingFailure | InvalidInput

DeliveryCallback: TypeAlias = Callable[[Sequence[Token], Sequence[WriteResult]], None]
"""Receives the tokens of a batch and the result of each, in the writer's thread."""


QueuedProposal: TypeAlias = tuple["Proposal", Token]

PublishCallback: TypeAlias = Callable[[dict[str, list[Entry]]], None]
"""Receives the entries that a batch appended, by stream, in the writer's thread."""


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """Totals since the writer was created, and the number of queued proposals."""

    batches: int
    largest_batch: int
    accepted: int
    conflicts: int
    duplicates: int
    unavailable: int
    queued: int


class Writer(Generic[Token]):
    """Write proposals in batches and deliver the result of each.

    After a failed write or fsync it is unknown what the disk holds. The writer then halts at once
    and writes nothing more, in this process or the next, until a person releases it. The halt is
    recorded in the store if possible, and in `state_dir` by marker files (see `stores.files`).

    A database that does not respond, or in which other servers always win, does not halt the
    writer: the batch gets that failure and the next batch is tried. `halted_by_defect` is true if
    this process caused the halt and not the store.
    """

    def __init__(
        self,
        store: Store,
        *,
        deliver: DeliveryCallback[Token],
        publish: PublishCallback | None = None,
        state_dir: Path | None = None,
        max_queued: int = 10_000,
        max_batch: int = 1024,
        runtime: Runtime = SYSTEM_RUNTIME,
    ) -> None:
        self._state_dir = state_dir
        self._store = store
        self._deliver, self._publish = deliver, publish
        self._max_queued, self._max_batch = max_queued, max_batch
        self._queue: list[QueuedProposal[Token]] = []
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._idle = self._closed = False
        self._batches = self._largest = self._unavailable = self._retry_singly = 0
        self._outcomes = Counter[type[ProposalOutcome]]()
        self.halt_reason, self.halted_by_defect = self._stored_halt_reason(), False
        if not self.halt_reason:
            self.clear_halt_markers()
        self._thread = runtime.start_thread(self._run, "threedice-writer")

    # --- public interface -----------------------------------------------------------------------

    def submit(self, proposal: Proposal, token: Token) -> None:
        """Queue a proposal for the next batch; its result goes to the delivery callback."""
        check_proposal(proposal)  # before it can make others in its batch fail
        with self._lock:
            if self.halt_reason:
                raise StoreFailed(self.halt_reason)
            if self._closed:
                raise OperatingFailure("the writer is closed; send the command to a running server")
            if len(self._queue) >= self._max_queued:
                raise QueueFull(
                    f"{self._max_queued} commands are waiting to be written; try again later"
                )
            self._queue.append((proposal, token))
            if self._idle:
                self._idle = False
                self._work.notify()

    def suspend(self, reason: str) -> None:
        """Stop writing because another server found the database failing."""
        with self._lock:
            self.halt_reason = self.halt_reason or reason

    def halt(self, failure: StoreFailed) -> None:
        """Halt as after a failed write, because the store was found failing."""
        if not self.halt_reason:
            self._halt(failure, [])

    def release(self) -> None:
        """Write again after a person has ended the halt."""
        self._store.release()
        self.clear_halt_markers()
        self.resume(self._store)

    def resume(self, store: Store) -> None:
        """Write again in this process only, perhaps to another store; the recorded halt remains."""
        with self._lock:
            self._store = store
            self.halt_reason, self.halted_by_defect = "", False

    def clear_halt_markers(self) -> None:
        """Remove the halt markers outside the store."""
        if self._state_dir is None:
            return
        try:
            clear_halt(self._state_dir)
        except OSError as error:
            raise StoreUnusable(
                f"{error.filename or self._state_dir}: {error.strerror}; it must be writable"
            ) from error

    def counts(self) -> WriterCounts:
        """Return the totals so far."""
        return WriterCounts(
            batches=self._batches,
            largest_batch=self._largest,
            accepted=self._outcomes[Acceptance],
            conflicts=self._outcomes[HeadConflict],
            duplicates=self._outcomes[DuplicateKey],
            unavailable=self._unavailable,
            queued=len(self._queue),
        )

    def close(self) -> None:
        """Write the queued proposals and stop."""
        with self._lock:
            self._closed = True
            self._work.notify()
        self._thread.join()

    # --- batches, in the writer's thread --------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            result: list[ProposalOutcome] | Exception
            try:
                result = self._store.write([proposal for proposal, _ in batch])
            except Exception as failure:
                result = failure
            self._complete_batch(batch, result)

    def _next_batch(self) -> list[QueuedProposal[Token]]:
        """Wait for the next batch; return an empty one once closed and drained.

        After a rejected batch, return its proposals one at a time.
        """
        with self._lock:
            while not self._queue and not self._closed:
                self._idle = True
                self._work.wait()
            limit = self._max_batch
            if self._retry_singly:
                limit, self._retry_singly = 1, self._retry_singly - 1
            batch = self._queue[:limit]
            del self._queue[:limit]
            return batch

    def _complete_batch(
        self, batch: list[QueuedProposal[Token]], result: list[ProposalOutcome] | Exception
    ) -> None:
        """Deliver the results of a batch, or handle its failure."""
        if isinstance(result, list) and len(result) != len(batch):
            result = InvariantBroken(f"{len(result)} outcomes of {len(batch)} proposals")
        match result:
            case list():
                self._count(result)
                self._deliver_and_publish(batch, result)
            case StoreUnavailable() | StreamConflict():
                self._unavailable += len(batch)
                self._deliver_and_publish(batch, [_copy_failure(result) for _ in batch])
            case InvalidInput() if len(batch) == 1:
                self._deliver_and_publish(batch, [result])
            case InvalidInput():  # nothing is written: retry singly, to fail only the invalid one
                with self._lock:
                    self._queue[:0] = batch
                    self._retry_singly = len(batch)
            case _:
                self._halt(result, batch)

    def _count(self, outcomes: list[ProposalOutcome]) -> None:
        self._batches += 1
        self._largest = max(self._largest, len(outcomes))
        self._outcomes.update(map(type, outcomes))

    def _deliver_and_publish(
        self, batch: list[QueuedProposal[Token]], results: Sequence[WriteResult]
    ) -> None:
        """Acknowledge, then publish; halt if either callback fails.

        That halt is not recorded: the store is sound, and the next process may write.
        """
        try:
            self._acknowledge(batch, results)
            if self._publish and (appended := _appended_entries(batch, results)):
                self._publish(appended)
        except Exception as defect:
            self.halted_by_defect = True
            self._stop("written entries could not be delivered", defect, [])

    def _acknowledge(
        self, batch: list[QueuedProposal[Token]], results: Sequence[WriteResult]
    ) -> None:
        if batch:
            self._deliver([token for _, token in batch], results)

    # --- halts ----------------------------------------------------------------------------------

    def _stored_halt_reason(self) -> str:
        if reason := self._store.suspension_reason():
            return reason
        if self._state_dir and (text := read_halt(self._state_dir)):
            _, _, cause = text.partition(": ")
            mark_halted(self._state_dir, cause)  # the file system may be writable again
            return f"in an earlier run, {text}; check the disk"
        return ""

    def _halt(self, failure: Exception, batch: list[QueuedProposal[Token]]) -> None:
        """Record the halt before reporting it, then fail all queued proposals."""
        problem = "the store could not write"
        if self._state_dir:
            mark_halted(self._state_dir, _describe_failure(problem, failure))
        with suppress(Exception):  # a store that cannot write may not be able to record this
            self._store.suspend(_describe_failure(problem, failure))
        self._stop(problem, failure, batch)

    def _stop(self, problem: str, failure: Exception, batch: list[QueuedProposal[Token]]) -> None:
        with self._lock:
            self.halt_reason = _describe_failure(problem, failure)
            unwritten, self._queue = batch + self._queue, []
        error = StoreFailed(self.halt_reason)
        error.__cause__ = failure
        with suppress(Exception):  # nothing is left to report a failed delivery to
            self._acknowledge(unwritten, [_copy_failure(error) for _ in unwritten])


def _appended_entries(
    batch: list[QueuedProposal[Token]], results: Sequence[WriteResult]
) -> dict[str, list[Entry]]:
    """Return the entries that a batch appended to each stream, in order."""
    appended: dict[str, list[Entry]] = {}
    for (proposal, _), result in zip(batch, results, strict=True):
        if isinstance(result, Acceptance):
            for append in proposal.appends:
                appended.setdefault(append.stream, []).extend(append.entries)
    return appended


def _copy_failure(failure: OperatingFailure) -> OperatingFailure:
    """Return a copy of a failure, since each caller raises its own."""
    copy = type(failure)(str(failure))
    copy.__cause__ = failure.__cause__
    return copy


def _describe_failure(problem: str, failure: Exception) -> str:
    return f"{problem}: {str(failure) or type(failure).__name__}"
