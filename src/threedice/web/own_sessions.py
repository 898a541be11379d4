"""Sessions and programs' tokens of one's own: seen, made, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.people import NoSuch, Standing
from threedice.web.answering import Operation, Visit, in_thread, operation
from threedice.web.authorisation import SCOPES
from threedice.web.signing_in import Code, Password, Proof, proved, welcomed

if TYPE_CHECKING:
    from threedice.people import Program


class SessionLine(msgspec.Struct, frozen=True):
    """A session of one's own."""

    id: str
    standing: Standing
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


class TokenMade(msgspec.Struct, frozen=True):
    """A new token, which is shown once."""

    token: str
    line: TokenLine


@operation("list-sessions", "GET", "/api/sessions", answer=list[SessionLine], problems=(503,))
async def list_sessions(visit: Visit) -> list[SessionLine]:
    """List one's own sessions, the latest first."""
    found = await in_thread(visit.context.people.sessions.of, visit.account)
    return [
        SessionLine(
            each.id, each.standing, each.created, each.seen, each.until,
            each.id == visit.who.session,
        )
        for each in found
    ]  # fmt: skip


@operation("end-session", "DELETE", "/api/sessions/{session}", status=204, problems=(404,))
async def end_session(visit: Visit) -> None:
    """End a session of one's own."""
    sessions, asked = visit.context.people.sessions, visit.path["session"]
    own = await in_thread(sessions.of, visit.account)
    if asked not in [each.id for each in own]:
        raise NoSuch("session", asked)
    await in_thread(sessions.end, asked, by=visit.account)


@operation("list-tokens", "GET", "/api/tokens", answer=list[TokenLine])
async def list_tokens(visit: Visit) -> list[TokenLine]:
    """List the tokens of one's own programs."""
    found = await in_thread(visit.context.people.tokens.of, visit.account)
    return [_line(each) for each in found]


@operation(
    "make-token",
    "POST",
    "/api/tokens",
    body=TokenForm,
    answer=TokenMade,
    status=201,
    problems=(401, 429),
)
async def make_token(visit: Visit) -> TokenMade:
    """Make a token for a program, against one's password; it is shown this once."""
    asked = visit.body
    for scope in asked.scopes:
        if scope not in SCOPES:
            raise InvalidInput(f"a token is for {', '.join(SCOPES)}; there is no {scope!r}")
    proof = Proof(password=asked.password, code=asked.code)
    welcomed(visit, await proved(visit, proof))
    made = await in_thread(
        visit.context.people.tokens.make,
        visit.account,
        asked.name,
        asked.scopes,
        seconds=asked.seconds,
        by=visit.account,
    )
    return TokenMade(made.token, _line(made.program))


@operation("revoke-token", "DELETE", "/api/tokens/{token}", status=204, problems=(404,))
async def revoke_token(visit: Visit) -> None:
    """Revoke a token of one's own program."""
    tokens, asked = visit.context.people.tokens, visit.path["token"]
    own = await in_thread(tokens.of, visit.account)
    if asked not in [each.id for each in own]:
        raise NoSuch("token", asked)
    await in_thread(tokens.revoke, asked, by=visit.account)


def _line(program: Program) -> TokenLine:
    return TokenLine(
        program.id,
        program.name,
        program.prefix,
        program.scopes,
        program.created,
        program.expires,
        program.used,
    )


OWN_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_sessions,
    end_session,
    list_tokens,
    make_token,
    revoke_token,
)
