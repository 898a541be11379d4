"""The written API reference matches the application.

Regenerate it with `python -m tests.api.test_reference`.
"""

from __future__ import annotations

import re
from pathlib import Path

from threedice.api.app import API_HANDLERS
from threedice.api.http.openapi import commands_table, method_of, operations_table, published_path

FILE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def filled(text: str) -> str:
    """Return the reference with its tables regenerated."""
    for name, table in (
        ("operations", operations_table(API_HANDLERS)),
        ("commands", commands_table()),
    ):
        part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = part.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)  # type: ignore[misc]
    return text


def test_the_reference_is_up_to_date() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == filled(text)
    assert all(f"{method_of(each)} {published_path(each)}" in text for each in API_HANDLERS)


if __name__ == "__main__":
    FILE.write_text(filled(FILE.read_text(encoding="utf-8")), encoding="utf-8")
