"""Second factors: TOTP enrolment, code verification and recovery codes.

Setting up codes, replacing them, and getting new ones on paper.

Codes beside a password: one every 30 seconds from a telephone, or one of ten kept on paper.

Each is accepted once. The secret is kept sealed; of the codes on paper only marks are kept.
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
    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.database import SqlRunner
    from threedice.identity.database.encryption_key import EncryptionKey
    from threedice.identity.sessions import Sessions
    from threedice.identity.sign_in import SignInAttempts


class ConfirmedEnrolment(msgspec.Struct, frozen=True):
    """A session that goes on with codes in use, and recovery codes that are shown once."""

    signed_in: IssuedSession
    recovery_codes: tuple[str, ...]


class SecondFactors:
    """The codes that people have beside their passwords."""

    def __init__(
        self, context: IdentityContext, sessions: Sessions, attempts: SignInAttempts
    ) -> None:
        self._context, self._sessions, self._attempts = context, sessions, attempts

    def is_enrolled(self, account: str) -> bool:
        """Tell whether an account has codes in use."""
        return has_second_factor(self._context.database.query, account)

    def begin_enrolment(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> TotpEnrolment:
        """Make a secret for a telephone, for the password; where codes are in use, also for one.

        Who has just signed in to set them up has said his password.
        """
        session = self._sessions.require_state(token, "open", "enrolment")
        account = session.account
        if self.is_enrolled(account.id):
            self._require_password_and_code(account.id, password, code, address)
        elif session.standing == "open":
            self._require_password(account.id, password, address)
        key, issuer = self._context.encryption_key, self._context.policy.issuer

        def work(run: SqlRunner) -> TotpEnrolment:
            return store_pending_secret(run, key, account.id, account.name, issuer)

        return self._context.transact(work)

    def confirm_enrolment(self, token: str, code: str, *, address: str = "") -> ConfirmedEnrolment:
        """Put codes into use with the first of them; the session goes on under a new token."""
        account = self._sessions.require_state(token, "open", "enrolment").account.id
        if not has_pending_secret(self._context.database.query, account):
            raise SessionRefused("not-begun")
        tried = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> ConfirmedEnrolment:
            session = self._sessions.find(run, token, tried.at)
            codes = activate_pending_secret(
                run, self._context.encryption_key, account, code, tried.at
            )
            if codes is None:
                raise WrongCredentials("code")
            self._attempts.record_success(run, tried)
            self._sessions.end_others(run, account, session.id)
            record_security_event(
                run, tried.at, "code-set-up", account, account, source=tried.source
            )
            return ConfirmedEnrolment(
                self._sessions.rotate(run, session.id, tried.at), tuple(codes)
            )

        with self._attempts.record_failure(tried):
            return self._context.transact(work)

    def replace_recovery_codes(
        self, token: str, *, password: str, code: str, address: str = ""
    ) -> tuple[str, ...]:
        """Make ten recovery codes instead of those there were, for the password and a code."""
        account = self._sessions.require_state(token, "open").account.id
        self._require_password_and_code(account, password, code, address)
        now = self._context.clock()

        def work(run: SqlRunner) -> tuple[str, ...]:
            record_security_event(run, now, "recovery-codes-made", account, account)
            return tuple(create_recovery_codes(run, self._context.encryption_key, account))

        return self._context.transact(work)

    def reset(self, account: str, *, by: str = CONSOLE) -> None:
        """Forget the codes of somebody who lost them; all his sessions end."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            fetch_account(run, account)
            delete_second_factor(run, account)
            end_account_sessions(run, account)
            record_security_event(run, now, "code-reset", account, by)

        self._context.transact(work)

    def _require_password(self, account: str, password: str, address: str) -> None:
        """Refuse whoever only found a session open."""
        tried = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> None:
            self._attempts.check_unchanged(run, tried)
            self._attempts.record_success(run, tried)

        with self._attempts.record_failure(tried):
            self._attempts.check_password(tried, password)
            self._context.transact(work)

    def _require_password_and_code(
        self, account: str, password: str, code: str, address: str
    ) -> None:
        """Refuse whoever has not both the password and a code of an account."""
        if not password or not code:
            raise SessionRefused("enrolled")
        tried = self._attempts.begin("id", account, address)

        def work(run: SqlRunner) -> None:
            self._attempts.check_unchanged(run, tried)
            self._attempts.use_code(run, tried, code)
            self._attempts.record_success(run, tried)

        with self._attempts.record_failure(tried):
            self._attempts.check_password(tried, password)
            self._context.transact(work)


TOTP_STEP_MICROSECONDS: Final = 30 * SECOND


TOTP_DIGITS: Final = 6


RECOVERY_CODE_COUNT: Final = 10


class TotpEnrolment(msgspec.Struct, frozen=True):
    """A secret to be put into a telephone, as letters and as what a picture of it says."""

    secret: str
    uri: str


def matching_totp_step(secret: str, code: str, now: int, after: int) -> int | None:
    """Return which step a code belongs to: this one or a neighbour, and later than one used.

    >>> matching_totp_step("JBSWY3DPEHPK3PXP", "996554", 59 * SECOND, after=0)
    1
    """
    if len(code) != TOTP_DIGITS or not code.isascii() or not code.isdecimal():
        return None
    totp, present = pyotp.TOTP(secret), now // TOTP_STEP_MICROSECONDS
    fitting = None
    for step in (present - 1, present, present + 1):
        fits = compare_digest(totp.generate_otp(step), code)
        if fits and step > after:
            fitting = step
    return fitting


def has_second_factor(run: SqlRunner, account: str) -> bool:
    """Tell whether an account has codes in use."""
    return any(secret for (secret,) in _secrets_in_column(run, "secret", account))


def store_pending_secret(
    run: SqlRunner, key: EncryptionKey, account: str, name: str, issuer: str
) -> TotpEnrolment:
    """Make a new secret, which waits for its first code; one in use stays in use until then."""
    secret = pyotp.random_base32()
    run(
        "INSERT INTO people_codes (account, secret, pending, step) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (account) DO UPDATE SET pending = excluded.pending",
        (account, b"", key.encrypt(secret.encode(), account)),
    )
    return TotpEnrolment(secret, pyotp.TOTP(secret).provisioning_uri(name, issuer))


def has_pending_secret(run: SqlRunner, account: str) -> bool:
    """Tell whether a secret waits for its first code."""
    return any(pending for (pending,) in _secrets_in_column(run, "pending", account))


def activate_pending_secret(
    run: SqlRunner, key: EncryptionKey, account: str, code: str, now: int
) -> list[str] | None:
    """Put the waiting secret into use, if the code is right; return new recovery codes."""
    for (pending,) in _secrets_in_column(run, "pending", account):
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
    """Make ten recovery codes instead of those there were, to be shown once."""
    codes = [random_readable_code(4, 4) for _ in range(RECOVERY_CODE_COUNT)]
    run("DELETE FROM people_recovery WHERE account = ?", (account,))
    for code in codes:
        run(
            "INSERT INTO people_recovery (account, mark) VALUES (?, ?)",
            (account, _hash_recovery_code(key, account, code)),
        )
    return codes


def count_recovery_codes(run: SqlRunner, account: str) -> int:
    """Return how many recovery codes have not been used."""
    return len(run("SELECT 1 FROM people_recovery WHERE account = ?", (account,)))


def consume_code(run: SqlRunner, key: EncryptionKey, account: str, code: str, now: int) -> str:
    """Use a code up, if it is right; return what kind it was, or nothing."""
    typed = _normalise_code(code)
    for secret, used in run(
        "SELECT secret, step FROM people_codes WHERE account = ? AND secret <> ?", (account, b"")
    ):
        step = matching_totp_step(key.decrypt(secret, account).decode(), typed, now, after=used)
        if step is not None:
            run("UPDATE people_codes SET step = ? WHERE account = ?", (step, account))
            return "code"
        if run(
            "DELETE FROM people_recovery WHERE account = ? AND mark = ? RETURNING account",
            (account, _hash_recovery_code(key, account, typed)),
        ):
            return "recovery code"
    return ""


def delete_second_factor(run: SqlRunner, account: str) -> None:
    """Forget the codes of an account."""
    run("DELETE FROM people_codes WHERE account = ?", (account,))
    run("DELETE FROM people_recovery WHERE account = ?", (account,))


def _secrets_in_column(run: SqlRunner, column: str, account: str) -> list[tuple[bytes]]:
    return [
        (value,)
        for (value,) in run(f"SELECT {column} FROM people_codes WHERE account = ?", (account,))
        if value
    ]


def _normalise_code(code: str) -> str:
    """Return a code without the spaces and hyphens that people put into it."""
    return "".join(code[:64].split()).replace("-", "").lower()


def _hash_recovery_code(key: EncryptionKey, account: str, code: str) -> bytes:
    return key.keyed_hash("recovery", f"{account}\0{_normalise_code(code)}")
