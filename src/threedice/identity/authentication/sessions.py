"""Sessions: create, resolve, lock, rotate and end them.

A session token is 256 random bits; only its SHA-256 is stored. A session ends when it is idle for
too long, and in any case after some hours. A dealer's session locks sooner: it still identifies
its account, but allows nothing except to unlock it or sign out.

Resolved sessions are cached, so that resolving a token usually needs no query. Last-seen times are
kept in the cache and written to the database in batches.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.errors import OperatingFailure
from threedice.identity.access_changes import publish_access_change, transactional
from threedice.identity.accounts import (
    ACCOUNT_COLUMNS,
    Account,
    end_account_sessions,
    fetch_account,
    new_id,
    parse_account,
    revoke_account_tokens,
)
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.authentication.devices import forget_devices
from threedice.identity.authentication.tokens import MAX_TOKEN_CHARACTERS, TokenCache, hash_token
from threedice.identity.errors import RecordNotFound, SessionRefused
from threedice.identity.roles import SECOND
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import SqlRow, SqlRunner
    from threedice.identity.access_changes import IdentityContext, Transaction

SessionState = Literal["open", "locked", "new-password", "enrolment"]
"""State of a session: `open` allows everything that its account may do; each other state allows
only the step that leads out of it, and signing out."""

LAST_SEEN_INTERVAL_MICROSECONDS: Final = 30 * SECOND
"""How far last-seen times in the database may lag behind."""

MAX_SESSIONS_PER_ACCOUNT: Final = 20
"""Limit of sessions per account; a new one replaces the one that was idle longest."""


class Session(msgspec.Struct, frozen=True):
    """A session and its present state; `recovered` if a recovery code opened it."""

    id: str
    account: Account
    state: SessionState
    created: int
    seen: int
    until: int
    recovered: bool


class IssuedSession(msgspec.Struct, frozen=True):
    """A session with its token, which is handed out once and not stored.

    `device` is the token of the device that it was opened on; empty where that does not change.
    """

    token: str
    session: Session
    device: str = ""


class Sessions:
    """Create, resolve and end the sessions of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context
        self._cache = TokenCache(self._read, partial(self.write_last_seen, force=True))
        context.access_changes.subscribe(self._cache.invalidate)
        context.poll_hooks.append(self.write_last_seen)

    def resolve(self, token: str, *, touch: bool = True) -> Session | None:
        """Resolve a token to its session, or None; `touch` resets the idle time."""
        now = self._context.clock()
        self._context.poll_if_stale(now)
        digest = hash_token(token)
        cached = self._cache.get(digest)
        state = cached.state(now) if cached else None
        if state in (None, "locked"):  # it may have been used at another server
            cached = self._cache.load(digest)
            state = cached.state(now) if cached else None
        if cached is None or state is None or len(token) > MAX_TOKEN_CHARACTERS:
            if cached and cached.has_expired(now):
                with suppress(OperatingFailure):  # it counts as ended anyway, by this clock
                    self._end_expired(cached.id)
            return None
        if touch and state != "locked":
            cached.seen = max(cached.seen, now)
        return _to_session(cached, state)

    def require_state(self, token: str, *allowed: SessionState) -> Session:
        """Resolve a token to a session in one of these states, or raise `SessionRefused`."""
        session = self.resolve(token, touch=False)
        if session is None:
            raise SessionRefused("ended")
        if session.state not in allowed:
            raise SessionRefused("standing")
        return session

    def list_for_account(self, account: str) -> list[Session]:
        """Return the live sessions of an account, most recently used first."""
        now = self._context.clock()
        self.write_last_seen(force=True)
        rows = self._context.database.query(f"{_SELECT_SESSION} WHERE s.account = ?", (account,))
        states = [(session, session.state(now)) for session in map(self._parse, rows)]
        live = [_to_session(session, state) for session, state in states if state is not None]
        return sorted(live, key=lambda session: session.seen, reverse=True)

    @transactional
    def sign_out(self, run: Transaction, token: str) -> None:
        """End the session of a token, if there is one."""
        end_session_by_token(run, token)

    @transactional
    def end(self, run: Transaction, session_id: str, *, by: str = CONSOLE) -> None:
        """End a session by its id."""
        for session in run.delete(schema.sessions, id=session_id):
            publish_access_change(run, session["account"], "ended", session_id)
            record_security_event(run, "session-ended", session["account"], by)
            return
        raise RecordNotFound("session", session_id)

    @transactional
    def end_all(self, run: Transaction, account: str, *, by: str = CONSOLE) -> int:
        """End all sessions and revoke all API tokens of an account; return how many.

        Its devices are forgotten, too.
        """
        fetch_account(run, account)
        revoked = revoke_account_tokens(run, account, by)
        ended = end_account_sessions(run, account) + revoked
        forget_devices(run, account)
        record_security_event(run, "sessions-ended", account, by, detail=str(ended))
        return ended

    @transactional
    def lock(self, run: Transaction, token: str) -> None:
        """Lock a session, for a user who leaves their place."""
        session = self.find(run, token)
        account = session.account.id
        run.update(schema.sessions, {"locked": 1}, id=session.id)
        publish_access_change(run, account, "locked", session.id)
        record_security_event(run, "session-locked", account, account)

    def write_last_seen(self, force: bool = False) -> None:
        """Write last-seen times that lag by 30 seconds or more; with `force`, all of them."""
        min_lag = 1 if force else LAST_SEEN_INTERVAL_MICROSECONDS
        due = [
            (cached, cached.seen)
            for cached in self._cache.values()
            if cached.seen - cached.written >= min_lag
        ]
        if not due:
            return

        def work(run: SqlRunner) -> None:
            for cached, seen in due:
                sql = "UPDATE people_sessions SET seen = ? WHERE id = ? AND seen < ?"
                run(sql, (seen, cached.id, seen))

        self._context.database.transact(work, durable=False)
        for cached, seen in due:
            cached.written = seen

    # inside a transaction of the caller

    def create(self, run: Transaction, account: str, factor: str = "") -> IssuedSession:
        """Create a session with a new token; `factor` is the kind of code that opens it."""
        self._make_room(run, account)
        token, ends = (
            secrets.token_urlsafe(32),
            run.now + self._context.policy.session_seconds * SECOND,
        )
        row = {
            "id": new_id(),
            "digest": hash_token(token),
            "account": account,
            "created": run.now,
            "seen": run.now,
            "ends": ends,
            "locked": 0,
            "factor": factor,
        }
        run.insert(schema.sessions, row)
        return IssuedSession(token, self.find(run, token))

    def rotate(self, run: Transaction, session_id: str, factor: str = "") -> IssuedSession:
        """Give a session a new token and unlock it; the old token becomes invalid.

        `factor` is the kind of code that was given for it, if any.
        """
        token = secrets.token_urlsafe(32)
        changes = {"digest": hash_token(token), "seen": run.now, "locked": 0}
        if factor:
            changes["factor"] = factor
        (session,) = run.update(schema.sessions, changes, id=session_id)
        publish_access_change(run, session["account"], "rotated", session_id)
        return IssuedSession(token, self.find(run, token))

    def find(self, run: Transaction, token: str) -> Session:
        """Return the session of a token as the transaction sees it, or raise `SessionRefused`."""
        for row in run(f"{_SELECT_SESSION} WHERE s.digest = ?", (hash_token(token),)):
            stored = self._parse(row)
            cached = self._cache.get(hash_token(token))
            stored.seen = max(stored.seen, cached.seen if cached else 0)
            if (state := stored.state(run.now)) is not None:
                return _to_session(stored, state)
        raise SessionRefused("ended")

    def end_others(self, run: Transaction, account: str, kept_session: str) -> None:
        """End all sessions of an account except one."""
        sql = "SELECT id FROM people_sessions WHERE account = ? AND id <> ?"
        for (id_,) in run(sql, (account, kept_session)):
            run.delete(schema.sessions, id=id_)
            publish_access_change(run, account, "ended", id_)

    @transactional
    def _end_expired(self, run: Transaction, session_id: str) -> None:
        """End a session that has expired, so that it stays so if the clock is set back.

        Another server may have seen it later than is stored, by the interval of writing that.
        """
        for row in run(f"{_SELECT_SESSION} WHERE s.id = ?", (session_id,)):
            stored = self._parse(row)
            stored.seen += 2 * LAST_SEEN_INTERVAL_MICROSECONDS
            if stored.has_expired(run.now):
                run.delete(schema.sessions, id=session_id)
                publish_access_change(run, stored.account.id, "ended", session_id)

    def _read(self, digest: bytes) -> _CachedSession | None:
        rows = self._context.database.query(f"{_SELECT_SESSION} WHERE s.digest = ?", (digest,))
        return self._parse(rows[0]) if rows else None

    def _parse(self, row: SqlRow) -> _CachedSession:
        """Parse a row of `_SELECT_SESSION`."""
        account, policy = parse_account(row[:5]), self._context.policy
        id_, has_first_password, is_enrolled, created, seen, ends, locked, recovered = row[5:]
        needs_enrolment = policy.requires_second_factor(account.roles) and not is_enrolled
        return _CachedSession(
            account=account,
            id=id_,
            created=created,
            seen=seen,
            ends=ends,
            locked=locked,
            recovered=recovered,
            idle_timeout=policy.idle_timeout_microseconds(account.roles),
            lock_timeout=policy.lock_timeout_microseconds(account.roles),
            unlocked_state=(
                "new-password" if has_first_password else "enrolment" if needs_enrolment else "open"
            ),
        )

    def _make_room(self, run: Transaction, account: str) -> None:
        """Delete expired sessions of all accounts, and excess sessions of one account."""
        policy = self._context.policy
        max_idle_seconds = max(policy.staff_idle_seconds, policy.player_idle_seconds)
        seen_before = run.now - max_idle_seconds * SECOND - 10 * LAST_SEEN_INTERVAL_MICROSECONDS
        sql = "SELECT id FROM people_sessions WHERE ends <= ? OR seen <= ?"
        for (id_,) in run(sql, (run.now, seen_before)):
            for session in run.delete(schema.sessions, id=id_):
                # or a server that has it cached would accept it again if the clock is set back
                publish_access_change(run, session["account"], "ended", id_)
        sql = "SELECT id FROM people_sessions WHERE account = ? ORDER BY seen DESC"
        for (id_,) in run(sql, (account,))[MAX_SESSIONS_PER_ACCOUNT - 1 :]:
            run.delete(schema.sessions, id=id_)
            publish_access_change(run, account, "ended", id_)


def end_session_by_token(run: Transaction, token: str) -> None:
    """End the session of a token in the open transaction, if there is one."""
    for session in run.delete(schema.sessions, digest=hash_token(token)):
        publish_access_change(run, session["account"], "ended", session["id"])
        record_security_event(run, "signed-out", session["account"], session["account"])


@dataclass(slots=True)
class _CachedSession:
    """A session as stored, except for `seen`, which is more recent, and the policy for its roles.

    `unlocked_state` is its state while it is neither locked nor ended. `written` is the last-seen
    time in the database.
    """

    account: Account
    id: str
    created: int
    seen: int
    ends: int
    locked: bool
    recovered: bool
    idle_timeout: int
    lock_timeout: int | None
    unlocked_state: SessionState
    written: int = field(init=False)

    def __post_init__(self) -> None:
        self.written = self.seen

    def state(self, now: int) -> SessionState | None:
        """Return the state of the session, or None if it has ended."""
        if not self.account.enabled or self.has_expired(now):
            return None
        if self.locked or (self.lock_timeout is not None and now - self.seen >= self.lock_timeout):
            return "locked"
        return self.unlocked_state

    def has_expired(self, now: int) -> bool:
        """Return whether the session has ended by time."""
        return now >= self.ends or now - self.seen >= self.idle_timeout


_SELECT_SESSION: Final = (
    f"SELECT {ACCOUNT_COLUMNS}, s.id, a.first_until > 0, coalesce(length(c.secret), 0) > 0,"
    " s.created, s.seen, s.ends, s.locked, s.factor = 'recovery code'"
    " FROM people_sessions s JOIN people_accounts a ON a.id = s.account"
    " LEFT JOIN people_codes c ON c.account = a.id"
)


def _to_session(cached: _CachedSession, state: SessionState) -> Session:
    return Session(
        id=cached.id,
        account=cached.account,
        state=state,
        created=cached.created,
        seen=cached.seen,
        until=cached.ends,
        recovered=bool(cached.recovered),
    )
