"""Print figures about the size and the language of the source tree.

    python tools/metrics.py [--root CHECKOUT]

The figures are counted on files, so that any two commits can be compared with the same ruler.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TRADE_WORDS: Final = frozenset({"betting"})
"""Module names in -ing that are the casino's own words."""

PRONOUN: Final = re.compile(r"\b(?:he|his|him)\b", re.IGNORECASE)
STEP: Final = re.compile(r"^\d+\. `([^`]+)`", re.MULTILINE)
AMOUNT_FIELDS: Final = frozenset({
    "amount", "bets", "carried_away", "drop", "float_amount", "owing", "returned", "stake",
    "transfers", "winnings",
})  # fmt: skip
"""Fields of events that hold amounts of money."""

EVENT_ENDINGS: Final = (
    "Placed", "Withdrawn", "Rejected", "Judged", "Apportioned", "Collected", "Paid", "Won", "Lost",
    "Voided", "Reversed", "Corrected", "Made", "Opened", "Closed", "Filled", "Credited", "BoughtIn",
    "CashedOut", "Repaid", "Deposited", "SentToTable", "ReceivedFromTable",
)  # fmt: skip
"""How the names of events end that move money."""

NOT_POSTING: Final = frozenset({"evolve", "decider", "prose", "explanation", "audiences"})
"""Modules that read amounts to change the state, which postings are compared with, to describe an
event or to redact it."""

LEGS: Final = ("To the acknowledgement", "To other screens", "To the statement")
"""Headings of the walk of a bet in `docs/architecture.md`, in order."""


def main() -> None:
    """Print the figures of a checkout."""
    parser = argparse.ArgumentParser(description="Print figures about the source tree.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    root: Path = parser.parse_args().root
    for name, value in figures(root).items():
        print(f"{name:<42}{value}")


def figures(root: Path) -> dict[str, str]:
    """Return every figure by its name."""
    modules = sorted((root / "src").rglob("*.py"))
    packages = Counter(module.parent for module in modules)
    largest, size = max(packages.items(), key=lambda each: each[1])
    repeated = repeated_classes(modules)
    gerunds = [module.stem for module in modules if is_gerund(module.stem)]
    return {
        "modules": str(len(modules)),
        "lines": str(sum(len(text.splitlines()) for text in texts(modules))),
        "largest package": f"{size} ({largest.relative_to(root / 'src')})",
        "module names in -ing": listed(gerunds),
        "class names that occur twice": listed(repeated),
        "lines with he, his or him": str(pronoun_lines(modules)),
        "places that know what an event moves": str(max(posting_places(modules).values())),
        "modules on a bet's way": " / ".join(str(each) for each in walk_lengths(root)) or "-",
    }


def texts(modules: list[Path]) -> Iterator[str]:
    """Yield the text of each module."""
    for module in modules:
        yield module.read_text(encoding="utf-8")


def is_gerund(name: str) -> bool:
    """Tell whether a module is named by a gerund that is not a word of the trade."""
    return name.endswith("ing") and name not in TRADE_WORDS


def repeated_classes(modules: list[Path]) -> list[str]:
    """Return the class names that are defined more than once."""
    counts = Counter(
        node.name
        for text in texts(modules)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in counts.items() if count > 1)


def pronoun_lines(modules: list[Path]) -> int:
    """Count the lines that call a person he, his or him."""
    return sum(
        PRONOUN.search(line) is not None for text in texts(modules) for line in text.splitlines()
    )


def posting_places(modules: list[Path]) -> Counter[str]:
    """Count by event the modules with a `case` that reads the amounts of the event."""
    places: Counter[str] = Counter()
    for module in modules:
        if module.stem not in NOT_POSTING:
            tree = ast.parse(module.read_text(encoding="utf-8"))
            cases = [node for node in ast.walk(tree) if isinstance(node, ast.match_case)]
            places.update({name for case in cases for name in posted_events(case)})
    return places


def posted_events(case: ast.match_case) -> set[str]:
    """Return the events that a case matches, if it reads an amount of them."""
    fields = {node.attr for node in ast.walk(case) if isinstance(node, ast.Attribute)}
    if not fields & AMOUNT_FIELDS:
        return set()
    patterns = [node.cls for node in ast.walk(case.pattern) if isinstance(node, ast.MatchClass)]
    names = {
        each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in patterns
    }
    return {name for name in names if name.endswith(EVENT_ENDINGS)}


def walk_of_a_bet(root: Path) -> list[list[str]]:
    """Return the modules of each leg of the walk, as `docs/architecture.md` lists them."""
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    legs = []
    for heading in LEGS:
        _, found, rest = page.partition(f"### {heading}\n")
        if not found:
            return []
        legs.append(STEP.findall(re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]))
    return legs


def walk_lengths(root: Path) -> list[int]:
    """Count the different modules up to the end of each leg."""
    seen: set[str] = set()
    lengths = []
    for leg in walk_of_a_bet(root):
        seen.update(leg)
        lengths.append(len(seen))
    return lengths


def listed(names: list[str]) -> str:
    """Return how many names there are, and the first of them."""
    some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"{len(names)} ({some})" if names else "0"


if __name__ == "__main__":
    main()
