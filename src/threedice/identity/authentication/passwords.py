"""Password rules, argon2id hashes, and the estimate of how many guesses a password withstands.

The estimate is zxcvbn's, which knows common passwords, words, names, dates and keyboard patterns.
"""

from __future__ import annotations

import secrets
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from threedice.errors import TamperedData
from threedice.identity.errors import PasswordRefused
from threedice.identity.roles import is_staff

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.identity.roles import Role

MIN_STAFF_PASSWORD_CHARACTERS: Final = 12
MIN_PLAYER_PASSWORD_CHARACTERS: Final = 8
MAX_PASSWORD_CHARACTERS: Final = 128

MIN_STAFF_GUESSES: Final = 10**10
MIN_PLAYER_GUESSES: Final = 10**8
"""As many as eight random characters need."""

MAX_CONCURRENT_HASHES: Final = 4
"""Limit of hashes computed at the same time: each needs `memory_kib` of memory."""


@dataclass(frozen=True, slots=True)
class Argon2Cost:
    """Cost of one password hash; the default is RFC 9106's choice for limited memory."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


TEST_COST: Final = Argon2Cost(1, 8, 1)
"""Lowest cost, for tests only."""


class Argon2Hasher:
    """Hash and verify passwords; verification takes as long for unknown accounts."""

    def __init__(self, cost: Argon2Cost) -> None:
        self._hasher = PasswordHasher(
            time_cost=cost.passes,
            memory_cost=cost.memory_kib,
            parallelism=cost.lanes,
            type=Type.ID,
        )
        self._slots = BoundedSemaphore(MAX_CONCURRENT_HASHES)

    def hash(self, password: str) -> str:
        """Return the hash of a password for storage."""
        with self._slots:
            return self._hasher.hash(_password_bytes(password))

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether a password matches a hash; without a hash, False after the same work."""
        dummy_hash = self._dummy_hash
        usable = password if len(password) <= MAX_PASSWORD_CHARACTERS else ""
        with self._slots:
            try:
                matches = self._hasher.verify(password_hash or dummy_hash, _password_bytes(usable))
            except VerificationError:
                return False
            except InvalidHashError as error:
                raise TamperedData(
                    "an account", "its stored password is not an argon2 hash"
                ) from error
        return matches and password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Return whether a hash was made at another cost than the present one."""
        return self._hasher.check_needs_rehash(password_hash)

    @cached_property
    def _dummy_hash(self) -> str:
        return self.hash(random_password())


def validate_password(password: str, name: str, roles: Iterable[Role]) -> None:
    """Raise `PasswordRefused` if a password is not acceptable; may take 0.3 s."""
    validate_password_form(password, roles)
    _check_guesses(password, name, MIN_STAFF_GUESSES if is_staff(roles) else MIN_PLAYER_GUESSES)


def validate_passphrase(passphrase: str, house_name: str) -> None:
    """Raise `PasswordRefused` if a backup's passphrase is weaker than staff passwords must be.

    It may be of any length and characters: it is kept in a file, and not typed at every sign-in.
    """
    if len(" ".join(passphrase.split())) < MIN_STAFF_PASSWORD_CHARACTERS:
        raise PasswordRefused(
            "short", f"a passphrase needs at least {MIN_STAFF_PASSWORD_CHARACTERS} characters"
        )
    _check_guesses(passphrase, house_name, MIN_STAFF_GUESSES)


def _check_guesses(password: str, name: str, minimum: int) -> None:
    guesses, is_guessed_by_name = _estimate_guesses(_normalise_password(password), name)
    if guesses >= minimum:
        return
    if is_guessed_by_name:
        raise PasswordRefused("name", "a password must be more than the account's name")
    raise PasswordRefused("common", "this password is one of those guessed first; choose another")


def validate_password_form(password: str, roles: Iterable[Role]) -> None:
    """Raise `PasswordRefused` if a password is too short, too long or cannot be typed."""
    minimum = MIN_STAFF_PASSWORD_CHARACTERS if is_staff(roles) else MIN_PLAYER_PASSWORD_CHARACTERS
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise PasswordRefused(
            "long", f"a password has at most {MAX_PASSWORD_CHARACTERS} characters"
        )
    if not password.isprintable():
        raise PasswordRefused("form", "a password must not contain control characters")
    if len(" ".join(password.split())) < minimum:
        raise PasswordRefused(
            "short", f"the password of this account needs at least {minimum} characters"
        )


def random_password() -> str:
    """Return a random password of about 99 bits, to be shown once."""
    return random_readable_code(4, 5)


def random_readable_code(groups: int, size: int) -> str:
    """Return random letters and digits in groups, easy to read and to type."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(size)) for _ in range(groups))


_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that look alike


def _normalise_password(password: str) -> str:
    """Return the NFKC form, so that different ways to type a character compare equal."""
    return unicodedata.normalize("NFKC", password)


def _password_bytes(password: str) -> bytes:
    return _normalise_password(password).encode(errors="surrogatepass")


# --- strength ------------------------------------------------------------------------------------

MAX_ESTIMATED_CHARACTERS: Final = 72
"""Length of the part that is estimated: the time grows with the square of the length."""

_AMBIGUOUS_SIGNS: Final = frozenset("4@({[<69!1|7$5+")
"""Signs of which several stand for the same letter; zxcvbn tries all combinations of them."""

MAX_AMBIGUOUS_SIGNS: Final = 6
"""More different ones than this take seconds, and are estimated as if there were fewer."""

_UNAMBIGUOUS: Final = str.maketrans("4{[<6!|$+", "@(((91157")

_estimate_lock: Final = Lock()
"""zxcvbn keeps the account's name in a global variable."""


def _estimate_guesses(password: str, name: str) -> tuple[int, bool]:
    """Return how many guesses find a password, and whether the account's name is one of them.

    >>> _estimate_guesses("P@ssw0rd2024!", "ann")[0] < 10**8
    True
    >>> _estimate_guesses("correct horse battery", "ann")[0] > 10**12
    True
    >>> _estimate_guesses("Margarethe-Margarethe", "margarethe")
    (100165000, True)
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415 -- its word lists are only needed here

    part = password[:MAX_ESTIMATED_CHARACTERS]
    if len(_AMBIGUOUS_SIGNS & set(part)) > MAX_AMBIGUOUS_SIGNS:
        part = part.translate(_UNAMBIGUOUS)
    with _estimate_lock:
        estimate = zxcvbn(part, user_inputs=[name, "threedice"])
    used_words = {match.get("matched_word") for match in estimate["sequence"]}
    return int(estimate["guesses"]), name.lower() in used_words
