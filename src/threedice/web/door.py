"""The door: every request comes through here, and every reply leaves with the house's headers.

It wraps the whole application, so that nothing it serves, and no error of it, goes round. Commands
for tables, which are by far the most, are answered at once; all else goes on to the routes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from litestar.enums import ScopeType

from threedice.web.answering import respond
from threedice.web.commands import send_command
from threedice.web.entering import Gone, check_entry, headers_of
from threedice.web.handshakes import refuse
from threedice.web.problems import Turned
from threedice.web.replying import adding, house_headers, reply_to, send_reply, without_body

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

    from threedice.web.context import Context

_BEFORE: Final = "/api/tables/"
_AFTER: Final = "/commands"
_LIVE: Final = re.compile(r"/api/tables/[^/]+/live")


def behind_the_door(app: ASGIApp, context: Context) -> ASGIApp:
    """Return an application that is reached through the door only."""
    api = house_headers(context, "/api")
    pages = house_headers(context, "/")

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            if _LIVE.fullmatch(scope["path"]):
                await app(scope, receive, send)
            else:  # the router would close it without a word
                nothing = Turned(404, "door/no-such")
                await refuse(scope, send, reply_to(nothing, headers_of(scope), context))
            return
        if scope["method"] == "HEAD":  # what GET would say, without saying it
            scope, send = {**scope, "method": "GET"}, without_body(send)
        path, headers = scope["path"], headers_of(scope)
        ours = api if path.startswith("/api") or path in ("/health", "/metrics") else pages
        try:
            check_entry(context, scope, headers)
            if scope["method"] != "POST" or not path.startswith(_BEFORE):
                await app(scope, receive, adding(send, ours))
                return
            table = path[len(_BEFORE) : -len(_AFTER)]
            if not path.endswith(_AFTER) or "/" in table or not table:
                await app(scope, receive, adding(send, ours))
                return
            reply = await respond(context, send_command, scope, receive, {"table": table})
        except Gone:
            return
        except Exception as error:
            reply = reply_to(error, headers, context)
        await send_reply(send, reply, ours)

    return door
