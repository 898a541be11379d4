"""Feed of access changes: tell every server when a session ends, locks or loses rights.

What ended somebody's right to go on, told to every server at once.

Each change has a number in the database, without gaps and in the order of commits. A process is
told of its own at once, and of those of others when it polls; the web layer polls several times a
second and closes sockets.

What every part of people works on: database, clock, key, and who hears of changes.
"""

from __future__ import annotations

from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.errors import OperatingFailure
from threedice.identity.roles import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.identity.database import Database, Result, SqlRunner, TransactionBody
    from threedice.identity.database.encryption_key import EncryptionKey
    from threedice.identity.passwords import Argon2Hasher
    from threedice.identity.roles import IdentityPolicy, MicrosecondClock


MAX_STORED_CHANGES: Final = 10_000


MAX_STALENESS_MICROSECONDS: Final = SECOND
"""For how long after a poll it may be believed that nothing has changed."""


AccessChangeKind = Literal["ended", "rotated", "locked", "rights"]


class AccessChange(msgspec.Struct, frozen=True):
    """A session or a program's token that changed; all of an account, or everybody's, if empty.

    `ended`: close what it has open. `rotated`: it goes on under another token. `locked`: it goes on
    when it is unlocked. `rights`: ask again what the account may do.
    """

    number: int
    account: str
    session: str
    what: AccessChangeKind


def publish_access_change(
    run: SqlRunner, account: str, kind: AccessChangeKind, session: str = ""
) -> None:
    """Have all servers told of a change, when the transaction already begun is committed."""
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
    """Hears of changes, and tells whoever listens, each once and in order."""

    def __init__(self, database: Database, clock: MicrosecondClock) -> None:
        self._database, self._clock = database, clock
        self._lock = RLock()
        self._subscribers: list[Callable[[AccessChange], None]] = []
        self._polled_at = clock()
        self._last_number = self.latest()

    def subscribe(self, subscriber: Callable[[AccessChange], None]) -> Callable[[], None]:
        """Call somebody with every change, in whichever thread hears of it; returns how to stop."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def latest(self) -> int:
        """Return the number of the last change."""
        ((number,),) = self._database.query("SELECT coalesce(max(number), 0) FROM people_changes")
        return int(number)

    def changes_since(self, number: int) -> list[AccessChange]:
        """Return the changes after a number; one for everybody, where they are no longer known."""
        found = self._database.query(
            "SELECT number, account, session, what FROM people_changes"
            " WHERE number >= ? ORDER BY number",
            (number,),
        )
        changes = [AccessChange(*row) for row in found]
        if number == 0 and (not changes or changes[0].number == 1):
            return changes
        if changes and changes[0].number == number:
            return changes[1:]
        return [AccessChange(self.latest(), "", "", "ended")]

    def is_stale(self, now: int) -> bool:
        """Tell whether it is too long ago that changes were heard of."""
        return not 0 <= now - self._polled_at <= MAX_STALENESS_MICROSECONDS

    def poll(self) -> None:
        """Tell whoever listens what has changed; all of them, even where one of them fails."""
        with self._lock:
            now = self._clock()
            changes = self.changes_since(self._last_number)
            failures: list[Exception] = []
            for change in changes:
                self._last_number = change.number
                for listener in tuple(self._subscribers):
                    try:
                        listener(change)
                    except Exception as error:
                        failures.append(error)
            self._polled_at = now
        if failures:
            raise ExceptionGroup("somebody who listens for changes failed", failures)


class IdentityContext:
    """What the parts of people share."""

    def __init__(
        self,
        database: Database,
        clock: MicrosecondClock,
        encryption_key: EncryptionKey,
        policy: IdentityPolicy,
        hasher: Argon2Hasher,
        access_changes: AccessChanges,
    ) -> None:
        self.database, self.clock, self.encryption_key = database, clock, encryption_key
        self.policy, self.hasher, self.access_changes = policy, hasher, access_changes
        self.poll_hooks: list[Callable[[], None]] = []
        """What is done at every poll, before changes are heard of."""

    def transact(self, work: TransactionBody[Result]) -> Result:
        """Change something durably, and tell this process of it before anybody is answered."""
        result = self.database.transact(work)
        with suppress(OperatingFailure):  # it is done; what is remembered is trusted no longer
            self.access_changes.poll()
        return result

    def poll(self) -> None:
        """Write down who was seen, and hear what others changed."""
        for chore in self.poll_hooks:
            chore()
        self.access_changes.poll()

    def poll_if_stale(self, now: int) -> None:
        """Poll, if nobody has for too long."""
        if self.access_changes.is_stale(now):
            self.poll()
