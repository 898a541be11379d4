"""What ended somebody's right to go on, told to every server at once.

Each change has a number in the database, without gaps and in the order of commits. A process is
told of its own at once, and of those of others when it polls; the web layer polls several times a
second and closes sockets.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.people.policy import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.people.database import Database, Run
    from threedice.people.policy import Clock

KEPT: Final = 10_000
TRUSTED: Final = SECOND
"""For how long after a poll it may be believed that nothing has changed."""

What = Literal["ended", "rotated", "locked", "rights"]


class Change(msgspec.Struct, frozen=True):
    """A session or a program's token that changed; all of an account, or everybody's, if empty.

    `ended`: close what it has open. `rotated`: it goes on under another token. `locked`: it goes on
    when it is unlocked. `rights`: ask again what the account may do.
    """

    number: int
    account: str
    session: str
    what: What


def announce(run: Run, account: str, what: What, session: str = "") -> None:
    """Have all servers told of a change, when the transaction already begun is committed."""
    run(
        "INSERT INTO people_changes (number, account, session, what)"
        " SELECT coalesce(max(number), 0) + 1, ?, ?, ? FROM people_changes",
        (account, session, what),
    )
    run(
        "DELETE FROM people_changes WHERE number <= (SELECT max(number) FROM people_changes) - ?",
        (KEPT,),
    )


class Changes:
    """Hears of changes, and tells whoever listens, each once and in order."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._turn = RLock()
        self._listeners: list[Callable[[Change], None]] = []
        self._heard_at = clock()
        self._heard = self.latest()

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call somebody with every change, in whichever thread hears of it; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def latest(self) -> int:
        """Return the number of the last change."""
        ((number,),) = self._database.rows("SELECT coalesce(max(number), 0) FROM people_changes")
        return int(number)

    def changed_since(self, number: int) -> list[Change]:
        """Return the changes after a number; one for everybody, where they are no longer known."""
        found = self._database.rows(
            "SELECT number, account, session, what FROM people_changes"
            " WHERE number >= ? ORDER BY number",
            (number,),
        )
        changes = [Change(*row) for row in found]
        if number == 0 and (not changes or changes[0].number == 1):
            return changes
        if changes and changes[0].number == number:
            return changes[1:]
        return [Change(self.latest(), "", "", "ended")]

    def is_stale(self, now: int) -> bool:
        """Tell whether it is too long ago that changes were heard of."""
        return not 0 <= now - self._heard_at <= TRUSTED

    def hear(self) -> None:
        """Tell whoever listens what has changed; all of them, even where one of them fails."""
        with self._turn:
            now = self._clock()
            changes = self.changed_since(self._heard)
            failures: list[Exception] = []
            for change in changes:
                self._heard = change.number
                for listener in tuple(self._listeners):
                    try:
                        listener(change)
                    except Exception as error:
                        failures.append(error)
            self._heard_at = now
        if failures:
            raise ExceptionGroup("somebody who listens for changes failed", failures)
