"""Small pieces of SVG, as text."""

from __future__ import annotations

from html import escape

Number = int | float


def tag(name: str, body: str = "", **attributes: Number | str) -> str:
    """Return an element; underscores in attribute names stand for hyphens.

    >>> tag("rect", x=1, stroke_width=2)
    '<rect x="1" stroke-width="2"/>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{body}</{name}>" if body else f"<{name}{told}/>"


def _short(value: Number | str) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(words: str, x: Number, y: Number, size: Number, **attributes: Number | str) -> str:
    """Return words at a place, centred unless told otherwise."""
    attributes = {"text_anchor": "middle", **attributes}
    return tag("text", escape(words), x=x, y=y, font_size=size, **attributes)


def picture(width: Number, height: Number, body: str, title: str) -> str:
    """Return a whole drawing that scales to the width of the page."""
    return tag(
        "svg",
        tag("title", escape(title)) + body,
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=title,
        font_family="inherit",
    )
