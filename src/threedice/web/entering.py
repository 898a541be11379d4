"""What is looked at first: the host that was meant, where a request comes from, what it brings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from threedice.web.problems import Turned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import HTTPScope, Receive, Scope

    from threedice.web.context import Context

BODY_MOST: Final = 64 * 1024
BODY_SECONDS: Final = 10.0
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
FOR_MACHINES: Final = frozenset({"/health", "/metrics"})
"""Asked for by machines that know no names, only addresses."""


class Gone(Exception):
    """Whoever asked has gone away; there is nobody to answer."""


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; of one that comes twice the last."""
    return dict(scope["headers"])


def check_entry(context: Context, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> None:
    """Turn away what was meant for another host, or what another site has a browser do here."""
    check_host_once(scope)
    host, path = headers.get(b"host", b"").decode("latin-1").lower(), scope["path"]
    if host not in context.hosts and path not in FOR_MACHINES:
        raise Turned(421, "door/host")
    if "//" in path:  # the router would take it for another, which goes by other rules here
        raise Turned(404, "door/no-such")
    if scope["method"] not in SAFE and is_foreign(
        context, headers, must_say=has_cookie(context, headers)
    ):
        raise Turned(403, "door/origin")


def check_host_once(scope: Scope) -> None:
    """Turn away a request that names two hosts: others on its way may have gone by the other."""
    if sum(name == b"host" for name, _ in scope["headers"]) > 1:
        raise Turned(400, "door/malformed", problem="a request names one host")


def is_foreign(context: Context, headers: Mapping[bytes, bytes], *, must_say: bool) -> bool:
    """Tell whether a request or a socket was begun by another site than the house's own.

    Browsers say so in `Origin` and `Sec-Fetch-Site`, and pages cannot make them lie. Where a
    cookie came along, one of the two must be there.
    """
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None and origin.decode("latin-1").lower() not in context.origins:
        return True
    if site is not None and site != b"same-origin":
        return True
    return must_say and origin is None and site is None


def has_cookie(context: Context, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a request brings the cookie of a session."""
    return bool(cookie_of(headers.get(b"cookie", b""), context.cookie))


def cookie_of(cookies: bytes, name: str) -> str:
    """Return the value of a cookie, or nothing.

    >>> cookie_of(b"theme=dark; threedice=abc", "threedice")
    'abc'
    """
    for each in cookies.split(b";"):
        key, _, value = each.strip().partition(b"=")
        if key == name.encode():
            return value.decode("latin-1")
    return ""


def address_of(context: Context, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> str:
    """Return the address of whoever asks; behind a proxy of ours the one that the proxy saw.

    Whatever stands further left in `X-Forwarded-For` was said by the caller himself.
    """
    if context.behind_proxy:
        said = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        if seen := said.rpartition(",")[2].strip()[:64]:
            return seen
    client = scope.get("client")
    return client[0] if client else ""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    """Return the body of a request, as long as it is not too large and arrives in time."""
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > BODY_MOST:
        raise Turned(413, "door/too-large", most=BODY_MOST)
    first = await receive()
    if first["type"] != "http.request":
        raise Gone
    if not first.get("more_body"):
        return _checked(first["body"])
    return await _rest(receive, first["body"])


async def _rest(receive: Receive, body: bytes) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise Gone
                body = _checked(body + message["body"])
                more = bool(message.get("more_body"))
    except TimeoutError:
        raise Turned(408, "door/slow") from None
    return body


def _checked(body: bytes) -> bytes:
    if len(body) > BODY_MOST:
        raise Turned(413, "door/too-large", most=BODY_MOST)
    return body


def check_json(headers: Mapping[bytes, bytes]) -> None:
    """Turn away a body that does not say that it is JSON: no form of another site does."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Turned(415, "door/media-type")
