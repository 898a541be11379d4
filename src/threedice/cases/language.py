"""How a phrase of the language of cases is declared: its words, its pattern, what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from threedice.cases.script import Scene
from threedice.errors import ThreediceError

NAME: Final = r"[a-z][a-z0-9-]*"
BOX: Final = r"[a-z][a-z0-9:-]*"
AT: Final = r"( at (?P<area>\w+))?"

Lines = Callable[[Scene, re.Match[str]], Iterator[Any]]
PHRASES: Final[list[tuple[re.Pattern[str], Lines, str]]] = []
"""Every phrase: its pattern, what it does, and how it is written."""


class Unlike(ThreediceError):
    """What a line states about the table is not so."""


def phrase(written: str, pattern: str) -> Callable[[Lines], Lines]:
    """Declare a phrase of the language of cases."""

    def declare(lines: Lines) -> Lines:
        PHRASES.append((re.compile(pattern), lines, written))
        return lines

    return declare
