"""WebSocket frames that are made once and written to many sockets.

A server's frames carry no mask, and nothing here is compressed, so that one broadcast is the same
bytes for everybody. `LimitedWebSocketProtocol` is uvicorn's protocol with a way to write such bytes, told to the
application as the ASGI extension `threedice.frames`; and with an end for clients that take nothing
or only ping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from threedice.api.http.limits import ByteRateLimiter, RateLimiter

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from uvicorn._types import ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

FRAME_EXTENSION: Final = "threedice.frames"
MAX_CONTROL_FRAMES_PER_SECOND: Final = 5.0
"""How many frames may come that are no message: pings, pongs, and parts of what comes in parts."""

MAX_BYTES_PER_SECOND: Final = 8 * 1024
MAX_BURST_BYTES: Final = 12 * 1024
"""How much a client may send: pings of the largest size as often as they are taken, and some."""

ABORT_TIMEOUT_SECONDS: Final = 15.0
"""How long a client that is told to go may still take what was sent to it."""

_TEXT_OPCODE: Final = b"\x81"  # one whole text message


class EncodedMessage:
    """A text for sockets, and the frame that carries it, made when it is first wanted."""

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
    """Return a text as one WebSocket frame of a server's.

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
    """A WebSocket connection of uvicorn's to which frames can be written as they are."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._frame_limiter = RateLimiter(MAX_CONTROL_FRAMES_PER_SECOND)
        self._byte_limiter = ByteRateLimiter(MAX_BYTES_PER_SECOND, MAX_BURST_BYTES)
        self._abort_timer: TimerHandle | None = None

    def handle_connect(self, event: Request) -> None:
        """Take a handshake, and tell the application that frames can be written."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            extensions: Any = self.scope["extensions"]
            extensions[FRAME_EXTENSION] = self.write_frame

    def write_frame(self, frame: bytes) -> bool:
        """Write a frame, unless the client is slow or going; tells whether it was written."""
        if not self.writable.is_set() or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(frame)
        return True

    def data_received(self, data: bytes) -> None:
        """Read on, but not a flood: what is more than may come is not even looked at."""
        if not self.handshake_initiated:
            super().data_received(data)
            return
        taken = self._byte_limiter.take(len(data))
        if taken and not self.transport.is_closing():
            super().data_received(data[:taken])
        if taken < len(data):
            self._close_for_abuse("too much at once")

    def handle_ping(self) -> None:
        """Answer a ping, but not a flood of them."""
        if self._is_within_frame_limit():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Hear that a client is there, but not again and again."""
        if self._is_within_frame_limit():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """Take a part of a message that comes in parts, if they are few."""
        if self._is_within_frame_limit():
            super().handle_cont(event)

    def _is_within_frame_limit(self) -> bool:
        """Count a frame that is no message of its own; end it with whoever sends too many."""
        if self._frame_limiter.take(""):
            self._close_for_abuse("too many frames")
            return False
        return True

    def _close_for_abuse(self, reason: str) -> None:
        """Tell a client to go, and hear no more of it."""
        if not self.close_sent:
            self.conn.fail(1008, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self.transport.close()
        self._abort_later()

    def keepalive_timeout(self) -> None:
        """Let a client go that does not answer."""
        super().keepalive_timeout()
        self._abort_later()

    async def send(self, message: ASGISendEvent) -> None:
        """Send; a handshake that was refused is at its end, which uvicorn takes for a mistake."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True

    async def run_asgi(self) -> None:
        """Run the application; a client that takes nothing is not waited for after it."""
        await super().run_asgi()
        self._abort_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        super().connection_lost(exc)

    def _abort_later(self) -> None:
        if self._abort_timer is None and not self.disconnected:
            self._abort_timer = self.loop.call_later(ABORT_TIMEOUT_SECONDS, self.transport.abort)
