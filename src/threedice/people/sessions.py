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

from threedice.people.accounts import COLUMNS, Account, account_of, end_sessions, fetch
from threedice.people.changes import announce
from threedice.people.errors import NoSuch, SessionRefused
from threedice.people.names import CONSOLE, new_id
from threedice.people.policy import SECOND
from threedice.people.remembered import LONGEST_TOKEN, Remembered, digest_of
from threedice.people.trail import note

if TYPE_CHECKING:
    from threedice.people.database import Row, Run
    from threedice.people.records import Records

Standing = Literal["open", "locked", "new-password", "enrolment"]
"""What a session is good for: all its account may; to unlock it; to choose a password; to set up
codes. Signing out is always allowed."""

GRAIN: Final = 30 * SECOND
"""How far behind the database may be in when somebody was last seen."""

SESSIONS_MOST: Final = 20
"""How many an account may have; the one longest unused makes room."""


class Session(msgspec.Struct, frozen=True):
    """Somebody who has signed in, and how that stands now."""

    id: str
    account: Account
    standing: Standing
    created: int
    seen: int
    until: int


class SignedIn(msgspec.Struct, frozen=True):
    """A session with its token, which is given to its bearer once and kept nowhere."""

    token: str
    session: Session


@dataclass(slots=True)
class _Known:
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
    def holder(self) -> str:
        return self.account.id


_FACTS: Final = (
    f"SELECT {COLUMNS}, s.id, a.first_until, c.secret, s.created, s.seen, s.ends, s.locked"
    " FROM people_sessions s JOIN people_accounts a ON a.id = s.account"
    " LEFT JOIN people_codes c ON c.account = a.id"
)


def _known(row: Row) -> _Known:
    id_, first_until, secret, created, seen, ends, locked = row[5:]
    return _Known(
        id_,
        account_of(row[:5]),
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

    def __init__(self, records: Records) -> None:
        self._records = records
        self._remembered: Remembered[_Known] = Remembered()
        records.changes.listen(self._remembered.hear)
        records.chores.append(self.write_seen)

    def recognise(self, token: str, *, touch: bool = True) -> Session | None:
        """Return the session of a token, or nothing; it counts as used now, unless told not to."""
        now = self._records.clock()
        self._records.keep_up(now)
        digest = digest_of(token)
        known = self._remembered.get(digest)
        if known is None or self._standing(known, now) in (None, "locked"):
            known = self._read(digest)  # it may have been used at another server
        if known is None or len(token) > LONGEST_TOKEN:
            return None
        standing = self._standing(known, now)
        if standing is None:
            return None
        if touch and standing != "locked":
            known.seen = max(known.seen, now)
        return _session(known, standing)

    def standing(self, token: str, *allowed: Standing) -> Session:
        """Return the session of a token, if it stands in one of these ways; otherwise refuse."""
        session = self.recognise(token, touch=False)
        if session is None:
            raise SessionRefused("ended")
        if session.standing not in allowed:
            raise SessionRefused("standing")
        return session

    def of(self, account: str) -> list[Session]:
        """Return the sessions of an account that have not ended, the latest first."""
        now = self._records.clock()
        self.write_seen(everything=True)
        found = self._records.database.rows(f"{_FACTS} WHERE s.account = ?", (account,))
        standing = [(known, self._standing(known, now)) for known in map(_known, found)]
        live = [_session(known, how) for known, how in standing if how is not None]
        return sorted(live, key=lambda session: session.seen, reverse=True)

    def sign_out(self, token: str) -> None:
        """End the session of a token, if it is one."""
        now = self._records.clock()
        self._records.change(lambda run: end_by_token(run, token, now))

    def end(self, session: str, *, by: str = CONSOLE) -> None:
        """End a session by its id."""
        now = self._records.clock()

        def work(run: Run) -> None:
            ended = run("DELETE FROM people_sessions WHERE id = ? RETURNING account", (session,))
            if not ended:
                raise NoSuch("session", session)
            announce(run, ended[0][0], "ended", session)
            note(run, now, "session-ended", ended[0][0], by)

        self._records.change(work)

    def end_all(self, account: str, *, by: str = CONSOLE) -> int:
        """End all sessions of an account and revoke its programs' tokens; return how many."""
        now = self._records.clock()

        def work(run: Run) -> int:
            fetch(run, account)
            revoked = run("DELETE FROM people_tokens WHERE account = ? RETURNING id", (account,))
            ended = end_sessions(run, account) + len(revoked)
            note(run, now, "sessions-ended", account, by, detail=str(ended))
            return ended

        return self._records.change(work)

    def lock(self, token: str) -> None:
        """Lock a session, as somebody does who leaves his place."""
        now = self._records.clock()

        def work(run: Run) -> None:
            known = self.find(run, token, now)
            run("UPDATE people_sessions SET locked = 1 WHERE id = ?", (known.id,))
            announce(run, known.account.id, "locked", known.id)
            note(run, now, "session-locked", known.account.id, known.account.id)

        self._records.change(work)

    def write_seen(self, everything: bool = False) -> None:
        """Write down when sessions were last seen, of those for which it is time."""
        least = 1 if everything else GRAIN
        due = [known for known in self._remembered.all() if known.seen - known.written >= least]
        if not due:
            return
        seen = [(known, known.seen) for known in due]

        def work(run: Run) -> None:
            for known, at in seen:
                sql = "UPDATE people_sessions SET seen = ? WHERE id = ? AND seen < ?"
                run(sql, (at, known.id, at))

        self._records.database.change(work, lasting=False)
        for known, at in seen:
            known.written = at

    # within a transaction that somebody else has begun

    def begin(self, run: Run, account: str, now: int) -> SignedIn:
        """Begin a session under a new token."""
        policy = self._records.policy
        self._make_room(run, account, now)
        token, id_ = secrets.token_urlsafe(32), new_id()
        run(
            "INSERT INTO people_sessions (id, digest, account, created, seen, ends, locked)"
            " VALUES (?, ?, ?, ?, ?, ?, 0)",
            (id_, digest_of(token), account, now, now, now + policy.session_seconds * SECOND),
        )
        return SignedIn(token, self.find(run, token, now))

    def rotate(self, run: Run, session: str, now: int) -> SignedIn:
        """Have a session go on, unlocked, under a new token; the old one is worth nothing."""
        token = secrets.token_urlsafe(32)
        ((account,),) = run(
            "UPDATE people_sessions SET digest = ?, seen = ?, locked = 0 WHERE id = ?"
            " RETURNING account",
            (digest_of(token), now, session),
        )
        announce(run, account, "rotated", session)
        return SignedIn(token, self.find(run, token, now))

    def find(self, run: Run, token: str, now: int) -> Session:
        """Return the session of a token as it is in the transaction, or refuse."""
        for row in run(f"{_FACTS} WHERE s.digest = ?", (digest_of(token),)):
            known = _known(row)
            remembered = self._remembered.get(digest_of(token))
            known.seen = max(known.seen, remembered.seen if remembered else 0)
            if (standing := self._standing(known, now)) is not None:
                return _session(known, standing)
        raise SessionRefused("ended")

    def end_others(self, run: Run, account: str, but: str) -> None:
        """End all sessions of an account except one."""
        sql = "DELETE FROM people_sessions WHERE account = ? AND id <> ? RETURNING id"
        for (id_,) in run(sql, (account, but)):
            announce(run, account, "ended", id_)

    # how a session stands

    def _standing(self, known: _Known, now: int) -> Standing | None:
        """Tell what a session is good for; nothing, where it has ended."""
        policy, roles, idle = self._records.policy, known.account.roles, now - known.seen
        if not known.account.enabled or now >= known.ends or idle >= policy.idle(roles):
            return None
        lock = policy.lock(roles)
        if known.locked or (lock is not None and idle >= lock):
            return "locked"
        if known.first_password:
            return "new-password"
        if policy.needs_codes(roles) and not known.enrolled:
            return "enrolment"
        return "open"

    def _read(self, digest: bytes) -> _Known | None:
        if self._remembered.is_full():
            self.write_seen(everything=True)
            self._remembered.forget_all()
        epoch = self._remembered.epoch
        found = self._records.database.rows(f"{_FACTS} WHERE s.digest = ?", (digest,))
        if not found:
            return None
        known = _known(found[0])
        self._remembered.put(digest, known, epoch)
        return known

    def _make_room(self, run: Run, account: str, now: int) -> None:
        """Delete sessions that have ended by themselves, and the oldest of an account with many."""
        policy = self._records.policy
        idle = max(policy.idle(["player"]), policy.idle(["dealer"])) + 10 * GRAIN
        run("DELETE FROM people_sessions WHERE ends <= ? OR seen <= ?", (now, now - idle))
        sql = "SELECT id FROM people_sessions WHERE account = ? ORDER BY seen DESC"
        for (id_,) in run(sql, (account,))[SESSIONS_MOST - 1 :]:
            run("DELETE FROM people_sessions WHERE id = ?", (id_,))
            announce(run, account, "ended", id_)


def end_by_token(run: Run, token: str, now: int) -> None:
    """End the session of a token, if it is one, within a transaction already begun."""
    sql = "DELETE FROM people_sessions WHERE digest = ? RETURNING id, account"
    for id_, account in run(sql, (digest_of(token),)):
        announce(run, account, "ended", id_)
        note(run, now, "signed-out", account, account)


def _session(known: _Known, standing: Standing) -> Session:
    return Session(known.id, known.account, standing, known.created, known.seen, known.ends)
