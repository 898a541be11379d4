"""The writer writes submitted proposals in batches, delivers results and publishes entries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from tests.log.doubles import Callers, FailingStore, GatedStore, WaitingWriter
from tests.log.proposals import PATIENCE, propose, propose_row
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


def test_proposals_queued_during_a_commit_are_written_and_delivered_together() -> None:
    store, callers = GatedStore(), Callers()
    first, *rest = propose_row("table/1", 6)
    with closing(Writer(store, deliver=callers.deliver)) as writer:
        writer.submit(first, 0)
        assert store.next_batch_size() == 1
        for token, proposal in enumerate(rest, 1):
            writer.submit(proposal, token)
        store.let_writes_finish(2)
        assert store.next_batch_size() == 5
    assert callers.next_batch() == [(0, Acceptance())]
    assert callers.next_batch() == [(token, Acceptance()) for token in range(1, 6)]
    assert store.head("table/1").version == 6


def test_batches_do_not_exceed_the_maximum_size() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 8)
    with closing(Writer(store, deliver=callers.deliver, max_batch=3)) as writer:
        writer.submit(row[0], 0)
        assert store.next_batch_size() == 1
        for token, proposal in enumerate(row[1:], 1):
            writer.submit(proposal, token)
        store.let_writes_finish(4)
    assert [store.next_batch_size() for _ in range(3)] == [3, 3, 1]
    delivered = [token for _ in range(4) for token, _ in callers.next_batch()]
    assert delivered == list(range(8))


def test_batch_is_written_then_acknowledged_then_published() -> None:
    steps: list[str] = []

    class TracingStore(MemoryStore):
        def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
            outcomes = super().write(proposals)
            steps.append("written")
            return outcomes

    def deliver(_: Sequence[int], __: Sequence[WriteResult]) -> None:
        steps.append("acknowledged")

    def publish(_: dict[str, list[Entry]]) -> None:
        steps.append("published")

    with closing(Writer(TracingStore(), deliver=deliver, publish=publish)) as writer:
        writer.submit(propose("table/1"), 0)
    assert steps == ["written", "acknowledged", "published"]


def test_only_accepted_entries_are_published_by_stream_in_order() -> None:
    store, callers, published = GatedStore(), Callers(), SimpleQueue[dict[str, "list[Entry]"]]()
    one, two = propose_row("table/1", 2)
    late, other = propose("table/1"), propose("table/2", entries=3)
    with closing(Writer(store, deliver=callers.deliver, publish=published.put)) as writer:
        writer.submit(propose("cage/ann"), 0)
        store.next_batch_size()
        for token, proposal in enumerate((one, late, other, two, one), 1):
            writer.submit(proposal, token)
        store.let_writes_finish(2)
        store.next_batch_size()
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


def test_batch_without_new_entries_is_not_published() -> None:
    store, published = MemoryStore(), SimpleQueue[dict[str, "list[Entry]"]]()
    proposal = propose("table/1")
    store.write([proposal])
    with WaitingWriter(store, publish=published.put) as writer:
        assert isinstance(writer.write_and_wait(proposal), DuplicateKey)
    assert published.empty()


def test_full_queue_refuses_a_proposal_and_keeps_the_queued_ones() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 5)
    with closing(Writer(store, deliver=callers.deliver, max_queued=3)) as writer:
        writer.submit(row[0], 0)
        store.next_batch_size()
        for token in (1, 2, 3):
            writer.submit(row[token], token)
        with pytest.raises(QueueFull):
            writer.submit(row[4], 4)
        assert writer.counts().queued == 3
        store.let_writes_finish(3)
        callers.next_batch()
        assert [token for token, _ in callers.next_batch()] == [1, 2, 3]
        writer.submit(row[4], 4)
    assert store.head("table/1").version == 5


def test_invalid_proposal_is_refused_only_to_its_caller() -> None:
    store, callers = GatedStore(), Callers()
    with closing(Writer(store, deliver=callers.deliver)) as writer:
        writer.submit(propose("table/1"), 0)
        store.next_batch_size()
        writer.submit(propose("table/2"), 1)
        with pytest.raises(InvalidInput):
            writer.submit(propose("table/3", key="k" * 1000), 2)
        store.let_writes_finish(2)
    assert callers.next_batch() == [(0, Acceptance())]
    assert callers.next_batch() == [(1, Acceptance())]
    assert not writer.halt_reason


def test_writer_delivers_acceptance_and_conflict() -> None:
    store = MemoryStore()
    with WaitingWriter(store) as writer:
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
        assert writer.write_and_wait(propose("table/1")) == HeadConflict(
            "table/1", store.head("table/1")
        )


def test_writer_delivers_store_errors() -> None:
    with WaitingWriter(FailingStore(StoreUnavailable("gone"), StoreFailed("EIO"))) as writer:
        with pytest.raises(StoreUnavailable, match="gone"):
            writer.write_and_wait(propose("table/1"))
        with pytest.raises(StoreFailed, match="EIO"):
            writer.write_and_wait(propose("table/1"))


def test_closing_the_writer_writes_the_queue_and_refuses_more() -> None:
    store, callers = GatedStore(), Callers()
    row = propose_row("table/1", 4)
    writer = Writer(store, deliver=callers.deliver, max_batch=1)
    for token, proposal in enumerate(row):
        writer.submit(proposal, token)
    store.let_writes_finish(4)
    writer.close()
    writer.close()
    assert store.head("table/1").version == 4
    assert [callers.next_batch() for _ in row] == [[(token, Acceptance())] for token in range(4)]
    with pytest.raises(OperatingFailure, match="closed"):
        writer.submit(propose("table/2"), 4)


def test_every_submitted_proposal_gets_one_result_in_order() -> None:
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


def test_writer_writes_suspends_and_releases_every_store(store: Store) -> None:
    callers = Callers()
    with closing(Writer(store, deliver=callers.deliver, max_batch=20)) as writer:
        for token, proposal in enumerate(propose_row("table/1", 50)):
            writer.submit(proposal, token)
    delivered: list[tuple[int, WriteResult]] = []
    while not callers.batches.empty():
        delivered += callers.next_batch()
    assert delivered == [(token, Acceptance()) for token in range(50)]
    assert store.head("table/1").version == 50
    store.suspend("the plug was pulled")
    with WaitingWriter(store) as writer:
        with pytest.raises(StoreFailed, match="plug was pulled"):
            writer.write_and_wait(propose("table/2"))
        writer.release()
        assert writer.write_and_wait(propose("table/2")) == Acceptance()
    assert not store.suspension_reason()
