"""The route of live sockets: who may follow a table, and from where."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import WebSocket, websocket

from threedice.web.addresses import TableId
from threedice.web.authorisation import audience_of, may_ask
from threedice.web.context import Context, context_of
from threedice.web.entering import check_host_once, has_cookie, headers_of, is_foreign
from threedice.web.frames import EXTENSION
from threedice.web.handshakes import refuse
from threedice.web.knowing import need_table
from threedice.web.live import converse
from threedice.web.problems import Turned
from threedice.web.replying import reply_to
from threedice.web.subscriber import Subscriber
from threedice.web.visiting import credential_of, recognised

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

LONGEST: Final = 15
"""How many digits a version may have, so that every client can hold it."""

FULL_SECONDS: Final = 60
"""After how long somebody with too many sockets may try again."""


@websocket("/api/tables/{table:str}/live", opt={"query": "watch-table"})
async def follow_table(socket: WebSocket[Any, Any, Any]) -> None:
    """Follow a table: everything after a version, then as it happens."""
    context, table = context_of(socket), socket.path_params["table"]
    await socket.receive()  # the client's wish to connect
    try:
        subscriber = await admitted(socket, context, table)
        after = after_of(socket.scope["query_string"])
    except Exception as error:
        reply = reply_to(error, headers_of(socket.scope), context)
        await refuse(socket.scope, socket.send, reply)
        return
    await converse(context.hub, subscriber, after, socket.receive, socket.send)


async def admitted(socket: WebSocket[Any, Any, Any], context: Context, table: str) -> Subscriber:
    """Return somebody's place at a table, if he may follow it."""
    headers, hub = headers_of(socket.scope), context.hub
    check_host_once(socket.scope)
    if headers.get(b"host", b"").decode("latin-1").lower() not in context.hosts:
        raise Turned(421, "door/host")
    if is_foreign(context, headers, must_say=has_cookie(context, headers)):
        raise Turned(403, "door/origin")
    token = credential_of(context, headers)
    visitor = await recognised(context, token)
    if visitor is None:
        raise Turned(401, "door/sign-in")
    if visitor.standing != "open":
        raise Turned(403, f"door/{visitor.standing}")
    audience = audience_of(visitor, table)
    if audience is None or not may_ask(visitor, "watch-table"):
        raise Turned(403, "door/scope" if visitor.scopes is not None else "door/role")
    if wait := hub.openings.take(visitor.account.id):
        raise Turned(429, "door/rate", seconds=ceil(wait))
    if not hub.has_room(visitor.account.id):
        raise Turned(429, "door/rate", seconds=FULL_SECONDS)
    try:
        msgspec.convert(table, TableId)
    except msgspec.ValidationError:
        raise Turned(404, "unknown/id", kind="table", name=table[:100]) from None
    await need_table(context, table)
    extensions: dict[str, Any] = socket.scope.get("extensions") or {}
    return Subscriber(visitor, token, table, *audience, extensions.get(EXTENSION))


def after_of(query: bytes) -> int | None:
    """Return the version that a client says it has, if it does.

    >>> after_of(b"after=12"), after_of(b"")
    (12, None)
    """
    if not query:
        return None
    name, _, said = query.decode("latin-1").partition("=")
    if name != "after" or not (said.isascii() and said.isdigit() and len(said) <= LONGEST):
        raise Turned(422, "door/form", problem="say after=VERSION, the version that you have")
    return int(said)


LIVE_ROUTES: Final[tuple[ControllerRouterHandler, ...]] = (follow_table,)
