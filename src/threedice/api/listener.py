"""Listening address, TLS, allowed origins and the uvicorn server with its graceful shutdown."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from cryptography import x509

from threedice.api.protocols import LimitedHttpProtocol, LimitedWebSocketProtocol
from threedice.errors import InvalidInput, OperatingFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path


MAX_FRAME_BYTES: Final = 16 * 1024
BACKLOG: Final = 2048
PING_INTERVAL_SECONDS: Final = 20.0

SHUTDOWN_GRACE_SECONDS: Final = 10
"""Time for requests in progress to finish when the server stops."""

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")

_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Listening address: host, port, TLS files, and whether a trusted proxy is in front."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    @property
    def has_tls(self) -> bool:
        """True if the server itself terminates TLS."""
        return self.certificate is not None

    def url(self, port: int) -> str:
        """Return the URL of the server on a port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.has_tls else 'http'}://{host}:{port}"

    def check(self) -> None:
        """Refuse to send passwords and money over a network without TLS."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidInput("TLS needs both files: --tls-cert and --tls-key")
        if not (self.has_tls or self.behind_proxy or is_loopback(self.host)):
            raise InvalidInput(
                f"{self.host} can be reached from other machines, which requires TLS; give "
                "--tls-cert and --tls-key, or use a proxy that terminates TLS and give "
                "--behind-proxy"
            )


def bind_socket(address: ListenAddress) -> socket.socket:
    """Bind the listening socket."""
    try:
        family, *_, socket_address = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"cannot listen at {address.host}: {error}") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(socket_address)
    except (OSError, OverflowError) as error:
        bound.close()
        raise OperatingFailure(
            f"cannot listen at {address.host} port {address.port} "
            f"({getattr(error, 'strerror', None) or error}); stop the program that listens there, "
            "or choose another port with --port"
        ) from None
    return bound


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Load a certificate and its key for TLS 1.2 or later."""
    for file in (certificate, key):
        try:
            file.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_refuse_key_password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise InvalidInput(
            f"{certificate} and {key} are not a certificate and its key in PEM format without a "
            f"password ({reason.replace('_', ' ').lower()})"
        ) from None
    return context


def _refuse_key_password() -> str:
    raise ValueError("the key has a password")


def uvicorn_config(app: Any, address: ListenAddress) -> uvicorn.Config:
    """Return the uvicorn configuration for an application at an address."""
    config = uvicorn.Config(
        app,
        http=LimitedHttpProtocol,
        ws=LimitedWebSocketProtocol,
        ws_max_size=MAX_FRAME_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_INTERVAL_SECONDS,
        ws_ping_timeout=PING_INTERVAL_SECONDS,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_SECONDS,
    )
    if address.certificate and address.key:
        config.load()
        config.ssl = tls_context(address.certificate, address.key)
    return config


class HouseServer(uvicorn.Server):
    """A uvicorn server with callbacks after startup and before shutdown."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_start: Callable[[], None],
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._on_start, self._on_stop = on_start, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_start`."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, call `on_stop`, then wait for requests in progress."""
        for server in self.servers:
            server.close()
        await self._on_stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, without raising it again afterwards as uvicorn does."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def allowed_origins(
    address: ListenAddress, port: int, given: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the origins of a server: those given, its certificate's names and loopback names.

    Behind a proxy only the given ones count, if there are any.
    """
    if address.behind_proxy and given:
        return tuple(map(_parse_origin, given))
    scheme = "https" if address.has_tls else "http"
    names: list[str] = []
    if address.certificate and not is_loopback(address.host):
        names += _certificate_names(address.certificate)
    names.append(f"[{address.host}]" if ":" in address.host else address.host)
    names += LOCAL_HOSTS
    own = [_format_origin(scheme, name, port) for name in names if name not in ("0.0.0.0", "[::]")]
    return tuple(dict.fromkeys([*map(_parse_origin, given), *own]))


def _format_origin(scheme: str, name: str, port: int) -> str:
    return f"{scheme}://{name}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{name}:{port}"


def _parse_origin(origin: str) -> str:
    """Return an origin as browsers send it: in lower case, without a trailing slash."""
    if not _ORIGIN.fullmatch(origin.rstrip("/")):
        raise InvalidInput(f"{origin!r} is not an origin; write it as https://house.example")
    return origin.lower().rstrip("/")


def _certificate_names(certificate: Path) -> list[str]:
    """Return the names and addresses that a certificate is issued for, without wildcards."""
    try:
        loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
        subjects = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return []  # `tls_context` reports invalid certificates
    addresses = [str(address) for address in subjects.get_values_for_type(x509.IPAddress)]
    names = [name for name in subjects.get_values_for_type(x509.DNSName) if "*" not in name]
    return [*names, *(f"[{each}]" if ":" in each else each for each in addresses)]


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("0.0.0.0"), is_loopback("pit.example")
    (False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_ip_host(host: str) -> bool:
    """Return whether a `Host` header is empty or an IP address.

    A name could belong to another site and resolve to this server (DNS rebinding).

    >>> [is_ip_host(host) for host in ("", "10.0.0.7:8000", "[::1]:8000", "elsewhere.example")]
    [True, True, True, False]
    """
    name = host.partition("]")[0].lstrip("[") if host[:1] == "[" else host.partition(":")[0]
    try:
        return not name or bool(ip_address(name))
    except ValueError:
        return False
