"""A house file as text and as data, and errors that name the line of a key."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InvalidToml, RulebookError
from threedice.rulebook.validation import KeyPath, format_key
from threedice.toml_files import parse_toml, read_toml_text

if TYPE_CHECKING:
    from pathlib import Path


MAX_LINES: Final = 2_000
"""Lines of a file in which the line of a key is looked for, by parsing its beginnings: a second."""

MAX_VALUE_LINES: Final = 200
"""Lines of one value that are looked at for its end."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The name of a TOML file, its text, and the data in it."""

    name: str
    text: str
    data: dict[str, Any]

    def error(self, path: KeyPath, problem: str, remedy: str) -> RulebookError:
        """Return an error at a key, or at the table that should hold it, for the caller to raise.

        Without either, the error is about the file as a whole, and names no line.
        """
        line = find_line(self.text, path)
        place = f"{self.name}, line {line}" if line else self.name
        return RulebookError(place, format_key(path) or "the file", problem, remedy)


def read_config_file(file: Path) -> ConfigFile:
    """Read a TOML file."""
    text = read_toml_text(file)
    return ConfigFile(file.name, text, parse_toml(text, file))


def find_line(text: str, path: KeyPath) -> int:
    r"""Return the line on which a key, or else the nearest table around it, begins; 0 if none does.

    The TOML parser tells no lines. So this is the least number of lines that have the key, when
    they are completed to the end of a value that spans several; 0 also in a file that is too long.

    >>> find_line("name = 'A'\n\n[tables.a]\nchips = [\n  5,\n]\n", ("tables", "a", "chips"))
    4
    >>> find_line("name = 'A'\n\n[tables.a]\n", ("tables", "a", "float"))
    3
    """
    lines = [f"{line}\n" for line in text.split("\n")]  # as TOML and editors count lines
    if len(lines) > MAX_LINES:
        return 0
    return bisect_left(
        range(len(lines)),
        _depth(parse_toml(text, ""), path),
        key=lambda count: _depth(_parse_beginning(lines, count), path),
    )


def _parse_beginning(lines: list[str], count: int) -> dict[str, Any]:
    """Parse some lines, and as many more as complete the last value."""
    for end in range(count, min(count + MAX_VALUE_LINES, len(lines))):
        try:
            return parse_toml("".join(lines[:end]), "")
        except InvalidToml:
            continue
    return parse_toml("".join(lines), "")


def _depth(data: Any, path: KeyPath) -> int:
    """Return how many keys of a path the data has."""
    for depth, part in enumerate(path):
        if isinstance(data, list) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            return depth
    return len(path)
