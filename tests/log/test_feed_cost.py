"""Cost of a feed: its reads of the store and its cached entries."""

from __future__ import annotations

from tests.log.doubles import NEVER, TABLE, CountingStore, Follower, append_entries, read_all, run
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore


def test_published_entries_reach_many_followers_without_store_reads() -> None:
    async def scenario() -> None:
        store = CountingStore()
        append_entries(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            followers = [Follower(feed, TABLE, 1) for _ in range(100)]
            for version in range(2, 30):
                feed.publish(append_entries(store, TABLE))
                for follower in followers:
                    await follower.wait_for(version)
        # the first entry was published before anyone followed
        assert (store.looks, store.reads) == (1, 1)

    run(scenario())


def test_version_notification_causes_one_read_of_entries_and_head_for_many_followers() -> None:
    async def scenario() -> None:
        store = CountingStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            followers = [Follower(feed, TABLE) for _ in range(100)]
            for version in range(1, 20):
                append_entries(store, TABLE)
                feed.notify_versions({TABLE: version})
                for follower in followers:
                    await follower.wait_for(version)
                assert store.reads == version
                assert store.looks <= version + 1

    run(scenario())


def test_slow_follower_caches_no_more_than_the_window() -> None:
    async def scenario() -> None:
        store = CountingStore()
        append_entries(store, TABLE)
        async with Feed(store, window=10, poll_seconds=NEVER) as feed:
            slow, quick = feed.subscribe(TABLE), Follower(feed, TABLE)
            seen = await anext(slow)
            for version in range(2, 500):
                feed.publish(append_entries(store, TABLE))
                await quick.wait_for(version)
                assert feed.cached_entry_count() <= 20
            while len(seen) < 499:
                seen += await anext(slow)
            assert seen == read_all(store, TABLE)
            await slow.aclose()
        assert store.reads > 40

    run(scenario())


def test_entries_without_followers_are_not_cached() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower, other = Follower(feed, TABLE), Follower(feed, "table/2")
            for stream in (TABLE, "table/2", "table/3"):
                feed.publish(append_entries(store, stream))
            await follower.wait_for(1)
            await other.wait_for(1)
            assert (feed.cached_entry_count(), feed.subscriber_count()) == (2, 2)
            await follower.stop()
            assert (feed.cached_entry_count(), feed.subscriber_count()) == (1, 1)

    run(scenario())
