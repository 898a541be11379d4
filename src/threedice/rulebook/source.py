"""Read rulebook files and merge them with the rulebooks they extend.

Where rulebooks come from: our files and the user's, extended and read strictly.

First stage of the flow: TOML -> plain data, with what it extends merged in and geometry that it
takes from other games -> `schema.Rulebook`.

Plain data laid over plain data: a book over the one it extends, a reading over its book.
"""

from __future__ import annotations

import os
import re
import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threedice.errors import UnknownName, did_you_mean, nearest_names
from threedice.rulebook.consistency import check_citations
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.validation import SourceLocation, convert, format_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


RULEBOOKS_PACKAGE = "threedice.rulebooks"


_GEOMETRY = ("size", "blocks", "legends")


@dataclass(frozen=True, slots=True)
class RulebookSource:
    """A rulebook as it was read: where from, the whole of its data, and the data as a struct.

    `origin` tells for each clause which book's file states it, since books extend one another.
    """

    file: str
    data: Data
    book: Rulebook
    origin: Mapping[str, str]
    shipped: bool


@cache
def shipped_ids() -> tuple[str, ...]:
    """Return the ids of the rulebooks that come with the package."""
    names = (entry.name for entry in files(RULEBOOKS_PACKAGE).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def read_rulebook(name: str) -> RulebookSource:
    """Read a rulebook by its id, or from a user's own file."""
    if name.endswith(".toml"):
        return _read_file(Path(name))
    if name not in shipped_ids():
        raise UnknownName("rulebook", name, shipped_ids())
    return _read_shipped(name)


@cache
def _read_shipped(book_id: str) -> RulebookSource:
    return _source(_shipped_data(book_id), f"{book_id}.toml", None, ())


@cache
def _shipped_data(book_id: str) -> Data:
    text = files(RULEBOOKS_PACKAGE).joinpath(f"{book_id}.toml").read_text(encoding="utf-8")
    return _parse(text, f"{book_id}.toml")


def _read_file(path: Path, ancestors: tuple[str, ...] = ()) -> RulebookSource:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SourceLocation(str(path), ()).error(
            f"cannot be read: {reason}", "check the path and its rights"
        ) from None
    return _source(_parse(text, str(path)), str(path), path.parent, ancestors)


def _parse(text: str, file: str) -> Data:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SourceLocation(file, ()).error("is nested too deep", "write it flatter") from None
    except ValueError as error:
        raise SourceLocation(file, ()).error(
            f"is not TOML: {error}", "mend the line and column named"
        ) from None


def _source(
    data: Data, file: str, folder: Path | None, ancestors: tuple[str, ...]
) -> RulebookSource:
    try:
        return _build_source(data, file, folder, (*ancestors, file))
    except RecursionError:
        raise SourceLocation(file, ()).error("is nested too deep", "write it flatter") from None


def _build_source(
    data: Data, file: str, folder: Path | None, ancestors: tuple[str, ...]
) -> RulebookSource:
    """Return the source of a file's data, laid over what it extends."""
    own = {key: value for key, value in data.items() if key not in ("extends", "removes")}
    parent = None
    if "extends" in data:
        parent = _read_base(
            str(data["extends"]), SourceLocation(file, ("extends",)), folder, ancestors
        )
        if "id" not in data:
            raise SourceLocation(file, ("id",)).error("a book has an id of its own", "add id")
        own = _with_geometry(own, file, folder, ancestors)
        whole = extend_data(parent.data, own, data.get("removes", []), file)
    elif "removes" in data:
        raise SourceLocation(file, ("removes",)).error(
            "there is nothing to remove from", "add extends"
        )
    else:
        whole = _with_geometry(own, file, folder, ancestors)
    book = convert(whole, Rulebook, file)
    check_citations(book, shipped_clause_numbers, file)
    return RulebookSource(file, whole, book, _origins(book, own, parent), folder is None)


def _origins(book: Rulebook, own: Data, parent: RulebookSource | None) -> dict[str, str]:
    """Return for each clause the id of the book whose file states it."""
    inherited = parent.origin if parent else {}
    stated = own.get("clauses", {})
    return {
        number: book.id if number in stated else inherited.get(number, book.id)
        for number in book.clauses
    }


def shipped_clause_numbers(book_id: str) -> Collection[str] | None:
    """Return the clause numbers of a book that comes with the package, unread otherwise."""
    if book_id not in shipped_ids():
        return None
    data = _shipped_data(book_id)
    inherited = shipped_clause_numbers(data["extends"]) if "extends" in data else None
    return [*(inherited or []), *data.get("clauses", {})]


# --- building on other books --------------------------------------------------------------------


def _read_base(
    name: str, place: SourceLocation, folder: Path | None, ancestors: tuple[str, ...]
) -> RulebookSource:
    """Return another book that a file builds on: a file beside it, or one of ours, by id."""
    beside = folder / f"{name}.toml" if folder and name else None
    if beside and os.path.lexists(beside):
        if any(beside.samefile(file) for file in ancestors):
            raise place.error(f"{name!r} builds on this file", "break the circle")
        return _read_file(beside, ancestors)
    if name not in shipped_ids():
        known = did_you_mean(nearest_names(name, shipped_ids()))
        raise place.error(f"no rulebook {name!r} to build on", known)
    return _read_shipped(name)


def _with_geometry(data: Data, file: str, folder: Path | None, ancestors: tuple[str, ...]) -> Data:
    """Return the data with the geometry that its layouts take from other games."""
    layouts: Any = data.get("layouts")
    if not isinstance(layouts, dict):
        return data
    drawn = dict(layouts)
    for name, layout in layouts.items():
        if isinstance(layout, dict) and isinstance(layout.get("like"), str):
            place = SourceLocation(file, ("layouts", name, "like"))
            drawn[name] = merge_tables(_geometry(layout["like"], place, folder, ancestors), layout)
    return {**data, "layouts": drawn}


def _geometry(
    game: str, place: SourceLocation, folder: Path | None, ancestors: tuple[str, ...]
) -> Data:
    """Return size, blocks and legends of another game."""
    book_id, _, layout = game.partition("/")
    theirs: Data = _read_base(book_id, place, folder, ancestors).data["layouts"]
    if layout not in theirs:
        known = did_you_mean([f"{book_id}/{each}" for each in theirs])
        raise place.error(f"no game {game!r}", known)
    return {part: theirs[layout][part] for part in _GEOMETRY if part in theirs[layout]}


Data = dict[str, Any]


KeyPath = tuple[str, ...]


ABSENT = object()


_PART = re.compile(r'[A-Za-z0-9_-]+|"[^"\n]+"')


_KEY = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


_MAY_REPEAT: set[KeyPath] = {("title",), ("version",)}


def merge_tables(base: Data, change: Data) -> Data:
    """Return the base with a tree of changes laid over it: tables merge, all else replaces."""
    whole = dict(base)
    for key, value in change.items():
        under = whole.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            whole[key] = merge_tables(under, value)
        else:
            whole[key] = value
    return whole


def extend_data(base: Data, own: Data, removes: Any, file: str) -> Data:
    """Return the base with a book's own keys in place of, or added to, its keys.

    A book names what it changes and nothing else: repeating an inherited value is refused.
    """
    whole = deepcopy(base)
    place = SourceLocation(file, ("removes",))
    if not isinstance(removes, list):
        raise place.error(f"{removes!r} is no list", "list dotted keys")
    for key in removes:
        _remove(whole, _dotted(key, place), place)
    for path, value in iter_leaves(own):
        if repr(value_at(whole, path)) == repr(value) and path not in _MAY_REPEAT:
            raise SourceLocation(file, path).error(
                "repeats what the extended book says", "leave the key out"
            )
    return merge_tables(whole, own)


def _dotted(key: Any, place: SourceLocation) -> KeyPath:
    """Read a dotted key, parts in double quotes included."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise place.error(f"{key!r} is not a key", 'write a dotted key such as "readings.tumble"')
    return tuple(part.strip('"') for part in _PART.findall(key))


def _remove(data: Data, path: KeyPath, place: SourceLocation) -> None:
    *above, last = path
    table = value_at(data, tuple(above))
    if not isinstance(table, dict) or last not in table:
        raise place.error(f"{format_key(path)} is not in the extended book", "leave it out")
    del table[last]


def iter_leaves(data: Data, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value of a tree that is not a table, with its path."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from iter_leaves(value, (*path, key))
        else:
            yield (*path, key), value


def value_at(data: Any, path: KeyPath) -> Any:
    """Return what stands at a path, or ABSENT."""
    for key in path:
        data = data.get(key, ABSENT) if isinstance(data, dict) else ABSENT
    return data
