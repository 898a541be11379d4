"""Read the rolls of a table's dice sets from its log, for the dice monitor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from threedice.house.codec import decode, tag_of
from threedice.table.events import (
    DiceInstalled,
    DiceRemoved,
    PieceRegistered,
    RoundsReversed,
    WinnersPaid,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.dice import Roll
    from threedice.log.entry import Entry
    from threedice.table.commands import Die

_KINDS: Final = frozenset(
    tag_of(each)
    for each in (WinnersPaid, RoundsReversed, PieceRegistered, DiceInstalled, DiceRemoved)
)


class RoundRoll(NamedTuple):
    """The number of a settled round and the dice by which it was settled."""

    round: int
    faces: Roll


@dataclass(frozen=True, slots=True)
class SetRolls:
    """A dice set and the rolls of the rounds that it served, in order.

    A set without a name stands for the rounds that were played without a registered set: all
    rounds of a table that has none, such as one that the house deals.
    """

    name: str = ""
    serial: str = ""
    dice: tuple[Die, ...] = ()
    installed: bool = False
    rolls: tuple[RoundRoll, ...] = ()


class DiceSets(NamedTuple):
    """The sets of a table in the order in which they first served.

    `version` is that of the last entry of the log that can have changed them.
    """

    sets: tuple[SetRolls, ...]
    version: int


def read_dice_sets(entries: Iterable[Entry]) -> DiceSets:
    """Return the rolls of each dice set that was ever installed at a table.

    Rounds count if they were settled and not reversed. A set that was removed and is installed
    again continues.
    """
    reader, version = _SetReader(), 0
    for entry in entries:
        if entry.kind in _KINDS:
            reader.apply(decode(entry))
            version = entry.version
    return DiceSets(reader.sets(), version)


@dataclass(slots=True)
class _SetReader:
    """The state while a log is read: which set is installed, and which round had which roll."""

    registered: dict[str, PieceRegistered] = field(default_factory=dict)
    rolls: dict[str, dict[int, RoundRoll]] = field(default_factory=dict)
    served_by: dict[int, str] = field(default_factory=dict)
    installed: str = ""

    def apply(self, event: object) -> None:
        match event:
            case PieceRegistered():
                self.registered[event.piece] = event
            case DiceInstalled():
                self.installed = event.piece
                self.rolls.setdefault(event.piece, {})
            case DiceRemoved():
                self.installed = ""
            case WinnersPaid():
                roll = RoundRoll(event.round, event.dice)
                self.rolls.setdefault(self.installed, {})[event.round] = roll
                self.served_by[event.round] = self.installed
            case RoundsReversed():
                for number in event.rounds:
                    if number in self.served_by:
                        del self.rolls[self.served_by.pop(number)][number]
            case _:
                pass

    def sets(self) -> tuple[SetRolls, ...]:
        return tuple(
            self._set(name, tuple(rolls.values()))
            for name, rolls in self.rolls.items()
            if name or rolls
        )

    def _set(self, name: str, rolls: tuple[RoundRoll, ...]) -> SetRolls:
        if not name:
            return SetRolls(rolls=rolls)
        piece = self.registered[name]
        return SetRolls(name, piece.serial, tuple(piece.dice), name == self.installed, rolls)
