"""Password rules, argon2id hashes, and detection of common passwords.

Passwords: which may be chosen, and how they are kept (argon2id).

Passwords that are guessed first, by pattern: words everybody takes, keys in a row, repetition.

A word with digits and signs around it, or with digits for letters, is that word. That covers, of
the passwords commonest in published lists, those that are long enough to be allowed at all.
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
"""How many are hashed at the same time: each takes `memory_kib` while it lasts."""


@dataclass(frozen=True, slots=True)
class Argon2Cost:
    """What one try of a password costs; RFC 9106's choice for where memory is limited."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


TEST_COST: Final = Argon2Cost(1, 8, 1)
"""For tests."""


class Argon2Hasher:
    """Hashes passwords, and tells whether one is right, at the same cost whoever asks."""

    def __init__(self, cost: Argon2Cost) -> None:
        self._hasher = PasswordHasher(cost.passes, cost.memory_kib, cost.lanes, type=Type.ID)
        self._slots = BoundedSemaphore(MAX_CONCURRENT_HASHES)

    def hash(self, password: str) -> str:
        """Return what is kept instead of a password."""
        with self._slots:
            return self._hasher.hash(_password_bytes(password))

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Tell whether a password is right; where none is kept, after as much work."""
        nobody = self._dummy_hash
        usable = password if len(password) <= MAX_PASSWORD_CHARACTERS else ""
        with self._slots:
            try:
                right = self._hasher.verify(password_hash or nobody, _password_bytes(usable))
            except VerificationError:
                return False
            except InvalidHashError as error:
                raise TamperedData("an account", "its password is kept in no known form") from error
        return right and password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Tell whether a password is kept at another cost than is asked now."""
        return self._hasher.check_needs_rehash(password_hash)

    @cached_property
    def _dummy_hash(self) -> str:
        return self.hash(random_password())


def validate_password(password: str, name: str, roles: Iterable[Role]) -> None:
    """Refuse a password that may not be chosen for an account."""
    shortest = MIN_STAFF_PASSWORD_CHARACTERS if is_staff(roles) else MIN_PLAYER_PASSWORD_CHARACTERS
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise PasswordRefused(
            "long", f"a password has at most {MAX_PASSWORD_CHARACTERS} characters"
        )
    if not password.isprintable():
        raise PasswordRefused("form", "a password holds no control characters")
    if len(" ".join(password.split())) < shortest:
        raise PasswordRefused(
            "short", f"a password of this account has at least {shortest} characters"
        )
    if is_based_on_name(_normalise_password(password), name):
        raise PasswordRefused("name", "a password must be more than the account's name")
    if is_common_password(_normalise_password(password)):
        raise PasswordRefused("common", "this password is one that is guessed first; take another")


def random_password() -> str:
    """Return a random password of about 99 bits, to be shown once."""
    return random_readable_code(4, 5)


def _normalise_password(password: str) -> str:
    """Return a password as it is compared: however its letters were typed, they are the same."""
    return unicodedata.normalize("NFKC", password)


def _password_bytes(password: str) -> bytes:
    return _normalise_password(password).encode(errors="surrogatepass")


_LEET: Final = str.maketrans("0134578@$!€£", "oleastbasiel")


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


def is_common_password(password: str) -> bool:
    """Tell whether a password is among those that are guessed first.

    >>> is_common_password("P@ssw0rd2024!"), is_common_password("qwertyuiop123"), is_common_password("monkeymonkey")
    (True, True, True)
    >>> is_common_password("correct horse battery")
    False
    """
    folded = password.casefold()
    plain = re.sub(r"[\s._-]", "", folded)
    if len(set(plain)) <= 3 or _repeated_unit(plain) in _WORDS | {""}:
        return True
    core = _strip_digits_and_signs(plain)
    readings = {plain, core, plain.translate(_LEET), core.translate(_LEET)}
    return any(_is_word(each) or _is_run(each) for each in readings)


def is_based_on_name(password: str, name: str) -> bool:
    """Tell whether a password is little more than the name it belongs to.

    >>> is_based_on_name("Margarethe-2024", "margarethe"), is_based_on_name("ask margarethe", "margarethe")
    (True, False)
    """
    folded = password.casefold()
    return name in folded and not re.sub(r"[\W\d_]", "", folded.replace(name, ""))


def _strip_digits_and_signs(text: str) -> str:
    """Return a text without the digits and signs around it."""
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)


def _is_word(core: str) -> bool:
    if core in _WORDS or _repeated_unit(core) in _WORDS:
        return True
    return any(core[:cut] in _WORDS and core[cut:] in _WORDS for cut in range(3, len(core) - 2))


def _is_run(core: str) -> bool:
    unit = _repeated_unit(core)
    runs = (*_KEYBOARD_RUNS, *(run[::-1] for run in _KEYBOARD_RUNS))
    return len(core) >= 6 and (
        any(core in run or unit in run for run in runs)
        or all(map(_is_keyboard_run, _letter_and_digit_runs(core)))
    )


def _letter_and_digit_runs(core: str) -> list[str]:
    """Return the runs of letters and of digits in a text."""
    return re.findall(r"\d+|[^\d]+", core)


def _is_keyboard_run(part: str) -> bool:
    return len(part) >= 3 and any(part in run or part in run[::-1] for run in _KEYBOARD_RUNS)


def _repeated_unit(text: str) -> str:
    """Return what a text repeats; the text itself, if it does not."""
    size = (text + text).find(text, 1)
    return text[:size]


def random_readable_code(groups: int, size: int) -> str:
    """Return random letters and digits in groups, for a person to read and type."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(size)) for _ in range(groups))


_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # no two look alike
