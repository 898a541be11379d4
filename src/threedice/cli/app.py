"""The root command: a registry of lazily imported commands, and the entry point `main`.

`threedice --help` reads only the registry, so that it needs neither the rulebooks nor the server.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from threedice.errors import ThreediceError
from threedice.extras import ExtraName, require_extra


class RegisteredCommand(NamedTuple):
    """The module of a command within `threedice.cli`, and its line in `threedice --help`.

    Without its extra, a command can be listed but not imported.
    """

    module: str
    summary: str
    extra: ExtraName | None = None


COMMANDS: Final = {
    "serve": RegisteredCommand("house", "Serve a house over HTTP and WebSocket.", "house"),
    "distribution": RegisteredCommand(
        "distribution", "Print the net result of bets over many rounds."
    ),
    "session": RegisteredCommand("session", "Print the odds of a bankroll under a staking plan."),
    "shift": RegisteredCommand(
        "shift", "Forecast the house's win over an hour, a shift and a year."
    ),
    "simulate": RegisteredCommand(
        "simulate", "Simulate flat bets, a player's sessions or a whole table."
    ),
    "odds": RegisteredCommand("odds", "Print the exact odds sheet of a game."),
    "payoffs": RegisteredCommand("odds", "Print the payoff of each box on each of the 216 rolls."),
    "settle": RegisteredCommand("odds", "Settle bets on a roll and cite the clauses that apply."),
    "clauses": RegisteredCommand(
        "conformance", "Print every clause with its status, data and tests."
    ),
    "cases": RegisteredCommand("conformance", "Run scenario files and report the cases that fail."),
    "verify-dice": RegisteredCommand(
        "log", "Verify the dice of a house-dealt table from the log.", "house"
    ),
    "equipment": RegisteredCommand(
        "equipment", "Print the equipment of a table, or what served a round.", "house"
    ),
    "slips": RegisteredCommand(
        "slips", "Print the slips of a table, or one of them chip by chip.", "house"
    ),
    "dice-monitor": RegisteredCommand(
        "dice_monitor", "Watch the dice of a table or a CSV file for loaded faces."
    ),
    "doctor": RegisteredCommand(
        "doctor", "Report the state of a house to the person on call.", "house"
    ),
    "release": RegisteredCommand("operate", "Let a suspended house write again.", "house"),
    "migrate": RegisteredCommand("house", "Create or migrate the tables of a database.", "house"),
    "backup": RegisteredCommand(
        "backup", "Back up the whole house to one encrypted file.", "house"
    ),
    "restore": RegisteredCommand(
        "backup", "Verify a backup and restore the house to an empty database.", "house"
    ),
    "rulebooks": RegisteredCommand("rulebooks", "List, show, check and compare rulebooks."),
    "log": RegisteredCommand(
        "log", "Verify, replay, export, explain, copy and rebuild a log.", "house"
    ),
    "house": RegisteredCommand("house", "Check the file that describes a house.", "house"),
    "users": RegisteredCommand("users", "Manage the accounts of a house.", "house"),
    "keys": RegisteredCommand("keys", "Export, rotate and replace the keys of a house.", "house"),
}
"""Every command of the root, in the order of `threedice --help`."""


class LazyGroup(TyperGroup):
    """A group that lists commands by their summaries and imports one when it is invoked."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, command in COMMANDS.items():
            self.add_command(TyperCommand(name, help=command.summary), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the placeholder of a known command by the command itself, then resolve it."""
        name = args[0]
        if name in COMMANDS:
            self.add_command(load_command(name), name)
        return super().resolve_command(ctx, args)


def load_command(name: str) -> Any:
    """Import the module of a command and return the command; raise `MissingExtra` if it cannot."""
    if extra := COMMANDS[name].extra:
        require_extra(extra, name)
    module = import_module(f"threedice.cli.{COMMANDS[name].module}")
    return get_group(module.commands).commands[name]


app = typer.Typer(
    cls=LazyGroup,
    help="Casino table games with three dice: rulebooks, exact odds, settlement.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from threedice.version import describe_version

        typer.echo(f"threedice {describe_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print version and build.",
        ),
    ] = False,
) -> None:
    """Casino table games with three dice: rulebooks, exact odds, settlement."""


# Typer exports `BadParameter` only; the other usage errors are in the same module.
_usage_errors: Any = import_module(typer.BadParameter.__module__)


def main() -> None:
    """Run the command line; report an error as one line on stderr and exit with code 2."""
    _force_utf8_stdout()
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="threedice", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except ThreediceError as error:
        _fail(str(error))
    except _usage_errors.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except _usage_errors.ClickException as error:
        _fail(f"{error.format_message()} (see {_invoked_command()} --help)")
    except BrokenPipeError:
        _discard_stdout()
        sys.exit(1)
    except OSError as error:
        if error.filename is None:  # the output stream has failed, not a file
            _discard_stdout()
            _fail(f"cannot write: {error.strerror}")
        _fail(f"cannot read or write {error.filename}: {error.strerror}")
    except typer.Abort:
        sys.exit(130)


def _force_utf8_stdout() -> None:
    """Write UTF-8 in every locale, because felts are bilingual."""
    if sys.stdout is None:
        _fail("cannot write: standard output is closed")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure and sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        reconfigure(encoding="utf-8")


def _discard_stdout() -> None:
    """Redirect stdout to the null device, so that the interpreter's final flush succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    sys.stderr.write(f"threedice: {' '.join(message.split())}\n")
    sys.exit(2)


def _invoked_command() -> str:
    names = [word for word in sys.argv[1:] if word in COMMANDS]
    return " ".join(["threedice", *names[:1]])
