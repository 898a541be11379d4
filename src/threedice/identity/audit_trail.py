"""The trail of security events: only added to, with no secret and no name in it.

Accounts appear by id. An address appears as a mark of 12 hexadecimal digits: the same address has
the same mark, and nobody can tell which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from threedice.identity.database import Database, SqlRunner

SecurityEventKind = Literal[
    "account-added",
    "account-disabled",
    "account-enabled",
    "account-forgotten",
    "assigned",
    "assignment-ended",
    "code-reset",
    "code-set-up",
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
    """Something that happened to an account: when, what, by whom, from where, and a detail."""

    number: int
    at: int
    kind: SecurityEventKind
    account: str
    by: str
    source: str
    detail: str


def record_security_event(
    run: SqlRunner,
    at: int,
    kind: SecurityEventKind,
    account: str,
    by: str,
    *,
    source: str = "",
    detail: str = "",
) -> None:
    """Add to the trail, within a transaction already begun."""
    run(
        "INSERT INTO people_events (number, at, kind, account, actor, source, detail)"
        " SELECT coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM people_events",
        (at, kind, account, by, source, detail),
    )


class AuditTrail:
    """The security events, to read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def security_events(self, after: int = 0, limit: int = 1000) -> list[SecurityEvent]:
        """Return what happened after the event of a number, in order."""
        found = self._database.query(
            "SELECT number, at, kind, account, actor, source, detail FROM people_events"
            " WHERE number > ? ORDER BY number LIMIT ?",
            (after, limit),
        )
        return [SecurityEvent(*row) for row in found]

    def latest(self) -> int:
        """Return the number of the last event, from which to go on reading."""
        ((number,),) = self._database.query("SELECT coalesce(max(number), 0) FROM people_events")
        return int(number)
