"""Markdown building blocks of the generated pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    escaped = escape(text, quote=False)
    for character in "\\`*_[]":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped


def code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`" if text else ""


def raw(html: str) -> str:
    """Return HTML as a block that Markdown leaves alone."""
    return f'<div class="sheet">{html}</div>'


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
