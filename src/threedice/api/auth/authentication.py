"""Resolve session cookies and API tokens to callers, with a cache of their assignments.

`check_request` runs before every operation of the API. It also limits the rate of queries.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.api.auth.authorisation import can_use
from threedice.api.http.problems import HttpProblem
from threedice.api.http.requests import RATE_LIMIT_HEADERS, check_parameters
from threedice.identity import Account, Assignment, SessionState
from threedice.identity.authentication.displays import DISPLAY_PREFIX
from threedice.identity.authentication.tokens import TOKEN_PREFIX
from threedice.identity.roles import is_staff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.api.context import ServerContext
    from threedice.api.http.limits import RateAllowance
    from threedice.api.http.requests import HouseRequest
    from threedice.identity import AccessChange, IdentityService

BEARER_PREFIX: Final = "bearer "
MAX_WARM_TOKENS: Final = 20_000
ASSIGNMENT_CACHE_MICROSECONDS: Final = 5_000_000
MAX_CACHED_ASSIGNMENTS: Final = 5_000

OPERATIONS_WITH_OWN_LIMITS: Final = frozenset(
    {"send-command", "send-account-command", "sign-in", "unlock"}
)
"""Operations that are not counted as queries."""

_warm_tokens: dict[int, str] = {}
"""Hashes of tokens resolved before, with the account id for staff and '' for players.

The identity service has these tokens in its cache, so resolving them again does not block.
"""


class Caller(msgspec.Struct, frozen=True):
    """The account behind a request, with its session or API token.

    `session_id` is the id of either. `scopes` are those of an API token, and None for a session.
    `assignments` are those in force when the caller was resolved; an open socket resolves its
    caller again from time to time.
    """

    account: Account
    session_id: str
    scopes: tuple[str, ...] | None = None
    session_state: SessionState = "open"
    assignments: tuple[Assignment, ...] = ()
    display_table: str = ""
    """The only table that the caller may see, if it is a results board."""


async def check_request(request: HouseRequest) -> None:
    """Authenticate, authorise, and check path and query string, before every operation."""
    await require_permission(request)
    check_parameters(request)


async def require_permission(request: HouseRequest) -> None:
    """Authenticate the caller of a handler, and reject one who may not use it or asks too often.

    The caller becomes the `user` of the request, the token its `auth`. This is a `before_request`
    hook and not a guard, because Litestar copies the handler for every call of a guard.
    """
    scope: Any = request.scope
    if scope["method"] == "OPTIONS":
        return
    is_background = b"threedice-background" in request.raw_headers
    operation = scope["route_handler"].name
    is_query = operation not in OPERATIONS_WITH_OWN_LIMITS
    if is_query:
        check_address_rate(request)  # first, because an unknown token costs a database query
    caller, token = await authenticate_headers(
        request.context, request.raw_headers, touch=not is_background
    )
    scope["user"], scope["auth"] = caller, token
    if is_query:
        check_query_rate(request, caller)
    check_permission(caller, operation, scope["path_params"].get("table"))


def check_address_rate(request: HouseRequest) -> None:
    """Reject a query that exceeds the rate limit of its address."""
    seconds, allowance = request.context.query_limits.take_address(request.client_address)
    if allowance is not None:
        _state_rate_limit(request, allowance)
        raise HttpProblem(429, "door/rate", seconds=ceil(seconds))


def check_query_rate(request: HouseRequest, caller: Caller | None) -> None:
    """Reject a query that exceeds the rate limit of its account, or of strangers at its address.

    The response states the limit either way.
    """
    account = caller.account.id if caller else None
    seconds, allowance = request.context.query_limits.take(account, request.client_address)
    _state_rate_limit(request, allowance)
    if seconds:
        raise HttpProblem(429, "door/rate", seconds=ceil(seconds))


def _state_rate_limit(request: HouseRequest, allowance: RateAllowance) -> None:
    limit, remaining, reset_seconds = allowance
    request.scope["state"][RATE_LIMIT_HEADERS] = [
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % remaining),
        (b"ratelimit-reset", b"%d" % reset_seconds),
    ]


def check_permission(caller: Caller | None, operation: str, table: str | None) -> None:
    """Reject a caller who may not use an operation; a board may see its own table only."""
    if can_use(caller, operation) and (
        caller is None or caller.display_table in ("", table) or can_use(None, operation)
    ):
        return
    if caller is None:
        raise HttpProblem(401, "door/sign-in")
    if caller.session_state != "open":
        raise HttpProblem(403, f"door/{caller.session_state}")
    raise HttpProblem(403, "door/scope" if caller.scopes is not None else "door/role")


async def authenticate_headers(
    context: ServerContext, headers: Mapping[bytes, bytes], *, touch: bool = True
) -> tuple[Caller | None, str]:
    """Resolve the headers of a request to its caller and token.

    The cookie of a results board counts only where nobody is signed in.
    """
    token = extract_token(context, headers)
    caller = await authenticate(context, token, touch=touch)
    if caller is None and b"authorization" not in headers:
        cookie = display_cookie(context, headers)
        if cookie.startswith(DISPLAY_PREFIX):
            return await authenticate(context, cookie), cookie
    return caller, token


async def authenticate(context: ServerContext, token: str, *, touch: bool = True) -> Caller | None:
    """Resolve a token to its caller, whatever the session's state.

    A token that is likely to be cached is resolved in the event loop, others in a thread.
    """
    if not token:
        return None
    token_hash = hash(token)
    staff_account = _warm_tokens.get(token_hash)
    if staff_account == "" or (staff_account and context.assignments.is_cached(staff_account)):
        return resolve_token(context, token, touch=touch)
    caller = await context.run_blocking(resolve_token, context, token, touch=touch)
    if caller is not None:
        if len(_warm_tokens) >= MAX_WARM_TOKENS:
            _warm_tokens.clear()
        account = caller.account
        _warm_tokens[token_hash] = account.id if is_staff(account.roles) else ""
    return caller


def resolve_token(context: ServerContext, token: str, *, touch: bool = True) -> Caller | None:
    """Resolve a token to its caller, whatever the session's state; may query the database."""
    if token.startswith(TOKEN_PREFIX):
        api_token = context.identity.tokens.resolve(token)
        if api_token is None:
            return None
        assignments = _current_assignments(context, api_token.account)
        return Caller(api_token.account, api_token.id, api_token.scopes, "open", assignments)
    if token.startswith(DISPLAY_PREFIX):
        display = context.identity.displays.resolve(token)
        if display is None:
            return None
        return Caller(display.account, display.id, display_table=display.table)
    session = context.identity.sessions.resolve(token, touch=touch)
    if session is None:
        return None
    assignments = _current_assignments(context, session.account)
    return Caller(session.account, session.id, None, session.state, assignments)


def _current_assignments(context: ServerContext, account: Account) -> tuple[Assignment, ...]:
    return context.assignments.current(account.id) if is_staff(account.roles) else ()


def extract_token(context: ServerContext, headers: Mapping[bytes, bytes]) -> str:
    """Return the token of a request: from the Authorization header, else from the session cookie.

    An API token counts only in the header, a session token only in the cookie.
    """
    authorization = headers.get(b"authorization")
    if authorization is not None:
        return _bearer_token(authorization.decode("latin-1"))
    token = session_cookie(context, headers)
    return "" if token.startswith((TOKEN_PREFIX, DISPLAY_PREFIX)) else token


def _bearer_token(authorization: str) -> str:
    """Return the token of a program or a display, or '' for other credentials."""
    if authorization[: len(BEARER_PREFIX)].lower() != BEARER_PREFIX:
        return ""
    token = authorization[len(BEARER_PREFIX) :].strip()
    return token if token.startswith((TOKEN_PREFIX, DISPLAY_PREFIX)) else ""


def session_cookie(context: ServerContext, headers: Mapping[bytes, bytes]) -> str:
    """Return the session cookie of a request, or '' if it has none."""
    return parse_cookie(headers.get(b"cookie", b""), context.cookie_name)


def display_cookie(context: ServerContext, headers: Mapping[bytes, bytes]) -> str:
    """Return the cookie of a results board, or '' if the request has none."""
    return parse_cookie(headers.get(b"cookie", b""), context.display_cookie_name)


def parse_cookie(cookies: bytes, name: str) -> str:
    """Return the value of a cookie, or '' if it is missing.

    >>> parse_cookie(b"theme=dark; threedice=abc", "threedice")
    'abc'
    """
    for cookie in cookies.split(b";"):
        key, _, value = cookie.strip().partition(b"=")
        if key == name.encode():
            return value.decode("latin-1")
    return ""


class AssignmentCache:
    """Assignments of recent callers, cached for five seconds.

    Access changes, which arrive within a second, remove the entries of the account. The start and
    end of each assignment are checked at every call.
    """

    def __init__(self, identity: IdentityService) -> None:
        self._identity = identity
        self._cached: dict[str, tuple[int, list[Assignment]]] = {}
        identity.access_changes.subscribe(self._invalidate)

    def is_cached(self, account: str) -> bool:
        """Return whether `current` needs no query for an account."""
        return self._find(account, self._identity.context.clock()) is not None

    def current(self, account: str) -> tuple[Assignment, ...]:
        """Return the assignments of an account that are in force now."""
        now = self._identity.context.clock()
        assignments = self._find(account, now)
        if assignments is None:
            assignments = self._identity.assignments.current(account=account, at=now)
            if len(self._cached) >= MAX_CACHED_ASSIGNMENTS:
                self._cached.clear()
            self._cached[account] = (now, assignments)
        return tuple(each for each in assignments if each.starts <= now < each.until)

    def _find(self, account: str, now: int) -> list[Assignment] | None:
        at, assignments = self._cached.get(account, (0, None))
        return assignments if 0 <= now - at < ASSIGNMENT_CACHE_MICROSECONDS else None

    def _invalidate(self, change: AccessChange) -> None:
        if change.account:
            self._cached.pop(change.account, None)
        else:
            self._cached.clear()
