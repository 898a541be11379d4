"""Contract of every store: snapshots, projections, checkpoints, leases, suspension, persons."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.log.inspection import all_snapshots
from tests.log.proposals import propose_data
from threedice.errors import InvariantBroken, StreamConflict
from threedice.log.entry import Head
from threedice.log.records import Checkpoint, ProjectionLine, Snapshot

if TYPE_CHECKING:
    from threedice.log.store import Store

# --- derived data -------------------------------------------------------------------------------


def test_snapshot_replaces_its_predecessor(store: Store) -> None:
    old = Snapshot("table/1", "state", "form-1", Head(3, b"h" * 32), b"old")
    new = Snapshot("table/1", "state", "form-2", Head(9, b"i" * 32), b"\x00new")
    other = Snapshot("table/1", "board", "form-1", Head(3, b"h" * 32), b"")

    for snapshot in (old, other, new):
        store.save_snapshot(snapshot)

    assert store.snapshot("table/1", "state") == new
    assert store.snapshot("table/2", "state") is None
    assert all_snapshots(store) == [other, new]


def line(version: int, place: int = 0, **given: object) -> ProjectionLine:
    """Return a line of the view `results` of table 1; its time grows with the version."""
    fields = {"view": "results", "subject": "ann", "stream": "table/1", "at": version * 10} | given
    return ProjectionLine(
        str(fields["view"]),
        str(fields["subject"]),
        str(fields["stream"]),
        version,
        place,
        int(str(fields["at"])),
        b"%d/%d" % (version, place),
    )


def test_projection_continues_only_from_its_stored_version(store: Store) -> None:
    first, second = [line(1), line(3, 0), line(3, 1)], [line(5)]

    assert store.project("results", "table/1", 0, 3, first)
    assert not store.project("results", "table/1", 0, 3, first)
    assert not store.project("results", "table/1", 4, 5, second)
    assert store.project("results", "table/1", 3, 5, second)
    assert store.project("results", "table/1", 5, 6, [])
    assert not store.project("results", "table/2", 2, 6, [])

    assert store.projected_version("results", "table/1") == 6
    assert store.projected_version("results", "table/2") == 0
    assert store.lines("results") == first + second


def test_projection_accepts_an_empty_range(store: Store) -> None:
    assert store.project("results", "table/1", 0, 0, [])
    assert store.project("results", "table/1", 0, 1, [line(1)])
    assert store.projected_version("results", "table/1") == 1


def test_projection_lines_outside_their_range_break_an_invariant(store: Store) -> None:
    for lines in (
        [line(1)],
        [line(6)],
        [line(3, view="other")],
        [line(3, stream="table/2")],
        [line(3), line(3)],
    ):
        with pytest.raises(InvariantBroken):
            store.project("results", "table/1", 2, 5, lines)
    assert store.lines("results") == []


def test_projection_lines_are_filtered_and_sorted(store: Store) -> None:
    ones = [line(v, subject="ann" if v % 2 else "bob") for v in range(1, 401)]
    # of the same moments, in a stream that sorts before
    twos = [line(v, stream="table/0", subject="ann") for v in range(1, 5)]
    store.project("results", "table/1", 0, 400, ones)
    store.project("results", "table/0", 0, 4, twos)
    store.project("other", "table/1", 0, 1, [line(1, view="other")])

    found = store.lines("results")

    assert len(found) == 404
    assert found[:4] == [twos[0], ones[0], twos[1], ones[1]]
    assert all((a.at, a.stream) < (b.at, b.stream) for a, b in pairwise(found))
    assert store.lines("results", subject="bob") == ones[1::2]
    assert store.lines("results", stream="table/0") == twos
    assert store.lines("results", since=30, until=50) == [twos[2], ones[2], twos[3], ones[3]]
    assert store.lines("results", subject="ann", stream="table/1", limit=2) == [
        ones[396],
        ones[398],
    ]
    assert store.lines("results", until=20, limit=1) == [ones[0]]
    every = store.lines("results", subject="ann", stream="table/1", since=30, until=70, limit=9)
    assert every == [ones[2], ones[4]]
    assert store.lines("results", limit=0) == []


def test_deleting_derived_data_keeps_the_log(store: Store) -> None:
    store.write([propose_data("table/1")])
    store.save_snapshot(Snapshot("table/1", "state", "f", Head(1, b"h" * 32), b"x"))
    store.project("results", "table/1", 0, 1, [line(1)])

    store.delete_derived_data()

    assert all_snapshots(store) == []
    assert store.lines("results") == []
    assert store.projected_version("results", "table/1") == 0
    assert len(store.read("table/1")) == 1
    assert store.project("results", "table/1", 0, 1, [line(1)])


def test_deleting_derived_data_of_one_stream_keeps_others(store: Store) -> None:
    other = ProjectionLine("results", "ann", "table/2", 1, 0, 10, b"{}")
    for stream in ("table/1", "table/2"):
        store.write([propose_data(stream)])
        store.save_snapshot(Snapshot(stream, "state", "f", Head(1, b"h" * 32), b"x"))
    store.project("results", "table/1", 0, 1, [line(1)])
    store.project("results", "table/2", 0, 1, [other])

    store.delete_derived_data("table/1")

    assert [each.stream for each in all_snapshots(store)] == ["table/2"]
    assert store.lines("results") == [other]
    assert store.projected_version("results", "table/1") == 0
    assert store.projected_version("results", "table/2") == 1


def test_deleting_one_view_keeps_others(store: Store) -> None:
    store.write([propose_data("table/1")])
    other = ProjectionLine("others", "ann", "table/1", 1, 0, 10, b"{}")
    store.project("results", "table/1", 0, 1, [line(1)])
    store.project("others", "table/1", 0, 1, [other])

    store.delete_view("results")

    assert store.lines("results") == []
    assert store.projected_version("results", "table/1") == 0
    assert store.lines("others") == [other]
    assert store.projected_version("others", "table/1") == 1


# --- other data ---------------------------------------------------------------------------------


def test_stored_checkpoint_cannot_be_replaced(store: Store) -> None:
    first, second = (Checkpoint(n, b"body %d" % n, "key", b"signed") for n in (1, 2))
    store.add_checkpoint(first)
    store.add_checkpoint(first)
    store.add_checkpoint(second)

    with pytest.raises(StreamConflict, match="checkpoint 1"):
        store.add_checkpoint(Checkpoint(1, b"another", "key", b"signed"))

    assert store.checkpoints() == [first, second]


def test_checkpoint_is_stored_only_after_the_last_one(store: Store) -> None:
    first, second, fourth, ninth = (
        Checkpoint(n, b"body %d" % n, "key", b"signed") for n in (1, 2, 4, 9)
    )
    store.add_checkpoint(first)
    store.add_checkpoint(second)
    for early_or_late in (fourth, ninth):
        with pytest.raises(StreamConflict, match="does not directly follow"):
            store.add_checkpoint(early_or_late)
    store.add_checkpoint(ninth, after=2)
    store.delete_checkpoints(up_to=2)
    for rolled_up in (first, second, fourth):
        with pytest.raises(StreamConflict, match="does not directly follow"):
            store.add_checkpoint(rolled_up)

    assert store.checkpoints() == [ninth]


def test_checkpoints_are_read_by_range_in_either_order(store: Store) -> None:
    made = [Checkpoint(n, b"body %d" % n, "key", b"signed") for n in range(1, 251)]
    for checkpoint in made:
        store.add_checkpoint(checkpoint)

    assert list(store.scan_checkpoints(20)) == made[20:]
    assert list(store.scan_checkpoints_back()) == made[::-1]
    assert list(store.scan_checkpoints_back(up_to=7)) == made[6::-1]
    assert store.checkpoints(10, up_to=12) == made[10:12]
    assert store.checkpoints(limit=3) == made[:3]


def test_lease_is_exclusive_until_it_expires_or_is_released(store: Store) -> None:
    assert store.acquire_lease("driver/1", "a", 60)
    assert store.acquire_lease("driver/1", "a", 60)
    assert not store.acquire_lease("driver/1", "b", 60)
    assert store.acquire_lease("driver/2", "b", 60)

    store.release_lease("driver/1", "b")
    assert not store.acquire_lease("driver/1", "b", 60)
    store.release_lease("driver/1", "a")
    assert store.acquire_lease("driver/1", "b", 0)
    assert store.acquire_lease("driver/1", "a", 60)
    assert not store.acquire_lease("driver/1", "b", 60)


def test_only_server_of_a_store_is_the_sole_server(store: Store) -> None:
    assert store.is_sole_server()
    assert store.is_sole_server()


def test_suspension_lasts_until_released(store: Store) -> None:
    assert store.suspension_reason() == ""
    store.suspend("disk full\0 \ud800")
    store.suspend("disk gone")
    assert store.suspension_reason() == "disk gone"
    store.release()
    assert store.suspension_reason() == ""


def test_person_can_be_erased(store: Store) -> None:
    store.set_person("p1", b"Ann")
    store.set_person("p1", b"Anne")
    store.set_person("p2", b"Bob")

    assert store.person("p1") == b"Anne"
    assert store.people() == {"p1": b"Anne", "p2": b"Bob"}
    assert store.people(["p2", "p3"]) == {"p2": b"Bob"}
    assert store.people([]) == {}
    assert store.erase_person("p1")
    assert not store.erase_person("p1")
    assert store.person("p1") is None
    assert store.person("p2") == b"Bob"
