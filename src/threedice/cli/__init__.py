"""The command line: `app` declares the commands, one module each does their work.

Modules are imported when their command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from threedice.errors import ThreediceError


def main() -> None:
    """Run the command line; whatever goes wrong is one line on stderr and exit code 2."""
    from threedice.cli.app import app

    try:
        sys.exit(app(prog_name="threedice", standalone_mode=False))
    except ThreediceError as error:
        _fail(str(error))
    except _UsageProblem as error:
        _fail(f"{error.format_message()} (see {_asked()} --help)")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except typer.Abort:
        sys.exit(130)


# The parent of what Typer raises on wrong usage; it has no public name of its own.
_UsageProblem: type[Any] = typer.BadParameter.__mro__[2]


def _fail(message: str) -> None:
    sys.stderr.write(f"threedice: {' '.join(message.split())}\n")
    sys.exit(2)


def _asked() -> str:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return " ".join(["threedice", *words[:1]])
