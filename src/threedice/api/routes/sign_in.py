"""Sign-in, sign-out, locking, passwords and second factors.

Session tokens travel in an `HttpOnly` cookie only, never in a response body. Each sign-in and each
rise in privilege issues a new token, which prevents session fixation.
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
    """A name and a password, and a code if the account has a second factor."""

    name: SignInName
    password: Password
    code: Code = ""


class ReauthenticationForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A password or a code; some operations require both."""

    password: Password = ""
    code: Code = ""


class ChangePasswordForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The current password and the new one."""

    old: Password
    new: Password


class CodeForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A code of a second factor."""

    code: Code


class SessionView(msgspec.Struct, frozen=True):
    """A session: its account, its roles and its state.

    `tables` are the tables that the account is assigned to now; null if it is assigned to all
    tables or to none.
    """

    account: str
    name: str
    roles: tuple[Role, ...]
    session: str
    standing: SessionState
    created: int
    until: int
    tables: list[str] | None


class EnrolmentView(msgspec.Struct, frozen=True):
    """A TOTP secret, as text and as the URI of its QR code; shown only once."""

    secret: str
    uri: str


class RecoveryCodes(msgspec.Struct, frozen=True):
    """Recovery codes for a lost second factor; shown only once."""

    recovery_codes: tuple[str, ...]


# --- sessions -----------------------------------------------------------------------------------


@operation(
    "sign-in",
    "POST",
    "/api/session",
    body=Credentials,
    response=SessionView,
    problems=(401, 429, 503),
)
async def sign_in(request: RequestContext) -> SessionView:
    """Sign in with a name and a password, and a code if one is needed."""
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
    """Show the caller's session."""
    session = request.context.identity.sessions.resolve(request.token, touch=False)
    if session is None:
        raise RecordNotFound("session", request.caller.session_id)
    return _session_view(request.context, session)


@operation("sign-out", "DELETE", "/api/session", status=204)
async def sign_out(request: RequestContext) -> None:
    """Sign out and invalidate the session cookie."""
    await run_in_thread(request.context.identity.sessions.sign_out, request.token)
    request.response_headers.append(
        (b"set-cookie", _session_cookie(request.context, "", expired=True))
    )


@operation("lock", "POST", "/api/session/lock", status=204)
async def lock(request: RequestContext) -> None:
    """Lock the session, for staff who leave their terminal."""
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
    """Change the caller's password and end all other sessions."""
    form, authentication = request.body, request.context.identity.authentication
    signed_in = await run_limited(
        request.context.hashing_limiter,
        authentication.change_password,
        request.token,
        form.old,
        form.new,
        address=request.client_address,
    )
    return set_session_cookie(request, signed_in)


# --- second factors -----------------------------------------------------------------------------


@operation(
    "begin-codes",
    "POST",
    "/api/session/codes",
    body=ReauthenticationForm,
    response=EnrolmentView,
    problems=(401, 409, 429),
)
async def begin_codes(request: RequestContext) -> EnrolmentView:
    """Begin the enrolment of a second factor; replacing one requires one of its codes as well."""
    form, second_factors = request.body, request.context.identity.second_factors
    enrolment = await run_limited(
        request.context.hashing_limiter,
        second_factors.begin_enrolment,
        request.token,
        password=form.password,
        code=form.code,
        address=request.client_address,
    )
    return EnrolmentView(enrolment.secret, enrolment.uri)


@operation(
    "confirm-codes",
    "PUT",
    "/api/session/codes",
    body=CodeForm,
    response=RecoveryCodes,
    problems=(401, 409, 429),
)
async def confirm_codes(request: RequestContext) -> RecoveryCodes:
    """Confirm the enrolment of a second factor with its first code."""
    second_factors = request.context.identity.second_factors
    enrolled = await run_limited(
        request.context.hashing_limiter,
        second_factors.confirm_enrolment,
        request.token,
        request.body.code,
        address=request.client_address,
    )
    set_session_cookie(request, enrolled.issued_session)
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
    """Replace the recovery codes; requires the password and a code."""
    form, second_factors = request.body, request.context.identity.second_factors
    recovery_codes = await run_limited(
        request.context.hashing_limiter,
        second_factors.replace_recovery_codes,
        request.token,
        password=form.password,
        code=form.code,
        address=request.client_address,
    )
    return RecoveryCodes(recovery_codes)


# --- helpers ------------------------------------------------------------------------------------


async def reauthenticate(request: RequestContext, form: ReauthenticationForm) -> IssuedSession:
    """Verify the caller's password or code again; the session continues under a new token."""
    return await run_limited(
        request.context.hashing_limiter,
        request.context.identity.authentication.unlock,
        request.token,
        password=form.password,
        code=form.code,
        address=request.client_address,
    )


def set_session_cookie(request: RequestContext, signed_in: IssuedSession) -> SessionView:
    """Set the cookie of a new session token in the response; return the view of the session."""
    request.response_headers.append(
        (b"set-cookie", _session_cookie(request.context, signed_in.token))
    )
    request.token = signed_in.token
    return _session_view(request.context, signed_in.session)


def _session_cookie(context: ServerContext, token: str, *, expired: bool = False) -> bytes:
    """Return the session cookie: for this host only, and not readable by scripts."""
    secure = "; Secure" if context.secure else ""
    max_age = "; Max-Age=0" if expired else ""
    name = context.cookie_name
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{max_age}".encode()


def _session_view(context: ServerContext, session: Session) -> SessionView:
    account = session.account
    assignments = context.assignments.current(account.id)
    tables = sorted({each.table for each in assignments if each.table is not None})
    has_all_tables = any(each.table is None for each in assignments)
    return SessionView(
        account=account.id,
        name=account.name,
        roles=account.roles,
        session=session.id,
        standing=session.state,
        created=session.created,
        until=session.until,
        tables=None if has_all_tables or not assignments else tables,
    )


SIGN_IN_OPERATIONS: Final[tuple[Operation, ...]] = (
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
