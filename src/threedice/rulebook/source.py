"""Read rulebook files and merge them with the rulebooks they extend.

The first stage of compilation: TOML -> plain data, merged with the extended rulebook and the
geometry taken from other games -> `schema.Rulebook`. The merge functions also apply readings.
"""

from __future__ import annotations

import os
import re
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threedice.errors import InvalidToml, UnknownName, did_you_mean
from threedice.rulebook.consistency import check_citations
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.validation import KeyPath, SourceLocation, convert, format_key
from threedice.toml_files import parse_toml, read_toml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

Data = dict[str, Any]

RULEBOOKS_PACKAGE = "threedice.rulebooks"
"""The package of the shipped rulebooks, and a key of their caches: it can be replaced."""

MAX_EXTENDED_FILES = 16
"""Files in a row of which each extends the next, or takes its geometry."""

ABSENT = object()
"""Returned by `value_at` if a path does not exist."""

_GEOMETRY = ("size", "blocks", "legends")
_PART = re.compile(r'[A-Za-z0-9_-]+|"[^"\n]+"')
_KEY = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_MAY_REPEAT: set[KeyPath] = {("title",), ("version",)}


@dataclass(frozen=True, slots=True, eq=False)
class RulebookSource:
    """A rulebook that was read: its file, the merged data, and the data as a struct.

    `origin` maps each clause to the id of the book whose file states it, as books extend others.
    """

    file: str
    data: Data
    book: Rulebook
    origin: Mapping[str, str]
    shipped: bool


@cache
def shipped_ids() -> tuple[str, ...]:
    """Return the ids of the rulebooks shipped with the package."""
    names = (entry.name for entry in files(RULEBOOKS_PACKAGE).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def read_rulebook(name: str) -> RulebookSource:
    """Read a shipped rulebook by its id, or a user's file by its path."""
    if name.endswith(".toml"):
        return _read_file(Path(name))
    if name not in shipped_ids():
        raise UnknownName("rulebook", name, shipped_ids())
    return _read_shipped(RULEBOOKS_PACKAGE, name)


@cache
def _read_shipped(package: str, book_id: str) -> RulebookSource:
    return _source(_shipped_data(package, book_id), f"{book_id}.toml", None, ())


@cache
def _shipped_data(package: str, book_id: str) -> Data:
    text = files(package).joinpath(f"{book_id}.toml").read_text(encoding="utf-8")
    return parse_toml(text, f"{book_id}.toml")


def _read_file(path: Path, ancestors: tuple[str, ...] = ()) -> RulebookSource:
    file, location = str(path), SourceLocation(str(path), ())
    if len(ancestors) == MAX_EXTENDED_FILES:
        raise location.error(
            f"{MAX_EXTENDED_FILES} files already extend each other up to this one",
            "put the last of them together",
        )
    try:
        data = read_toml(path)
    except InvalidToml as error:
        raise location.error(error.problem, error.remedy) from None
    return _source(data, file, path.parent, (*ancestors, file))


def _source(
    data: Data, file: str, folder: Path | None, ancestors: tuple[str, ...]
) -> RulebookSource:
    """Merge a file's data with the book it extends, and validate the result."""
    own = {key: value for key, value in data.items() if key not in ("extends", "removes")}
    parent = None
    if "extends" in data:
        parent = _read_base(
            str(data["extends"]), SourceLocation(file, ("extends",)), folder, ancestors
        )
        if "id" not in data:
            raise SourceLocation(file, ("id",)).error("the id is not inherited", "add id")
        if data["id"] == parent.book.id:
            raise SourceLocation(file, ("id",)).error(
                f"{parent.book.id!r} is the id of the book that this one extends",
                f'give it an id of its own, such as "my-{parent.book.id}"',
            )
    elif "removes" in data:
        raise SourceLocation(file, ("removes",)).error(
            "there is nothing to remove from", "add extends"
        )
    own = merged = _with_geometry(own, file, folder, ancestors)
    if parent:
        merged = extend_data(parent.data, own, data.get("removes", []), file)
    book = convert(merged, Rulebook, file)
    if folder is not None:
        _check_id(book.id, merged, file)
    check_citations(book, shipped_clause_numbers, file)
    inherited, stated = parent.origin if parent else {}, own.get("clauses", {})
    origin = {
        number: book.id if number in stated else inherited.get(number, book.id)
        for number in book.clauses
    }
    return RulebookSource(file, merged, book, origin, folder is None)


def _check_id(book_id: str, data: Data, file: str) -> None:
    """Refuse a user's book with the id of a shipped one, unless its data are the same.

    Logs, pages and citations name a book by its id: readers would take other rules for the
    regulator's.
    """
    if book_id in shipped_ids() and data != _read_shipped(RULEBOOKS_PACKAGE, book_id).data:
        raise SourceLocation(file, ("id",)).error(
            f"{book_id!r} is the id of a shipped rulebook, and this one differs from it",
            f'give it an id of its own, such as "my-{book_id}", and state only the differences with'
            f' extends = "{book_id}"',
        )


def shipped_clause_numbers(book_id: str) -> Collection[str] | None:
    """Return the clause numbers of a shipped book without validating it, or None if unknown."""
    if book_id not in shipped_ids():
        return None
    data = _shipped_data(RULEBOOKS_PACKAGE, book_id)
    inherited = shipped_clause_numbers(data["extends"]) if "extends" in data else None
    return [*(inherited or []), *data.get("clauses", {})]


# --- extended books -----------------------------------------------------------------------------


def _read_base(
    name: str, location: SourceLocation, folder: Path | None, ancestors: tuple[str, ...]
) -> RulebookSource:
    """Read a book that a file extends: a file in the same folder, or a shipped book."""
    neighbour = folder / f"{name}.toml" if folder and name else None
    if neighbour and os.path.lexists(neighbour):
        if any(neighbour.samefile(file) for file in ancestors):
            raise location.error(f"{name!r} extends this file", "remove the cycle")
        return _read_file(neighbour, ancestors)
    if name not in shipped_ids():
        raise location.unknown(f"no rulebook {name!r} to extend", name, shipped_ids())
    return _read_shipped(RULEBOOKS_PACKAGE, name)


def _with_geometry(data: Data, file: str, folder: Path | None, ancestors: tuple[str, ...]) -> Data:
    """Return the data with the geometry that its layouts take from other games."""
    layouts: Any = data.get("layouts")
    if not isinstance(layouts, dict):
        return data
    merged = dict(layouts)
    for name, layout in layouts.items():
        if isinstance(layout, dict) and isinstance(layout.get("like"), str):
            location = SourceLocation(file, ("layouts", name, "like"))
            merged[name] = merge_tables(
                _geometry(layout["like"], location, folder, ancestors), layout
            )
    return {**data, "layouts": merged}


def _geometry(
    game: str, location: SourceLocation, folder: Path | None, ancestors: tuple[str, ...]
) -> Data:
    """Return the size, blocks and legends of another game."""
    book_id, _, layout = game.partition("/")
    layouts: Data = _read_base(book_id, location, folder, ancestors).data["layouts"]
    if layout not in layouts:
        known = did_you_mean([f"{book_id}/{each}" for each in layouts])
        raise location.error(f"no game {game!r}", known)
    return {key: layouts[layout][key] for key in _GEOMETRY if key in layouts[layout]}


# --- merging plain data -------------------------------------------------------------------------


def merge_tables(base: Data, changes: Data) -> Data:
    """Merge changes into a copy of the base: tables merge, any other value replaces."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = merge_tables(old, value)
        else:
            merged[key] = value
    return merged


def extend_data(base: Data, own: Data, removes: Any, file: str) -> Data:
    """Remove keys from a copy of the base, then merge a book's own data into it.

    A book states only its differences: a value that repeats an inherited one is refused.
    """
    merged = deepcopy(base)
    location = SourceLocation(file, ("removes",))
    if not isinstance(removes, list):
        raise location.error(f"{removes!r} is not a list", "list dotted keys")
    for key in removes:
        _remove(merged, _parse_key(key, location), location)
    for path, value in iter_leaves(own):
        if repr(value_at(merged, path)) == repr(value) and path not in _MAY_REPEAT:
            raise SourceLocation(file, path).error(
                "repeats what the extended book says", "leave the key out"
            )
    return merge_tables(merged, own)


def _parse_key(key: Any, location: SourceLocation) -> KeyPath:
    """Parse a dotted key; parts may be in double quotes."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise location.error(
            f"{key!r} is not a key", 'write a dotted key such as "readings.tumble"'
        )
    return tuple(part.strip('"') for part in _PART.findall(key))


def _remove(data: Data, path: KeyPath, location: SourceLocation) -> None:
    *parent, last = path
    table = value_at(data, tuple(parent))
    if not isinstance(table, dict) or last not in table:
        raise location.error(f"{format_key(path)} is not in the extended book", "leave it out")
    del table[last]


def iter_leaves(data: Data, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every leaf of a tree with its path; an empty table is a leaf."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from iter_leaves(value, (*path, key))
        else:
            yield (*path, key), value


def value_at(data: Any, path: KeyPath) -> Any:
    """Return the value at a path, or ABSENT."""
    for key in path:
        data = data.get(key, ABSENT) if isinstance(data, dict) else ABSENT
    return data
