"""Under which addresses browsers reach a house: what comes from any other is turned away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cryptography import x509

from threedice.errors import InvalidInput
from threedice.web.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from threedice.web.listening import Address

_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
_PORTS: Final = {"http": 80, "https": 443}
LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


def origins_of(address: Address, port: int, given: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the origins of a server: those given, the certificate's names, this machine's."""
    if address.behind_proxy and given:
        return _checked(given)
    scheme = "https" if address.tls else "http"
    names: list[str] = []
    if address.certificate and not is_loopback(address.host):
        names += _names(address.certificate)
    names.append(f"[{address.host}]" if ":" in address.host else address.host)
    names += LOCAL
    own = [_origin(scheme, name, port) for name in names if name not in ("0.0.0.0", "[::]")]
    return tuple(dict.fromkeys([*_checked(given), *own]))


def _origin(scheme: str, name: str, port: int) -> str:
    return f"{scheme}://{name}" if port == _PORTS[scheme] else f"{scheme}://{name}:{port}"


def _checked(given: Iterable[str]) -> tuple[str, ...]:
    """Return origins as browsers write them."""
    for origin in given:
        if not _ORIGIN.fullmatch(origin.rstrip("/")):
            raise InvalidInput(f"{origin!r} is no origin; write it as https://house.example")
    return tuple(origin.lower().rstrip("/") for origin in given)


def _names(certificate: Path) -> list[str]:
    """Return the names that a certificate is for, but for those that stand for many."""
    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        found = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return []  # whatever is wrong with it, TLS will tell
    addresses = [str(each) for each in found.get_values_for_type(x509.IPAddress)]
    names = [name for name in found.get_values_for_type(x509.DNSName) if "*" not in name]
    return [*names, *(f"[{each}]" if ":" in each else each for each in addresses)]
