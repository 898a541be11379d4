"""Sign in, unlock a session, change a password: verify credentials and count attempts.

The door: signing in, unlocking, and choosing another password.

A token is new whenever somebody comes to be allowed more than before; none is ever taken from
whoever asks.

One try of a password or a code: counted before it is made, and noted if it fails.

Of a name that nobody has, a try costs as much, waits as long and tells as little as any other.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from threedice.identity import second_factors, sign_in_throttle
from threedice.identity.accounts import fold_name_for_lookup
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import PasswordRefused, SignInRefused, WrongCredentials
from threedice.identity.passwords import validate_password
from threedice.identity.roles import SECOND
from threedice.identity.sessions import IssuedSession, end_session_by_token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.database import SqlRunner
    from threedice.identity.sessions import Sessions


class Authentication:
    """Lets people in."""

    def __init__(
        self, context: IdentityContext, sessions: Sessions, attempts: SignInAttempts
    ) -> None:
        self._context, self._sessions, self._attempts = context, sessions, attempts

    def sign_in(
        self,
        name: str,
        password: str,
        *,
        code: str = "",
        address: str = "",
        replacing: str = "",
    ) -> IssuedSession:
        """Begin a session for whoever knows a password, and has a code where that is needed.

        `replacing` is the token that the browser brought along: that session ends.
        """
        tried = self._attempts.begin("name", fold_name_for_lookup(name), address)
        with self._attempts.record_failure(tried):
            self._attempts.check_password(tried, password)
            needs_code = second_factors.has_second_factor(
                self._context.database.query, tried.account
            )
            if needs_code and not code:
                self._attempts.uncount(tried)
                raise SignInRefused("code-needed")
            renewed = self._rehash_if_outdated(tried, password)

            def work(run: SqlRunner) -> IssuedSession:
                self._attempts.check_unchanged(run, tried)
                if second_factors.has_second_factor(run, tried.account):
                    self._attempts.use_code(run, tried, code)
                self._attempts.record_success(run, tried)
                end_session_by_token(run, replacing, tried.at)
                if renewed:
                    sql = "UPDATE people_accounts SET password = ? WHERE id = ?"
                    run(sql, (renewed, tried.account))
                record_security_event(
                    run, tried.at, "signed-in", tried.account, tried.account, source=tried.source
                )
                return self._sessions.create(run, tried.account, tried.at)

            return self._context.transact(work)

    def unlock(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> IssuedSession:
        """Have a locked session go on under a new token, for its password or a code of it."""
        session = self._sessions.require_state(token, "open", "locked")
        tried = self._attempts.begin("id", session.account.id, address)
        with self._attempts.record_failure(tried, "unlock-failed"):
            if password or not code:
                self._attempts.check_password(tried, password)

            def work(run: SqlRunner) -> IssuedSession:
                found = self._sessions.find(run, token, tried.at)
                self._attempts.check_unchanged(run, tried)
                if not password:
                    self._attempts.use_code(run, tried, code)
                self._attempts.record_success(run, tried)
                record_security_event(
                    run, tried.at, "unlocked", tried.account, tried.account, source=tried.source
                )
                return self._sessions.rotate(run, found.id, tried.at)

            return self._context.transact(work)

    def change_password(
        self, token: str, old: str, new: str, *, address: str = ""
    ) -> IssuedSession:
        """Choose another password; this session goes on under a new token, all others end."""
        session = self._sessions.require_state(token, "open", "new-password", "enrolment")
        validate_password(new, session.account.name, session.account.roles)
        if new == old:
            raise PasswordRefused("same", "this is the password there is; choose another")
        tried = self._attempts.begin("id", session.account.id, address)
        with self._attempts.record_failure(tried):
            self._attempts.check_password(tried, old)
            hashed = self._context.hasher.hash(new)

            def work(run: SqlRunner) -> IssuedSession:
                found = self._sessions.find(run, token, tried.at)
                self._attempts.check_unchanged(run, tried)
                self._attempts.record_success(run, tried)
                sql = "UPDATE people_accounts SET password = ?, first_until = 0 WHERE id = ?"
                run(sql, (hashed, tried.account))
                self._sessions.end_others(run, tried.account, found.id)
                who = tried.account
                record_security_event(
                    run, tried.at, "password-changed", who, who, source=tried.source
                )
                return self._sessions.rotate(run, found.id, tried.at)

            return self._context.transact(work)

    def _rehash_if_outdated(self, attempt: SignInAttempt, password: str) -> str:
        """Return a new hash of a right password, where the kept one is of another cost."""
        passwords = self._context.hasher
        if attempt.password_hash is None or not passwords.is_outdated(attempt.password_hash):
            return ""
        return passwords.hash(password)


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """A try of an account, as it was looked at before."""

    account: str
    enabled: bool
    password_hash: str | None
    first_password_expires: int
    name_hash: bytes
    source: str
    counted: sign_in_throttle.CountedAttempt

    @property
    def at(self) -> int:
        """When it is made."""
        return self.counted.at


class SignInAttempts:
    """Counts tries, and lets through those that are right."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def begin(self, column: Literal["name", "id"], value: str, address: str) -> SignInAttempt:
        """Count a try of the account of a name or an id; refuse it while there is to be waited."""
        found = self._context.database.query(
            f"SELECT id, name, enabled, password, first_until FROM people_accounts WHERE {column} = ?",
            (value,),
        )
        account, name, enabled, kept, first_until = found[0] if found else ("", value, 0, None, 0)
        marks = {
            self._context.encryption_key.keyed_hash(
                "name", name
            ): sign_in_throttle.FREE_ATTEMPTS_PER_NAME
        }
        (name_mark,), source = marks, ""
        if address:
            mark = self._context.encryption_key.keyed_hash(
                "address", sign_in_throttle.client_network(address)
            )
            marks[mark], source = sign_in_throttle.FREE_ATTEMPTS_PER_ADDRESS, mark.hex()[:12]
        now = self._context.clock()
        began = self._context.database.transact(
            lambda run: sign_in_throttle.count_attempt(run, now, marks), durable=False
        )
        if isinstance(began, sign_in_throttle.ThrottleDelay):
            raise SignInRefused("wait", _whole_seconds(began.wait))
        return SignInAttempt(account, bool(enabled), kept, first_until, name_mark, source, began)

    @contextmanager
    def record_failure(
        self, attempt: SignInAttempt, kind: SecurityEventKind = "sign-in-failed"
    ) -> Iterator[None]:
        """Note it, where a try turns out wrong, and refuse it."""
        try:
            yield
        except WrongCredentials as wrong:
            reason = wrong.reason
            self._context.database.transact(
                lambda run: record_security_event(
                    run, attempt.at, kind, attempt.account, "", source=attempt.source, detail=reason
                )
            )
            raise SignInRefused(reason, _whole_seconds(attempt.counted.wait)) from None

    def check_password(self, attempt: SignInAttempt, password: str) -> None:
        """Refuse a password that is wrong; slow by intention, so never within a transaction."""
        if not self._context.hasher.verify(attempt.password_hash, password) or not attempt.enabled:
            raise WrongCredentials("credentials")
        if 0 < attempt.first_password_expires <= attempt.at:
            raise WrongCredentials("expired")

    def check_unchanged(self, run: SqlRunner, attempt: SignInAttempt) -> None:
        """Refuse, if the account was disabled or its password changed since it was looked at."""
        sql = "SELECT 1 FROM people_accounts WHERE id = ? AND enabled = 1 AND password = ?"
        if not run(sql, (attempt.account, attempt.password_hash)):
            raise WrongCredentials("credentials")

    def use_code(self, run: SqlRunner, attempt: SignInAttempt, code: str) -> None:
        """Use a code up, or refuse it."""
        kind = second_factors.consume_code(
            run, self._context.encryption_key, attempt.account, code, attempt.at
        )
        if not kind:
            raise WrongCredentials("code")
        if kind == "recovery code":
            left = f"{second_factors.count_recovery_codes(run, attempt.account)} left"
            record_security_event(
                run, attempt.at, "recovery-code-used", attempt.account, attempt.account, detail=left
            )

    def record_success(self, run: SqlRunner, attempt: SignInAttempt) -> None:
        """Forget the failures of an account; of an address, only that this was none."""
        sign_in_throttle.uncount_attempt(run, attempt.counted)
        sign_in_throttle.clear_failures(run, attempt.name_hash)

    def uncount(self, attempt: SignInAttempt) -> None:
        """Count a try that was right so far as none."""
        self._context.database.transact(
            lambda run: sign_in_throttle.uncount_attempt(run, attempt.counted), durable=False
        )


def _whole_seconds(wait: int) -> int:
    """Return a wait in whole seconds, rounded up."""
    return -(-wait // SECOND)
