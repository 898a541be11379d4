"""Read TOML files of people within limits, so that none of them exhausts time, memory or the stack.

`tomllib` has no limits: a key of 30,000 parts takes it 20 seconds and 3 GiB, and brackets within
brackets overflow the stack. So `_check_depth` looks for both in the text before `tomllib` reads it.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InvalidToml

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES: Final = 1 << 20
"""25 times the largest rulebook of the package; `tomllib` reads it in about two seconds."""

MAX_DEPTH: Final = 32
"""Levels of tables, lists and parts of keys; the rulebooks of the package have 12."""

MAX_VALUES: Final = 20_000
"""Values, lists and tables together; the largest rulebook of the package has 2,100."""

INT64: Final = range(-(1 << 63), 1 << 63)
"""The integers of TOML; Python refuses to print those of more than 4,300 digits."""

_TOKEN: Final = re.compile(
    r'''
      """ (?: [^"\\]++ | \\[\s\S] | "(?!"") )*+ """ "{0,2}  # strings of several lines
    | \'\'\' (?: [^']++ | '(?!'') )*+ \'\'\' '{0,2}
    | (?! """ ) " (?: [^"\\\n]++ | \\. )*+ "             # strings of one line
    | (?! \'\'\' ) ' [^'\n]*+ '
    | \# [^\n]*+
    | (?P<open> [\[{] ) | (?P<close> [\]}] ) | (?P<dot> \. ) | (?P<end> [=,\n] )
    | (?P<unclosed> ["'] )
    ''',
    re.VERBOSE,
)


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file, or raise `InvalidToml` with the problem and the remedy."""
    return parse_toml(read_toml_text(file), file)


def read_toml_text(file: Path) -> str:
    """Read the text of a TOML file, or raise `InvalidToml` if it is too large or no text."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"cannot be read: {reason}"
        raise InvalidToml(file, problem, "check the path and its permissions") from None
    if len(data) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES // 1024} KiB"
        raise InvalidToml(file, problem, "divide it, or check that it is the right file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidToml(
            file, "cannot be read: it is not UTF-8 text", "save it in UTF-8"
        ) from None


def parse_toml(text: str, file: Path | str) -> dict[str, Any]:
    """Parse the text of a TOML file, or raise `InvalidToml`; `file` names it in the message."""
    _check_depth(text, file)
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        problem = f"is not valid TOML: {error}"
        raise InvalidToml(file, problem, "fix the line and column named") from None
    _check_values(data, file)
    return data


def _check_depth(text: str, file: Path | str) -> None:
    """Refuse deep brackets and keys of many parts up to the first string without an end.

    There `tomllib` stops at the latest, so what follows does not matter.
    """
    brackets, parts = 0, 1
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "open":
                brackets, parts = brackets + 1, 1
            case "close":
                brackets, parts = max(0, brackets - 1), 1
            case "dot":
                parts += 1
            case "end":
                parts = 1
            case "unclosed":
                return
        if max(brackets, parts) > MAX_DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            raise _too_deep(file, f"line {line}")


def _too_deep(file: Path | str, where: str) -> InvalidToml:
    problem = f"is nested more than {MAX_DEPTH} levels deep at {where}"
    return InvalidToml(file, problem, "write it flatter")


def _check_values(data: dict[str, Any], file: Path | str) -> None:
    """Refuse too many values, tables that are too deep together, and integers of over 64 bits."""
    count, rest = 0, [(0, "", data)]
    while rest:
        depth, key, value = rest.pop()
        count += 1
        if count > MAX_VALUES:
            problem = f"has more than {MAX_VALUES:,} values"
            raise InvalidToml(file, problem, "divide it into several files")
        if depth > MAX_DEPTH:
            raise _too_deep(file, f"the key {key!r}")
        if isinstance(value, dict):
            rest += [(depth + 1, name, each) for name, each in value.items()]
        elif isinstance(value, list):
            rest += [(depth + 1, key, each) for each in value]
        elif isinstance(value, int) and value not in INT64:
            problem = f"has a whole number of over 64 bits at the key {key!r}"
            raise InvalidToml(file, problem, "give a smaller one")
