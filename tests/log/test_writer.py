"""A writer takes what is submitted in batches, and answers and publishes what became of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from tests.log.proposing import PATIENCE, propose, propose_row
from tests.log.submitting import Callers, FailingStore, GatedStore, WaitingWriter
from threedice.errors import (
    InvalidInput,
    OperatingFailure,
    QueueFull,
    StoreFailed,
    StoreUnavailable,
)
from threedice.log.records import Acceptance, DuplicateKey, HeadConflict
from threedice.log.stores.memory import MemoryStore
from threedice.log.writer import Writer, WriterCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.entry import Entry
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.store import Store
    from threedice.log.writer import WriteResult


def test_what_queues_during_a_commit_goes_into_one_transaction_and_one_delivery() -> None:
    store, callers = GatedStore(), Callers()
    first, *rest = propose_row("table/1", 6)
    with closing(Writer(store, deliver=callers.deliver)) as writer:
        writer.submit(first, 0)
        assert store.size_of_next() == 1
        for token, proposal in enumerate(rest, 1):
            writer.submit(proposal, token)
        store.let(2)
        assert store.size_of_next() == 5
    assert callers.next_batch() == [(0, Acceptance())]
    assert callers.next_batch() == [(token, Acceptance()) for token in range(1, 6)]
    assert store.head("table/1").version == 6


def test_a_batch_is_no_larger_than_the_largest() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 8)
    with closing(Writer(store, deliver=callers.deliver, max_batch=3)) as writer:
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
        def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
            outcomes = super().write(proposals)
            said.append("written")
            return outcomes

    def deliver(_: Sequence[int], __: Sequence[WriteResult]) -> None:
        said.append("acknowledged")

    def publish(_: dict[str, list[Entry]]) -> None:
        said.append("published")

    with closing(Writer(SayingStore(), deliver=deliver, publish=publish)) as writer:
        writer.submit(propose("table/1"), 0)
    assert said == ["written", "acknowledged", "published"]


def test_only_what_is_accepted_is_published_by_stream_and_in_order() -> None:
    store, callers, published = GatedStore(), Callers(), SimpleQueue[dict[str, "list[Entry]"]]()
    one, two = propose_row("table/1", 2)
    late, other = propose("table/1"), propose("table/2", entries=3)
    with closing(Writer(store, deliver=callers.deliver, publish=published.put)) as writer:
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
    assert kinds == [Acceptance, HeadConflict, Acceptance, Acceptance, DuplicateKey]
    assert writer.counts() == WriterCounts(
        batches=2, largest_batch=5, accepted=4, conflicts=1, duplicates=1, unavailable=0, queued=0
    )


def test_a_batch_that_appends_nothing_is_not_published() -> None:
    store, published = MemoryStore(), SimpleQueue[dict[str, "list[Entry]"]]()
    proposal = propose("table/1")
    store.write([proposal])
    with WaitingWriter(store, publish=published.put) as writer:
        assert isinstance(writer.write_and_wait(proposal), DuplicateKey)
    assert published.empty()


def test_a_full_queue_refuses_at_once_and_keeps_what_it_has() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 5)
    with closing(Writer(store, deliver=callers.deliver, max_queued=3)) as writer:
        writer.submit(row[0], 0)
        store.size_of_next()
        for token in (1, 2, 3):
            writer.submit(row[token], token)
        with pytest.raises(QueueFull):
            writer.submit(row[4], 4)
        assert writer.counts().queued == 3
        store.let(3)
        callers.next_batch()
        assert [token for token, _ in callers.next_batch()] == [1, 2, 3]
        writer.submit(row[4], 4)
    assert store.head("table/1").version == 5


def test_a_proposal_no_store_could_keep_is_refused_to_its_caller_alone() -> None:
    store, callers = GatedStore(), Callers()
    with closing(Writer(store, deliver=callers.deliver)) as writer:
        writer.submit(propose("table/1"), 0)
        store.size_of_next()
        writer.submit(propose("table/2"), 1)
        with pytest.raises(InvalidInput):
            writer.submit(propose("table/3", key="k" * 1000), 2)
        store.let(2)
    assert callers.next_batch() == [(0, Acceptance())]
    assert callers.next_batch() == [(1, Acceptance())]
    assert not writer.halt_reason


def test_write_now_waits_for_what_becomes_of_it() -> None:
    store = MemoryStore()
    with WaitingWriter(store) as writer:
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
        assert writer.write_and_wait(propose("table/1")) == HeadConflict(
            "table/1", store.head("table/1")
        )


def test_write_now_raises_what_stood_against_it() -> None:
    with WaitingWriter(FailingStore(StoreUnavailable("gone"), StoreFailed("EIO"))) as writer:
        with pytest.raises(StoreUnavailable, match="gone"):
            writer.write_and_wait(propose("table/1"))
        with pytest.raises(StoreFailed, match="EIO"):
            writer.write_and_wait(propose("table/1"))


def test_closing_writes_what_is_waiting_and_takes_nothing_more() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 4)
    writer = Writer(store, deliver=callers.deliver, max_batch=1)
    for token, proposal in enumerate(row):
        writer.submit(proposal, token)
    store.let(4)
    writer.close()
    writer.close()
    assert store.head("table/1").version == 4
    assert [callers.next_batch() for _ in row] == [[(token, Acceptance())] for token in range(4)]
    with pytest.raises(OperatingFailure, match="closed"):
        writer.submit(propose("table/2"), 4)


def test_everybody_who_submits_is_answered_once_and_truly() -> None:
    store, answers = MemoryStore(), SimpleQueue[tuple[tuple[int, int], "WriteResult"]]()

    def deliver(tokens: Sequence[tuple[int, int]], results: Sequence[WriteResult]) -> None:
        for each in zip(tokens, results, strict=True):
            answers.put(each)

    with closing(Writer(store, deliver=deliver, max_batch=7)) as writer:

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
        assert own == [*((number, Acceptance) for number in range(200)), (-1, HeadConflict)]
        assert store.head(f"table/{caller}").version == 200


def test_every_kind_of_store_is_written_suspended_and_released(store: Store) -> None:
    callers = Callers()
    with closing(Writer(store, deliver=callers.deliver, max_batch=20)) as writer:
        for token, proposal in enumerate(propose_row("table/1", 50)):
            writer.submit(proposal, token)
    delivered: list[tuple[int, WriteResult]] = []
    while not callers.batches.empty():
        delivered += callers.next_batch()
    assert delivered == [(token, Acceptance()) for token in range(50)]
    assert store.head("table/1").version == 50
    store.suspend("somebody pulled the plug")
    with WaitingWriter(store) as writer:
        with pytest.raises(StoreFailed, match="pulled the plug"):
            writer.write_and_wait(propose("table/2"))
        writer.release()
        assert writer.write_and_wait(propose("table/2")) == Acceptance()
    assert not store.suspension_reason()
