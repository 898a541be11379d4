"""All that is known of a house's people, opened as one."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput, OperatingFailure
from threedice.people.accounts import Accounts
from threedice.people.assignments import Assignments
from threedice.people.changes import Changes
from threedice.people.door import Door
from threedice.people.enrolling import Codes
from threedice.people.key import open_key
from threedice.people.passwords import Cost, Passwords
from threedice.people.policy import Policy
from threedice.people.postgres import PostgresDatabase
from threedice.people.records import Records
from threedice.people.requests import Requests
from threedice.people.sessions import Sessions
from threedice.people.sqlite import SqliteDatabase
from threedice.people.tokens import Tokens
from threedice.people.trail import Trail
from threedice.people.tries import Tries

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.people.accounts import FirstPassword
    from threedice.people.database import Database
    from threedice.people.policy import Clock

MEMORY: Final = "memory:"
_SQLITE: Final = "sqlite:///"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class People:
    """The people of a house, part by part."""

    accounts: Accounts
    door: Door
    codes: Codes
    sessions: Sessions
    tokens: Tokens
    assignments: Assignments
    requests: Requests
    trail: Trail
    changes: Changes
    records: Records

    def ensure_administrator(self) -> FirstPassword | None:
        """Make the first account of a house that has none, and return its password this once."""
        return self.accounts.ensure_administrator()

    def poll(self) -> None:
        """Write down who was seen, and tell whoever listens what other servers changed."""
        self.records.poll()

    def close(self) -> None:
        """Write down who was seen, and let go of the database."""
        with suppress(OperatingFailure):  # it is seldom worth much
            self.sessions.write_seen(everything=True)
            self.tokens.write_used()
        self.records.database.close()


def now() -> int:
    """Return the time: microseconds of UTC since 1970."""
    return time.time_ns() // 1000


def open_people(
    url: str,
    *,
    state: Path,
    clock: Clock = now,
    cost: Cost | None = None,
    policy: Policy | None = None,
) -> People:
    """Open the people of a house, in the database of its log or in one of their own.

    The key of their secrets is kept in the state directory.
    """
    database = _database(url)
    try:
        key, changes = open_key(database, state), Changes(database, clock)
    except BaseException:
        database.close()
        raise
    passwords = Passwords(cost or Cost())
    records = Records(database, clock, key, policy or Policy(), passwords, changes)
    sessions, tries = Sessions(records), Tries(records)
    return People(
        Accounts(records),
        Door(records, sessions, tries),
        Codes(records, sessions, tries),
        sessions,
        Tokens(records),
        Assignments(records),
        Requests(records),
        Trail(database),
        changes,
        records,
    )


def _database(url: str) -> Database:
    if url == MEMORY:
        return SqliteDatabase(None)
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(url)
    path = url.removeprefix(_SQLITE)
    if not path or path.endswith("/") or (path == url and _SCHEME.match(url)):
        raise InvalidInput("this URL names no database; write sqlite:///PATH or postgresql://...")
    return SqliteDatabase(path)
