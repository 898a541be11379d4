"""Abuse from outside: floods, oversized and stalled requests, bad frames, invalid ids."""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.api.house_app import problem_code, seat_players
from tests.api.live_server import receive, serve_house, wait_for_close
from tests.identity.identity_cluster import PASSWORD
from tests.waiting import TIMEOUT_SECONDS
from threedice.api import protocols
from threedice.api.context import MAX_CONCURRENT_SLOW, MAX_WAITING_QUERIES
from threedice.api.protocols import MAX_HEAD_BYTES, MAX_HEADERS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.house_app import HouseApp
    from tests.api.live_server import LiveServer
    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


# --- connections without a session --------------------------------------------------------------


async def send_bytes(server: LiveServer, *parts: bytes) -> bytes:
    """Send bytes to a server, and return what it sends until it closes the connection."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read()
        except ConnectionResetError:
            return b"reset"
        finally:
            writer.close()


OVERSIZED_HEADS = {
    "one long header": [b"GET /health HTTP/1.1\r\nHost: a\r\nX: ", b"x" * (MAX_HEAD_BYTES + 1)],
    "header in many parts": [b"GET /health HTTP/1.1\r\nX: ", *[b"x" * 1000] * 40],
    "large headers": [b"GET /health HTTP/1.1\r\n", *[b"X: %b\r\n" % (b"x" * 8000)] * 5],
    "many headers": [b"GET /health HTTP/1.1\r\n", b"X: y\r\n" * (MAX_HEADERS + 1), b"\r\n"],
    "long path": [b"GET /" + b"x" * (MAX_HEAD_BYTES + 1)],
}


@pytest.mark.parametrize("name", OVERSIZED_HEADS)
async def test_oversized_request_head_is_refused(server: LiveServer, name: str) -> None:
    answer = await send_bytes(server, *OVERSIZED_HEADS[name])
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b"reset", answer


async def test_request_head_within_the_limits_is_accepted(server: LiveServer) -> None:
    headers = {f"x-{number}": "x" * 300 for number in range(80)}
    async with httpx.AsyncClient(base_url=server.origin, headers=headers) as client:
        for _ in range(3):  # on one connection
            assert (await client.get("/health")).status_code == 200


STALLED_REQUESTS = {
    "nothing": b"",
    "half a path": b"GET /hea",
    "half a header": b"GET /health HTTP/1.1\r\nHost: ",
    "half a body": b"POST /api/session HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
}


@pytest.mark.parametrize("name", STALLED_REQUESTS)
async def test_stalled_connection_is_closed(
    server: LiveServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 0.05)
    answer = await send_bytes(server, STALLED_REQUESTS[name])
    assert answer[:12] in (b"", b"reset", b"HTTP/1.1 421")


async def test_connection_without_its_announced_body_is_closed(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 0.05)
    head = (
        f"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    )
    assert await send_bytes(server, head.encode()) in (b"", b"reset")


async def test_an_open_socket_outlives_the_deadline_of_its_handshake(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 1.0)
    async with server.follow(server.create_token("ann", "player")) as socket:
        await receive(socket)
        await send_bytes(server, b"")  # a later connection, which is closed at its deadline
        await socket.send('{"type":"ping","echo":"7"}')
        assert (await receive(socket))["echo"] == "7"


async def test_metrics_are_refused_under_a_foreign_host_name(server: LiveServer) -> None:
    async with httpx.AsyncClient(base_url=server.origin) as client:
        known = await client.get("/metrics")
        numbered = await client.get("/metrics", headers={"Host": "10.0.0.7:8000"})
        named = await client.get("/metrics", headers={"Host": "elsewhere.test"})
    assert (known.status_code, numbered.status_code) == (200, 200)
    assert (named.status_code, problem_code(named)) == (401, "door/sign-in")


@pytest.mark.parametrize("path", ["//api/house", "/api//house", "//metrics"])
async def test_path_with_doubled_slashes_is_not_found(house_in_play: HouseApp, path: str) -> None:
    reply = await house_in_play.client("player").get(f"http://house.test{path}")
    assert (reply.status_code, problem_code(reply)) == (404, "door/no-such")


@pytest.mark.parametrize("path", ["/api/nothing", "/", "/api/session", "/api/tables/a/b/live"])
async def test_socket_on_an_unknown_path_is_a_404(
    server: LiveServer, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://127.0.0.1:{server.port}{path}", proxy=None):
            pass
    assert refused.value.response.status_code == 404
    assert b'"door/no-such"' in (refused.value.response.body or b"")
    assert not [line for line in caplog.records if line.levelname in ("WARNING", "ERROR")]


# --- sockets ------------------------------------------------------------------------------------

_MASK = bytes(4)
FLOODS = {
    "pongs": b"\x8a\x80" + _MASK,
    "parts of a message": b"\x00\x80" + _MASK,
    "texts": b"\x81\x82" + _MASK + b"{}",
}


@pytest.mark.parametrize("name", FLOODS)
async def test_flood_of_small_frames_closes_the_socket(server: LiveServer, name: str) -> None:
    async with server.follow(server.create_token("ann", "player"), ping_interval=None) as socket:
        await receive(socket)
        socket.transport.write(b"\x01\x80" + _MASK if name.startswith("parts") else b"")
        socket.transport.write(FLOODS[name] * 100_000)
        assert await wait_for_close(socket) in (1006, 1008)


async def test_fragmented_message_after_a_few_pongs_is_answered(server: LiveServer) -> None:
    async with server.follow(server.create_token("ann", "player"), ping_interval=None) as socket:
        await receive(socket)
        for _ in range(3):
            await socket.pong()
        await socket.send(['{"type":"ping",', '"echo":', '"7"}'])
        assert (await receive(socket))["echo"] == "7"


BAD_FRAMES = {
    "invalid UTF-8": (b"\x81\x82" + _MASK + b"\xff\xfe", 1007),
    "invalid UTF-8 in parts": (b"\x01\x81" + _MASK + b"\xff\x80\x80" + _MASK, 1007),
    "invalid UTF-8 after a message": (b"\x81\x82" + _MASK + b"{}\x81\x81" + _MASK + b"\xff", 1007),
    "unknown opcode": (b"\x83\x80" + _MASK, 1002),
    "reserved bits": (b"\xf1\x80" + _MASK, 1002),
    "no mask": (b"\x81\x02{}", 1002),
    "oversized frame": (b"\x81\xfe\x7f\xff" + _MASK, 1009),
    "long message": (b"\x81\xfe\x08\x00" + _MASK + b"x" * 2048, 1009),
    "not JSON, repeatedly": ((b"\x81\x84" + _MASK + b"nope") * 5, 1008),
    "bad close code": (b"\x88\x82" + _MASK + b"\x00\x01", 1002),
}

REFUSED_MESSAGES = ("long message", "not JSON, repeatedly")
"""Valid frames, which are refused once they are read as messages."""


async def wait_for_requests() -> None:
    """Wait until the application has finished with every request."""
    running = [task for task in asyncio.all_tasks() if "run_asgi" in repr(task.get_coro())]
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await asyncio.gather(*running, return_exceptions=True)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.levelname != "INFO"]


@pytest.mark.parametrize("name", BAD_FRAMES)
async def test_bad_frame_closes_the_socket_without_a_warning(
    server: LiveServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    frame, close_code = BAD_FRAMES[name]
    async with server.follow(server.create_token("ann", "player"), ping_interval=None) as socket:
        await receive(socket)
        socket.transport.write(frame)
        assert await wait_for_close(socket) == close_code
    await wait_for_requests()
    assert not warnings(caplog)


@pytest.mark.parametrize("name", [name for name in BAD_FRAMES if name not in REFUSED_MESSAGES])
async def test_bad_frame_during_the_handshake_closes_the_socket_without_a_warning(
    server: LiveServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    handshake = (
        f"GET /api/tables/{server.table}/live HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
        f"Authorization: Bearer {server.create_token('ann', 'player')}\r\n\r\n"
    )
    threads, holder = current_default_thread_limiter(), object()
    tokens_before, threads.total_tokens = threads.total_tokens, 1
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await threads.acquire_on_behalf_of(holder)  # no thread is left to look up the token
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(handshake.encode())
            while not threads.statistics().tasks_waiting:
                await asyncio.sleep(0)
            writer.write(BAD_FRAMES[name][0])
            answer = await reader.read()
            writer.close()
        finally:
            threads.release_on_behalf_of(holder)
            threads.total_tokens = tokens_before
    await wait_for_requests()
    assert answer == b""
    assert not warnings(caplog)


async def test_socket_for_an_invalid_table_id_reveals_no_database_error(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with serve_house(tmp_path, url=postgres.fresh()) as server:
        with pytest.raises(InvalidStatus) as refused:
            async with server.follow(server.sign_in("ann", "player"), table="a%00b"):
                pass
    assert refused.value.response.status_code == 404
    assert b"atabase" not in (refused.value.response.body or b"")


async def test_slow_history_queries_do_not_block_sign_in(
    house_in_play: HouseApp,
) -> None:
    context, client = house_in_play.context, house_in_play.client("player")
    credentials = {"name": house_in_play.accounts["dealer"].name, "password": PASSWORD}
    async with AsyncExitStack() as held:
        await held.enter_async_context(context.history.turn("holder"))
        for holder in map(str, range(MAX_CONCURRENT_SLOW)):
            await held.enter_async_context(context.hashing_queue.turn(holder))
        queries = [
            asyncio.create_task(client.get("/api/tables/1/rounds/1/explanation"))
            for _ in range(MAX_WAITING_QUERIES + 1)
        ]
        done, _ = await asyncio.wait(queries, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result().status_code for task in done] == [503]
        signing_in = asyncio.create_task(client.post("/api/session", json=credentials))
        while not (signing_in.done() or context.hashing_queue.waiting):
            await asyncio.sleep(0)
    assert (await signing_in).status_code == 200
    await asyncio.gather(*queries)


# --- ids and accounts ---------------------------------------------------------------------------


@pytest.mark.parametrize("player", ["", "a\0b", "a\x1bb", "house", "console"])
async def test_invalid_or_reserved_player_id_is_refused(
    house_in_play: HouseApp, player: str
) -> None:
    before = house_in_play.store.head("table/1")
    for command in (
        {"type": "BuyIn", "player": player, "amount": 100, "age_years": 30},
        {"type": "OfferDice", "player": player},
    ):
        reply = await house_in_play.send("dealer", command)
        assert reply.status_code == 422, reply.text
    assert house_in_play.store.head("table/1") == before


async def test_an_irregularity_need_not_name_a_player(house_in_play: HouseApp) -> None:
    report: dict[str, Any] = {"type": "Report", "irregularity": "dice-not-flat", "player": ""}
    reply = await house_in_play.send("dealer", report)
    assert problem_code(reply) != "door/form"


@pytest.mark.parametrize("part", ["", "/statement", "/person"])
async def test_account_with_an_invalid_id_is_not_found(house_in_play: HouseApp, part: str) -> None:
    reply = await house_in_play.client("auditor").get(f"/api/accounts/a%00b{part}")
    assert (reply.status_code, problem_code(reply)) == (404, "unknown/id")


async def test_supervisor_off_duty_cannot_read_or_change_players(
    house: HouseApp,
) -> None:
    await seat_players(house)
    client, player = house.client("supervisor"), house.id("player")
    person = {"name": "Ann", "born": "1990-01-01"}
    requests: list[tuple[str, str, Any]] = [
        ("GET", f"/api/accounts/{player}/statement", None),
        ("PUT", f"/api/accounts/{player}/person", person),
        ("GET", f"/api/accounts/{player}/person", None),
        ("GET", "/api/requests", None),
    ]
    off_duty = [await client.request(method, path, json=body) for method, path, body in requests]
    house.assign("supervisor")
    at_work = [await client.request(method, path, json=body) for method, path, body in requests]
    assert {problem_code(reply) for reply in off_duty} == {"door/role"}
    assert [reply.status_code for reply in at_work] == [200, 204, 200, 200]


async def test_totp_enrolment_requires_the_password(house_in_play: HouseApp) -> None:
    client = house_in_play.client("player")
    without = await client.post("/api/session/codes", json={})
    wrong = await client.post("/api/session/codes", json={"password": "another pass phrase"})
    right = await client.post("/api/session/codes", json={"password": PASSWORD})
    assert [problem_code(without), problem_code(wrong)] == ["sign-in/credentials"] * 2
    assert right.status_code == 200
