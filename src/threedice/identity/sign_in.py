"""Sign in, unlock a session, change a password: check credentials and count attempts.

Every attempt goes through `SignInAttempts`, which applies the limits of `sign_in_throttle` and
records failures in the audit trail. An attempt with an unknown name costs the same time, waits as
long and returns the same error as one with a wrong password.

A session gets a new token whenever its rights increase; a token supplied by the client is never
adopted.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from threedice.identity import second_factors, sign_in_throttle
from threedice.identity.accounts import fold_name_for_lookup, revoke_account_tokens
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import PasswordRefused, SignInRefused, WrongCredentials
from threedice.identity.passwords import validate_password, validate_password_form
from threedice.identity.roles import SECOND
from threedice.identity.sessions import IssuedSession, end_session_by_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.db import Result
    from threedice.identity.access_changes import IdentityContext, Transaction
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.sessions import Sessions


class Authentication:
    """Sign users in and re-authenticate them."""

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
        """Start a session with a password, and with a code if the account has a second factor.

        `replacing` is the session token that the browser sent along; that session ends.
        """
        attempt = self._attempts.begin("name", fold_name_for_lookup(name), address)
        self._attempts.check_password(attempt, password)
        query = self._context.database.query
        if not code and second_factors.has_second_factor(query, attempt.account):
            self._attempts.uncount(attempt)
            raise SignInRefused("code-needed")
        new_hash = self._rehash_if_outdated(attempt, password)

        def work(run: Transaction) -> IssuedSession:
            factor = ""
            if second_factors.has_second_factor(run, attempt.account):
                factor = self._attempts.use_code(run, attempt, code)
            end_session_by_token(run, replacing)
            if new_hash:
                sql = "UPDATE people_accounts SET password = ? WHERE id = ?"
                run(sql, (new_hash, attempt.account))
            attempt.record(run, "signed-in")
            return self._sessions.create(run, attempt.account, factor)

        return self._attempts.complete(attempt, work)

    def unlock(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> IssuedSession:
        """Unlock a session with its password or a code; it continues under a new token."""
        session = self._sessions.require_state(token, "open", "locked")
        attempt = self._attempts.begin("id", session.account.id, address, "unlock-failed")
        if password or not code:
            self._attempts.check_password(attempt, password)

        def work(run: Transaction) -> IssuedSession:
            found = self._sessions.find(run, token)
            factor = "" if password else self._attempts.use_code(run, attempt, code)
            attempt.record(run, "unlocked")
            return self._sessions.rotate(run, found.id, factor)

        return self._attempts.complete(attempt, work)

    def change_password(
        self, token: str, old: str, new: str, *, address: str = ""
    ) -> IssuedSession:
        """Change the password; the session continues under a new token.

        All other sessions and the API tokens of the account end.
        """
        session = self._sessions.require_state(token, "open", "new-password", "enrolment")
        validate_password_form(new, session.account.roles)
        if new == old:
            raise PasswordRefused("same", "this is the present password; choose another")
        attempt = self._attempts.begin("id", session.account.id, address)
        self._attempts.check_password(attempt, old)
        # A password that is too weak counts as an attempt, because the estimate takes time.
        validate_password(new, session.account.name, session.account.roles)
        new_hash = self._context.hasher.hash(new)

        def work(run: Transaction) -> IssuedSession:
            found = self._sessions.find(run, token)
            sql = "UPDATE people_accounts SET password = ?, first_until = 0 WHERE id = ?"
            run(sql, (new_hash, attempt.account))
            self._sessions.end_others(run, attempt.account, found.id)
            revoke_account_tokens(run, attempt.account, attempt.account)
            attempt.record(run, "password-changed")
            return self._sessions.rotate(run, found.id)

        return self._attempts.complete(attempt, work)

    def _rehash_if_outdated(self, attempt: SignInAttempt, password: str) -> str:
        """Return a new hash of the password if the stored one has another cost, else ''."""
        hasher = self._context.hasher
        if attempt.password_hash is None or not hasher.is_outdated(attempt.password_hash):
            return ""
        return hasher.hash(password)


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """A counted attempt, with the account as it was before the password check.

    For an unknown name, `account` is empty and `password_hash` is None. `source` is the hashed
    client address, and `failure` the kind of event that the audit trail has if the attempt fails.
    """

    account: str
    enabled: bool
    password_hash: str | None
    first_password_expires: int
    name_hash: bytes
    source: str
    counted: sign_in_throttle.CountedAttempt
    failure: SecurityEventKind

    def record(self, run: Transaction, kind: SecurityEventKind) -> None:
        """Record what a successful attempt did in the audit trail."""
        record_security_event(run, kind, self.account, self.account, source=self.source)


class SignInAttempts:
    """Check passwords and codes, with throttling and an audit trail of failures."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def begin(
        self,
        column: Literal["name", "id"],
        value: str,
        address: str,
        failure: SecurityEventKind = "sign-in-failed",
    ) -> SignInAttempt:
        """Count an attempt on the account with a name or id; refuse it while it has to wait."""
        rows = self._context.database.query(
            "SELECT id, name, enabled, password, first_until FROM people_accounts"
            f" WHERE {column} = ?",
            (value,),
        )
        account, name, enabled, password_hash, first_until = (
            rows[0] if rows else ("", value, 0, None, 0)
        )
        key = self._context.encryption_key
        name_hash, source = key.keyed_hash("name", name), ""
        free_attempts = {name_hash: sign_in_throttle.FREE_ATTEMPTS_PER_NAME}
        if address:
            address_hash = key.keyed_hash("address", address)
            free_attempts[address_hash] = sign_in_throttle.FREE_ATTEMPTS_PER_ADDRESS
            source = address_hash.hex()[:12]
        now = self._context.clock()
        counted = self._context.database.transact(
            lambda run: sign_in_throttle.count_attempt(run, now, free_attempts), durable=False
        )
        if isinstance(counted, sign_in_throttle.ThrottleDelay):
            raise SignInRefused("wait", _whole_seconds(counted.wait_microseconds))
        return SignInAttempt(
            account, bool(enabled), password_hash, first_until, name_hash, source, counted, failure
        )

    def check_password(self, attempt: SignInAttempt, password: str) -> None:
        """Refuse a wrong password; slow by design, so never call it inside a transaction."""
        with self._record_failure(attempt):
            matches = self._context.hasher.verify(attempt.password_hash, password)
            if not matches or not attempt.enabled:
                raise WrongCredentials("credentials")
            if 0 < attempt.first_password_expires <= attempt.counted.at:
                raise WrongCredentials("expired")

    def complete(self, attempt: SignInAttempt, work: Callable[[Transaction], Result]) -> Result:
        """Run some work in the transaction that records the success of an attempt.

        The attempt fails if the account was disabled or its password changed since it began. A
        success clears the failures of the account; those of the network stay, without this attempt.
        """

        def complete(run: Transaction) -> Result:
            sql = "SELECT 1 FROM people_accounts WHERE id = ? AND enabled = 1 AND password = ?"
            if not run(sql, (attempt.account, attempt.password_hash)):
                raise WrongCredentials("credentials")
            sign_in_throttle.uncount_attempt(run, attempt.counted)
            sign_in_throttle.clear_failures(run, attempt.name_hash)
            return work(run)

        with self._record_failure(attempt):
            return self._context.transact(complete)

    def use_code(self, run: Transaction, attempt: SignInAttempt, code: str) -> str:
        """Consume a TOTP or recovery code and return its kind, or refuse it."""
        account = attempt.account
        kind = second_factors.consume_code(run, self._context.encryption_key, account, code)
        if not kind:
            raise WrongCredentials("code")
        if kind == "recovery code":
            left = run("SELECT count(*) FROM people_recovery WHERE account = ?", (account,))
            detail = f"{left[0][0]} left"
            record_security_event(run, "recovery-code-used", account, account, detail=detail)
        return kind

    @contextmanager
    def _record_failure(self, attempt: SignInAttempt) -> Iterator[None]:
        """Turn `WrongCredentials` into `SignInRefused`, and record it in the audit trail."""
        try:
            yield
        except WrongCredentials as wrong:
            source, reason = attempt.source, wrong.reason
            self._context.transact(
                lambda run: record_security_event(
                    run, attempt.failure, attempt.account, "", source=source, detail=reason
                )
            )
            wait = _whole_seconds(attempt.counted.wait_microseconds)
            raise SignInRefused(reason, wait) from None

    def uncount(self, attempt: SignInAttempt) -> None:
        """Uncount an attempt with a right password that still lacks its code."""
        self._context.database.transact(
            lambda run: sign_in_throttle.uncount_attempt(run, attempt.counted), durable=False
        )


def _whole_seconds(microseconds: int) -> int:
    """Return a wait in whole seconds, rounded up."""
    return -(-microseconds // SECOND)
