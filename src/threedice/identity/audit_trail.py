"""Audit trail: append-only security events, without secrets or names.

Accounts appear by id. A client address appears as 12 hexadecimal digits of a keyed hash: events
from the same address can be matched, but the address cannot be recovered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import Database
    from threedice.identity.access_changes import Transaction

CONSOLE: Final = "console"
"""Actor recorded for commands given on the server itself."""

SecurityEventKind = Literal[
    "account-added",
    "account-disabled",
    "account-enabled",
    "account-forgotten",
    "assigned",
    "assignment-ended",
    "birth-date-changed",
    "code-reset",
    "code-set-up",
    "enrolment-asked",
    "enrolment-confirmed",
    "enrolment-declined",
    "encryption-key-replaced",
    "display-added",
    "display-revoked",
    "password-changed",
    "recovery-code-used",
    "recovery-codes-made",
    "request-approved",
    "request-declined",
    "request-opened",
    "request-withdrawn",
    "roles-changed",
    "session-ended",
    "session-locked",
    "sessions-ended",
    "sign-in-failed",
    "signed-in",
    "signed-out",
    "token-made",
    "token-revoked",
    "unlock-failed",
    "unlocked",
]


class SecurityEvent(msgspec.Struct, frozen=True):
    """A security event of an account.

    `by` is the actor, `source` the hashed client address; either may be empty.
    """

    number: int
    at: int
    kind: SecurityEventKind
    account: str
    by: str
    source: str
    detail: str


def record_security_event(
    run: Transaction,
    kind: SecurityEventKind,
    account: str,
    by: str,
    *,
    source: str = "",
    detail: str = "",
) -> None:
    """Append an event in the open transaction."""
    ((latest,),) = run("SELECT coalesce(max(number), 0) FROM people_events")
    row = {
        "number": latest + 1,
        "at": run.now,
        "kind": kind,
        "account": account,
        "actor": by,
        "source": source,
        "detail": detail,
    }
    run.insert(schema.events, row)


class AuditTrail:
    """Read the recorded security events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def security_events(self, after: int = 0, limit: int = 1000) -> list[SecurityEvent]:
        """Return up to `limit` events after an event number, in order."""
        rows = self._database.query(
            "SELECT number, at, kind, account, actor, source, detail FROM people_events"
            " WHERE number > ? ORDER BY number LIMIT ?",
            (after, limit),
        )
        return [SecurityEvent(*row) for row in rows]

    def latest(self) -> int:
        """Return the number of the latest event."""
        ((number,),) = self._database.query("SELECT coalesce(max(number), 0) FROM people_events")
        return int(number)
