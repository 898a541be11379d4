"""Assemble the Litestar application: operations, live sockets, exception handler and screens.

The screens are a single-page application, built into the package by screens/build.py. Assets have
content hashes in their names and are cached for ever; the page itself is revalidated on every load.
"""

from __future__ import annotations

import gzip
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from litestar import Litestar, Request, Response, Router, get
from litestar.datastructures import State

from threedice.api.auth.authentication import check_request
from threedice.api.context import ServerContext, handler_dependencies
from threedice.api.http.answer_cache import (
    REVALIDATED,
    Answer,
    make_answer,
    revalidated_response,
)
from threedice.api.http.middleware import add_middleware, skip_router
from threedice.api.http.openapi import build_document
from threedice.api.http.problems import HttpProblem, handle_error
from threedice.api.http.requests import HouseRequest
from threedice.api.live.connection import follow_table
from threedice.api.routes import ROUTE_HANDLERS
from threedice.api.routes.commands import send_command
from threedice.rulebook import shipped_games

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
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def make_app(context: ServerContext) -> Litestar:
    """Build the application of a house: operations, live sockets and screens."""
    _load_files()
    operations = Router(
        "/",
        route_handlers=API_HANDLERS,
        before_request=check_request,  # type: ignore[arg-type]
    )
    app = Litestar(
        [operations, follow_table, show_page, show_asset],
        state=State({"context": context}),
        dependencies=handler_dependencies(context),
        request_class=HouseRequest,
        exception_handlers={Exception: show_error},
        openapi_config=None,
        logging_config=None,
    )
    app.asgi_handler = add_middleware(skip_router(app.asgi_handler, send_command, context), context)
    return app


def _load_files() -> None:
    """Load the files that requests need, so that none of them waits for a file descriptor."""
    screen_files()
    shipped_games()
    _document()  # contains the version of the installed package


@get("/api/openapi.json", name="read-openapi", opt=REVALIDATED)
async def read_openapi(request: HouseRequest) -> Response[dict[str, Any]]:
    """Read the OpenAPI document."""
    return revalidated_response(request, _document())


API_HANDLERS: Final = (*ROUTE_HANDLERS, read_openapi)
"""All HTTP operations, in the order of the reference."""


@cache
def _document() -> Answer:
    return make_answer(build_document(API_HANDLERS))


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
        return {"/index.html": ScreenFile("text/html", NOT_BUILT_PAGE, None)}
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


@get(
    ["/", *(f"/{page}{rest}" for page in PAGE_PATHS for rest in ("", "/{rest:path}"))],
    name="show-page",
)
async def show_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Show the page of the screens."""
    return _screen_response(request, screen_files()["/index.html"], "no-cache")


def show_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return an error as a problem response; a browser at an unknown address gets the page."""
    response = handle_error(request, error)
    path, accept = request.scope["path"], request.headers.get("accept", "")
    if response.status_code != 404 or path.startswith(("/api/", "/assets/")):
        return response
    if request.method != "GET" or "text/html" not in accept:
        return response
    return _screen_response(request, screen_files()["/index.html"], "no-cache", status=404)


@get("/assets/{rest:path}", name="show-asset")
async def show_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Serve a script, a style sheet or an image of the screens."""
    file = screen_files().get(request.scope["path"])
    if file is None:
        raise HttpProblem(404, "door/no-such")
    return _screen_response(request, file, IMMUTABLE_CACHE_CONTROL)


def _screen_response(
    request: Request[Any, Any, Any], file: ScreenFile, cache_control: str, status: int = 200
) -> Response[bytes]:
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    body = file.content
    if file.gzipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = file.gzipped
    return Response(body, status_code=status, headers=headers, media_type=file.media_type)
