"""Addresses that reach this machine only."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether an address reaches this machine only.

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


def is_numbered(host: str) -> bool:
    """Tell whether a `Host` is a number or none: a name might be another's that leads here.

    >>> [is_numbered(host) for host in ("", "10.0.0.7:8000", "[::1]:8000", "elsewhere.example")]
    [True, True, True, False]
    """
    name = host.partition("]")[0].lstrip("[") if host[:1] == "[" else host.partition(":")[0]
    try:
        return not name or bool(ip_address(name))
    except ValueError:
        return False
