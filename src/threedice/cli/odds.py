"""`threedice odds` and `threedice payoffs`: the sheet of a game, a mix of bets, the matrix."""

from __future__ import annotations

import csv
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from threedice.cli.arguments import read_bets, read_game, read_source
from threedice.cli.output import print_heading, print_json, print_line, print_table
from threedice.dice import ROLLS
from threedice.errors import InvalidInput
from threedice.odds import BoxOdds, Mix, OddsSheet, odds_sheet, percent
from threedice.odds.comparison import ReadingInForce, readings_in_force
from threedice.pages.odds import odds_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from threedice.dice import Roll
    from threedice.rulebook import Game

Form = Literal["text", "csv", "json", "html"]


def form(*, csv: bool, as_json: bool, html: Path | None) -> Form:
    """Return the one form asked for."""
    wanted: dict[Form, bool] = {"csv": csv, "json": as_json, "html": html is not None}
    asked = [each for each, asked_for in wanted.items() if asked_for]
    if len(asked) > 1:
        raise InvalidInput(f"--{' and --'.join(asked)} exclude each other; ask for one")
    return asked[0] if asked else "text"


def sheet(
    name: str, boxes: Sequence[str], readings: Sequence[str], form: Form, html: Path | None
) -> None:
    """Print, or write, the odds sheet of a game."""
    if boxes and form == "html":
        raise InvalidInput("the page shows every box; leave --box out")
    game = read_game(name, readings)
    whole = odds_sheet(game)
    source = read_source(name)
    in_force = readings_in_force(source, game)
    wanted = {game.box(box_id).id for box_id in boxes} or game.boxes.keys()
    shown = [each for each in whole.boxes if each.box.id in wanted]
    match form:
        case "json":
            print_json(_sheet_json(whole, shown, in_force))
        case "csv":
            _print_csv(game, shown)
        case "html" if html:
            _write(html, odds_page(whole, in_force, source.book))
        case _:
            _print_sheet(whole, shown, in_force)


# --- text ---------------------------------------------------------------------------------------

_COLUMNS = ("box", "pays", "ways", "hit", "edge", "", "return", "sd", "VI", "stakes to 95 %")


def _print_sheet(
    whole: OddsSheet, shown: list[BoxOdds], in_force: tuple[ReadingInForce, ...]
) -> None:
    game = whole.game
    print_line(f"{game.title} ({game.id})")
    print_line(f"hash {game.hash}")
    for family, boxes in whole.families():
        rows = [_row(each) for each in boxes if each in shown]
        if rows:
            print_heading(f"{family}: {', '.join(boxes[0].box.pays)}")
            print_table(_COLUMNS, rows, right=frozenset(range(2, 10)))
    if len(shown) == len(whole.boxes):
        edge = whole.layout_edge
        print_line(f"\nOne unit on every box: house edge {edge} = {percent(edge)}")
    if in_force:
        print_heading("Readings in force")
    print_readings(in_force)


def _row(each: BoxOdds) -> tuple[str, ...]:
    box, figures = each.box, each.figures
    lead = figures.stakes_to_lead
    return (
        box.id,
        " / ".join(str(line.odds) for line in box.lines),
        str(figures.ways) if box.throws == 1 else f"{figures.ways} of 216^{box.throws}",
        str(figures.hit),
        str(figures.edge),
        percent(figures.edge),
        percent(figures.return_to_player),
        f"{figures.sd:.4f}",
        f"{figures.volatility:.4f}",
        "never" if lead is None else str(lead),
    )


def print_readings(in_force: tuple[ReadingInForce, ...]) -> None:
    """Print the readings in force and what their alternatives would do."""
    for each in in_force:
        print_line(f"{each.name} = {each.choice} ({', '.join(each.clauses)}): {each.text}")
        for other in each.alternatives:
            print_line(f"  or {other.name}: {other.text} {effect(other.edge_changes)}")


def effect(edges: Mapping[str, tuple[Fraction | None, Fraction | None]]) -> str:
    """Say what an alternative reading does to the house edge."""
    if not edges:
        return "No house edge changes."
    changes: dict[tuple[Fraction | None, Fraction | None], list[str]] = {}
    for box_id, change in edges.items():
        changes.setdefault(change, []).append(box_id)
    return f"House edge of {'; '.join(_change(*each) for each in changes.items())}."


def _change(pair: tuple[Fraction | None, Fraction | None], boxes: list[str]) -> str:
    now, then = ("not offered" if edge is None else str(edge) for edge in pair)
    return f"{', '.join(boxes)} from {now} to {then}"


# --- other forms --------------------------------------------------------------------------------


def _sheet_json(
    whole: OddsSheet, shown: list[BoxOdds], in_force: tuple[ReadingInForce, ...]
) -> dict[str, Any]:
    return {
        "game": whole.game.id,
        "title": whole.game.title,
        "hash": whole.game.hash,
        "readings": whole.game.readings,
        "boxes": [_box_json(each) for each in shown],
        "layout_edge": str(whole.layout_edge),
        "reading_effects": [
            {
                "reading": each.name,
                "choice": each.choice,
                "clauses": list(each.clauses),
                "says": each.text,
                "alternatives": [
                    {
                        "choice": other.name,
                        "says": other.text,
                        "edges": {
                            box: [None if edge is None else str(edge) for edge in pair]
                            for box, pair in other.edge_changes.items()
                        },
                    }
                    for other in each.alternatives
                ],
            }
            for each in in_force
        ],
    }


def _box_json(each: BoxOdds) -> dict[str, Any]:
    box, figures = each.box, each.figures
    return {
        "box": box.id,
        "family": box.family,
        "name": box.name,
        "wins_when": box.meaning,
        "throws": box.throws,
        "ways": figures.ways,
        "of": figures.total_ways,
        "hit": str(figures.hit),
        "payoffs": [
            {"odds": str(line.odds), "ways": line.rolls.bit_count() ** box.throws}
            for line in box.lines
        ],
        "return": str(figures.return_to_player),
        "edge": str(figures.edge),
        "edge_percent": percent(figures.edge),
        "variance": str(figures.variance),
        "sd": figures.sd,
        "volatility": figures.volatility,
        "stakes_to_lead": figures.stakes_to_lead,
        "clauses": list(dict.fromkeys(box.rule + box.pays)),
    }


def _print_csv(game: Game, shown: list[BoxOdds]) -> None:
    told = {"game": game.id, "hash": game.hash, "readings": readings_line(game)}
    rows = [{**told, **_box_json(each)} for each in shown]
    writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        pays = " / ".join(line["odds"] for line in row["payoffs"])
        writer.writerow({**row, "payoffs": pays, "clauses": " ".join(row["clauses"])})


def readings_line(game: Game) -> str:
    """Return the readings in force on one line."""
    return ", ".join(f"{name}={choice}" for name, choice in game.readings.items()) or "none"


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from None
    print_line(f"wrote {file}")


# --- a mix of bets ------------------------------------------------------------------------------


def mix(
    name: str, pairs: Sequence[str], boxes: Sequence[str], readings: Sequence[str], form: Form
) -> None:
    """Print the figures of several bets together, and the house's exposure to them."""
    if boxes:
        raise InvalidInput("--box and --bet exclude each other; ask for one")
    if form in ("csv", "html"):
        raise InvalidInput(f"--bet has no --{form}; ask for --json or plain text")
    game = read_game(name, readings)
    bets = Mix(game, read_bets(game, pairs))
    if form == "json":
        print_json(_mix_json(bets))
    else:
        _print_mix(bets)


def _mix_json(bets: Mix) -> dict[str, Any]:
    figures = bets.figures
    return {
        "game": bets.game.id,
        "hash": bets.game.hash,
        "readings": bets.game.readings,
        "stakes": bets.stakes,
        "total": bets.total,
        "ways_ahead": figures.ways,
        "edge": str(figures.edge),
        "return": str(figures.return_to_player),
        "mean": str(figures.mean * bets.total),
        "variance": str(figures.variance * bets.total**2),
        "sd": figures.sd * bets.total,
        "volatility": figures.volatility * bets.total,
        "stakes_to_lead": figures.stakes_to_lead,
        "distribution": [{"net": str(net), "ways": ways} for net, ways in bets.distribution],
        "best": _extreme_json(bets.best),
        "worst": _extreme_json(bets.worst),
        "exposure": [str(each) for each in bets.exposure],
    }


def _extreme_json(extreme: tuple[Fraction, tuple[Roll, ...]]) -> dict[str, Any]:
    net, rolls = extreme
    return {"net": str(net), "rolls": [list(roll) for roll in rolls]}


def _print_mix(bets: Mix) -> None:
    figures, game = bets.figures, bets.game
    print_line(f"{game.title} ({game.id}): {bets.total} staked on {len(bets.stakes)} boxes")
    print_line(f"hash {game.hash}; readings {readings_line(game)}")
    print_line(
        f"house edge {figures.edge} = {percent(figures.edge)}, ahead on {figures.ways} of 216 rolls"
    )
    print_line(f"standard deviation {figures.sd * bets.total:.4f} on {bets.total} staked")
    for word, (net, rolls) in (("best", bets.best), ("worst", bets.worst)):
        calls = list(dict.fromkeys(game.call(roll) for roll in rolls))
        more = f" and {len(calls) - 3} more calls" if len(calls) > 3 else ""
        print_line(f"{word} {net} on {len(rolls)} of 216 rolls: {'; '.join(calls[:3])}{more}")
    print_heading("One round")
    rows = [
        (str(net), str(ways), percent(Fraction(ways, len(ROLLS))))
        for net, ways in bets.distribution
    ]
    print_table(("net", "ways", "chance"), rows, right=frozenset({0, 1, 2}))


# --- payoffs ------------------------------------------------------------------------------------


def payoffs(name: str, readings: Sequence[str], as_json: bool) -> None:
    """Print the payoff matrix, a row for each box."""
    game = read_game(name, readings)
    if as_json:
        print_json(_payoffs_json(game), indent=None)
        return
    print_line("\t".join(["box", *("-".join(map(game.faces.name, roll)) for roll in ROLLS)]))
    for box_id, row in game.payoffs.items():
        print_line("\t".join([box_id, *map(str, row)]))


def _payoffs_json(game: Game) -> dict[str, Any]:
    return {
        "game": game.id,
        "hash": game.hash,
        "readings": game.readings,
        "unit": game.unit,
        "rolls": [list(roll) for roll in ROLLS],
        "boxes": {box_id: list(row) for box_id, row in game.payoffs.items()},
    }
