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
    Conflicted,
    HouseOutdated,
    InvalidInput,
    InvariantBroken,
    OperatingFailure,
    QueueFull,
    StoreAway,
    StoreFailed,
    StoreUnfit,
)
from threedice.log import halt
from threedice.log.entry import Entry
from threedice.log.judging import check_proposal
from threedice.log.store import Accepted, Conflict, Known, Outcome
from threedice.log.waiting import Batch, Now, Token

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from threedice.log.scribe import Scribe
    from threedice.log.store import Proposal, Store

Result: TypeAlias = Outcome | OperatingFailure | InvalidInput

Delivery: TypeAlias = Callable[[Sequence[Token], Sequence[Result]], None]
"""Takes the tokens of a whole batch and what became of each, in the writer's thread."""

Publication: TypeAlias = Callable[[dict[str, list[Entry]]], None]
"""Takes what a batch has appended to each stream, in the writer's thread."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a writer has done since it was made, and how many proposals wait."""

    batches: int
    largest: int
    accepted: int
    conflicts: int
    known: int
    away: int
    waiting: int


FEW = 32
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
        deliver: Delivery[Token] | None = None,
        publish: Publication | None = None,
        state: Path | None = None,
        most: int = 10_000,
        largest_batch: int = 1024,
    ) -> None:
        self._state = state
        self._use(store)
        self._deliver, self._publish = deliver, publish
        self._most, self._largest_batch = most, largest_batch
        self._waiting: Batch[Token] = Batch([], [], [])
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._news = asyncio.Event()
        self._idle = self._closed = False
        self._batches = self._largest = self._away = self._singly = self._answered = 0
        self._outcomes: dict[type[Outcome], int] = {Accepted: 0, Conflict: 0, Known: 0}
        self.halted, self.defect = self._halted_before(), False
        if not self.halted:
            self.forget()
        self._ended = Event()
        if self._scribe is None:
            Thread(target=self._run, name="threedice-writer").start()
        else:
            self._loop, self._thread = asyncio.get_running_loop(), get_ident()
            self._task = self._loop.create_task(self._dictate())
            self._task.add_done_callback(self._leave)

    # --- what others ask of it ------------------------------------------------------------------

    def submit(self, proposal: Proposal, token: Token) -> None:
        """Have a proposal written with the next batch; what becomes of it is delivered."""
        self._put(proposal, token)

    def write_now(self, proposal: Proposal) -> Outcome:
        """Have a proposal written, and wait for what becomes of it."""
        self._need_another_thread()
        now = Now()
        self._put(proposal, now)
        return now.result()

    def hold(self, cause: str) -> None:
        """Write nothing more because another server has found the database failing."""
        with self._lock:
            self.halted = self.halted or cause

    def release(self, store: Store | None = None) -> None:
        """Write again after a halt, now that a person has looked; to another store if given."""
        store = store or self._store
        self._need_alike(store)
        store.release()
        self.forget()
        self.resume(store)

    def resume(self, store: Store) -> None:
        """Write again, though only until this process ends: what was noted of the halt stays."""
        self._need_alike(store)
        with self._lock:
            self._use(store)
            self.halted, self.defect = "", False

    def forget(self) -> None:
        """Forget what was noted of a halt outside the store."""
        if self._state is None:
            return
        try:
            halt.clear(self._state)
        except OSError as error:
            raise StoreUnfit(f"{self._state}: {error.strerror}; it must be writable") from error

    def counts(self) -> Counts:
        """Return what has been done so far."""
        return Counts(
            batches=self._batches,
            largest=self._largest,
            accepted=self._outcomes[Accepted],
            conflicts=self._outcomes[Conflict],
            known=self._outcomes[Known],
            away=self._away,
            waiting=len(self._waiting.tokens),
        )

    def close(self) -> None:
        """Write what is waiting, and stop."""
        self._need_another_thread()
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

    def _need_another_thread(self) -> None:
        """Refuse to have the loop wait for what it would do itself if it did not wait."""
        if self._scribe and get_ident() == self._thread and not self._ended.is_set():
            raise InvariantBroken("a loop that writes cannot wait for itself; use another thread")

    def _put(self, proposal: Proposal, token: Token | Now) -> None:
        check_proposal(proposal)  # here, where it harms nobody else in its batch
        # and here it is put into words, by a thread that has it at hand anyway
        words = self._scribe.words(proposal) if self._scribe else proposal
        with self._lock:
            if self.halted:
                raise StoreFailed(self.halted)
            if self._closed:
                raise OperatingFailure("the writer is closed; ask a server that is running")
            waiting = self._waiting
            if len(waiting.tokens) >= self._most:
                raise QueueFull(f"{self._most} commands are waiting to be written; ask again later")
            waiting.proposals.append(proposal)
            waiting.words.append(words)
            waiting.tokens.append(token)
            if self._idle:
                self._wake()

    # --- what its thread does -------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            end: list[Outcome] | Exception
            try:
                end = self._store.write(batch.words)
            except Exception as failure:
                end = failure
            self._finish(batch, end)
        self._ended.set()

    def _next_batch(self) -> Batch[Token] | None:
        """Return what is to be written next, waiting for it; nothing once closed and drained."""
        with self._lock:
            while not self._waiting.tokens and not self._closed:
                self._idle = True
                self._work.wait()
            return self._taken()

    def _wake(self) -> None:
        """Have the next batch seen to, if nobody does."""
        if not self._idle:
            return
        self._idle = False
        if self._scribe is None:
            self._work.notify()
        else:
            self._loop.call_soon_threadsafe(self._news.set)

    # --- or a task, where another process writes ------------------------------------------------

    async def _dictate(self) -> None:
        while batch := await self._next_dictated():
            await self._dictated(batch)

    def _leave(self, _: asyncio.Task[None]) -> None:
        """Answer whoever still waits, where the loop ends before the writer was closed."""
        with self._lock:
            self._closed, self._idle = True, False
            left = self._waiting.taken(len(self._waiting.tokens))
        if left.tokens:
            self._finish(left, StoreAway(_LOOP_ENDED))
        self._ended.set()

    async def _next_dictated(self) -> Batch[Token] | None:
        """Return what is to be written next, waiting for it; nothing once closed and drained."""
        while True:
            with self._lock:
                batch = self._taken()
                if batch is not None or self._closed:
                    self._idle = False
                    return batch
                self._idle = True
                self._news.clear()
            await self._news.wait()

    async def _dictated(self, batch: Batch[Token]) -> None:
        scribe = cast("Scribe", self._scribe)  # a store without one cannot take the place of this
        end: list[Outcome] | Exception
        try:
            end = await scribe.write(batch.words)
        except Exception as failure:
            end = failure
        except BaseException:
            self._finish(batch, StoreAway(_LOOP_ENDED))
            raise
        self._finish(batch, end)

    # --- and what either of them does with a batch ----------------------------------------------

    def _taken(self) -> Batch[Token] | None:
        """Return what is to be written next, if anything is; what was unfit together, singly."""
        if not self._waiting.tokens:
            self._answered = 0
            return None
        most = self._largest_batch
        if self._singly:
            most, self._singly = 1, self._singly - 1
        elif self._scribe:
            # Half of those who ask are written while the other half, just answered, asks again.
            half = (self._answered + len(self._waiting.tokens) + 1) // 2
            most = min(most, max(FEW, half))
        batch = self._waiting.taken(most)
        self._answered = len(batch.tokens)
        return batch

    def _finish(self, batch: Batch[Token], end: list[Outcome] | Exception) -> None:
        """See to it that everybody hears what became of a batch."""
        if isinstance(end, list) and len(end) != len(batch.tokens):
            end = InvariantBroken(f"{len(end)} outcomes of {len(batch.tokens)} proposals")
        match end:
            case list():
                self._count(end)
                self._hand_on(batch, end)
            case StoreAway() | Conflicted():
                self._away += len(batch.tokens)
                self._hand_on(batch, [_own(end) for _ in batch.tokens])
            case InvalidInput() if len(batch.tokens) == 1:
                self._hand_on(batch, [end])
            case InvalidInput():  # nothing is written: let it be its own caller's trouble
                with self._lock:
                    self._waiting.put_first(batch)
                    self._singly = len(batch.tokens)
            case HouseOutdated():  # nor is this noted: the house that is started next may write
                self._stop("nothing more can be written", end, batch.tokens)
            case _:
                self._halt(end, batch.tokens)

    def _count(self, outcomes: list[Outcome]) -> None:
        self._batches += 1
        self._largest = max(self._largest, len(outcomes))
        for outcome in outcomes:
            self._outcomes[type(outcome)] += 1

    def _hand_on(self, batch: Batch[Token], results: Sequence[Result]) -> None:
        """Acknowledge, then publish; a house that cannot be told what is written must stop.

        That halt is not noted: the store is well, and the next process may write.
        """
        try:
            self._acknowledge(batch.tokens, results)
            if self._publish and (fresh := _appended(batch.proposals, results)):
                self._publish(fresh)
        except Exception as defect:
            self.defect = True
            self._stop("what was written could not be handed on", defect, [])

    def _acknowledge(self, tokens: list[Token | Now], results: Sequence[Result]) -> None:
        mine: list[Token] = []
        others: list[Result] = []
        for token, result in zip(tokens, results, strict=True):
            if not isinstance(token, Now):
                mine.append(token)
                others.append(result)
            elif isinstance(result, Exception):
                token.set_exception(result)
            else:
                token.set_result(result)
        if mine and self._deliver:
            self._deliver(mine, others)

    def _need_alike(self, store: Store) -> None:
        if (store.scribe is None) is not (self._scribe is None):
            raise InvariantBroken("a store with a scribe and one without cannot follow each other")

    def _use(self, store: Store) -> None:
        self._store, self._scribe = store, store.scribe

    # --- halts ----------------------------------------------------------------------------------

    def _halted_before(self) -> str:
        if cause := self._store.suspended():
            return cause
        if self._state and halt.noted(self._state):
            return "writing was halted before and nobody has released it; see what the disk lacks"
        return ""

    def _halt(self, failure: Exception, tokens: list[Token | Now]) -> None:
        """Note the halt before anybody hears of it, then answer all who wait."""
        if self._state:
            halt.note(self._state)
        cause = "the store could not write"
        with suppress(Exception):  # a store that cannot write can hardly write this
            self._store.suspend(_told(cause, failure))
        self._stop(cause, failure, tokens)

    def _stop(self, cause: str, failure: Exception, tokens: list[Token | Now]) -> None:
        with self._lock:
            self.halted = _told(cause, failure)
            tokens += self._waiting.taken(len(self._waiting.tokens)).tokens
        failed = StoreFailed(self.halted)
        failed.__cause__ = failure
        with suppress(Exception):  # where even this cannot be delivered, nothing can
            self._acknowledge(tokens, [_own(failed) for _ in tokens])


def _appended(proposals: Sequence[Proposal], results: Sequence[Result]) -> dict[str, list[Entry]]:
    """Return what a batch has appended to each stream, in order."""
    fresh: dict[str, list[Entry]] = {}
    for proposal, result in zip(proposals, results, strict=True):
        if isinstance(result, Accepted):
            for append in proposal.appends:
                fresh.setdefault(append.stream, []).extend(append.entries)
    return fresh


def _own(failure: OperatingFailure) -> OperatingFailure:
    """Return a failure for one caller, since each raises its own."""
    own = type(failure)(str(failure))
    own.__cause__ = failure.__cause__
    return own


def _told(cause: str, failure: Exception) -> str:
    return f"{cause}: {str(failure) or type(failure).__name__}"
