"""The screens as they are served: one page whose parts are loaded as they are wanted.

They are built into the package (see screens/build.py). What is named after its content may be kept
for ever; the page itself is asked for anew each time.
"""

from __future__ import annotations

import gzip
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler

from threedice.web.problems import Turned

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

BUILT: Final = Path(__file__).parent / "screens"
PLACES: Final = ("table", "deal", "board", "pit", "odds", "account")
"""What the addresses of pages begin with; the lobby is at none of them."""

FOR_EVER: Final = "public, max-age=31536000, immutable"
NOT_BUILT: Final = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Threedice</title>
<h1>The screens are not built</h1>
<p>Build them with <code>make screens</code>, or install the package anew.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the screens, and the same made smaller, where that helps."""

    kind: str
    whole: bytes
    smaller: bytes | None


@cache
def files() -> dict[str, File]:
    """Return everything that was built, by its address."""
    if not (BUILT / "index.html").exists():
        return {"/index.html": File("text/html; charset=utf-8", NOT_BUILT, None)}
    return {
        "/" + each.relative_to(BUILT).as_posix(): _file(each)
        for each in BUILT.rglob("*")
        if each.is_file() and each.suffix and not each.parent.name.startswith(".")
    }


def _file(path: Path) -> File:
    whole = path.read_bytes()
    smaller = gzip.compress(whole, mtime=0)
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return File(kind, whole, smaller if len(smaller) < len(whole) else None)


_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


async def _show_page(request: Request[Any, Any, Any]) -> Response[bytes]:
    return _sent(request, files()["/index.html"], "no-cache")


async def _show_asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    found = files().get(request.scope["path"])
    if found is None:
        raise Turned(404, "door/no-such")
    return _sent(request, found, FOR_EVER)


def _sent(request: Request[Any, Any, Any], file: File, cache_control: str) -> Response[bytes]:
    headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    body = file.whole
    if file.smaller is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = file.smaller
    return Response(body, headers=headers, media_type=file.kind)


def _route(paths: list[str], name: str, handle: Any) -> HTTPRouteHandler:
    return HTTPRouteHandler(paths, http_method="GET", name=name, status_code=200)(handle)


PAGE_ROUTES: Final[tuple[ControllerRouterHandler, ...]] = (
    _route(
        [
            "/",
            *(address for place in PLACES for address in (f"/{place}", f"/{place}/{{rest:path}}")),
        ],
        "show-page",
        _show_page,
    ),
    _route(["/assets/{rest:path}"], "show-asset", _show_asset),
)
