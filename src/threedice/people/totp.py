"""Codes beside a password: one every 30 seconds from a telephone, or one of ten kept on paper.

Each is accepted once. The secret is kept sealed; of the codes on paper only marks are kept.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING, Final

import msgspec
import pyotp

from threedice.people.names import spelled
from threedice.people.policy import SECOND

if TYPE_CHECKING:
    from threedice.people.database import Run
    from threedice.people.key import Key

STEP: Final = 30 * SECOND
DIGITS: Final = 6
RECOVERY_CODES: Final = 10


class Enrolment(msgspec.Struct, frozen=True):
    """A secret to be put into a telephone, as letters and as what a picture of it says."""

    secret: str
    uri: str


def step_of(secret: str, code: str, now: int, after: int) -> int | None:
    """Return which step a code belongs to: this one or a neighbour, and later than one used.

    >>> step_of("JBSWY3DPEHPK3PXP", "996554", 59 * SECOND, after=0)
    1
    """
    if len(code) != DIGITS or not code.isascii() or not code.isdecimal():
        return None
    totp, present = pyotp.TOTP(secret), now // STEP
    fitting = None
    for step in (present - 1, present, present + 1):
        fits = compare_digest(totp.generate_otp(step), code)
        if fits and step > after:
            fitting = step
    return fitting


def is_enrolled(run: Run, account: str) -> bool:
    """Tell whether an account has codes in use."""
    return any(secret for (secret,) in _column(run, "secret", account))


def begin(run: Run, key: Key, account: str, name: str, issuer: str) -> Enrolment:
    """Make a new secret, which waits for its first code; one in use stays in use until then."""
    secret = pyotp.random_base32()
    run(
        "INSERT INTO people_codes (account, secret, pending, step) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (account) DO UPDATE SET pending = excluded.pending",
        (account, b"", key.seal(secret.encode(), account)),
    )
    return Enrolment(secret, pyotp.TOTP(secret).provisioning_uri(name, issuer))


def is_begun(run: Run, account: str) -> bool:
    """Tell whether a secret waits for its first code."""
    return any(pending for (pending,) in _column(run, "pending", account))


def confirm(run: Run, key: Key, account: str, code: str, now: int) -> list[str] | None:
    """Put the waiting secret into use, if the code is right; return new recovery codes."""
    for (pending,) in _column(run, "pending", account):
        step = step_of(key.unseal(pending, account).decode(), _typed(code), now, after=0)
        if step is None:
            break
        run(
            "UPDATE people_codes SET secret = pending, pending = ?, step = ? WHERE account = ?",
            (b"", step, account),
        )
        return make_recovery_codes(run, key, account)
    return None


def make_recovery_codes(run: Run, key: Key, account: str) -> list[str]:
    """Make ten recovery codes instead of those there were, to be shown once."""
    codes = [spelled(4, 4) for _ in range(RECOVERY_CODES)]
    run("DELETE FROM people_recovery WHERE account = ?", (account,))
    for code in codes:
        run(
            "INSERT INTO people_recovery (account, mark) VALUES (?, ?)",
            (account, _mark(key, account, code)),
        )
    return codes


def recovery_codes_left(run: Run, account: str) -> int:
    """Return how many recovery codes have not been used."""
    return len(run("SELECT 1 FROM people_recovery WHERE account = ?", (account,)))


def accept(run: Run, key: Key, account: str, code: str, now: int) -> str:
    """Use a code up, if it is right; return what kind it was, or nothing."""
    typed = _typed(code)
    for secret, used in run(
        "SELECT secret, step FROM people_codes WHERE account = ? AND secret <> ?", (account, b"")
    ):
        step = step_of(key.unseal(secret, account).decode(), typed, now, after=used)
        if step is not None:
            run("UPDATE people_codes SET step = ? WHERE account = ?", (step, account))
            return "code"
        if run(
            "DELETE FROM people_recovery WHERE account = ? AND mark = ? RETURNING account",
            (account, _mark(key, account, typed)),
        ):
            return "recovery code"
    return ""


def remove(run: Run, account: str) -> None:
    """Forget the codes of an account."""
    run("DELETE FROM people_codes WHERE account = ?", (account,))
    run("DELETE FROM people_recovery WHERE account = ?", (account,))


def _column(run: Run, column: str, account: str) -> list[tuple[bytes]]:
    return [
        (value,)
        for (value,) in run(f"SELECT {column} FROM people_codes WHERE account = ?", (account,))
        if value
    ]


def _typed(code: str) -> str:
    """Return a code without the spaces and hyphens that people put into it."""
    return "".join(code[:64].split()).replace("-", "").lower()


def _mark(key: Key, account: str, code: str) -> bytes:
    return key.mark("recovery", f"{account}\0{_typed(code)}")
