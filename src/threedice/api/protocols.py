"""uvicorn's HTTP and WebSocket protocols, with limits for which it has no options.

uvicorn accepts headers of any size for any time, so that clients could fill the memory or hold idle
connections before they sign in, and it does not limit what a client sends over a WebSocket. This is
the only module that uses private modules of uvicorn.

A broadcast is the same bytes for every client, as a server's frames are neither masked nor, here,
compressed. So the WebSocket protocol also writes frames that are encoded already; it announces that
to the application as the ASGI extension `threedice.frames`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from threedice.api.http.limits import RateLimiter

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

    from uvicorn._types import ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

MAX_HEAD_BYTES: Final = 32 * 1024
"""Maximum size of a request's URL and headers."""

MAX_HEADERS: Final = 100

REQUEST_TIMEOUT_SECONDS: Final = 15.0
"""Time for a request to arrive; a handler that waits for the body gives up sooner."""

FRAME_EXTENSION: Final = "threedice.frames"
MAX_CONTROL_FRAMES_PER_SECOND: Final = 5.0
"""Rate limit for pings, pongs and continuation frames."""

MAX_BYTES_PER_SECOND: Final = 8 * 1024
MAX_BURST_BYTES: Final = 12 * 1024
"""Byte limits for a client: enough for pings of maximum size at the maximum rate, and some."""

ABORT_TIMEOUT_SECONDS: Final = 15.0
"""How long a closed client may still take what was sent before its connection is aborted."""

CLOSE_ABNORMAL: Final = 1006
CLOSE_INVALID_DATA: Final = 1007

_HEAD_TOO_LARGE_TEXT: Final = b"The head of this request is too large.\n"


class HeadTooLarge(Exception):
    """The head of a request exceeds `MAX_HEAD_BYTES` or `MAX_HEADERS`."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits on the size of heads and the time of requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_request = False
        self._head_bytes = 0
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Accept a connection; its first request must begin before the deadline."""
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up after a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; limit the time of a request and the size of a head that arrive in parts."""
        was_in_body = self._in_request and not self._in_head
        super().data_received(data)
        if not self._in_request or self.transport.is_closing():
            return
        self._start_deadline()
        if self._in_head and not was_in_body:
            self._head_bytes += len(data)  # the parser reports a header only once it is complete
            if self._head_bytes > MAX_HEAD_BYTES:
                self._send_431()

    def on_message_begin(self) -> None:
        """Start reading a request head."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Start handling the request, unless its head is too large."""
        self._in_head = False
        if self._is_too_large():
            raise HeadTooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the deadline, as the whole request has arrived."""
        self._in_request = False
        self._cancel_deadline()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Reject a malformed request, with status 431 if its head is too large."""
        if self.headers and self._is_too_large():
            self._send_431()
        else:
            super().send_400_response(msg)

    def _is_too_large(self) -> bool:
        head_bytes = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        return len(self.headers) > MAX_HEADERS or head_bytes > MAX_HEAD_BYTES

    def _send_431(self) -> None:
        length = str(len(_HEAD_TOO_LARGE_TEXT)).encode()
        self.transport.write(
            STATUS_LINE[431] + b"content-type: text/plain\r\nx-content-type-options: nosniff\r\n"
            b"connection: close\r\ncontent-length: " + length + b"\r\n\r\n" + _HEAD_TOO_LARGE_TEXT
        )
        self.transport.close()

    def _start_deadline(self) -> None:
        """Start the deadline unless it is running: partial data does not extend it."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_TIMEOUT_SECONDS, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class LimitedWebSocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket protocol, extended to write encoded frames and to limit clients."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        clock = self.loop.time
        self._frame_limiter = RateLimiter(MAX_CONTROL_FRAMES_PER_SECOND, clock)
        self._byte_limiter = RateLimiter(MAX_BYTES_PER_SECOND, clock, burst=MAX_BURST_BYTES)
        self._abort_timer: TimerHandle | None = None
        self._has_failed = False
        """True if this class has closed the connection, unknown to the application."""

    def handle_connect(self, event: Request) -> None:
        """Handle a handshake, and announce the frame extension to the application."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            extensions: Any = self.scope["extensions"]
            extensions[FRAME_EXTENSION] = self.write_frame

    def write_frame(self, frame: bytes) -> bool:
        """Write a frame unless the client is slow or closing, and return whether it was written."""
        if not self.writable.is_set() or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(frame)
        return True

    def data_received(self, data: bytes) -> None:
        """Process received bytes; above the rate limit only some, then close the connection."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        is_too_much = bool(self._byte_limiter.take(count=len(data)))
        if not self.transport.is_closing():
            super().data_received(data[:MAX_BURST_BYTES])
        if is_too_much:
            self._close_for_abuse("too much data")

    def handle_ping(self) -> None:
        """Respond to a ping within the frame limit."""
        if self._is_within_frame_limit():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Handle a pong within the frame limit."""
        if self._is_within_frame_limit():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """Handle a continuation frame within the frame limit."""
        if self._is_within_frame_limit():
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass a message to the application; close the connection if a text is invalid UTF-8.

        uvicorn would report such a text as an error of the server.
        """
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                self.conn.fail(CLOSE_INVALID_DATA)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """Close the connection of a client that sent an invalid frame.

        Until the handshake is complete there is no close frame, which uvicorn does not consider.
        """
        self._has_failed = True
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": CLOSE_ABNORMAL})
        self.close_sent = True
        self.transport.close()

    def _is_within_frame_limit(self) -> bool:
        """Count a frame, and close the connection of a client that sends too many."""
        if self._frame_limiter.take():
            self._close_for_abuse("too many frames")
            return False
        return True

    def _close_for_abuse(self, reason: str) -> None:
        """Close the connection with 1008 and process nothing more from it."""
        self._has_failed = True
        if not self.close_sent:
            self.conn.fail(1008, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self.transport.close()
        self._abort_later()

    def keepalive_timeout(self) -> None:
        """Close the connection of a client that does not respond to pings."""
        self._has_failed = True
        super().keepalive_timeout()
        self._abort_later()

    async def send(self, message: ASGISendEvent) -> None:
        """Send an ASGI message, or raise `ClientDisconnected` if the connection was closed here.

        A rejected handshake counts as complete, which uvicorn would otherwise report as an error.
        """
        await self.writable.wait()
        if self._has_failed:
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True

    async def run_asgi(self) -> None:
        """Run the application, then abort the connection if the client takes nothing more."""
        await super().run_asgi()
        self._abort_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the abort timer."""
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        super().connection_lost(exc)

    def _abort_later(self) -> None:
        if self._abort_timer is None and not self.disconnected:
            self._abort_timer = self.loop.call_later(ABORT_TIMEOUT_SECONDS, self.transport.abort)
