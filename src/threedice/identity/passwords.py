"""Password rules, argon2id hashes, and detection of common passwords.

Common passwords are found by pattern: frequent words, keyboard runs and repetition. A word counts
as such with digits and signs around it, or with digits in place of letters. This covers the most
frequent passwords of published lists, as far as they are long enough to be allowed at all.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore
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
        self._hasher = PasswordHasher(cost.passes, cost.memory_kib, cost.lanes, type=Type.ID)
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
    """Raise `PasswordRefused` if a password is not acceptable for an account."""
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
    if is_based_on_name(_normalise_password(password), name):
        raise PasswordRefused("name", "a password must be more than the account's name")
    if is_common_password(_normalise_password(password)):
        raise PasswordRefused(
            "common", "this password is one of those guessed first; choose another"
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


# --- common passwords ----------------------------------------------------------------------------


def is_common_password(password: str) -> bool:
    """Return whether a password is among those that are guessed first.

    >>> is_common_password("P@ssw0rd2024!"), is_common_password("qwertyuiop123")
    (True, True)
    >>> is_common_password("monkeymonkey"), is_common_password("correct horse battery")
    (True, False)
    """
    folded = password.casefold()
    compact = re.sub(r"[\s._-]", "", folded)
    if len(set(compact)) <= 3 or _repeated_unit(compact) in _WORDS | {""}:
        return True
    core = _strip_digits_and_signs(compact)
    variants = {compact, core, compact.translate(_LEET), core.translate(_LEET)}
    return any(_is_word(each) or _is_run(each) for each in variants)


def is_based_on_name(password: str, name: str) -> bool:
    """Return whether a password is the account's name with only digits and signs added.

    >>> is_based_on_name("Margarethe-2024", "margarethe")
    True
    >>> is_based_on_name("ask margarethe", "margarethe")
    False
    """
    folded = password.casefold()
    return name in folded and not re.sub(r"[\W\d_]", "", folded.replace(name, ""))


def _strip_digits_and_signs(text: str) -> str:
    """Return a text without leading and trailing digits and signs."""
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)


def _is_word(text: str) -> bool:
    """Return whether a text is a common word, one repeated, or two of them joined."""
    if text in _WORDS or _repeated_unit(text) in _WORDS:
        return True
    return any(text[:cut] in _WORDS and text[cut:] in _WORDS for cut in range(3, len(text) - 2))


def _is_run(text: str) -> bool:
    """Return whether a text is a keyboard run, one repeated, or several joined."""
    unit = _repeated_unit(text)
    runs = (*_KEYBOARD_RUNS, *(run[::-1] for run in _KEYBOARD_RUNS))
    return len(text) >= 6 and (
        any(text in run or unit in run for run in runs)
        or all(map(_is_keyboard_run, _letter_and_digit_parts(text)))
    )


def _letter_and_digit_parts(text: str) -> list[str]:
    """Split a text where digits and other characters meet."""
    return re.findall(r"\d+|[^\d]+", text)


def _is_keyboard_run(part: str) -> bool:
    return len(part) >= 3 and any(part in run or part in run[::-1] for run in _KEYBOARD_RUNS)


def _repeated_unit(text: str) -> str:
    """Return the shortest unit that a text repeats; the text itself if it repeats none."""
    size = (text + text).find(text, 1)
    return text[:size]


_LEET: Final = str.maketrans("0134578@$!€£", "oleastbasiel")
"""Digits and signs, with the letters they commonly replace."""

_KEYBOARD_RUNS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "qwertyuiopasdfghjklzxcvbnm",
    "azertyuiopqsdfghjklmwxcvbn",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "01234567890123456789",
)
"""Sequences of the alphabet, of keyboards and of digits."""

_WORD_LIST: Final = """
access account admin administrator alexander amanda america andrea andrew angel angela anthony
apple arsenal asdf ashley austin baby banana barcelona baseball basketball batman beach beautiful
blink blue bond boomer brandon buster butterfly cameron captain casino changeit changeme charlie
cheese chelsea chicken chocolate cocacola computer cookie corvette cowboy crown dallas daniel
dealer default demo diamond dice dolphin donald dragon eagle elephant elizabeth eminem enter
estrella ferrari fire flower football forever formula freedom friend friends gambling game
garfield genesis george ginger google guest guitar hammer hannah happy harley heather hello hockey
hottie house hunter iceman iloveyou internet jackpot jasmine jennifer jessica jesus jordan joseph
joshua juventus killer kitten knight ladybug letmein liverpool login lottery love lovely loveme
lover lucky maggie manager marina martin master matrix matthew maverick mercedes merlin michael
michelle mickey money monkey monster morgan mother mustang mynoob naruto nicole ninja nintendo
number oliver orange packers pass passphrase password passwort patrick peanut pepper phoenix
pitmanager player please pokemon princess purple qazwsx qwer qwerty raiders rainbow ranger redsox
richard robert root samantha samsung scooby secret secure security shadow shiftmanager sicbo
silver skywalker slipknot soccer software sophie spiderman spring starwars steelers stephanie
summer sunshine superman superstar supervisor support sweet system table taisai taylor temp
temporary tennis test tester testing thomas threedice thunder tiger tigger tripledice trustme
trustno twitter unknown user username vanessa vegas victoria welcome whatever william winner
winter wizard yankees yellow zaq zxcvbn
"""

_WORDS: Final = frozenset(_WORD_LIST.split())
