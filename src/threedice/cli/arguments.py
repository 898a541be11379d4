"""Shared Typer arguments and options, parsers for their values, and checks before long work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from threedice.dice import Roll
from threedice.errors import InvalidInput, UnknownName
from threedice.money import Amount, parse_amount
from threedice.rulebook import Game, load


def argument(metavar: str, help_text: str) -> Any:
    """Return a positional argument."""
    return typer.Argument(metavar=metavar, help=help_text)


def option(metavar: str, help_text: str, *names: str, **settings: Any) -> Any:
    """Return an option with a value; its name is that of the parameter unless `names` are given."""
    return typer.Option(*names, metavar=metavar, help=help_text, **settings)


def repeatable(metavar: str, help_text: str, *names: str, **settings: Any) -> Any:
    """Return an option that may be given several times."""
    return option(metavar, f"{help_text}; may be repeated.", *names, **settings)


GameArgument = Annotated[
    str, argument("GAME", "RULEBOOK/LAYOUT, such as sg-rws-tai-sai-v6/a, or FILE.toml/LAYOUT.")
]
RulebookArgument = Annotated[
    str, argument("RULEBOOK", "The id of a rulebook, or a file FILE.toml.")
]
TableArgument = Annotated[str, argument("TABLE", "The id of a table.")]
ReadingsOption = Annotated[
    list[str] | None,
    repeatable("NAME=VALUE", "Choose this reading of an open question", "--reading"),
]
MinimumOption = Annotated[int, option("AMOUNT", "The table minimum.", min=0)]
MaximumOption = Annotated[
    int | None, option("AMOUNT", "The table maximum; unlimited if omitted.", min=1)
]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HtmlOption = Annotated[Path | None, option("FILE", "Write a printable page to FILE.", "--html")]
DatabaseOption = Annotated[
    str,
    option(
        "URL",
        "sqlite:///PATH or postgresql://...; the current user's own house if omitted.",
        "--database",
        envvar="THREEDICE_DATABASE",
    ),
]
PublicKeysOption = Annotated[
    Path | None,
    option(
        "FILE",
        "Public keys to trust, from `threedice keys export`; the keys in the house's state "
        "directory if omitted.",
        "--keys",
    ),
]
AgainstOption = Annotated[
    Path | None, option("CHECKPOINTS", "A checkpoints file that is stored outside the house.")
]


HOUSE_FILE: Final = "house.toml"

HouseFileOption = Annotated[
    Path | None, option("FILE", "The house file, if it is elsewhere.", "--house")
]


def command_group(help_text: str = "", *, runs_alone: bool = False) -> typer.Typer:
    """Return an empty group of commands; one that `runs_alone` needs no subcommand."""
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        no_args_is_help=not runs_alone,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def default_house_file() -> Path:
    """Return the house file in the user's configuration directory; it may not exist."""
    from platformdirs import user_config_path

    return user_config_path("threedice") / HOUSE_FILE


def find_house_file(given: Path | None, state_dir: Path) -> Path | None:
    """Return the house file that the house is served with next, as far as that is known.

    It is the given one, or the user's own, or a copy of the one that it was last served with.
    """
    files = [given or default_house_file(), state_dir / HOUSE_FILE]
    return next((file for file in files if file.exists()), None)


# --- parsers ------------------------------------------------------------------------------------


def load_game(name: str, readings: Sequence[str] | None) -> Game:
    """Load a game under readings given as NAME=VALUE."""
    return load(name, parse_readings(readings))


def parse_readings(pairs: Sequence[str] | None) -> dict[str, str]:
    """Parse NAME=VALUE pairs."""
    readings: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not (equals and name and value):
            raise InvalidInput(
                f"{pair!r} is not a reading; give NAME=VALUE, such as pro-rata=absorb"
            )
        if readings.setdefault(name, value) != value:
            raise InvalidInput(
                f"the reading {name} is given twice, as {readings[name]} and {value}"
            )
    return readings


def parse_bets(game: Game, pairs: Sequence[str]) -> dict[str, Amount]:
    """Parse BOX=AMOUNT pairs; bets on the same box add up."""
    bets: dict[str, Amount] = {}
    for pair in pairs:
        box_id, equals, amount = pair.rpartition("=")
        if not equals:
            raise InvalidInput(f"{pair!r} is not a bet; give BOX=AMOUNT, such as big=50")
        game.box(box_id)
        bets[box_id] = Amount(bets.get(box_id, 0) + parse_amount(amount))
    return bets


def parse_dice(game: Game, text: str) -> Roll:
    """Parse three faces, by name or number, separated by commas or spaces."""
    try:
        return game.roll(text.replace(",", " ").split())
    except UnknownName as error:
        raise InvalidInput(
            f"{error.name!r} is not a face of these dice; give three of "
            f"{', '.join(game.faces.names)}, such as {game.faces.example}"
        ) from None


def parse_chips(text: str) -> tuple[int, ...]:
    """Parse chip values separated by commas."""
    chips = [parse_amount(each.strip()) for each in text.split(",")] if text else []
    for chip in chips:
        if chip % min(chips):
            raise InvalidInput(f"a chip of {chip} is not a multiple of the smallest, {min(chips)}")
    return tuple(chips)


def parse_return_floor(text: str) -> Fraction:
    """Parse a return as a percentage, such as 75 or 92.5, or as a fraction, such as 3/4."""
    number = text.strip().removesuffix("%").strip()
    try:
        floor = Fraction(number) if "/" in number else Fraction(number) / 100
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is not a return; give a percentage such as 75") from None
    if "/" not in number and 0 < floor < Fraction(1, 100):
        raise InvalidInput(f"{text!r} is under one per cent; give a percentage such as 75, or 3/4")
    if not 0 <= floor <= 1:
        raise InvalidInput(f"{text!r} is not a return; give a percentage from 0 to 100")
    return floor


def parse_probability(text: str) -> Fraction:
    """Parse a probability: 0.001, 1/1000 or 5%."""
    number = text.strip()
    try:
        if number.endswith("%"):
            return Fraction(number[:-1].strip()) / 100
        return Fraction(number)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is not a probability; give 0.001, 1/1000 or 0.1%") from None


# --- checks before long work --------------------------------------------------------------------


def check_page_file(file: Path | None) -> None:
    """Raise InvalidInput if a page cannot be written to the file."""
    if file is None:
        return
    if file.is_dir():
        raise InvalidInput(f"cannot write {file}: it is a folder; name a file in it")
    if not file.parent.is_dir():
        raise InvalidInput(
            f"cannot write {file}: there is no folder {file.parent}; create it first"
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InvalidInput(f"cannot write {file}: permission denied; name another file")


MEMINFO_FILE: Final = Path("/proc/meminfo")


def check_memory(needed_bytes: int, work: str, remedy: str) -> None:
    """Raise InvalidInput if the work needs more memory than is available."""
    available = available_memory_bytes()
    if available is not None and needed_bytes > available:
        raise InvalidInput(
            f"{work} needs about {needed_bytes / 1e9:.1f} GB of memory, and "
            f"{available / 1e9:.1f} GB are free; {remedy}"
        )


def available_memory_bytes(meminfo: Path = MEMINFO_FILE) -> int | None:
    """Return the available memory, or None where the system does not report it."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    amount = values.get("MemAvailable", "").split()
    return int(amount[0]) * 1024 if amount else None
