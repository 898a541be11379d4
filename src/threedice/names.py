"""Rules for ids, names and texts that people enter: which characters they may contain.

Two different texts that look the same are a way to act in another's name. Characters that cannot be
seen, that reorder others or that have no fixed appearance are refused. Texts are kept in one normal
form, NFC: names and notes are normalised, ids have to be. `skeleton` finds names that are different
but look alike.

Only new input is checked. Events in the log are decoded as they were written.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from threedice.errors import InvalidInput

ID_CHARACTER: Final = r"[^/\s\x00-\x1f\x7f-\x9f]"
"""The part of the rules for ids that a schema can express; `check_id` has all of them."""

TABLE_ID: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""The whole of a table's id."""

ValidPlayerId = Annotated[str, msgspec.Meta(max_length=100, pattern=rf"^{ID_CHARACTER}+\Z")]
"""A player's id: opaque, without spaces, slashes or control characters."""

OptionalPlayerId = Annotated[str, msgspec.Meta(max_length=100, pattern=rf"^{ID_CHARACTER}*\Z")]
"""A player's id, or empty for none."""

RESERVED_NAMES: Final = frozenset({"house", "console"})
"""Names under which the house itself acts; no person, player or table has one."""

_REFUSED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Control, invisible and bidirectional, unassigned, private-use, surrogates, line separators."""

_REFUSED_CHARACTERS: Final = frozenset(
    map(
        chr,
        (
            0x034F,
            *(0x115F, 0x1160, 0x3164, 0xFFA0),  # Hangul fillers
            *(0x17B4, 0x17B5),
            *(0x2D7F, 0x1107F, 0x16FE4),  # joiners and a filler
            *(0x180B, 0x180C, 0x180D, 0x180F),
            0x2800,  # Braille blank
            *range(0xFE00, 0xFE10),  # variation selectors
            *range(0xE0100, 0xE01F0),
            *(0xFFFC, 0xFFFD),  # stand for something that is missing
            0x1D159,
        ),
    )
)
"""Characters of other categories that are invisible or stand for invalid UTF-8."""


def check_text(text: str, label: str = "a text") -> None:
    """Raise `InvalidInput` for a text with a character that is refused."""
    if text.isascii() and text.isprintable():
        return
    for character in text:
        category = unicodedata.category(character)
        if category in _REFUSED_CATEGORIES or character in _REFUSED_CHARACTERS:
            raise InvalidInput(
                f"{label} contains the character U+{ord(character):04X}; remove it: control, "
                "invisible, bidirectional, private-use and unassigned characters are not allowed"
            )


def check_texts(value: Any, label: str = "a text") -> None:
    """Check every text in plain data: dictionaries with their keys, lists, and what they hold.

    Keys that are the same text in NFC are refused, because one of them would be lost.
    """
    match value:
        case str():
            check_text(value, label)
        case dict():
            if len({unicodedata.normalize("NFC", key) for key in value}) < len(value):
                raise InvalidInput(f"{label} has two keys that are the same text")
            for key, each in value.items():
                check_text(key, "a key")
                check_texts(each, repr(key))
        case list() | tuple():
            for each in value:
                check_texts(each, label)


def check_id(text: str) -> None:
    """Raise `InvalidInput` for an id that could be mistaken for another, or for a path."""
    check_text(text, "an id")
    if not unicodedata.is_normalized("NFC", text):
        raise InvalidInput("an id has to be in Unicode normal form C (NFC)")
    if not 0 < len(text) <= 100 or "/" in text or any(map(str.isspace, text)):
        raise InvalidInput("an id has 1 to 100 characters, without spaces and slashes")
    if text == "." or ".." in text:
        raise InvalidInput(f"{text!r} is not an id: it would be a part of a path")
    if unicodedata.category(text[0])[0] == "M":
        raise InvalidInput("an id cannot begin with a combining character")


@lru_cache(maxsize=10_000)
def check_new_id(text: str) -> None:
    """Raise `InvalidInput` for an id that a new command or a new record must not contain."""
    check_id(text)
    if is_reserved(text):
        raise InvalidInput(f"{text!r} is reserved for the house; choose another id")


def is_reserved(name: str) -> bool:
    """Return whether a name is, or looks like, one under which the house acts.

    >>> is_reserved("Console"), is_reserved("consuela")
    (True, False)
    """
    return skeleton(name) in _RESERVED_SKELETONS


def normalise_name(text: str) -> str:
    """Return a person's name as it is stored: in NFC, with single spaces; raise if it is refused.

    >>> normalise_name("  Zoe\u0308   Tan ")
    'Zoë Tan'
    """
    check_text(text, "a name")
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise InvalidInput("a name has at least one character that can be seen")
    return name


# --- names that look alike -----------------------------------------------------------------------

_LOOK_ALIKES: Final = {
    "a": "аАαΑɑᎪꓮ", "b": "ВьЬΒᏴꓐ", "c": "сСϲϹᏟꓚ", "d": "ԁԀᎠꓓ", "e": "еЕҽΕ℮Ꭼꓰ", "f": "Ϝꓝ",
    "g": "ɡցԌᏀꓖ", "h": "НһҺΗᎻꓧ", "j": "јЈϳᎫꓙ", "k": "кКκΚᏦꓗ", "l": "1|iıɩіІιΙӏӀǀᎥᏆᏞꓲꓡ",
    "m": "мМΜᎷꓟ", "n": "пηոΝꓠ", "o": "0оОοΟσօՕ๐໐०੦ꓳ", "p": "рРρΡᏢꓑ", "q": "ԛզ", "r": "гᎡꓣ",
    "s": "ѕЅՏᏚꓢ", "t": "тТτΤᎢꓔ", "u": "υսՍꓴ", "v": "ѵѴνᏙꓦ", "w": "ѡԝԜωᎳꓪ", "x": "хХχΧꓫ",
    "y": "уУүҮγΥꓬ", "z": "ΖᏃꓜ", "-": "‐‑‒–—―−", "'": "‘’ʼ`´",
}  # fmt: skip
"""Letters of Latin, Cyrillic, Greek, Armenian, Cherokee and Lisu, and digits, by what they look
like; a capital I, which folds to i, looks like l."""

_LOOKS_LIKE: Final = {ord(each): like for like, others in _LOOK_ALIKES.items() for each in others}


@lru_cache(maxsize=10_000)
def skeleton(text: str) -> str:
    """Return a form that is equal for texts that look alike; it is for comparison only.

    >>> skeleton("Ann1e") == skeleton("АNNІE")  # the latter with a Cyrillic A and I
    True
    """
    folded = unicodedata.normalize("NFKC", text.translate(_LOOKS_LIKE)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_LOOKS_LIKE)


_RESERVED_SKELETONS: Final = frozenset(map(skeleton, RESERVED_NAMES))
