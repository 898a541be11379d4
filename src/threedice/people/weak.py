"""Passwords that are guessed first, by pattern: words everybody takes, keys in a row, repetition.

A word with digits and signs around it, or with digits for letters, is that word. That covers, of
the passwords commonest in published lists, those that are long enough to be allowed at all.
"""

from __future__ import annotations

import re
from typing import Final

_LEET: Final = str.maketrans("0134578@$!€£", "oleastbasiel")
_RUNS: Final = (
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
_LIST: Final = """
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
_WORDS: Final = frozenset(_LIST.split())


def is_common(password: str) -> bool:
    """Tell whether a password is among those that are guessed first.

    >>> is_common("P@ssw0rd2024!"), is_common("qwertyuiop123"), is_common("monkeymonkey")
    (True, True, True)
    >>> is_common("correct horse battery")
    False
    """
    folded = password.casefold()
    plain = re.sub(r"[\s._-]", "", folded)
    if len(set(plain)) <= 3 or _repeated(plain) in _WORDS | {""}:
        return True
    core = _core(plain)
    readings = {plain, core, plain.translate(_LEET), core.translate(_LEET)}
    return any(_is_word(each) or _is_run(each) for each in readings)


def is_own_name(password: str, name: str) -> bool:
    """Tell whether a password is little more than the name it belongs to.

    >>> is_own_name("Margarethe-2024", "margarethe"), is_own_name("ask margarethe", "margarethe")
    (True, False)
    """
    folded = password.casefold()
    return name in folded and not re.sub(r"[\W\d_]", "", folded.replace(name, ""))


def _core(text: str) -> str:
    """Return a text without the digits and signs around it."""
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)


def _is_word(core: str) -> bool:
    if core in _WORDS or _repeated(core) in _WORDS:
        return True
    return any(core[:cut] in _WORDS and core[cut:] in _WORDS for cut in range(3, len(core) - 2))


def _is_run(core: str) -> bool:
    unit = _repeated(core)
    runs = (*_RUNS, *(run[::-1] for run in _RUNS))
    return len(core) >= 6 and (
        any(core in run or unit in run for run in runs) or all(map(_is_row, _parts(core)))
    )


def _parts(core: str) -> list[str]:
    """Return the runs of letters and of digits in a text."""
    return re.findall(r"\d+|[^\d]+", core)


def _is_row(part: str) -> bool:
    return len(part) >= 3 and any(part in run or part in run[::-1] for run in _RUNS)


def _repeated(text: str) -> str:
    """Return what a text repeats; the text itself, if it does not."""
    size = (text + text).find(text, 1)
    return text[:size]
