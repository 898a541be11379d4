"""The caller's own sessions and API tokens: list, create, end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.api.auth.authorisation import SCOPES
from threedice.api.http.limits import run_in_thread
from threedice.api.http.operations import Operation, RequestContext, operation
from threedice.api.routes.sign_in import (
    Code,
    Password,
    ReauthenticationForm,
    reauthenticate,
    set_session_cookie,
)
from threedice.errors import InvalidInput
from threedice.identity import RecordNotFound, SessionState

if TYPE_CHECKING:
    from threedice.identity import ApiToken


class SessionLine(msgspec.Struct, frozen=True):
    """A session of the caller; `current` is the one of this request."""

    id: str
    standing: SessionState
    created: int
    seen: int
    until: int
    current: bool


class TokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new API token: name, scopes and lifetime, with the caller's password or a code."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    scopes: Annotated[list[str], msgspec.Meta(min_length=1, max_length=10)]
    seconds: Annotated[int, msgspec.Meta(ge=1, le=366 * 86_400)] = 90 * 86_400
    password: Password = ""
    code: Code = ""


class TokenLine(msgspec.Struct, frozen=True):
    """An API token; of the token itself only its prefix."""

    id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    used: int


class NewTokenView(msgspec.Struct, frozen=True):
    """A new API token, which is shown only once."""

    token: str
    line: TokenLine


@operation("list-sessions", "GET", "/api/sessions", response=list[SessionLine], problems=(503,))
async def list_sessions(request: RequestContext) -> list[SessionLine]:
    """List the caller's sessions, the latest first."""
    sessions = await run_in_thread(
        request.context.identity.sessions.list_for_account, request.account_id
    )
    current_id = request.caller.session_id
    return [
        SessionLine(each.id, each.state, each.created, each.seen, each.until, each.id == current_id)
        for each in sessions
    ]


@operation("end-session", "DELETE", "/api/sessions/{session}", status=204, problems=(404,))
async def end_session(request: RequestContext) -> None:
    """End one of the caller's sessions."""
    sessions, session_id = request.context.identity.sessions, request.path_params["session"]
    own = await run_in_thread(sessions.list_for_account, request.account_id)
    if session_id not in [each.id for each in own]:
        raise RecordNotFound("session", session_id)
    await run_in_thread(sessions.end, session_id, by=request.account_id)


@operation("list-tokens", "GET", "/api/tokens", response=list[TokenLine])
async def list_tokens(request: RequestContext) -> list[TokenLine]:
    """List the caller's API tokens."""
    tokens = await run_in_thread(
        request.context.identity.tokens.list_for_account, request.account_id
    )
    return [_token_line(each) for each in tokens]


@operation(
    "make-token",
    "POST",
    "/api/tokens",
    body=TokenForm,
    response=NewTokenView,
    status=201,
    problems=(401, 429),
)
async def make_token(request: RequestContext) -> NewTokenView:
    """Create an API token after reauthentication; it is shown only once."""
    form = request.body
    for scope in form.scopes:
        if scope not in SCOPES:
            raise InvalidInput(f"there is no scope {scope!r}; choose from {', '.join(SCOPES)}")
    reauthentication = ReauthenticationForm(password=form.password, code=form.code)
    set_session_cookie(request, await reauthenticate(request, reauthentication))
    created = await run_in_thread(
        request.context.identity.tokens.create,
        request.account_id,
        form.name,
        form.scopes,
        seconds=form.seconds,
        by=request.account_id,
    )
    return NewTokenView(created.token, _token_line(created.api_token))


@operation("revoke-token", "DELETE", "/api/tokens/{token}", status=204, problems=(404,))
async def revoke_token(request: RequestContext) -> None:
    """Revoke one of the caller's API tokens."""
    tokens, token_id = request.context.identity.tokens, request.path_params["token"]
    own = await run_in_thread(tokens.list_for_account, request.account_id)
    if token_id not in [each.id for each in own]:
        raise RecordNotFound("token", token_id)
    await run_in_thread(tokens.revoke, token_id, by=request.account_id)


def _token_line(token: ApiToken) -> TokenLine:
    return TokenLine(
        token.id,
        token.name,
        token.prefix,
        token.scopes,
        token.created,
        token.expires,
        token.used,
    )


SESSION_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_sessions,
    end_session,
    list_tokens,
    make_token,
    revoke_token,
)
