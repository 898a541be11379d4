"""What the house knows of a person, kept outside the chain so that it can be erased.

Entries hold opaque ids only. When somebody is erased, his play stays proved and nobody can tell
whose it was.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import msgspec

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from threedice.log.store import Store


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person by name and date of birth."""

    name: str
    born: date | None = None

    def age(self, today: date) -> int | None:
        """Return how many years old the person is on a day, where that is known.

        >>> Person("Ann", date(2000, 2, 29)).age(date(2018, 2, 28))
        17
        """
        if self.born is None:
            return None
        before = (today.month, today.day) < (self.born.month, self.born.day)
        return today.year - self.born.year - before


def save_person(store: Store, player: str, person: Person) -> None:
    """Keep what is known of a person."""
    if not player or not person.name.strip():
        raise InvalidInput("a person is kept under a player's id, with a name")
    store.set_person(player, msgspec.json.encode(person))


def load_person(store: Store, player: str) -> Person | None:
    """Return what is known of a person."""
    data = store.person(player)
    return msgspec.json.decode(data, type=Person) if data is not None else None


def delete_person(store: Store, player: str) -> bool:
    """Erase a person; tells whether there was anything to erase."""
    return store.erase_person(player)
