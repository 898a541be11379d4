"""The list of mutants that no test can kill, each with the reason."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("survivors.md")
_ENTRY = re.compile(r"^- `(?P<line>[^`]+)`, `(?P<change>[^`]+)`: (?P<reason>.+)$")
_HEADING = re.compile(r"^## (?P<file>[\w/]+\.py)")


class Survivor(NamedTuple):
    """A mutant, identified by the text of its line, so that it is recognised when lines move."""

    file: str
    line: str
    change: str


class Tally(NamedTuple):
    """The number of mutants of a file that were killed, and that were tried."""

    killed: int
    tried: int

    def __str__(self) -> str:
        percent = 100 * self.killed / (self.tried or 1)
        return f"{self.killed} of {self.tried} killed ({percent:.1f} %)"

    @property
    def enough(self) -> bool:
        """Whether at least 97 % were killed."""
        return self.killed * 100 >= self.tried * 97


def parse_survivors(text: str) -> Counter[Survivor]:
    """Count the survivors for which the list gives a reason."""
    found: Counter[Survivor] = Counter()
    file = ""
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            file = heading["file"]
        elif entry := _ENTRY.match(line):
            found[Survivor(file, entry["line"], entry["change"])] += 1
    return found


def differences(found: Counter[Survivor], text: str, files: list[str]) -> list[str]:
    """Describe survivors missing from the list, and listed ones of these files that were killed."""
    explained = parse_survivors(text)
    killed = (each for each in (explained - found).elements() if each.file in files)
    return [
        *(f"not on the list: {_describe(each)}" for each in (found - explained).elements()),
        *(f"on the list, but killed: {_describe(each)}" for each in killed),
    ]


def _describe(survivor: Survivor) -> str:
    return f"{survivor.file}: `{survivor.line}`, `{survivor.change}`"


def with_counts(text: str, tallies: dict[str, Tally]) -> str:
    """Return the list with new counts in the headings of some files."""
    for file, tally in tallies.items():
        text = re.sub(rf"(?m)^## {re.escape(file)}.*$", f"## {file}: {tally}", text)
    counts = re.findall(r"(?m)^## [\w/]+\.py: (\d+) of (\d+) killed", text)
    total = Tally(sum(int(killed) for killed, _ in counts), sum(int(tried) for _, tried in counts))
    return re.sub(r"(?m)^All files: .*$", f"All files: {total}.", text)
