"""What is typed on the command line, read into what the library takes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, UnknownName
from threedice.money import Amount, parse_amount
from threedice.rulebook import Game, load, load_rulebook
from threedice.rulebook.library import split_game_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.dice import Roll
    from threedice.rulebook.source import RulebookSource


def read_game(name: str, readings: Sequence[str]) -> Game:
    """Load a game under readings given as NAME=VALUE."""
    return load(name, read_readings(readings))


def read_source(name: str) -> RulebookSource:
    """Open the rulebook that a game's name begins with."""
    return load_rulebook(split_game_name(name)[0])


def read_readings(pairs: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE pairs."""
    chosen: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (equals and name and value):
            raise InvalidInput(
                f"{pair!r} is not a reading; give NAME=VALUE, such as pro-rata=absorb"
            )
        if chosen.setdefault(name, value) != value:
            raise InvalidInput(f"the reading {name} is given twice, as {chosen[name]} and {value}")
    return chosen


def read_bets(game: Game, pairs: Sequence[str]) -> dict[str, Amount]:
    """Read BOX=AMOUNT pairs; bets on the same box add up."""
    bets: dict[str, Amount] = {}
    for pair in pairs:
        box_id, equals, amount = pair.rpartition("=")
        if not equals:
            raise InvalidInput(f"{pair!r} is not a bet; give BOX=AMOUNT, such as big=50")
        game.box(box_id)
        bets[box_id] = Amount(bets.get(box_id, 0) + parse_amount(amount))
    return bets


def read_dice(game: Game, text: str) -> Roll:
    """Read three faces, by name or number, separated by commas or spaces."""
    try:
        return game.roll(text.replace(",", " ").split())
    except UnknownName as error:
        raise InvalidInput(
            f"{error.name!r} is no face of these dice; give three of "
            f"{', '.join(game.faces.names)}, such as {game.faces.example}"
        ) from None


def read_chips(text: str) -> tuple[int, ...]:
    """Read chip values separated by commas."""
    chips = [parse_amount(each.strip()) for each in text.split(",")] if text else []
    for chip in chips:
        if chip % min(chips):
            raise InvalidInput(f"a chip of {chip} is no multiple of the smallest, {min(chips)}")
    return tuple(chips)


def read_floor(text: str) -> Fraction:
    """Read a return as a percentage, such as 75 or 92.5, or a fraction such as 3/4."""
    number = text.strip().removesuffix("%").strip()
    try:
        floor = Fraction(number) if "/" in number else Fraction(number) / 100
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is no floor; give a percentage such as 75") from None
    if "/" not in number and 0 < floor < Fraction(1, 100):
        raise InvalidInput(f"{text!r} is under one per cent; give a percentage such as 75, or 3/4")
    if not 0 <= floor <= 1:
        raise InvalidInput(f"{text!r} is no floor; give a percentage from 0 to 100")
    return floor
