"""Who is asking: a person with a session's cookie, or a program with a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from threedice.people.roles import is_staff
from threedice.people.tokens import BEGINS
from threedice.web.context import Context, context_of
from threedice.web.entering import cookie_of, headers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.connection import ASGIConnection

    from threedice.people import Account, Assignment, Standing

BEARER: Final = "bearer "
MOST_WARM: Final = 20_000

_warm: dict[int, str] = {}
"""Marks of tokens recognised before, with the account if it is one of the staff's: people remember
those, so that asking again is quick."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who was recognised; `session` is the id of the session or of the program.

    `scopes` are what a program may be used for; a person has none. `posts` are where he works at
    the moment he was recognised; a socket that stays open has him recognised again.
    """

    account: Account
    session: str
    scopes: tuple[str, ...] | None = None
    standing: Standing = "open"
    posts: tuple[Assignment, ...] = ()


def recognise(
    connection: ASGIConnection[Any, Any, Any, Any], *, touch: bool = True
) -> Visitor | None:
    """Return who is asking, if he may go on; one whose session is locked may not."""
    visitor = known(context_of(connection), credential(connection), touch=touch)
    return visitor if visitor is not None and visitor.standing == "open" else None


async def recognised(context: Context, token: str, *, touch: bool = True) -> Visitor | None:
    """Return whom a token stands for, however that stands; one seen before without waiting."""
    if not token:
        return None
    mark = hash(token)
    staff = _warm.get(mark)
    if staff == "" or (staff and context.posts.knows(staff)):
        return known(context, token, touch=touch)
    visitor = await to_thread.run_sync(lambda: known(context, token, touch=touch))
    if visitor is not None:
        if len(_warm) >= MOST_WARM:
            _warm.clear()
        account = visitor.account
        _warm[mark] = account.id if is_staff(account.roles) else ""
    return visitor


def credential(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return the token that a request or a socket carries."""
    return credential_of(context_of(connection), headers_of(connection.scope))


def credential_of(context: Context, headers: Mapping[bytes, bytes]) -> str:
    """Return the token that headers carry: a program's, or else that of the session's cookie."""
    authorization = headers.get(b"authorization")
    if authorization is not None:
        return _program_token(authorization.decode("latin-1"))
    token = cookie_of(headers.get(b"cookie", b""), context.cookie)
    return "" if token.startswith(BEGINS) else token


def _program_token(authorization: str) -> str:
    """Return the token of a program; nothing where there is another kind of credential."""
    if authorization[: len(BEARER)].lower() != BEARER:
        return ""
    token = authorization[len(BEARER) :].strip()
    return token if token.startswith(BEGINS) else ""


def known(context: Context, token: str, *, touch: bool = True) -> Visitor | None:
    """Return whom a token stands for, whether or not his session may be used now."""
    if not token:
        return None
    if token.startswith(BEGINS):
        program = context.people.tokens.recognise(token)
        if program is None:
            return None
        return Visitor(
            program.account, program.id, program.scopes, "open", _posts(context, program.account)
        )
    session = context.people.sessions.recognise(token, touch=touch)
    if session is None:
        return None
    posts = _posts(context, session.account)
    return Visitor(session.account, session.id, None, session.standing, posts)


def _posts(context: Context, account: Account) -> tuple[Assignment, ...]:
    return context.posts.of(account.id) if is_staff(account.roles) else ()
