"""Find games by name, shipped or in a user's file, and load them.

`load` is the entry point for all other packages: `load("sg-rws-tai-sai-v6/a")`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from threedice.errors import UnknownName
from threedice.rulebook.compiler import compile_game
from threedice.rulebook.consistency import check_conduct, check_wagers
from threedice.rulebook.readings import (
    apply_readings,
    check_defaults,
    check_options,
    resolve_readings,
)
from threedice.rulebook.source import RulebookSource, read_rulebook, shipped_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook.game import Game
    from threedice.rulebook.schema import ReadingOption, Rulebook

COMPILED_TABLES = {"dice", "wagers", "pay_tables", "layouts"}
"""The tables of a rulebook that its boxes and felts are compiled from."""


def load(name: str, readings: Mapping[str, str] | None = None) -> Game:
    """Load a game by "rulebook/layout" or "path/to/file.toml/layout".

    The layout may be omitted if the rulebook has only one.

    >>> load("triple-dice").call((1, 6, 4))
    'crown, heart, club'
    """
    book_name, layout = split_game_name(name)
    if not book_name.endswith(".toml") and book_name not in shipped_ids():
        raise UnknownName("game", name, shipped_games())
    loaded = _load(book_name)
    if layout is None and len(loaded.games) == 1:
        layout = next(iter(loaded.games))
    if layout is None or layout not in loaded.games:
        raise UnknownName("game", name, [f"{book_name}/{each}" for each in loaded.games])
    if not readings:
        return loaded.games[layout]
    return compile_layout(loaded.source, layout, readings)


def split_game_name(name: str) -> tuple[str, str | None]:
    """Split a game's name into the rulebook's id or file, and the layout if given.

    >>> split_game_name("nz-tai-sai-2008/1"), split_game_name("./my.toml/main")
    (('nz-tai-sai-2008', '1'), ('./my.toml', 'main'))
    >>> split_game_name("triple-dice")
    ('triple-dice', None)
    """
    file, toml, layout = name.rpartition(".toml/")
    if toml:
        return f"{file}.toml", layout
    if name.endswith(".toml"):
        return name, None
    book_id, slash, layout = name.partition("/")
    return book_id, layout if slash else None


def load_rulebook(name: str) -> RulebookSource:
    """Load a rulebook by id or file; all its layouts compile and pass every check."""
    return _load(name).source


@dataclass(frozen=True, slots=True)
class _LoadedRulebook:
    """A rulebook that has passed every check, and its games under the default readings."""

    source: RulebookSource
    games: Mapping[str, Game]


def _load(name: str) -> _LoadedRulebook:
    source = read_rulebook(name)
    return _open_shipped(source) if source.shipped else _open(source)


def _open(source: RulebookSource) -> _LoadedRulebook:
    return _LoadedRulebook(source, compile_rulebook(source))


def compile_rulebook(source: RulebookSource) -> dict[str, Game]:
    """Compile every layout of a rulebook, and check it under every option of its readings."""
    file = source.file
    check_defaults(source)
    check_wagers(source.book, file)
    games = {layout: compile_layout(source, layout, {}) for layout in source.book.layouts}
    boxes = {box_id for game in games.values() for box_id in game.boxes}
    check_conduct(source.book, boxes, file)

    def check(book: Rulebook, option: ReadingOption) -> None:
        if COMPILED_TABLES & option.set.keys():
            check_wagers(book, file)
            for layout in book.layouts:
                compile_game(book, layout, {}, file)
        check_conduct(book, boxes, file)

    check_options(source, check)
    return games


@cache
def _open_shipped(source: RulebookSource) -> _LoadedRulebook:
    """Load a shipped book once: it does not change while the program runs."""
    return _open(source)


def compile_layout(source: RulebookSource, layout: str, readings: Mapping[str, str]) -> Game:
    """Compile one layout under the given readings, with defaults for the others."""
    chosen = resolve_readings(source, layout, readings)
    return compile_game(apply_readings(source, chosen), layout, chosen, source.file)


@cache
def shipped_games() -> tuple[str, ...]:
    """Return the names of all games shipped with the package."""
    return tuple(
        f"{book_id}/{name}"
        for book_id in shipped_ids()
        for name in read_rulebook(book_id).book.layouts
    )
