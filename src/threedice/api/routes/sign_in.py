"""Signing in and out, unlocking, passwords and codes.

A token is in a cookie that scripts cannot read, and is never in an answer. None is ever taken from
whoever signs in: it is made anew whenever he comes to be allowed more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.api.auth.authentication import parse_cookie
from threedice.api.http.limits import run_in_thread, run_limited
from threedice.api.http.operations import Operation, RequestContext, operation
from threedice.identity import RecordNotFound, Role, SessionState
from threedice.identity.passwords import MAX_PASSWORD_CHARACTERS

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.identity import IssuedSession, Session

Password = Annotated[str, msgspec.Meta(max_length=MAX_PASSWORD_CHARACTERS)]
Code = Annotated[str, msgspec.Meta(max_length=64)]
SignInName = Annotated[str, msgspec.Meta(max_length=256)]


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A name, a password, and a code where the account has codes."""

    name: SignInName
    password: Password
    code: Code = ""


class ReauthenticationForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A password, or a code; some things ask for both."""

    password: Password = ""
    code: Code = ""


class ChangePasswordForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The password there is, and the one to come."""

    old: Password
    new: Password


class CodeForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A code."""

    code: Code


class SessionView(msgspec.Struct, frozen=True):
    """Somebody who has signed in, and what his session is good for."""

    account: str
    name: str
    roles: tuple[Role, ...]
    session: str
    standing: SessionState
    created: int
    until: int
    tables: list[str] | None
    """The tables he works at now; nothing where his roles have the whole floor or none."""


class EnrolmentView(msgspec.Struct, frozen=True):
    """A secret for a telephone, as letters and as what a picture of it says; shown once."""

    secret: str
    uri: str


class RecoveryCodes(msgspec.Struct, frozen=True):
    """Codes for when the telephone is lost; shown once."""

    recovery_codes: tuple[str, ...]


# --- coming and going ---------------------------------------------------------------------------


@operation(
    "sign-in",
    "POST",
    "/api/session",
    body=Credentials,
    response=SessionView,
    problems=(401, 429, 503),
)
async def sign_in(request: RequestContext) -> SessionView:
    """Sign in with a name and a password, and a code where one is needed."""
    form, context = request.body, request.context
    previous_token = parse_cookie(request.headers.get(b"cookie", b""), context.cookie_name)
    signed_in = await run_limited(
        context.hashing_limiter,
        context.identity.authentication.sign_in,
        form.name,
        form.password,
        code=form.code,
        address=request.client_address,
        replacing=previous_token,
    )
    return set_session_cookie(request, signed_in)


@operation("show-session", "GET", "/api/session", response=SessionView)
async def show_session(request: RequestContext) -> SessionView:
    """Tell who has signed in, and what the session is good for."""
    session = request.context.identity.sessions.resolve(request.token, touch=False)
    if session is None:
        raise RecordNotFound("session", request.caller.session_id)
    return _session_view(request.context, session)


@operation("sign-out", "DELETE", "/api/session", status=204)
async def sign_out(request: RequestContext) -> None:
    """Sign out; the session's cookie is worth nothing any more."""
    await run_in_thread(request.context.identity.sessions.sign_out, request.token)
    request.response_headers.append(
        (b"set-cookie", _session_cookie(request.context, "", expired=True))
    )


@operation("lock", "POST", "/api/session/lock", status=204)
async def lock(request: RequestContext) -> None:
    """Lock the session, as somebody does who leaves his place."""
    await run_in_thread(request.context.identity.sessions.lock, request.token)


@operation(
    "unlock",
    "POST",
    "/api/session/unlock",
    body=ReauthenticationForm,
    response=SessionView,
    problems=(401, 429),
)
async def unlock(request: RequestContext) -> SessionView:
    """Unlock the session with the password or a code."""
    return set_session_cookie(request, await reauthenticate(request, request.body))


@operation(
    "change-password",
    "PUT",
    "/api/session/password",
    body=ChangePasswordForm,
    response=SessionView,
    problems=(401, 429),
)
async def change_password(request: RequestContext) -> SessionView:
    """Choose another password; all other sessions end."""
    form, door = request.body, request.context.identity.authentication
    signed_in = await run_limited(
        request.context.hashing_limiter,
        door.change_password,
        request.token,
        form.old,
        form.new,
        address=request.client_address,
    )
    return set_session_cookie(request, signed_in)


# --- codes --------------------------------------------------------------------------------------


@operation(
    "begin-codes",
    "POST",
    "/api/session/codes",
    body=ReauthenticationForm,
    response=EnrolmentView,
    problems=(401, 409, 429),
)
async def begin_codes(request: RequestContext) -> EnrolmentView:
    """Begin to set up codes, for the password; where there are some, also for one of them."""
    form, codes = request.body, request.context.identity.second_factors
    made = await run_limited(
        request.context.hashing_limiter,
        codes.begin_enrolment,
        request.token,
        password=form.password,
        code=form.code,
        address=request.client_address,
    )
    return EnrolmentView(made.secret, made.uri)


@operation(
    "confirm-codes",
    "PUT",
    "/api/session/codes",
    body=CodeForm,
    response=RecoveryCodes,
    problems=(401, 409, 429),
)
async def confirm_codes(request: RequestContext) -> RecoveryCodes:
    """Put codes into use with the first of them."""
    codes = request.context.identity.second_factors
    enrolled = await run_limited(
        request.context.hashing_limiter,
        codes.confirm_enrolment,
        request.token,
        request.body.code,
        address=request.client_address,
    )
    set_session_cookie(request, enrolled.signed_in)
    return RecoveryCodes(enrolled.recovery_codes)


@operation(
    "renew-recovery-codes",
    "POST",
    "/api/session/recovery-codes",
    body=ReauthenticationForm,
    response=RecoveryCodes,
    problems=(401, 409, 429),
)
async def renew_recovery_codes(request: RequestContext) -> RecoveryCodes:
    """Make new recovery codes, for the password and a code."""
    form, codes = request.body, request.context.identity.second_factors
    made = await run_limited(
        request.context.hashing_limiter,
        codes.replace_recovery_codes,
        request.token,
        password=form.password,
        code=form.code,
        address=request.client_address,
    )
    return RecoveryCodes(made)


# --- what they share ----------------------------------------------------------------------------


async def reauthenticate(request: RequestContext, proof: ReauthenticationForm) -> IssuedSession:
    """Have whoever sits there prove again that it is he; the session goes on under a new token."""
    return await run_limited(
        request.context.hashing_limiter,
        request.context.identity.authentication.unlock,
        request.token,
        password=proof.password,
        code=proof.code,
        address=request.client_address,
    )


def set_session_cookie(request: RequestContext, signed_in: IssuedSession) -> SessionView:
    """Give whoever was let in his new cookie, and tell him who he is."""
    request.response_headers.append(
        (b"set-cookie", _session_cookie(request.context, signed_in.token))
    )
    request.token = signed_in.token
    return _session_view(request.context, signed_in.session)


def _session_cookie(context: ServerContext, token: str, *, expired: bool = False) -> bytes:
    """Return the session's cookie: for this host alone, and out of every script's reach."""
    secure = "; Secure" if context.secure else ""
    ends = "; Max-Age=0" if expired else ""
    return (
        f"{context.cookie_name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}".encode()
    )


def _session_view(context: ServerContext, session: Session) -> SessionView:
    account = session.account
    posts = context.assignments.current(account.id)
    tables = sorted({post.table for post in posts if post.table is not None})
    return SessionView(
        account=account.id,
        name=account.name,
        roles=account.roles,
        session=session.id,
        standing=session.standing,
        created=session.created,
        until=session.until,
        tables=None if any(post.table is None for post in posts) or not posts else tables,
    )


SESSION_OPERATIONS: Final[tuple[Operation, ...]] = (
    sign_in,
    show_session,
    sign_out,
    lock,
    unlock,
    change_password,
    begin_codes,
    confirm_codes,
    renew_recovery_codes,
)
