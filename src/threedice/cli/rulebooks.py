"""`threedice rulebooks`: list, show, check and compare rulebooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any

import typer

from threedice.cli.arguments import (
    JsonOption,
    ReadingsOption,
    RulebookArgument,
    argument,
    command_group,
    option,
    parse_chips,
    parse_readings,
    parse_return_floor,
)
from threedice.cli.output import (
    format_readings,
    game_json,
    print_heading,
    print_json,
    print_line,
    print_readings,
    print_table,
)
from threedice.errors import InvalidInput, UnknownName
from threedice.odds import percent
from threedice.odds.comparison import GameDifference, compare_games, readings_in_force
from threedice.odds.lint import LintFinding, lint
from threedice.rulebook import Game, load, load_rulebook
from threedice.rulebook.conduct import Step, clause_numbers
from threedice.rulebook.effective import is_in_force, parse_effective
from threedice.rulebook.library import compile_layout, split_game_name
from threedice.rulebook.schema import Rulebook
from threedice.rulebook.source import RulebookSource, shipped_ids
from threedice.rulebook.traceability import iter_facts

commands = command_group()
rulebook_commands = command_group(
    "List, show, check and compare rulebooks.\n\nWithout a command, list the shipped rulebooks.",
    runs_alone=True,
)
commands.add_typer(rulebook_commands, name="rulebooks")


# --- list and show ------------------------------------------------------------------------------

SHOWN = ("dice", "layouts", "limits", "procedure", "irregularities", "people", "chips", "equipment",
         "opening", "shooter", "call")  # fmt: skip
"""The tables whose facts are printed one by one."""

RETURN_FLOOR = "75"
"""The least return in per cent that the linter does not report, unless told otherwise."""


@rulebook_commands.callback(invoke_without_command=True)
def list_rulebooks(
    context: typer.Context,
    as_of: Annotated[
        str, option("DATE", "Say which are in force on this date; today if omitted.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """List the shipped rulebooks unless a command is invoked."""
    if context.invoked_subcommand and as_json:
        raise typer.BadParameter(f"put --json after {context.invoked_subcommand}")
    if context.invoked_subcommand:
        return
    try:
        moment = parse_effective(as_of) if as_of else datetime.now(UTC)
    except ValueError:
        raise InvalidInput(f"{as_of!r} is not a date; write it as 2023-10-06") from None
    sources = [load_rulebook(book_id) for book_id in shipped_ids()]
    if as_json:
        lines = [
            {**_identity_json(each), "in_force": is_in_force(each.book.effective, moment)}
            for each in sources
        ]
        print_json({"rulebooks": lines})
        return
    rows = [
        (
            book.id, book.title, book.version, book.jurisdiction, _describe_force(book, moment),
            " ".join(book.layouts),
        )
        for book in (source.book for source in sources)
    ]  # fmt: skip
    print_table(("rulebook", "title", "version", "jurisdiction", "in force", "layouts"), rows)


def _describe_force(book: Rulebook, moment: datetime) -> str:
    """Say since when a rulebook is in force, or that it is not yet."""
    if not book.effective:
        return f"undated, text of {book.consolidated}" if book.consolidated else "undated"
    word = "since" if is_in_force(book.effective, moment) else "not before"
    return f"{word} {book.effective[:10]}"


def _identity_json(source: RulebookSource) -> dict[str, Any]:
    book = source.book
    return {
        "id": book.id,
        "title": book.title,
        "version": book.version,
        "effective": book.effective,
        "consolidated": book.consolidated,
        "jurisdiction": book.jurisdiction,
        "authority": book.authority,
        "operator": book.operator,
        "source": book.source,
        "games": [f"{book.id}/{name}" for name in book.layouts],
    }


@rulebook_commands.command("show")
def show_rulebook(name: RulebookArgument, as_json: JsonOption = False) -> None:
    """Show the games, procedure, irregularities, conduct and readings.

    With --json, print the whole rulebook.
    """
    book_name, layout = split_game_name(name)
    if layout is not None:
        raise InvalidInput(f"{name!r} is a game; show its rulebook {book_name}")
    source = load_rulebook(book_name)
    if as_json:
        felts = {each: compile_layout(source, each, {}).felt for each in source.book.layouts}
        print_json({**_identity_json(source), "rulebook": source.book, "felts": felts})
    else:
        _print_book(source)


def _print_book(source: RulebookSource) -> None:
    book = source.book
    for key, value in _identity_json(source).items():
        if value and key != "games":
            print_line(f"{key}: {value}")
    games = [compile_layout(source, name, {}) for name in book.layouts]
    rows: list[tuple[str, ...]] = [(game.id, str(len(game.boxes)), game.hash) for game in games]
    print_table(("game", "boxes", "hash"), rows, right={1}, heading="Games")
    steps = ((name, book.procedure.steps[name]) for name in book.procedure.order)
    rows = [
        (name, ", ".join(step.by), _describe_step(step), ", ".join(clause_numbers(step.clause)))
        for name, step in steps
    ]
    heading = f"Procedure of a {book.procedure.unit}"
    print_table(("step", "by", "how", "clause"), rows, heading=heading)
    rows = [
        (name, each.what, each.consequence, ", ".join(clause_numbers(each.clause)))
        for name, each in book.irregularities.items()
    ]
    columns = ("irregularity", "description", "consequence", "clause")
    print_table(columns, rows, heading="Irregularities")
    print_heading("Conduct of the game")
    for key in (key for key in SHOWN if key in source.data):
        for fact in iter_facts(source, (key,)):
            print_line(fact)
    for game in games:
        print_heading(f"Readings of {game.id}")
        print_readings(readings_in_force(source, game))


def _describe_step(step: Step) -> str:
    details = (
        step.announces and f'says "{step.announces}"',
        step.bell and "rings the bell",
        step.at_least > 1 and f"at least {step.at_least} times",
        step.covered and "under cover",
        step.as_early_as and f"as early as {step.as_early_as}",
        step.optional and "optional",
        step.per != "round" and f"once for each {step.per}",
    )
    return ", ".join(each for each in details if each)


# --- check --------------------------------------------------------------------------------------


@rulebook_commands.command("check")
def check_rulebook(
    name: Annotated[str, argument("RULEBOOK", "A file FILE.toml, a rulebook or a game.")],
    floor: Annotated[
        str, option("PERCENT", "Report boxes that return less than this.")
    ] = RETURN_FLOOR,
    chips: Annotated[str, option("5,25,100", "Report odds not payable in these chips.")] = "",
    reading: ReadingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate a rulebook, then report findings for its designer.

    Findings are advice: the exit code is 0 unless the rulebook is invalid.
    """
    min_return, chip_values = parse_return_floor(floor), parse_chips(chips)
    source, games = _games(name, parse_readings(reading))
    results = [(game, lint(game, source.book, min_return, chip_values)) for game in games]
    if as_json:
        print_json(
            {
                "rulebook": source.book.id,
                "file": source.file,
                "floor": str(min_return),
                "chips": chip_values,
                "games": [_findings_json(game, findings) for game, findings in results],
            }
        )
        return
    print_line(f"{source.file}: {source.book.title}, {len(source.book.clauses)} clauses: valid")
    for game, findings in results:
        print_heading(f"{game.id}: {len(findings)} findings")
        for kind, boxes, message, clauses in group_findings(findings):
            print_line(f"{kind}: {boxes}: {message} ({', '.join(clauses)})")
        print_line(f"readings in force: {format_readings(game)}")


def _games(name: str, readings: dict[str, str]) -> tuple[RulebookSource, list[Game]]:
    """Return a rulebook and one of its games, or the games of all its layouts."""
    book_name, layout = split_game_name(name)
    source = load_rulebook(book_name)
    if layout is not None:
        return source, [load(name, readings)]
    unknown = [reading for reading in readings if reading not in source.book.readings]
    if unknown:
        raise UnknownName(f"reading of {source.book.id}", unknown[0], source.book.readings)
    return source, [_compile_with_readings(source, each, readings) for each in source.book.layouts]


def _compile_with_readings(source: RulebookSource, layout: str, readings: dict[str, str]) -> Game:
    """Compile a layout under the readings that apply to it."""
    known = source.book.readings
    applicable = {
        name: choice
        for name, choice in readings.items()
        if name in known and layout in (known[name].layouts or source.book.layouts)
    }
    return compile_layout(source, layout, applicable)


def group_findings(
    findings: Iterable[LintFinding],
) -> Iterable[tuple[str, str, str, tuple[str, ...]]]:
    """Merge findings with the same message for several boxes."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for each in findings:
        groups.setdefault((each.kind, each.message, each.clauses), []).append(each.box)
    for (kind, message, clauses), boxes in groups.items():
        names = (
            ", ".join(boxes)
            if len(boxes) <= 6
            else f"{len(boxes)} boxes from {boxes[0]} to {boxes[-1]}"
        )
        yield kind, names, message, clauses


def _findings_json(game: Game, findings: list[LintFinding]) -> dict[str, Any]:
    return {
        **game_json(game),
        "findings": [
            {
                "kind": each.kind,
                "box": each.box,
                "says": each.message,
                "figures": each.figures,
                "clauses": each.clauses,
            }
            for each in findings
        ],
    }


# --- diff ---------------------------------------------------------------------------------------


@rulebook_commands.command("diff")
def diff_rulebooks(
    one: Annotated[str, argument("A", "A rulebook or a game.")],
    other: Annotated[str, argument("B", "The rulebook or game to compare it with.")],
    reading: ReadingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two games, or the layouts that two rulebooks share.

    A reading applies to each of the two that has it.
    """
    sources = [load_rulebook(split_game_name(name)[0]) for name in (one, other)]
    readings = parse_readings(reading)
    _check_readings(sources, readings)
    pairs = []
    for layouts in _layout_pairs(sources, one, other):
        before, after = (
            _compile_with_readings(source, layout, readings)
            for source, layout in zip(sources, layouts, strict=True)
        )
        clauses = [source.book.clauses for source in sources]
        pairs.append((before, after, compare_games(before, after, *clauses)))
    if as_json:
        differences = [
            {"from": before.id, "to": after.id, **asdict(difference)}
            for before, after, difference in pairs
        ]
        print_json({"differences": differences})
        return
    for before, after, difference in pairs:
        _print_difference(before, after, difference)


def _check_readings(sources: list[RulebookSource], readings: dict[str, str]) -> None:
    """Raise UnknownName for a reading that no rulebook has, or an option that one has not."""
    for name, choice in readings.items():
        known = [each for source in sources for each in source.book.readings]
        if name not in known:
            raise UnknownName("reading", name, dict.fromkeys(known))
        for source in sources:
            definition = source.book.readings.get(name)
            if definition and choice not in definition.options:
                raise UnknownName(f"option of the reading {name}", choice, definition.options)


def _layout_pairs(sources: list[RulebookSource], one: str, other: str) -> list[tuple[str, str]]:
    """Return the layouts to compare: those that two rulebooks share, or those of two games."""
    before, after = (source.book.layouts for source in sources)
    shared = [each for each in before if each in after]
    if shared and split_game_name(one)[1] is None and split_game_name(other)[1] is None:
        return [(each, each) for each in shared]
    return [(load(one).id.rpartition("/")[2], load(other).id.rpartition("/")[2])]


def _print_difference(before: Game, after: Game, difference: GameDifference) -> None:
    print_heading(f"{before.id} -> {after.id}")
    if not (difference.clauses or difference.behaviour or difference.boxes):
        print_line("no difference")
    for kind, changes in (("clause", difference.clauses), ("behaviour", difference.behaviour)):
        for each in changes:
            print_line(f"{kind} {each.where}")
            print_line(f"  - {each.before or '(none)'}")
            print_line(f"  + {each.after or '(none)'}")
    for box in difference.boxes:
        print_line(
            f"box {box.box}: {_format_price(box.before, box.edge_before)} -> "
            f"{_format_price(box.after, box.edge_after)}"
        )


def _format_price(odds: str, edge: Fraction | None) -> str:
    return "not offered" if edge is None else f"{odds}, edge {edge} = {percent(edge)}"
