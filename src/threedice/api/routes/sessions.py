"""The caller's own sessions and API tokens: list, create, end."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody

from threedice.api.auth.authorisation import require_scopes
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import problem_responses
from threedice.api.http.requests import HouseRequest, OpaqueId
from threedice.api.routes.sign_in import (
    Code,
    Password,
    ReauthenticationForm,
    run_with_credentials,
    session_cookie,
)
from threedice.api.views import build_view
from threedice.identity import RecordNotFound, SessionState


class SessionLine(msgspec.Struct, frozen=True):
    """A session of the caller; `current` is the one of this request."""

    id: str
    standing: SessionState
    created: int
    seen: int
    until: int
    current: bool


class TokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new API token: name, scopes and lifetime, with the caller's password.

    An account with a second factor also gives a code of it; a recovery code does not count.
    """

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


@get("/api/sessions", name="list-sessions")
async def list_sessions(context: Context, caller: CurrentCaller) -> list[SessionLine]:
    """List the caller's sessions, the latest first."""
    sessions = await context.run_blocking(
        context.identity.sessions.list_for_account, caller.account.id
    )
    return [
        build_view(SessionLine, each, standing=each.state, current=each.id == caller.session_id)
        for each in sessions
    ]


@delete("/api/sessions/{session:str}", name="end-session")
async def end_session(context: Context, caller: CurrentCaller, session: OpaqueId) -> None:
    """End one of the caller's sessions."""
    sessions, account = context.identity.sessions, caller.account.id
    own = await context.run_blocking(sessions.list_for_account, account)
    if session not in [each.id for each in own]:
        raise RecordNotFound("session", session)
    await context.run_blocking(sessions.end, session, by=account)


@get("/api/tokens", name="list-tokens")
async def list_tokens(context: Context, caller: CurrentCaller) -> list[TokenLine]:
    """List the caller's API tokens."""
    tokens = await context.run_blocking(context.identity.tokens.list_for_account, caller.account.id)
    return [build_view(TokenLine, each) for each in tokens]


@post("/api/tokens", name="make-token", responses=problem_responses(409, 429))
async def make_token(
    context: Context, caller: CurrentCaller, request: HouseRequest, data: JSONBody[TokenForm]
) -> Response[NewTokenView]:
    """Create an API token; it is shown only once.

    This requires the password, and a code of the second factor if there is one.
    """
    require_scopes(data.scopes)
    form, account = ReauthenticationForm(password=data.password, code=data.code), caller.account.id
    # Refuse before the session gets a new token, whose cookie a refusal would not carry.
    await context.run_blocking(context.identity.tokens.check_count, account)
    session = await run_with_credentials(
        request, context.identity.second_factors.reauthenticate, form
    )
    created = await context.run_blocking(
        context.identity.tokens.create,
        account,
        data.name,
        data.scopes,
        seconds=data.seconds,
        by=account,
        session=session.session.id,
    )
    view = NewTokenView(created.token, build_view(TokenLine, created.api_token))
    return Response(view, headers=session_cookie(context, session.token))


@delete("/api/tokens/{token:str}", name="revoke-token")
async def revoke_token(context: Context, caller: CurrentCaller, token: OpaqueId) -> None:
    """Revoke one of the caller's API tokens."""
    tokens, account = context.identity.tokens, caller.account.id
    own = await context.run_blocking(tokens.list_for_account, account)
    if token not in [each.id for each in own]:
        raise RecordNotFound("token", token)
    await context.run_blocking(tokens.revoke, token, by=account)
