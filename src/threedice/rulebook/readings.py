"""Readings of a rulebook: resolve the options in force, apply and check what they set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import RulebookError, UnknownName
from threedice.rulebook.conduct import Conduct
from threedice.rulebook.consistency import check_citations
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.source import (
    ABSENT,
    RulebookSource,
    iter_leaves,
    merge_tables,
    shipped_clause_numbers,
    value_at,
)
from threedice.rulebook.validation import SourceLocation, convert, format_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from threedice.rulebook.schema import ReadingOption
    from threedice.rulebook.validation import KeyPath

_SETTABLE = {*Conduct.__struct_fields__, "dice", "wagers", "pay_tables", "layouts"}


def resolve_readings(
    source: RulebookSource, layout: str, choices: Mapping[str, str]
) -> dict[str, str]:
    """Return the option in force for every reading of a layout: the choice, or the default."""
    readings = {
        name: reading
        for name, reading in source.book.readings.items()
        if reading.layouts is None or layout in reading.layouts
    }
    for name, choice in choices.items():
        if name not in readings:
            raise UnknownName(f"reading of {source.book.id}/{layout}", name, readings)
        if choice not in readings[name].options:
            raise UnknownName(f"option of the reading {name}", choice, readings[name].options)
    return {name: choices.get(name, reading.default) for name, reading in readings.items()}


def apply_readings(source: RulebookSource, chosen: Mapping[str, str]) -> Rulebook:
    """Return the rulebook with the keys that the chosen options set."""
    changes = [source.book.readings[name].options[choice].set for name, choice in chosen.items()]
    if not any(changes):
        return source.book
    data = source.data
    for change in changes:
        data = merge_tables(data, change)
    return convert(data, Rulebook, source.file)


def check_defaults(source: RulebookSource) -> None:
    """Refuse a reading whose default is missing or sets keys, or that names an unknown layout."""
    for name, reading in source.book.readings.items():
        location = SourceLocation(source.file, ("readings", name), reading.clause)
        if reading.default not in reading.options:
            raise location.child("default").unknown(
                f"no option {reading.default!r}", reading.default, reading.options
            )
        if reading.options[reading.default].set:
            raise location.child("options", reading.default, "set").error(
                "the default sets keys", "write what it sets into the book itself"
            )
        for layout in reading.layouts or []:
            if layout not in source.book.layouts:
                raise location.child("layouts").unknown(
                    f"no layout {layout!r}", layout, source.book.layouts
                )


def check_options(source: RulebookSource, check: Callable[[Rulebook, ReadingOption], None]) -> None:
    """Refuse an option that makes the book invalid.

    `check` raises an error for an invalid book; it runs once for each option alone.
    """
    for _, option, location in _options_that_set(source):
        try:
            _check_option(source, option, location, check)
        except RulebookError as error:
            if error.key == format_key(location.path):
                raise
            problem = f"under it {error.key}: {error.problem}"
            raise location.error(problem, error.remedy) from None
    _check_disjoint(source)


def _options_that_set(
    source: RulebookSource,
) -> Iterator[tuple[str, ReadingOption, SourceLocation]]:
    """Yield the options that set keys, each with its reading and the location of the keys."""
    for name, reading in source.book.readings.items():
        location = SourceLocation(source.file, ("readings", name, "options"), reading.clause)
        for choice, option in reading.options.items():
            if option.set:
                yield name, option, location.child(choice, "set")


def _check_disjoint(source: RulebookSource) -> None:
    """Refuse two readings that set the same key: their order would matter."""
    setters: dict[KeyPath, str] = {}
    for name, option, location in _options_that_set(source):
        for path, _ in iter_leaves(option.set):
            if setters.setdefault(path, name) != name:
                raise SourceLocation(source.file, location.path).error(
                    f"the reading {setters[path]!r} sets {format_key(path)} too",
                    "let one reading decide it",
                )


def _check_option(
    source: RulebookSource,
    option: ReadingOption,
    location: SourceLocation,
    check: Callable[[Rulebook, ReadingOption], None],
) -> None:
    for key in option.set:
        if key not in _SETTABLE:
            raise location.error(f"a reading cannot set {key}", "set how the game is played")
    for path, _ in iter_leaves(option.set):
        if value_at(source.data, path) is ABSENT:
            raise location.error(
                f"there is no key {format_key(path)} to set", "name a key of this file"
            )
    book = convert(merge_tables(source.data, option.set), Rulebook, source.file)
    check_citations(book, shipped_clause_numbers, source.file)
    check(book, option)
