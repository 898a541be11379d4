"""Followers of a feed miss nothing and see nothing twice, whoever comes, leaves or closes it."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from random import Random
from threading import Event
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.log.following import NEVER, TABLE, Follower, append, run, whole
from tests.log.proposing import PATIENCE, propose_row
from tests.log.submitting import WaitingWriter
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from threedice.log.entry import Entry

STREAMS = st.sampled_from(["table/1", "table/2"])
WRITES = st.tuples(
    st.sampled_from(["publish", "hint", "hint too much", "nothing"]),
    STREAMS,
    st.integers(1, 6),
)
JOINS = st.tuples(st.just("join"), STREAMS, st.integers(0, 20))
OTHERS = st.tuples(st.sampled_from(["leave", "turn", "look", "settle"]), STREAMS, st.integers(0, 9))


@given(st.lists(WRITES | JOINS | OTHERS, min_size=9, max_size=60), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_followers_see_exactly_the_stream_whatever_they_are_told(
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
                        await follower.leaves()
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
                    late.append(append(store, stream, number))
                    tell(feed, what, late[-1])
    for follower in followers:
        await follower.task
        assert follower.seen == whole(store, follower.stream, follower.after)


async def all_catch_up(store: MemoryStore, followers: list[Follower]) -> None:
    for follower in followers:
        await follower.reaches(store.head(follower.stream).version)


def tell(feed: Feed, what: str, fresh: dict[str, list[Entry]]) -> None:
    heads = {stream: entries[-1].version for stream, entries in fresh.items()}
    match what:
        case "publish":
            feed.publish(fresh)
        case "hint":
            feed.notify_versions(heads)
        case "hint too much":
            feed.notify_versions({stream: version + 7 for stream, version in heads.items()})


def test_followers_who_come_and_go_while_a_writer_writes_miss_nothing() -> None:
    async def story() -> None:
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
                    await follower.reaches(600)
        for follower in followers:
            await follower.task
            assert follower.seen == whole(store, TABLE, follower.after)

    run(story())


def test_what_one_follower_finds_in_the_store_all_see() -> None:
    async def story() -> None:
        store = MemoryStore()
        append(store, TABLE, 2)
        async with Feed(store, poll_seconds=NEVER) as feed:
            waiting = Follower(feed, TABLE, 1)
            await waiting.reaches(2)
            fresh = append(store, TABLE)
            await Follower(feed, TABLE, 0).reaches(3)
            feed.publish(fresh)
            await waiting.reaches(3)

    run(story())


def test_who_follows_from_ahead_of_the_stream_sees_what_comes_after_that() -> None:
    async def story() -> None:
        store = MemoryStore()
        append(store, TABLE, 2)
        async with Feed(store, poll_seconds=NEVER) as feed:
            ahead, along = Follower(feed, TABLE, 5), Follower(feed, TABLE, 0)
            await along.reaches(2)
            feed.publish(append(store, TABLE, 3))
            await along.reaches(5)
            feed.publish(append(store, TABLE, 2))
            await ahead.reaches(7)
        assert [entry.version for entry in ahead.seen] == [6, 7]

    run(story())


def test_a_follower_who_leaves_does_not_take_along_what_others_wait_for() -> None:
    class GatedStore(MemoryStore):
        begun, gate = Event(), Event()

        def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
            self.begun.set()
            assert self.gate.wait(PATIENCE)
            return super().read(stream, after, most)

    async def story() -> None:
        store = GatedStore()
        append(store, TABLE, 3)
        async with Feed(store, poll_seconds=NEVER) as feed:
            first, second = Follower(feed, TABLE), Follower(feed, TABLE)
            await asyncio.to_thread(store.begun.wait, PATIENCE)
            await first.leaves()
            store.gate.set()
            await second.reaches(3)

    run(story())


# --- the end ------------------------------------------------------------------------------------


def test_closing_ends_every_subscription() -> None:
    async def story() -> None:
        store = MemoryStore()
        append(store, TABLE)
        feed = Feed(store, poll_seconds=NEVER)
        followers = [Follower(feed, TABLE, after) for after in (0, 1, 7)]
        await followers[0].reaches(1)
        await feed.close()
        for follower in followers:
            await follower.task
        assert feed.subscriber_count() == 0
        assert [entries async for entries in feed.subscribe(TABLE)] == []
        feed.publish(append(store, TABLE))
        feed.notify_versions({TABLE: 2})
        await feed.close()

    run(story())


def test_a_closed_feed_leaves_the_store_alone() -> None:
    class SlowStore(MemoryStore):
        begun, gate, answered = Event(), Event(), False

        def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
            self.begun.set()
            assert self.gate.wait(PATIENCE)
            self.answered = True
            return super().read(stream, after, most)

    async def story() -> None:
        store = SlowStore()
        append(store, TABLE)
        feed = Feed(store, poll_seconds=NEVER)
        follower = Follower(feed, TABLE)
        await asyncio.to_thread(store.begun.wait, PATIENCE)
        await follower.leaves()
        closing = asyncio.get_running_loop().create_task(feed.close())
        await asyncio.to_thread(lambda: None)
        assert not closing.done()
        store.gate.set()
        await closing
        assert store.answered

    run(story())


def test_a_writer_that_outlives_the_loop_is_not_disturbed() -> None:
    store = MemoryStore()

    async def story() -> Feed:
        feed = Feed(store, poll_seconds=NEVER)
        subscription = feed.subscribe(TABLE)
        append(store, TABLE)
        await anext(subscription)
        return feed

    feed = run(story())
    feed.publish(append(store, TABLE))
    feed.poll_now()
