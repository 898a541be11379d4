"""Passwords: which may be chosen, and how they are kept (argon2id)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from threedice.errors import Tampered
from threedice.people.errors import PasswordRefused
from threedice.people.names import spelled
from threedice.people.roles import is_staff
from threedice.people.weak import is_common, is_own_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.people.roles import Role

SHORTEST_STAFF: Final = 12
SHORTEST_PLAYER: Final = 8
LONGEST: Final = 128
AT_ONCE: Final = 4
"""How many are hashed at the same time: each takes `memory_kib` while it lasts."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one try of a password costs; RFC 9106's choice for where memory is limited."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


QUICK: Final = Cost(1, 8, 1)
"""For tests."""


class Passwords:
    """Hashes passwords, and tells whether one is right, at the same cost whoever asks."""

    def __init__(self, cost: Cost) -> None:
        self._hasher = PasswordHasher(cost.passes, cost.memory_kib, cost.lanes, type=Type.ID)
        self._room = BoundedSemaphore(AT_ONCE)

    def hash(self, password: str) -> str:
        """Return what is kept instead of a password."""
        with self._room:
            return self._hasher.hash(_bytes(password))

    def verify(self, kept: str | None, password: str) -> bool:
        """Tell whether a password is right; where none is kept, after as much work."""
        nobody = self._nobody
        usable = password if len(password) <= LONGEST else ""
        with self._room:
            try:
                right = self._hasher.verify(kept or nobody, _bytes(usable))
            except VerificationError:
                return False
            except InvalidHashError as error:
                raise Tampered("an account", "its password is kept in no known form") from error
        return right and kept is not None

    def is_outdated(self, kept: str) -> bool:
        """Tell whether a password is kept at another cost than is asked now."""
        return self._hasher.check_needs_rehash(kept)

    @cached_property
    def _nobody(self) -> str:
        return self.hash(new_password())


def check_password(password: str, name: str, roles: Iterable[Role]) -> None:
    """Refuse a password that may not be chosen for an account."""
    shortest = SHORTEST_STAFF if is_staff(roles) else SHORTEST_PLAYER
    if len(password) > LONGEST:
        raise PasswordRefused("long", f"a password has at most {LONGEST} characters")
    if not password.isprintable():
        raise PasswordRefused("form", "a password holds no control characters")
    if len(" ".join(password.split())) < shortest:
        raise PasswordRefused(
            "short", f"a password of this account has at least {shortest} characters"
        )
    if is_own_name(_plain(password), name):
        raise PasswordRefused("name", "a password must be more than the account's name")
    if is_common(_plain(password)):
        raise PasswordRefused("common", "this password is one that is guessed first; take another")


def new_password() -> str:
    """Return a random password of about 99 bits, to be shown once."""
    return spelled(4, 5)


def _plain(password: str) -> str:
    """Return a password as it is compared: however its letters were typed, they are the same."""
    return unicodedata.normalize("NFKC", password)


def _bytes(password: str) -> bytes:
    return _plain(password).encode(errors="surrogatepass")
