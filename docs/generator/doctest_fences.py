"""An extension of mkdocstrings: doctests in docstrings are shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^(>>> .*\n?(?:.+\n?)*)", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Put every doctest into a fence of its own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object as it is collected."""
        if obj.docstring:
            fenced = _DOCTEST.sub(
                lambda found: f"```pycon\n{found[1].rstrip()}\n```\n", obj.docstring.value
            )
            obj.docstring.value = fenced
