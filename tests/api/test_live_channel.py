"""The channel of a table: which subscribers receive which events, in how many messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.house.house_driver import People
from tests.waiting import TIMEOUT_SECONDS
from threedice.api.auth.authentication import Caller
from threedice.api.live.channel import Channel, Subscriber
from threedice.house import CommandHandler
from threedice.identity import Account
from threedice.log.feed import Feed
from threedice.log.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from threedice.api.views import AudienceKind

pytestmark = pytest.mark.anyio


class ChannelHarness:
    """A table with a command handler and a feed, whose channels a test opens."""

    def __init__(self, handler: CommandHandler, feed: Feed) -> None:
        self.handler, self.feed = handler, feed
        self.people = People(handler)
        self.failures: list[Exception] = []

    def channel(self, version: int) -> Channel:
        return Channel(self.feed, "1", version, lambda _, defect: self.failures.append(defect))

    @property
    def version(self) -> int:
        return self.handler.store.head("table/1").version

    async def bet(self, count: int) -> None:
        for _ in range(count):
            await self.people.bet("ann", 5, "big")


@pytest.fixture
async def harness() -> AsyncIterator[ChannelHarness]:
    store = MemoryStore()
    async with CommandHandler(store) as handler, Feed(store) as feed:
        harness = ChannelHarness(handler, feed)
        await harness.people.open(stacks={"ann": 100_000, "bob": 100_000})
        await harness.people.play("open betting")
        handler.streams.publish = feed.publish
        yield harness


def subscriber(
    version: int,
    audience: AudienceKind = "player",
    player: str = "ann",
    write: Callable[[bytes], bool] | None = None,
) -> Subscriber:
    account = Account(player or "staff", player, ("player",), True, 0)
    made = Subscriber(Caller(account, "session"), "", "1", audience, player, write)
    made.version = version
    return made


async def next_events(listener: Subscriber) -> list[dict[str, Any]]:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        text = await listener.next_message()
    assert text is not None
    events: list[dict[str, Any]] = msgspec.json.decode(text)["events"]
    return events


async def test_channel_refuses_a_subscriber_that_is_behind(harness: ChannelHarness) -> None:
    channel = harness.channel(harness.version)
    assert not channel.attach(subscriber(harness.version - 1))
    level = subscriber(harness.version)
    assert channel.attach(level)
    await harness.bet(1)
    assert [each["version"] for each in await next_events(level)] == [harness.version]
    channel.close()


async def test_subscriber_ahead_of_the_channel_receives_only_newer_events(
    harness: ChannelHarness,
) -> None:
    """A client of another server may have seen a version that this server has yet to read."""
    start = harness.version
    harness.handler.streams.publish = None  # as if another server wrote
    await harness.bet(5)
    channel = harness.channel(start)
    further, level = subscriber(start + 3), subscriber(start)
    assert channel.attach(further)
    assert channel.attach(level)
    harness.feed.notify_versions({"table/1": start + 5})
    assert [each["version"] for each in await next_events(further)] == [start + 4, start + 5]
    assert [each["version"] for each in await next_events(level)] == list(
        range(start + 1, start + 6)
    )
    harness.handler.streams.publish = harness.feed.publish
    await harness.bet(1)
    assert [each["version"] for each in await next_events(further)] == [start + 6]
    channel.close()


async def test_subscribers_with_equal_views_share_one_frame(harness: ChannelHarness) -> None:
    written: dict[str, bytes] = {}
    channel = harness.channel(harness.version)
    listeners = []
    for name in ("bob", "cat", "ann", ""):
        audience: AudienceKind = "player" if name else "staff"

        def write(frame: bytes, name: str = name) -> bool:
            written[name] = frame
            return True

        listeners.append(subscriber(harness.version, audience, name, write))
        assert channel.attach(listeners[-1])
    waiting = [asyncio.create_task(each.next_message()) for each in listeners]
    await asyncio.sleep(0)
    await harness.bet(1)
    while len(written) < 4:
        await asyncio.sleep(0)
    assert written["bob"] is written["cat"]
    assert b"ann" in written["ann"]
    assert b"ann" not in written["bob"]
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()
    channel.close()


async def test_frames_refused_by_the_socket_are_queued_in_order(harness: ChannelHarness) -> None:
    channel = harness.channel(harness.version)
    listener = subscriber(harness.version, write=lambda _frame: False)
    channel.attach(listener)
    start = harness.version
    waiting = asyncio.create_task(listener.next_message())
    await asyncio.sleep(0)
    await harness.bet(3)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        first = await waiting
    assert first is not None
    seen = [each["version"] for each in msgspec.json.decode(first)["events"]]
    while seen[-1] < start + 3:
        seen += [each["version"] for each in await next_events(listener)]
    assert seen == [start + 1, start + 2, start + 3]
    channel.close()


async def test_direct_writes_never_overtake_queued_frames(harness: ChannelHarness) -> None:
    channel, frames = harness.channel(harness.version), list[bytes]()

    def write(frame: bytes) -> bool:
        frames.append(frame)
        return len(frames) > 1

    listener, start = subscriber(harness.version, write=write), harness.version
    channel.attach(listener)
    waiting = asyncio.create_task(listener.next_message())
    await asyncio.sleep(0)
    await harness.bet(1)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert await waiting is not None  # refused by the socket, so it was queued
    other = subscriber(harness.version)
    channel.attach(other)
    await harness.bet(1)
    await next_events(other)
    assert len(frames) == 1
    assert [each["version"] for each in await next_events(listener)] == [start + 2]
    channel.close()


async def test_events_committed_together_are_sent_in_one_message(harness: ChannelHarness) -> None:
    channel, listener = harness.channel(harness.version), subscriber(harness.version)
    channel.attach(listener)
    start = harness.version
    await asyncio.gather(*(harness.people.bet("ann", 5, "big") for _ in range(200)))
    messages = [await next_events(listener)]
    while messages[-1][-1]["version"] < start + 200:
        messages.append(await next_events(listener))
    assert len(messages) < 100
    assert [each["version"] for events in messages for each in events] == list(
        range(start + 1, start + 201)
    )
    channel.close()


async def test_detached_subscriber_receives_nothing(harness: ChannelHarness) -> None:
    channel, one, other = (
        harness.channel(harness.version),
        subscriber(harness.version),
        subscriber(harness.version),
    )
    channel.attach(one)
    channel.attach(other)
    channel.detach(one)
    await harness.bet(1)
    await next_events(other)
    waiting = asyncio.create_task(one.next_message())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    channel.close()


async def test_closed_channel_unsubscribes_from_the_feed(harness: ChannelHarness) -> None:
    channel, listener = harness.channel(harness.version), subscriber(harness.version)
    channel.attach(listener)
    await harness.bet(1)
    await next_events(listener)
    assert harness.feed.subscriber_count() == 1
    channel.close()
    while harness.feed.subscriber_count():
        await asyncio.sleep(0)
    assert not harness.failures
