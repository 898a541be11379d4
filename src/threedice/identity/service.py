"""All that is known of a house's people, opened as one."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput, OperatingFailure
from threedice.identity.access_changes import AccessChanges, IdentityContext
from threedice.identity.accounts import Accounts
from threedice.identity.approvals import Approvals
from threedice.identity.assignments import Assignments
from threedice.identity.audit_trail import AuditTrail
from threedice.identity.database.encryption_key import open_encryption_key
from threedice.identity.database.postgres import PostgresDatabase
from threedice.identity.database.sqlite import SqliteDatabase
from threedice.identity.passwords import Argon2Cost, Argon2Hasher
from threedice.identity.roles import IdentityPolicy
from threedice.identity.second_factors import SecondFactors
from threedice.identity.sessions import Sessions
from threedice.identity.sign_in import Authentication, SignInAttempts
from threedice.identity.tokens import ApiTokens

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.identity.accounts import FirstPassword
    from threedice.identity.database import Database
    from threedice.identity.roles import MicrosecondClock

MEMORY_URL: Final = "memory:"
_SQLITE_PREFIX: Final = "sqlite:///"
_URL_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class IdentityService:
    """The people of a house, part by part."""

    accounts: Accounts
    authentication: Authentication
    second_factors: SecondFactors
    sessions: Sessions
    tokens: ApiTokens
    assignments: Assignments
    approvals: Approvals
    audit_trail: AuditTrail
    access_changes: AccessChanges
    context: IdentityContext

    def ensure_administrator(self) -> FirstPassword | None:
        """Make the first account of a house that has none, and return its password this once."""
        return self.accounts.ensure_administrator()

    def poll(self) -> None:
        """Write down who was seen, and tell whoever listens what other servers changed."""
        self.context.poll()

    def close(self) -> None:
        """Write down who was seen, and let go of the database."""
        with suppress(OperatingFailure):  # it is seldom worth much
            self.sessions.write_last_seen(force=True)
            self.tokens.write_last_used()
        self.context.database.close()


def utc_now_microseconds() -> int:
    """Return the time: microseconds of UTC since 1970."""
    return time.time_ns() // 1000


def open_identity(
    url: str,
    *,
    state: Path,
    clock: MicrosecondClock = utc_now_microseconds,
    cost: Argon2Cost | None = None,
    policy: IdentityPolicy | None = None,
) -> IdentityService:
    """Open the people of a house, in the database of its log or in one of their own.

    The key of their secrets is kept in the state directory.
    """
    database = _open_database(url)
    try:
        key, changes = open_encryption_key(database, state), AccessChanges(database, clock)
    except BaseException:
        database.close()
        raise
    passwords = Argon2Hasher(cost or Argon2Cost())
    records = IdentityContext(database, clock, key, policy or IdentityPolicy(), passwords, changes)
    sessions, tries = Sessions(records), SignInAttempts(records)
    return IdentityService(
        Accounts(records),
        Authentication(records, sessions, tries),
        SecondFactors(records, sessions, tries),
        sessions,
        ApiTokens(records),
        Assignments(records),
        Approvals(records),
        AuditTrail(database),
        changes,
        records,
    )


def _open_database(url: str) -> Database:
    if url == MEMORY_URL:
        return SqliteDatabase(None)
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(url)
    path = url.removeprefix(_SQLITE_PREFIX)
    if not path or path.endswith("/") or (path == url and _URL_SCHEME.match(url)):
        raise InvalidInput("this URL names no database; write sqlite:///PATH or postgresql://...")
    return SqliteDatabase(path)
