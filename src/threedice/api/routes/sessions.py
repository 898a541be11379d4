"""Sessions and programs' tokens of one's own: seen, made, ended."""

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
    """A session of one's own."""

    id: str
    standing: SessionState
    created: int
    seen: int
    until: int
    current: bool


class TokenForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program's token: its name, what it is for, how long it lasts, and one's password."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    scopes: Annotated[list[str], msgspec.Meta(min_length=1, max_length=10)]
    seconds: Annotated[int, msgspec.Meta(ge=1, le=366 * 86_400)] = 90 * 86_400
    password: Password = ""
    code: Code = ""


class TokenLine(msgspec.Struct, frozen=True):
    """A program's token; of the token itself no more than how it begins."""

    id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    used: int


class NewTokenView(msgspec.Struct, frozen=True):
    """A new token, which is shown once."""

    token: str
    line: TokenLine


@operation("list-sessions", "GET", "/api/sessions", response=list[SessionLine], problems=(503,))
async def list_sessions(request: RequestContext) -> list[SessionLine]:
    """List one's own sessions, the latest first."""
    found = await run_in_thread(
        request.context.identity.sessions.list_for_account, request.account_id
    )
    return [
        SessionLine(
            each.id, each.standing, each.created, each.seen, each.until,
            each.id == request.caller.session_id,
        )
        for each in found
    ]  # fmt: skip


@operation("end-session", "DELETE", "/api/sessions/{session}", status=204, problems=(404,))
async def end_session(request: RequestContext) -> None:
    """End a session of one's own."""
    sessions, session_id = request.context.identity.sessions, request.path_params["session"]
    own = await run_in_thread(sessions.list_for_account, request.account_id)
    if session_id not in [each.id for each in own]:
        raise RecordNotFound("session", session_id)
    await run_in_thread(sessions.end, session_id, by=request.account_id)


@operation("list-tokens", "GET", "/api/tokens", response=list[TokenLine])
async def list_tokens(request: RequestContext) -> list[TokenLine]:
    """List the tokens of one's own programs."""
    found = await run_in_thread(
        request.context.identity.tokens.list_for_account, request.account_id
    )
    return [_token_line(each) for each in found]


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
    """Make a token for a program, against one's password; it is shown this once."""
    form = request.body
    for scope in form.scopes:
        if scope not in SCOPES:
            raise InvalidInput(f"a token is for {', '.join(SCOPES)}; there is no {scope!r}")
    proof = ReauthenticationForm(password=form.password, code=form.code)
    set_session_cookie(request, await reauthenticate(request, proof))
    made = await run_in_thread(
        request.context.identity.tokens.create,
        request.account_id,
        form.name,
        form.scopes,
        seconds=form.seconds,
        by=request.account_id,
    )
    return NewTokenView(made.token, _token_line(made.program))


@operation("revoke-token", "DELETE", "/api/tokens/{token}", status=204, problems=(404,))
async def revoke_token(request: RequestContext) -> None:
    """Revoke a token of one's own program."""
    tokens, token_id = request.context.identity.tokens, request.path_params["token"]
    own = await run_in_thread(tokens.list_for_account, request.account_id)
    if token_id not in [each.id for each in own]:
        raise RecordNotFound("token", token_id)
    await run_in_thread(tokens.revoke, token_id, by=request.account_id)


def _token_line(program: ApiToken) -> TokenLine:
    return TokenLine(
        program.id,
        program.name,
        program.prefix,
        program.scopes,
        program.created,
        program.expires,
        program.used,
    )


OWN_SESSION_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_sessions,
    end_session,
    list_tokens,
    make_token,
    revoke_token,
)
