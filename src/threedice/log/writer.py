"""The writer: one thread through which everything is written, with group commit.

Whatever was submitted while the last transaction committed goes into the next one. A batch is
acknowledged when it is durable and published when it is acknowledged, never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Generic, Self, TypeAlias, TypeVar

from threedice.errors import (
    Conflicted,
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

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from threedice.log.store import Proposal, Store

Token = TypeVar("Token")
"""What a caller knows its proposal by, such as the future that it awaits."""

Result: TypeAlias = Outcome | OperatingFailure | InvalidInput

Delivery: TypeAlias = Callable[[list[tuple[Token, Result]]], None]
"""Takes the results of a whole batch at once, in the writer's thread."""

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


class _Now(Future[Outcome]):
    """The token of somebody who waits in `write_now`."""


class Writer(Generic[Token]):
    """Writes proposals in batches and says what became of each.

    A failed write or fsync leaves it unknown what the disk holds, so the writer halts at the first:
    it writes nothing more, in this process or the next, until a person has looked and released it.
    The halt is noted in the store if that still can be, and in `state` by a file that goes away
    (see `halt`). A database that does not answer, or in which others are always first, is no such
    failure: the batch is answered with it, and the writer goes on with the next.
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
        self._store, self._state = store, state
        self._deliver, self._publish = deliver, publish
        self._most, self._largest_batch = most, largest_batch
        self._waiting: list[tuple[Proposal, Token | _Now]] = []
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._idle = self._closed = False
        self._batches = self._largest = self._away = 0
        self._outcomes: dict[type[Outcome], int] = {Accepted: 0, Conflict: 0, Known: 0}
        self.halted = self._halted_before()
        if not self.halted:
            self._clear_note()
        self._thread = Thread(target=self._run, name="threedice-writer")
        self._thread.start()

    # --- what others ask of it ------------------------------------------------------------------

    def submit(self, proposal: Proposal, token: Token) -> None:
        """Have a proposal written with the next batch; what becomes of it is delivered."""
        self._put(proposal, token)

    def write_now(self, proposal: Proposal) -> Outcome:
        """Have a proposal written, and wait for what becomes of it."""
        now = _Now()
        self._put(proposal, now)
        return now.result()

    def hold(self, cause: str) -> None:
        """Write nothing more because another server has found the database failing."""
        with self._lock:
            self.halted = self.halted or cause

    def release(self, store: Store | None = None) -> None:
        """Write again after a halt, now that a person has looked; to another store if given."""
        store = store or self._store
        store.release()
        self._clear_note()
        with self._lock:
            self._store, self.halted = store, ""

    def counts(self) -> Counts:
        """Return what has been done so far."""
        return Counts(
            batches=self._batches,
            largest=self._largest,
            accepted=self._outcomes[Accepted],
            conflicts=self._outcomes[Conflict],
            known=self._outcomes[Known],
            away=self._away,
            waiting=len(self._waiting),
        )

    def close(self) -> None:
        """Write what is waiting, and stop."""
        with self._lock:
            self._closed = True
            self._work.notify()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _put(self, proposal: Proposal, token: Token | _Now) -> None:
        check_proposal(proposal)  # here, where it harms nobody else in its batch
        with self._lock:
            if self.halted:
                raise StoreFailed(self.halted)
            if self._closed:
                raise OperatingFailure("the writer is closed; ask a server that is running")
            if len(self._waiting) >= self._most:
                raise QueueFull(f"{self._most} commands are waiting to be written; ask again later")
            self._waiting.append((proposal, token))
            if self._idle:
                self._idle = False
                self._work.notify()

    # --- what its thread does -------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._next_batch():
            self._write(batch)

    def _write(self, batch: list[tuple[Proposal, Token | _Now]]) -> None:
        proposals = [proposal for proposal, _ in batch]
        tokens = [token for _, token in batch]
        try:
            outcomes = self._written(proposals)
        except (StoreAway, Conflicted) as failure:
            self._away += len(batch)
            self._hand_on(proposals, [(token, _own(failure)) for token in tokens])
        except InvalidInput as failure:  # nothing is written: let it be its own caller's trouble
            if len(batch) == 1:
                self._hand_on(proposals, [(tokens[0], failure)])
            else:
                for each in batch:
                    self._write([each])
        except Exception as failure:
            self._halt(failure, tokens)
        else:
            self._hand_on(proposals, list(zip(tokens, outcomes, strict=True)))

    def _next_batch(self) -> list[tuple[Proposal, Token | _Now]]:
        """Return what is to be written next, waiting for it; nothing once closed and drained."""
        with self._lock:
            while not self._waiting and not self._closed:
                self._idle = True
                self._work.wait()
            self._idle = False
            batch = self._waiting[: self._largest_batch]
            del self._waiting[: self._largest_batch]
            return batch

    def _written(self, proposals: list[Proposal]) -> list[Outcome]:
        outcomes = self._store.write(proposals)
        if len(outcomes) != len(proposals):
            raise InvariantBroken(f"{len(outcomes)} outcomes of {len(proposals)} proposals")
        self._batches += 1
        self._largest = max(self._largest, len(proposals))
        for outcome in outcomes:
            self._outcomes[type(outcome)] += 1
        return outcomes

    def _hand_on(
        self, proposals: list[Proposal], results: list[tuple[Token | _Now, Result]]
    ) -> None:
        """Acknowledge, then publish; a house that cannot be told what is written must stop.

        That halt is not noted: the store is well, and the next process may write.
        """
        try:
            self._acknowledge(results)
            if self._publish and (fresh := _appended(proposals, results)):
                self._publish(fresh)
        except Exception as defect:
            self._stop("what was written could not be handed on", defect, [])

    def _acknowledge(self, results: list[tuple[Token | _Now, Result]]) -> None:
        delivered: list[tuple[Token, Result]] = []
        for token, result in results:
            if not isinstance(token, _Now):
                delivered.append((token, result))
            elif isinstance(result, Exception):
                token.set_exception(result)
            else:
                token.set_result(result)
        if delivered and self._deliver:
            self._deliver(delivered)

    # --- halts ----------------------------------------------------------------------------------

    def _halted_before(self) -> str:
        if cause := self._store.suspended():
            return cause
        if self._state and halt.noted(self._state):
            return "writing was halted before and nobody has released it; see what the disk lacks"
        return ""

    def _halt(self, failure: Exception, tokens: list[Token | _Now]) -> None:
        """Note the halt before anybody hears of it, then answer all who wait."""
        if self._state:
            halt.note(self._state)
        cause = "the store could not write"
        with suppress(Exception):  # a store that cannot write can hardly write this
            self._store.suspend(_told(cause, failure))
        self._stop(cause, failure, tokens)

    def _stop(self, cause: str, failure: Exception, tokens: list[Token | _Now]) -> None:
        with self._lock:
            self.halted = _told(cause, failure)
            tokens += [token for _, token in self._waiting]
            self._waiting.clear()
        failed = StoreFailed(self.halted)
        failed.__cause__ = failure
        with suppress(Exception):  # where even this cannot be delivered, nothing can
            self._acknowledge([(token, _own(failed)) for token in tokens])

    def _clear_note(self) -> None:
        if self._state is None:
            return
        try:
            halt.clear(self._state)
        except OSError as error:
            raise StoreUnfit(f"{self._state}: {error.strerror}; it must be writable") from error


def _appended(
    proposals: Sequence[Proposal], results: Sequence[tuple[object, Result]]
) -> dict[str, list[Entry]]:
    """Return what a batch has appended to each stream, in order."""
    fresh: dict[str, list[Entry]] = {}
    for proposal, (_, result) in zip(proposals, results, strict=True):
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
