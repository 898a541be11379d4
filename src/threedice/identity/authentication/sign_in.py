"""Sign in, unlock a session, change a password: check credentials and count attempts.

Every attempt goes through `SignInAttempts`, which applies the limits of `sign_in_throttle` and
records failures in the audit trail. Attempts from a known device (`devices`) and in a session have
limits of their own, so that nobody makes their owner wait by guessing elsewhere. An attempt with an
unknown name costs the same time, waits as long and returns the same error as one with a wrong
password.

A session gets a new token whenever its rights increase; a token supplied by the client is never
adopted.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.identity.accounts import fold_name_for_lookup, revoke_account_tokens
from threedice.identity.audit_trail import record_security_event
from threedice.identity.authentication import second_factors, sign_in_throttle
from threedice.identity.authentication.devices import (
    find_device,
    find_device_of_session,
    forget_devices,
    hash_device_token,
    remember_device,
)
from threedice.identity.authentication.passwords import validate_password, validate_password_form
from threedice.identity.authentication.sessions import IssuedSession, end_session_by_token
from threedice.identity.errors import PasswordRefused, SignInRefused, WrongCredentials
from threedice.identity.roles import SECOND
from threedice.log.stores import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.db import Result
    from threedice.identity.access_changes import IdentityContext, Transaction
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.authentication.sessions import Session, Sessions
    from threedice.identity.authentication.sign_in_throttle import Allowance


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
        devices: Sequence[str] = (),
        replacing: str = "",
    ) -> IssuedSession:
        """Start a session with a password, and with a code if the account has a second factor.

        `address` is the network that the client counts under. `devices` are the device tokens that
        the browser sent along, and `replacing` is its session token; that session ends.
        """
        origin = self._attempts.find_origin(
            fold_name_for_lookup(name), address, (*devices, password)
        )
        attempt = self._attempts.begin(origin)
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
                run.update(schema.accounts, {"password": new_hash}, id=attempt.account)
            attempt.record(run, "signed-in")
            issued = self._sessions.create(run, attempt.account, factor)
            device = attempt.origin.device if attempt.origin.device in devices else ""
            device = remember_device(run, attempt.account, issued.session.id, device)
            return msgspec.structs.replace(issued, device=device)

        return self._attempts.complete(attempt, work)

    def check_wait(
        self, name: str, password: str, *, address: str = "", devices: Sequence[str] = ()
    ) -> AttemptOrigin:
        """Refuse an attempt to sign in that has to wait, else return where it comes from.

        This neither counts nor hashes anything, so that refusing a flood costs little.
        """
        origin = self._attempts.find_origin(
            fold_name_for_lookup(name), address, (*devices, password)
        )
        self._attempts.check_wait(origin)
        return origin

    def unlock(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> IssuedSession:
        """Unlock a session with its password or a code; it continues under a new token."""
        session = self._sessions.require_state(token, "open", "locked")
        attempt = self._attempts.begin_in_session(session, address, "unlock-failed")
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

        All other sessions and the API tokens of the account end, and no other device is known.
        """
        session = self._sessions.require_state(token, "open", "new-password", "enrolment")
        validate_password_form(new, session.account.roles)
        if new == old:
            raise PasswordRefused("same", "this is the present password; choose another")
        attempt = self._attempts.begin_in_session(session, address)
        self._attempts.check_password(attempt, old)
        # A password that is too weak counts as an attempt, because the estimate takes time.
        validate_password(new, session.account.name, session.account.roles)
        new_hash = self._context.hasher.hash(new)

        def work(run: Transaction) -> IssuedSession:
            found = self._sessions.find(run, token)
            changes = {"password": new_hash, "first_until": 0}
            run.update(schema.accounts, changes, id=attempt.account)
            self._sessions.end_others(run, attempt.account, found.id)
            revoke_account_tokens(run, attempt.account, attempt.account)
            attempt.record(run, "password-changed")
            forget_devices(run, attempt.account)
            device = remember_device(run, attempt.account, found.id)
            return msgspec.structs.replace(self._sessions.rotate(run, found.id), device=device)

        return self._attempts.complete(attempt, work)

    def _rehash_if_outdated(self, attempt: SignInAttempt, password: str) -> str:
        """Return a new hash of the password if the stored one has another cost, else ''."""
        hasher = self._context.hasher
        stored = attempt.origin.password_hash
        if stored is None or not hasher.is_outdated(stored):
            return ""
        return hasher.hash(password)


@dataclass(frozen=True, slots=True)
class AttemptOrigin:
    """Which account an attempt is for, as it was before the password check, and from where.

    For an unknown name, `account` is empty and `password_hash` is None. `device` is the token or
    first password that shows a known device; an attempt in a session has only its `device_hash`.
    """

    account: str
    enabled: bool
    password_hash: str | None
    first_password_expires: int
    name_hash: bytes
    network_hash: bytes
    device: str = ""
    device_hash: bytes = b""

    @property
    def is_known_device(self) -> bool:
        """True if the attempt comes from a known device or a session."""
        return bool(self.device_hash)

    @property
    def clients(self) -> tuple[str, ...]:
        """For whom the attempt waits its turn: the device, or the network and the account."""
        hashes = [self.device_hash] if self.device_hash else [self.network_hash, self.name_hash]
        return tuple(each.hex() for each in hashes)

    @property
    def allowances(self) -> dict[bytes, Allowance]:
        """The allowances that the attempt counts under."""
        if self.device_hash:
            return {self.device_hash: sign_in_throttle.DEVICE_ALLOWANCE}
        allowances = {self.name_hash: sign_in_throttle.NAME_ALLOWANCE}
        if self.network_hash:
            allowances[self.network_hash] = sign_in_throttle.NETWORK_ALLOWANCE
        return allowances


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """A counted attempt; `failure` is the kind of event that the audit trail has if it fails."""

    origin: AttemptOrigin
    counted: sign_in_throttle.CountedAttempt
    failure: SecurityEventKind

    @property
    def account(self) -> str:
        """The id of the account; empty for an unknown name."""
        return self.origin.account

    @property
    def source(self) -> str:
        """The client's network in the audit trail: the beginning of its hash."""
        return self.origin.network_hash.hex()[:12]

    def record(self, run: Transaction, kind: SecurityEventKind) -> None:
        """Record what a successful attempt did in the audit trail."""
        record_security_event(run, kind, self.account, self.account, source=self.source)


class SignInAttempts:
    """Check passwords and codes, with throttling and an audit trail of failures."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def find_origin(self, name: str, address: str, device_tokens: Sequence[str]) -> AttemptOrigin:
        """Look up the account with a name, and whether one of the tokens shows a known device."""
        origin = self._find_account("name", name, address)
        query, now = self._context.database.query, self._context.clock()
        device = find_device(query, now, origin.account, device_tokens)
        if not device:
            return origin
        return self._on_device(replace(origin, device=device), hash_device_token(device).hex())

    def begin_in_session(
        self, session: Session, address: str, failure: SecurityEventKind = "sign-in-failed"
    ) -> SignInAttempt:
        """Count an attempt in a session, under the device that the session was opened on."""
        origin = self._find_account("id", session.account.id, address)
        digest = find_device_of_session(self._context.database.query, session.id)
        return self.begin(self._on_device(origin, digest.hex() if digest else session.id), failure)

    def _find_account(
        self, column: Literal["name", "id"], value: str, address: str
    ) -> AttemptOrigin:
        rows = self._context.database.query(
            "SELECT id, name, enabled, password, first_until FROM people_accounts"
            f" WHERE {column} = ?",
            (value,),
        )
        account, name, enabled, password_hash, first_until = (
            rows[0] if rows else ("", value, 0, None, 0)
        )
        key = self._context.encryption_key
        name_hash = key.keyed_hash("name", name)
        network_hash = key.keyed_hash("address", address) if address else b""
        return AttemptOrigin(
            account, bool(enabled), password_hash, first_until, name_hash, network_hash
        )

    def _on_device(self, origin: AttemptOrigin, device: str) -> AttemptOrigin:
        device_hash = self._context.encryption_key.keyed_hash("device", device)
        return replace(origin, device_hash=device_hash)

    def check_wait(self, origin: AttemptOrigin) -> None:
        """Refuse an attempt that has to wait; nothing is counted."""
        query, now = self._context.database.query, self._context.clock()
        if delay := sign_in_throttle.find_delay(query, now, origin.allowances):
            raise _too_early(delay)

    def begin(
        self, origin: AttemptOrigin, failure: SecurityEventKind = "sign-in-failed"
    ) -> SignInAttempt:
        """Count an attempt; refuse it while it has to wait."""
        self.check_wait(origin)  # without a write transaction, which a flood would queue up for
        now = self._context.clock()
        counted = self._context.database.transact(
            lambda run: sign_in_throttle.count_attempt(run, now, origin.allowances), durable=False
        )
        if isinstance(counted, sign_in_throttle.ThrottleDelay):
            raise _too_early(counted)
        return SignInAttempt(origin, counted, failure)

    def check_password(self, attempt: SignInAttempt, password: str) -> None:
        """Refuse a wrong password; slow by design, so never call it inside a transaction."""
        with self._record_failure(attempt):
            matches = self._context.hasher.verify(attempt.origin.password_hash, password)
            if not matches or not attempt.origin.enabled:
                raise WrongCredentials("credentials")
            if 0 < attempt.origin.first_password_expires <= attempt.counted.at:
                raise WrongCredentials("expired")

    def complete(self, attempt: SignInAttempt, work: Callable[[Transaction], Result]) -> Result:
        """Run some work in the transaction that records the success of an attempt.

        The attempt fails if the account was disabled or its password changed since it began. A
        success lowers the failures of the device and of the network. Those of the name stay: its
        owner's success must not give a stranger further guesses.
        """

        def complete(run: Transaction) -> Result:
            sql = "SELECT 1 FROM people_accounts WHERE id = ? AND enabled = 1 AND password = ?"
            if not run(sql, (attempt.account, attempt.origin.password_hash)):
                raise WrongCredentials("credentials")
            sign_in_throttle.uncount_attempt(run, attempt.counted)
            if attempt.origin.device_hash:
                sign_in_throttle.lower_failures(
                    run, attempt.origin.device_hash, sign_in_throttle.DEVICE_CREDIT
                )
            if attempt.origin.network_hash:
                mark = self._context.encryption_key.keyed_hash("success", attempt.account)
                sign_in_throttle.credit_network(run, run.now, mark, attempt.origin.network_hash)
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


def _too_early(delay: sign_in_throttle.ThrottleDelay) -> SignInRefused:
    return SignInRefused("wait", _whole_seconds(delay.wait_microseconds))


def _whole_seconds(microseconds: int) -> int:
    """Return a wait in whole seconds, rounded up."""
    return -(-microseconds // SECOND)
