"""A live socket from its first word to its last: hello, what was missed, what happens.

A writer's task sends, a reader's listens for pings and for the end. Nothing else is taken: commands
go over HTTP, where they are authorised.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from litestar.exceptions import WebSocketDisconnect

from threedice.errors import StoreAway
from threedice.web import journal
from threedice.web.channel import chunks, told_to
from threedice.web.hub import DEFECT, stream_of
from threedice.web.limiting import Buckets
from threedice.web.live_messages import (
    PROTOCOL,
    AnyMessage,
    Hello,
    Ping,
    Pong,
    Refused,
    Resync,
    encode,
)
from threedice.web.views import view_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from threedice.log.entry import Entry
    from threedice.web.hub import Hub
    from threedice.web.subscriber import Subscriber
    from threedice.web.views import TableView

    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]

T = TypeVar("T")

LARGEST_MESSAGE: Final = 1024
MESSAGES_PER_SECOND: Final = 5.0
MOST_REFUSED: Final = 3
PAGE: Final = 512
"""How many entries are read at a time for somebody who missed them."""

AWAY_SECONDS: Final = 0.5
CLOSING_SECONDS: Final = 1.0

NOT_ALLOWED: Final = 1008
TOO_LARGE: Final = 1009

_PINGS: Final = msgspec.json.Decoder(Ping)


async def converse(
    hub: Hub, subscriber: Subscriber, after: int | None, receive: Receive, send: Send
) -> None:
    """Follow a table for somebody until he goes, or must."""
    await send({"type": "websocket.accept"})
    hub.join(subscriber)
    tasks = [
        asyncio.create_task(_Writer(hub, subscriber, send).run(after)),
        asyncio.create_task(_listen(subscriber, receive)),
    ]
    ends: list[asyncio.Future[Any]] = [*tasks, subscriber.ended]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.leave(subscriber)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    code, reason = _end(subscriber, results)
    if code:
        hub.metrics.dropped.labels(str(code)).inc()
        with suppress(TimeoutError, *_GONE):
            async with asyncio.timeout(CLOSING_SECONDS):
                await send({"type": "websocket.close", "code": code, "reason": reason})


_GONE: Final = (OSError, WebSocketDisconnect)
"""What is raised where a client has gone."""


def _end(subscriber: Subscriber, results: list[Any]) -> tuple[int, str]:
    """Return how to close a socket; with 0, the client has gone already."""
    if subscriber.ended.done():
        return subscriber.ended.result()
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, _GONE):
            journal.warn("live-socket-failed", result, table=subscriber.table)
            return DEFECT, "the table cannot be read"
    return 0, ""


class _Writer:
    """Sends a socket what its subscriber is told, as fast as he takes it."""

    def __init__(self, hub: Hub, subscriber: Subscriber, send: Send) -> None:
        self._hub, self._subscriber, self._asgi_send = hub, subscriber, send
        self._head = 0

    async def run(self, after: int | None) -> None:
        """Say hello, tell what was missed, and go on; start over with whoever was too slow."""
        subscriber = self._subscriber
        await self._say_hello(after)
        while True:
            await self._catch_up()
            while (text := await subscriber.next()) is not None:
                await self._send(text)
            self._hub.metrics.resyncs.inc()
            self._hub.detach(subscriber)
            subscriber.start_over()
            view = await self._view()
            subscriber.version = view.version
            resync = Resync(server_time=_now(), version=view.version, view=view)
            await self._send(encode(resync))

    async def _say_hello(self, after: int | None) -> None:
        """Begin at a version that the client knows, or at the table as it is now."""
        subscriber, view = self._subscriber, await self._view()
        if after is not None and after > view.version:  # this server may be behind the store
            after = after if after <= await self._stored_version() else None
        subscriber.version = view.version if after is None else after
        hello = Hello(
            protocol=PROTOCOL,
            server_time=_now(),
            table=subscriber.table,
            audience=subscriber.audience,
            player=subscriber.player,
            version=subscriber.version,
            suspended=view.suspended,
            view=view if after is None else None,
        )
        await self._send(encode(hello))

    async def _view(self) -> TableView:
        subscriber, floor = self._subscriber, self._hub.house.floor
        view = await patiently(
            lambda: view_of(floor, subscriber.table, subscriber.audience, subscriber.player)
        )
        self._head = view.version
        return view

    async def _stored_version(self) -> int:
        store, stream = self._hub.house.floor.store, stream_of(self._subscriber)
        return (await patiently(lambda: asyncio.to_thread(store.head, stream))).version

    async def _catch_up(self) -> None:
        """Tell what was missed out of the store, until the channel goes on from there."""
        subscriber = self._subscriber
        while not self._hub.attach(subscriber, self._head):
            for chunk in chunks(await self._missed()):
                await self._send(told_to(subscriber, chunk).text)
                subscriber.version = chunk[-1].version
                await asyncio.sleep(0)  # one who comes from far holds nobody up

    async def _missed(self) -> list[Entry]:
        store, stream = self._hub.house.floor.store, stream_of(self._subscriber)
        after = self._subscriber.version
        return await patiently(lambda: asyncio.to_thread(store.read, stream, after, PAGE))

    async def _send(self, text: str) -> None:
        self._subscriber.busy_since = monotonic()
        await self._asgi_send({"type": "websocket.send", "text": text})
        self._subscriber.busy_since = 0.0


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask the store again and again while it is away; whoever waits can go at any time."""
    while True:
        try:
            return await ask()
        except StoreAway:
            await asyncio.sleep(AWAY_SECONDS)


async def _listen(subscriber: Subscriber, receive: Receive) -> None:
    """Answer pings until the client goes; refuse the rest, and close on whoever goes on."""
    allowance, refused = Buckets(MESSAGES_PER_SECOND), 0
    while True:
        message = await receive()
        if message["type"] != "websocket.receive":
            return
        said = message.get("text") or message.get("bytes") or b""
        if len(said) > LARGEST_MESSAGE:
            subscriber.end(TOO_LARGE, "no message here is that long")
        elif allowance.take(""):
            subscriber.end(NOT_ALLOWED, "too many messages")
        else:
            answer = _answer(said)
            refused += isinstance(answer, Refused)
            subscriber.say(encode(answer))
            if refused > MOST_REFUSED:
                subscriber.end(NOT_ALLOWED, "nothing but pings is taken here")


def _answer(said: str | bytes) -> AnyMessage:
    try:
        ping = _PINGS.decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Refused(
            code="live/not-a-ping",
            text='only {"type":"ping"} is taken here; commands go over HTTP, '
            "POST /api/tables/{table}/commands",
        )
    return Pong(server_time=_now(), echo=ping.echo)


def _now() -> int:
    return time.time_ns() // 1000
