"""The reference of the command line, generated from the commands themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docs.generator.markdown import code, plain, table

from threedice.cli.app import COMMANDS, load_command

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULTS = re.compile(r"\s*\[([^\]]*)\]$")


def page() -> str:
    """Return the page."""
    return "\n\n".join(
        [
            "# The command line",
            "For everybody who uses `threedice` in a terminal: every command with its arguments "
            "and options.",
            "`threedice --help` and `threedice COMMAND --help` print the same. Errors are one line "
            "on standard error, with exit code 2.",
            *(
                part
                for name, each in COMMANDS.items()
                for part in _command(load_command(name), name, each.extra)
            ),
            "",
        ]
    )


def _command(command: Any, name: str, extra: str | None, level: int = 2) -> Iterator[str]:
    context = command.make_context(f"threedice {name}", [], resilient_parsing=True)
    yield f"{'#' * level} threedice {name}"
    yield from (
        "\n".join(map(str.strip, part.splitlines())) for part in plain(command.help).split("\n\n")
    )
    if extra and level == 2:
        yield f"Needs the extra `{extra}`: `pip install 'threedice[{extra}]'`."
    yield f"```text\n{' '.join(context.get_usage().removeprefix('Usage: ').split())}\n```"
    records = [each.get_help_record(context) for each in command.get_params(context)]
    rows = [
        (code(names), plain(text)) for names, text in filter(None, records) if "--help" not in names
    ]
    if rows:
        yield table(("parameter", "meaning"), rows)
    for child_name, child in getattr(command, "commands", {}).items():
        yield from _command(child, f"{name} {child_name}", extra, level + 1)
