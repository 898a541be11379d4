"""Describe counts of chips in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.table.chip_counts.counts import differences, face_value, is_value_chip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.money import AmountFormatter
    from threedice.table import events


def describe_counts(counts: Mapping[str, int], fmt: AmountFormatter) -> str:
    """Return counts as text, such as "4 x 25, 20 x red"."""
    texts = (f"{count} x {_chip_text(name, fmt)}" for name, count in counts.items())
    return ", ".join(texts) or "no chips"


def _chip_text(name: str, fmt: AmountFormatter) -> str:
    return fmt(int(name)) if is_value_chip(name) else name


def describe_rack_count(event: events.RackCounted, fmt: AmountFormatter) -> str:
    """Return a count of the rack as a sentence, with what is missing or over."""
    change = differences(event.counted, event.expected)
    found = "; ".join(
        f"{abs(count)} x {_chip_text(name, fmt)} {'over' if count > 0 else 'missing'}"
        for name, count in change.items()
    )
    what = f"The {event.kind}" if event.kind != "shift" else "The count of the shift"
    return (
        f"  {what}, slip {event.slip}: {describe_counts(event.counted, fmt)}, "
        f"{fmt(face_value(event.counted))} in all; {found or 'nothing is missing'}."
    )


def describe_drop_count(event: events.DropCounted, fmt: AmountFormatter) -> str:
    """Return a count of a drop box as a sentence."""
    counted = face_value(event.notes)
    return (
        f"  The drop of closing {event.closing}, slip {event.slip}: {fmt(counted)} counted, "
        f"{fmt(event.expected)} expected."
    )


def describe_slip(slip: int) -> str:
    """Return the mention of a numbered slip, or nothing if there is none."""
    return f", slip {slip}" if slip else ""


def describe_moved_counts(event: events.AnyChipEvent, fmt: AmountFormatter) -> str:
    """Return the mention of the chips that a fill or credit moves, or nothing."""
    counts = event.chip_moves[0][3] if event.chip_moves else {}
    return f" ({describe_counts(counts, fmt)})" if counts else ""
