"""What a feed costs: how often it asks its store, and how much it keeps."""

from __future__ import annotations

from tests.log.following import NEVER, TABLE, CountingStore, Follower, append, run, whole
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore


def test_many_followers_of_published_entries_do_not_ask_the_store() -> None:
    async def story() -> None:
        store = CountingStore()
        append(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            followers = [Follower(feed, TABLE, 1) for _ in range(100)]
            for version in range(2, 30):
                feed.publish(append(store, TABLE))
                for follower in followers:
                    await follower.reaches(version)
        # the first was published before anybody had begun to follow
        assert (store.looks, store.reads) == (1, 1)

    run(story())


def test_many_followers_of_a_hint_ask_the_store_once() -> None:
    async def story() -> None:
        store = CountingStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            followers = [Follower(feed, TABLE) for _ in range(100)]
            for version in range(1, 20):
                append(store, TABLE)
                feed.notify_versions({TABLE: version})
                for follower in followers:
                    await follower.reaches(version)
                assert (store.looks, store.reads) == (1, version)

    run(story())


def test_a_follower_who_does_not_read_costs_no_more_than_the_window() -> None:
    async def story() -> None:
        store = CountingStore()
        append(store, TABLE)
        async with Feed(store, window=10, poll_seconds=NEVER) as feed:
            slow, quick = feed.subscribe(TABLE), Follower(feed, TABLE)
            seen = await anext(slow)
            for version in range(2, 500):
                feed.publish(append(store, TABLE))
                await quick.reaches(version)
                assert feed.cached_entry_count() <= 20
            while len(seen) < 499:
                seen += await anext(slow)
            assert seen == whole(store, TABLE)
            await slow.aclose()
        assert store.reads > 40

    run(story())


def test_what_nobody_follows_any_more_is_not_kept() -> None:
    async def story() -> None:
        store = MemoryStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower, other = Follower(feed, TABLE), Follower(feed, "table/2")
            for stream in (TABLE, "table/2", "table/3"):
                feed.publish(append(store, stream))
            await follower.reaches(1)
            await other.reaches(1)
            assert (feed.cached_entry_count(), feed.subscriber_count()) == (2, 2)
            await follower.leaves()
            assert (feed.cached_entry_count(), feed.subscriber_count()) == (1, 1)

    run(story())
