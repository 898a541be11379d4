"""The writer: one thread or one task through which everything is written, with group commit.

Whatever was submitted while the last transaction committed goes into the next one. A batch is
acknowledged when it is durable and published when it is acknowledged, never the other way round.
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
from threedice.log.stores import files

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.log.store import Proposal, Store
    from threedice.log.writer_process import WriterProcess

WriteResult: TypeAlias = ProposalOutcome | OperatingFailure | InvalidInput

DeliveryCallback: TypeAlias = Callable[[Sequence[Token], Sequence[WriteResult]], None]
"""Takes the tokens of a whole batch and what became of each, in the writer's thread."""

PublishCallback: TypeAlias = Callable[[dict[str, list[Entry]]], None]
"""Takes what a batch has appended to each stream, in the writer's thread."""


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """What a writer has done since it was made, and how many proposals wait."""

    batches: int
    largest_batch: int
    accepted: int
    conflicts: int
    duplicates: int
    unavailable: int
    queued: int


MIN_BATCH_LIMIT = 32
"""As many proposals as are not worth a batch of less."""

_LOOP_ENDED = "whoever wrote has stopped; ask by its key what became of a command"


class Writer(Generic[Token]):
    """Writes proposals in batches and says what became of each.

    A failed write or fsync leaves it unknown what the disk holds, so the writer halts at the first:
    it writes nothing more, in this process or the next, until a person has looked and released it.
    The halt is noted in the store if that still can be, and in `state` by a file that goes away
    (see `halt`). A database that does not answer, or in which others are always first, is no such
    failure: the batch is answered with it, and the writer goes on with the next. A house that must
    be restarted halts, too, but the one that comes after it does not. `defect` tells of a halt
    whether it is this process, and not the store, that is unwell.
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
        self._batches = self._largest = self._unavailable = self._retry_singly = self._answered = 0
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

    # --- what others ask of it ------------------------------------------------------------------

    def submit(self, proposal: Proposal, token: Token) -> None:
        """Have a proposal written with the next batch; what becomes of it is delivered."""
        self._enqueue(proposal, token)

    def write_and_wait(self, proposal: Proposal) -> ProposalOutcome:
        """Have a proposal written, and wait for what becomes of it."""
        self._require_other_thread()
        now = WriteFuture()
        self._enqueue(proposal, now)
        return now.result()

    def suspend(self, reason: str) -> None:
        """Write nothing more because another server has found the database failing."""
        with self._lock:
            self.halt_reason = self.halt_reason or reason

    def release(self, store: Store | None = None) -> None:
        """Write again after a halt, now that a person has looked; to another store if given."""
        store = store or self._store
        self._require_same_mode(store)
        store.release()
        self.clear_halt_markers()
        self.resume(store)

    def resume(self, store: Store) -> None:
        """Write again, though only until this process ends: what was noted of the halt stays."""
        self._require_same_mode(store)
        with self._lock:
            self._set_store(store)
            self.halt_reason, self.halted_by_defect = "", False

    def clear_halt_markers(self) -> None:
        """Forget what was noted of a halt outside the store."""
        if self._state_dir is None:
            return
        try:
            files.clear_halt(self._state_dir)
        except OSError as error:
            raise StoreUnusable(
                f"{self._state_dir}: {error.strerror}; it must be writable"
            ) from error

    def counts(self) -> WriterCounts:
        """Return what has been done so far."""
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
        """Write what is waiting, and stop."""
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
        """Refuse to have the loop wait for what it would do itself if it did not wait."""
        if self._writer_process and get_ident() == self._thread and not self._ended.is_set():
            raise InvariantBroken("a loop that writes cannot wait for itself; use another thread")

    def _enqueue(self, proposal: Proposal, token: Token | WriteFuture) -> None:
        check_proposal(proposal)  # here, where it harms nobody else in its batch
        # and here it is put into words, by a thread that has it at hand anyway
        words = self._writer_process.encode_proposal(proposal) if self._writer_process else proposal
        with self._lock:
            if self.halt_reason:
                raise StoreFailed(self.halt_reason)
            if self._closed:
                raise OperatingFailure("the writer is closed; ask a server that is running")
            waiting = self._pending
            if len(waiting.tokens) >= self._max_queued:
                raise QueueFull(
                    f"{self._max_queued} commands are waiting to be written; ask again later"
                )
            waiting.proposals.append(proposal)
            waiting.payloads.append(words)
            waiting.tokens.append(token)
            if self._idle:
                self._wake()

    # --- what its thread does -------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            end: list[ProposalOutcome] | Exception
            try:
                end = self._store.write(batch.payloads)
            except Exception as failure:
                end = failure
            self._complete_batch(batch, end)
        self._ended.set()

    def _next_batch(self) -> PendingBatch[Token] | None:
        """Return what is to be written next, waiting for it; nothing once closed and drained."""
        with self._lock:
            while not self._pending.tokens and not self._closed:
                self._idle = True
                self._work.wait()
            return self._take_batch()

    def _wake(self) -> None:
        """Have the next batch seen to, if nobody does."""
        if not self._idle:
            return
        self._idle = False
        if self._writer_process is None:
            self._work.notify()
        else:
            self._loop.call_soon_threadsafe(self._wakeup.set)

    # --- or a task, where another process writes ------------------------------------------------

    async def _run_task(self) -> None:
        while batch := await self._await_batch():
            await self._write_in_process(batch)

    def _end_task(self, _: asyncio.Task[None]) -> None:
        """Answer whoever still waits, where the loop ends before the writer was closed."""
        with self._lock:
            self._closed, self._idle = True, False
            left = self._pending.take(len(self._pending.tokens))
        if left.tokens:
            self._complete_batch(left, StoreUnavailable(_LOOP_ENDED))
        self._ended.set()

    async def _await_batch(self) -> PendingBatch[Token] | None:
        """Return what is to be written next, waiting for it; nothing once closed and drained."""
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
        scribe = cast(
            "WriterProcess", self._writer_process
        )  # a store without one cannot take the place of this
        end: list[ProposalOutcome] | Exception
        try:
            end = await scribe.write(batch.payloads)
        except Exception as failure:
            end = failure
        except BaseException:
            self._complete_batch(batch, StoreUnavailable(_LOOP_ENDED))
            raise
        self._complete_batch(batch, end)

    # --- and what either of them does with a batch ----------------------------------------------

    def _take_batch(self) -> PendingBatch[Token] | None:
        """Return what is to be written next, if anything is; what was unfit together, singly."""
        if not self._pending.tokens:
            self._answered = 0
            return None
        most = self._max_batch
        if self._retry_singly:
            most, self._retry_singly = 1, self._retry_singly - 1
        elif self._writer_process:
            # Half of those who ask are written while the other half, just answered, asks again.
            half = (self._answered + len(self._pending.tokens) + 1) // 2
            most = min(most, max(MIN_BATCH_LIMIT, half))
        batch = self._pending.take(most)
        self._answered = len(batch.tokens)
        return batch

    def _complete_batch(
        self, batch: PendingBatch[Token], end: list[ProposalOutcome] | Exception
    ) -> None:
        """See to it that everybody hears what became of a batch."""
        if isinstance(end, list) and len(end) != len(batch.tokens):
            end = InvariantBroken(f"{len(end)} outcomes of {len(batch.tokens)} proposals")
        match end:
            case list():
                self._count(end)
                self._deliver_and_publish(batch, end)
            case StoreUnavailable() | StreamConflict():
                self._unavailable += len(batch.tokens)
                self._deliver_and_publish(batch, [_copy_failure(end) for _ in batch.tokens])
            case InvalidInput() if len(batch.tokens) == 1:
                self._deliver_and_publish(batch, [end])
            case InvalidInput():  # nothing is written: let it be its own caller's trouble
                with self._lock:
                    self._pending.prepend(batch)
                    self._retry_singly = len(batch.tokens)
            case HouseOutdated():  # nor is this noted: the house that is started next may write
                self._stop("nothing more can be written", end, batch.tokens)
            case _:
                self._halt(end, batch.tokens)

    def _count(self, outcomes: list[ProposalOutcome]) -> None:
        self._batches += 1
        self._largest = max(self._largest, len(outcomes))
        for outcome in outcomes:
            self._outcomes[type(outcome)] += 1

    def _deliver_and_publish(
        self, batch: PendingBatch[Token], results: Sequence[WriteResult]
    ) -> None:
        """Acknowledge, then publish; a house that cannot be told what is written must stop.

        That halt is not noted: the store is well, and the next process may write.
        """
        try:
            self._acknowledge(batch.tokens, results)
            if self._publish and (fresh := _appended_entries(batch.proposals, results)):
                self._publish(fresh)
        except Exception as defect:
            self.halted_by_defect = True
            self._stop("what was written could not be handed on", defect, [])

    def _acknowledge(
        self, tokens: list[Token | WriteFuture], results: Sequence[WriteResult]
    ) -> None:
        mine: list[Token] = []
        others: list[WriteResult] = []
        for token, result in zip(tokens, results, strict=True):
            if not isinstance(token, WriteFuture):
                mine.append(token)
                others.append(result)
            elif isinstance(result, Exception):
                token.set_exception(result)
            else:
                token.set_result(result)
        if mine and self._deliver:
            self._deliver(mine, others)

    def _require_same_mode(self, store: Store) -> None:
        if (store.writer_process is None) is not (self._writer_process is None):
            raise InvariantBroken("a store with a scribe and one without cannot follow each other")

    def _set_store(self, store: Store) -> None:
        self._store, self._writer_process = store, store.writer_process

    # --- halts ----------------------------------------------------------------------------------

    def _stored_halt_reason(self) -> str:
        if cause := self._store.suspension_reason():
            return cause
        if self._state_dir and files.is_halted(self._state_dir):
            return "writing was halted before and nobody has released it; see what the disk lacks"
        return ""

    def _halt(self, failure: Exception, tokens: list[Token | WriteFuture]) -> None:
        """Note the halt before anybody hears of it, then answer all who wait."""
        if self._state_dir:
            files.mark_halted(self._state_dir)
        cause = "the store could not write"
        with suppress(Exception):  # a store that cannot write can hardly write this
            self._store.suspend(_describe_failure(cause, failure))
        self._stop(cause, failure, tokens)

    def _stop(self, cause: str, failure: Exception, tokens: list[Token | WriteFuture]) -> None:
        with self._lock:
            self.halt_reason = _describe_failure(cause, failure)
            tokens += self._pending.take(len(self._pending.tokens)).tokens
        failed = StoreFailed(self.halt_reason)
        failed.__cause__ = failure
        with suppress(Exception):  # where even this cannot be delivered, nothing can
            self._acknowledge(tokens, [_copy_failure(failed) for _ in tokens])


def _appended_entries(
    proposals: Sequence[Proposal], results: Sequence[WriteResult]
) -> dict[str, list[Entry]]:
    """Return what a batch has appended to each stream, in order."""
    fresh: dict[str, list[Entry]] = {}
    for proposal, result in zip(proposals, results, strict=True):
        if isinstance(result, Acceptance):
            for append in proposal.appends:
                fresh.setdefault(append.stream, []).extend(append.entries)
    return fresh


def _copy_failure(failure: OperatingFailure) -> OperatingFailure:
    """Return a failure for one caller, since each raises its own."""
    own = type(failure)(str(failure))
    own.__cause__ = failure.__cause__
    return own


def _describe_failure(cause: str, failure: Exception) -> str:
    return f"{cause}: {str(failure) or type(failure).__name__}"
