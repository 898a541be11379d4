"""A feed in trouble: hints that are late or untrue, stores that are away or have gaps."""

from __future__ import annotations

import asyncio
from threading import Semaphore
from typing import TYPE_CHECKING

import pytest

from tests.log.following import NEVER, TABLE, CountingStore, Follower, append, run
from tests.log.proposing import PATIENCE, propose
from threedice.errors import InvariantBroken, StoreFailed, StoreUnavailable
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from threedice.log.entry import Entry, Head

# --- what saves it ------------------------------------------------------------------------------


def test_a_poll_finds_what_nobody_told() -> None:
    async def story() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=0.001) as feed:
            followers = [Follower(feed, stream) for stream in (TABLE, "table/2")]
            for version in range(1, 6):
                for follower in followers:
                    append(store, follower.stream)
                    await follower.reaches(version)

    run(story())


def test_a_hint_of_more_than_a_page_is_followed_to_its_end() -> None:
    async def story() -> None:
        store = MemoryStore()
        append(store, TABLE)
        async with Feed(store, window=2, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.reaches(1)
            append(store, TABLE, 7)
            feed.notify_versions({TABLE: 8})
            await follower.reaches(8)

    run(story())


def test_a_hint_of_more_than_there_is_neither_deafens_nor_costs() -> None:
    async def story() -> None:
        store = CountingStore()
        append(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.reaches(1)
            feed.notify_versions({TABLE: 1_000_000})
            for version in range(2, 20):
                append(store, TABLE)
                feed.poll_now()
                await follower.reaches(version)
            so_far = store.reads
            for version in range(20, 40):
                feed.publish(append(store, TABLE))
                await follower.reaches(version)
            assert store.reads <= so_far + 1

    run(story())


class StaleStore(MemoryStore):
    """Finds its answers at once, and gives them when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.gate = Semaphore(0), Semaphore(1)

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        entries = super().read(stream, after, most)
        self.begun.release()
        assert self.gate.acquire(timeout=PATIENCE)
        return entries


async def stale_read(store: StaleStore, feed: Feed) -> Follower:
    """Have a follower wait for an answer that says there is nothing, before there is something."""
    append(store, TABLE)
    follower = Follower(feed, TABLE)
    await follower.reaches(1)
    feed.notify_versions({TABLE: 7})  # which is not true
    for _ in range(2):
        assert await asyncio.to_thread(store.begun.acquire, timeout=PATIENCE)
    append(store, TABLE)
    return follower


def test_a_hint_that_comes_during_a_read_is_not_taken_for_answered() -> None:
    async def story() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = await stale_read(store, feed)
            feed.notify_versions({TABLE: 2})
            await asyncio.to_thread(lambda: None)
            store.gate.release(99)
            await follower.reaches(2)

    run(story())


def test_who_has_heard_more_does_not_share_an_older_answer() -> None:
    async def story() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            first = await stale_read(store, feed)
            feed.notify_versions({TABLE: 2})
            await asyncio.to_thread(lambda: None)
            second = Follower(feed, TABLE, 1)
            await asyncio.to_thread(lambda: None)
            await first.leaves()
            store.gate.release(99)
            await second.reaches(2)

    run(story())


@pytest.mark.parametrize("times", [1, 3])
def test_a_store_that_is_away_for_a_while_is_asked_again(times: int) -> None:
    async def story() -> None:
        store = CountingStore(*[StoreUnavailable("no answer")] * times)
        append(store, TABLE, 5)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.reaches(5)
        assert store.reads == times + 1

    run(story())


def test_a_store_that_does_not_even_tell_its_heads_is_asked_again() -> None:
    class AwayStore(MemoryStore):
        away = 4

        def head(self, stream: str) -> Head:
            self.away -= 1
            if self.away >= 0:
                raise StoreUnavailable("no answer")
            return super().head(stream)

    async def story() -> None:
        store = AwayStore()
        store.write([propose(TABLE)])
        async with Feed(store, poll_seconds=NEVER) as feed:
            await Follower(feed, TABLE).reaches(1)

    run(story())


# --- what must not be ---------------------------------------------------------------------------


def test_a_store_that_cannot_read_ends_the_subscription() -> None:
    async def story() -> None:
        store = CountingStore(StoreFailed("EIO"))
        append(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            with pytest.raises(StoreFailed, match="EIO"):
                await Follower(feed, TABLE).reaches(1)

    run(story())


@pytest.mark.parametrize("missing", [1, 2])
def test_a_gap_in_the_store_is_handed_to_nobody(missing: int) -> None:
    class GappyStore(MemoryStore):
        def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
            entries = super().read(stream, after, most)
            return [entry for entry in entries if entry.version != missing]

    async def story() -> None:
        store = GappyStore()
        append(store, TABLE, 3)
        async with Feed(store, poll_seconds=NEVER) as feed:
            behind, ahead = Follower(feed, TABLE), Follower(feed, TABLE, 3)
            with pytest.raises(InvariantBroken, match="cannot follow"):
                await behind.reaches(3)
            assert behind.seen == []
            await Follower(feed, TABLE, 2).reaches(3)
            feed.publish(append(store, TABLE))
            await ahead.reaches(4)

    run(story())


def test_a_gap_in_what_is_published_is_handed_to_nobody() -> None:
    async def story() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            feed.publish(append(store, TABLE))
            await follower.reaches(1)
            first, _, third = append(store, TABLE, 3)[TABLE]
            feed.publish({TABLE: [first, third]})
            with pytest.raises(InvariantBroken, match="cannot follow"):
                await follower.reaches(4)
            assert follower.version == 1

    run(story())


def test_a_defect_in_the_poll_is_not_kept_from_followers() -> None:
    class DefectiveStore(MemoryStore):
        looks = 0

        def head(self, stream: str) -> Head:
            self.looks += 1
            if self.looks > 1:
                raise ZeroDivisionError
            return super().head(stream)

    async def story() -> None:
        store = DefectiveStore()
        append(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.reaches(1)
            feed.poll_now()
            with pytest.raises(InvariantBroken):
                await follower.reaches(2)

    run(story())
