"""Middleware around the whole application: request ids, host and origin checks, security headers.

It wraps the application from outside, so that every response carries the security headers, error
responses and unknown paths included; Litestar's own middleware runs only after the routing.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ScopeType

from threedice.api.auth.authentication import check_request, display_cookie, session_cookie
from threedice.api.http.journal import REQUEST_ID
from threedice.api.http.problems import HttpProblem, handle_error
from threedice.api.http.requests import (
    RATE_LIMIT_HEADERS,
    HouseRequest,
    parse_headers,
)
from threedice.names import TABLE_ID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from litestar.handlers import HTTPRouteHandler
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

    from threedice.api.context import ServerContext

    HeaderList = list[tuple[bytes, bytes]]

_COMMANDS_PATH: Final = re.compile(f"/api/tables/({TABLE_ID})/commands")
_LIVE_PATH: Final = re.compile(r"/api/tables/[^/]+/live")

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

MONITORING_PATHS: Final = frozenset({"/health", "/metrics"})
"""Exempt from the host check: monitoring systems often address a server by its IP address."""

API_CONTENT_POLICY: Final = (
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

SCREEN_CONTENT_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Screens load from this server only, and no page contains inline scripts."""

SECURITY_HEADERS: Final[HeaderList] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]

API_HEADERS: Final[HeaderList] = [
    (b"content-security-policy", API_CONTENT_POLICY),
    (b"cache-control", b"no-store"),
    *SECURITY_HEADERS,
]

PAGE_HEADERS: Final[HeaderList] = [
    (b"content-security-policy", SCREEN_CONTENT_POLICY),
    *SECURITY_HEADERS,
]

HSTS_HEADER: Final = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")


def add_middleware(app: ASGIApp, context: ServerContext) -> ASGIApp:
    """Wrap an application with the checks and headers that apply to every request.

    All log lines of a request carry the same request id.
    """
    server_id, request_numbers = context.house.runtime.random_bytes(3).hex(), count(1)
    hsts = [HSTS_HEADER] if context.secure else []
    api_headers, page_headers = [*API_HEADERS, *hsts], [*PAGE_HEADERS, *hsts]

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        REQUEST_ID.set(f"{server_id}-{next(request_numbers)}")
        path, respond = scope["path"], reject_handshake
        if scope["type"] == ScopeType.HTTP:
            respond = send_problem
            if scope["method"] == "HEAD":  # handled as GET, with the body left out
                scope, send = {**scope, "method": "GET"}, _strip_body(send)
            is_api = path.startswith("/api") or path in MONITORING_PATHS
            headers = api_headers if is_api else page_headers
            send = _add_headers(send, headers, scope["state"])
        try:
            check_host_and_origin(context, scope)
        except Exception as error:
            await respond(error, scope, receive, send)
        else:
            await app(scope, receive, send)

    return middleware


def skip_router(router: ASGIApp, send_command: HTTPRouteHandler, context: ServerContext) -> ASGIApp:
    """Call the handler of table commands directly, and the router for everything else.

    Nearly all requests are bets, and routing is a large part of their cost (ADR 20). The check, the
    handler and the exception handler are those that the router would call. All other requests pass
    a turnstile, so that bets do not wait for a flood of them (ADR 30).
    """

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        match = _COMMANDS_PATH.fullmatch(scope["path"])
        if match is None or scope["type"] != ScopeType.HTTP or scope["method"] != "POST":
            await context.turnstile.enter()
            await router(scope, receive, send)
            return
        scope["route_handler"], scope["path_params"] = send_command, {"table": match[1]}
        request = HouseRequest(scope, receive, send)
        try:
            await check_request(request)
            response = await send_command.fn(request, match[1])
        except Exception as error:
            await send_problem(error, scope, receive, send)
        else:
            await response(scope, receive, send)

    return route


def check_host_and_origin(context: ServerContext, scope: Scope) -> None:
    """Reject requests for another host, and state-changing requests from another site.

    A WebSocket counts as state-changing: browsers let pages of other sites open one.
    """
    headers, path = parse_headers(scope), scope["path"]
    received: Any = scope["headers"]
    is_any_repeated = len(headers) < len(received)
    if is_any_repeated and [name for name, _ in received].count(b"host") > 1:
        # a proxy may use the other one
        raise HttpProblem(400, "door/malformed", problem="a request has exactly one Host header")
    if scope["type"] == ScopeType.WEBSOCKET and not _LIVE_PATH.fullmatch(path):
        raise HttpProblem(404, "door/no-such")  # the router would close it without a reason
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host not in context.hosts and path not in MONITORING_PATHS:
        raise HttpProblem(421, "door/host")
    if "//" in path:  # the router collapses slashes, so it would match a path not checked here
        raise HttpProblem(404, "door/no-such")
    if scope["type"] == ScopeType.WEBSOCKET or scope["method"] not in SAFE_METHODS:
        check_origin(context, headers)


def check_origin(context: ServerContext, headers: Mapping[bytes, bytes]) -> None:
    """Reject a request or a handshake that was initiated by another site.

    Browsers set `Origin` and `Sec-Fetch-Site` themselves, and pages cannot forge them. A request
    with a cookie of ours must have at least one of the two.
    """
    origin, fetch_site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if (
        (origin is not None and origin.decode("latin-1").lower() not in context.origins)
        or (fetch_site is not None and fetch_site != b"same-origin")
        or (origin is None and fetch_site is None and _has_own_cookie(context, headers))
    ):
        raise HttpProblem(403, "door/origin")


def _has_own_cookie(context: ServerContext, headers: Mapping[bytes, bytes]) -> bool:
    return bool(session_cookie(context, headers) or display_cookie(context, headers))


def _add_headers(send: Send, extra_headers: HeaderList, state: Mapping[str, Any]) -> Send:
    """Wrap `send` so that it adds headers; a response may have its own `Cache-Control`.

    Besides the given headers it adds those about the rate limit, which the state of the request
    has if the request was counted.
    """

    def send_with_headers(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            own: Any = message["headers"]
            added = extra_headers
            if b"cache-control" in dict(own):
                added = [header for header in extra_headers if header[0] != b"cache-control"]
            message["headers"] = [*own, *added, *state.get(RATE_LIMIT_HEADERS, ())]
        return send(message)

    return send_with_headers


def _strip_body(send: Send) -> Send:
    """Wrap `send` so that it omits the body but keeps its `Content-Length`."""

    async def send_without_body(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return send_without_body


async def send_problem(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a request with the problem that an error is."""
    request = HouseRequest(scope, receive, send)
    await handle_error(request, error).to_asgi_response(None, request)(scope, receive, send)


async def reject_handshake(error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
    """Reject a WebSocket handshake with a problem response, or by closing if unsupported."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return

    async def send_to_handshake(message: Any) -> None:
        message["type"] = f"websocket.{message['type']}"
        await send(message)

    await send_problem(
        error, scope, receive, _add_headers(send_to_handshake, API_HEADERS, scope["state"])
    )
