"""The server's journal: the keys of its lines, and the words and facts of everything it notes.

Most lines are written only when something fails, so the words are found in the source: every call
that passes one of them as its first argument, with the names of its keyword arguments.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.contract import adapter, files

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "journal.json"
SOURCE = Path(__file__).parents[2] / "src" / "threedice"


def calls() -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in the source whose first argument is, or may be, a constant string."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                first = node.args[0]
                choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                for each in choices:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield node, each.value


def is_journal_call(node: ast.Call) -> bool:
    """Return whether a call writes to the journal, by the names of today."""
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("write", "warn")
        and isinstance(function.value, ast.Name)
        and function.value.id == "journal"
    )


def facts_of(words: set[str]) -> dict[str, list[list[str]]]:
    """Return for each word the keyword arguments of the calls that pass it, whatever is called."""
    found: dict[str, set[tuple[str, ...]]] = {word: set() for word in words}
    for node, word in calls():
        if word in words:
            found[word].add(tuple(sorted(each.arg for each in node.keywords if each.arg)))
    return {word: [list(each) for each in sorted(found[word])] for word in sorted(words)}


def record() -> None:
    """Record the words that are written today."""
    words = {word for node, word in calls() if is_journal_call(node)}
    content: dict[str, Any] = {"words": facts_of(words), "lines": adapter.journal_lines()}
    files.write(FILE, content)
