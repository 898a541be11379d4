"""Known devices: browsers that signed in to an account before.

A stranger who guesses at an account makes everybody wait who signs in to it from an unknown device.
A known device has an allowance of its own, which it shares with the session that it opened. It is
recognised by a random token in a long-lived cookie; only its SHA-256 is stored. The token gives no
access: signing in still takes the password, and a code if the account has a second factor.

A first password that an administrator issues counts as a known device, too: it is random, so nobody
can guess it, and its owner gets in however many others guess.
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from threedice.identity.roles import HOUR
from threedice.log.stores import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.db import SqlRunner
    from threedice.identity.access_changes import Transaction

MAX_DEVICES_PER_ACCOUNT: Final = 20
"""Limit of devices per account; a new one replaces the one that was used longest ago."""

DEVICE_LIFETIME_SECONDS: Final = 180 * 24 * 3600
"""How long a device is known after its last sign-in."""

_LIFETIME_MICROSECONDS: Final = DEVICE_LIFETIME_SECONDS * HOUR // 3600


def find_device(run: SqlRunner, now: int, account: str, tokens: Sequence[str]) -> str:
    """Return the token among these that a device of the account has, or ''."""
    used_after = now - _LIFETIME_MICROSECONDS
    sql = "SELECT digest FROM people_devices WHERE account = ? AND used > ?"
    digests = {bytes(digest) for (digest,) in run(sql, (account, used_after))}
    return next((token for token in tokens if hash_device_token(token) in digests), "")


def find_device_of_session(run: SqlRunner, session_id: str) -> bytes | None:
    """Return the digest of the device that a session was opened on, if it is still known."""
    rows = run("SELECT digest FROM people_devices WHERE session = ?", (session_id,))
    return bytes(rows[0][0]) if rows else None


def remember_device(run: Transaction, account: str, session_id: str, token: str = "") -> str:
    """Store that a session was opened on a device; return its token, a new one if it has none."""
    token = token or secrets.token_urlsafe(32)
    _store(run, account, session_id, token)
    return token


def trust_first_password(run: Transaction, account: str, password: str) -> None:
    """Store a generated first password as a known device, until the password is changed."""
    _store(run, account, "", password)


def forget_devices(run: Transaction, account: str) -> None:
    """Delete all known devices of an account."""
    run.delete(schema.devices, account=account)


def hash_device_token(token: str) -> bytes:
    """Return the digest that is stored of a token."""
    return sha256(token.encode(errors="surrogatepass")).digest()


def _store(run: Transaction, account: str, session_id: str, token: str) -> None:
    row = {
        "digest": hash_device_token(token),
        "account": account,
        "session": session_id,
        "used": run.now,
    }
    run.insert(schema.devices, row, updating=["session", "used"])
    sql = "SELECT digest FROM people_devices WHERE account = ? ORDER BY used DESC"
    for (digest,) in run(sql, (account,))[MAX_DEVICES_PER_ACCOUNT:]:
        run.delete(schema.devices, account=account, digest=digest)
