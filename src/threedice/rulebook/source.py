"""Where rulebooks come from: our files and the user's, extended and read strictly.

First stage of the flow: TOML -> plain data, with what it extends merged in and geometry that it
takes from other games -> `schema.Rulebook`.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threedice.errors import UnknownName, did_you_mean, nearest
from threedice.rulebook.citing import check_citations
from threedice.rulebook.extending import Data, extended, merged
from threedice.rulebook.place import Place
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.validation import convert

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SHIPPED = "threedice.rulebooks"
_GEOMETRY = ("size", "blocks", "legends")


@dataclass(frozen=True, slots=True)
class Source:
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
    names = (entry.name for entry in files(SHIPPED).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def read(name: str) -> Source:
    """Read a rulebook by its id, or from a user's own file."""
    if name.endswith(".toml"):
        return _read_file(Path(name))
    if name not in shipped_ids():
        raise UnknownName("rulebook", name, shipped_ids())
    return _read_shipped(name)


@cache
def _read_shipped(book_id: str) -> Source:
    return _source(_shipped_data(book_id), f"{book_id}.toml", None, ())


@cache
def _shipped_data(book_id: str) -> Data:
    text = files(SHIPPED).joinpath(f"{book_id}.toml").read_text(encoding="utf-8")
    return _parse(text, f"{book_id}.toml")


def _read_file(path: Path, built_on_by: tuple[str, ...] = ()) -> Source:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Place(str(path), ()).error(
            f"cannot be read: {reason}", "check the path and its rights"
        ) from None
    return _source(_parse(text, str(path)), str(path), path.parent, built_on_by)


def _parse(text: str, file: str) -> Data:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Place(file, ()).error("is nested too deep", "write it flatter") from None
    except ValueError as error:
        raise Place(file, ()).error(
            f"is not TOML: {error}", "mend the line and column named"
        ) from None


def _source(data: Data, file: str, folder: Path | None, built_on_by: tuple[str, ...]) -> Source:
    try:
        return _built(data, file, folder, (*built_on_by, file))
    except RecursionError:
        raise Place(file, ()).error("is nested too deep", "write it flatter") from None


def _built(data: Data, file: str, folder: Path | None, chain: tuple[str, ...]) -> Source:
    """Return the source of a file's data, laid over what it extends."""
    own = {key: value for key, value in data.items() if key not in ("extends", "removes")}
    parent = None
    if "extends" in data:
        parent = _other(str(data["extends"]), Place(file, ("extends",)), folder, chain)
        if "id" not in data:
            raise Place(file, ("id",)).error("a book has an id of its own", "add id")
        own = _with_geometry(own, file, folder, chain)
        whole = extended(parent.data, own, data.get("removes", []), file)
    elif "removes" in data:
        raise Place(file, ("removes",)).error("there is nothing to remove from", "add extends")
    else:
        whole = _with_geometry(own, file, folder, chain)
    book = convert(whole, Rulebook, file)
    check_citations(book, clauses_of, file)
    return Source(file, whole, book, _origins(book, own, parent), folder is None)


def _origins(book: Rulebook, own: Data, parent: Source | None) -> dict[str, str]:
    """Return for each clause the id of the book whose file states it."""
    inherited = parent.origin if parent else {}
    stated = own.get("clauses", {})
    return {
        number: book.id if number in stated else inherited.get(number, book.id)
        for number in book.clauses
    }


def clauses_of(book_id: str) -> Collection[str] | None:
    """Return the clause numbers of a book that comes with the package, unread otherwise."""
    if book_id not in shipped_ids():
        return None
    data = _shipped_data(book_id)
    inherited = clauses_of(data["extends"]) if "extends" in data else None
    return [*(inherited or []), *data.get("clauses", {})]


# --- building on other books --------------------------------------------------------------------


def _other(name: str, place: Place, folder: Path | None, built_on_by: tuple[str, ...]) -> Source:
    """Return another book that a file builds on: a file beside it, or one of ours, by id."""
    beside = folder / f"{name}.toml" if folder and name else None
    if beside and os.path.lexists(beside):
        if any(beside.samefile(file) for file in built_on_by):
            raise place.error(f"{name!r} builds on this file", "break the circle")
        return _read_file(beside, built_on_by)
    if name not in shipped_ids():
        known = did_you_mean(nearest(name, shipped_ids()))
        raise place.error(f"no rulebook {name!r} to build on", known)
    return _read_shipped(name)


def _with_geometry(
    data: Data, file: str, folder: Path | None, built_on_by: tuple[str, ...]
) -> Data:
    """Return the data with the geometry that its layouts take from other games."""
    layouts: Any = data.get("layouts")
    if not isinstance(layouts, dict):
        return data
    drawn = dict(layouts)
    for name, layout in layouts.items():
        if isinstance(layout, dict) and isinstance(layout.get("like"), str):
            place = Place(file, ("layouts", name, "like"))
            drawn[name] = merged(_geometry(layout["like"], place, folder, built_on_by), layout)
    return {**data, "layouts": drawn}


def _geometry(game: str, place: Place, folder: Path | None, built_on_by: tuple[str, ...]) -> Data:
    """Return size, blocks and legends of another game."""
    book_id, _, layout = game.partition("/")
    theirs: Data = _other(book_id, place, folder, built_on_by).data["layouts"]
    if layout not in theirs:
        known = did_you_mean([f"{book_id}/{each}" for each in theirs])
        raise place.error(f"no game {game!r}", known)
    return {part: theirs[layout][part] for part in _GEOMETRY if part in theirs[layout]}
