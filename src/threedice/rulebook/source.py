"""Where rulebooks come from: our files and the user's, extended and read strictly.

First stage of the flow: TOML -> plain data (with what it extends merged in, and the chosen
readings applied) -> `schema.Rulebook`.
"""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threedice.errors import RulebookError, UnknownName, did_you_mean, nearest
from threedice.rulebook.conduct import cited
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.validation import convert, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.rulebook.schema import Reading

Data = dict[str, Any]
SHIPPED = "threedice.rulebooks"


@dataclass(frozen=True, slots=True)
class Source:
    """A rulebook as it was read: where from, the whole of its data, and the data as a struct.

    `origin` tells for each clause which book's file states it, since books extend one another.
    """

    file: str
    data: Data
    book: Rulebook
    origin: Mapping[str, str]


def shipped_ids() -> list[str]:
    """Return the ids of the rulebooks that come with the package."""
    names = (entry.name for entry in files(SHIPPED).iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read(name: str) -> Source:
    """Read a rulebook by its id, or from a user's own file."""
    if name.endswith(".toml"):
        return _read_file(Path(name))
    if name not in shipped_ids():
        raise UnknownName("rulebook", name, shipped_ids())
    return _read_shipped(name)


@lru_cache(maxsize=64)
def _read_shipped(book_id: str) -> Source:
    text = files(SHIPPED).joinpath(f"{book_id}.toml").read_text(encoding="utf-8")
    return _source(_parse(text, f"{book_id}.toml"), f"{book_id}.toml", None, ())


def _read_file(path: Path, extended_by: tuple[str, ...] = ()) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RulebookError(
            str(path), "the file", f"cannot be read: {reason}", "check the path and its rights"
        ) from None
    return _source(_parse(text, str(path)), str(path), path.parent, extended_by)


def _parse(text: str, file: str) -> Data:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RulebookError(
            file, "the file", f"is not TOML: {error}", "mend the line and column named"
        ) from None


def _source(data: Data, file: str, folder: Path | None, extended_by: tuple[str, ...]) -> Source:
    parent = _parent(data, file, folder, (*extended_by, file))
    own_clauses = set(_table(data, "clauses"))
    if parent:
        data = _extended(parent.data, data, file)
    data = _with_geometry(data, file, folder, (*extended_by, file))
    book = convert(data, Rulebook, file)
    inherited = parent.origin if parent else {}
    origin = {
        number: book.id if number in own_clauses else inherited.get(number, book.id)
        for number in book.clauses
    }
    _check_citations(data, book, file)
    _check_readings(data, book, file)
    return Source(file, data, book, origin)


def _table(data: Data, key: str) -> Data:
    table = data.get(key)
    return table if isinstance(table, dict) else {}


# --- extending another book ---------------------------------------------------------------------


def _parent(
    data: Data, file: str, folder: Path | None, extended_by: tuple[str, ...]
) -> Source | None:
    """Return the book that this one extends: a file beside it, or one of ours by id."""
    name = data.pop("extends", None)
    if name is None:
        if "removes" in data:
            raise RulebookError(file, "removes", "there is nothing to remove from", "add extends")
        return None
    return _other(str(name), "extends", file, folder, extended_by)


def _other(
    name: str, key: str, file: str, folder: Path | None, extended_by: tuple[str, ...]
) -> Source:
    """Return another book that a file builds on: a file beside it, or one of ours, by id."""
    beside = folder / f"{name}.toml" if folder else None
    if beside and beside.exists():
        if str(beside) in extended_by:
            raise RulebookError(file, key, f"{name!r} builds on this file", "break the circle")
        return _read_file(beside, extended_by)
    if name not in shipped_ids():
        known = did_you_mean(nearest(name, shipped_ids()))
        raise RulebookError(file, key, f"no rulebook {name!r} to build on", known)
    return _read_shipped(name)


def _with_geometry(
    data: Data, file: str, folder: Path | None, extended_by: tuple[str, ...]
) -> Data:
    """Return the data with the geometry that its layouts take from other games."""
    layouts = dict(_table(data, "layouts"))
    for name, layout in layouts.items():
        if not isinstance(layout, dict) or not isinstance(layout.get("like"), str):
            continue
        book_id, _, other = layout["like"].partition("/")
        key = f"layouts.{name}.like"
        theirs = _other(book_id, key, file, folder, extended_by).data["layouts"]
        if other not in theirs:
            known = did_you_mean([f"{book_id}/{each}" for each in theirs])
            raise RulebookError(file, key, f"no game {layout['like']!r}", known)
        geometry = {part: theirs[other][part] for part in _GEOMETRY if part in theirs[other]}
        layouts[name] = merged(geometry, layout)
    return {**data, "layouts": layouts} if layouts else data


_GEOMETRY = ("size", "blocks", "legends")


def _extended(base: Data, own: Data, file: str) -> Data:
    """Return the base with a book's own keys in place of, or added to, its keys.

    A book names what it changes and nothing else: repeating an inherited value is refused.
    """
    whole = deepcopy(base)
    for key in own.pop("removes", []):
        _remove(whole, _dotted(key, file), file)
    for path, value in _leaves(own):
        if _at(whole, path) == value and path not in {("id",), ("title",), ("version",)}:
            raise RulebookError(
                file, key_text(path), "repeats what the extended book says", "leave the key out"
            )
    return merged(whole, own)


def _dotted(key: Any, file: str) -> tuple[str, ...]:
    """Read a dotted key as TOML would, quoted parts included."""
    try:
        nested: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        raise RulebookError(
            file, "removes", f"{key!r} is not a key", "write a dotted key"
        ) from None
    path: list[str] = []
    while isinstance(nested, dict):
        part, nested = next(iter(nested.items()))
        path.append(part)
    return tuple(path)


def _remove(data: Data, path: tuple[str, ...], file: str) -> None:
    *above, last = path
    table = _at(data, tuple(above))
    if not isinstance(table, dict) or last not in table:
        raise RulebookError(
            file, "removes", f"{key_text(path)} is not in the extended book", "leave it out"
        )
    del table[last]


def _leaves(data: Data, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


_ABSENT = object()


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key, _ABSENT) if isinstance(data, dict) else _ABSENT
    return data


def merged(base: Data, change: Data) -> Data:
    """Return the base with a tree of changes laid over it: tables merge, all else replaces."""
    whole = dict(base)
    for key, value in change.items():
        under = whole.get(key)
        both_tables = isinstance(under, dict) and isinstance(value, dict)
        whole[key] = merged(under, value) if both_tables else value  # type: ignore[arg-type]
    return whole


# --- readings -----------------------------------------------------------------------------------


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


def _check_readings(data: Data, book: Rulebook, file: str) -> None:
    for name, reading in book.readings.items():
        key = f"readings.{name}"
        clause = ", ".join(cited(reading.clause))
        if reading.default not in reading.options:
            known = did_you_mean(nearest(reading.default, reading.options))
            raise RulebookError(
                file, f"{key}.default", f"no option {reading.default!r}", known, clause
            )
        for layout in reading.layouts or []:
            if layout not in book.layouts:
                known = did_you_mean(nearest(layout, book.layouts))
                raise RulebookError(file, f"{key}.layouts", f"no layout {layout!r}", known, clause)
        _check_options(data, reading, file, key, clause)


def _check_options(data: Data, reading: Reading, file: str, key: str, clause: str) -> None:
    for choice, option in reading.options.items():
        for path, _ in _leaves(option.set):
            if _at(data, path) is _ABSENT:
                raise RulebookError(
                    file,
                    f"{key}.options.{choice}.set",
                    f"there is no key {key_text(path)} to set",
                    "name a key of this file",
                    clause,
                )
        if option.set:
            convert(merged(data, option.set), Rulebook, file)


# --- clauses ------------------------------------------------------------------------------------


def citations(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield every (clause, key) by which a rulebook's data cites a clause."""
    if isinstance(data, dict):
        citing = data.values() if path[-1:] == ("under",) else [data.get("clause", [])]
        yield from ((number, key_text(path)) for each in citing for number in cited(each))
        for key, value in data.items():
            yield from citations(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from citations(value, (*path, str(i)))


def _check_citations(data: Data, book: Rulebook, file: str) -> None:
    for number, key in citations(data):
        if " " not in number and number not in book.clauses:
            known = did_you_mean(nearest(number, book.clauses))
            raise RulebookError(
                file, key, f"it cites {number!r}, which is no clause", known, number
            )
    for number, clause in book.clauses.items():
        if clause.status == "out of scope" and not clause.reason:
            raise RulebookError(
                file,
                key_text(("clauses", number)),
                "is out of scope without a reason",
                "add reason",
                number,
            )
