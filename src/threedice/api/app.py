"""Assemble the Litestar application: operations, live sockets, error handlers and the built screens.

The application: every route of the house, behind its door.

The screens as they are served: one page whose parts are loaded as they are wanted.

They are built into the package (see screens/build.py). What is named after its content may be kept
for ever; the page itself is asked for anew each time.
"""

from __future__ import annotations

import gzip
import mimetypes
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from threedice.api.context import ServerContext, server_context
from threedice.api.http.middleware import add_middleware
from threedice.api.http.openapi import build_document
from threedice.api.http.operations import (
    ClientDisconnected,
    Operation,
    RequestContext,
    dispatch,
    from_litestar_params,
    operation,
    parse_headers,
    to_litestar_path,
)
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import HttpResponse, problem_response
from threedice.api.live.connection import LIVE_ROUTES
from threedice.api.routes.accounts import ACCOUNT_OPERATIONS
from threedice.api.routes.approvals import REQUEST_OPERATIONS
from threedice.api.routes.commands import COMMAND_OPERATIONS
from threedice.api.routes.games import GAME_OPERATIONS
from threedice.api.routes.history import HISTORY_OPERATIONS
from threedice.api.routes.house import HOUSE_OPERATIONS, MONITORING_OPERATIONS
from threedice.api.routes.people import PEOPLE_OPERATIONS
from threedice.api.routes.sessions import OWN_SESSION_OPERATIONS
from threedice.api.routes.sign_in import SESSION_OPERATIONS
from threedice.api.routes.tables import TABLE_OPERATIONS
from threedice.api.routes.worksheets import WORKSHEET_OPERATIONS

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler


@operation("read-openapi", "GET", "/api/openapi.json", response=dict[str, Any])
async def read_openapi(_request: RequestContext) -> HttpResponse:
    """Read this document."""
    return HttpResponse(200, _encoded_document())


HTTP_METHODS: Final = ("GET", "POST", "PUT", "DELETE")


OPERATIONS: Final[tuple[Operation, ...]] = (
    *SESSION_OPERATIONS,
    *OWN_SESSION_OPERATIONS,
    *TABLE_OPERATIONS,
    *WORKSHEET_OPERATIONS,
    *COMMAND_OPERATIONS,
    *REQUEST_OPERATIONS,
    *HISTORY_OPERATIONS,
    *ACCOUNT_OPERATIONS,
    *GAME_OPERATIONS,
    *PEOPLE_OPERATIONS,
    *HOUSE_OPERATIONS,
    *MONITORING_OPERATIONS,
    read_openapi,
)
"""All that can be asked over HTTP, in the order of the reference."""


@cache
def _encoded_document() -> bytes:
    return msgspec.json.encode(build_document(OPERATIONS))


def make_app(context: ServerContext, **settings: Any) -> Litestar:
    """Return the application of a house: its operations, its live sockets, its screens."""
    routes = [litestar_handler(each) for each in OPERATIONS]
    app = Litestar(
        [*routes, *LIVE_ROUTES, *SCREEN_ROUTES],
        openapi_config=None,
        state=State({"context": context}),
        exception_handlers={HTTPException: _handle_http_exception, Exception: _handle_error},
        **settings,
    )
    app.asgi_handler = add_middleware(app.asgi_handler, context)
    return app


def litestar_handler(operation: Operation) -> HTTPRouteHandler:
    """Return an operation as a route."""

    async def handle(request: Request[Any, Any, Any]) -> Response[bytes]:
        context = server_context(request)
        try:
            path = from_litestar_params(request.path_params)
            reply = await dispatch(context, operation, request.scope, request.receive, path)
        except ClientDisconnected:
            return Response(b"", status_code=400)  # nobody hears it
        except Exception as error:
            reply = problem_response(error, parse_headers(request.scope), context)
        return _litestar_response(reply)

    handler = HTTPRouteHandler(
        to_litestar_path(operation.path),
        http_method=operation.method,  # type: ignore[arg-type]
        name=operation.name,
        opt={"query": operation.name, "operation": operation},
        status_code=200,  # each reply says its own
    )
    return handler(handle)


def _litestar_response(response: HttpResponse) -> Response[bytes]:
    headers = {name.decode(): value.decode() for name, value in response.headers}
    return Response(
        response.body,
        status_code=response.status,
        headers=headers,
        media_type=response.media_type.decode(),
    )


def _handle_http_exception(
    request: Request[Any, Any, Any], error: HTTPException
) -> Response[bytes]:
    """Answer what is under no address, or done by another method, in the same form as all else."""
    problem: Exception = error
    if error.status_code == 404:
        problem = HttpProblem(404, "door/no-such")
    elif error.status_code == 405:
        problem = HttpProblem(405, "door/method", method=request.method)
    elif error.status_code < 500:
        problem = HttpProblem(error.status_code, "door/form", problem=error.detail)
    response = _litestar_response(
        problem_response(problem, parse_headers(request.scope), server_context(request))
    )
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_allowed_methods(request.app, request.scope["path"]))
    return response


def _allowed_methods(app: Litestar, path: str) -> list[str]:
    """Return the methods that an address takes."""
    allowed = []
    for method in HTTP_METHODS:
        with suppress(HTTPException):
            app.asgi_router.handle_routing(path=path, method=method)
            allowed += ["GET", "HEAD"] if method == "GET" else [method]
    return allowed


def _handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer a defect, saying nothing of it."""
    return _litestar_response(
        problem_response(error, parse_headers(request.scope), server_context(request))
    )


SCREENS_DIR: Final = Path(__file__).parent / "screens"


PAGE_PATHS: Final = ("table", "deal", "board", "pit", "odds", "account")
"""What the addresses of pages begin with; the lobby is at none of them."""


IMMUTABLE_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"


NOT_BUILT_PAGE: Final = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Threedice</title>
<h1>The screens are not built</h1>
<p>Build them with <code>make screens</code>, or install the package anew.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class ScreenFile:
    """A file of the screens, and the same made smaller, where that helps."""

    media_type: str
    content: bytes
    gzipped: bytes | None


@cache
def screen_files() -> dict[str, ScreenFile]:
    """Return everything that was built, by its address."""
    if not (SCREENS_DIR / "index.html").exists():
        return {"/index.html": ScreenFile("text/html; charset=utf-8", NOT_BUILT_PAGE, None)}
    return {
        "/" + each.relative_to(SCREENS_DIR).as_posix(): _load_screen_file(each)
        for each in SCREENS_DIR.rglob("*")
        if each.is_file() and each.suffix and not each.parent.name.startswith(".")
    }


def _load_screen_file(path: Path) -> ScreenFile:
    whole = path.read_bytes()
    smaller = gzip.compress(whole, mtime=0)
    kind = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return ScreenFile(kind, whole, smaller if len(smaller) < len(whole) else None)


_MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


async def _show_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    return _screen_response(request, screen_files()["/index.html"], "no-cache")


async def _show_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    found = screen_files().get(request.scope["path"])
    if found is None:
        raise HttpProblem(404, "door/no-such")
    return _screen_response(request, found, IMMUTABLE_CACHE_CONTROL)


def _screen_response(
    request: Request[Any, Any, Any], file: ScreenFile, cache_control: str
) -> Response[bytes]:
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    body = file.content
    if file.gzipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = file.gzipped
    return Response(body, headers=headers, media_type=file.media_type)


def _screen_route(paths: list[str], name: str, handle: Any) -> HTTPRouteHandler:
    return HTTPRouteHandler(paths, http_method="GET", name=name, status_code=200)(handle)


SCREEN_ROUTES: Final[tuple[ControllerRouterHandler, ...]] = (
    _screen_route(
        [
            "/",
            *(
                address
                for place in PAGE_PATHS
                for address in (f"/{place}", f"/{place}/{{rest:path}}")
            ),
        ],
        "show-page",
        _show_page,
    ),
    _screen_route(["/assets/{rest:path}"], "show-asset", _show_asset),
)
