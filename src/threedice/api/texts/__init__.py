"""What people are told, in English, 繁體中文 and 简体中文: a text for every code.

The texts of rules stand with the rules, in English; here are those of the door, and all of them in
Chinese. A test sees to it that none is missing.
"""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, Literal

from threedice.account.decider import ACCOUNT_REFUSAL_TEXTS as CAGE
from threedice.house.decisions import HOUSE_REFUSAL_TEXTS as FLOOR
from threedice.table.rules import TABLE_REFUSAL_TEXTS as TABLE

Language = Literal["en", "zh-Hant", "zh-Hans"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh-Hant", "zh-Hans")

_LANGUAGE_TAGS: Final[dict[str, Language]] = {
    "en": "en",
    "zh": "zh-Hans",
    "zh-cn": "zh-Hans",
    "zh-sg": "zh-Hans",
    "zh-my": "zh-Hans",
    "zh-hans": "zh-Hans",
    "zh-tw": "zh-Hant",
    "zh-hk": "zh-Hant",
    "zh-mo": "zh-Hant",
    "zh-hant": "zh-Hant",
}


@cache
def texts(language: Language) -> dict[str, str]:
    """Return all texts of a language by their codes."""
    text = files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8")
    read: dict[str, str] = tomllib.loads(text)
    return {**TABLE, **FLOOR, **CAGE, **read} if language == "en" else read


def text_template(code: str, language: Language) -> str:
    """Return the text for a code, with holes for its facts."""
    return texts(language)[code]


@lru_cache(256)
def preferred_language(header: bytes) -> Language:
    """Return the language of ours that `Accept-Language` asks for most, or English.

    >>> preferred_language(b"fr, zh-TW;q=0.8, en;q=0.5"), preferred_language(b"zh"), preferred_language(b"*")
    ('zh-Hant', 'zh-Hans', 'en')
    """
    ranges = [
        _parse_language_range(each) for each in header[:200].decode("latin-1").lower().split(",")
    ]
    for _, spoken in sorted(ranges, key=lambda each: -each[0]):
        parts = spoken.split("-")
        for length in range(len(parts), 0, -1):
            if found := _LANGUAGE_TAGS.get("-".join(parts[:length])):
                return found
    return "en"


def _parse_language_range(spoken: str) -> tuple[float, str]:
    name, _, weight = spoken.partition(";q=")
    try:
        return float(weight or 1), name.strip()
    except ValueError:
        return 0.0, name.strip()
