"""Second factors: TOTP enrolment, code verification and recovery codes.

A user with a second factor signs in with a password and a TOTP code (RFC 6238: six digits, 30
seconds) or one of ten recovery codes. Each code is accepted once. TOTP secrets are stored
encrypted; recovery codes are stored as keyed hashes.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING, Final

import msgspec
import pyotp

from threedice.identity.access_changes import transactional
from threedice.identity.accounts import (
    delete_second_factor,
    end_account_sessions,
    fetch_account,
    revoke_account_tokens,
)
from threedice.identity.approval.enrolment_records import record_reset
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.authentication.passwords import random_readable_code
from threedice.identity.authentication.sessions import IssuedSession
from threedice.identity.errors import SessionRefused, SignInRefused, WrongCredentials
from threedice.identity.roles import SECOND
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import SqlRunner
    from threedice.identity.access_changes import IdentityContext, Transaction
    from threedice.identity.authentication.encryption_key import EncryptionKey
    from threedice.identity.authentication.sessions import Session, Sessions
    from threedice.identity.authentication.sign_in import SignInAttempts

TOTP_STEP_MICROSECONDS: Final = 30 * SECOND
TOTP_DIGITS: Final = 6
RECOVERY_CODE_COUNT: Final = 10


class TotpEnrolment(msgspec.Struct, frozen=True):
    """A new TOTP secret, as text and as the URI of a QR code."""

    secret: str
    uri: str


class ConfirmedEnrolment(msgspec.Struct, frozen=True):
    """The session under its new token, and the recovery codes, which are shown once."""

    issued_session: IssuedSession
    recovery_codes: tuple[str, ...]


class SecondFactors:
    """Enrol, replace and reset the second factors of accounts."""

    def __init__(
        self, context: IdentityContext, sessions: Sessions, attempts: SignInAttempts
    ) -> None:
        self._context, self._sessions, self._attempts = context, sessions, attempts

    def is_enrolled(self, account: str) -> bool:
        """Return whether an account has a second factor."""
        return has_second_factor(self._context.database.query, account)

    def begin_enrolment(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> TotpEnrolment:
        """Create a TOTP secret that waits for its first code.

        An open session has to give the password, and also a code if a second factor is already in
        use. A session in the state `enrolment` has just given the password and need not repeat it.
        """
        session = self._sessions.require_state(token, "open", "enrolment")
        account = session.account
        if self.is_enrolled(account.id):
            self._require_password_and_code(session, password, code, address)
        elif session.state == "open":
            self._require_password(session, password, address)
        secret = pyotp.random_base32()
        self._store_pending_secret(account.id, secret)
        issuer = self._context.policy.issuer
        uri = pyotp.TOTP(secret).provisioning_uri(name=account.name, issuer_name=issuer)
        return TotpEnrolment(secret, uri)

    @transactional
    def _store_pending_secret(self, run: Transaction, account: str, secret: str) -> None:
        """Store a secret that waits for its first code; the active one stays in use until then."""
        pending = self._context.encryption_key.encrypt(secret.encode(), account)
        row = {"account": account, "secret": b"", "pending": pending, "step": 0}
        run.insert(schema.codes, row, updating=["pending"])

    def confirm_enrolment(self, token: str, code: str, *, address: str = "") -> ConfirmedEnrolment:
        """Activate the pending secret with its first code.

        The session continues under a new token, and all other sessions of the account end.
        """
        opened = self._sessions.require_state(token, "open", "enrolment")
        account = opened.account.id
        if not _secrets_in_column(self._context.database.query, "pending", account):
            raise SessionRefused("not-begun")
        attempt = self._attempts.begin_in_session(opened, address)

        def work(run: Transaction) -> ConfirmedEnrolment:
            session = self._sessions.find(run, token)
            self._activate_pending_secret(run, account, code)
            recovery_codes = self._create_recovery_codes(run, account)
            self._sessions.end_others(run, account, session.id)
            attempt.record(run, "code-set-up")
            issued = self._sessions.rotate(run, session.id, factor="code")
            return ConfirmedEnrolment(issued, recovery_codes)

        return self._attempts.complete(attempt, work)

    def replace_recovery_codes(
        self, token: str, *, password: str, code: str, address: str = ""
    ) -> tuple[str, ...]:
        """Replace the recovery codes by ten new ones; requires the password and a code."""
        session = self._sessions.require_state(token, "open")
        account = session.account.id
        self._require_password_and_code(session, password, code, address)

        def work(run: Transaction) -> tuple[str, ...]:
            record_security_event(run, "recovery-codes-made", account, account)
            return self._create_recovery_codes(run, account)

        return self._context.transact(work)

    def reauthenticate(
        self, token: str, *, password: str, code: str, address: str = ""
    ) -> IssuedSession:
        """Require the password and, of an account with a second factor, a TOTP code.

        Recovery codes do not count, and neither does a session that one has opened. The session
        continues under a new token.
        """
        session = self._sessions.require_state(token, "open")
        account = session.account.id
        if session.recovered:
            raise SessionRefused("recovery")
        attempt = self._attempts.begin_in_session(session, address)
        self._attempts.check_password(attempt, password)
        if not code and self.is_enrolled(account):
            self._attempts.uncount(attempt)
            raise SignInRefused("code-needed")
        key = self._context.encryption_key

        def work(run: Transaction) -> IssuedSession:
            if has_second_factor(run, account) and not _consume_totp(run, key, account, code):
                raise WrongCredentials("code")
            return self._sessions.rotate(run, self._sessions.find(run, token).id)

        return self._attempts.complete(attempt, work)

    @transactional
    def reset(self, run: Transaction, account: str, *, by: str = CONSOLE) -> None:
        """Delete the second factor of an account whose user lost it.

        All its sessions and API tokens end.
        """
        roles = fetch_account(run, account).roles
        delete_second_factor(run, account)
        end_account_sessions(run, account)
        revoke_account_tokens(run, account, by)
        record_security_event(run, "code-reset", account, by)
        record_reset(run, account, roles, by)

    def _require_password(self, session: Session, password: str, address: str) -> None:
        """Refuse without the password: an unattended open session is not enough."""
        attempt = self._attempts.begin_in_session(session, address)
        self._attempts.check_password(attempt, password)
        self._attempts.complete(attempt, lambda _: None)

    def _require_password_and_code(
        self, session: Session, password: str, code: str, address: str
    ) -> None:
        """Refuse without both the password and a code."""
        if not password or not code:
            raise SessionRefused("enrolled")
        attempt = self._attempts.begin_in_session(session, address)
        self._attempts.check_password(attempt, password)
        self._attempts.complete(attempt, lambda run: self._attempts.use_code(run, attempt, code))

    def _activate_pending_secret(self, run: Transaction, account: str, code: str) -> None:
        """Activate the pending secret of an account, or refuse a code that is not its."""
        for pending in _secrets_in_column(run, "pending", account):
            secret = self._context.encryption_key.decrypt(pending, account).decode()
            step = matching_totp_step(secret, _normalise_code(code), run.now, after=0)
            if step is not None:
                active = {"secret": pending, "pending": b"", "step": step}
                run.update(schema.codes, active, account=account)
                return
        raise WrongCredentials("code")

    def _create_recovery_codes(self, run: Transaction, account: str) -> tuple[str, ...]:
        """Replace the recovery codes of an account by ten new ones, to be shown once."""
        codes = tuple(random_readable_code(4, 4) for _ in range(RECOVERY_CODE_COUNT))
        run.delete(schema.recovery, account=account)
        for code in codes:
            digest = _hash_recovery_code(self._context.encryption_key, account, code)
            run.insert(schema.recovery, {"account": account, "mark": digest})
        return codes


# --- inside a transaction ------------------------------------------------------------------------


def has_second_factor(run: SqlRunner, account: str) -> bool:
    """Return whether an account has an active TOTP secret."""
    return bool(_secrets_in_column(run, "secret", account))


def consume_code(run: Transaction, key: EncryptionKey, account: str, code: str) -> str:
    """Consume a code if it is right; return 'code' or 'recovery code', or '' if it is wrong."""
    if _consume_totp(run, key, account, code):
        return "code"
    mark = _hash_recovery_code(key, account, code)
    if has_second_factor(run, account) and run.delete(schema.recovery, account=account, mark=mark):
        return "recovery code"
    return ""


def _consume_totp(run: Transaction, key: EncryptionKey, account: str, code: str) -> bool:
    """Consume a TOTP code if it is right."""
    for secret, last_step in run(
        "SELECT secret, step FROM people_codes WHERE account = ? AND secret <> ?", (account, b"")
    ):
        totp_secret = key.decrypt(secret, account).decode()
        step = matching_totp_step(totp_secret, _normalise_code(code), run.now, after=last_step)
        if step is not None:
            run.update(schema.codes, {"step": step}, account=account)
            return True
    return False


def matching_totp_step(secret: str, code: str, now: int, after: int) -> int | None:
    """Return the time step that a code matches, or None.

    Only the present step and its two neighbours count, and only steps later than `after`, the step
    of the last accepted code.

    >>> matching_totp_step("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "287082", 59 * SECOND, after=0)
    1
    """
    if len(code) != TOTP_DIGITS or not code.isascii() or not code.isdecimal():
        return None
    totp, present = pyotp.TOTP(secret), now // TOTP_STEP_MICROSECONDS
    matching = None
    for step in (present - 1, present, present + 1):  # always all three: constant time
        is_equal = compare_digest(totp.generate_otp(step), code)
        if is_equal and step > after:
            matching = step
    return matching


def _secrets_in_column(run: SqlRunner, column: str, account: str) -> list[bytes]:
    rows = run(f"SELECT {column} FROM people_codes WHERE account = ?", (account,))
    return [secret for (secret,) in rows if secret]


def _normalise_code(code: str) -> str:
    """Return a code in lower case, without spaces and hyphens."""
    return "".join(code[:64].split()).replace("-", "").lower()


def _hash_recovery_code(key: EncryptionKey, account: str, code: str) -> bytes:
    return key.keyed_hash("recovery", f"{account}\0{_normalise_code(code)}")
