"""Middleware around the whole application: request ids, host and origin checks, security headers.

It wraps the application from outside, so that every response carries the security headers, error
responses and unknown paths included. Table commands, which are nearly all traffic, are dispatched
here without going through the router; they pass the same checks as every other operation.
"""

from __future__ import annotations

import re
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ScopeType

from threedice.api.auth.authentication import has_session_cookie
from threedice.api.http.journal import REQUEST_ID
from threedice.api.http.operations import ClientDisconnected, Operation, dispatch, parse_headers
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import (
    add_headers,
    problem_response,
    reject_handshake,
    security_headers,
    send_response,
    strip_body,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

    from threedice.api.context import ServerContext

_TABLES_PREFIX: Final = "/api/tables/"
_COMMANDS_SUFFIX: Final = "/commands"
_LIVE_PATH: Final = re.compile(r"/api/tables/[^/]+/live")

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

MONITORING_PATHS: Final = frozenset({"/health", "/metrics"})
"""Exempt from the host check: monitoring systems often address a server by its IP address."""


def add_middleware(app: ASGIApp, context: ServerContext, fast_command: Operation) -> ASGIApp:
    """Wrap an application with the checks and headers that apply to every request.

    `fast_command` is the operation of `POST /api/tables/{table}/commands`.
    """
    api_headers = security_headers(context, "/api")
    page_headers = security_headers(context, "/")

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            if _LIVE_PATH.fullmatch(scope["path"]):
                await app(scope, receive, send)
            else:  # the router would close the socket without giving a reason
                not_found = HttpProblem(404, "door/no-such")
                await reject_handshake(
                    scope, send, problem_response(not_found, parse_headers(scope), context)
                )
            return
        if scope["method"] == "HEAD":  # handled as GET, with the body left out
            scope, send = {**scope, "method": "GET"}, strip_body(send)
        path, headers = scope["path"], parse_headers(scope)
        is_api = path.startswith("/api") or path in MONITORING_PATHS
        extra_headers = api_headers if is_api else page_headers
        try:
            check_host_and_origin(context, scope, headers)
            if scope["method"] != "POST" or not path.startswith(_TABLES_PREFIX):
                await app(scope, receive, add_headers(send, extra_headers))
                return
            table = path[len(_TABLES_PREFIX) : -len(_COMMANDS_SUFFIX)]
            if not path.endswith(_COMMANDS_SUFFIX) or "/" in table or not table:
                await app(scope, receive, add_headers(send, extra_headers))
                return
            response = await dispatch(context, fast_command, scope, receive, {"table": table})
        except ClientDisconnected:
            return
        except Exception as error:
            response = problem_response(error, headers, context)
        await send_response(send, response, extra_headers)

    return middleware


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
