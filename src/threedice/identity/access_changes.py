"""Access changes: notify every server when a session ends, locks, rotates or loses rights.

Each change has a number in the database, without gaps and in commit order. A process delivers its
own changes to its subscribers at once, and those of other processes when it polls. The API server
polls several times a second and closes the sockets concerned.

`IdentityContext` holds what all parts of this package share, and delivers changes after each
transaction.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from threading import RLock
from typing import (
    TYPE_CHECKING,
    Concatenate,
    Final,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
)

import msgspec

from threedice.errors import OperatingFailure
from threedice.identity.roles import SECOND
from threedice.log.record_chain import RecordedTransaction, transact_recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.db import Database, Result, SqlRunner
    from threedice.identity.authentication.encryption_key import EncryptionKey
    from threedice.identity.authentication.passwords import Argon2Hasher
    from threedice.identity.roles import IdentityPolicy, MicrosecondClock
    from threedice.log.proof.head_macs import HeadMacs

MAX_STORED_CHANGES: Final = 10_000

MAX_STALENESS_MICROSECONDS: Final = SECOND
"""Time after a poll for which cached tokens are trusted without polling again."""

Transaction = RecordedTransaction
"""An open transaction, whose changes of rows are recorded in the log."""

AccessChangeKind = Literal["ended", "rotated", "locked", "rights"]


class AccessChange(msgspec.Struct, frozen=True):
    """A change of a session or an API token.

    An empty `session` means all sessions and tokens of the account; an empty `account` means all
    accounts. `ended`: close the sockets. `rotated`: the session continues under a new token.
    `locked`: the session continues after it is unlocked. `rights`: check permissions again.
    """

    number: int
    account: str
    session: str
    kind: AccessChangeKind


def publish_access_change(
    run: SqlRunner, account: str, kind: AccessChangeKind, session: str = ""
) -> None:
    """Record a change in the open transaction; all servers read it after the commit."""
    run(
        "INSERT INTO people_changes (number, account, session, what)"
        " SELECT coalesce(max(number), 0) + 1, ?, ?, ? FROM people_changes",
        (account, session, kind),
    )
    run(
        "DELETE FROM people_changes WHERE number <= (SELECT max(number) FROM people_changes) - ?",
        (MAX_STORED_CHANGES,),
    )


class AccessChanges:
    """Reads changes from the database and calls subscribers, once per change and in order."""

    def __init__(self, database: Database, clock: MicrosecondClock) -> None:
        self._database, self._clock = database, clock
        self._lock = RLock()
        self._subscribers: list[Callable[[AccessChange], None]] = []
        self._polled_at = clock()
        self._last_number = self.latest()

    def subscribe(self, subscriber: Callable[[AccessChange], None]) -> Callable[[], None]:
        """Call a subscriber with every change, in the polling thread; return how to unsubscribe."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def latest(self) -> int:
        """Return the number of the latest change."""
        ((number,),) = self._database.query("SELECT coalesce(max(number), 0) FROM people_changes")
        return int(number)

    def changes_since(self, number: int) -> list[AccessChange]:
        """Return the changes after a number.

        If some of them are no longer stored, return a single change that ends all sessions.
        """
        rows = self._database.query(
            "SELECT number, account, session, what FROM people_changes"
            " WHERE number >= ? ORDER BY number",
            (number,),
        )
        changes = [AccessChange(*row) for row in rows]
        if number == 0 and (not changes or changes[0].number == 1):
            return changes
        if changes and changes[0].number == number:
            return changes[1:]
        return [AccessChange(self.latest(), "", "", "ended")]

    def is_stale(self, now: int) -> bool:
        """Return whether the last poll is too long ago to trust cached tokens."""
        return not 0 <= now - self._polled_at <= MAX_STALENESS_MICROSECONDS

    def poll(self) -> None:
        """Deliver new changes to all subscribers, even if one of them fails.

        Failures are raised together at the end, as an `ExceptionGroup`.
        """
        with self._lock:
            now = self._clock()
            failures: list[Exception] = []
            for change in self.changes_since(self._last_number):
                self._last_number = change.number
                for subscriber in tuple(self._subscribers):
                    try:
                        subscriber(change)
                    except Exception as error:
                        failures.append(error)
            self._polled_at = now
        if failures:
            raise ExceptionGroup("a subscriber to access changes failed", failures)


@dataclass(slots=True)
class IdentityContext:
    """The state that this package shares: database, clock, key, policy, hasher and changes."""

    database: Database
    clock: MicrosecondClock
    encryption_key: EncryptionKey
    policy: IdentityPolicy
    hasher: Argon2Hasher
    access_changes: AccessChanges
    head_macs: HeadMacs
    poll_hooks: list[Callable[[], None]] = field(default_factory=list)
    """Functions that run at every poll, before changes are delivered."""

    def transact(self, work: Callable[[Transaction], Result]) -> Result:
        """Run a durable transaction, then deliver its changes in this process before returning."""
        result = transact_recorded(self.database, work, now=self.clock(), head_macs=self.head_macs)
        # It is committed. If polling fails, the cache goes stale and is not trusted either.
        with suppress(OperatingFailure):
            self.access_changes.poll()
        return result

    def poll(self) -> None:
        """Run the poll hooks, then deliver the changes of other servers."""
        for hook in self.poll_hooks:
            hook()
        self.access_changes.poll()

    def poll_if_stale(self, now: int) -> None:
        """Poll if the last poll is too long ago."""
        if self.access_changes.is_stale(now):
            self.poll()


class _HasContext(Protocol):
    _context: IdentityContext


_PartT = TypeVar("_PartT", bound=_HasContext)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def transactional(
    method: Callable[Concatenate[_PartT, Transaction, _P], _T],
) -> Callable[Concatenate[_PartT, _P], _T]:
    """Run a method in a durable transaction, which it receives as its first argument."""

    @wraps(method)
    def transact(part: _PartT, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return part._context.transact(lambda run: method(part, run, *args, **kwargs))

    return transact
