"""Store the names and birth dates of players outside the log's chain, so that they can be erased.

Log entries contain opaque ids only. After an erasure the player's entries still verify, and no one
can tell who the player was.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import msgspec

from threedice.names import check_new_id, normalise_name

if TYPE_CHECKING:
    from threedice.log.store import Store


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person's name and date of birth."""

    name: str
    born: date | None = None

    def age(self, today: date) -> int | None:
        """Return the person's age in years on a given day; None without a date of birth.

        >>> Person("Ann", date(2000, 2, 29)).age(date(2018, 2, 28))
        17
        """
        if self.born is None:
            return None
        birthday_ahead = (today.month, today.day) < (self.born.month, self.born.day)
        return today.year - self.born.year - birthday_ahead


def save_person(store: Store, player: str, person: Person) -> None:
    """Store a player's name and date of birth."""
    check_new_id(player)
    person = Person(normalise_name(person.name), person.born)
    store.set_person(player, msgspec.json.encode(person))


def load_person(store: Store, player: str) -> Person | None:
    """Load a player's name and date of birth; None if nothing is stored."""
    data = store.person(player)
    return msgspec.json.decode(data, type=Person) if data is not None else None


def delete_person(store: Store, player: str) -> bool:
    """Erase a player's personal data; return whether there was any."""
    return store.erase_person(player)
