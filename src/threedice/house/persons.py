"""Store names and birth dates outside the log's chain, so that they can be erased.

They are those of players, and of staff by the id of their account. Log entries contain opaque ids
only. After an erasure the person's entries still verify, and no one can tell who the person was.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.names import check_new_id, normalise_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.log.store import Store


MAX_AGE_YEARS: Final = 120


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


def check_birth_date(born: date | None, today: date) -> None:
    """Raise `InvalidInput` for a date of birth in the future or more than 120 years ago."""
    age = Person("", born).age(today)
    if born is not None and (born > today or age is None or age > MAX_AGE_YEARS):
        raise InvalidInput(
            f"{born} cannot be a date of birth; it must not be in the future"
            f" or more than {MAX_AGE_YEARS} years ago"
        )


def save_person(store: Store, player: str, person: Person) -> None:
    """Store a player's name and date of birth."""
    check_new_id(player)
    person = Person(normalise_name(person.name), person.born)
    store.set_person(player, msgspec.json.encode(person))


def load_person(store: Store, player: str) -> Person | None:
    """Load a player's name and date of birth; None if nothing is stored."""
    data = store.person(player)
    return msgspec.json.decode(data, type=Person) if data is not None else None


def load_names(store: Store, players: Sequence[str] | None = None) -> dict[str, str]:
    """Load the stored names of these players, or of everybody, by player."""
    decode = msgspec.json.Decoder(Person).decode
    return {player: decode(data).name for player, data in store.people(players).items()}


def delete_person(store: Store, player: str) -> bool:
    """Erase a player's personal data; return whether there was any."""
    return store.erase_person(player)
