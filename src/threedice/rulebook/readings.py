"""Readings: which option is in force for each, and what the options set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import RulebookError, UnknownName, did_you_mean, nearest_names
from threedice.rulebook.conduct import Conduct, clause_numbers
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
    from collections.abc import Callable, Mapping

    from threedice.rulebook.schema import Reading, ReadingOption


_SETTABLE = {*Conduct.__struct_fields__, "dice", "wagers", "pay_tables", "layouts"}


def resolve_readings(
    source: RulebookSource, layout: str, choices: Mapping[str, str]
) -> dict[str, str]:
    """Return the option in force for every reading of a layout, by default or by choice."""
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
    """Return the rulebook with what the chosen readings set."""
    changes = [source.book.readings[name].options[choice].set for name, choice in chosen.items()]
    if not any(changes):
        return source.book
    data = source.data
    for change in changes:
        data = merge_tables(data, change)
    return convert(data, Rulebook, source.file)


def check_defaults(source: RulebookSource) -> None:
    """Refuse readings without a default that sets nothing, or of layouts that are not there."""
    for name, reading in source.book.readings.items():
        place = SourceLocation(source.file, ("readings", name), clause_numbers(reading.clause))
        if reading.default not in reading.options:
            known = did_you_mean(nearest_names(reading.default, reading.options))
            raise place.child("default").error(f"no option {reading.default!r}", known)
        if reading.options[reading.default].set:
            raise place.child("options", reading.default, "set").error(
                "the default sets something", "write what it sets into the book itself"
            )
        for layout in reading.layouts or []:
            if layout not in source.book.layouts:
                known = did_you_mean(nearest_names(layout, source.book.layouts))
                raise place.child("layouts").error(f"no layout {layout!r}", known)


def check_options(source: RulebookSource, check: Callable[[Rulebook, ReadingOption], None]) -> None:
    """Refuse options under which the book would be refused.

    `check` is what a book has to pass; it runs on the book under each option by itself.
    """
    for name, reading in source.book.readings.items():
        place = SourceLocation(source.file, ("readings", name), clause_numbers(reading.clause))
        _check_options(source, reading, place, check)
    _check_disjoint(source)


def _check_disjoint(source: RulebookSource) -> None:
    """Refuse two readings that set one key: the order in which they stand would matter."""
    setting: dict[tuple[str, ...], str] = {}
    for name, reading in source.book.readings.items():
        for choice, option in reading.options.items():
            for path, _ in iter_leaves(option.set):
                if setting.setdefault(path, name) != name:
                    here = SourceLocation(source.file, ("readings", name, "options", choice, "set"))
                    raise here.error(
                        f"the reading {setting[path]!r} sets {format_key(path)} too",
                        "let one reading decide it",
                    )


def _check_options(
    source: RulebookSource,
    reading: Reading,
    place: SourceLocation,
    check: Callable[[Rulebook, ReadingOption], None],
) -> None:
    for choice, option in reading.options.items():
        if not option.set:
            continue
        here = place.child("options", choice, "set")
        try:
            _check_option(source, option, here, check)
        except RecursionError:
            raise here.error("is nested too deep", "name a key of this file") from None
        except RulebookError as error:
            if error.key == format_key(here.path):
                raise
            raise here.error(f"under it {error.key}: {error.problem}", error.remedy) from None


def _check_option(
    source: RulebookSource,
    option: ReadingOption,
    here: SourceLocation,
    check: Callable[[Rulebook, ReadingOption], None],
) -> None:
    for key in option.set:
        if key not in _SETTABLE:
            raise here.error(f"{key} is not for a reading to set", "set how the game is played")
    for path, _ in iter_leaves(option.set):
        if value_at(source.data, path) is ABSENT:
            raise here.error(
                f"there is no key {format_key(path)} to set", "name a key of this file"
            )
    book = convert(merge_tables(source.data, option.set), Rulebook, source.file)
    check_citations(book, shipped_clause_numbers, source.file)
    check(book, option)
