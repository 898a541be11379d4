"""Requests as they arrive: no larger a head, and no longer on its way, than one needs to be.

uvicorn's protocol reads whatever is sent for as long as somebody sends it. Here whoever has not
signed in yet can neither fill the memory with headers nor hold connections that say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

HEAD_MOST: Final = 32 * 1024
"""How many bytes the address and the headers of a request may have."""

HEADERS_MOST: Final = 100
ARRIVING_SECONDS: Final = 10.0
"""For how long a head may be on its way, and what is left of a request after its answer."""

_TOO_LARGE: Final = b"The head of this request is too large.\n"


class TooLarge(Exception):
    """The head of a request is larger than may be."""


class Requests(HttpToolsProtocol):
    """An HTTP connection of uvicorn's that ends with whoever sends too much, or nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = self._in_request = False
        self._arrived = 0
        self._deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a connection, on which something is to be asked."""
        super().connection_made(transport)
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._take_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a head that comes in parts is given so much time and room."""
        was_in_body = self._in_request and not self._in_head
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._hurry()
        if not was_in_body:
            self._arrived += len(data)  # of one long header, nothing is told before its end
        if self._arrived > HEAD_MOST:
            self._refuse()

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        super().on_message_begin()
        self._in_head = self._in_request = True
        self._arrived = 0

    def on_headers_complete(self) -> None:
        """Have the request answered; how long its body may take is for whoever reads it."""
        self._in_head = False
        if self._deadline is not None:
            self._take_time()
        if self._is_too_large():
            raise TooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of a request has arrived."""
        self._in_request = False
        if self._deadline is not None:
            self._take_time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, once what is left of this one has arrived."""
        super().on_response_complete()
        if self._in_request:
            self._hurry()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        if self.headers and self._is_too_large():
            self._refuse()
        else:
            super().send_400_response(msg)

    def _is_too_large(self) -> bool:
        headers = self.headers
        if len(headers) > HEADERS_MOST:
            return True
        return len(self.url) + sum(len(name) + len(value) for name, value in headers) > HEAD_MOST

    def _refuse(self) -> None:
        length = str(len(_TOO_LARGE)).encode()
        self.transport.write(
            STATUS_LINE[431] + b"content-type: text/plain\r\nx-content-type-options: nosniff\r\n"
            b"connection: close\r\ncontent-length: " + length + b"\r\n\r\n" + _TOO_LARGE
        )
        self.transport.close()

    def _hurry(self) -> None:
        """Give what has to come so much time, and not again when a little of it has come."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVING_SECONDS, self._late)

    def _take_time(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        self.transport.abort()
