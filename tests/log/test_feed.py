"""Followers of a feed see every entry exactly once."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from random import Random
from threading import Event
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.log.doubles import NEVER, TABLE, Follower, WaitingWriter, append_entries, read_all, run
from tests.log.proposals import PATIENCE, propose_row
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from threedice.log.entry import Entry

STREAMS = st.sampled_from(["table/1", "table/2"])
WRITES = st.tuples(
    st.sampled_from(["publish", "notify", "notify beyond the head", "nothing"]),
    STREAMS,
    st.integers(1, 6),
)
JOINS = st.tuples(st.just("join"), STREAMS, st.integers(0, 20))
OTHERS = st.tuples(st.sampled_from(["leave", "turn", "look", "settle"]), STREAMS, st.integers(0, 9))


@given(st.lists(WRITES | JOINS | OTHERS, min_size=9, max_size=60), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_followers_see_the_exact_stream_under_any_sequence_of_notifications(
    steps: list[tuple[str, str, int]], window: int
) -> None:
    run(follow_through(steps, window))


async def follow_through(steps: list[tuple[str, str, int]], window: int) -> None:
    store, followers, late = MemoryStore(), list[Follower](), list[dict[str, "list[Entry]"]]()
    async with Feed(store, window=window, poll_seconds=NEVER) as feed:
        for what, stream, number in [*steps, ("settle", TABLE, 0)]:
            match what:
                case "join":
                    after = max(0, store.head(stream).version - number)
                    followers.append(Follower(feed, stream, after))
                case "leave":
                    for follower in followers[number : number + 1]:
                        await follower.stop()
                        followers.remove(follower)
                case "turn":
                    await asyncio.to_thread(lambda: None)
                    for fresh in late[number : number + 1]:
                        feed.publish(fresh)
                case "look":
                    feed.poll_now()
                case "settle":
                    feed.poll_now()
                    await all_catch_up(store, followers)
                case _:
                    late.append(append_entries(store, stream, number))
                    notify(feed, what, late[-1])
    for follower in followers:
        await follower.task
        assert follower.seen == read_all(store, follower.stream, follower.after)


async def all_catch_up(store: MemoryStore, followers: list[Follower]) -> None:
    for follower in followers:
        await follower.wait_for(store.head(follower.stream).version)


def notify(feed: Feed, what: str, fresh: dict[str, list[Entry]]) -> None:
    heads = {stream: entries[-1].version for stream, entries in fresh.items()}
    match what:
        case "publish":
            feed.publish(fresh)
        case "notify":
            feed.notify_versions(heads)
        case "notify beyond the head":
            feed.notify_versions({stream: version + 7 for stream, version in heads.items()})


def test_followers_that_join_during_writes_see_every_entry() -> None:
    async def scenario() -> None:
        store, random = MemoryStore(), Random(4)
        row, followers = propose_row(TABLE, 600), list[Follower]()
        async with Feed(store, window=16, poll_seconds=NEVER) as feed:
            with WaitingWriter(store, publish=feed.publish, max_batch=9) as writer:
                for number, proposal in enumerate(row):
                    writer.submit(proposal, Future())
                    if number % 10 == 0:
                        after = random.randint(0, store.head(TABLE).version)
                        followers.append(Follower(feed, TABLE, after))
                        await asyncio.to_thread(lambda: None)
                for follower in followers:
                    await follower.wait_for(600)
        for follower in followers:
            await follower.task
            assert follower.seen == read_all(store, TABLE, follower.after)

    run(scenario())


def test_entry_read_by_one_follower_reaches_the_others() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        append_entries(store, TABLE, 2)
        async with Feed(store, poll_seconds=NEVER) as feed:
            waiting = Follower(feed, TABLE, 1)
            await waiting.wait_for(2)
            fresh = append_entries(store, TABLE)
            await Follower(feed, TABLE, 0).wait_for(3)
            feed.publish(fresh)
            await waiting.wait_for(3)

    run(scenario())


def test_follower_that_starts_ahead_of_the_stream_sees_only_later_entries() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        append_entries(store, TABLE, 2)
        async with Feed(store, poll_seconds=NEVER) as feed:
            ahead, along = Follower(feed, TABLE, 5), Follower(feed, TABLE, 0)
            await along.wait_for(2)
            feed.publish(append_entries(store, TABLE, 3))
            await along.wait_for(5)
            feed.publish(append_entries(store, TABLE, 2))
            await ahead.wait_for(7)
        assert [entry.version for entry in ahead.seen] == [6, 7]

    run(scenario())


def test_follower_that_leaves_does_not_cancel_the_read_of_others() -> None:
    class GatedStore(MemoryStore):
        begun, gate = Event(), Event()

        def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
            self.begun.set()
            assert self.gate.wait(PATIENCE)
            return super().read(stream, after, limit)

    async def scenario() -> None:
        store = GatedStore()
        append_entries(store, TABLE, 3)
        async with Feed(store, poll_seconds=NEVER) as feed:
            first, second = Follower(feed, TABLE), Follower(feed, TABLE)
            await asyncio.to_thread(store.begun.wait, PATIENCE)
            await first.stop()
            store.gate.set()
            await second.wait_for(3)

    run(scenario())


# --- the end ------------------------------------------------------------------------------------


def test_closing_a_feed_ends_every_subscription() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        append_entries(store, TABLE)
        feed = Feed(store, poll_seconds=NEVER)
        followers = [Follower(feed, TABLE, after) for after in (0, 1, 7)]
        await followers[0].wait_for(1)
        await feed.close()
        for follower in followers:
            await follower.task
        assert feed.subscriber_count() == 0
        assert [entries async for entries in feed.subscribe(TABLE)] == []
        feed.publish(append_entries(store, TABLE))
        feed.notify_versions({TABLE: 2})
        await feed.close()

    run(scenario())


def test_closing_a_feed_waits_for_reads_in_progress() -> None:
    class SlowStore(MemoryStore):
        begun, gate, answered = Event(), Event(), False

        def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
            self.begun.set()
            assert self.gate.wait(PATIENCE)
            self.answered = True
            return super().read(stream, after, limit)

    async def scenario() -> None:
        store = SlowStore()
        append_entries(store, TABLE)
        feed = Feed(store, poll_seconds=NEVER)
        follower = Follower(feed, TABLE)
        await asyncio.to_thread(store.begun.wait, PATIENCE)
        await follower.stop()
        closing = asyncio.get_running_loop().create_task(feed.close())
        await asyncio.to_thread(lambda: None)
        assert not closing.done()
        store.gate.set()
        await closing
        assert store.answered

    run(scenario())


def test_publishing_after_the_event_loop_closed_is_harmless() -> None:
    store = MemoryStore()

    async def scenario() -> Feed:
        feed = Feed(store, poll_seconds=NEVER)
        subscription = feed.subscribe(TABLE)
        append_entries(store, TABLE)
        await anext(subscription)
        return feed

    feed = run(scenario())
    feed.publish(append_entries(store, TABLE))
    feed.poll_now()
