"""Who works where just now, remembered for a few seconds.

A change is heard of within a second, as all that concerns people's rights is; what is remembered
is dropped then. A shift that begins or ends by itself is looked at again every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from threedice.people import Assignment, Change, People

LASTS: Final = 5_000_000
MOST: Final = 5_000


class Posts:
    """The assignments of whoever has asked for something lately."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._known: dict[str, tuple[int, list[Assignment]]] = {}
        people.changes.listen(self._hear)

    def knows(self, account: str) -> bool:
        """Tell whether where somebody works is remembered, so that asking is quick."""
        at, _ = self._known.get(account, (-LASTS, []))
        return 0 <= self._people.records.clock() - at < LASTS

    def of(self, account: str) -> tuple[Assignment, ...]:
        """Return where somebody works at this moment."""
        now = self._people.records.clock()
        at, found = self._known.get(account, (-LASTS, []))
        if not 0 <= now - at < LASTS:
            found = self._people.assignments.current(account=account, at=now)
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[account] = (now, found)
        return tuple(each for each in found if each.starts <= now < each.until)

    def _hear(self, change: Change) -> None:
        if change.account:
            self._known.pop(change.account, None)
        else:
            self._known.clear()
