"""The felt of a layout: turn blocks of boxes into areas with position, size and text.

A box is something to bet on; an area is where its chips lie. A box may have several areas, such as
one at each end of a long table. Screens and printed sheets draw the felt; payments do not use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from threedice.dice import FaceNames
    from threedice.rulebook.game import Box
    from threedice.rulebook.schema import Block, Layout, Legend
    from threedice.rulebook.validation import SourceLocation

_PLACEHOLDER = re.compile(r"\{(?:([1-4])(?::(word|zh))?|([ab])([1-3])?(:zh)?)\}")
_DIGITS = "〇一二三四五六七八九"


@dataclass(frozen=True, slots=True)
class Area:
    """A place on the felt for the chips of one box; `dice` are the faces to draw in it."""

    id: str
    box: str
    x: int
    y: int
    width: int
    height: int
    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    odds: str = ""
    dice: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Inscription:
    """Text on the felt outside the areas."""

    x: int
    y: int
    width: int
    height: int
    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Felt:
    """Everything drawn on one layout; coordinates are in units of the layout's size."""

    width: int
    height: int
    areas: tuple[Area, ...]
    inscriptions: tuple[Inscription, ...]


def build_felt(
    layout: Layout, boxes: Mapping[str, Box], faces: FaceNames, location: SourceLocation
) -> Felt | None:
    """Return the felt of a layout, or None if it has no size; refuse missing or misplaced boxes."""
    for path, box_id in _named_boxes(layout):
        if box_id not in boxes:
            raise location.child(*path).unknown(
                f"no box {box_id!r} in its pay table", box_id, boxes
            )
    for name, block in layout.blocks.items():
        if min(block.cell) < 1 or (block.columns is not None and block.columns < 1):
            raise location.child("blocks", name).error(
                "has no room for its boxes", "make it larger"
            )
    if layout.size is None:
        return None
    width, height = layout.size
    areas = tuple(area for block in layout.blocks.values() for area in _areas(block, boxes, faces))
    legends = tuple(_inscription(each, boxes, faces) for each in layout.legends.values())
    for problem, remedy in _area_errors(areas, width, height, boxes):
        raise location.child("blocks").error(problem, remedy)
    for name, each in zip(layout.legends, legends, strict=True):
        if min(each.width, each.height) < 1 or not _inside(each, width, height):
            raise location.child("legends", name).error(
                "does not fit on the felt", "move it inside the layout's size"
            )
    return Felt(width, height, areas, legends)


def _named_boxes(layout: Layout) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every box id that a layout names, with its key."""
    for name, block in layout.blocks.items():
        yield from ((("blocks", name, "boxes"), box_id) for box_id in block.boxes if box_id)
    for name, legend in layout.legends.items():
        if legend.odds_of:
            yield ("legends", name, "odds_of"), legend.odds_of


def _areas(block: Block, boxes: Mapping[str, Box], faces: FaceNames) -> Iterator[Area]:
    (left, top), (width, height) = block.at, block.cell
    columns = block.columns or len(block.boxes)
    for i, box_id in enumerate(block.boxes):
        if not box_id:
            continue
        box = boxes[box_id]
        row, column = divmod(i, columns)
        yield Area(
            id=f"{box_id}@{block.end}" if block.end else box_id,
            box=box_id,
            x=left + column * width,
            y=top + row * height,
            width=width,
            height=height,
            en=tuple(_fill_text(line, box, faces) for line in block.en),
            zh=tuple(_fill_text(line, box, faces) for line in block.zh),
            odds=_fill_text(block.odds, box, faces),
            dice=_pictured_faces(box) if block.dice else (),
        )


def _inscription(legend: Legend, boxes: Mapping[str, Box], faces: FaceNames) -> Inscription:
    box = boxes.get(legend.odds_of)
    en, zh = (
        tuple(_fill_text(line, box, faces) if box else line for line in lines)
        for lines in (legend.en, legend.zh)
    )
    return Inscription(*legend.at, *legend.size, en, zh)


def _fill_text(text: str, box: Box, faces: FaceNames) -> str:
    """Fill {1}, {1:word}, {a} and {b2} in a text; leave a placeholder without a value as it is."""

    def fill(placeholder: re.Match[str]) -> str:
        part, spelling, side, line, chinese = placeholder.groups()
        try:
            if side:
                number = int(getattr(box.lines[int(line or 1) - 1].odds, side))
                return chinese_numeral(number) if chinese else str(number)
            i = int(part) - 1
            if spelling == "zh":
                return faces.zh[box.parts[i] - 1]
            return faces.word(box.parts[i]) if spelling else box.selection[i]
        except IndexError:
            return placeholder[0]

    return _PLACEHOLDER.sub(fill, text)


def chinese_numeral(number: int) -> str:
    """Write a number below a thousand as a Chinese numeral, a larger one in digits.

    >>> [chinese_numeral(number) for number in (1, 12, 31, 180, 105)]
    ['一', '十二', '三十一', '一百八十', '一百〇五']
    """
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    if hundreds > 9:
        return str(number)
    if hundreds:
        zero = _DIGITS[0] if rest and not tens else ""
        below_hundred = chinese_numeral(rest) if tens != 1 else f"一{chinese_numeral(rest)}"
        return f"{_DIGITS[hundreds]}百{zero}{below_hundred if rest else ''}"
    if tens:
        return f"{'' if tens == 1 else _DIGITS[tens]}十{_DIGITS[ones] if ones else ''}"
    return _DIGITS[ones]


def _pictured_faces(box: Box) -> tuple[int, ...]:
    """Return the faces to draw for a box: two of its face for a double, three for a triple."""
    if box.ways[0].when == "total-is":
        return ()
    times = {"shows-pair": 2, "triple": 3}.get(box.ways[0].when, 1)
    return box.parts * times


def _area_errors(
    areas: tuple[Area, ...], width: int, height: int, boxes: Mapping[str, Box]
) -> Iterator[tuple[str, str]]:
    """Yield the problems with the positions of the areas, each with a remedy."""
    placed = {area.box for area in areas}
    for missing in (box_id for box_id in boxes if box_id not in placed):
        yield f"box {missing!r} has no area", "add it to a block"
    for i, area in enumerate(areas):
        if not _inside(area, width, height):
            yield f"area {area.id!r} leaves the felt", "move it inside the layout's size"
        for other in areas[:i]:
            if area.id == other.id:
                yield f"two areas are {area.id!r}", "give their blocks different ends"
            if _overlap(area, other):
                yield f"areas {other.id!r} and {area.id!r} overlap", "move one of them"


def _inside(each: Area | Inscription, width: int, height: int) -> bool:
    return 0 <= each.x <= width - each.width and 0 <= each.y <= height - each.height


def _overlap(one: Area, other: Area) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )
