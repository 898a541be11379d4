"""What every part of people works on: database, clock, key, and who hears of changes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from threedice.errors import OperatingFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.people.changes import Changes
    from threedice.people.database import Database, Result, Work
    from threedice.people.key import Key
    from threedice.people.passwords import Passwords
    from threedice.people.policy import Clock, Policy


class Records:
    """What the parts of people share."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        key: Key,
        policy: Policy,
        passwords: Passwords,
        changes: Changes,
    ) -> None:
        self.database, self.clock, self.key = database, clock, key
        self.policy, self.passwords, self.changes = policy, passwords, changes
        self.chores: list[Callable[[], None]] = []
        """What is done at every poll, before changes are heard of."""

    def change(self, work: Work[Result]) -> Result:
        """Change something durably, and tell this process of it before anybody is answered."""
        result = self.database.change(work)
        with suppress(OperatingFailure):  # it is done; what is remembered is trusted no longer
            self.changes.hear()
        return result

    def poll(self) -> None:
        """Write down who was seen, and hear what others changed."""
        for chore in self.chores:
            chore()
        self.changes.hear()

    def keep_up(self, now: int) -> None:
        """Poll, if nobody has for too long."""
        if self.changes.is_stale(now):
            self.poll()
