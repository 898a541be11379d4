"""The writer: the one thread or task that writes all proposals, with group commit.

Proposals submitted while a transaction commits go into the next one. A batch is acknowledged after
it is durable, and published after it is acknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Event, Lock, Thread, get_ident
from typing import TYPE_CHECKING, Generic, Self, TypeAlias, cast

from threedice.errors import (
    HouseOutdated,
    InvalidInput,
    InvariantBroken,
    OperatingFailure,
    QueueFull,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    StreamConflict,
)
from threedice.log.batch import PendingBatch, Token, WriteFuture
from threedice.log.conflicts import check_proposal
from threedice.log.entry import Entry
from threedice.log.store import Acceptance, DuplicateKey, HeadConflict, ProposalOutcome
from threedice.log.stores.files import clear_halt, is_halted, mark_halted

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.log.store import Proposal, Store
    from threedice.log.writer_process import WriterProcess

WriteResult: TypeAlias = ProposalOutcome | OperatingFailure | InvalidInput

DeliveryCallback: TypeAlias = Callable[[Sequence[Token], Sequence[WriteResult]], None]
"""Receives the tokens of a batch and the result of each, in the writer's thread."""

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


MIN_BATCH_LIMIT = 32
"""Smallest limit on a batch when batches are kept to half of the work in flight."""

_LOOP_ENDED = "the writer has stopped; look the command up by its key to see if it was written"


class Writer(Generic[Token]):
    """Write proposals in batches and deliver the result of each.

    After a failed write or fsync it is unknown what the disk holds. The writer then halts at once
    and writes nothing more, in this process or the next, until a person releases it. The halt is
    recorded in the store if possible, and in `state_dir` by marker files (see `stores.files`).

    A database that does not respond, or in which other servers always win, does not halt the
    writer: the batch gets that failure and the next batch is tried. A house that must be restarted
    halts too, but nothing is recorded, so the restarted house can write. `halted_by_defect` is true
    if this process caused the halt and not the store.
    """

    def __init__(
        self,
        store: Store,
        *,
        deliver: DeliveryCallback[Token] | None = None,
        publish: PublishCallback | None = None,
        state_dir: Path | None = None,
        max_queued: int = 10_000,
        max_batch: int = 1024,
    ) -> None:
        self._state_dir = state_dir
        self._set_store(store)
        self._deliver, self._publish = deliver, publish
        self._max_queued, self._max_batch = max_queued, max_batch
        self._pending: PendingBatch[Token] = PendingBatch([], [], [])
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._wakeup = asyncio.Event()
        self._idle = self._closed = False
        self._batches = self._largest = self._unavailable = 0
        self._retry_singly = self._last_batch_size = 0
        self._outcomes: dict[type[ProposalOutcome], int] = {
            Acceptance: 0,
            HeadConflict: 0,
            DuplicateKey: 0,
        }
        self.halt_reason, self.halted_by_defect = self._stored_halt_reason(), False
        if not self.halt_reason:
            self.clear_halt_markers()
        self._ended = Event()
        if self._writer_process is None:
            Thread(target=self._run, name="threedice-writer").start()
        else:
            self._loop, self._thread = asyncio.get_running_loop(), get_ident()
            self._task = self._loop.create_task(self._run_task())
            self._task.add_done_callback(self._end_task)

    # --- public interface -----------------------------------------------------------------------

    def submit(self, proposal: Proposal, token: Token) -> None:
        """Queue a proposal for the next batch; its result goes to the delivery callback."""
        self._enqueue(proposal, token)

    def write_and_wait(self, proposal: Proposal) -> ProposalOutcome:
        """Write a proposal and wait for its outcome."""
        self._require_other_thread()
        future = WriteFuture()
        self._enqueue(proposal, future)
        return future.result()

    def suspend(self, reason: str) -> None:
        """Stop writing because another server found the database failing."""
        with self._lock:
            self.halt_reason = self.halt_reason or reason

    def release(self, store: Store | None = None) -> None:
        """Write again after a person has ended the halt; to another store if given."""
        store = store or self._store
        self._require_same_mode(store)
        store.release()
        self.clear_halt_markers()
        self.resume(store)

    def resume(self, store: Store) -> None:
        """Write again in this process only; the recorded halt remains."""
        self._require_same_mode(store)
        with self._lock:
            self._set_store(store)
            self.halt_reason, self.halted_by_defect = "", False

    def clear_halt_markers(self) -> None:
        """Remove the halt markers outside the store."""
        if self._state_dir is None:
            return
        try:
            clear_halt(self._state_dir)
        except OSError as error:
            raise StoreUnusable(
                f"{self._state_dir}: {error.strerror}; it must be writable"
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
            queued=len(self._pending.tokens),
        )

    def close(self) -> None:
        """Write the queued proposals and stop."""
        self._require_other_thread()
        with self._lock:
            self._closed = True
            self._wake()
        self._ended.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _require_other_thread(self) -> None:
        """Refuse to block the event loop on work that only the loop can do."""
        if self._writer_process and get_ident() == self._thread and not self._ended.is_set():
            raise InvariantBroken(
                "the event loop that writes cannot wait for itself; call this from another thread"
            )

    def _enqueue(self, proposal: Proposal, token: Token | WriteFuture) -> None:
        check_proposal(proposal)  # before it can make others in its batch fail
        # Encoded by the submitting thread, outside the lock.
        process = self._writer_process
        payload = process.encode_proposal(proposal) if process else proposal
        with self._lock:
            if self.halt_reason:
                raise StoreFailed(self.halt_reason)
            if self._closed:
                raise OperatingFailure("the writer is closed; send the command to a running server")
            pending = self._pending
            if len(pending.tokens) >= self._max_queued:
                raise QueueFull(
                    f"{self._max_queued} commands are waiting to be written; try again later"
                )
            pending.proposals.append(proposal)
            pending.payloads.append(payload)
            pending.tokens.append(token)
            if self._idle:
                self._wake()

    # --- writing in a thread --------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            result: list[ProposalOutcome] | Exception
            try:
                result = self._store.write(batch.payloads)
            except Exception as failure:
                result = failure
            self._complete_batch(batch, result)
        self._ended.set()

    def _next_batch(self) -> PendingBatch[Token] | None:
        """Wait for the next batch; return None once closed and drained."""
        with self._lock:
            while not self._pending.tokens and not self._closed:
                self._idle = True
                self._work.wait()
            return self._take_batch()

    def _wake(self) -> None:
        """Wake the writer if it is idle."""
        if not self._idle:
            return
        self._idle = False
        if self._writer_process is None:
            self._work.notify()
        else:
            self._loop.call_soon_threadsafe(self._wakeup.set)

    # --- writing in a task, through the writer process ------------------------------------------

    async def _run_task(self) -> None:
        while batch := await self._await_batch():
            await self._write_in_process(batch)

    def _end_task(self, _: asyncio.Task[None]) -> None:
        """Fail the queued proposals if the loop ends before the writer is closed."""
        with self._lock:
            self._closed, self._idle = True, False
            remaining = self._pending.take(len(self._pending.tokens))
        if remaining.tokens:
            self._complete_batch(remaining, StoreUnavailable(_LOOP_ENDED))
        self._ended.set()

    async def _await_batch(self) -> PendingBatch[Token] | None:
        """Wait for the next batch; return None once closed and drained."""
        while True:
            with self._lock:
                batch = self._take_batch()
                if batch is not None or self._closed:
                    self._idle = False
                    return batch
                self._idle = True
                self._wakeup.clear()
            await self._wakeup.wait()

    async def _write_in_process(self, batch: PendingBatch[Token]) -> None:
        process = cast("WriterProcess", self._writer_process)  # see _require_same_mode
        result: list[ProposalOutcome] | Exception
        try:
            result = await process.write(batch.payloads)
        except Exception as failure:
            result = failure
        except BaseException:
            self._complete_batch(batch, StoreUnavailable(_LOOP_ENDED))
            raise
        self._complete_batch(batch, result)

    # --- batches --------------------------------------------------------------------------------

    def _take_batch(self) -> PendingBatch[Token] | None:
        """Return the next batch, or None; after a rejected batch, one proposal at a time."""
        if not self._pending.tokens:
            self._last_batch_size = 0
            return None
        limit = self._max_batch
        if self._retry_singly:
            limit, self._retry_singly = 1, self._retry_singly - 1
        elif self._writer_process:
            # Each batch takes half of the proposals in flight, so that committing overlaps with
            # the clients of the previous batch submitting again.
            half = (self._last_batch_size + len(self._pending.tokens) + 1) // 2
            limit = min(limit, max(MIN_BATCH_LIMIT, half))
        batch = self._pending.take(limit)
        self._last_batch_size = len(batch.tokens)
        return batch

    def _complete_batch(
        self, batch: PendingBatch[Token], result: list[ProposalOutcome] | Exception
    ) -> None:
        """Deliver the results of a batch, or handle its failure."""
        if isinstance(result, list) and len(result) != len(batch.tokens):
            result = InvariantBroken(f"{len(result)} outcomes of {len(batch.tokens)} proposals")
        match result:
            case list():
                self._count(result)
                self._deliver_and_publish(batch, result)
            case StoreUnavailable() | StreamConflict():
                self._unavailable += len(batch.tokens)
                self._deliver_and_publish(batch, [_copy_failure(result) for _ in batch.tokens])
            case InvalidInput() if len(batch.tokens) == 1:
                self._deliver_and_publish(batch, [result])
            case InvalidInput():  # nothing is written: retry singly, to fail only the invalid one
                with self._lock:
                    self._pending.prepend(batch)
                    self._retry_singly = len(batch.tokens)
            case HouseOutdated():  # not recorded: a restarted house may write
                self._stop("nothing more can be written", result, batch.tokens)
            case _:
                self._halt(result, batch.tokens)

    def _count(self, outcomes: list[ProposalOutcome]) -> None:
        self._batches += 1
        self._largest = max(self._largest, len(outcomes))
        for outcome in outcomes:
            self._outcomes[type(outcome)] += 1

    def _deliver_and_publish(
        self, batch: PendingBatch[Token], results: Sequence[WriteResult]
    ) -> None:
        """Acknowledge, then publish; halt if either callback fails.

        That halt is not recorded: the store is sound, and the next process may write.
        """
        try:
            self._acknowledge(batch.tokens, results)
            if self._publish and (appended := _appended_entries(batch.proposals, results)):
                self._publish(appended)
        except Exception as defect:
            self.halted_by_defect = True
            self._stop("written entries could not be delivered", defect, [])

    def _acknowledge(
        self, tokens: list[Token | WriteFuture], results: Sequence[WriteResult]
    ) -> None:
        delivered_tokens: list[Token] = []
        delivered_results: list[WriteResult] = []
        for token, result in zip(tokens, results, strict=True):
            if not isinstance(token, WriteFuture):
                delivered_tokens.append(token)
                delivered_results.append(result)
            elif isinstance(result, Exception):
                token.set_exception(result)
            else:
                token.set_result(result)
        if delivered_tokens and self._deliver:
            self._deliver(delivered_tokens, delivered_results)

    def _require_same_mode(self, store: Store) -> None:
        if (store.writer_process is None) is not (self._writer_process is None):
            raise InvariantBroken(
                "a store with a writer process cannot replace one without it, or vice versa"
            )

    def _set_store(self, store: Store) -> None:
        self._store, self._writer_process = store, store.writer_process

    # --- halts ----------------------------------------------------------------------------------

    def _stored_halt_reason(self) -> str:
        if reason := self._store.suspension_reason():
            return reason
        if self._state_dir and is_halted(self._state_dir):
            return "writing was halted and has not been released; check the disk"
        return ""

    def _halt(self, failure: Exception, tokens: list[Token | WriteFuture]) -> None:
        """Record the halt before reporting it, then fail all queued proposals."""
        if self._state_dir:
            mark_halted(self._state_dir)
        problem = "the store could not write"
        with suppress(Exception):  # a store that cannot write may not be able to record this
            self._store.suspend(_describe_failure(problem, failure))
        self._stop(problem, failure, tokens)

    def _stop(self, problem: str, failure: Exception, tokens: list[Token | WriteFuture]) -> None:
        with self._lock:
            self.halt_reason = _describe_failure(problem, failure)
            tokens += self._pending.take(len(self._pending.tokens)).tokens
        error = StoreFailed(self.halt_reason)
        error.__cause__ = failure
        with suppress(Exception):  # nothing is left to report a failed delivery to
            self._acknowledge(tokens, [_copy_failure(error) for _ in tokens])


def _appended_entries(
    proposals: Sequence[Proposal], results: Sequence[WriteResult]
) -> dict[str, list[Entry]]:
    """Return the entries that a batch appended to each stream, in order."""
    appended: dict[str, list[Entry]] = {}
    for proposal, result in zip(proposals, results, strict=True):
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
