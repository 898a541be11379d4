"""Feeds with late or wrong notifications, and with stores that fail or have gaps."""

from __future__ import annotations

import asyncio
from threading import Semaphore
from typing import TYPE_CHECKING

import pytest

from tests.log.doubles import NEVER, TABLE, CountingStore, Follower, append_entries, run
from tests.log.proposals import PATIENCE, propose
from threedice.errors import InvariantBroken, StoreFailed, StoreUnavailable
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from threedice.log.entry import Entry, Head

# --- recovered failures -------------------------------------------------------------------------


def test_poll_finds_entries_without_notification() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=0.001) as feed:
            followers = [Follower(feed, stream) for stream in (TABLE, "table/2")]
            for version in range(1, 6):
                for follower in followers:
                    append_entries(store, follower.stream)
                    await follower.wait_for(version)

    run(scenario())


def test_notified_entries_beyond_one_page_are_read() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        append_entries(store, TABLE)
        async with Feed(store, window=2, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.wait_for(1)
            append_entries(store, TABLE, 7)
            feed.notify_versions({TABLE: 8})
            await follower.wait_for(8)

    run(scenario())


def test_notification_beyond_the_head_costs_one_read() -> None:
    async def scenario() -> None:
        store = CountingStore()
        append_entries(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.wait_for(1)
            feed.notify_versions({TABLE: 1_000_000})
            for version in range(2, 20):
                append_entries(store, TABLE)
                feed.poll_now()
                await follower.wait_for(version)
            so_far = store.reads
            for version in range(20, 40):
                feed.publish(append_entries(store, TABLE))
                await follower.wait_for(version)
            assert store.reads <= so_far + 1

    run(scenario())


class StaleStore(MemoryStore):
    """A store that reads at once and returns the result when released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.gate = Semaphore(0), Semaphore(1)

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        entries = super().read(stream, after, limit)
        self.begun.release()
        assert self.gate.acquire(timeout=PATIENCE)
        return entries


async def stale_read(store: StaleStore, feed: Feed) -> Follower:
    """Let a follower wait for a read that began before the next entry was written."""
    append_entries(store, TABLE)
    follower = Follower(feed, TABLE)
    await follower.wait_for(1)
    feed.notify_versions({TABLE: 7})  # a wrong notification
    for _ in range(2):
        assert await asyncio.to_thread(store.begun.acquire, timeout=PATIENCE)
    append_entries(store, TABLE)
    return follower


def test_notification_during_a_read_causes_another_read() -> None:
    async def scenario() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = await stale_read(store, feed)
            feed.notify_versions({TABLE: 2})
            await asyncio.to_thread(lambda: None)
            store.gate.release(99)
            await follower.wait_for(2)

    run(scenario())


def test_follower_with_a_newer_notification_does_not_share_an_older_read() -> None:
    async def scenario() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            first = await stale_read(store, feed)
            feed.notify_versions({TABLE: 2})
            await asyncio.to_thread(lambda: None)
            second = Follower(feed, TABLE, 1)
            await asyncio.to_thread(lambda: None)
            await first.stop()
            store.gate.release(99)
            await second.wait_for(2)

    run(scenario())


@pytest.mark.parametrize("times", [1, 3])
def test_feed_retries_reads_of_an_unavailable_store(times: int) -> None:
    async def scenario() -> None:
        store = CountingStore(*[StoreUnavailable("no answer")] * times)
        append_entries(store, TABLE, 5)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.wait_for(5)
        assert store.reads == times + 1

    run(scenario())


def test_feed_retries_the_head_of_an_unavailable_store() -> None:
    class AwayStore(MemoryStore):
        away = 4

        def head(self, stream: str) -> Head:
            self.away -= 1
            if self.away >= 0:
                raise StoreUnavailable("no answer")
            return super().head(stream)

    async def scenario() -> None:
        store = AwayStore()
        store.write([propose(TABLE)])
        async with Feed(store, poll_seconds=NEVER) as feed:
            await Follower(feed, TABLE).wait_for(1)

    run(scenario())


# --- failures that end a subscription -----------------------------------------------------------


def test_failed_read_ends_the_subscription() -> None:
    async def scenario() -> None:
        store = CountingStore(StoreFailed("EIO"))
        append_entries(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            with pytest.raises(StoreFailed, match="EIO"):
                await Follower(feed, TABLE).wait_for(1)

    run(scenario())


@pytest.mark.parametrize("missing", [1, 2])
def test_gap_in_the_store_ends_the_subscription(missing: int) -> None:
    class GappyStore(MemoryStore):
        def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
            entries = super().read(stream, after, limit)
            return [entry for entry in entries if entry.version != missing]

    async def scenario() -> None:
        store = GappyStore()
        append_entries(store, TABLE, 3)
        async with Feed(store, poll_seconds=NEVER) as feed:
            behind, ahead = Follower(feed, TABLE), Follower(feed, TABLE, 3)
            with pytest.raises(InvariantBroken, match="cannot follow"):
                await behind.wait_for(3)
            assert behind.seen == []
            await Follower(feed, TABLE, 2).wait_for(3)
            feed.publish(append_entries(store, TABLE))
            await ahead.wait_for(4)

    run(scenario())


def test_gap_in_published_entries_ends_the_subscription() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            feed.publish(append_entries(store, TABLE))
            await follower.wait_for(1)
            first, _, third = append_entries(store, TABLE, 3)[TABLE]
            feed.publish({TABLE: [first, third]})
            with pytest.raises(InvariantBroken, match="cannot follow"):
                await follower.wait_for(4)
            assert follower.version == 1

    run(scenario())


def test_defect_in_the_poll_ends_the_subscription() -> None:
    class DefectiveStore(MemoryStore):
        looks = 0

        def head(self, stream: str) -> Head:
            self.looks += 1
            if self.looks > 1:
                raise ZeroDivisionError
            return super().head(stream)

    async def scenario() -> None:
        store = DefectiveStore()
        append_entries(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.wait_for(1)
            feed.poll_now()
            with pytest.raises(InvariantBroken):
                await follower.wait_for(2)

    run(scenario())
