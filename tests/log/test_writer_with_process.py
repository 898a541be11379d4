"""A writer with a writer process runs as a task: it behaves like the thread, on the loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from threading import Lock, Thread
from typing import TYPE_CHECKING

import pytest

from tests.log.dictating import GatedWriterProcess
from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import (
    InvalidInput,
    InvariantBroken,
    OperatingFailure,
    QueueFull,
    StoreFailed,
    StoreUnavailable,
    StreamConflict,
)
from threedice.log.store import Acceptance, DuplicateKey, HeadConflict
from threedice.log.stores.memory import MemoryStore
from threedice.log.writer import MIN_BATCH_LIMIT, Writer, WriterCounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from threedice.log.entry import Entry
    from threedice.log.writer import WriteResult

pytestmark = pytest.mark.anyio


class Callers:
    """Everybody who has submitted something; remembers what was delivered, and in how many goes."""

    def __init__(self) -> None:
        self.batches = asyncio.Queue[list[tuple[int, "WriteResult"]]]()

    def deliver(self, tokens: Sequence[int], results: Sequence[WriteResult]) -> None:
        self.batches.put_nowait(list(zip(tokens, results, strict=True)))

    async def next_batch(self) -> list[tuple[int, WriteResult]]:
        async with asyncio.timeout(PATIENCE):
            return await self.batches.get()


@asynccontextmanager
async def writing(writer: Writer[int]) -> AsyncIterator[Writer[int]]:
    yield writer
    await closed(writer)


async def closed(writer: Writer[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(writer.close)


# --- batches ------------------------------------------------------------------------------------


async def test_what_queues_during_a_commit_goes_into_one_transaction_and_one_delivery() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    first, *rest = propose_row("table/1", 6)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        writer.submit(first, 0)
        assert await writer_process.size_of_next() == 1
        for token, proposal in enumerate(rest, 1):
            writer.submit(proposal, token)
        writer_process.let(2)
        assert await writer_process.size_of_next() == 5
    assert await callers.next_batch() == [(0, Acceptance())]
    assert await callers.next_batch() == [(token, Acceptance()) for token in range(1, 6)]
    assert writer_process.store.head("table/1").version == 6


async def test_half_of_those_who_ask_are_written_while_the_others_ask_again() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    row = propose_row("table/1", 6 * MIN_BATCH_LIMIT)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        for token, proposal in enumerate(row[: 4 * MIN_BATCH_LIMIT]):
            writer.submit(proposal, token)
        assert await writer_process.size_of_next() == 2 * MIN_BATCH_LIMIT
        writer_process.let(1)
        assert await writer_process.size_of_next() == 2 * MIN_BATCH_LIMIT
        for token, proposal in enumerate(row[4 * MIN_BATCH_LIMIT :], 4 * MIN_BATCH_LIMIT):
            writer.submit(proposal, token)
        writer_process.let(2)
        assert await writer_process.size_of_next() == 2 * MIN_BATCH_LIMIT
    delivered = [token for _ in range(3) for token, _ in await callers.next_batch()]
    assert delivered == list(range(6 * MIN_BATCH_LIMIT))


async def test_a_few_are_not_divided() -> None:
    writer_process = GatedWriterProcess()
    async with writing(Writer(writer_process.stored)) as writer:
        for token, proposal in enumerate(propose_row("table/1", MIN_BATCH_LIMIT)):
            writer.submit(proposal, token)
        writer_process.let(1)
    assert await writer_process.size_of_next() == MIN_BATCH_LIMIT


async def test_a_batch_is_no_larger_than_the_largest() -> None:
    writer_process = GatedWriterProcess()
    async with writing(Writer(writer_process.stored, max_batch=3)) as writer:
        for token, proposal in enumerate(propose_row("table/1", 8)):
            writer.submit(proposal, token)
        writer_process.let(9)
    assert [await writer_process.size_of_next() for _ in range(3)] == [3, 3, 2]


async def test_nothing_is_acknowledged_before_it_is_written_or_published_before_acknowledged() -> (
    None
):
    writer_process, said = GatedWriterProcess(), list[tuple[str, int]]()

    def version() -> int:
        return writer_process.store.head("table/1").version

    def deliver(_: Sequence[int], __: Sequence[WriteResult]) -> None:
        said.append(("acknowledged", version()))

    def publish(_: dict[str, list[Entry]]) -> None:
        said.append(("published", version()))

    async with writing(Writer(writer_process.stored, deliver=deliver, publish=publish)) as writer:
        writer.submit(propose("table/1"), 0)
        await writer_process.size_of_next()
        assert said == []
        writer_process.let(1)
    assert said == [("acknowledged", 1), ("published", 1)]


async def test_every_outcome_is_delivered_and_counted() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    one, two = propose_row("table/1", 2)
    writer_process.let(9)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        for token, proposal in enumerate((one, propose("table/1"), two, one)):
            writer.submit(proposal, token)
    kinds = [type(result) for _, result in await callers.next_batch()]
    assert kinds == [Acceptance, HeadConflict, Acceptance, DuplicateKey]
    assert writer.counts() == WriterCounts(
        batches=1, largest_batch=4, accepted=2, conflicts=1, duplicates=1, unavailable=0, queued=0
    )


async def test_a_full_queue_refuses_at_once_and_keeps_what_it_has() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    row = propose_row("table/1", 5)
    async with writing(
        Writer(writer_process.stored, deliver=callers.deliver, max_queued=3)
    ) as writer:
        writer.submit(row[0], 0)
        await writer_process.size_of_next()
        for token in (1, 2, 3):
            writer.submit(row[token], token)
        with pytest.raises(QueueFull):
            writer.submit(row[4], 4)
        writer_process.let(3)
        await callers.next_batch()
        assert [token for token, _ in await callers.next_batch()] == [1, 2, 3]
        writer.submit(row[4], 4)
    assert writer_process.store.head("table/1").version == 5


async def test_a_writer_that_had_nothing_to_do_wakes_for_whoever_comes_from_any_thread() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    row = propose_row("table/1", 6)
    writer_process.let(9)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        for token, proposal in enumerate(row):
            await asyncio.to_thread(writer.submit, proposal, token)
            assert await callers.next_batch() == [(token, Acceptance())]


# --- what stands against it ---------------------------------------------------------------------


async def test_what_the_database_cannot_hold_is_the_trouble_of_its_caller_alone() -> None:
    cannot = InvalidInput("cannot hold this")
    writer_process, callers = GatedWriterProcess(cannot, cannot), Callers()
    writer_process.let(9)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        for token in range(3):
            writer.submit(propose(f"table/{token}"), token)
    assert [await writer_process.size_of_next() for _ in range(4)] == [3, 1, 1, 1]
    ((token, result),) = await callers.next_batch()
    assert (token, type(result)) == (0, InvalidInput)
    assert await callers.next_batch() == [(1, Acceptance())]
    assert await callers.next_batch() == [(2, Acceptance())]
    assert not writer.halt_reason


async def test_what_cannot_be_put_into_words_is_refused_to_its_caller_alone() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    writer_process.let(9)
    async with writing(Writer(writer_process.stored, deliver=callers.deliver)) as writer:
        unheard = propose("table/1")
        for games in ({"\ud800": b""}, {"hash": b"", "\udfff": b""}):
            with pytest.raises(InvalidInput, match="no database can hold"):
                writer.submit(type(unheard)("ann", "k", b"", (), games), 0)
        writer.submit(unheard, 1)
    assert await callers.next_batch() == [(1, Acceptance())]


@pytest.mark.parametrize(
    "failure", [StoreUnavailable("no answer in 5 s"), StreamConflict("deadlock")]
)
async def test_a_database_that_does_not_answer_costs_its_batch_and_no_more(
    tmp_path: Path, failure: OperatingFailure
) -> None:
    writer_process, callers = GatedWriterProcess(failure), Callers()
    writer_process.let(9)
    writer = Writer(writer_process.stored, deliver=callers.deliver, state_dir=tmp_path)
    async with writing(writer):
        for token in range(2):
            writer.submit(propose(f"table/{token}"), token)
        results = await callers.next_batch()
        assert [(type(result), str(result)) for _, result in results] == [
            (type(failure), str(failure))
        ] * 2
        writer.submit(propose("table/1"), 2)
        assert await callers.next_batch() == [(2, Acceptance())]
    assert not writer.halt_reason
    assert writer.counts().unavailable == 2


@pytest.mark.parametrize(
    "failure",
    [StoreFailed("fsync: EIO"), ZeroDivisionError("fsync: EIO")],
    ids=["failed", "defect"],
)
async def test_after_a_failed_write_nothing_is_acknowledged_and_nothing_more_written(
    tmp_path: Path, failure: Exception
) -> None:
    writer_process, callers = GatedWriterProcess(failure), Callers()
    writer = Writer(writer_process.stored, deliver=callers.deliver, state_dir=tmp_path)
    async with writing(writer):
        writer.submit(propose("table/1"), 0)
        await writer_process.size_of_next()
        writer.submit(propose("table/2"), 1)
        writer_process.let(9)
        results = await callers.next_batch()
        assert [(token, type(result)) for token, result in results] == [
            (0, StoreFailed),
            (1, StoreFailed),
        ]
        with pytest.raises(StoreFailed, match="fsync: EIO"):
            writer.submit(propose("table/3"), 2)
    assert writer_process.begun.empty()
    assert writer_process.store.heads() == {}
    assert "fsync: EIO" in writer_process.store.suspension_reason()

    async with writing(Writer(writer_process.stored, state_dir=tmp_path)) as next_one:
        assert "fsync: EIO" in next_one.halt_reason
        next_one.release()
        assert await asyncio.to_thread(next_one.write_and_wait, propose("table/1")) == Acceptance()


async def test_a_writer_that_is_held_takes_nothing_until_it_is_released() -> None:
    writer_process = GatedWriterProcess()
    writer_process.let(9)
    async with writing(Writer(writer_process.stored)) as writer:
        writer.suspend("another server has found the disk full")
        with pytest.raises(StoreFailed, match="another server"):
            writer.submit(propose("table/1"), 0)
        writer.release()
        assert await asyncio.to_thread(writer.write_and_wait, propose("table/1")) == Acceptance()


async def test_a_release_may_come_with_another_store_and_its_scribe() -> None:
    broken, mended = GatedWriterProcess(StoreFailed("EIO")), GatedWriterProcess()
    broken.let(9)
    mended.let(9)
    async with writing(Writer(broken.stored)) as writer:
        with pytest.raises(StoreFailed):
            await asyncio.to_thread(writer.write_and_wait, propose("table/1"))
        writer.release(mended.stored)
        assert await asyncio.to_thread(writer.write_and_wait, propose("table/1")) == Acceptance()
    assert (broken.store.heads(), mended.store.head("table/1").version) == ({}, 1)


async def test_a_store_without_a_scribe_cannot_follow_one_that_has_one() -> None:
    writer_process = GatedWriterProcess()
    writer_process.let(9)
    async with writing(Writer(writer_process.stored)) as writer:
        writer.suspend("EIO")
        with pytest.raises(InvariantBroken, match="cannot replace one without"):
            writer.release(MemoryStore())
        assert writer.halt_reason == "EIO"


# --- from another thread, and at the end --------------------------------------------------------


async def test_write_now_waits_in_another_thread_for_what_becomes_of_it() -> None:
    writer_process = GatedWriterProcess()
    writer_process.let(9)
    async with writing(Writer(writer_process.stored)) as writer:
        assert await asyncio.to_thread(writer.write_and_wait, propose("table/1")) == Acceptance()
        conflict = await asyncio.to_thread(writer.write_and_wait, propose("table/1"))
        assert conflict == HeadConflict("table/1", writer_process.store.head("table/1"))


async def test_a_loop_is_not_left_to_wait_for_itself() -> None:
    writer_process = GatedWriterProcess()
    async with writing(Writer(writer_process.stored)) as writer:
        with pytest.raises(InvariantBroken, match="call this from another thread"):
            writer.write_and_wait(propose("table/1"))
        with pytest.raises(InvariantBroken, match="call this from another thread"):
            writer.close()
    writer.close()
    assert writer_process.store.heads() == {}


async def test_closing_writes_what_is_waiting_and_takes_nothing_more() -> None:
    writer_process, callers = GatedWriterProcess(), Callers()
    row = propose_row("table/1", 4)
    writer = Writer(writer_process.stored, deliver=callers.deliver, max_batch=1)
    for token, proposal in enumerate(row):
        writer.submit(proposal, token)
    writer_process.let(4)
    await closed(writer)
    await closed(writer)
    assert [await callers.next_batch() for _ in row] == [[(n, Acceptance())] for n in range(4)]
    with pytest.raises(OperatingFailure, match="closed"):
        writer.submit(propose("table/2"), 4)


async def test_whoever_submits_just_before_it_closes_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where both happen at the moment at which the task has found nothing to do."""
    writer_process, callers = GatedWriterProcess(), Callers()
    writer_process.let(9)
    writer = Writer(writer_process.stored, deliver=callers.deliver)

    def submit_and_close() -> None:
        writer.submit(propose("table/1"), 0)
        writer.close()

    thread = Thread(target=submit_and_close)

    class Meddling:
        """A lock; when it is first let go, somebody else comes at once."""

        lock, first = Lock(), True

        def __enter__(self) -> None:
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            first, self.first = self.first, False
            self.lock.release()
            if first:
                thread.start()
                while not writer._closed:
                    pass

    monkeypatch.setattr(writer, "_lock", Meddling())
    assert await callers.next_batch() == [(0, Acceptance())]
    await asyncio.to_thread(thread.join)


def test_whoever_waits_when_the_loop_ends_is_told_to_ask_again() -> None:
    told: list[WriteResult] = []
    writers: list[Writer[int]] = []

    async def end_early() -> asyncio.Task[object]:
        writer_process = GatedWriterProcess()
        writer: Writer[int] = Writer(
            writer_process.stored, deliver=lambda _, results: told.extend(results)
        )
        writers.append(writer)
        writer.submit(propose("table/1"), 0)
        await writer_process.size_of_next()
        writer.submit(propose("table/2"), 1)
        return asyncio.create_task(asyncio.to_thread(writer.write_and_wait, propose("table/3")))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(end_early()).result()
    assert [type(result) for result in told] == [StoreUnavailable, StoreUnavailable]
    assert "look the command up by its key" in str(told[0])
    writers[0].close()
    with pytest.raises(OperatingFailure, match="closed"):
        writers[0].submit(propose("table/4"), 2)


def test_a_loop_that_ends_before_the_writer_has_begun_leaves_nobody_waiting() -> None:
    told: list[WriteResult] = []

    async def end_at_once() -> Writer[int]:
        writer: Writer[int] = Writer(
            GatedWriterProcess().stored, deliver=lambda _, results: told.extend(results)
        )
        writer.submit(propose("table/1"), 0)
        return writer

    asyncio.run(end_at_once()).close()
    assert [type(result) for result in told] == [StoreUnavailable]
