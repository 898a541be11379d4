"""Names to sign in with, and ids: what they may look like, and which are the house's own."""

from __future__ import annotations

import secrets
import unicodedata
from typing import Final

from threedice.errors import InvalidInput

CONSOLE: Final = "console"
"""Who acted, where somebody sat at the machine itself."""

RESERVED: Final = frozenset({"house", CONSOLE})
LONGEST: Final = 64
TEXT_MOST: Final = 500
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # no two look alike
_MARKS: Final = frozenset("._-@+'")


def folded(name: str) -> str:
    """Return a name as names are compared: NFKC, and without upper and lower case.

    >>> folded("Ｓtraße") == folded("STRASSE")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def sought(name: str) -> str:
    """Return a name as it is looked for, whatever was typed: what no name holds finds nobody."""
    written = name[: 4 * LONGEST].replace("\0", "?").encode(errors="replace").decode()
    return folded(written)


def checked_name(name: str) -> str:
    """Return a name to sign in with as it is kept, if anybody may be called so."""
    kept = folded(name[: 4 * LONGEST])
    if not 0 < len(kept) <= LONGEST or not all(map(_is_allowed, kept)) or kept[0] in _MARKS:
        raise InvalidInput(
            f"a name has 1 to {LONGEST} letters, digits and {' '.join(sorted(_MARKS))}, "
            "and begins with a letter or a digit"
        )
    if kept in RESERVED:
        raise InvalidInput(f"nobody may be called {kept!r}")
    return kept


def _is_allowed(character: str) -> bool:
    return character in _MARKS or unicodedata.category(character)[0] in "LMN"


def checked_text(what: str, text: str, most: int = TEXT_MOST) -> str:
    """Return a line that a person wrote, if it is one."""
    kept = text.strip()
    if not 0 < len(kept) <= most or not kept.isprintable():
        raise InvalidInput(f"{what} is one line of 1 to {most} characters")
    return kept


def new_id() -> str:
    """Return an id that says nothing: 80 random bits, so that none ever comes twice."""
    return f"{secrets.randbits(80):020x}"


def spelled(groups: int, size: int) -> str:
    """Return random letters and digits in groups, for a person to read and type."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(size)) for _ in range(groups))
