"""Causes, persistence and release of a halt of the writer."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
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
from threedice.log.halt_causes import classify_halt
from threedice.log.records import Acceptance
from threedice.log.stores.files import clear_halt, is_halted, mark_halted, read_halt
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
            assert classify_halt(writer.halt_reason) == "disk-full"
            with pytest.raises(StoreFailed):
                writer.write_and_wait(propose("table/1"))
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        writer.release()
        assert not writer.halt_reason
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
    assert not store.suspension_reason()
    with WaitingWriter(store, state_dir=tmp_path) as writer:
        assert writer.write_and_wait(propose("table/2")) == Acceptance()


def freeze_marker(state: Path) -> None:
    """Make it impossible to remove the marker, as on a read-only file system."""
    (state / "healthy").unlink()
    (state / "healthy").mkdir()


def thaw_marker(state: Path) -> None:
    (state / "healthy").rmdir()
    (state / "healthy").touch()


@pytest.fixture
def other_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the folders beside the state directory in which a halt is recorded."""
    names = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR")
    places = [tmp_path / name for name in names]
    for name, place in zip(names, places, strict=True):
        place.mkdir()
        monkeypatch.setenv(name, str(place))
    return [*places, Path("/var/tmp")]


def halt_markers(places: list[Path]) -> list[Path]:
    return [marker for place in places for marker in place.glob("threedice-halted-*")]


def test_halt_on_a_read_only_file_system_survives_restarts_until_released(
    tmp_path: Path, other_places: list[Path]
) -> None:
    store = FailingStore(StoreFailed("read-only file system"), notes=False)
    state = tmp_path / "state"
    state.mkdir()
    before = halt_markers(other_places)
    with WaitingWriter(store, state_dir=state) as writer:
        freeze_marker(state)
        with pytest.raises(StoreFailed):
            writer.write_and_wait(propose("table/1"))
        assert len(halt_markers(other_places)) == len(before) + 4
    for _ in range(2):  # the second time the state directory alone knows of it
        thaw_marker(state)
        with WaitingWriter(store, state_dir=state) as writer:
            assert "in an earlier run" in writer.halt_reason
            assert classify_halt(writer.halt_reason) == "read-only"
        assert not (state / "healthy").exists()
        (state / "healthy").mkdir()
    (state / "healthy").rmdir()
    with WaitingWriter(store, state_dir=state) as writer:
        writer.release()
        assert writer.write_and_wait(propose("table/1")) == Acceptance()
    assert halt_markers(other_places) == before
    with WaitingWriter(store, state_dir=state) as writer:
        assert not writer.halt_reason


def test_halt_is_known_as_long_as_one_place_remains(
    tmp_path: Path, other_places: list[Path]
) -> None:
    state, other_state = tmp_path / "state", tmp_path / "other"
    for each in (state, other_state):
        clear_halt(each)
    freeze_marker(state)
    mark_halted(state)
    markers = [each for each in halt_markers(other_places) if str(state) in each.read_text()]
    for marker in markers[1:]:
        marker.unlink()

    assert is_halted(state)
    assert not is_halted(other_state)
    markers[0].unlink()
    assert not is_halted(state)


def test_new_house_ignores_and_removes_the_recorded_halt_of_one_that_is_gone(
    tmp_path: Path, other_places: list[Path]
) -> None:
    before, state = halt_markers(other_places), tmp_path / "state"
    clear_halt(state)
    freeze_marker(state)
    mark_halted(state, "read-only file system")
    assert len(halt_markers(other_places)) == len(before) + 4
    rmtree(state)
    assert not is_halted(state)

    with WaitingWriter(MemoryStore(), state_dir=state) as writer:
        assert not writer.halt_reason
    assert halt_markers(other_places) == before


def test_first_cause_of_a_halt_is_kept_until_the_release(tmp_path: Path) -> None:
    clear_halt(tmp_path)
    size = (tmp_path / "served").stat().st_size
    for cause in ("disk is full\n", "something else", ""):
        mark_halted(tmp_path, cause)
        assert read_halt(tmp_path) == "writing was halted and has not been released: disk is full"
    assert (tmp_path / "served").stat().st_size == size  # a full disk has room for it
    clear_halt(tmp_path)
    assert read_halt(tmp_path) == ""
    mark_halted(tmp_path, "\u00e9" * 1000)
    assert (tmp_path / "served").stat().st_size == size
    assert "\u00e9\u00e9" in read_halt(tmp_path)


def test_halt_of_a_state_directory_of_an_earlier_version_is_known(tmp_path: Path) -> None:
    (tmp_path / "served").touch()
    assert is_halted(tmp_path)
    mark_halted(tmp_path, "disk is full")
    assert "disk is full" in read_halt(tmp_path)
    clear_halt(tmp_path)
    assert not is_halted(tmp_path)


@pytest.mark.parametrize("kind", ["symlink", "folder"])
def test_only_plain_files_count_as_a_recorded_halt(
    tmp_path: Path, other_places: list[Path], kind: str
) -> None:
    state = tmp_path / "state"
    clear_halt(state)
    freeze_marker(state)
    mark_halted(state)
    for marker in halt_markers(other_places):
        if str(state) in marker.read_text():
            marker.unlink()
            if marker.parent != other_places[-1]:
                marker.symlink_to(__file__) if kind == "symlink" else marker.mkdir()

    assert not is_halted(state)


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
from threedice.log.stores.files import clear_halt, is_halted, mark_halted
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
