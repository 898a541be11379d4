from __future__ import annotations

import asyncio
from random import Random
from threading import Event, Semaphore
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.log.following import Follower, run
from tests.log.proposing import PATIENCE, propose, propose_row
from threedice.errors import InvariantBroken, StoreAway, StoreFailed
from threedice.log.feed import Feed
from threedice.log.memory import MemoryStore
from threedice.log.writer import Writer

if TYPE_CHECKING:
    from threedice.log.entry import Entry, Head

NEVER = 1e6
"""Seconds between polls, for those who do not want to be saved by one."""

TABLE = "table/1"


class CountingStore(MemoryStore):
    """Counts how often it is asked, and fails at first if it is told to."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.reads = self.looks = 0
        self.failures = list(failures)

    def read(self, stream: str, after: int = 0, most: int = 1000) -> list[Entry]:
        self.reads += 1
        if self.failures:
            raise self.failures.pop()
        return super().read(stream, after, most)

    def head(self, stream: str) -> Head:
        self.looks += 1
        return super().head(stream)


def append(store: MemoryStore, stream: str, entries: int = 1) -> dict[str, list[Entry]]:
    """Append to a stream, and return what the writer would publish."""
    proposal = propose(stream, MemoryStore.head(store, stream), entries)
    store.write([proposal])
    return {stream: list(proposal.appends[0].entries)}


def whole(store: MemoryStore, stream: str, after: int = 0) -> list[Entry]:
    return MemoryStore.read(store, stream, after, 10**9)


# --- nothing missed, nothing twice --------------------------------------------------------------

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
                    feed.look_again()
                case "settle":
                    feed.look_again()
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
            feed.heard(heads)
        case "hint too much":
            feed.heard({stream: version + 7 for stream, version in heads.items()})


def test_followers_who_come_and_go_while_a_writer_writes_miss_nothing() -> None:
    async def story() -> None:
        store, random = MemoryStore(), Random(4)
        row, followers = propose_row(TABLE, 600), list[Follower]()
        async with Feed(store, window=16, poll_seconds=NEVER) as feed:
            with Writer[int](store, publish=feed.publish, largest_batch=9) as writer:
                for number, proposal in enumerate(row):
                    writer.submit(proposal, number)
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


# --- what it costs ------------------------------------------------------------------------------


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
                feed.heard({TABLE: version})
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
                assert feed.held() <= 20
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
            assert (feed.held(), feed.subscribers()) == (2, 2)
            await follower.leaves()
            assert (feed.held(), feed.subscribers()) == (1, 1)

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
            feed.heard({TABLE: 8})
            await follower.reaches(8)

    run(story())


def test_a_hint_of_more_than_there_is_neither_deafens_nor_costs() -> None:
    async def story() -> None:
        store = CountingStore()
        append(store, TABLE)
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = Follower(feed, TABLE)
            await follower.reaches(1)
            feed.heard({TABLE: 1_000_000})
            for version in range(2, 20):
                append(store, TABLE)
                feed.look_again()
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
    feed.heard({TABLE: 7})  # which is not true
    for _ in range(2):
        assert await asyncio.to_thread(store.begun.acquire, timeout=PATIENCE)
    append(store, TABLE)
    return follower


def test_a_hint_that_comes_during_a_read_is_not_taken_for_answered() -> None:
    async def story() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            follower = await stale_read(store, feed)
            feed.heard({TABLE: 2})
            await asyncio.to_thread(lambda: None)
            store.gate.release(99)
            await follower.reaches(2)

    run(story())


def test_who_has_heard_more_does_not_share_an_older_answer() -> None:
    async def story() -> None:
        store = StaleStore()
        async with Feed(store, poll_seconds=NEVER) as feed:
            first = await stale_read(store, feed)
            feed.heard({TABLE: 2})
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
        store = CountingStore(*[StoreAway("no answer")] * times)
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
                raise StoreAway("no answer")
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
            feed.look_again()
            with pytest.raises(InvariantBroken):
                await follower.reaches(2)

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
        assert feed.subscribers() == 0
        assert [entries async for entries in feed.subscribe(TABLE)] == []
        feed.publish(append(store, TABLE))
        feed.heard({TABLE: 2})
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
    feed.look_again()
