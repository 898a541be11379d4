"""Abuse from outside: floods, heads without end, names that no books can hold."""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack
from itertools import product
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.api.live_house import closing, hear, serving
from tests.api.setting import opened, seat
from tests.api.test_authorisation import code
from tests.identity.identity_cluster import PASSWORD
from threedice.api import protocols
from threedice.api.context import MAX_CONCURRENT_SLOW
from threedice.api.http.limits import MAX_WAITING
from threedice.api.protocols import MAX_HEAD_BYTES, MAX_HEADERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.api.live_house import Served
    from tests.api.setting import Setting
    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


@pytest.fixture
async def playing() -> AsyncIterator[Setting]:
    async with opened() as setting:
        await seat(setting)
        setting.assign("dealer")
        yield setting


# --- whoever has not signed in ------------------------------------------------------------------


async def answered(served: Served, *parts: bytes) -> bytes:
    """Return what a server answers to bytes until it ends the connection."""
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read()
        except ConnectionResetError:
            return b"reset"
        finally:
            writer.close()


LARGE = {
    "one long header": [b"GET /health HTTP/1.1\r\nHost: a\r\nX: ", b"x" * (MAX_HEAD_BYTES + 1)],
    "a header in many parts": [b"GET /health HTTP/1.1\r\nX: ", *[b"x" * 1000] * 40],
    "large headers": [b"GET /health HTTP/1.1\r\n", *[b"X: %b\r\n" % (b"x" * 8000)] * 5],
    "many headers": [b"GET /health HTTP/1.1\r\n", b"X: y\r\n" * (MAX_HEADERS + 1), b"\r\n"],
    "a long address": [b"GET /" + b"x" * (MAX_HEAD_BYTES + 1)],
}


@pytest.mark.parametrize("name", LARGE)
async def test_oversized_request_head_is_refused(served: Served, name: str) -> None:
    answer = await answered(served, *LARGE[name])
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b"reset", answer


async def test_request_head_within_the_limits_is_accepted(served: Served) -> None:
    headers = {f"x-{number}": "x" * 300 for number in range(80)}
    async with httpx.AsyncClient(base_url=served.origin, headers=headers) as client:
        for _ in range(3):  # on one connection
            assert (await client.get("/health")).status_code == 200


SILENT = {
    "nothing": b"",
    "half an address": b"GET /hea",
    "half a header": b"GET /health HTTP/1.1\r\nHost: ",
    "half a body, after the answer": b"POST /api/session HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
}


@pytest.mark.parametrize("name", SILENT)
async def test_stalled_connection_is_closed(
    served: Served, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 0.05)
    answer = await answered(served, SILENT[name])
    assert answer[:12] in (b"", b"reset", b"HTTP/1.1 421")


async def test_connection_without_its_announced_body_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 0.05)
    head = (
        f"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    )
    assert await answered(served, head.encode()) in (b"", b"reset")


async def test_an_open_socket_outlives_the_deadline_of_its_handshake(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocols, "REQUEST_TIMEOUT_SECONDS", 1.0)
    async with served.follow(served.program("ann", "player")) as socket:
        await hear(socket)
        await answered(served, b"")  # a later connection, which is ended at its deadline
        await socket.send('{"type":"ping","echo":"7"}')
        assert (await hear(socket))["echo"] == "7"


async def test_metrics_are_refused_under_a_foreign_host_name(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.origin) as client:
        known = await client.get("/metrics")
        numbered = await client.get("/metrics", headers={"Host": "10.0.0.7:8000"})
        named = await client.get("/metrics", headers={"Host": "elsewhere.test"})
    assert (known.status_code, numbered.status_code) == (200, 200)
    assert (named.status_code, code(named)) == (401, "door/sign-in")


@pytest.mark.parametrize("path", ["//api/house", "/api//house", "//metrics"])
async def test_path_with_doubled_slashes_is_not_found(playing: Setting, path: str) -> None:
    reply = await playing.client("player").get(f"http://house.test{path}")
    assert (reply.status_code, code(reply)) == (404, "door/no-such")


@pytest.mark.parametrize("path", ["/api/nothing", "/", "/api/session", "/api/tables/a/b/live"])
async def test_socket_on_an_unknown_path_is_a_404(
    served: Served, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://127.0.0.1:{served.port}{path}", proxy=None):
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
async def test_flood_of_small_frames_closes_the_socket(served: Served, name: str) -> None:
    async with served.follow(served.program("ann", "player"), ping_interval=None) as socket:
        await hear(socket)
        socket.transport.write(b"\x01\x80" + _MASK if name.startswith("parts") else b"")
        socket.transport.write(FLOODS[name] * 100_000)
        assert await closing(socket) in (1006, 1008)


async def test_fragmented_message_after_a_few_pongs_is_answered(served: Served) -> None:
    async with served.follow(served.program("ann", "player"), ping_interval=None) as socket:
        await hear(socket)
        for _ in range(3):
            await socket.pong()
        await socket.send(['{"type":"ping",', '"echo":', '"7"}'])
        assert (await hear(socket))["echo"] == "7"


BAD_FRAMES = {
    "invalid UTF-8": (b"\x81\x82" + _MASK + b"\xff\xfe", 1007),
    "invalid UTF-8 in parts": (b"\x01\x81" + _MASK + b"\xff\x80\x80" + _MASK, 1007),
    "invalid UTF-8 after a message": (b"\x81\x82" + _MASK + b"{}\x81\x81" + _MASK + b"\xff", 1007),
    "an unknown opcode": (b"\x83\x80" + _MASK, 1002),
    "reserved bits": (b"\xf1\x80" + _MASK, 1002),
    "no mask": (b"\x81\x02{}", 1002),
    "more than a frame may hold": (b"\x81\xfe\x7f\xff" + _MASK, 1009),
    "a long message": (b"\x81\xfe\x08\x00" + _MASK + b"x" * 2048, 1009),
    "not JSON, repeatedly": ((b"\x81\x84" + _MASK + b"nope") * 5, 1008),
    "a bad close code": (b"\x88\x82" + _MASK + b"\x00\x01", 1002),
}

REFUSED_MESSAGES = ("a long message", "not JSON, repeatedly")
"""Valid frames, which are refused once they are read as messages."""


async def requests_end() -> None:
    """Wait until the application has finished with every request."""
    running = [task for task in asyncio.all_tasks() if "run_asgi" in repr(task.get_coro())]
    if running:
        await asyncio.wait(running, timeout=20)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.levelname != "INFO"]


@pytest.mark.parametrize("name", BAD_FRAMES)
async def test_bad_frame_closes_the_socket_without_a_warning(
    served: Served, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    frame, close_code = BAD_FRAMES[name]
    async with served.follow(served.program("ann", "player"), ping_interval=None) as socket:
        await hear(socket)
        socket.transport.write(frame)
        assert await closing(socket) == close_code
    await requests_end()
    assert not warnings(caplog)


@pytest.mark.parametrize("name", [name for name in BAD_FRAMES if name not in REFUSED_MESSAGES])
async def test_bad_frame_during_the_handshake_closes_the_socket_without_a_warning(
    served: Served, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    handshake = (
        f"GET /api/tables/{served.table}/live HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
        f"Authorization: Bearer {served.program('ann', 'player')}\r\n\r\n"
    )
    threads, holder = current_default_thread_limiter(), object()
    tokens_before, threads.total_tokens = threads.total_tokens, 1
    async with asyncio.timeout(20):
        await threads.acquire_on_behalf_of(holder)  # no thread is left to look up the token
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(handshake.encode())
            while not threads.statistics().tasks_waiting:
                await asyncio.sleep(0)
            writer.write(BAD_FRAMES[name][0])
            answer = await reader.read()
            writer.close()
        finally:
            threads.release_on_behalf_of(holder)
            threads.total_tokens = tokens_before
    await requests_end()
    assert answer == b""
    assert not warnings(caplog)


async def test_socket_for_an_invalid_table_id_reveals_no_database_error(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with serving(tmp_path, url=postgres.fresh()) as served:
        with pytest.raises(InvalidStatus) as refused:
            async with served.follow(served.sign_in("ann", "player"), table="a%00b"):
                pass
    assert refused.value.response.status_code == 404
    assert b"atabase" not in (refused.value.response.body or b"")


async def test_slow_history_queries_do_not_block_sign_in(
    playing: Setting,
) -> None:
    context, client = playing.context, playing.client("player")
    credentials = {"name": playing.accounts["dealer"].name, "password": PASSWORD}
    async with AsyncExitStack() as held:
        for limiter, holder in product(
            (context.history_limiter, context.hashing_limiter), range(MAX_CONCURRENT_SLOW)
        ):
            await limiter.acquire_on_behalf_of(holder)
            held.callback(limiter.release_on_behalf_of, holder)
        asking = [
            asyncio.create_task(client.get("/api/tables/1/rounds/1/explanation"))
            for _ in range(MAX_WAITING + 1)
        ]
        done, _ = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result().status_code for task in done] == [503]
        signing_in = asyncio.create_task(client.post("/api/session", json=credentials))
        while not (signing_in.done() or context.hashing_limiter.statistics().tasks_waiting):
            await asyncio.sleep(0)
    assert (await signing_in).status_code == 200
    await asyncio.gather(*asking)


# --- what is written for ever -------------------------------------------------------------------


@pytest.mark.parametrize("player", ["", "a\0b", "a\x1bb", "house", "console"])
async def test_invalid_or_reserved_player_id_is_refused(playing: Setting, player: str) -> None:
    before = playing.context.house.command_handler.store.head("table/1")
    for command in (
        {"type": "BuyIn", "player": player, "amount": 100, "age_years": 30},
        {"type": "OfferDice", "player": player},
    ):
        reply = await playing.send("dealer", command)
        assert reply.status_code == 422, reply.text
    assert playing.context.house.command_handler.store.head("table/1") == before


async def test_an_irregularity_need_not_name_a_player(playing: Setting) -> None:
    report: dict[str, Any] = {"type": "Report", "irregularity": "dice-not-flat", "player": ""}
    reply = await playing.send("dealer", report)
    assert code(reply) != "door/form"


@pytest.mark.parametrize("part", ["", "/statement", "/person"])
async def test_account_with_an_invalid_id_is_not_found(playing: Setting, part: str) -> None:
    reply = await playing.client("auditor").get(f"/api/accounts/a%00b{part}")
    assert (reply.status_code, code(reply)) == (404, "unknown/id")


async def test_supervisor_off_duty_cannot_read_or_change_players(
    playing: Setting,
) -> None:
    client, player = playing.client("supervisor"), playing.id("player")
    person = {"name": "Ann", "born": "1990-01-01"}
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"/api/accounts/{player}/statement", None),
        ("PUT", f"/api/accounts/{player}/person", person),
        ("GET", f"/api/accounts/{player}/person", None),
        ("GET", "/api/requests", None),
    ]
    off_duty = [await client.request(method, path, json=said) for method, path, said in asked]
    playing.assign("supervisor")
    at_work = [await client.request(method, path, json=said) for method, path, said in asked]
    assert {code(reply) for reply in off_duty} == {"door/role"}
    assert [reply.status_code for reply in at_work] == [200, 204, 200, 200]


async def test_totp_enrolment_requires_the_password(playing: Setting) -> None:
    client = playing.client("player")
    without = await client.post("/api/session/codes", json={})
    wrong = await client.post("/api/session/codes", json={"password": "another pass phrase"})
    right = await client.post("/api/session/codes", json={"password": PASSWORD})
    assert [code(without), code(wrong)] == ["sign-in/credentials"] * 2
    assert right.status_code == 200
