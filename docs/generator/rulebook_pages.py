"""The page of a rulebook, generated from its TOML file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from docs.generator.markdown import code, plain, raw, table

from threedice.cli.arguments import parse_return_floor
from threedice.cli.rulebooks import RETURN_FLOOR, group_findings
from threedice.odds import odds_sheet, percent
from threedice.odds.comparison import readings_in_force
from threedice.odds.lint import lint
from threedice.pages.odds import boxes_table, readings_list, sheet_figures
from threedice.rulebook import load_rulebook
from threedice.rulebook.library import compile_layout
from threedice.rulebook.traceability import trace_clauses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Game
    from threedice.rulebook.source import RulebookSource
    from threedice.rulebook.traceability import ClauseTrace


def rulebook_page(book_id: str) -> str:
    """Return the page as Markdown."""
    source = load_rulebook(book_id)
    book = source.book
    facts = (
        ("document", book.source),
        ("jurisdiction", book.jurisdiction),
        ("authority", book.authority),
        ("operator", book.operator),
        ("version", book.version),
        ("in force from", book.effective),
        ("consolidated", book.consolidated),
    )
    parts = [
        f"# {plain(book.title)}",
        f"For players, designers and auditors: the rulebook `{book.id}`, generated from its TOML "
        "file.",
        "\n".join(f"- {name}: {plain(value)}" for name, value in facts if value),
    ]
    for layout in book.layouts:
        parts += _layout(source, compile_layout(source, layout, {}))
    traces = trace_clauses(source)
    statuses = Counter(each.clause.status for each in traces)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    parts += [
        "## Clauses",
        f"{len(traces)} clauses: {counts} ([the four statuses](../rulebook-format.md)). The proof "
        "of a modelled clause is a case that fails when the clause's data is changed.",
        table(("clause", "status", "summary", "data", "tests", "proof"), map(_clause, traces)),
    ]
    return "\n\n".join([*parts, ""])


def _layout(source: RulebookSource, game: Game) -> Iterator[str]:
    sheet = odds_sheet(game)
    layout = game.id.rpartition("/")[2]
    yield f"## Layout {layout}"
    yield (
        f"`{game.id}`, {len(game.boxes)} boxes; hash `{game.hash}`. One unit on every box settled "
        f"by one roll: house edge {sheet.layout_edge} = {percent(sheet.layout_edge)}."
    )
    figures = sheet_figures(sheet)
    yield from map(raw, figures[2:])
    yield f"[Pick boxes on this felt](../live-odds.md?game={game.id}), and see the odds of the mix."
    yield f"### Odds of layout {layout}"
    yield raw("".join(figures[:2]))
    yield raw(boxes_table(sheet))
    yield f"### Readings of layout {layout}"
    yield raw(readings_list(readings_in_force(source, game)))
    yield f"### Findings on layout {layout}"
    findings = lint(game, source.book, parse_return_floor(RETURN_FLOOR))
    if not findings:
        yield "The linter finds nothing to report."
        return
    yield "Findings of `threedice rulebooks check` are advice to the designer, not errors."
    yield table(
        ("finding", "boxes", "message", "clauses"),
        (
            (kind, code(boxes), plain(message), ", ".join(clauses))
            for kind, boxes, message, clauses in group_findings(findings)
        ),
    )


def _clause(trace: ClauseTrace) -> tuple[str, ...]:
    summary = plain(trace.clause.summary)
    if trace.clause.reason:
        summary += f" *{plain(trace.clause.reason)}*"
    data = ", ".join(map(code, trace.data))
    return (
        trace.number,
        trace.clause.status,
        summary,
        data,
        f"{len(trace.tests)}",
        plain(trace.proof.case) if trace.proof else "",
    )
