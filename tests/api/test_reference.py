"""The API reference in the documentation matches the application.

Regenerate it with `python -m tests.api.test_reference`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from threedice.api.app import API_HANDLERS
from threedice.api.auth.authorisation import ANYONE, COMMANDS, DISPLAY, OPERATION_PERMISSIONS
from threedice.api.http.openapi import method_of, published_path, summary_of
from threedice.identity import ROLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from threedice.facts import CommandFacts

FILE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def operations_table() -> str:
    """Return all operations as a Markdown table, with the permissions of each."""
    rows = [
        (
            f"`{method_of(each)} {published_path(each)}`",
            summary_of(each),
            *permission_columns(*OPERATION_PERMISSIONS[each.name or ""]),
        )
        for each in API_HANDLERS
    ]
    return markdown_table(("operation", "summary", "roles", "programs"), rows)


def commands_table() -> str:
    """Return all commands as a Markdown table, with the permissions of each."""
    rows = [
        (
            f"`{name}`",
            *permission_columns(command.facts.roles, command.facts.scope),
            alone_column(command.facts),
        )
        for name, command in COMMANDS.items()
        if command.facts.roles
    ]
    return markdown_table(("command", "roles", "programs", "staff alone"), rows)


def alone_column(facts: CommandFacts) -> str:
    """Say when a member of the staff may send a command alone."""
    at_automatic = {
        "house": "not at automatic tables",
        "player": "not at automatic tables",
        "second-person": "with another at automatic tables",
        "alone-if-empty": "with another at automatic tables with players' chips",
    }
    alone = {
        "never": "no",
        "always": "yes",
        "up-to-amount": f"up to `{facts.alone_up_to}`",
        "approved-terms": "with approved terms",
        "by-rulebook": "as the rulebook says",
    }
    if set(facts.roles) <= {"player"}:
        return ""
    words = [alone[facts.alone] if facts.second_person else "yes"]
    words += [at_automatic[facts.automatic]] if facts.automatic in at_automatic else []
    words += [f"nobody above `{facts.ceiling}`"] if facts.ceiling else []
    return "; ".join(words)


def permission_columns(roles: Collection[str], scope: str) -> tuple[str, str]:
    if ANYONE in roles:
        return "anyone", "anyone"
    names: list[str] = [role for role in ROLES if role in roles]
    if len(names) == len(ROLES):
        names = ["everybody signed in"]
    roles_text = ", ".join([*names, *(["displays"] if DISPLAY in roles else [])])
    return roles_text, "no" if scope == "nobody" else scope


def markdown_table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill_tables(text: str) -> str:
    """Return the reference with its tables regenerated."""
    for name, table in (
        ("operations", operations_table()),
        ("commands", commands_table()),
    ):
        part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = part.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)  # type: ignore[misc]
    return text


def test_api_reference_is_up_to_date() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == fill_tables(text)
    assert all(f"{method_of(each)} {published_path(each)}" in text for each in API_HANDLERS)


if __name__ == "__main__":
    FILE.write_text(fill_tables(FILE.read_text(encoding="utf-8")), encoding="utf-8")
