"""Client addresses: parse what a proxy forwards, and group the addresses of one client."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

UNKNOWN_ADDRESS: Final = "unknown"
"""All entries that are not addresses count as this one, so that nobody gets a new one by typing."""

MAX_ADDRESS_CHARACTERS: Final = 100


@lru_cache(maxsize=10_000)
def client_network(entry: str) -> str:
    """Return the network that limits count an address under: IPv4 as it is, IPv6 by its /64.

    A single IPv6 client usually has a whole /64 of addresses to choose from. An IPv6 address that
    stands for an IPv4 address (mapped, 6to4) counts as that one. A port, brackets, quotes and a
    zone are ignored.

    >>> client_network("192.0.2.7:567"), client_network("::ffff:192.0.2.7")
    ('192.0.2.7', '192.0.2.7')
    >>> client_network("[2001:db8::1]:443"), client_network("2001:db8::2%eth0")
    ('2001:db8::/64', '2001:db8::/64')
    >>> client_network("_hidden"), client_network("::1")
    ('unknown', '::1')
    """
    try:
        parsed = ip_address(_strip_port(entry.strip(' \t"')))
    except ValueError:
        return UNKNOWN_ADDRESS
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if embedded := parsed.ipv4_mapped or parsed.sixtofour:
        return str(embedded)
    if parsed.is_loopback:
        return "::1"
    return str(ip_network((int(parsed), 64), strict=False))


def _strip_port(entry: str) -> str:
    """Return the address in `1.2.3.4:567`, `[2001:db8::1]:443` or either without a port."""
    if len(entry) > MAX_ADDRESS_CHARACTERS:
        raise ValueError("an address is shorter")
    if entry.startswith("["):
        entry = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:
        entry = entry.partition(":")[0]
    return entry.partition("%")[0]
