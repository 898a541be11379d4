"""A printable page: the odds sheet of a game, with charts, readings and clauses."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from threedice.odds import percent
from threedice.pages.charts import edge_chart, round_chart
from threedice.pages.felt import felt_picture

if TYPE_CHECKING:
    from threedice.odds import BoxOdds, OddsSheet
    from threedice.odds.comparison import AlternativeReading, ReadingInForce
    from threedice.rulebook.schema import Rulebook

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 "Iowan Old Style", Palatino, Georgia, serif; color: #1d2b24;
  max-width: 1040px; margin: 0 auto; padding: 40px 24px 80px; background: #fff; }
h1 { font-size: 30px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 36px 0 8px; }
h3 { font-size: 15px; margin: 22px 0 4px; }
p, li { max-width: 74ch; } .id, code, td, th { font-variant-numeric: tabular-nums; }
.id { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; color: #55605a;
  overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; min-width: 860px; font-size: 13px; }
th { text-align: right; font-weight: 600; border-bottom: 1.5px solid #1d2b24; padding: 3px 8px; }
td { text-align: right; border-bottom: 1px solid #e3e6e1; padding: 2px 8px; white-space: nowrap; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
td:nth-child(2) { white-space: normal; }
th.family { text-align: left; padding-top: 18px; border-bottom: 1px solid #9aa59f; }
.scroll { overflow-x: auto; } svg { width: 100%; min-width: 720px; height: auto; display: block; }
figure { margin: 12px 0 28px; } figcaption { font-size: 13px; color: #55605a; max-width: 74ch; }
dt { font-weight: 600; margin-top: 10px; } dd { margin: 0; max-width: 74ch; }
.other { color: #55605a; } .lead { font-size: 18px; }
@media print { body { padding: 0; max-width: none; font-size: 11pt; }
  h2, h3 { break-after: avoid; } figure, tr, dt { break-inside: avoid; }
  svg, table { min-width: 0; }
  @page { margin: 16mm; } }
"""


def odds_page(sheet: OddsSheet, readings: tuple[ReadingInForce, ...], book: Rulebook) -> str:
    """Return the page."""
    game = sheet.game
    body = "\n".join(
        [
            f"<h1>{escape(game.title)}</h1>",
            f'<p class="id">{game.id} · hash {game.hash}</p>',
            _identity(book),
            _lead(sheet),
            _figures(sheet),
            "<h2>Every box</h2>",
            _table(sheet),
            _method(),
            "<h2>Readings in force</h2>",
            _readings(readings),
            "<h2>Clauses relied on</h2>",
            _clauses(sheet),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Odds of {escape(game.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _identity(book: Rulebook) -> str:
    facts = (
        book.source,
        book.authority,
        book.operator,
        f"version {book.version}",
        f"in force from {book.effective}" if book.effective else "",
    )
    return f"<p>{escape(' · '.join(fact for fact in facts if fact))}</p>"


def _lead(sheet: OddsSheet) -> str:
    edge = sheet.layout_edge
    single_roll = sum(each.box.throws == 1 for each in sheet.boxes)
    multi_throw = len(sheet.boxes) - single_roll
    more = f", and {multi_throw} settled over several throws" if multi_throw else ""
    return (
        f'<p class="lead">{single_roll} boxes settled by one roll{more}. One unit on every box '
        f"settled by one roll: house edge {edge} = {percent(edge)}.</p>"
    )


def _figures(sheet: OddsSheet) -> str:
    game = sheet.game
    parts = [
        _figure(
            edge_chart(sheet),
            "House edge by family. A bar reaches to the highest edge of the family; where its "
            "boxes differ, a line marks the lowest.",
        ),
        _figure(
            round_chart(sheet),
            "One round with a unit on every box settled by one roll: how many of the 216 rolls "
            "give the players each net result, worst to best. Red bars cost the house money.",
        ),
    ]
    if game.felt:
        edges = {each.box.id: each.figures.edge for each in sheet.boxes}
        parts.append(
            _figure(
                felt_picture(game, game.felt, edges),
                "The felt, every area tinted by its house edge: green for the lowest, red for "
                "30 % and more. Geometry only; the numbers are those of the pay table.",
            )
        )
    return "\n".join(parts)


def _figure(drawing: str, caption: str) -> str:
    return f"<figure><div class='scroll'>{drawing}</div><figcaption>{caption}</figcaption></figure>"


_COLUMNS = ("box", "pays", "ways", "hit", "house edge", "", "return", "sd", "VI", "95 % after")


def _table(sheet: OddsSheet) -> str:
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead>"
        f"{''.join(_family(name, boxes) for name, boxes in sheet.families())}</table></div>"
    )


def _family(name: str, boxes: list[BoxOdds]) -> str:
    clauses = ", ".join(boxes[0].box.pays)
    rows = "".join(f"<tr>{_cells(each)}</tr>" for each in boxes)
    return (
        f"<tbody><tr><th class='family' colspan='{len(_COLUMNS)}'>{escape(name)} "
        f"<span class='id'>{clauses}</span></th></tr>{rows}</tbody>"
    )


def _cells(odds: BoxOdds) -> str:
    lead = odds.figures.stakes_to_lead
    cells = (*box_cells(odds), "never" if lead is None else f"{lead:,}")
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


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


def _method() -> str:
    return (
        "<h2>How the figures are computed</h2><p>Every box is evaluated on each of the 216 equally "
        "likely rolls of three dice; nothing is simulated. <em>Ways</em> are the rolls that win, "
        "<em>hit</em> their share. <em>House edge</em> is the expected loss per unit staked, "
        "<em>return</em> is one less that. Fractions are exact; percentages are rounded from "
        "them. <em>sd</em> is the standard deviation of one unit's result, <em>VI</em> is "
        "1.645 sd. <em>95 % after</em> is the number of equal stakes, (1.645 sd / edge)², after "
        "which the house is ahead with 95 % confidence.</p>"
    )


def _readings(readings: tuple[ReadingInForce, ...]) -> str:
    if not readings:
        return "<p>The rules leave nothing open.</p>"
    return f"<dl>{''.join(_reading(each) for each in readings)}</dl>"


def _reading(reading: ReadingInForce) -> str:
    others = "".join(_alternative(alternative) for alternative in reading.alternatives)
    return (
        f"<dt>{escape(reading.name)} = {escape(reading.choice)} "
        f"<span class='id'>{', '.join(reading.clauses)}</span></dt>"
        f"<dd>{escape(reading.question)} {escape(reading.text)}{others}</dd>"
    )


def _alternative(alternative: AlternativeReading) -> str:
    changes = "; ".join(
        f"{box} from {current or 'not offered'} to {changed or 'not offered'}"
        for box, (current, changed) in alternative.edge_changes.items()
    )
    effect = f"House edge: {changes}." if changes else "No house edge changes."
    name, description = escape(alternative.name), escape(alternative.text)
    return f"<div class='other'>Or {name}: {description} {effect}</div>"


def _clauses(sheet: OddsSheet) -> str:
    cited = dict.fromkeys(
        number
        for each in sheet.boxes
        for clauses in (each.box.rule, *each.box.under.values(), each.box.pays)
        for number in clauses
    )
    game = sheet.game
    rows = (f"<dt>{number}</dt><dd>{escape(game.summaries[number])}</dd>" for number in cited)
    return f"<p class='id'>{game.book_id}</p><dl>{''.join(rows)}</dl>"
