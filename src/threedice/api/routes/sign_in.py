"""Sign-in, sign-out, locking, passwords and second factors.

Session tokens travel in an `HttpOnly` cookie only, never in a response body. Each sign-in and each
rise in privilege issues a new token, which prevents session fixation.

A second, long-lived cookie holds the device tokens of the accounts that signed in with the browser.
They give no access, only an allowance of attempts that strangers cannot use up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
from litestar import Response, delete, get, post, put
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from threedice.api.auth.authentication import parse_cookie
from threedice.api.auth.authorisation import working_tables
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import problem_responses
from threedice.api.http.requests import HouseRequest
from threedice.api.views import build_view
from threedice.errors import QueueFull
from threedice.identity import (
    Account,
    ApiToken,
    IssuedSession,
    RecordNotFound,
    Role,
    Session,
    SessionState,
    SignInRefused,
    TotpEnrolment,
)
from threedice.identity.authentication.devices import DEVICE_LIFETIME_SECONDS
from threedice.identity.authentication.passwords import MAX_PASSWORD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MAX_DEVICE_TOKENS: Final = 8
"""Number of accounts that a shared terminal remembers, such as those of the dealers at a table."""

DEVICE_SEPARATOR: Final = "."
_DEVICE_TOKEN: Final = re.compile("[A-Za-z0-9_-]{43}")

BUSY_WAIT_SECONDS: Final = 5
"""Wait of a client whose attempts were too many for the queue."""

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
    """A session or an API token: its account, its roles and its state.

    `tables` are the tables that the account may work at now, none if it is not assigned to any;
    null for an account whose roles need no assignment, or that is assigned to all tables. `scopes`
    are those of an API token, whose `until` is 0 if it does not expire; null for a session.
    """

    account: str
    name: str
    roles: tuple[Role, ...]
    session: str
    standing: SessionState
    created: int
    until: int
    tables: list[str] | None
    scopes: tuple[str, ...] | None


class RecoveryCodes(msgspec.Struct, frozen=True):
    """Recovery codes for a lost second factor; shown only once."""

    recovery_codes: tuple[str, ...]


# --- sessions -----------------------------------------------------------------------------------


@post("/api/session", name="sign-in", status_code=200, responses=problem_responses(401, 429))
async def sign_in(request: HouseRequest, data: JSONBody[Credentials]) -> Response[SessionView]:
    """Sign in with a name and a password, and a code if one is needed."""
    context, authentication = request.context, request.context.identity.authentication
    cookies = request.raw_headers.get(b"cookie", b"")
    address, devices = request.client_address, _device_tokens(request)
    try:
        async with context.throttle_queue.turn(devices[0] if devices else address):
            origin = await context.run_blocking(
                authentication.check_wait,
                data.name,
                data.password,
                address=address,
                devices=devices,
            )
        async with context.hashing_queue.turn(*origin.clients, preferred=origin.is_known_device):
            signed_in = await context.run_blocking(
                authentication.sign_in,
                data.name,
                data.password,
                code=data.code,
                address=address,
                devices=devices,
                replacing=parse_cookie(cookies, context.cookie_name),
            )
    except QueueFull:
        raise SignInRefused("wait", BUSY_WAIT_SECONDS) from None
    return _session_response(request, signed_in)


@get("/api/session", name="show-session")
async def show_session(
    context: Context, caller: CurrentCaller, request: HouseRequest
) -> SessionView:
    """Show the caller's session, or the API token of a program."""
    identity = context.identity
    if caller.scopes is not None:
        api_token = identity.tokens.resolve(request.auth)
        if api_token is None:
            raise RecordNotFound("token", caller.session_id)
        return _token_view(context, api_token)
    session = identity.sessions.resolve(request.auth, touch=False)
    if session is None:
        raise RecordNotFound("session", caller.session_id)
    return _session_view(context, session)


@delete("/api/session", name="sign-out")
async def sign_out(context: Context, request: HouseRequest) -> Response[None]:
    """Sign out and invalidate the session cookie."""
    await context.run_blocking(context.identity.sessions.sign_out, request.auth)
    return Response(None, headers=session_cookie(context, "", expired=True))


@post("/api/session/lock", name="lock", status_code=204)
async def lock(context: Context, request: HouseRequest) -> None:
    """Lock the session, for staff who leave their terminal."""
    await context.run_blocking(context.identity.sessions.lock, request.auth)


@post("/api/session/unlock", name="unlock", status_code=200, responses=problem_responses(429))
async def unlock(
    request: HouseRequest, data: JSONBody[ReauthenticationForm]
) -> Response[SessionView]:
    """Unlock the session with the password or a code."""
    return _session_response(request, await reauthenticate(request, data))


@put("/api/session/password", name="change-password", responses=problem_responses(429))
async def change_password(
    request: HouseRequest, data: JSONBody[ChangePasswordForm]
) -> Response[SessionView]:
    """Change the caller's password and end all other sessions."""
    change = request.context.identity.authentication.change_password
    signed_in = await _run_hashing(request, change, request.auth, data.old, data.new)
    return _session_response(request, signed_in)


# --- second factors -----------------------------------------------------------------------------


@post(
    "/api/session/codes", name="begin-codes", status_code=200, responses=problem_responses(409, 429)
)
async def begin_codes(
    context: Context, request: HouseRequest, data: JSONBody[ReauthenticationForm]
) -> TotpEnrolment:
    """Begin the enrolment of a second factor; replacing one requires one of its codes as well."""
    begin = context.identity.second_factors.begin_enrolment
    return await run_with_credentials(request, begin, data)


@put("/api/session/codes", name="confirm-codes", responses=problem_responses(409, 429))
async def confirm_codes(
    context: Context, request: HouseRequest, data: JSONBody[CodeForm]
) -> Response[RecoveryCodes]:
    """Confirm the enrolment of a second factor with its first code."""
    confirm = context.identity.second_factors.confirm_enrolment
    enrolled = await _run_hashing(request, confirm, request.auth, data.code)
    cookie = session_cookie(context, enrolled.issued_session.token)
    return Response(RecoveryCodes(enrolled.recovery_codes), headers=cookie)


@post(
    "/api/session/recovery-codes",
    name="renew-recovery-codes",
    status_code=200,
    responses=problem_responses(409, 429),
)
async def renew_recovery_codes(
    context: Context, request: HouseRequest, data: JSONBody[ReauthenticationForm]
) -> RecoveryCodes:
    """Replace the recovery codes; requires the password and a code."""
    replace = context.identity.second_factors.replace_recovery_codes
    return RecoveryCodes(await run_with_credentials(request, replace, data))


# --- helpers ------------------------------------------------------------------------------------


async def reauthenticate(request: HouseRequest, form: ReauthenticationForm) -> IssuedSession:
    """Verify the caller's password or code again; the session continues under a new token."""
    unlock_session = request.context.identity.authentication.unlock
    return await run_with_credentials(request, unlock_session, form)


async def run_with_credentials(
    request: HouseRequest, operation: Callable[..., T], form: ReauthenticationForm
) -> T:
    """Run an operation on the caller's session that verifies their password or a code."""
    return await _run_hashing(
        request, operation, request.auth, password=form.password, code=form.code
    )


async def _run_hashing(
    request: HouseRequest, operation: Callable[..., T], *arguments: str, **options: str
) -> T:
    """Run an operation on the caller's session that hashes passwords."""
    return await request.context.hashing_queue.run(
        request.user.session_id,
        operation,
        *arguments,
        address=request.client_address,
        **options,
    )


def session_cookie(context: Context, token: str, *, expired: bool = False) -> dict[str, str]:
    """Return the header of the session cookie: for this host only, not readable by scripts."""
    secure = "; Secure" if context.secure else ""
    max_age = "; Max-Age=0" if expired else ""
    cookie = f"{context.cookie_name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{max_age}"
    return {"Set-Cookie": cookie}


def _session_response(request: HouseRequest, signed_in: IssuedSession) -> Response[SessionView]:
    """Return the view of a session, and set the cookies of its new token and of the device."""
    context = request.context
    view, headers = (
        _session_view(context, signed_in.session),
        session_cookie(context, signed_in.token),
    )
    cookies = [_device_cookie(request, signed_in.device)] if signed_in.device else []
    return Response(view, headers=headers, cookies=cookies)


def _device_cookie(request: HouseRequest, token: str) -> Cookie:
    """Return the device cookie with this token first, then those of other accounts."""
    others = [each for each in _device_tokens(request) if each != token]
    return Cookie(
        request.context.device_cookie_name,
        value=DEVICE_SEPARATOR.join([token, *others][:MAX_DEVICE_TOKENS]),
        max_age=DEVICE_LIFETIME_SECONDS,
        path="/",
        secure=request.context.secure,
        httponly=True,
        samesite="strict",
    )


def _device_tokens(request: HouseRequest) -> list[str]:
    """Return the device tokens that a browser sent, one for each account that used it."""
    cookies = request.raw_headers.get(b"cookie", b"")
    value = parse_cookie(cookies, request.context.device_cookie_name)
    tokens = value.split(DEVICE_SEPARATOR)[:MAX_DEVICE_TOKENS]
    return [token for token in tokens if _DEVICE_TOKEN.fullmatch(token)]


def _session_view(context: Context, session: Session) -> SessionView:
    return _build_session_view(
        context, session, session.account, standing=session.state, scopes=None
    )


def _token_view(context: Context, api_token: ApiToken) -> SessionView:
    return _build_session_view(
        context, api_token, api_token.account, standing="open", until=api_token.expires
    )


def _build_session_view(
    context: Context, source: Session | ApiToken, account: Account, **computed: Any
) -> SessionView:
    return build_view(
        SessionView,
        source,
        account=account.id,
        name=account.name,
        roles=account.roles,
        session=source.id,
        tables=working_tables(account.roles, context.assignments.current(account.id)),
        **computed,
    )
