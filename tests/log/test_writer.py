from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore
from typing import TYPE_CHECKING

import pytest

from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import (
    Conflicted,
    InvalidInput,
    OperatingFailure,
    QueueFull,
    StoreAway,
    StoreFailed,
    StoreUnfit,
)
from threedice.log.memory import MemoryStore
from threedice.log.store import Accepted, Conflict, Known
from threedice.log.writer import Counts, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.entry import Entry
    from threedice.log.store import Outcome, Proposal, Store
    from threedice.log.writer import Result


class GatedStore(MemoryStore):
    """Says when a write begins, and ends it when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = SimpleQueue[int]()
        self.gate = Semaphore(0)

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
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

    def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
        self.writes += 1
        if self.failures:
            raise self.failures.pop(0)
        return super().write(proposals)

    def suspend(self, cause: str) -> None:
        if not self.notes:
            raise StoreFailed("no space left on device")
        super().suspend(cause)


class Callers:
    """Everybody who has submitted something; remembers what was delivered, and in how many goes."""

    def __init__(self) -> None:
        self.batches = SimpleQueue[list[tuple[int, "Result"]]]()

    def deliver(self, tokens: Sequence[int], results: Sequence[Result]) -> None:
        self.batches.put(list(zip(tokens, results, strict=True)))

    def next_batch(self) -> list[tuple[int, Result]]:
        return self.batches.get(timeout=PATIENCE)


def test_what_queues_during_a_commit_goes_into_one_transaction_and_one_delivery() -> None:
    store, callers = GatedStore(), Callers()
    first, *rest = propose_row("table/1", 6)
    with Writer(store, deliver=callers.deliver) as writer:
        writer.submit(first, 0)
        assert store.size_of_next() == 1
        for token, proposal in enumerate(rest, 1):
            writer.submit(proposal, token)
        store.let(2)
        assert store.size_of_next() == 5
    assert callers.next_batch() == [(0, Accepted())]
    assert callers.next_batch() == [(token, Accepted()) for token in range(1, 6)]
    assert store.head("table/1").version == 6


def test_a_batch_is_no_larger_than_the_largest() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 8)
    with Writer(store, deliver=callers.deliver, largest_batch=3) as writer:
        writer.submit(row[0], 0)
        assert store.size_of_next() == 1
        for token, proposal in enumerate(row[1:], 1):
            writer.submit(proposal, token)
        store.let(4)
    assert [store.size_of_next() for _ in range(3)] == [3, 3, 1]
    delivered = [token for _ in range(4) for token, _ in callers.next_batch()]
    assert delivered == list(range(8))


def test_nothing_is_acknowledged_before_it_is_written_or_published_before_acknowledged() -> None:
    said: list[str] = []

    class SayingStore(MemoryStore):
        def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
            outcomes = super().write(proposals)
            said.append("written")
            return outcomes

    def deliver(_: Sequence[int], __: Sequence[Result]) -> None:
        said.append("acknowledged")

    def publish(_: dict[str, list[Entry]]) -> None:
        said.append("published")

    with Writer(SayingStore(), deliver=deliver, publish=publish) as writer:
        writer.submit(propose("table/1"), 0)
    assert said == ["written", "acknowledged", "published"]


def test_only_what_is_accepted_is_published_by_stream_and_in_order() -> None:
    store, callers, published = GatedStore(), Callers(), SimpleQueue[dict[str, "list[Entry]"]]()
    one, two = propose_row("table/1", 2)
    late, other = propose("table/1"), propose("table/2", entries=3)
    with Writer(store, deliver=callers.deliver, publish=published.put) as writer:
        writer.submit(propose("cage/ann"), 0)
        store.size_of_next()
        for token, proposal in enumerate((one, late, other, two, one), 1):
            writer.submit(proposal, token)
        store.let(2)
        store.size_of_next()
    assert list(published.get(timeout=PATIENCE)) == ["cage/ann"]
    assert published.get(timeout=PATIENCE) == {
        "table/1": [*one.appends[0].entries, *two.appends[0].entries],
        "table/2": list(other.appends[0].entries),
    }
    callers.next_batch()
    kinds = [type(result) for _, result in callers.next_batch()]
    assert kinds == [Accepted, Conflict, Accepted, Accepted, Known]
    assert writer.counts() == Counts(
        batches=2, largest=5, accepted=4, conflicts=1, known=1, away=0, waiting=0
    )


def test_a_batch_that_appends_nothing_is_not_published() -> None:
    store, published = MemoryStore(), SimpleQueue[dict[str, "list[Entry]"]]()
    proposal = propose("table/1")
    store.write([proposal])
    with Writer[int](store, publish=published.put) as writer:
        assert isinstance(writer.write_now(proposal), Known)
    assert published.empty()


def test_a_full_queue_refuses_at_once_and_keeps_what_it_has() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 5)
    with Writer(store, deliver=callers.deliver, most=3) as writer:
        writer.submit(row[0], 0)
        store.size_of_next()
        for token in (1, 2, 3):
            writer.submit(row[token], token)
        with pytest.raises(QueueFull):
            writer.submit(row[4], 4)
        assert writer.counts().waiting == 3
        store.let(3)
        callers.next_batch()
        assert [token for token, _ in callers.next_batch()] == [1, 2, 3]
        writer.submit(row[4], 4)
    assert store.head("table/1").version == 5


def test_a_proposal_no_store_could_keep_is_refused_to_its_caller_alone() -> None:
    store, callers = GatedStore(), Callers()
    with Writer(store, deliver=callers.deliver) as writer:
        writer.submit(propose("table/1"), 0)
        store.size_of_next()
        writer.submit(propose("table/2"), 1)
        with pytest.raises(InvalidInput):
            writer.submit(propose("table/3", key="k" * 1000), 2)
        store.let(2)
    assert callers.next_batch() == [(0, Accepted())]
    assert callers.next_batch() == [(1, Accepted())]
    assert not writer.halted


def test_write_now_waits_for_what_becomes_of_it() -> None:
    store = MemoryStore()
    with Writer[int](store) as writer:
        assert writer.write_now(propose("table/1")) == Accepted()
        assert writer.write_now(propose("table/1")) == Conflict("table/1", store.head("table/1"))


def test_write_now_raises_what_stood_against_it() -> None:
    with Writer[int](FailingStore(StoreAway("gone"), StoreFailed("EIO"))) as writer:
        with pytest.raises(StoreAway, match="gone"):
            writer.write_now(propose("table/1"))
        with pytest.raises(StoreFailed, match="EIO"):
            writer.write_now(propose("table/1"))


def test_after_a_failed_write_nothing_is_acknowledged_and_nothing_more_written() -> None:
    class FailingGate(GatedStore):
        def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
            super().write(proposals)
            raise StoreFailed("fsync: EIO")

    store, callers = FailingGate(), Callers()
    published = SimpleQueue[dict[str, "list[Entry]"]]()
    with Writer(store, deliver=callers.deliver, publish=published.put) as writer:
        writer.submit(propose("table/1"), 0)
        store.size_of_next()
        writer.submit(propose("table/2"), 1)
        writer.submit(propose("table/3"), 2)
        store.let(9)
        results = callers.next_batch()
        assert [token for token, _ in results] == [0, 1, 2]
        assert {type(result) for _, result in results} == {StoreFailed}
        assert len({id(result) for _, result in results}) == 3
        with pytest.raises(StoreFailed, match="fsync: EIO"):
            writer.submit(propose("table/4"), 3)
    assert store.begun.empty()
    assert published.empty()
    assert "fsync: EIO" in writer.halted
    assert store.suspended() == writer.halted


def test_a_halt_is_noted_before_anybody_hears_of_it(tmp_path: Path) -> None:
    store, noted = FailingStore(StoreFailed("EIO")), SimpleQueue[tuple[bool, str]]()

    def deliver(_: Sequence[int], __: Sequence[Result]) -> None:
        noted.put(((tmp_path / "healthy").exists(), store.suspended()))

    with Writer(store, deliver=deliver, state=tmp_path) as writer:
        writer.submit(propose("table/1"), 0)
    assert noted.get(timeout=PATIENCE) == (False, "the store could not write: EIO")


@pytest.mark.parametrize("notes", [True, False], ids=["noted in the store", "marked outside it"])
def test_a_halt_outlives_the_process_until_a_person_releases_it(
    tmp_path: Path, notes: bool
) -> None:
    store = FailingStore(StoreFailed("no space left on device"), notes=notes)
    with Writer[int](store, state=tmp_path) as writer, pytest.raises(StoreFailed):
        writer.write_now(propose("table/1"))
    for _ in range(2):
        with Writer[int](store, state=tmp_path) as writer:
            assert writer.halted
            with pytest.raises(StoreFailed):
                writer.write_now(propose("table/1"))
    with Writer[int](store, state=tmp_path) as writer:
        writer.release()
        assert not writer.halted
        assert writer.write_now(propose("table/1")) == Accepted()
    assert not store.suspended()
    with Writer[int](store, state=tmp_path) as writer:
        assert writer.write_now(propose("table/2")) == Accepted()


def test_a_halt_noted_in_the_store_alone_holds_too() -> None:
    store = FailingStore(StoreFailed("EIO"))
    with Writer[int](store) as writer, pytest.raises(StoreFailed):
        writer.write_now(propose("table/1"))
    with Writer[int](store) as writer:
        assert "EIO" in writer.halted


def test_a_release_that_cannot_be_noted_releases_nothing() -> None:
    class StuckStore(FailingStore):
        def release(self) -> None:
            raise StoreFailed("read-only file system")

    with Writer[int](StuckStore(StoreFailed("EIO"))) as writer:
        with pytest.raises(StoreFailed):
            writer.write_now(propose("table/1"))
        with pytest.raises(StoreFailed, match="read-only"):
            writer.release()
        with pytest.raises(StoreFailed, match="EIO"):
            writer.write_now(propose("table/1"))


def test_a_release_may_come_with_another_store() -> None:
    broken, mended = FailingStore(StoreFailed("EIO")), MemoryStore()
    with Writer[int](broken) as writer:
        with pytest.raises(StoreFailed):
            writer.write_now(propose("table/1"))
        writer.release(mended)
        assert writer.write_now(propose("table/1")) == Accepted()
    assert mended.head("table/1").version == 1
    assert broken.writes == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from threedice.log.memory import MemoryStore
from threedice.log.writer import Writer
from tests.log.proposing import propose

writer = Writer(MemoryStore(), state=Path(sys.argv[1]))
writer.write_now(propose("table/1"))
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
writer.close()
"""


@pytest.mark.parametrize(("end", "code"), [("kill", -9), ("close", 0)])
def test_neither_a_killed_nor_a_closed_process_comes_back_halted(
    tmp_path: Path, end: str, code: int
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), end],
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=PATIENCE,
    )
    assert ended.returncode == code
    assert sorted(each.name for each in tmp_path.iterdir()) == ["healthy", "served"]
    with Writer[int](MemoryStore(), state=tmp_path) as writer:
        assert not writer.halted


def test_a_place_that_cannot_hold_the_mark_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnfit, match="must be writable"):
        Writer[int](MemoryStore(), state=tmp_path / "file" / "state")


@pytest.mark.parametrize("failure", [StoreAway("no answer in 5 s"), Conflicted("deadlock")])
def test_a_database_that_does_not_answer_costs_its_batch_and_no_more(
    tmp_path: Path, failure: OperatingFailure
) -> None:
    store, callers = FailingStore(failure), Callers()
    published = SimpleQueue[dict[str, "list[Entry]"]]()
    with Writer(store, deliver=callers.deliver, publish=published.put, state=tmp_path) as writer:
        writer.submit(propose("table/1"), 0)
        ((token, result),) = callers.next_batch()
        assert (token, type(result), str(result)) == (0, type(failure), str(failure))
        writer.submit(propose("table/1"), 1)
        assert callers.next_batch() == [(1, Accepted())]
        assert not writer.halted
    assert published.qsize() == 1
    assert writer.counts().away == 1


def test_what_the_database_cannot_hold_is_the_trouble_of_its_caller_alone() -> None:
    class ParticularStore(GatedStore):
        def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
            if any(proposal.key == "unheard of" for proposal in proposals):
                raise InvalidInput("cannot hold this")
            return super().write(proposals)

    store, callers = ParticularStore(), Callers()
    with Writer(store, deliver=callers.deliver) as writer:
        writer.submit(propose("table/1"), 0)
        store.size_of_next()
        writer.submit(propose("table/2"), 1)
        writer.submit(propose("table/3", key="unheard of"), 2)
        writer.submit(propose("table/4"), 3)
        store.let(9)
    assert callers.next_batch() == [(0, Accepted())]
    assert callers.next_batch() == [(1, Accepted())]
    ((token, result),) = callers.next_batch()
    assert (token, type(result)) == (2, InvalidInput)
    assert callers.next_batch() == [(3, Accepted())]
    assert not writer.halted


def test_a_defect_halts_the_writer_and_hangs_nobody(tmp_path: Path) -> None:
    store = FailingStore(ZeroDivisionError("division by zero"))
    with Writer[int](store, state=tmp_path) as writer:
        with pytest.raises(StoreFailed, match="division by zero") as failed:
            writer.write_now(propose("table/1"))
        assert isinstance(failed.value.__cause__, ZeroDivisionError)
        assert "division by zero" in writer.halted
    with Writer[int](store, state=tmp_path) as writer:
        assert writer.halted


def test_a_store_that_loses_an_outcome_halts_the_writer() -> None:
    class ForgetfulStore(MemoryStore):
        def write(self, proposals: Sequence[Proposal]) -> list[Outcome]:
            return super().write(proposals)[1:]

    with (
        Writer[int](ForgetfulStore()) as writer,
        pytest.raises(StoreFailed, match="0 outcomes of 1"),
    ):
        writer.write_now(propose("table/1"))


def test_a_delivery_that_fails_stops_this_process_but_not_the_next(tmp_path: Path) -> None:
    store, failed = GatedStore(), Event()

    def deliver(_: Sequence[int], __: Sequence[Result]) -> None:
        failed.set()
        raise RuntimeError("the event loop is closed")

    with Writer(store, deliver=deliver, state=tmp_path) as writer, ThreadPoolExecutor() as pool:
        writer.submit(propose("table/1"), 0)
        store.size_of_next()
        waiting = pool.submit(writer.write_now, propose("table/2"))
        store.let(9)
        with pytest.raises(StoreFailed, match="the event loop is closed"):
            waiting.result(timeout=PATIENCE)
        assert failed.is_set()
        with pytest.raises(StoreFailed):
            writer.submit(propose("table/3"), 1)
    assert not store.suspended()
    with Writer[int](store, state=tmp_path) as writer:
        assert not writer.halted


def test_closing_writes_what_is_waiting_and_takes_nothing_more() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 4)
    writer = Writer(store, deliver=callers.deliver, largest_batch=1)
    for token, proposal in enumerate(row):
        writer.submit(proposal, token)
    store.let(4)
    writer.close()
    writer.close()
    assert store.head("table/1").version == 4
    assert [callers.next_batch() for _ in row] == [[(token, Accepted())] for token in range(4)]
    with pytest.raises(OperatingFailure, match="closed"):
        writer.submit(propose("table/2"), 4)


def test_everybody_who_submits_is_answered_once_and_truly() -> None:
    store, answers = MemoryStore(), SimpleQueue[tuple[tuple[int, int], "Result"]]()

    def deliver(tokens: Sequence[tuple[int, int]], results: Sequence[Result]) -> None:
        for each in zip(tokens, results, strict=True):
            answers.put(each)

    with Writer(store, deliver=deliver, largest_batch=7) as writer:

        def submit_row(caller: int) -> None:
            for number, proposal in enumerate(propose_row(f"table/{caller}", 200)):
                writer.submit(proposal, (caller, number))
            writer.submit(propose(f"table/{caller}"), (caller, -1))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(submit_row, range(8)))
    answered = [answers.get(timeout=PATIENCE) for _ in range(8 * 201)]
    assert answers.empty()
    for caller in range(8):
        own = [(number, type(result)) for (each, number), result in answered if each == caller]
        assert own == [*((number, Accepted) for number in range(200)), (-1, Conflict)]
        assert store.head(f"table/{caller}").version == 200


def test_every_kind_of_store_is_written_suspended_and_released(store: Store) -> None:
    callers = Callers()
    with Writer(store, deliver=callers.deliver, largest_batch=20) as writer:
        for token, proposal in enumerate(propose_row("table/1", 50)):
            writer.submit(proposal, token)
    delivered: list[tuple[int, Result]] = []
    while not callers.batches.empty():
        delivered += callers.next_batch()
    assert delivered == [(token, Accepted()) for token in range(50)]
    assert store.head("table/1").version == 50
    store.suspend("somebody pulled the plug")
    with Writer[int](store) as writer:
        with pytest.raises(StoreFailed, match="pulled the plug"):
            writer.write_now(propose("table/2"))
        writer.release()
        assert writer.write_now(propose("table/2")) == Accepted()
    assert not store.suspended()
