"""A printable page: the odds sheet of a game, with charts, readings and clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.odds import percent
from threedice.pages import markup
from threedice.pages.charts import edge_chart, round_chart
from threedice.pages.felt import tinted_felt

if TYPE_CHECKING:
    from threedice.odds import BoxOdds, OddsSheet
    from threedice.odds.comparison import AlternativeReading, ReadingInForce
    from threedice.rulebook.schema import Rulebook

_COLUMNS: Final = (
    "box",
    "pays",
    "ways",
    "hit",
    "house edge",
    "",
    "return",
    "sd",
    "VI",
    "95 % after",
)

_METHOD_TEXTS: Final = (
    ("ways, hit", ["The rolls that win, and their share."]),
    ("house edge, return", ["The expected loss per unit staked, and one less that."]),
    ("sd, VI", ["The standard deviation of one unit's result, and 1.645 sd."]),
    (
        "95 % after",
        [
            "The number of equal stakes, (1.645 sd / edge)², after which the house is ahead with "
            "95 % confidence."
        ],
    ),
)


def odds_page(sheet: OddsSheet, readings: tuple[ReadingInForce, ...], book: Rulebook) -> str:
    """Return the page."""
    return markup.page(
        "Odds",
        sheet.game,
        [
            _identity(book),
            _lead(sheet),
            *sheet_figures(sheet),
            markup.heading("Every box"),
            boxes_table(sheet),
            markup.heading("How the figures are computed"),
            markup.paragraph(
                "Every box is evaluated on each of the 216 equally likely rolls of three dice; "
                "nothing is simulated. Fractions are exact; percentages are rounded from them."
            ),
            markup.definitions(_METHOD_TEXTS),
            markup.heading("Readings in force"),
            readings_list(readings),
            markup.heading("Clauses relied on"),
            markup.paragraph(sheet.game.book_id, "id"),
            markup.definitions(
                (number, [sheet.game.summaries[number]]) for number in _cited_clauses(sheet)
            ),
        ],
    )


def _identity(book: Rulebook) -> str:
    facts = (
        book.source,
        book.authority,
        book.operator,
        f"version {book.version}",
        f"in force from {book.effective}" if book.effective else "",
    )
    return markup.paragraph(" · ".join(fact for fact in facts if fact))


def _lead(sheet: OddsSheet) -> str:
    edge = sheet.layout_edge
    single_roll = sum(each.box.throws == 1 for each in sheet.boxes)
    multi_throw = len(sheet.boxes) - single_roll
    more = f", and {multi_throw} settled over several throws" if multi_throw else ""
    return markup.paragraph(
        f"{single_roll} boxes settled by one roll{more}. One unit on every box settled by one "
        f"roll: house edge {edge} = {percent(edge)}.",
        "lead",
    )


def sheet_figures(sheet: OddsSheet) -> list[str]:
    """Return the drawings of a sheet: edges by family, one round, and the felt if there is one."""
    figures = [
        markup.figure(
            edge_chart(sheet),
            "House edge by family. A bar reaches to the highest edge of the family; where its "
            "boxes differ, a line marks the lowest.",
        ),
        markup.figure(
            round_chart(sheet),
            "One round with a unit on every box settled by one roll: how many of the 216 rolls "
            "give the players each net result. Losses are red, wins are green.",
        ),
    ]
    if felt := tinted_felt(sheet):
        figures.append(
            markup.figure(
                felt,
                "The felt, every area tinted by its house edge: green for the lowest, red for "
                "30 % and more. Geometry only; the numbers are those of the pay table.",
            )
        )
    return figures


def boxes_table(sheet: OddsSheet) -> str:
    """Return the table of all boxes, by family."""
    groups = (
        (f"{name} ({', '.join(boxes[0].box.pays)})", map(_cells, boxes))
        for name, boxes in sheet.families()
    )
    return markup.grouped_table(_COLUMNS, groups)


def readings_list(readings: tuple[ReadingInForce, ...]) -> str:
    """Return the readings in force, each with its alternatives and their effect on the edge."""
    if not readings:
        return markup.paragraph("The rules leave nothing open.")
    return markup.definitions(map(_reading, readings))


def _cells(odds: BoxOdds) -> tuple[str, ...]:
    lead = odds.figures.stakes_to_lead
    return (*box_cells(odds), "never" if lead is None else f"{lead:,}")


def box_cells(odds: BoxOdds) -> tuple[str, ...]:
    """Return the figures of a box as text, from its id to its volatility."""
    box, figures = odds.box, odds.figures
    return (
        box.id,
        " / ".join(str(line.odds) for line in box.lines),
        f"{figures.ways}" if box.throws == 1 else f"{figures.ways} of 216^{box.throws}",
        str(figures.hit),
        str(figures.edge),
        percent(figures.edge),
        percent(figures.return_to_player),
        f"{figures.sd:.4f}",
        f"{figures.volatility:.4f}",
    )


def _reading(reading: ReadingInForce) -> tuple[str, list[str]]:
    """Return a reading and its clauses as a term; its text and alternatives as explanations."""
    return (
        f"{reading.name} = {reading.choice} ({', '.join(reading.clauses)})",
        [f"{reading.question} {reading.text}", *map(_alternative, reading.alternatives)],
    )


def _alternative(alternative: AlternativeReading) -> str:
    changes = "; ".join(
        f"{box} from {current or 'not offered'} to {changed or 'not offered'}"
        for box, (current, changed) in alternative.edge_changes.items()
    )
    effect = f"House edge: {changes}." if changes else "No house edge changes."
    return f"Or {alternative.name}: {alternative.text} {effect}"


def _cited_clauses(sheet: OddsSheet) -> dict[str, None]:
    return dict.fromkeys(
        number
        for each in sheet.boxes
        for clauses in (each.box.rule, *each.box.under.values(), each.box.pays)
        for number in clauses
    )
