"""Displays: results boards that sign in with a token of their own, to show one table."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import HttpProblem, problem_responses
from threedice.api.http.requests import HouseRequest, OpaqueId, TableId
from threedice.api.routes.tables import require_table
from threedice.api.views import build_view
from threedice.identity.authentication.displays import Display

DISPLAY_COOKIE_SECONDS = 400 * 24 * 3600
"""The longest lifetime that browsers give a cookie; it is renewed whenever a board starts."""


class DisplayForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new display: the table that it shows, and a label, such as the place of the screen."""

    table: TableId
    label: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class DisplayTokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The token of a display."""

    token: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class DisplayView(msgspec.Struct, frozen=True):
    """The table and the label of a signed-in display."""

    table: str
    label: str


class NewDisplayView(msgspec.Struct, frozen=True):
    """A new display with its token, which is shown once."""

    token: str
    display: Display


@get("/api/displays", name="list-displays")
async def list_displays(context: Context) -> list[Display]:
    """List the displays of the house."""
    return await context.run_blocking(context.identity.displays.all)


@post("/api/displays", name="add-display", responses=problem_responses(404, 409))
async def add_display(
    context: Context, caller: CurrentCaller, data: JSONBody[DisplayForm]
) -> NewDisplayView:
    """Add a display for a table; its token is shown only once, and does not expire."""
    await require_table(context, data.table)
    add = context.identity.displays.add
    added = await context.run_blocking(add, data.table, data.label, by=caller.account.id)
    return NewDisplayView(added.token, added.display)


@delete("/api/displays/{display:str}", name="revoke-display")
async def revoke_display(context: Context, caller: CurrentCaller, display: OpaqueId) -> None:
    """Revoke a display; its board loses access at once."""
    await context.run_blocking(context.identity.displays.revoke, display, by=caller.account.id)


@post(
    "/api/displays/session",
    name="sign-in-display",
    status_code=200,
    responses=problem_responses(401, 429),
)
async def sign_in_display(
    context: Context, request: HouseRequest, data: JSONBody[DisplayTokenForm]
) -> Response[DisplayView]:
    """Sign a board in with its token; the cookie is sent only with requests for its table."""
    if seconds := context.address_limiter.take(request.client_address):
        raise HttpProblem(429, "door/rate", seconds=max(1, round(seconds)))
    display = await context.run_blocking(context.identity.displays.resolve, data.token)
    if display is None:
        raise HttpProblem(401, "door/display")
    view = build_view(DisplayView, display)
    return Response(view, headers=display_cookie_header(context, display.table, data.token))


@get("/api/tables/{table:str}/display", name="show-display")
async def show_display(
    context: Context, caller: CurrentCaller, request: HouseRequest, table: TableId
) -> Response[DisplayView]:
    """Show the display that is signed in for a table, and renew its cookie."""
    view = DisplayView(table, caller.account.name)
    return Response(view, headers=display_cookie_header(context, table, request.auth))


def display_cookie_header(context: Context, table: str, token: str) -> dict[str, str]:
    """Return the header of a display's cookie: for one table, not readable by scripts."""
    secure = "; Secure" if context.secure else ""
    cookie = (
        f"{context.display_cookie_name}={token}; Path=/api/tables/{table}; HttpOnly; "
        f"SameSite=Strict; Max-Age={DISPLAY_COOKIE_SECONDS}{secure}"
    )
    return {"Set-Cookie": cookie}
