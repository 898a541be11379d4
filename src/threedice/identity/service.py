"""The identity service of a house: every part of it, opened on one database."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.db.old_tables import copy_migrated
from threedice.db.postgres import IDENTITY_LOCK, PostgresDatabase
from threedice.db.sqlite import SqliteDatabase
from threedice.db.urls import MEMORY_URL, find_sqlite_path, is_postgres_url
from threedice.errors import InvalidInput, OperatingFailure
from threedice.identity.access_changes import AccessChanges, IdentityContext
from threedice.identity.accounts import Accounts
from threedice.identity.approval.approvals import Approvals
from threedice.identity.approval.enrolments import Enrolments
from threedice.identity.assignments import Assignments
from threedice.identity.audit_trail import AuditTrail
from threedice.identity.authentication.displays import Displays
from threedice.identity.authentication.encryption_key import (
    KEY_BYTES,
    EncryptionKey,
    open_encryption_key,
)
from threedice.identity.authentication.passwords import Argon2Cost, Argon2Hasher
from threedice.identity.authentication.second_factors import SecondFactors
from threedice.identity.authentication.sessions import Sessions
from threedice.identity.authentication.sign_in import Authentication, SignInAttempts
from threedice.identity.authentication.tokens import ApiTokens
from threedice.identity.roles import IdentityPolicy
from threedice.log.proof.head_macs import HeadMacs, open_head_macs
from threedice.log.record_chain import record_existing_rows

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.db.schema import Dialect, TablePolicy
    from threedice.identity.roles import MicrosecondClock


@dataclass(frozen=True, slots=True)
class IdentityService:
    """The parts of the identity package, opened together on one database."""

    accounts: Accounts
    authentication: Authentication
    second_factors: SecondFactors
    sessions: Sessions
    tokens: ApiTokens
    displays: Displays
    assignments: Assignments
    enrolments: Enrolments
    approvals: Approvals
    audit_trail: AuditTrail
    access_changes: AccessChanges
    context: IdentityContext

    def poll(self) -> None:
        """Store last-seen times, then deliver other servers' access changes to subscribers."""
        self.context.poll()

    def close(self) -> None:
        """Store last-seen times and close the database."""
        with suppress(OperatingFailure):  # losing the last-seen times does little harm
            self.sessions.write_last_seen(force=True)
            self.tokens.write_last_used()
        self.context.database.close()


def utc_now_microseconds() -> int:
    """Return the current time in microseconds of UTC since 1970."""
    return time.time_ns() // 1000


def open_identity(
    url: str,
    *,
    state: Path,
    clock: MicrosecondClock = utc_now_microseconds,
    cost: Argon2Cost | None = None,
    policy: IdentityPolicy | None = None,
    tables: TablePolicy = "create",
    new_key: EncryptionKey | None = None,
) -> IdentityService:
    """Open the identity database at a URL, which may be the database of the log.

    The encryption key for stored secrets is a file in the state directory; `new_key` is one to be
    adopted instead because the file is lost.
    """
    database = open_database(url)
    try:
        database.prepare_tables(tables, needed="people_accounts")
        head_macs = open_head_macs(database, state)
        record_existing_rows(database, head_macs)
        key = new_key or open_encryption_key(database, state, head_macs)
        return _make_service(database, key, head_macs, clock, cost, policy)
    except BaseException:
        database.close()
        raise


def read_identity(url: str) -> IdentityService:
    """Open the identity database at a URL to read it; nothing is written, on any disk.

    The tables of an older version are migrated in a copy in memory. Secrets cannot be read.
    """
    database = open_database(url, read_only=True)
    try:
        dialect: Dialect = "postgresql" if is_postgres_url(url) else "sqlite"
        if migrated := copy_migrated(database, dialect):
            database.close()
            database = migrated
        nothing = bytes(KEY_BYTES)
        return _make_service(database, EncryptionKey(nothing), HeadMacs(nothing))
    except BaseException:
        database.close()
        raise


def _make_service(
    database: SqliteDatabase | PostgresDatabase,
    key: EncryptionKey,
    head_macs: HeadMacs,
    clock: MicrosecondClock = utc_now_microseconds,
    cost: Argon2Cost | None = None,
    policy: IdentityPolicy | None = None,
) -> IdentityService:
    access_changes = AccessChanges(database, clock)
    hasher = Argon2Hasher(cost or Argon2Cost())
    context = IdentityContext(
        database, clock, key, policy or IdentityPolicy(), hasher, access_changes, head_macs
    )
    sessions, attempts = Sessions(context), SignInAttempts(context)
    return IdentityService(
        accounts=Accounts(context),
        authentication=Authentication(context, sessions, attempts),
        second_factors=SecondFactors(context, sessions, attempts),
        sessions=sessions,
        tokens=ApiTokens(context),
        displays=Displays(context),
        assignments=Assignments(context),
        enrolments=Enrolments(context),
        approvals=Approvals(context),
        audit_trail=AuditTrail(database),
        access_changes=access_changes,
        context=context,
    )


def open_database(url: str, *, read_only: bool = False) -> SqliteDatabase | PostgresDatabase:
    """Open a database whose write transactions run one at a time, across all processes.

    So a transaction can check a rule and rely on it until the commit, and numbers assigned in
    transactions are in commit order.
    """
    if url == MEMORY_URL:
        return SqliteDatabase(None)
    if is_postgres_url(url):
        return PostgresDatabase(url, write_lock=IDENTITY_LOCK)
    if (path := find_sqlite_path(url)) is None:
        raise InvalidInput(
            "this is not the URL of a database; write sqlite:///PATH or postgresql://..."
        )
    return SqliteDatabase(path, read_only=read_only)
