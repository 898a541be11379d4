"""Sessions: whom a token stands for, and whether it may be used now.

A token is 256 random bits; its SHA-256 is all that is kept. A session ends when it is idle for too
long, and in any case after some hours. A dealer's locks sooner: it is known whose it is, and
nothing is allowed but to unlock it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.identity.access_changes import publish_access_change
from threedice.identity.accounts import (
    ACCOUNT_COLUMNS,
    CONSOLE,
    Account,
    end_account_sessions,
    fetch_account,
    new_id,
    parse_account,
)
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import RecordNotFound, SessionRefused
from threedice.identity.roles import SECOND
from threedice.identity.tokens import MAX_TOKEN_CHARACTERS, TokenCache, hash_token

if TYPE_CHECKING:
    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.database import SqlRow, SqlRunner

SessionState = Literal["open", "locked", "new-password", "enrolment"]
"""What a session is good for: all its account may; to unlock it; to choose a password; to set up
codes. Signing out is always allowed."""

LAST_SEEN_INTERVAL_MICROSECONDS: Final = 30 * SECOND
"""How far behind the database may be in when somebody was last seen."""

MAX_SESSIONS_PER_ACCOUNT: Final = 20
"""How many an account may have; the one longest unused makes room."""


class Session(msgspec.Struct, frozen=True):
    """Somebody who has signed in, and how that stands now."""

    id: str
    account: Account
    standing: SessionState
    created: int
    seen: int
    until: int


class IssuedSession(msgspec.Struct, frozen=True):
    """A session with its token, which is given to its bearer once and kept nowhere."""

    token: str
    session: Session


@dataclass(slots=True)
class _CachedSession:
    """A session as the database has it, and when it was really last seen."""

    id: str
    account: Account
    first_password: bool
    enrolled: bool
    created: int
    seen: int
    ends: int
    locked: bool
    written: int

    @property
    def account_id(self) -> str:
        return self.account.id


_SELECT_SESSION: Final = (
    f"SELECT {ACCOUNT_COLUMNS}, s.id, a.first_until, c.secret, s.created, s.seen, s.ends, s.locked"
    " FROM people_sessions s JOIN people_accounts a ON a.id = s.account"
    " LEFT JOIN people_codes c ON c.account = a.id"
)


def _parse_cached_session(row: SqlRow) -> _CachedSession:
    id_, first_until, secret, created, seen, ends, locked = row[5:]
    return _CachedSession(
        id_,
        parse_account(row[:5]),
        bool(first_until),
        bool(secret),
        created,
        seen,
        ends,
        bool(locked),
        written=seen,
    )


class Sessions:
    """The sessions of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context
        self._cache: TokenCache[_CachedSession] = TokenCache()
        context.access_changes.subscribe(self._cache.invalidate)
        context.poll_hooks.append(self.write_last_seen)

    def resolve(self, token: str, *, touch: bool = True) -> Session | None:
        """Return the session of a token, or nothing; it counts as used now, unless told not to."""
        now = self._context.clock()
        self._context.poll_if_stale(now)
        digest = hash_token(token)
        known = self._cache.get(digest)
        if known is None or self._state(known, now) in (None, "locked"):
            known = self._load(digest)  # it may have been used at another server
        if known is None or len(token) > MAX_TOKEN_CHARACTERS:
            return None
        standing = self._state(known, now)
        if standing is None:
            return None
        if touch and standing != "locked":
            known.seen = max(known.seen, now)
        return _to_session(known, standing)

    def require_state(self, token: str, *allowed: SessionState) -> Session:
        """Return the session of a token, if it stands in one of these ways; otherwise refuse."""
        session = self.resolve(token, touch=False)
        if session is None:
            raise SessionRefused("ended")
        if session.standing not in allowed:
            raise SessionRefused("standing")
        return session

    def list_for_account(self, account: str) -> list[Session]:
        """Return the sessions of an account that have not ended, the latest first."""
        now = self._context.clock()
        self.write_last_seen(force=True)
        found = self._context.database.query(f"{_SELECT_SESSION} WHERE s.account = ?", (account,))
        standing = [(known, self._state(known, now)) for known in map(_parse_cached_session, found)]
        live = [_to_session(known, how) for known, how in standing if how is not None]
        return sorted(live, key=lambda session: session.seen, reverse=True)

    def sign_out(self, token: str) -> None:
        """End the session of a token, if it is one."""
        now = self._context.clock()
        self._context.transact(lambda run: end_session_by_token(run, token, now))

    def end(self, session: str, *, by: str = CONSOLE) -> None:
        """End a session by its id."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            ended = run("DELETE FROM people_sessions WHERE id = ? RETURNING account", (session,))
            if not ended:
                raise RecordNotFound("session", session)
            publish_access_change(run, ended[0][0], "ended", session)
            record_security_event(run, now, "session-ended", ended[0][0], by)

        self._context.transact(work)

    def end_all(self, account: str, *, by: str = CONSOLE) -> int:
        """End all sessions of an account and revoke its programs' tokens; return how many."""
        now = self._context.clock()

        def work(run: SqlRunner) -> int:
            fetch_account(run, account)
            revoked = run("DELETE FROM people_tokens WHERE account = ? RETURNING id", (account,))
            ended = end_account_sessions(run, account) + len(revoked)
            record_security_event(run, now, "sessions-ended", account, by, detail=str(ended))
            return ended

        return self._context.transact(work)

    def lock(self, token: str) -> None:
        """Lock a session, as somebody does who leaves his place."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            known = self.find(run, token, now)
            run("UPDATE people_sessions SET locked = 1 WHERE id = ?", (known.id,))
            publish_access_change(run, known.account.id, "locked", known.id)
            record_security_event(run, now, "session-locked", known.account.id, known.account.id)

        self._context.transact(work)

    def write_last_seen(self, force: bool = False) -> None:
        """Write down when sessions were last seen, of those for which it is time."""
        least = 1 if force else LAST_SEEN_INTERVAL_MICROSECONDS
        due = [known for known in self._cache.values() if known.seen - known.written >= least]
        if not due:
            return
        seen = [(known, known.seen) for known in due]

        def work(run: SqlRunner) -> None:
            for known, at in seen:
                sql = "UPDATE people_sessions SET seen = ? WHERE id = ? AND seen < ?"
                run(sql, (at, known.id, at))

        self._context.database.transact(work, durable=False)
        for known, at in seen:
            known.written = at

    # within a transaction that somebody else has begun

    def create(self, run: SqlRunner, account: str, now: int) -> IssuedSession:
        """Begin a session under a new token."""
        policy = self._context.policy
        self._make_room(run, account, now)
        token, id_ = secrets.token_urlsafe(32), new_id()
        run(
            "INSERT INTO people_sessions (id, digest, account, created, seen, ends, locked)"
            " VALUES (?, ?, ?, ?, ?, ?, 0)",
            (id_, hash_token(token), account, now, now, now + policy.session_seconds * SECOND),
        )
        return IssuedSession(token, self.find(run, token, now))

    def rotate(self, run: SqlRunner, session: str, now: int) -> IssuedSession:
        """Have a session go on, unlocked, under a new token; the old one is worth nothing."""
        token = secrets.token_urlsafe(32)
        ((account,),) = run(
            "UPDATE people_sessions SET digest = ?, seen = ?, locked = 0 WHERE id = ?"
            " RETURNING account",
            (hash_token(token), now, session),
        )
        publish_access_change(run, account, "rotated", session)
        return IssuedSession(token, self.find(run, token, now))

    def find(self, run: SqlRunner, token: str, now: int) -> Session:
        """Return the session of a token as it is in the transaction, or refuse."""
        for row in run(f"{_SELECT_SESSION} WHERE s.digest = ?", (hash_token(token),)):
            known = _parse_cached_session(row)
            remembered = self._cache.get(hash_token(token))
            known.seen = max(known.seen, remembered.seen if remembered else 0)
            if (standing := self._state(known, now)) is not None:
                return _to_session(known, standing)
        raise SessionRefused("ended")

    def end_others(self, run: SqlRunner, account: str, kept_session: str) -> None:
        """End all sessions of an account except one."""
        sql = "DELETE FROM people_sessions WHERE account = ? AND id <> ? RETURNING id"
        for (id_,) in run(sql, (account, kept_session)):
            publish_access_change(run, account, "ended", id_)

    # how a session stands

    def _state(self, cached: _CachedSession, now: int) -> SessionState | None:
        """Tell what a session is good for; nothing, where it has ended."""
        policy, roles, idle = self._context.policy, cached.account.roles, now - cached.seen
        if (
            not cached.account.enabled
            or now >= cached.ends
            or idle >= policy.idle_timeout_microseconds(roles)
        ):
            return None
        lock = policy.lock_timeout_microseconds(roles)
        if cached.locked or (lock is not None and idle >= lock):
            return "locked"
        if cached.first_password:
            return "new-password"
        if policy.requires_second_factor(roles) and not cached.enrolled:
            return "enrolment"
        return "open"

    def _load(self, digest: bytes) -> _CachedSession | None:
        if self._cache.is_full():
            self.write_last_seen(force=True)
            self._cache.clear()
        epoch = self._cache.epoch
        found = self._context.database.query(f"{_SELECT_SESSION} WHERE s.digest = ?", (digest,))
        if not found:
            return None
        known = _parse_cached_session(found[0])
        self._cache.put(digest, known, epoch)
        return known

    def _make_room(self, run: SqlRunner, account: str, now: int) -> None:
        """Delete sessions that have ended by themselves, and the oldest of an account with many."""
        policy = self._context.policy
        idle = (
            max(
                policy.idle_timeout_microseconds(["player"]),
                policy.idle_timeout_microseconds(["dealer"]),
            )
            + 10 * LAST_SEEN_INTERVAL_MICROSECONDS
        )
        run("DELETE FROM people_sessions WHERE ends <= ? OR seen <= ?", (now, now - idle))
        sql = "SELECT id FROM people_sessions WHERE account = ? ORDER BY seen DESC"
        for (id_,) in run(sql, (account,))[MAX_SESSIONS_PER_ACCOUNT - 1 :]:
            run("DELETE FROM people_sessions WHERE id = ?", (id_,))
            publish_access_change(run, account, "ended", id_)


def end_session_by_token(run: SqlRunner, token: str, now: int) -> None:
    """End the session of a token, if it is one, within a transaction already begun."""
    sql = "DELETE FROM people_sessions WHERE digest = ? RETURNING id, account"
    for id_, account in run(sql, (hash_token(token),)):
        publish_access_change(run, account, "ended", id_)
        record_security_event(run, now, "signed-out", account, account)


def _to_session(cached: _CachedSession, state: SessionState) -> Session:
    return Session(cached.id, cached.account, state, cached.created, cached.seen, cached.ends)
