"""Middleware around the whole application: request ids, host and origin checks, security headers.

It wraps the application from outside, so that every response carries the security headers, error
responses and unknown paths included; Litestar's own middleware runs only after the routing.
"""

from __future__ import annotations

import re
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ScopeType

from threedice.api.auth.authentication import check_request, has_session_cookie
from threedice.api.http.journal import REQUEST_ID
from threedice.api.http.problems import (
    PROBLEM_MEDIA_TYPE,
    HttpProblem,
    encode_problem,
    handle_error,
)
from threedice.api.http.requests import TABLE_ID_PATTERN, HouseRequest, parse_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.handlers import HTTPRouteHandler
    from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

    from threedice.api.context import ServerContext
    from threedice.api.http.problems import EncodedProblem

    HeaderList = list[tuple[bytes, bytes]]

_COMMANDS_PATH: Final = re.compile(f"/api/tables/({TABLE_ID_PATTERN[1:-1]})/commands")
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

HSTS_HEADER: Final = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")


def add_middleware(app: ASGIApp, context: ServerContext) -> ASGIApp:
    """Wrap an application with the checks and headers that apply to every request."""
    hsts = [HSTS_HEADER] if context.secure else []
    api_headers = [
        (b"content-security-policy", API_CONTENT_POLICY),
        *SECURITY_HEADERS,
        *hsts,
        (b"cache-control", b"no-store"),
    ]
    page_headers = [(b"content-security-policy", SCREEN_CONTENT_POLICY), *SECURITY_HEADERS, *hsts]

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = scope["path"], parse_headers(scope)
        if scope["type"] == ScopeType.WEBSOCKET:
            if _LIVE_PATH.fullmatch(path):
                await app(scope, receive, send)
            else:  # the router would close the socket without giving a reason
                not_found = HttpProblem(404, "door/no-such")
                await reject_handshake(scope, send, encode_problem(not_found, headers, context))
            return
        if scope["method"] == "HEAD":  # handled as GET, with the body left out
            scope, send = {**scope, "method": "GET"}, _strip_body(send)
        is_api = path.startswith("/api") or path in MONITORING_PATHS
        extra_headers = api_headers if is_api else page_headers
        try:
            check_host_and_origin(context, scope, headers)
        except Exception as error:
            await _send_problem(send, encode_problem(error, headers, context), extra_headers)
            return
        await app(scope, receive, _add_headers(send, extra_headers))

    return middleware


def skip_router(router: ASGIApp, send_command: HTTPRouteHandler) -> ASGIApp:
    """Call the handler of table commands directly, and the router for everything else.

    Nearly all requests are bets, and routing is a large part of their cost (ADR 20). The check, the
    handler and the exception handler are those that the router would call.
    """

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        match = _COMMANDS_PATH.fullmatch(scope["path"])
        if match is None or scope["type"] != ScopeType.HTTP or scope["method"] != "POST":
            await router(scope, receive, send)
            return
        scope["route_handler"], scope["path_params"] = send_command, {"table": match[1]}
        request = HouseRequest(scope, receive, send)
        response: ASGIApp
        try:
            await check_request(request)
            response = await send_command.fn(request, match[1])
        except Exception as error:
            response = handle_error(request, error).to_asgi_response(None, request)
        await response(scope, receive, send)

    return route


def add_request_ids(app: Any) -> Any:
    """Wrap an application so that all log lines of a request carry the same request id."""
    server_id, request_numbers = token_hex(3), count(1)

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        REQUEST_ID.set(f"{server_id}-{next(request_numbers)}")
        await app(scope, receive, send)

    return middleware


def check_host_and_origin(
    context: ServerContext, scope: HTTPScope, headers: Mapping[bytes, bytes]
) -> None:
    """Reject requests for another host, and state-changing requests from another site."""
    check_single_host(scope)
    host, path = headers.get(b"host", b"").decode("latin-1").lower(), scope["path"]
    if host not in context.hosts and path not in MONITORING_PATHS:
        raise HttpProblem(421, "door/host")
    if "//" in path:  # the router collapses slashes, so it would match a path not checked here
        raise HttpProblem(404, "door/no-such")
    if scope["method"] not in SAFE_METHODS and is_cross_site(
        context, headers, require_origin=has_session_cookie(context, headers)
    ):
        raise HttpProblem(403, "door/origin")


def check_single_host(scope: Scope) -> None:
    """Reject a request with two `Host` headers: a proxy may have acted on the other one."""
    if sum(name == b"host" for name, _ in scope["headers"]) > 1:
        raise HttpProblem(400, "door/malformed", problem="a request has exactly one Host header")


def is_cross_site(
    context: ServerContext, headers: Mapping[bytes, bytes], *, require_origin: bool
) -> bool:
    """Return whether a request or a handshake was initiated by another site.

    Browsers set `Origin` and `Sec-Fetch-Site` themselves, and pages cannot forge them. With
    `require_origin`, for requests with a session cookie, at least one of the two must be present.
    """
    origin, fetch_site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None and origin.decode("latin-1").lower() not in context.origins:
        return True
    if fetch_site is not None and fetch_site != b"same-origin":
        return True
    return require_origin and origin is None and fetch_site is None


def _add_headers(send: Send, extra_headers: HeaderList) -> Send:
    """Wrap `send` so that it adds the headers that a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            missing = [header for header in extra_headers if header[0] not in present]
            message["headers"] = [*message["headers"], *missing]
        await send(message)

    return send_with_headers


def _strip_body(send: Send) -> Send:
    """Wrap `send` so that it omits the body but keeps its `Content-Length`."""

    async def send_without_body(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return send_without_body


async def reject_handshake(scope: Scope, send: Send, problem: EncodedProblem) -> None:
    """Reject a WebSocket handshake with a problem response, or by closing if unsupported."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    policy = (b"content-security-policy", API_CONTENT_POLICY)
    headers = [(b"cache-control", b"no-store"), policy, *SECURITY_HEADERS]
    await _send_problem(send, problem, headers, "websocket.http.response")


async def _send_problem(
    send: Send, problem: EncodedProblem, headers: HeaderList, kind: str = "http.response"
) -> None:
    all_headers = [
        (b"content-type", PROBLEM_MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % len(problem.body)),
        *problem.headers,
        *headers,
    ]
    start: Any = {"type": f"{kind}.start", "status": problem.status, "headers": all_headers}
    body: Any = {"type": f"{kind}.body", "body": problem.body, "more_body": False}
    await send(start)
    await send(body)
