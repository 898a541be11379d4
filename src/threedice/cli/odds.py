"""`threedice odds`, `payoffs` and `settle`: exact figures of one round."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from threedice.cli.arguments import (
    CsvOption,
    GameArgument,
    HtmlOption,
    JsonOption,
    ReadingsOption,
    command_group,
    load_game,
    option,
    parse_bets,
    parse_dice,
    repeatable,
)
from threedice.cli.output import (
    OutputFormat,
    choose_format,
    format_readings,
    game_json,
    print_csv,
    print_game,
    print_heading,
    print_json,
    print_line,
    print_readings,
    print_table,
    write_page,
)
from threedice.dice import ROLLS, Roll
from threedice.errors import InvalidInput
from threedice.odds import BoxOdds, Mix, OddsSheet, odds_sheet, percent
from threedice.odds.comparison import ReadingInForce, readings_in_force
from threedice.odds.stakes import SettledBet, settle
from threedice.pages.odds import box_cells, odds_page
from threedice.rulebook import Game, load_rulebook
from threedice.rulebook.library import split_game_name
from threedice.table.explanation import explain_payout
from threedice.table.explanation_texts import format_line

commands = command_group()


# --- odds ---------------------------------------------------------------------------------------


@commands.command("odds")
def show_odds(
    name: GameArgument,
    box: Annotated[list[str] | None, repeatable("ID", "Print this box only")] = None,
    bet: Annotated[
        list[str] | None, repeatable("BOX=AMOUNT", "Print the combined figures of these bets")
    ] = None,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Print the exact odds sheet of a game."""
    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    if bet:
        if box:
            raise InvalidInput("--box and --bet exclude each other; choose one")
        print_mix(load_game(name, reading), bet, output_format)
        return
    if box and html:
        raise InvalidInput("the page shows every box; leave --box out")
    game = load_game(name, reading)
    sheet = odds_sheet(game)
    source = load_rulebook(split_game_name(name)[0])
    in_force = readings_in_force(source, game)
    selected = {game.box(box_id).id for box_id in box or ()} or game.boxes.keys()
    rows = [each for each in sheet.boxes if each.box.id in selected]
    match output_format:
        case "json":
            print_json(_sheet_json(sheet, rows, in_force))
        case "csv":
            _print_sheet_csv(game, rows)
        case "html" if html:
            write_page(html, odds_page(sheet, in_force, source.book))
        case _:
            _print_sheet(sheet, rows, in_force)


_SHEET_COLUMNS = ("box", "pays", "ways", "hit", "edge", "", "return", "sd", "VI", "stakes to 95 %")


def _print_sheet(
    sheet: OddsSheet, selected: list[BoxOdds], in_force: tuple[ReadingInForce, ...]
) -> None:
    game = sheet.game
    print_line(f"{game.title} ({game.id})")
    print_line(f"hash {game.hash}")
    for family, boxes in sheet.families():
        rows = [_sheet_row(each) for each in boxes if each in selected]
        if rows:
            heading = f"{family}: {', '.join(boxes[0].box.pays)}"
            print_table(_SHEET_COLUMNS, rows, right=range(2, 10), heading=heading)
    if len(selected) == len(sheet.boxes):
        edge = sheet.layout_edge
        print_line(f"\nOne unit on every box: house edge {edge} = {percent(edge)}")
    if in_force:
        print_heading("Readings in force")
    print_readings(in_force)


def _sheet_row(each: BoxOdds) -> tuple[str, ...]:
    lead = each.figures.stakes_to_lead
    return (*box_cells(each), "never" if lead is None else str(lead))


def _sheet_json(
    sheet: OddsSheet, selected: list[BoxOdds], in_force: tuple[ReadingInForce, ...]
) -> dict[str, Any]:
    return {
        "game": sheet.game.id,
        "title": sheet.game.title,
        "hash": sheet.game.hash,
        "readings": sheet.game.readings,
        "boxes": [_box_json(each) for each in selected],
        "layout_edge": str(sheet.layout_edge),
        "reading_effects": [
            {
                "reading": each.name,
                "choice": each.choice,
                "clauses": each.clauses,
                "says": each.text,
                "alternatives": [
                    {"choice": other.name, "says": other.text, "edges": other.edge_changes}
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


def _print_sheet_csv(game: Game, selected: list[BoxOdds]) -> None:
    identity = {**game_json(game), "readings": format_readings(game)}
    rows = [{**identity, **_box_json(each)} for each in selected]
    for row in rows:
        row["payoffs"] = " / ".join(line["odds"] for line in row["payoffs"])
        row["clauses"] = " ".join(row["clauses"])
    print_csv(list(rows[0]), (row.values() for row in rows))


# --- a mix of bets ------------------------------------------------------------------------------


def print_mix(game: Game, pairs: Sequence[str], output_format: OutputFormat) -> None:
    """Print the combined figures of several bets, and the house's exposure to them."""
    if output_format in ("csv", "html"):
        raise InvalidInput(f"--bet has no --{output_format}; use --json or plain text")
    bets = Mix(game, parse_bets(game, pairs))
    if output_format == "json":
        print_json(_mix_json(bets))
    else:
        _print_mix_text(bets)


def _mix_json(bets: Mix) -> dict[str, Any]:
    figures = bets.figures
    return {
        **game_json(bets.game),
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
    return {"net": str(net), "rolls": rolls}


def _print_mix_text(bets: Mix) -> None:
    figures, game = bets.figures, bets.game
    print_game(game, f"{bets.total} staked on {len(bets.stakes)} boxes")
    print_line(
        f"house edge {figures.edge} = {percent(figures.edge)}, ahead on {figures.ways} of 216 rolls"
    )
    print_line(f"standard deviation {figures.sd * bets.total:.4f} on {bets.total} staked")
    for word, (net, rolls) in (("best", bets.best), ("worst", bets.worst)):
        calls = list(dict.fromkeys(game.call(roll) for roll in rolls))
        more = f" and {len(calls) - 3} more calls" if len(calls) > 3 else ""
        print_line(f"{word} {net} on {len(rolls)} of 216 rolls: {'; '.join(calls[:3])}{more}")
    rows = [
        (str(net), str(ways), percent(Fraction(ways, len(ROLLS))))
        for net, ways in bets.distribution
    ]
    print_table(("net", "ways", "chance"), rows, right=range(3), heading="One round")


# --- payoffs ------------------------------------------------------------------------------------


@commands.command("payoffs")
def show_payoffs(
    name: GameArgument, reading: ReadingsOption = None, as_json: JsonOption = False
) -> None:
    """Print the payoff of each box on each of the 216 rolls.

    A payoff is the net result of a stake of one unit. The unit is 1, unless odds such as 19 to 20
    need a larger stake to pay whole numbers; --json has it as "unit".
    """
    game = load_game(name, reading)
    if as_json:
        figures = {"unit": game.unit, "rolls": ROLLS, "boxes": game.payoffs}
        print_json({**game_json(game), **figures}, indent=None)
        return
    print_line("\t".join(["box", *("-".join(map(game.faces.name, roll)) for roll in ROLLS)]))
    for box_id, row in game.payoffs.items():
        print_line("\t".join([box_id, *map(str, row)]))


# --- settle -------------------------------------------------------------------------------------


@commands.command("settle")
def show_settlement(
    name: GameArgument,
    dice: Annotated[str, option("1,3,6", "The three faces, by name or number.")],
    bet: Annotated[list[str], repeatable("BOX=AMOUNT", "A bet, such as big=50")],
    reading: ReadingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle bets on a roll and cite the clauses that apply."""
    game = load_game(name, reading)
    roll = parse_dice(game, dice)
    settled = settle(game, roll, parse_bets(game, bet))
    if as_json:
        print_json(_settlement_json(game, roll, settled))
    else:
        _print_settlement(game, roll, settled)


def _settlement_json(game: Game, roll: Roll, settled: list[SettledBet]) -> dict[str, object]:
    return {
        **game_json(game),
        "dice": roll,
        "faces": [game.faces.name(face) for face in roll],
        "call": game.call(roll),
        "winning": game.winning(roll),
        "bets": [
            {
                "box": each.box,
                "stake": each.stake,
                "outcome": "wins" if each.wins else "loses",
                "odds": str(each.odds) if each.odds else None,
                "net": each.net,
                "returned": each.returned,
                "clauses": each.clauses,
                "why": _payout_text(game, each.box, roll, each.stake),
            }
            for each in settled
        ],
        **_total_json(settled),
    }


def _payout_text(game: Game, box: str, roll: Roll, stake: int) -> str:
    return " ".join(format_line(game, line) for line in explain_payout(game, box, roll, stake))


def _total_json(settled: list[SettledBet]) -> dict[str, int]:
    return {
        "stake": sum(each.stake for each in settled),
        "net": sum(each.net for each in settled),
        "returned": sum(each.returned for each in settled),
    }


def _print_settlement(game: Game, roll: Roll, settled: list[SettledBet]) -> None:
    print_game(game)
    print_line(f"The dealer calls: {game.call(roll)}")
    print_line()
    rows = [
        (each.box, str(each.stake), str(each.odds or "loses"), f"{each.net:+}", str(each.returned))
        for each in settled
    ]
    total = _total_json(settled)
    rows.append(("all bets", str(total["stake"]), "", f"{total['net']:+}", str(total["returned"])))
    print_table(("box", "stake", "odds", "net", "returned"), rows, right={1, 3, 4})
    print_line()
    cited: dict[str, None] = {}
    for each in settled:
        print_line(f"{each.box}: {_payout_text(game, each.box, roll, each.stake)}")
        cited.update(dict.fromkeys(each.clauses))
    print_line()
    for number in cited:
        print_line(f"{game.book_id} {number}: {game.summaries[number]}")
