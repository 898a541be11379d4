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

    _speak_utf8()
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="threedice", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except ThreediceError as error:
        _fail(str(error))
    except _UsageProblem as error:
        _fail(f"{error.format_message()} (see {_asked(app)} --help)")
    except BrokenPipeError:
        _forget_stdout()
        sys.exit(1)
    except OSError as error:
        if error.filename is None:  # it is what is being written to
            _forget_stdout()
            _fail(f"cannot write: {error.strerror}")
        _fail(f"cannot read or write {error.filename}: {error.strerror}")
    except typer.Abort:
        sys.exit(130)


# The parent of what Typer raises on wrong usage; it has no public name of its own.
_UsageProblem: type[Any] = typer.BadParameter.__mro__[2]


def _speak_utf8() -> None:
    """Write UTF-8 whatever the surroundings say: felts are bilingual."""
    if sys.stdout is None:
        _fail("there is nowhere to write to: standard output is closed")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure and sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        reconfigure(encoding="utf-8")


def _forget_stdout() -> None:
    """Keep the interpreter from flushing, at its end, into what cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    sys.stderr.write(f"threedice: {' '.join(message.split())}\n")
    sys.exit(2)


def _asked(app: typer.Typer) -> str:
    names = {
        each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands
    }
    names |= {each.name for each in app.registered_groups if each.name}
    words = [word for word in sys.argv[1:] if word in names]
    return " ".join(["threedice", *words[:1]])
