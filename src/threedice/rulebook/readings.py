"""Readings: which option is in force for each, and what the options set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import RulebookError, UnknownName, did_you_mean, nearest
from threedice.rulebook.citing import check_citations
from threedice.rulebook.conduct import Conduct, cited
from threedice.rulebook.extending import ABSENT, at, leaves, merged
from threedice.rulebook.place import Place, key_text
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.source import Source, clauses_of
from threedice.rulebook.validation import convert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from threedice.rulebook.schema import Option, Reading


_SETTABLE = {*Conduct.__struct_fields__, "dice", "wagers", "pay_tables", "layouts"}


def chosen_readings(source: Source, layout: str, choices: Mapping[str, str]) -> dict[str, str]:
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


def under_readings(source: Source, chosen: Mapping[str, str]) -> Rulebook:
    """Return the rulebook with what the chosen readings set."""
    changes = [source.book.readings[name].options[choice].set for name, choice in chosen.items()]
    if not any(changes):
        return source.book
    data = source.data
    for change in changes:
        data = merged(data, change)
    return convert(data, Rulebook, source.file)


def check_defaults(source: Source) -> None:
    """Refuse readings without a default that sets nothing, or of layouts that are not there."""
    for name, reading in source.book.readings.items():
        place = Place(source.file, ("readings", name), cited(reading.clause))
        if reading.default not in reading.options:
            known = did_you_mean(nearest(reading.default, reading.options))
            raise place.at("default").error(f"no option {reading.default!r}", known)
        if reading.options[reading.default].set:
            raise place.at("options", reading.default, "set").error(
                "the default sets something", "write what it sets into the book itself"
            )
        for layout in reading.layouts or []:
            if layout not in source.book.layouts:
                known = did_you_mean(nearest(layout, source.book.layouts))
                raise place.at("layouts").error(f"no layout {layout!r}", known)


def check_options(source: Source, check: Callable[[Rulebook, Option], None]) -> None:
    """Refuse options under which the book would be refused.

    `check` is what a book has to pass; it runs on the book under each option by itself.
    """
    for name, reading in source.book.readings.items():
        place = Place(source.file, ("readings", name), cited(reading.clause))
        _check_options(source, reading, place, check)
    _check_apart(source)


def _check_apart(source: Source) -> None:
    """Refuse two readings that set one key: the order in which they stand would matter."""
    setting: dict[tuple[str, ...], str] = {}
    for name, reading in source.book.readings.items():
        for choice, option in reading.options.items():
            for path, _ in leaves(option.set):
                if setting.setdefault(path, name) != name:
                    here = Place(source.file, ("readings", name, "options", choice, "set"))
                    raise here.error(
                        f"the reading {setting[path]!r} sets {key_text(path)} too",
                        "let one reading decide it",
                    )


def _check_options(
    source: Source, reading: Reading, place: Place, check: Callable[[Rulebook, Option], None]
) -> None:
    for choice, option in reading.options.items():
        if not option.set:
            continue
        here = place.at("options", choice, "set")
        try:
            _check_option(source, option, here, check)
        except RecursionError:
            raise here.error("is nested too deep", "name a key of this file") from None
        except RulebookError as error:
            if error.key == key_text(here.path):
                raise
            raise here.error(f"under it {error.key}: {error.problem}", error.remedy) from None


def _check_option(
    source: Source, option: Option, here: Place, check: Callable[[Rulebook, Option], None]
) -> None:
    for key in option.set:
        if key not in _SETTABLE:
            raise here.error(f"{key} is not for a reading to set", "set how the game is played")
    for path, _ in leaves(option.set):
        if at(source.data, path) is ABSENT:
            raise here.error(f"there is no key {key_text(path)} to set", "name a key of this file")
    book = convert(merged(source.data, option.set), Rulebook, source.file)
    check_citations(book, clauses_of, source.file)
    check(book, option)
