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

from threedice.identity.accounts import CONSOLE, end_account_sessions, fetch_account
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import SessionRefused, WrongCredentials
from threedice.identity.passwords import random_readable_code
from threedice.identity.roles import SECOND
from threedice.identity.sessions import IssuedSession

if TYPE_CHECKING:
    from threedice.db import SqlRunner
    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.encryption_key import EncryptionKey
    from threedice.identity.sessions import Sessions
    from threedice.identity.sign_in import SignInAttempts

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
            self._require_password_and_code(account.id, password, code, address)
        elif session.state == "open":
            self._require_password(account.id, password, address)
        key, issuer = self._context.encryption_key, self._context.policy.issuer

        def work(run: SqlRunner) -> TotpEnrolment:
            return store_pending_secret(run, key, account.id, account.name, issuer)

        return self._context.transact(work)

    def confirm_enrolment(self, token: str, code: str, *, address: str = "") -> ConfirmedEnrolment:
        """Activate the pending secret with its first code.

        The session continues under a new token, and all other sessions of the account end.
        """
        account = self._sessions.require_state(token, "open", "enrolment").account.id
        if not has_pending_secret(self._context.database.query, account):
            raise SessionRefused("not-begun")
        attempt = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> ConfirmedEnrolment:
            session = self._sessions.find(run, token, attempt.at)
            recovery_codes = activate_pending_secret(
                run, self._context.encryption_key, account, code, attempt.at
            )
            if recovery_codes is None:
                raise WrongCredentials("code")
            self._attempts.record_success(run, attempt)
            self._sessions.end_others(run, account, session.id)
            record_security_event(
                run, attempt.at, "code-set-up", account, account, source=attempt.source
            )
            issued = self._sessions.rotate(run, session.id, attempt.at)
            return ConfirmedEnrolment(issued, tuple(recovery_codes))

        with self._attempts.record_failure(attempt):
            return self._context.transact(work)

    def replace_recovery_codes(
        self, token: str, *, password: str, code: str, address: str = ""
    ) -> tuple[str, ...]:
        """Replace the recovery codes by ten new ones; requires the password and a code."""
        account = self._sessions.require_state(token, "open").account.id
        self._require_password_and_code(account, password, code, address)
        now = self._context.clock()

        def work(run: SqlRunner) -> tuple[str, ...]:
            record_security_event(run, now, "recovery-codes-made", account, account)
            return tuple(create_recovery_codes(run, self._context.encryption_key, account))

        return self._context.transact(work)

    def reset(self, account: str, *, by: str = CONSOLE) -> None:
        """Delete the second factor of an account whose user lost it; all its sessions end."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            fetch_account(run, account)
            delete_second_factor(run, account)
            end_account_sessions(run, account)
            record_security_event(run, now, "code-reset", account, by)

        self._context.transact(work)

    def _require_password(self, account: str, password: str, address: str) -> None:
        """Refuse without the password: an unattended open session is not enough."""
        attempt = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> None:
            self._attempts.check_unchanged(run, attempt)
            self._attempts.record_success(run, attempt)

        with self._attempts.record_failure(attempt):
            self._attempts.check_password(attempt, password)
            self._context.transact(work)

    def _require_password_and_code(
        self, account: str, password: str, code: str, address: str
    ) -> None:
        """Refuse without both the password and a code."""
        if not password or not code:
            raise SessionRefused("enrolled")
        attempt = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> None:
            self._attempts.check_unchanged(run, attempt)
            self._attempts.use_code(run, attempt, code)
            self._attempts.record_success(run, attempt)

        with self._attempts.record_failure(attempt):
            self._attempts.check_password(attempt, password)
            self._context.transact(work)


# --- inside a transaction ------------------------------------------------------------------------


def has_second_factor(run: SqlRunner, account: str) -> bool:
    """Return whether an account has an active TOTP secret."""
    return bool(_secrets_in_column(run, "secret", account))


def has_pending_secret(run: SqlRunner, account: str) -> bool:
    """Return whether a TOTP secret of an account waits for its first code."""
    return bool(_secrets_in_column(run, "pending", account))


def store_pending_secret(
    run: SqlRunner, key: EncryptionKey, account: str, name: str, issuer: str
) -> TotpEnrolment:
    """Store a new secret that waits for its first code; the active one stays in use until then."""
    secret = pyotp.random_base32()
    run(
        "INSERT INTO people_codes (account, secret, pending, step) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (account) DO UPDATE SET pending = excluded.pending",
        (account, b"", key.encrypt(secret.encode(), account)),
    )
    return TotpEnrolment(secret, pyotp.TOTP(secret).provisioning_uri(name, issuer))


def activate_pending_secret(
    run: SqlRunner, key: EncryptionKey, account: str, code: str, now: int
) -> list[str] | None:
    """Activate the pending secret if the code matches; return new recovery codes, else None."""
    for pending in _secrets_in_column(run, "pending", account):
        step = matching_totp_step(
            key.decrypt(pending, account).decode(), _normalise_code(code), now, after=0
        )
        if step is None:
            break
        run(
            "UPDATE people_codes SET secret = pending, pending = ?, step = ? WHERE account = ?",
            (b"", step, account),
        )
        return create_recovery_codes(run, key, account)
    return None


def create_recovery_codes(run: SqlRunner, key: EncryptionKey, account: str) -> list[str]:
    """Replace the recovery codes of an account by ten new ones, to be shown once."""
    codes = [random_readable_code(4, 4) for _ in range(RECOVERY_CODE_COUNT)]
    run("DELETE FROM people_recovery WHERE account = ?", (account,))
    for code in codes:
        run(
            "INSERT INTO people_recovery (account, mark) VALUES (?, ?)",
            (account, _hash_recovery_code(key, account, code)),
        )
    return codes


def count_recovery_codes(run: SqlRunner, account: str) -> int:
    """Return the number of unused recovery codes."""
    return len(run("SELECT 1 FROM people_recovery WHERE account = ?", (account,)))


def consume_code(run: SqlRunner, key: EncryptionKey, account: str, code: str, now: int) -> str:
    """Consume a code if it is right; return 'code' or 'recovery code', or '' if it is wrong."""
    normalised = _normalise_code(code)
    for secret, last_step in run(
        "SELECT secret, step FROM people_codes WHERE account = ? AND secret <> ?", (account, b"")
    ):
        totp_secret = key.decrypt(secret, account).decode()
        step = matching_totp_step(totp_secret, normalised, now, after=last_step)
        if step is not None:
            run("UPDATE people_codes SET step = ? WHERE account = ?", (step, account))
            return "code"
        if run(
            "DELETE FROM people_recovery WHERE account = ? AND mark = ? RETURNING account",
            (account, _hash_recovery_code(key, account, normalised)),
        ):
            return "recovery code"
    return ""


def delete_second_factor(run: SqlRunner, account: str) -> None:
    """Delete the TOTP secrets and recovery codes of an account."""
    run("DELETE FROM people_codes WHERE account = ?", (account,))
    run("DELETE FROM people_recovery WHERE account = ?", (account,))


def matching_totp_step(secret: str, code: str, now: int, after: int) -> int | None:
    """Return the time step that a code matches, or None.

    Only the present step and its two neighbours count, and only steps later than `after`, the step
    of the last accepted code.

    >>> matching_totp_step("JBSWY3DPEHPK3PXP", "996554", 59 * SECOND, after=0)
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
