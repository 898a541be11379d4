"""Middleware around the whole application: request ids, host and origin checks, security headers.

The door: every request comes through here, and every reply leaves with the house's headers.

It wraps the whole application, so that nothing it serves, and no error of it, goes round. Commands
for tables, which are by far the most, are answered at once; all else goes on to the routes.
"""

from __future__ import annotations

import re
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ScopeType

from threedice.api.auth.authentication import has_session_cookie
from threedice.api.http.journal import REQUEST_ID
from threedice.api.http.operations import ClientDisconnected, dispatch, parse_headers
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import (
    add_headers,
    problem_response,
    reject_handshake,
    security_headers,
    send_response,
    strip_body,
)
from threedice.api.routes.commands import send_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

    from threedice.api.context import ServerContext


_TABLES_PREFIX: Final = "/api/tables/"


_COMMANDS_SUFFIX: Final = "/commands"


_LIVE_PATH: Final = re.compile(r"/api/tables/[^/]+/live")


def add_middleware(app: ASGIApp, context: ServerContext) -> ASGIApp:
    """Return an application that is reached through the door only."""
    api = security_headers(context, "/api")
    pages = security_headers(context, "/")

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            if _LIVE_PATH.fullmatch(scope["path"]):
                await app(scope, receive, send)
            else:  # the router would close it without a word
                nothing = HttpProblem(404, "door/no-such")
                await reject_handshake(
                    scope, send, problem_response(nothing, parse_headers(scope), context)
                )
            return
        if scope["method"] == "HEAD":  # what GET would say, without saying it
            scope, send = {**scope, "method": "GET"}, strip_body(send)
        path, headers = scope["path"], parse_headers(scope)
        ours = api if path.startswith("/api") or path in ("/health", "/metrics") else pages
        try:
            check_host_and_origin(context, scope, headers)
            if scope["method"] != "POST" or not path.startswith(_TABLES_PREFIX):
                await app(scope, receive, add_headers(send, ours))
                return
            table = path[len(_TABLES_PREFIX) : -len(_COMMANDS_SUFFIX)]
            if not path.endswith(_COMMANDS_SUFFIX) or "/" in table or not table:
                await app(scope, receive, add_headers(send, ours))
                return
            reply = await dispatch(context, send_command, scope, receive, {"table": table})
        except ClientDisconnected:
            return
        except Exception as error:
            reply = problem_response(error, headers, context)
        await send_response(send, reply, ours)

    return door


def add_request_ids(app: Any) -> Any:
    """Return an application whose every request has an id, by which its lines belong together."""
    server, numbers = token_hex(3), count(1)

    async def numbering(scope: Any, receive: Any, send: Any) -> None:
        REQUEST_ID.set(f"{server}-{next(numbers)}")
        await app(scope, receive, send)

    return numbering


SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


MONITORING_PATHS: Final = frozenset({"/health", "/metrics"})
"""Asked for by machines that know no names, only addresses."""


def check_host_and_origin(
    context: ServerContext, scope: HTTPScope, headers: Mapping[bytes, bytes]
) -> None:
    """Turn away what was meant for another host, or what another site has a browser do here."""
    check_single_host(scope)
    host, path = headers.get(b"host", b"").decode("latin-1").lower(), scope["path"]
    if host not in context.hosts and path not in MONITORING_PATHS:
        raise HttpProblem(421, "door/host")
    if "//" in path:  # the router would take it for another, which goes by other rules here
        raise HttpProblem(404, "door/no-such")
    if scope["method"] not in SAFE_METHODS and is_cross_site(
        context, headers, require_origin=has_session_cookie(context, headers)
    ):
        raise HttpProblem(403, "door/origin")


def check_single_host(scope: Scope) -> None:
    """Turn away a request that names two hosts: others on its way may have gone by the other."""
    if sum(name == b"host" for name, _ in scope["headers"]) > 1:
        raise HttpProblem(400, "door/malformed", problem="a request names one host")


def is_cross_site(
    context: ServerContext, headers: Mapping[bytes, bytes], *, require_origin: bool
) -> bool:
    """Tell whether a request or a socket was begun by another site than the house's own.

    Browsers say so in `Origin` and `Sec-Fetch-Site`, and pages cannot make them lie. Where a
    cookie came along, one of the two must be there.
    """
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if origin is not None and origin.decode("latin-1").lower() not in context.origins:
        return True
    if site is not None and site != b"same-origin":
        return True
    return require_origin and origin is None and site is None
