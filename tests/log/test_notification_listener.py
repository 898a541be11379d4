"""The PostgreSQL notification listener wakes feeds, reconnects and catches up."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import psycopg

from tests.log.doubles import NEVER, TABLE, Follower, WaitingWriter, run
from tests.log.postgres_server import running
from tests.log.proposals import PATIENCE, propose, propose_row
from threedice.log.feed import Feed
from threedice.log.records import Acceptance
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.postgres_streams import (
    LISTENER_APPLICATION_NAME,
    NOTIFY_CHANNEL,
    NotificationListener,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from threedice.log.store import Store


class House:
    """A server whose feed gets notifications from a listener."""

    def __init__(self, url: str, feed: Feed, store: Store, listener: NotificationListener) -> None:
        self.url, self.feed, self.store, self.listener = url, feed, store, listener

    def append(self) -> int:
        self.store.write([propose(TABLE, self.store.head(TABLE))])
        return self.store.head(TABLE).version

    async def wait_for_listener(self) -> None:
        assert await asyncio.to_thread(self.listener.listening.wait, PATIENCE)

    def notify(self, payload: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_notify(%s, %s)", (NOTIFY_CHANNEL, payload))

    def backends(self) -> list[int]:
        """Return the server's processes that serve the listener."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE application_name = %s AND datname = current_database()",
                (LISTENER_APPLICATION_NAME,),
            )
            return [pid for (pid,) in found]

    def kill_listener(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for pid in self.backends():
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))


@asynccontextmanager
async def house(
    url: str, *, check_seconds: float = NEVER, deadline_seconds: float = 5.0
) -> AsyncIterator[House]:
    store = MemoryStore()  # sends no notifications: only the test does
    async with Feed(store, poll_seconds=NEVER) as feed:
        listener = NotificationListener(
            url,
            feed,
            check_seconds=check_seconds,
            deadline_seconds=deadline_seconds,
            max_retry_seconds=0.2,
        )
        try:
            yield House(url, feed, store, listener)
        finally:
            await asyncio.to_thread(listener.close)


async def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.to_thread(lambda: None)


def test_notification_wakes_followers_of_the_stream(postgres_url: str) -> None:
    async def scenario() -> None:
        async with house(postgres_url) as own:
            follower = Follower(own.feed, TABLE)
            await own.wait_for_listener()
            for _ in range(5):
                version = own.append()
                own.notify(f"{TABLE} {version}")
                await follower.wait_for(version)
            assert own.listener.connections == 1

    run(scenario())


def test_malformed_notification_makes_the_feed_poll(postgres_url: str) -> None:
    async def scenario() -> None:
        async with house(postgres_url) as own:
            follower = Follower(own.feed, TABLE)
            await own.wait_for_listener()
            for payload in ("", "gibberish", f"{TABLE} -1", "table/2 ⅷ"):
                version = own.append()
                own.notify(payload)
                await follower.wait_for(version)

    run(scenario())


def test_notification_during_a_connection_check_is_delivered(postgres_url: str) -> None:
    async def scenario() -> None:
        async with house(postgres_url, check_seconds=0.0) as own:
            follower = Follower(own.feed, TABLE)
            await own.wait_for_listener()
            with psycopg.connect(own.url, autocommit=True) as connection:
                for _ in range(200):
                    version = own.append()
                    payload = f"{TABLE} {version}"
                    connection.execute("SELECT pg_notify(%s, %s)", (NOTIFY_CHANNEL, payload))
                    await follower.wait_for(version)
            assert own.listener.connections == 1

    run(scenario())


def test_terminated_listener_reconnects_and_catches_up(postgres_url: str) -> None:
    async def scenario() -> None:
        async with house(postgres_url) as own:
            follower = Follower(own.feed, TABLE)
            for round_ in range(1, 5):
                await own.wait_for_listener()
                version = own.append()  # without a notification
                own.kill_listener()
                await follower.wait_for(version)
                assert own.listener.connections >= round_
            version = own.append()
            await own.wait_for_listener()
            own.notify(f"{TABLE} {version}")
            await follower.wait_for(version)

    run(scenario())


def test_listener_reconnects_after_a_server_crash() -> None:
    async def scenario() -> None:
        with running() as mortal:
            async with house(mortal.url()) as own:
                follower = Follower(own.feed, TABLE)
                await own.wait_for_listener()
                await asyncio.to_thread(mortal.kill)
                await wait_until(lambda: not own.listener.listening.is_set())
                version = own.append()
                await asyncio.to_thread(mortal.start)
                await follower.wait_for(version)
                await own.wait_for_listener()
                version = own.append()
                own.notify(f"{TABLE} {version}")
                await follower.wait_for(version)

    run(scenario())


def test_listener_replaces_an_unresponsive_connection(postgres_url: str) -> None:
    async def scenario() -> None:
        async with house(postgres_url, check_seconds=0.01, deadline_seconds=2.0) as own:
            follower = Follower(own.feed, TABLE)
            await own.wait_for_listener()
            (stuck,) = own.backends()
            os.kill(stuck, signal.SIGSTOP)
            try:
                version = own.append()
                await wait_until(lambda: own.listener.connections > 1)
                await follower.wait_for(version)
                assert "does not respond" in own.listener.last_error
            finally:
                os.kill(stuck, signal.SIGCONT)

    run(scenario())


def test_listener_without_a_server_reports_an_error_and_can_be_closed() -> None:
    async def scenario() -> None:
        async with house("host=/nonexistent") as own:
            await wait_until(lambda: "/nonexistent" in own.listener.last_error)
            assert not own.listener.listening.is_set()

    run(scenario())


# --- two servers on one database ----------------------------------------------------------------


def write_row(store: Store, feed: Feed, length: int) -> None:
    """Write as a server would that has its own feed."""
    with WaitingWriter(store, publish=feed.publish) as writer:
        for proposal in propose_row(TABLE, length, store.head(TABLE)):
            assert writer.write_and_wait(proposal) == Acceptance()


def test_entries_written_by_one_server_reach_followers_of_another(postgres_url: str) -> None:
    async def scenario() -> None:
        with (
            closing(PostgresStore(postgres_url)) as here,
            closing(PostgresStore(postgres_url)) as there,
        ):
            async with (
                Feed(here, window=8, poll_seconds=NEVER) as near,
                Feed(there, window=8, poll_seconds=NEVER) as far,
            ):
                with (
                    closing(NotificationListener(postgres_url, near)) as one,
                    closing(NotificationListener(postgres_url, far)) as other,
                ):
                    for listener in (one, other):
                        assert await asyncio.to_thread(listener.listening.wait, PATIENCE)
                    followers = [Follower(feed, TABLE) for feed in (near, far, far)]
                    await asyncio.to_thread(write_row, here, near, 60)
                    followers.append(Follower(far, TABLE, 37))
                    for follower in followers:
                        await follower.wait_for(60)
                    await asyncio.to_thread(write_row, there, far, 40)
                    for follower in followers:
                        await follower.wait_for(100)
            for follower in followers:
                await follower.task
                assert follower.seen == here.read(TABLE, follower.after)

    run(scenario())


def test_listener_terminated_during_writes_delivers_every_entry(postgres_url: str) -> None:
    async def scenario() -> None:
        with (
            closing(PostgresStore(postgres_url)) as here,
            closing(PostgresStore(postgres_url)) as there,
        ):
            async with Feed(here, poll_seconds=NEVER) as near, Feed(there) as far:
                with closing(NotificationListener(postgres_url, near)) as listener:
                    own = House(postgres_url, near, here, listener)
                    await own.wait_for_listener()
                    follower = Follower(near, TABLE)
                    writing = asyncio.create_task(asyncio.to_thread(write_row, there, far, 300))
                    while not writing.done():
                        await asyncio.to_thread(own.kill_listener)
                    await writing
                    await follower.wait_for(300)
                    await wait_until(lambda: listener.connections > 1)
                    assert follower.seen == here.read(TABLE)

    run(scenario())


def test_poll_delivers_every_entry_without_notifications(postgres_url: str) -> None:
    async def scenario() -> None:
        with (
            closing(PostgresStore(postgres_url)) as here,
            closing(PostgresStore(postgres_url)) as there,
        ):
            async with Feed(here, poll_seconds=0.01) as near, Feed(there) as far:
                with closing(NotificationListener(postgres_url, near, channel="elsewhere")) as deaf:
                    assert await asyncio.to_thread(deaf.listening.wait, PATIENCE)
                    follower = Follower(near, TABLE)
                    for length in (1, 20, 1, 3):
                        version = follower.version + length
                        await asyncio.to_thread(write_row, there, far, length)
                        await follower.wait_for(version)
                    assert follower.seen == here.read(TABLE)

    run(scenario())
