"""Exact figures on their way out: fractions of any length, probabilities with enough digits."""

from __future__ import annotations

import csv
import os
import sys
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from threedice.cli.output import print_line
from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from threedice.rulebook import Game


def figure(value: Fraction | float) -> dict[str, Any]:
    """Return a figure for JSON: as a float, and as "num/den" where it is exact."""
    exact = exact_text(value) if isinstance(value, Fraction | int) else None
    return {"value": float(value), "exact": exact}


def exact_text(value: Fraction | int) -> str:
    """Write a fraction or a count in full, however many digits it has."""
    with any_length():
        return str(value)


@contextmanager
def any_length() -> Iterator[None]:
    """Lift Python's limit on the digits of an integer that is written out."""
    usual = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(usual)


def probability(value: Fraction | float) -> str:
    """Write a probability with fifteen significant digits.

    >>> probability(Fraction(1, 3)), probability(Fraction(0))
    ('0.333333333333333', '0')
    """
    return f"{float(value):.15g}"


def money(value: Fraction | float) -> str:
    """Write an amount with ten significant digits.

    >>> money(Fraction(8550484019284, 10**10)), money(Fraction(-500))
    ('855.0484019', '-500')
    """
    return f"{float(value):,.10g}"


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print CSV with a heading."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def check_page(file: Path | None) -> None:
    """Refuse a file that no page can be written to, before the work that would go on it."""
    if file is None:
        return
    if file.is_dir():
        raise InvalidInput(f"cannot write {file}: it is a folder; name a file in it")
    if not file.parent.is_dir():
        raise InvalidInput(f"cannot write {file}: there is no folder {file.parent}; make it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InvalidInput(f"cannot write {file}: you may not write there; name another file")


def write_page(file: Path, page: str) -> None:
    """Write a page to a file."""
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None
    print_line(f"wrote {file}")


def identity(game: Game) -> dict[str, Any]:
    """Return what every JSON answer says of its game."""
    return {"game": game.id, "hash": game.hash, "readings": game.readings}


def read_share(text: str) -> Fraction:
    """Read a probability: 0.001, 1/1000 or 5%."""
    number = text.strip()
    try:
        if number.endswith("%"):
            return Fraction(number[:-1].strip()) / 100
        return Fraction(number)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is no probability; give 0.001, 1/1000 or 0.1%") from None
