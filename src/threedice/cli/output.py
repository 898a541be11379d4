"""Terminal output: text, tables, JSON, CSV, pages, number formats and progress bars.

Tables are drawn with Rich on a terminal and printed as plain columns elsewhere; Rich is imported
only where it is used.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from threedice.errors import InvalidInput
from threedice.rulebook import Game

if TYPE_CHECKING:
    from rich.console import Console

    from threedice.odds.comparison import ReadingInForce

Row = Sequence[str]
OutputFormat = Literal["text", "csv", "json", "html"]


def choose_format(*, csv: bool, as_json: bool, html: Path | None) -> OutputFormat:
    """Return the output format that the options select; raise InvalidInput for several."""
    options: dict[OutputFormat, bool] = {"csv": csv, "json": as_json, "html": html is not None}
    selected = [name for name, is_given in options.items() if is_given]
    if len(selected) > 1:
        raise InvalidInput(f"--{' and --'.join(selected)} exclude each other; choose one")
    return selected[0] if selected else "text"


# --- text, JSON, CSV and pages ------------------------------------------------------------------


def print_line(text: str = "") -> None:
    """Print a line, with bytes that are not UTF-8 escaped."""
    sys.stdout.write(escape_undecodable(text) + "\n")


def escape_undecodable(text: str) -> str:
    """Escape surrogates, which stand for bytes that could not be decoded.

    >>> escape_undecodable("player/\\udcffA")
    'player/\\\\udcffA'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def print_stderr(text: str) -> None:
    """Print a message on standard error."""
    sys.stderr.write(f"threedice: {text}\n")


def print_json(value: Mapping[str, Any], indent: int | None = 2) -> None:
    """Print a value as JSON; fractions are texts, `indent=None` keeps large results on one line."""
    text = msgspec.json.encode(value, enc_hook=_encode_fraction)
    if indent:
        text = msgspec.json.format(text, indent=indent)
    sys.stdout.write(text.decode() + "\n")


def _encode_fraction(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError


def print_csv(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print CSV with a header; the one writer of CSV, so that no text in it is a formula."""
    for row in chain([columns], rows):
        sys.stdout.write(",".join(map(_csv_cell, row)) + "\n")


_NUMBER: Final = r"[+-]?\d[\d.,/]*( ?%)?"

# A text that begins with a sign of a formula, also of full width, or with a tab or line end, which
# some spreadsheets skip. A number or a range of numbers stays as it is. `screens/src/lib/csv.ts`
# has the same rule; both are tested with `csv-cells.json` next to it.
_FORMULA: Final = re.compile(
    rf"(?!{_NUMBER}( to {_NUMBER})?\Z)[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]", re.ASCII
)

# The writer of the standard library leaves "\r" unquoted before Python 3.13, and a spreadsheet
# would begin a row there.
_QUOTED: Final = re.compile(r'[",\r\n]')


def _csv_cell(value: object) -> str:
    text = "" if value is None else str(value)
    if _FORMULA.match(text):
        text = f"'{text}"
    if not _QUOTED.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def write_page(file: Path, page: str) -> None:
    """Write a page to a file."""
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None
    print_line(f"wrote {file}")


# --- headings and tables ------------------------------------------------------------------------


def print_heading(text: str) -> None:
    """Print a heading, bold on a terminal."""
    print_line()
    if sys.stdout.isatty():
        _console().print(text, style="bold")
    else:
        print_line(text)


def print_table(
    columns: Row, rows: Sequence[Row], right: Collection[int] = (), heading: str = ""
) -> None:
    """Print rows under columns and a heading; the columns in `right` are right-aligned.

    The first column and the right-aligned ones never wrap: on a terminal that is too narrow for
    them, with twelve characters for each of the others, the table is printed as plain columns.
    """
    if heading:
        print_heading(heading)
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    unbroken = {0, *right}
    required = sum(
        (width if i in unbroken else min(width, 12)) + 2 for i, width in enumerate(widths)
    )
    if sys.stdout.isatty() and required <= _console().width:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for i, column in enumerate(columns):
            justify: Any = "right" if i in right else "left"
            table.add_column(column, justify=justify, no_wrap=i in unbroken, overflow="fold")
        for row in rows:
            table.add_row(*row)
        _console().print(table)
        return
    for row in (columns, *rows):
        cells = (
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print_line("  ".join(cells).rstrip())


def _console() -> Console:
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


# --- numbers ------------------------------------------------------------------------------------


def format_probability(value: Fraction | float) -> str:
    """Format a probability with fifteen significant digits.

    >>> format_probability(Fraction(1, 3)), format_probability(Fraction(0))
    ('0.333333333333333', '0')
    """
    return f"{float(value):.15g}"


def format_time(at: int) -> str:
    """Format microseconds since the epoch.

    >>> format_time(1_700_000_000_000_000)
    '2023-11-14T22:13:20+00:00'
    """
    return datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="seconds")


def format_money(value: Fraction | float) -> str:
    """Format an amount with ten significant digits.

    >>> format_money(Fraction(8550484019284, 10**10)), format_money(Fraction(-500))
    ('855.0484019', '-500')
    """
    return f"{float(value):,.10g}"


def figure_json(value: Fraction | float) -> dict[str, Any]:
    """Return a figure for JSON: as a float, and as "num/den" if it is exact."""
    exact = exact_text(value) if isinstance(value, Fraction | int) else None
    return {"value": float(value), "exact": exact}


def exact_text(value: Fraction | int) -> str:
    """Return all digits of a fraction or an integer, however many Python would convert."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return str(value)
    finally:
        sys.set_int_max_str_digits(limit)


# --- games and readings -------------------------------------------------------------------------


def game_json(game: Game) -> dict[str, Any]:
    """Return the keys that identify a game in every JSON answer."""
    return {"game": game.id, "hash": game.hash, "readings": game.readings}


def print_game(game: Game, subject: str = "") -> None:
    """Print the title of a game and the subject of the figures, then its hash and readings."""
    print_line(f"{game.title} ({game.id}){subject and f': {subject}'}")
    print_line(f"hash {game.hash}; readings {format_readings(game)}")


def format_readings(game: Game) -> str:
    """Return the readings in force on one line."""
    return ", ".join(f"{name}={choice}" for name, choice in game.readings.items()) or "none"


def print_readings(in_force: tuple[ReadingInForce, ...]) -> None:
    """Print the readings in force, and the effect of each alternative."""
    for each in in_force:
        print_line(f"{each.name} = {each.choice} ({', '.join(each.clauses)}): {each.text}")
        for other in each.alternatives:
            effect = describe_edge_changes(other.edge_changes)
            print_line(f"  or {other.name}: {other.text} {effect}")


def describe_edge_changes(edges: Mapping[str, tuple[Fraction | None, Fraction | None]]) -> str:
    """Describe the effect of an alternative reading on the house edge."""
    boxes_by_change: dict[str, list[str]] = {}
    for box_id, pair in edges.items():
        before, after = ("not offered" if edge is None else edge for edge in pair)
        boxes_by_change.setdefault(f"from {before} to {after}", []).append(box_id)
    changes = [f"{', '.join(boxes)} {change}" for change, boxes in boxes_by_change.items()]
    return f"House edge of {'; '.join(changes)}." if changes else "No house edge changes."


# --- progress and interruption ------------------------------------------------------------------


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal; yield the function that reports the steps done."""
    with progress_callback(label) as report:
        if report is None:
            yield lambda _: None
        else:
            report(0, total)
            yield lambda done: report(done, total)


@contextmanager
def progress_callback(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on a terminal; yield a function of the steps done and the total.

    Without a terminal, yield None.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    rate = TextColumn("{task.fields[rate]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, rate="")

        def report(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            speed_text = f"{speed:,.1f}/s" if speed else ""
            bar.update(task, completed=done, total=total, rate=speed_text)

        yield report


@contextmanager
def defer_interrupt() -> Iterator[Callable[[], bool]]:
    """Record Ctrl-C instead of raising, so that work can stop between two steps.

    Yield a function that returns whether an interrupt was received.
    """
    interrupted = False

    def record(*_: object) -> None:
        nonlocal interrupted
        interrupted = True

    previous = signal.signal(signal.SIGINT, record)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


def report_interrupted(text: str) -> None:
    """Report on standard error that work was interrupted, and what it has produced."""
    print_stderr(f"stopped: {text}")
