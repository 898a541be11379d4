"""Clients that do not read: they are resynchronised or disconnected, and the table goes on."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from tests.api.live_server import follow_over_asgi, receive, receive_until
from tests.waiting import TIMEOUT_SECONDS
from threedice.api.live import hub
from threedice.api.live.channel import MAX_QUEUED_MESSAGES, Subscriber

if TYPE_CHECKING:
    from tests.api.live_server import LiveServer

pytestmark = pytest.mark.anyio


async def test_slow_client_is_resynchronised_and_delays_nobody(server: LiveServer) -> None:
    ids = await server.seat(ann=100_000)
    await server.play("open betting")
    async with (
        follow_over_asgi(server) as slow,
        server.follow(server.create_token("bob", "player")) as quick,
    ):
        await receive(quick)
        slow.reading.clear()
        for _ in range(MAX_QUEUED_MESSAGES + 20):
            await server.bet(ids["ann"], 5, "big")
        last = await server.head()
        await receive_until(quick, last)
        slow.reading.set()
        assert (await slow.next_message())["type"] == "events"  # the one that was being sent
        resync = await slow.next_message()
        assert resync["type"] == "resync"
        assert resync["version"] == resync["view"]["version"] == last
        assert resync["view"]["round"]["totals"] == {"big": 5 * (MAX_QUEUED_MESSAGES + 20)}
        await server.bet(ids["ann"], 10, "big")
        (item,) = (await slow.next_message())["events"]
        assert item["version"] == last + 1


async def test_briefly_blocked_client_misses_nothing(server: LiveServer) -> None:
    ids = await server.seat(ann=100_000)
    await server.play("open betting")
    async with follow_over_asgi(server) as slow:
        first = await server.head()
        slow.reading.clear()
        for _ in range(MAX_QUEUED_MESSAGES // 2):
            await server.bet(ids["ann"], 5, "big")
        last = await server.head()
        slow.reading.set()
        seen: list[int] = []
        while not seen or seen[-1] < last:
            seen += [each["version"] for each in (await slow.next_message())["events"]]
    assert seen == list(range(first + 1, last + 1))


async def test_blocked_client_is_disconnected(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await server.seat(ann=1000)
    await server.play("open betting")
    async with follow_over_asgi(server) as stuck:
        stuck.reading.clear()
        monkeypatch.setattr(hub, "MAX_BLOCKED_SECONDS", 0.0)
        await server.bet(ids["ann"], 5, "big")
        closed = await stuck.next_message()
    assert (closed["type"], closed["code"]) == ("websocket.close", 1013)


async def test_unread_tcp_socket_is_resynchronised_and_does_not_delay_the_table(
    server: LiveServer,
) -> None:
    """Its buffers fill, later messages are dropped, and reading again starts with a new view."""
    ids = await server.seat(ann=10_000_000)
    await server.play("open betting")
    protocol, raw = open_unread_socket(server)
    with closing(raw):
        async with server.follow(server.create_token("bob", "player")) as quick:
            await receive(quick)
            slow = await wait_for_staff(server)
            while not slow.has_overflowed:
                bets = (server.bet(ids["ann"], 5, "big") for _ in range(500))
                await asyncio.gather(*bets)
                await receive_until(quick, await server.head())
            messages = asyncio.to_thread(read_until_resync, protocol, raw)
            seen = await asyncio.wait_for(messages, TIMEOUT_SECONDS)
    versions = [each["version"] for each in seen[1:-1] for each in each["events"]]
    assert versions == list(range(seen[0]["version"] + 1, seen[0]["version"] + 1 + len(versions)))
    assert seen[-1]["version"] > versions[-1]


async def wait_for_staff(server: LiveServer) -> Subscriber:
    """Wait for the subscriber of the staff, and return it."""
    while not (staff := [each for each in server.hub if each.audience == "staff"]):
        await asyncio.sleep(0)
    (slow,) = staff
    return slow


def open_unread_socket(server: LiveServer) -> tuple[ClientProtocol, socket.socket]:
    """Open a socket with a small buffer, and do not read from it."""
    token = server.create_token("boss", "shift-manager")
    url = f"ws://127.0.0.1:{server.port}/api/tables/{server.table}/live"
    protocol = ClientProtocol(parse_uri(url), max_size=None)
    request = protocol.connect()
    request.headers["Authorization"] = f"Bearer {token}"
    protocol.send_request(request)
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", server.port))
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
