"""A printable slip: a fill, a credit or a count by chip, with room for the signatures."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from threedice.money import format_currency
from threedice.pages import markup
from threedice.table.chip_counts.counts import face_value, is_value_chip, without_zeros
from threedice.table.chip_counts.prose import describe_counts

if TYPE_CHECKING:
    from threedice.house.reports.counts import Slip, SlipKind
    from threedice.rulebook import Game
    from threedice.table.commands import Actor

SLIP_TITLES: Final[dict[SlipKind, str]] = {
    "opener": "Opener",
    "fill": "Fill",
    "credit": "Credit",
    "shift": "Shift count",
    "closer": "Closer",
    "drop": "Drop count",
}
COUNT_COLUMNS: Final = ("chip", "number", "value", "expected", "variance")


def slip_page(game: Game, table: str, currency: str, slip: Slip) -> str:
    """Return the page of a slip."""
    variance = _signed(slip.variance_value, currency)
    return markup.page(
        f"{SLIP_TITLES[slip.kind]}, slip {slip.slip} of table {table}",
        game,
        [
            markup.paragraph(describe_slip(slip), "lead"),
            markup.key_figures(
                [
                    ("total", f"{currency} {format_currency(slip.value, currency)}"),
                    ("expected", f"{currency} {format_currency(slip.expected_value, currency)}"),
                    ("variance", variance),
                ]
            ),
            markup.table(COUNT_COLUMNS, slip_rows(slip, currency)),
            markup.heading("Signatures"),
            markup.table(("name", "role", "signature"), _signatures(slip)),
            *_acknowledgements(slip),
        ],
    )


def describe_slip(slip: Slip) -> str:
    """Return when a slip was recorded, the closing that it belongs to, and its note."""
    closing = f", drop box of closing {slip.closing}" if slip.closing else ""
    note = f": {slip.note}" if slip.note else ""
    return f"Recorded {_time(slip.at)}{closing}{note}"


def describe_total(slip: Slip, currency: str) -> str:
    """Return the value of a slip, what was expected and the variance, as a sentence."""
    value, expected, variance = (
        format_currency(amount, currency)
        for amount in (slip.value, slip.expected_value, slip.variance_value)
    )
    return f"In all {value} by value, expected {expected}, variance {variance}."


def describe_variance(slip: Slip, currency: str) -> str:
    """Return the value of a variance with its chips; coloured ones add nothing to the value."""
    value = format_currency(slip.variance_value, currency)
    if not slip.variance:
        return value
    return (
        f"{value} ({describe_counts(slip.variance, partial(format_currency, currency=currency))})"
    )


def slip_rows(slip: Slip, currency: str) -> list[tuple[str, ...]]:
    """Return a row for each chip: its number and value, and what was expected of it."""
    rows: list[tuple[str, ...]] = []
    for name in without_zeros({**slip.expected, **slip.counts}):
        count, change = slip.counts.get(name, 0), slip.variance.get(name, 0)
        is_value = is_value_chip(name)
        rows.append(
            (
                format_currency(int(name), currency) if is_value else name,
                f"{count:,}",
                format_currency(face_value({name: count}), currency) if is_value else "",
                f"{slip.expected[name]:,}" if name in slip.expected else "",
                f"{change:+,}" if change else "",
            )
        )
    return rows


def _signatures(slip: Slip) -> list[tuple[str, str, str]]:
    people: list[Actor] = [slip.by, *([slip.approved_by] if slip.approved_by else [])]
    return [(person.id, person.role, "") for person in people]


def _acknowledgements(slip: Slip) -> list[str]:
    """Return the people who acknowledged the variance of a slip, and when."""
    if not slip.acknowledged:
        return []
    rows = [(each.by.id, each.by.role, _time(each.at)) for each in slip.acknowledged]
    return [
        markup.heading("Variance acknowledged"),
        markup.table(("name", "role", "time"), rows),
    ]


def _time(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _signed(amount: int, currency: str) -> str:
    return f"{'+' if amount > 0 else ''}{format_currency(amount, currency)}"
