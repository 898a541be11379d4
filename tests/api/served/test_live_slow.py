"""Clients that do not take what is sent: the table goes on; they are shown it anew, or closed."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from tests.api.live_house import hear, hear_until
from threedice.api.auth.authentication import resolve_token
from threedice.api.live import hub
from threedice.api.live.channel import MAX_QUEUED_MESSAGES, Subscriber
from threedice.api.live.connection import serve_socket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.live_house import Served

pytestmark = pytest.mark.anyio


class Client:
    """The other end of a socket as an ASGI server shows it, which can stop taking."""

    def __init__(self) -> None:
        self.taking = asyncio.Event()
        self.taking.set()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await self.taking.wait()
        await self.sent.put(message)

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "websocket.disconnect", "code": 1001}

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            message = await self.sent.get()
        return msgspec.json.decode(message["text"]) if "text" in message else message


@asynccontextmanager
async def following(served: Served) -> AsyncIterator[Client]:
    """Follow a table as staff, at the edge where the server hands messages over."""
    token, client = served.program("boss", "shift-manager"), Client()
    caller = resolve_token(served.context, token)
    assert caller is not None
    subscriber = Subscriber(caller, token, served.table, "staff", "")
    task = asyncio.create_task(
        serve_socket(served.hub, subscriber, None, client.receive, client.send)
    )
    assert (await client.next())["type"] == "websocket.accept"
    assert (await client.next())["type"] == "hello"
    yield client
    client.gone.set()
    await task


async def test_slow_client_is_resynchronised_and_delays_nobody(served: Served) -> None:
    ids = await served.seat(ann=100_000)
    await served.play("open betting")
    async with following(served) as slow, served.follow(served.program("bob", "player")) as quick:
        await hear(quick)
        slow.taking.clear()
        for _ in range(MAX_QUEUED_MESSAGES + 20):
            await served.bet(ids["ann"], 5, "big")
        last = await served.head()
        await hear_until(quick, last)
        slow.taking.set()
        assert (await slow.next())["type"] == "events"  # the one that was being sent
        resync = await slow.next()
        assert resync["type"] == "resync"
        assert resync["version"] == resync["view"]["version"] == last
        assert resync["view"]["round"]["totals"] == {"big": 5 * (MAX_QUEUED_MESSAGES + 20)}
        await served.bet(ids["ann"], 10, "big")
        (item,) = (await slow.next())["events"]
        assert item["version"] == last + 1


async def test_briefly_blocked_client_misses_nothing(served: Served) -> None:
    ids = await served.seat(ann=100_000)
    await served.play("open betting")
    async with following(served) as slow:
        first = await served.head()
        slow.taking.clear()
        for _ in range(MAX_QUEUED_MESSAGES // 2):
            await served.bet(ids["ann"], 5, "big")
        last = await served.head()
        slow.taking.set()
        seen: list[int] = []
        while not seen or seen[-1] < last:
            seen += [each["version"] for each in (await slow.next())["events"]]
    assert seen == list(range(first + 1, last + 1))


async def test_blocked_client_is_disconnected(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await served.seat(ann=1000)
    await served.play("open betting")
    async with following(served) as stuck:
        stuck.taking.clear()
        monkeypatch.setattr(hub, "MAX_BLOCKED_SECONDS", 0.0)
        await served.bet(ids["ann"], 5, "big")
        closed = await stuck.next()
    assert (closed["type"], closed["code"]) == ("websocket.close", 1013)


async def test_unread_tcp_socket_is_resynchronised_and_does_not_delay_the_table(
    served: Served,
) -> None:
    """Its buffers fill, what is more is dropped, and when it reads again it is shown the table."""
    ids = await served.seat(ann=10_000_000)
    await served.play("open betting")
    protocol, raw = handshaken(served)
    with closing(raw):
        async with served.follow(served.program("bob", "player")) as quick:
            await hear(quick)
            slow = await joined(served)
            while not slow.has_overflowed:
                bets = (served.bet(ids["ann"], 5, "big") for _ in range(500))
                await asyncio.gather(*bets)
                await hear_until(quick, await served.head())
            messages = asyncio.to_thread(read_until_resync, protocol, raw)
            seen = await asyncio.wait_for(messages, 30)
    versions = [each["version"] for each in seen[1:-1] for each in each["events"]]
    assert versions == list(range(seen[0]["version"] + 1, seen[0]["version"] + 1 + len(versions)))
    assert seen[-1]["version"] > versions[-1]


async def joined(served: Served) -> Subscriber:
    """Return the one of the staff, once the house has taken his handshake."""
    while not (staff := [each for each in served.hub if each.audience == "staff"]):
        await asyncio.sleep(0)
    (slow,) = staff
    return slow


def handshaken(served: Served) -> tuple[ClientProtocol, socket.socket]:
    """Open a socket that takes little at a time, and do not read from it."""
    token = served.program("boss", "shift-manager")
    url = f"ws://127.0.0.1:{served.port}/api/tables/{served.table}/live"
    protocol = ClientProtocol(parse_uri(url), max_size=None)
    request = protocol.connect()
    request.headers["Authorization"] = f"Bearer {token}"
    protocol.send_request(request)
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", served.port))
    raw.sendall(b"".join(protocol.data_to_send()))
    return protocol, raw


def read_until_resync(protocol: ClientProtocol, raw: socket.socket) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["type"] != "resync":
        protocol.receive_data(raw.recv(65536))
        for event in protocol.events_received():
            if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                seen.append(msgspec.json.decode(event.data))
    return seen
