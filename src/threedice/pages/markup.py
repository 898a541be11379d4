"""HTML building blocks of the pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.rulebook import Game


_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 15px/1.5 "Iowan Old Style", Palatino, Georgia, serif; color: #1d2b24;
  max-width: 1040px; margin: 0 auto; padding: 40px 24px 80px; background: #fff; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 36px 0 8px; }
p, li { max-width: 74ch; } .lead { font-size: 18px; }
.id { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; color: #55605a;
  overflow-wrap: anywhere; }
.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px;
  margin: 20px 0; padding: 0; list-style: none; }
.key li { border-top: 2px solid #1d2b24; padding-top: 6px; }
.key b { display: block; font-size: 22px; font-weight: 600; overflow-wrap: anywhere; }
.key span { font-size: 13px; color: #55605a; }
table { border-collapse: collapse; min-width: min(100%, 420px); font-size: 14px; }
td, th, .key b { font-variant-numeric: tabular-nums; }
td, th { text-align: right; padding: 3px 0 3px 28px; white-space: nowrap; }
th { font-weight: 600; border-bottom: 1.5px solid #1d2b24; }
td { border-bottom: 1px solid #e3e6e1; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; }
th.group { padding-top: 18px; border-bottom: 1px solid #9aa59f; }
dt { font-weight: 600; margin-top: 10px; } dd { margin: 0; max-width: 74ch; }
dd + dd { color: #55605a; }
.scroll { overflow-x: auto; } svg { width: 100%; height: auto; display: block; }
figure { margin: 12px 0 28px; } figcaption { font-size: 13px; color: #55605a; max-width: 74ch; }
@media (max-width: 620px) { body { padding: 20px 14px 48px; } h1 { font-size: 24px; }
  table { font-size: 13px; } td, th { padding-left: 14px; } .lead { font-size: 16px; }
  svg text { font-size: 22px; } }
@media print { body { padding: 0; max-width: none; font-size: 11pt; }
  h2 { break-after: avoid; } figure, tr, dt, .key { break-inside: avoid; }
  @page { margin: 16mm; } }
"""


def page(title: str, game: Game, parts: Iterable[str]) -> str:
    """Return a self-contained page about a game."""
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(game.title)}</p>",
            f'<p class="id">{escape(game.id)} · hash {game.hash}{_format_readings(game)}</p>',
            *parts,
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: {escape(game.title)}</title>\n<style>{_STYLE}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _format_readings(game: Game) -> str:
    readings = ", ".join(f"{name}={choice}" for name, choice in game.readings.items())
    return f" · {escape(readings)}" if readings else ""


def heading(content: str) -> str:
    """Return a heading."""
    return f"<h2>{escape(content)}</h2>"


def paragraph(content: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(content)}</p>' if kind else f"<p>{escape(content)}</p>"


def key_figures(figures: Iterable[tuple[str, str]]) -> str:
    """Return the key numbers in large type, each with its label below."""
    items = (
        f"<li><b>{escape(value)}</b><span>{escape(label)}</span></li>" for label, value in figures
    )
    return f'<ul class="key">{"".join(items)}</ul>'


def figure(drawing: str, caption: str) -> str:
    """Return a drawing above its caption; it scrolls on a narrow screen."""
    return (
        f'<figure><div class="scroll">{drawing}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    return grouped_table(columns, [("", rows)])


def grouped_table(
    columns: Sequence[str], groups: Iterable[tuple[str, Iterable[Sequence[str]]]]
) -> str:
    """Return a table whose rows are in groups, each under its name if it has one."""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in columns)
    body = ""
    for name, rows in groups:
        span = f'<th class="group" colspan="{len(columns)}">{escape(name)}</th>'
        lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        lines = [span, *lines] if name else lines
        body += f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>"
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{body}</table></div>'


def definitions(terms: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a list of terms, each with one or more explanations."""
    items = (
        f"<dt>{escape(term)}</dt>{''.join(f'<dd>{escape(each)}</dd>' for each in explanations)}"
        for term, explanations in terms
    )
    return f"<dl>{''.join(items)}</dl>"
