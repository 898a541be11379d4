"""Where a server listens, and how it stops: an address, TLS, uvicorn, and a graceful end."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from threedice.errors import InvalidInput, OperatingFailure
from threedice.web.arriving import Requests
from threedice.web.frames import Sockets
from threedice.web.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

LARGEST_FRAME: Final = 16 * 1024
BACKLOG: Final = 2048
PING_SECONDS: Final = 20.0
GRACE_SECONDS: Final = 10
"""How long commands that are being answered may still take when a server stops."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: host and port, TLS files, and whether a proxy of ours stands before it."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    @property
    def tls(self) -> bool:
        """Whether it speaks TLS itself."""
        return self.certificate is not None

    def url(self, port: int) -> str:
        """Return where it listens, once it has a port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port}"

    def check(self) -> None:
        """Refuse what would carry passwords and money over a network in the clear."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidInput("TLS needs both files: --tls-cert and --tls-key")
        if not (self.tls or self.behind_proxy or is_loopback(self.host)):
            raise InvalidInput(
                f"{self.host} can be reached from outside, where nothing may go in the clear; give "
                "--tls-cert and --tls-key, or put it behind a proxy that speaks TLS and say "
                "--behind-proxy"
            )


def bind(address: Address) -> socket.socket:
    """Take the port, before anything else is opened."""
    try:
        family, *_, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        taken = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"{address.host} is no address to listen at: {error}") from None
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(where)
    except (OSError, OverflowError) as error:
        taken.close()
        raise OperatingFailure(
            f"cannot listen at {address.host} port {address.port} "
            f"({getattr(error, 'strerror', None) or error}); stop what listens there, or choose "
            "another with --port"
        ) from None
    return taken


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return what TLS is spoken with, version 1.2 at least."""
    for file in (certificate, key):
        try:
            file.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise InvalidInput(
            f"{certificate} and {key} are no certificate with its key, in PEM and without a "
            f"password ({reason.replace('_', ' ').lower()})"
        ) from None
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")


def configured(app: Any, address: Address) -> uvicorn.Config:
    """Return how uvicorn serves an application at an address."""
    config = uvicorn.Config(
        app,
        http=Requests,
        ws=Sockets,
        ws_max_size=LARGEST_FRAME,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    if address.certificate and address.key:
        config.load()
        config.ssl = tls_context(address.certificate, address.key)
    return config


class Server(uvicorn.Server):
    """A server that tells its sockets before it goes, and leaves signals to whoever runs it."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        started: Callable[[], None],
        stopping: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._on_start, self._on_stop = started, stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, close the live sockets properly, then wait for what is asked."""
        for server in self.servers:
            server.close()
        await self._on_stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, without raising it once more at the end: that was what it asked."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()
