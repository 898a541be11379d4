"""Causes, persistence and release of a halt of the writer."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from tests.log.doubles import Callers, FailingStore, GatedStore, WaitingWriter
from tests.log.proposals import PATIENCE, propose
from threedice.errors import (
    InvalidInput,
    OperatingFailure,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    StreamConflict,
)
from threedice.log.records import Acceptance
from threedice.log.stores.memory import MemoryStore
from threedice.log.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.entry import Entry
    from threedice.log.records import Proposal, ProposalOutcome
    from threedice.log.writer import WriteResult


def test_failed_write_halts_the_writer_without_acknowledgements() -> None:
    class FailingGate(GatedStore):
        def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
            super().write(proposals)
            raise StoreFailed("fsync: EIO")

    store, callers = FailingGate(), Callers()
    published = SimpleQueue[dict[str, "list[Entry]"]]()
    with closing(Writer(store, deliver=callers.deliver, publish=published.put)) as writer:
        writer.submit(propose("table/1"), 0)
        store.next_batch_size()
        writer.submit(propose("table/2"), 1)
        writer.submit(propose("table/3"), 2)
        store.let_writes_finish(9)
        results = callers.next_batch()
        assert [token for token, _ in results] == [0, 1, 2]
        assert {type(result) for _, result in results} == {StoreFailed}
        assert len({id(result) for _, result in results}) == 3
        with pytest.raises(StoreFailed, match="fsync: EIO"):
            writer.submit(propose("table/4"), 3)
    assert store.started.empty()
    assert published.empty()
    assert "fsync: EIO" in writer.halt_reason
    assert store.suspension_reason() == writer.halt_reason


def test_halt_is_stored_before_it_is_delivered(tmp_path: Path) -> None:
    store, noted = FailingStore(StoreFailed("EIO")), SimpleQueue[tuple[bool, str]]()

    def deliver(_: Sequence[int], __: Sequence[WriteResult]) -> None:
        noted.put(((tmp_path / "healthy").exists(), store.suspension_reason()))

    with closing(Writer(store, deliver=deliver, state_dir=tmp_path)) as writer:
        writer.submit(propose("table/1"), 0)
    assert noted.get(timeout=PATIENCE) == (False, "the store could not write: EIO")
    assert not writer.halted_by_defect


@pytest.mark.parametrize("notes", [True, False], ids=["stored", "marked-outside"])
def test_halt_survives_restarts_until_released(tmp_path: Path, notes: bool) -> None:
    store = FailingStore(StoreFailed("no space left on device"), notes=notes)
    with WaitingWriter(store, state_dir=tmp_path) as writer, pytest.raises(StoreFailed):
        writer.write_and_wait(propose("table/1"))
    for _ in range(2):
        with WaitingWriter(store, state_dir=tmp_path) as writer:
            assert writer.halt_reason
            with pytest.raises(StoreFailed):
                writer.write_and_wait(propose("table/1"))
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        writer.release()
        assert not writer.halt_reason
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
    assert not store.suspension_reason()
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        assert writer.write_and_wait(propose("table/2")) == Acceptance()


def test_halt_stored_only_in_the_store_survives_a_restart() -> None:
    store = FailingStore(StoreFailed("EIO"))
    with WaitingWriter(store) as writer, pytest.raises(StoreFailed):
        writer.write_and_wait(propose("table/1"))
    with WaitingWriter(store) as writer:
        assert "EIO" in writer.halt_reason


def test_release_that_cannot_be_stored_keeps_the_halt() -> None:
    class StuckStore(FailingStore):
        def release(self) -> None:
            raise StoreFailed("read-only file system")

    with WaitingWriter(StuckStore(StoreFailed("EIO"))) as writer:
        with pytest.raises(StoreFailed):
            writer.write_and_wait(propose("table/1"))
        with pytest.raises(StoreFailed, match="read-only"):
            writer.release()
        with pytest.raises(StoreFailed, match="EIO"):
            writer.write_and_wait(propose("table/1"))


def test_release_can_switch_to_another_store() -> None:
    broken, repaired = FailingStore(StoreFailed("EIO")), MemoryStore()
    with WaitingWriter(broken) as writer:
        with pytest.raises(StoreFailed):
            writer.write_and_wait(propose("table/1"))
        writer.resume(repaired)
        writer.release()
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
    assert repaired.head("table/1").version == 1
    assert broken.writes == 1


WRITE_AND_END = """
import os, signal, sys
from pathlib import Path
from threedice.log.stores.memory import MemoryStore
from tests.log.doubles import WaitingWriter
from tests.log.proposals import propose

writer = WaitingWriter(MemoryStore(), state_dir=Path(sys.argv[1]))
writer.write_and_wait(propose("table/1"))
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
writer.close()
"""


@pytest.mark.parametrize(("end", "code"), [("kill", -9), ("close", 0)])
def test_writer_is_not_halted_after_a_kill_or_a_close(tmp_path: Path, end: str, code: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WRITE_AND_END, str(tmp_path), end],
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=PATIENCE,
    )
    assert ended.returncode == code
    assert sorted(each.name for each in tmp_path.iterdir()) == ["healthy", "served"]
    with WaitingWriter(MemoryStore(), state_dir=tmp_path) as writer:
        assert not writer.halt_reason


def test_unwritable_state_directory_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnusable, match="must be writable"):
        WaitingWriter(MemoryStore(), state_dir=tmp_path / "file" / "state")


@pytest.mark.parametrize(
    "failure", [StoreUnavailable("no answer in 5 s"), StreamConflict("deadlock")]
)
def test_unavailable_database_fails_one_batch_without_a_halt(
    tmp_path: Path, failure: OperatingFailure
) -> None:
    store, callers = FailingStore(failure), Callers()
    published = SimpleQueue[dict[str, "list[Entry]"]]()
    with closing(
        Writer(store, deliver=callers.deliver, publish=published.put, state_dir=tmp_path)
    ) as writer:
        writer.submit(propose("table/1"), 0)
        ((token, result),) = callers.next_batch()
        assert (token, type(result), str(result)) == (0, type(failure), str(failure))
        writer.submit(propose("table/1"), 1)
        assert callers.next_batch() == [(1, Acceptance())]
        assert not writer.halt_reason
    assert published.qsize() == 1
    assert writer.counts().unavailable == 1


def test_proposal_refused_by_the_database_fails_only_its_caller() -> None:
    class ParticularStore(GatedStore):
        def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
            if any(proposal.key == "refused" for proposal in proposals):
                raise InvalidInput("cannot hold this")
            return super().write(proposals)

    store, callers = ParticularStore(), Callers()
    with closing(Writer(store, deliver=callers.deliver)) as writer:
        writer.submit(propose("table/1"), 0)
        store.next_batch_size()
        writer.submit(propose("table/2"), 1)
        writer.submit(propose("table/3", key="refused"), 2)
        writer.submit(propose("table/4"), 3)
        store.let_writes_finish(9)
    assert callers.next_batch() == [(0, Acceptance())]
    assert callers.next_batch() == [(1, Acceptance())]
    ((token, result),) = callers.next_batch()
    assert (token, type(result)) == (2, InvalidInput)
    assert callers.next_batch() == [(3, Acceptance())]
    assert not writer.halt_reason


def test_defect_in_the_store_halts_the_writer_and_reaches_callers(tmp_path: Path) -> None:
    store = FailingStore(ZeroDivisionError("division by zero"))
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        with pytest.raises(StoreFailed, match="division by zero") as failed:
            writer.write_and_wait(propose("table/1"))
        assert isinstance(failed.value.__cause__, ZeroDivisionError)
        assert "division by zero" in writer.halt_reason
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        assert writer.halt_reason


def test_store_that_returns_too_few_outcomes_halts_the_writer() -> None:
    class ForgetfulStore(MemoryStore):
        def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
            return super().write(proposals)[1:]

    with (
        WaitingWriter(ForgetfulStore()) as writer,
        pytest.raises(StoreFailed, match="0 outcomes of 1"),
    ):
        writer.write_and_wait(propose("table/1"))


def test_failed_delivery_halts_the_writer_until_a_restart(tmp_path: Path) -> None:
    store, callers, failures = GatedStore(), Callers(), [RuntimeError("the event loop is closed")]

    def deliver(tokens: Sequence[int], results: Sequence[WriteResult]) -> None:
        if failures:
            raise failures.pop()
        callers.deliver(tokens, results)

    with closing(Writer(store, deliver=deliver, state_dir=tmp_path)) as writer:
        writer.submit(propose("table/1"), 0)
        store.next_batch_size()
        writer.submit(propose("table/2"), 1)
        store.let_writes_finish(9)
        ((token, result),) = callers.next_batch()
        assert (token, type(result)) == (1, StoreFailed)
        assert "the event loop is closed" in str(result)
        with pytest.raises(StoreFailed):
            writer.submit(propose("table/3"), 1)
        assert writer.halted_by_defect
    assert not store.suspension_reason()
    with WaitingWriter(store, state_dir=tmp_path) as restarted:
        assert not restarted.halt_reason
