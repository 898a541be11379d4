"""One live WebSocket: admission, hello, catch-up, events and pings.

One task sends; another receives pings and notices the disconnect. Nothing else is accepted:
commands go over HTTP, where they are authorised.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from litestar import WebSocket, websocket
from litestar.exceptions import WebSocketDisconnect

from threedice.api.auth.authentication import (
    authenticate_headers,
    check_address_rate,
    check_permission,
    check_query_rate,
)
from threedice.api.auth.authorisation import audience_of
from threedice.api.http import journal
from threedice.api.http.limits import RateLimiter
from threedice.api.http.middleware import reject_handshake
from threedice.api.http.problems import HttpProblem
from threedice.api.http.requests import HouseRequest, TableId
from threedice.api.live.channel import Subscriber, encode_for_subscriber, split_entries
from threedice.api.live.hub import CLOSE_INTERNAL_ERROR
from threedice.api.live.messages import (
    PROTOCOL_VERSION,
    HelloMessage,
    PingMessage,
    PongMessage,
    RefusedMessage,
    ResyncMessage,
    ServerMessage,
    encode_message,
)
from threedice.api.protocols import FRAME_EXTENSION
from threedice.api.routes.tables import require_table
from threedice.api.views import load_table_view
from threedice.errors import StoreUnavailable
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from threedice.api.context import ServerContext
    from threedice.api.live.hub import Hub
    from threedice.api.views import TableView
    from threedice.log.store import Store
    from threedice.runtime import Runtime

    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]

Result = TypeVar("Result")

MAX_MESSAGE_LENGTH: Final = 1024
MESSAGES_PER_SECOND: Final = 5.0
MAX_REFUSED_MESSAGES: Final = 3
CATCH_UP_PAGE_ENTRIES: Final = 512
"""Entries read at a time while a subscriber catches up."""

STORE_RETRY_SECONDS: Final = 0.5
CLOSE_TIMEOUT_SECONDS: Final = 1.0
CLOSE_POLICY_VIOLATION: Final = 1008
CLOSE_MESSAGE_TOO_BIG: Final = 1009

MAX_VERSION_DIGITS: Final = 15
"""Maximum number of digits of a version, so that every client can represent it."""

FULL_RETRY_SECONDS: Final = 60
"""Retry delay given to an account that has too many sockets."""

_PING_DECODER: Final = msgspec.json.Decoder(PingMessage)
_DISCONNECT_ERRORS: Final = (OSError, WebSocketDisconnect)
"""Errors that mean that the client has disconnected."""


@websocket("/api/tables/{table:str}/live", name="watch-table")
async def follow_table(socket: WebSocket[Any, Any, Any]) -> None:
    """Follow a table: send the events after a version, then new ones as they happen."""
    context: ServerContext = socket.app.state.context
    table = socket.path_params["table"]
    await socket.receive()  # websocket.connect
    try:
        subscriber = await admit_subscriber(socket, context, table)
        after = parse_after_version(socket.scope["query_string"])
    except Exception as error:
        await reject_handshake(error, socket.scope, socket.receive, socket.send)
        return
    await context.turnstile.enter()
    await serve_socket(context.hub, subscriber, after, socket.receive, socket.send)


async def admit_subscriber(
    socket: WebSocket[Any, Any, Any], context: ServerContext, table: str
) -> Subscriber:
    """Return the subscriber for a socket, or raise if the caller may not follow the table."""
    hub, request = context.hub, HouseRequest(socket.scope)
    check_address_rate(request)
    caller, token = await authenticate_headers(context, request.raw_headers)
    check_query_rate(request, caller)
    check_permission(caller, "watch-table", table)
    audience = audience_of(caller, table) if caller else None
    if caller is None or audience is None:
        raise HttpProblem(403, "door/role")
    if delay := hub.open_limiter.take(caller.account.id):
        raise HttpProblem(429, "door/rate", seconds=ceil(delay))
    if not hub.has_capacity(caller.account.id):
        raise HttpProblem(429, "door/rate", seconds=FULL_RETRY_SECONDS)
    try:
        msgspec.convert(table, TableId)
    except msgspec.ValidationError:
        raise HttpProblem(404, "unknown/id", kind="table", name=table[:100]) from None
    await require_table(context, table)
    extensions: dict[str, Any] = socket.scope.get("extensions") or {}
    return Subscriber(caller, token, table, *audience, extensions.get(FRAME_EXTENSION))


def parse_after_version(query: bytes) -> int | None:
    """Parse the version that the client has from the query string, if it gives one.

    >>> parse_after_version(b"after=12"), parse_after_version(b"")
    (12, None)
    """
    if not query:
        return None
    name, _, version = query.decode("latin-1").partition("=")
    if name != "after" or not (
        version.isascii() and version.isdigit() and len(version) <= MAX_VERSION_DIGITS
    ):
        raise HttpProblem(422, "door/form", problem="give after=VERSION, the version that you have")
    return int(version)


# --- the socket ---------------------------------------------------------------------------------


async def serve_socket(
    hub: Hub, subscriber: Subscriber, after_version: int | None, receive: Receive, send: Send
) -> None:
    """Serve an admitted socket until the client disconnects or the socket is closed."""
    await send({"type": "websocket.accept"})
    hub.join(subscriber)
    tasks = [
        asyncio.create_task(_SocketWriter(hub, subscriber, send).run(after_version)),
        asyncio.create_task(_receive_pings(hub.house.runtime, subscriber, receive)),
    ]
    endings: list[asyncio.Future[Any]] = [*tasks, subscriber.closed]
    try:
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.leave(subscriber)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    code, reason = _close_code(subscriber, results)
    if code:
        hub.metrics.sockets_closed.labels(str(code)).inc()
        with suppress(TimeoutError, *_DISCONNECT_ERRORS):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await send({"type": "websocket.close", "code": code, "reason": reason})


def _close_code(subscriber: Subscriber, results: list[Any]) -> tuple[int, str]:
    """Return the close code and reason; code 0 means that the client has disconnected."""
    if subscriber.closed.done():
        return subscriber.closed.result()
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, _DISCONNECT_ERRORS):
            journal.warn("live-socket-failed", result, table=subscriber.table)
            return CLOSE_INTERNAL_ERROR, "the table cannot be read"
    return 0, ""


class _SocketWriter:
    """Send a subscriber's messages to its socket, as fast as the client takes them."""

    def __init__(self, hub: Hub, subscriber: Subscriber, send: Send) -> None:
        self._hub, self._subscriber, self._asgi_send = hub, subscriber, send
        self._head = 0

    async def run(self, after_version: int | None) -> None:
        """Send hello, missed entries and live events; resync a client that was too slow."""
        subscriber = self._subscriber
        await self._send_hello(after_version)
        while True:
            await self._catch_up()
            while (text := await subscriber.next_message()) is not None:
                await self._send(text)
            self._hub.metrics.resyncs.inc()
            self._hub.detach(subscriber)
            subscriber.reset()
            view = await self._load_view()
            subscriber.version = view.version
            now = self._hub.house.runtime.now()
            resync = ResyncMessage(server_time=now, version=view.version, view=view)
            await self._send(encode_message(resync))

    async def _send_hello(self, after_version: int | None) -> None:
        """Start at the version that the client has, or at the current view of the table."""
        subscriber, view = self._subscriber, await self._load_view()
        if after_version is not None and after_version > view.version:
            # This server may be behind the store; a version beyond the store's is ignored.
            after_version = after_version if after_version <= await self._stored_version() else None
        subscriber.version = view.version if after_version is None else after_version
        hello = HelloMessage(
            protocol=PROTOCOL_VERSION,
            server_time=self._hub.house.runtime.now(),
            table=subscriber.table,
            audience=subscriber.audience,
            player=subscriber.player,
            version=subscriber.version,
            suspended=view.suspended,
            view=view if after_version is None else None,
        )
        await self._send(encode_message(hello))

    async def _load_view(self) -> TableView:
        subscriber, handler = self._subscriber, self._hub.house.command_handler
        audience = (subscriber.audience, subscriber.player)
        view = await _retry(lambda: load_table_view(handler, subscriber.table, *audience))
        self._head = view.version
        return view

    async def _stored_version(self) -> int:
        return (await self._read_stream(lambda store, stream: store.head(stream))).version

    async def _catch_up(self) -> None:
        """Send missed entries from the store until the channel can continue from there."""
        subscriber = self._subscriber
        while not self._hub.attach(subscriber, self._head):
            missed = await self._read_stream(
                lambda store, stream: store.read(stream, subscriber.version, CATCH_UP_PAGE_ENTRIES)
            )
            for chunk in split_entries(missed):
                await self._send(encode_for_subscriber(subscriber, chunk).text)
                subscriber.version = chunk[-1].version
                await asyncio.sleep(0)  # a long catch-up must not delay others

    async def _read_stream(self, read: Callable[[Store, str], Result]) -> Result:
        """Read the table's stream in a thread."""
        house, stream = self._hub.house, table_stream(self._subscriber.table)
        store = house.command_handler.store
        return await _retry(lambda: house.runtime.run_blocking(read, store, stream))

    async def _send(self, text: str) -> None:
        self._subscriber.sending_since = self._hub.house.runtime.monotonic()
        await self._asgi_send({"type": "websocket.send", "text": text})
        self._subscriber.sending_since = 0.0


async def _retry(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Retry while the store is unavailable; can be cancelled at any time."""
    while True:
        try:
            return await attempt()
        except StoreUnavailable:
            await asyncio.sleep(STORE_RETRY_SECONDS)


async def _receive_pings(runtime: Runtime, subscriber: Subscriber, receive: Receive) -> None:
    """Respond to pings until the client disconnects; refuse other messages, then close."""
    limiter, refused = RateLimiter(MESSAGES_PER_SECOND, runtime.monotonic), 0
    while True:
        message = await receive()
        if message["type"] != "websocket.receive":
            return
        data = message.get("text") or message.get("bytes") or b""
        if len(data) > MAX_MESSAGE_LENGTH:
            subscriber.close(CLOSE_MESSAGE_TOO_BIG, "the message is too long")
        elif limiter.take():
            subscriber.close(CLOSE_POLICY_VIOLATION, "too many messages")
        else:
            response = _respond(data, runtime)
            refused += isinstance(response, RefusedMessage)
            subscriber.send_notice(encode_message(response))
            if refused > MAX_REFUSED_MESSAGES:
                subscriber.close(CLOSE_POLICY_VIOLATION, "only pings are accepted")


def _respond(message: str | bytes, runtime: Runtime) -> ServerMessage:
    try:
        ping = _PING_DECODER.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return RefusedMessage(
            code="live/not-a-ping",
            text='only {"type":"ping"} is accepted here; send commands over HTTP, '
            "POST /api/tables/{table}/commands",
        )
    return PongMessage(server_time=runtime.now(), echo=ping.echo)
