"""Resolve session cookies and API tokens to callers, with a cache of their assignments.

Who is asking: a person with a session's cookie, or a program with a token.

Who works where just now, remembered for a few seconds.

A change is heard of within a second, as all that concerns people's rights is; what is remembered
is dropped then. A shift that begins or ends by itself is looked at again every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from threedice.identity.roles import is_staff
from threedice.identity.tokens import TOKEN_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.api.context import ServerContext
    from threedice.identity import AccessChange, Account, Assignment, IdentityService, SessionState


BEARER_PREFIX: Final = "bearer "


MAX_WARM_TOKENS: Final = 20_000


_warm_tokens: dict[int, str] = {}
"""Marks of tokens recognised before, with the account if it is one of the staff's: people remember
those, so that asking again is quick."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised; `session` is the id of the session or of the program.

    `scopes` are what a program may be used for; a person has none. `posts` are where he works at
    the moment he was recognised; a socket that stays open has him recognised again.
    """

    account: Account
    session_id: str
    scopes: tuple[str, ...] | None = None
    standing: SessionState = "open"
    assignments: tuple[Assignment, ...] = ()


async def authenticate(context: ServerContext, token: str, *, touch: bool = True) -> Caller | None:
    """Return whom a token stands for, however that stands; one seen before without waiting."""
    if not token:
        return None
    token_hash = hash(token)
    staff = _warm_tokens.get(token_hash)
    if staff == "" or (staff and context.assignments.is_cached(staff)):
        return resolve_token(context, token, touch=touch)
    caller = await to_thread.run_sync(lambda: resolve_token(context, token, touch=touch))
    if caller is not None:
        if len(_warm_tokens) >= MAX_WARM_TOKENS:
            _warm_tokens.clear()
        account = caller.account
        _warm_tokens[token_hash] = account.id if is_staff(account.roles) else ""
    return caller


def extract_token(context: ServerContext, headers: Mapping[bytes, bytes]) -> str:
    """Return the token that headers carry: a program's, or else that of the session's cookie."""
    authorization = headers.get(b"authorization")
    if authorization is not None:
        return _bearer_token(authorization.decode("latin-1"))
    token = parse_cookie(headers.get(b"cookie", b""), context.cookie_name)
    return "" if token.startswith(TOKEN_PREFIX) else token


def _bearer_token(authorization: str) -> str:
    """Return the token of a program; nothing where there is another kind of credential."""
    if authorization[: len(BEARER_PREFIX)].lower() != BEARER_PREFIX:
        return ""
    token = authorization[len(BEARER_PREFIX) :].strip()
    return token if token.startswith(TOKEN_PREFIX) else ""


def resolve_token(context: ServerContext, token: str, *, touch: bool = True) -> Caller | None:
    """Return whom a token stands for, whether or not his session may be used now."""
    if not token:
        return None
    if token.startswith(TOKEN_PREFIX):
        program = context.identity.tokens.resolve(token)
        if program is None:
            return None
        return Caller(
            program.account,
            program.id,
            program.scopes,
            "open",
            _current_assignments(context, program.account),
        )
    session = context.identity.sessions.resolve(token, touch=touch)
    if session is None:
        return None
    posts = _current_assignments(context, session.account)
    return Caller(session.account, session.id, None, session.standing, posts)


def _current_assignments(context: ServerContext, account: Account) -> tuple[Assignment, ...]:
    return context.assignments.current(account.id) if is_staff(account.roles) else ()


ASSIGNMENT_CACHE_MICROSECONDS: Final = 5_000_000


MAX_CACHED_ASSIGNMENTS: Final = 5_000


class AssignmentCache:
    """The assignments of whoever has asked for something lately."""

    def __init__(self, people: IdentityService) -> None:
        self._people = people
        self._cached: dict[str, tuple[int, list[Assignment]]] = {}
        people.access_changes.subscribe(self._invalidate)

    def is_cached(self, account: str) -> bool:
        """Tell whether where somebody works is remembered, so that asking is quick."""
        at, _ = self._cached.get(account, (-ASSIGNMENT_CACHE_MICROSECONDS, []))
        return 0 <= self._people.context.clock() - at < ASSIGNMENT_CACHE_MICROSECONDS

    def current(self, account: str) -> tuple[Assignment, ...]:
        """Return where somebody works at this moment."""
        now = self._people.context.clock()
        at, found = self._cached.get(account, (-ASSIGNMENT_CACHE_MICROSECONDS, []))
        if not 0 <= now - at < ASSIGNMENT_CACHE_MICROSECONDS:
            found = self._people.assignments.current(account=account, at=now)
            if len(self._cached) >= MAX_CACHED_ASSIGNMENTS:
                self._cached.clear()
            self._cached[account] = (now, found)
        return tuple(each for each in found if each.starts <= now < each.until)

    def _invalidate(self, change: AccessChange) -> None:
        if change.account:
            self._cached.pop(change.account, None)
        else:
            self._cached.clear()


def has_session_cookie(context: ServerContext, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a request brings the cookie of a session."""
    return bool(parse_cookie(headers.get(b"cookie", b""), context.cookie_name))


def parse_cookie(cookies: bytes, name: str) -> str:
    """Return the value of a cookie, or nothing.

    >>> parse_cookie(b"theme=dark; threedice=abc", "threedice")
    'abc'
    """
    for each in cookies.split(b";"):
        key, _, value = each.strip().partition(b"=")
        if key == name.encode():
            return value.decode("latin-1")
    return ""
