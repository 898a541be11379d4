"""Elements of SVG drawings."""

from __future__ import annotations

from html import escape

Number = int | float

INK = "#1d2b24"
"""The colour of lines and letters."""


def tag(name: str, body: str = "", **attributes: Number | str) -> str:
    """Return an element; underscores in attribute names stand for hyphens.

    >>> tag("rect", x=1, stroke_width=2)
    '<rect x="1" stroke-width="2"/>'
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_format_number(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{rendered}>{body}</{name}>" if body else f"<{name}{rendered}/>"


def _format_number(value: Number | str) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(content: str, x: Number, y: Number, size: Number, **attributes: Number | str) -> str:
    """Return text at a position, centred by default."""
    attributes = {"text_anchor": "middle", **attributes}
    return tag("text", escape(content), x=x, y=y, font_size=size, **attributes)


def picture(width: Number, height: Number, body: str, title: str) -> str:
    """Return a drawing that scales to the width of the page."""
    return tag(
        "svg",
        tag("title", escape(title)) + body,
        viewBox=f"0 0 {_format_number(width)} {_format_number(height)}",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=title,
        font_family="inherit",
    )
