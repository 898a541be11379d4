"""WebSocket frames that are encoded once and written to many sockets.

A server's frames are not masked, and these are not compressed, so a broadcast is the same bytes for
every client. `LimitedWebSocketProtocol` extends uvicorn's protocol to write such frames, announced
to the application as the ASGI extension `threedice.frames`. It also limits what a client may send,
and aborts connections of clients that take nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from threedice.api.http.limits import ByteRateLimiter, RateLimiter

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from uvicorn._types import ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

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

_TEXT_OPCODE: Final = b"\x81"  # FIN, text


class EncodedMessage:
    """A text message and its frame, which is encoded when first needed."""

    __slots__ = ("_frame", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._frame = b""

    @property
    def frame(self) -> bytes:
        """The text as one frame."""
        if not self._frame:
            self._frame = encode_frame(self.text)
        return self._frame


def encode_frame(text: str) -> bytes:
    """Encode a text as one unmasked WebSocket frame.

    >>> encode_frame("hello")
    b'\\x81\\x05hello'
    """
    data = text.encode()
    size = len(data)
    if size < 126:
        return b"%b%b%b" % (_TEXT_OPCODE, size.to_bytes(1), data)
    if size < 1 << 16:
        return b"%b\x7e%b%b" % (_TEXT_OPCODE, size.to_bytes(2), data)
    return b"%b\x7f%b%b" % (_TEXT_OPCODE, size.to_bytes(8), data)


class LimitedWebSocketProtocol(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket protocol, extended to write encoded frames and to limit clients."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._frame_limiter = RateLimiter(MAX_CONTROL_FRAMES_PER_SECOND)
        self._byte_limiter = ByteRateLimiter(MAX_BYTES_PER_SECOND, MAX_BURST_BYTES)
        self._abort_timer: TimerHandle | None = None
        self._has_failed = False
        """Whether this class has closed the connection, unknown to the application."""

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
        """Process received bytes up to the rate limit, and close the connection above it."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        allowed = self._byte_limiter.take(len(data))
        if allowed and not self.transport.is_closing():
            super().data_received(data[:allowed])
        if allowed < len(data):
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
        if self._frame_limiter.take(""):
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
