"""User-facing texts in English, 繁體中文 and 简体中文: one for every refusal and problem code.

The English texts of the rules are next to the rules; the files here hold the API's own English
texts and all Chinese ones. A test checks that none is missing.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

from threedice.account.decider import ACCOUNT_REFUSAL_TEXTS
from threedice.house.authority import AUTHORITY_REFUSAL_TEXTS
from threedice.house.decisions import HOUSE_REFUSAL_TEXTS
from threedice.table.rules import TABLE_REFUSAL_TEXTS

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


def _load_texts(language: Language) -> dict[str, str]:
    text = files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8")
    own_texts: dict[str, str] = tomllib.loads(text)
    if language != "en":
        return own_texts
    return {
        **TABLE_REFUSAL_TEXTS,
        **HOUSE_REFUSAL_TEXTS,
        **ACCOUNT_REFUSAL_TEXTS,
        **AUTHORITY_REFUSAL_TEXTS,
        **own_texts,
    }


TEXTS: Final = {language: _load_texts(language) for language in LANGUAGES}
"""All texts by language and code, with placeholders for facts.

Loaded on import: a request must not depend on a file that can be opened.
"""


@lru_cache(256)
def preferred_language(header: bytes) -> Language:
    """Return the supported language that an `Accept-Language` header prefers, or English.

    >>> preferred_language(b"fr, zh-TW;q=0.8, en;q=0.5"), preferred_language(b"zh")
    ('zh-Hant', 'zh-Hans')
    >>> preferred_language(b"*")
    'en'
    """
    ranges = [
        _parse_language_range(part) for part in header[:200].decode("latin-1").lower().split(",")
    ]
    for _, tag in sorted(ranges, key=lambda weighted: -weighted[0]):
        parts = tag.split("-")
        for length in range(len(parts), 0, -1):
            if found := _LANGUAGE_TAGS.get("-".join(parts[:length])):
                return found
    return "en"


def _parse_language_range(text: str) -> tuple[float, str]:
    """Return the weight and the tag of one range of the header."""
    name, _, weight = text.partition(";q=")
    try:
        return float(weight or 1), name.strip()
    except ValueError:
        return 0.0, name.strip()
