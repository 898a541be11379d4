"""`threedice rulebooks`: list, show, check and compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from threedice.cli.arguments import read_chips, read_floor, read_readings
from threedice.cli.odds import print_readings
from threedice.cli.output import print_heading, print_json, print_line, print_table
from threedice.errors import InvalidInput, UnknownName
from threedice.odds import percent
from threedice.odds.comparison import GameDifference, compare_games, readings_in_force
from threedice.odds.lint import LintFinding, lint
from threedice.rulebook import Game, load, load_rulebook
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.library import compile_layout, split_game_name
from threedice.rulebook.source import RulebookSource, shipped_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction


# --- list and show ------------------------------------------------------------------------------


def list_all(as_json: bool) -> None:
    """Print the rulebooks that come with the package."""
    sources = [load_rulebook(book_id) for book_id in shipped_ids()]
    if as_json:
        print_json({"rulebooks": [_identity(source) for source in sources]})
        return
    rows = [
        (book.id, book.title, book.version, book.jurisdiction, " ".join(book.layouts))
        for book in (source.book for source in sources)
    ]
    print_table(("rulebook", "title", "version", "where", "layouts"), rows)


def _identity(source: RulebookSource) -> dict[str, Any]:
    book = source.book
    return {
        "id": book.id,
        "title": book.title,
        "version": book.version,
        "effective": book.effective,
        "jurisdiction": book.jurisdiction,
        "authority": book.authority,
        "operator": book.operator,
        "source": book.source,
        "games": [f"{book.id}/{name}" for name in book.layouts],
    }


def show(name: str, as_json: bool) -> None:
    """Print one rulebook; as JSON, the whole of it."""
    book_name, layout = split_game_name(name)
    if layout is not None:
        raise InvalidInput(f"{name!r} is a game; show its rulebook {book_name}")
    source = load_rulebook(book_name)
    if as_json:
        print_json(
            {
                **_identity(source),
                "rulebook": msgspec.to_builtins(source.book),
                "felts": _felts(source),
            }
        )
    else:
        _print_book(source)


def _felts(source: RulebookSource) -> dict[str, Any]:
    """Return every layout's areas in place and in words, ready to be drawn."""
    games = {name: compile_layout(source, name, {}) for name in source.book.layouts}
    return {name: msgspec.to_builtins(game.felt) for name, game in games.items()}


def _print_book(source: RulebookSource) -> None:
    book = source.book
    for word, value in _identity(source).items():
        if value and word != "games":
            print_line(f"{word}: {value}")
    games = [compile_layout(source, name, {}) for name in book.layouts]
    print_heading("Games")
    rows = [(game.id, str(len(game.boxes)), game.hash) for game in games]
    print_table(("game", "boxes", "hash"), rows, right=frozenset({1}))
    print_heading(f"A {book.procedure.unit}")
    steps = ((name, book.procedure.steps[name]) for name in book.procedure.order)
    told = [
        (name, ", ".join(step.by), _manner(step), ", ".join(clause_numbers(step.clause)))
        for name, step in steps
    ]
    print_table(("step", "by", "how", "clause"), told)
    print_heading("Irregularities")
    irregular = [
        (name, each.what, each.consequence, ", ".join(clause_numbers(each.clause)))
        for name, each in book.irregularities.items()
    ]
    print_table(("what", "in words", "consequence", "clause"), irregular)
    print_heading("Everything else about the conduct of the game")
    for key in ("limits", "people", "chips", "equipment", "opening", "shooter", "call"):
        for where, fact in _told(msgspec.to_builtins(getattr(book, key)), key):
            print_line(f"{where}: {fact}")
    for game in games:
        print_heading(f"Readings of {game.id}")
        print_readings(readings_in_force(source, game))


def _told(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield every fact of a table with its key, for people to read."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _told(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        yield (
            path,
            ", ".join(" and ".join(e) if isinstance(e, tuple | list) else str(e) for e in value),
        )
    elif value is not None:
        yield path, str(value)


def _manner(step: Any) -> str:
    manner = []
    if step.announces:
        manner.append(f'says "{step.announces}"')
    if step.bell:
        manner.append("rings the bell")
    if step.at_least > 1:
        manner.append(f"at least {step.at_least} times")
    if step.covered:
        manner.append("under cover")
    if step.as_early_as:
        manner.append(f"as early as {step.as_early_as}")
    if step.per != "round":
        manner.append(f"once for each {step.per}")
    return ", ".join(manner)


# --- check --------------------------------------------------------------------------------------


def check(name: str, floor: str, chips: str, readings: Sequence[str], as_json: bool) -> None:
    """Load strictly and print what deserves a second look, game by game."""
    least, tray = read_floor(floor), read_chips(chips)
    source, games = _games(name, read_readings(readings))
    found = [(game, lint(game, source.book, least, tray)) for game in games]
    if as_json:
        print_json(
            {
                "rulebook": source.book.id,
                "file": source.file,
                "floor": str(least),
                "chips": list(tray),
                "games": [_findings_json(game, findings) for game, findings in found],
            }
        )
        return
    print_line(f"{source.file}: {source.book.title}, {len(source.book.clauses)} clauses: loads")
    for game, findings in found:
        print_heading(f"{game.id}: {len(findings)} findings")
        for kind, boxes, says, clauses in _grouped(findings):
            print_line(f"{kind}: {boxes}: {says} ({', '.join(clauses)})")
        in_force = ", ".join(f"{reading}={choice}" for reading, choice in game.readings.items())
        print_line(f"readings in force: {in_force or 'none'}")


def _games(name: str, readings: dict[str, str]) -> tuple[RulebookSource, list[Game]]:
    """Return a rulebook and the games meant by its name: one, or all its layouts."""
    book_name, layout = split_game_name(name)
    source = load_rulebook(book_name)
    if layout is not None:
        return source, [load(name, readings)]
    unknown = [reading for reading in readings if reading not in source.book.readings]
    if unknown:
        raise UnknownName(f"reading of {source.book.id}", unknown[0], source.book.readings)
    return source, [_under(source, each, readings) for each in source.book.layouts]


def _under(source: RulebookSource, layout: str, readings: dict[str, str]) -> Game:
    """Return a layout's game under those of the readings that apply to it."""
    known = source.book.readings
    fitting = {
        name: choice
        for name, choice in readings.items()
        if name in known and layout in (known[name].layouts or source.book.layouts)
    }
    return compile_layout(source, layout, fitting)


def _grouped(findings: Iterable[LintFinding]) -> Iterable[tuple[str, str, str, tuple[str, ...]]]:
    """Put findings that say the same of several boxes into one line."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for each in findings:
        groups.setdefault((each.kind, each.message, each.clauses), []).append(each.box)
    for (kind, says, clauses), boxes in groups.items():
        told = (
            ", ".join(boxes)
            if len(boxes) <= 6
            else f"{len(boxes)} boxes from {boxes[0]} to {boxes[-1]}"
        )
        yield kind, told, says, clauses


def _findings_json(game: Game, findings: list[LintFinding]) -> dict[str, Any]:
    return {
        "game": game.id,
        "hash": game.hash,
        "readings": game.readings,
        "findings": [
            {
                "kind": each.kind,
                "box": each.box,
                "says": each.message,
                "figures": each.figures,
                "clauses": list(each.clauses),
            }
            for each in findings
        ],
    }


# --- diff ---------------------------------------------------------------------------------------


def diff(one: str, other: str, readings: Sequence[str], as_json: bool) -> None:
    """Print the differences between two games, or between the layouts two rulebooks share."""
    chosen = read_readings(readings)
    pairs = [
        (before, after, compare_games(before, after, clauses, other_clauses))
        for before, after, clauses, other_clauses in _pairs(one, other, chosen)
    ]
    if as_json:
        print_json({"differences": [_difference_json(*pair) for pair in pairs]})
        return
    for before, after, found in pairs:
        _print_difference(before, after, found)


def _pairs(one: str, other: str, readings: dict[str, str]) -> Iterable[tuple[Game, Game, Any, Any]]:
    sources = [load_rulebook(split_game_name(name)[0]) for name in (one, other)]
    for reading, choice in readings.items():
        having = [
            source.book.readings[reading] for source in sources if reading in source.book.readings
        ]
        if not having:
            known = [name for source in sources for name in source.book.readings]
            raise UnknownName("reading", reading, dict.fromkeys(known))
        for each in having:
            if choice not in each.options:
                raise UnknownName(f"option of the reading {reading}", choice, each.options)
    layouts = [split_game_name(name)[1] for name in (one, other)]
    shared = [each for each in sources[0].book.layouts if each in sources[1].book.layouts]
    if layouts == [None, None] and shared:
        chosen = [(each, each) for each in shared]
    else:
        chosen = [(_only(sources[0], layouts[0], one), _only(sources[1], layouts[1], other))]
    for before, after in chosen:
        yield (
            _under(sources[0], before, readings),
            _under(sources[1], after, readings),
            sources[0].book.clauses,
            sources[1].book.clauses,
        )


def _only(source: RulebookSource, layout: str | None, name: str) -> str:
    """Return the layout named, or the only one there is."""
    layouts = source.book.layouts
    if layout is None and len(layouts) == 1:
        return next(iter(layouts))
    if layout not in layouts:
        raise UnknownName("game", name, [f"{split_game_name(name)[0]}/{each}" for each in layouts])
    return layout


def _difference_json(before: Game, after: Game, found: GameDifference) -> dict[str, Any]:
    return {
        "from": before.id,
        "to": after.id,
        "clauses": [msgspec.to_builtins(each) for each in found.clauses],
        "behaviour": [msgspec.to_builtins(each) for each in found.behaviour],
        "boxes": [
            {
                "box": each.box,
                "before": each.before,
                "after": each.after,
                "edge_before": _fraction(each.edge_before),
                "edge_after": _fraction(each.edge_after),
            }
            for each in found.boxes
        ],
    }


def _fraction(edge: Fraction | None) -> str | None:
    return None if edge is None else str(edge)


def _print_difference(before: Game, after: Game, found: GameDifference) -> None:
    print_heading(f"{before.id} -> {after.id}")
    if not (found.clauses or found.behaviour or found.boxes):
        print_line("no difference")
    for kind, changes in (("clause", found.clauses), ("behaviour", found.behaviour)):
        for each in changes:
            print_line(f"{kind} {each.where}")
            print_line(f"  - {each.before or '(none)'}")
            print_line(f"  + {each.after or '(none)'}")
    for box in found.boxes:
        print_line(
            f"box {box.box}: {_priced(box.before, box.edge_before)} -> "
            f"{_priced(box.after, box.edge_after)}"
        )


def _priced(odds: str, edge: Fraction | None) -> str:
    return "not offered" if edge is None else f"{odds}, edge {edge} = {percent(edge)}"
