"""Assemble the Litestar application: operations, live sockets, error handlers and screens.

The screens are a single-page application, built into the package by screens/build.py. Assets have
content hashes in their names and are cached for ever; the page itself is revalidated on every load.
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
from threedice.api.routes.approvals import APPROVAL_OPERATIONS
from threedice.api.routes.commands import COMMAND_OPERATIONS, send_command
from threedice.api.routes.games import GAME_OPERATIONS
from threedice.api.routes.history import HISTORY_OPERATIONS
from threedice.api.routes.house import HOUSE_OPERATIONS, MONITORING_OPERATIONS
from threedice.api.routes.people import PEOPLE_OPERATIONS
from threedice.api.routes.sessions import SESSION_OPERATIONS
from threedice.api.routes.sign_in import SIGN_IN_OPERATIONS
from threedice.api.routes.tables import TABLE_OPERATIONS
from threedice.api.routes.worksheets import WORKSHEET_OPERATIONS
from threedice.rulebook import shipped_games

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

HTTP_METHODS: Final = ("GET", "POST", "PUT", "DELETE")

SCREENS_DIR: Final = Path(__file__).parent / "screens"

PAGE_PATHS: Final = ("table", "deal", "board", "pit", "odds", "account")
"""First path segments of the pages; the lobby is at the root."""

IMMUTABLE_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"

NOT_BUILT_PAGE: Final = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Threedice</title>
<h1>The screens are not built</h1>
<p>Build them with <code>make screens</code>, or reinstall the package.</p>
</html>
"""

_MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def make_app(context: ServerContext, **settings: Any) -> Litestar:
    """Build the application of a house: operations, live sockets and screens."""
    _load_files()
    routes = [litestar_handler(each) for each in OPERATIONS]
    app = Litestar(
        [*routes, *LIVE_ROUTES, *SCREEN_ROUTES],
        openapi_config=None,
        state=State({"context": context}),
        exception_handlers={HTTPException: _handle_http_exception, Exception: _handle_error},
        **settings,
    )
    app.asgi_handler = add_middleware(app.asgi_handler, context, fast_command=send_command)
    return app


def _load_files() -> None:
    """Load the files that requests need, so that none of them waits for a file descriptor."""
    screen_files()
    shipped_games()
    _encoded_document()  # contains the version of the installed package


@operation("read-openapi", "GET", "/api/openapi.json", response=dict[str, Any])
async def read_openapi(_request: RequestContext) -> HttpResponse:
    """Read the OpenAPI document."""
    return HttpResponse(200, _encoded_document())


OPERATIONS: Final[tuple[Operation, ...]] = (
    *SIGN_IN_OPERATIONS,
    *SESSION_OPERATIONS,
    *TABLE_OPERATIONS,
    *WORKSHEET_OPERATIONS,
    *COMMAND_OPERATIONS,
    *APPROVAL_OPERATIONS,
    *HISTORY_OPERATIONS,
    *ACCOUNT_OPERATIONS,
    *GAME_OPERATIONS,
    *PEOPLE_OPERATIONS,
    *HOUSE_OPERATIONS,
    *MONITORING_OPERATIONS,
    read_openapi,
)
"""All HTTP operations, in the order of the reference."""


@cache
def _encoded_document() -> bytes:
    return msgspec.json.encode(build_document(OPERATIONS))


def litestar_handler(operation: Operation) -> HTTPRouteHandler:
    """Wrap an operation as a Litestar route handler."""

    async def handle(request: Request[Any, Any, Any]) -> Response[bytes]:
        context = server_context(request)
        try:
            path_params = from_litestar_params(request.path_params)
            response = await dispatch(
                context, operation, request.scope, request.receive, path_params
            )
        except ClientDisconnected:
            return Response(b"", status_code=400)  # the client does not receive it
        except Exception as error:
            response = problem_response(error, parse_headers(request.scope), context)
        return _litestar_response(response)

    handler = HTTPRouteHandler(
        to_litestar_path(operation.path),
        http_method=operation.method,  # type: ignore[arg-type]
        name=operation.name,
        opt={"query": operation.name, "operation": operation},
        status_code=200,  # overridden by the status of each response
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


# --- errors -------------------------------------------------------------------------------------


def _handle_http_exception(
    request: Request[Any, Any, Any], error: HTTPException
) -> Response[bytes]:
    """Return Litestar's own errors, such as unknown paths and methods, as problem responses."""
    problem: Exception = error
    if error.status_code == 404:
        problem = HttpProblem(404, "door/no-such")
    elif error.status_code == 405:
        problem = HttpProblem(405, "door/method", method=request.method)
    elif error.status_code < 500:
        problem = HttpProblem(error.status_code, "door/form", problem=error.detail)
    response = _handle_error(request, problem)
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_allowed_methods(request.app, request.scope["path"]))
    return response


def _allowed_methods(app: Litestar, path: str) -> list[str]:
    allowed = []
    for method in HTTP_METHODS:
        with suppress(HTTPException):
            app.asgi_router.handle_routing(path=path, method=method)
            allowed += ["GET", "HEAD"] if method == "GET" else [method]
    return allowed


def _handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return an error as a problem response; of an unexpected one, a bare 500."""
    return _litestar_response(
        problem_response(error, parse_headers(request.scope), server_context(request))
    )


# --- screens ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScreenFile:
    """A file of the built screens; `gzipped` is None if compression does not make it smaller."""

    media_type: str
    content: bytes
    gzipped: bytes | None


@cache
def screen_files() -> dict[str, ScreenFile]:
    """Load all built files, by URL path."""
    if not (SCREENS_DIR / "index.html").exists():
        return {"/index.html": ScreenFile("text/html; charset=utf-8", NOT_BUILT_PAGE, None)}
    return {
        "/" + path.relative_to(SCREENS_DIR).as_posix(): _load_screen_file(path)
        for path in SCREENS_DIR.rglob("*")
        if path.is_file() and path.suffix and not path.parent.name.startswith(".")
    }


def _load_screen_file(path: Path) -> ScreenFile:
    content = path.read_bytes()
    gzipped = gzip.compress(content, mtime=0)
    media_type = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return ScreenFile(media_type, content, gzipped if len(gzipped) < len(content) else None)


async def _show_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    return _screen_response(request, screen_files()["/index.html"], "no-cache")


async def _show_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    file = screen_files().get(request.scope["path"])
    if file is None:
        raise HttpProblem(404, "door/no-such")
    return _screen_response(request, file, IMMUTABLE_CACHE_CONTROL)


def _screen_response(
    request: Request[Any, Any, Any], file: ScreenFile, cache_control: str
) -> Response[bytes]:
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    body = file.content
    if file.gzipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = file.gzipped
    return Response(body, headers=headers, media_type=file.media_type)


def _screen_route(paths: list[str], name: str, handler: Any) -> HTTPRouteHandler:
    return HTTPRouteHandler(paths, http_method="GET", name=name, status_code=200)(handler)


_PAGE_ROUTES: Final = [f"/{page}{rest}" for page in PAGE_PATHS for rest in ("", "/{rest:path}")]

SCREEN_ROUTES: Final[tuple[ControllerRouterHandler, ...]] = (
    _screen_route(["/", *_PAGE_ROUTES], "show-page", _show_page),
    _screen_route(["/assets/{rest:path}"], "show-asset", _show_asset),
)
