"""Handshakes of sockets that are refused: with the same problems as requests are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threedice.web.replying import API_POLICY, COMMON, Reply

if TYPE_CHECKING:
    from litestar.types import Scope, Send


async def refuse(scope: Scope, send: Send, reply: Reply) -> None:
    """Answer a handshake with a problem, where the server can; otherwise just refuse it."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    headers = [
        (b"content-type", reply.kind),
        (b"content-length", b"%d" % len(reply.body)),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", API_POLICY),
        *reply.headers,
        *COMMON,
    ]
    start: Any = {
        "type": "websocket.http.response.start",
        "status": reply.status,
        "headers": headers,
    }
    end: Any = {"type": "websocket.http.response.body", "body": reply.body}
    await send(start)
    await send(end)
