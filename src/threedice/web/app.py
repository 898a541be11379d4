"""The application: every route of the house, behind its door."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, Final

import msgspec
from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from threedice.web.account_queries import ACCOUNT_OPERATIONS
from threedice.web.addresses import as_route, from_route
from threedice.web.answering import Operation, Visit, operation, respond
from threedice.web.commands import COMMAND_OPERATIONS
from threedice.web.context import Context, context_of
from threedice.web.door import behind_the_door
from threedice.web.entering import Gone, headers_of
from threedice.web.game_queries import GAME_OPERATIONS
from threedice.web.history import HISTORY_OPERATIONS
from threedice.web.house_routes import HOUSE_OPERATIONS
from threedice.web.live_routes import LIVE_ROUTES
from threedice.web.openapi import document
from threedice.web.operations import OPERATION_ROUTES
from threedice.web.own_sessions import OWN_OPERATIONS
from threedice.web.pages import PAGE_ROUTES
from threedice.web.people_routes import PEOPLE_OPERATIONS
from threedice.web.problems import Turned
from threedice.web.replying import Reply, reply_to
from threedice.web.requests_routes import REQUEST_OPERATIONS
from threedice.web.signing_in import SESSION_OPERATIONS
from threedice.web.table_queries import TABLE_OPERATIONS
from threedice.web.working_queries import WORKING_OPERATIONS


@operation("read-openapi", "GET", "/api/openapi.json", answer=dict[str, Any])
async def read_openapi(_visit: Visit) -> Reply:
    """Read this document."""
    return Reply(200, _document())


METHODS: Final = ("GET", "POST", "PUT", "DELETE")

OPERATIONS: Final[tuple[Operation, ...]] = (
    *SESSION_OPERATIONS,
    *OWN_OPERATIONS,
    *TABLE_OPERATIONS,
    *WORKING_OPERATIONS,
    *COMMAND_OPERATIONS,
    *REQUEST_OPERATIONS,
    *HISTORY_OPERATIONS,
    *ACCOUNT_OPERATIONS,
    *GAME_OPERATIONS,
    *PEOPLE_OPERATIONS,
    *HOUSE_OPERATIONS,
    *OPERATION_ROUTES,
    read_openapi,
)
"""All that can be asked over HTTP, in the order of the reference."""


@cache
def _document() -> bytes:
    return msgspec.json.encode(document(OPERATIONS))


def make_app(context: Context, **settings: Any) -> Litestar:
    """Return the application of a house: its operations, its live sockets, its screens."""
    routes = [as_handler(each) for each in OPERATIONS]
    app = Litestar(
        [*routes, *LIVE_ROUTES, *PAGE_ROUTES],
        openapi_config=None,
        state=State({"context": context}),
        exception_handlers={HTTPException: _turned_away, Exception: _failed},
        **settings,
    )
    app.asgi_handler = behind_the_door(app.asgi_handler, context)
    return app


def as_handler(asked: Operation) -> HTTPRouteHandler:
    """Return an operation as a route."""

    async def handle(request: Request[Any, Any, Any]) -> Response[bytes]:
        context = context_of(request)
        try:
            path = from_route(request.path_params)
            reply = await respond(context, asked, request.scope, request.receive, path)
        except Gone:
            return Response(b"", status_code=400)  # nobody hears it
        except Exception as error:
            reply = reply_to(error, headers_of(request.scope), context)
        return _response(reply)

    handler = HTTPRouteHandler(
        as_route(asked.path),
        http_method=asked.method,  # type: ignore[arg-type]
        name=asked.name,
        opt={"query": asked.name, "operation": asked},
        status_code=200,  # each reply says its own
    )
    return handler(handle)


def _response(reply: Reply) -> Response[bytes]:
    headers = {name.decode(): value.decode() for name, value in reply.headers}
    return Response(
        reply.body, status_code=reply.status, headers=headers, media_type=reply.kind.decode()
    )


def _turned_away(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Answer what is under no address, or done by another method, in the same form as all else."""
    turned: Exception = error
    if error.status_code == 404:
        turned = Turned(404, "door/no-such")
    elif error.status_code == 405:
        turned = Turned(405, "door/method", method=request.method)
    elif error.status_code < 500:
        turned = Turned(error.status_code, "door/form", problem=error.detail)
    response = _response(reply_to(turned, headers_of(request.scope), context_of(request)))
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_taken(request.app, request.scope["path"]))
    return response


def _taken(app: Litestar, path: str) -> list[str]:
    """Return the methods that an address takes."""
    taken = []
    for method in METHODS:
        with suppress(HTTPException):
            app.asgi_router.handle_routing(path=path, method=method)
            taken += ["GET", "HEAD"] if method == "GET" else [method]
    return taken


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer a defect, saying nothing of it."""
    return _response(reply_to(error, headers_of(request.scope), context_of(request)))
