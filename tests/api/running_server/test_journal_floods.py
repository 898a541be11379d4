"""A stranger causes few journal lines and few entries of the security trail, whatever they send."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.api.live_server import serve_house
from tests.api.running_server.test_monitoring import decode_lines, open_test_journal
from tests.api.test_serve_command import create_certificate
from tests.waiting import TIMEOUT_SECONDS
from threedice.api.listener import ListenAddress

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.live_server import LiveServer

pytestmark = pytest.mark.anyio

FLOOD = 40
MAX_LINES = 8
MAX_TRAIL_ENTRIES = 60

_GET = b"GET /api/tables HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_SOCKET = (
    b"GET /api/tables/pit-1/live HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\n"
)
STRANGERS = {
    "no HTTP": b"nonsense\r\n\r\n",
    "bytes": b"\x00\xff\x16\x03\x01" * 9 + b"\r\n\r\n",
    "unknown version": b"GET / HTTP/7.3\r\n\r\n",
    "bad header": _GET + b"no colon here\r\n\r\n",
    "control character in a header": _GET + b"X: a\x00b\r\n\r\n",
    "two lengths": _GET + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "negative length": _GET + b"Content-Length: -1\r\n\r\n",
    "length and chunks": _GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "oversized head": _GET + b"X: " + b"x" * 40_000 + b"\r\n\r\n",
    "other host": b"GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n",
    "path in bytes": b"GET /api/%ff%00/\xff HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
    "query in bytes": b"GET /api/tables?%ff=\xff HTTP/1.1\r\nHost: HOST\r\n"
    b"Connection: close\r\n\r\n",
    "not signed in": b"GET /api/tables HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
    "made-up token": b"GET /api/tables HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    b"Authorization: Bearer td_\xff\xfe\r\n\r\n",
    "made-up cookie": b"GET /api/tables HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    b"Cookie: threedice=\xff\x80abc; =; ;;\r\n\r\n",
    "body that is no JSON": b"POST /api/session HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    b"Origin: http://HOST\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n\xff{[",
    "oversized body": b"POST /api/session HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    b"Origin: http://HOST\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
    "upgrade to another protocol": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Connection: close, upgrade\r\nUpgrade: h2c\r\n\r\n",
    "socket without a key": _SOCKET + b"\r\n",
    "socket of a stranger": _SOCKET + b"Sec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "frames before the handshake ends": _SOCKET + b"Sec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\xff\xff\xff\xff\xff\xff",
}


async def send_repeatedly(port: int, request: bytes) -> None:
    """Send the same bytes on many connections, each until the server closes it."""
    for _ in range(FLOOD):
        async with asyncio.timeout(TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            writer.write_eof()
            with suppress(ConnectionResetError):
                await reader.read()
            writer.close()


@pytest.mark.parametrize("kind", STRANGERS)
async def test_flood_of_a_stranger_costs_a_few_journal_lines(server: LiveServer, kind: str) -> None:
    request = STRANGERS[kind].replace(b"HOST", b"127.0.0.1:%d" % server.port)
    with open_test_journal(clock=lambda: 0.0) as stream:
        await send_repeatedly(server.port, request)
    lines = decode_lines(stream)
    assert len(lines) <= MAX_LINES, lines
    assert "defect" not in {line["what"] for line in lines}


async def test_flood_of_bytes_that_are_no_tls_costs_a_few_journal_lines(tmp_path: Path) -> None:
    certificate, key = create_certificate(tmp_path, "house.example")
    address = ListenAddress(port=0, certificate=certificate, key=key)
    async with serve_house(tmp_path, address=address) as server:
        with open_test_journal(clock=lambda: 0.0) as stream:
            for garbage in (
                b"GET / HTTP/1.1\r\n\r\n",
                b"\x16\x03\x01\x00\x05aaaaaaa",
                b"\x00" * 99,
            ):
                await send_repeatedly(server.port, garbage)
    assert len(decode_lines(stream)) <= MAX_LINES


async def test_refused_sign_ins_of_a_stranger_cost_few_entries_of_the_trail(
    server: LiveServer,
) -> None:
    trail, host = server.context.identity.audit_trail, f"127.0.0.1:{server.port}"
    before = trail.latest()
    with open_test_journal(clock=lambda: 0.0) as stream:
        for number in range(3 * FLOOD):
            body = json.dumps({"name": f"nobody-{number}", "password": "guess"})
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(
                f"POST /api/session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            assert (await reader.read())[9:12] in (b"401", b"429")
            writer.close()
    assert not decode_lines(stream)
    assert trail.latest() - before <= MAX_TRAIL_ENTRIES
