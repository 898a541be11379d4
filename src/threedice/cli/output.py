"""What reaches the terminal: tables for people, plain columns for pipes, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Row = Sequence[str]


def print_json(value: Mapping[str, Any], indent: int | None = 2) -> None:
    """Print a value as JSON, indented unless it is a wall of numbers."""
    text = msgspec.json.encode(value)
    if indent:
        text = msgspec.json.format(text, indent=indent)
    sys.stdout.write(text.decode() + "\n")


def print_line(text: str = "") -> None:
    """Print a line as it is; what is no text in it is escaped."""
    sys.stdout.write(as_text(text) + "\n")


def as_text(text: str) -> str:
    """Return a text that can be written everywhere, with bytes that were none escaped.

    >>> as_text("player/\\udcffA")
    'player/\\\\udcffA'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def print_heading(text: str) -> None:
    """Print a heading, bold where somebody is looking."""
    if sys.stdout.isatty():
        _console().print(f"\n[bold]{_escaped(text)}[/bold]", highlight=False)
    else:
        print_line(f"\n{text}")


def print_table(columns: Row, rows: Sequence[Row], right: frozenset[int] = frozenset()) -> None:
    """Print rows under columns, those in `right` aligned to the right.

    Figures and ids are never broken: where a terminal is too narrow for them, the plain form runs
    over its edge instead.
    """
    firm = [i for i in range(len(columns)) if i in right or i == 0]
    if sys.stdout.isatty() and _needed(columns, rows, firm) <= _console().width:
        _print_rich(columns, rows, right)
    else:
        _print_plain(columns, rows, right)


def _needed(columns: Row, rows: Sequence[Row], firm: list[int]) -> int:
    """Return how wide a table has to be for its firm columns, and twelve letters for the others."""
    widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
    return sum((width if i in firm else min(width, 12)) + 2 for i, width in enumerate(widths))


def _print_plain(columns: Row, rows: Sequence[Row], right: frozenset[int]) -> None:
    table = [columns, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        cells = (
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print_line("  ".join(cells).rstrip())


def _print_rich(columns: Row, rows: Sequence[Row], right: frozenset[int]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        justify: Any = "right" if i in right else "left"
        table.add_column(column, justify=justify, no_wrap=i in right or i == 0, overflow="fold")
    for row in rows:
        table.add_row(*(_escaped(cell) for cell in row))
    _console().print(table, highlight=False)


def _console() -> Any:
    from rich.console import Console

    return Console()


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
