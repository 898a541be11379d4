"""What power cuts have done, counted, and how a store is looked over after one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import apsw

from tests.faults.disk_store import damage, opened
from tests.faults.power_found import Found, compare
from threedice.errors import StoreUnusable, ThreediceError

if TYPE_CHECKING:
    from tests.faults.disk import Cut, Disk
    from tests.faults.power_found import Written

UNREADABLE = (ThreediceError, apsw.Error, UnicodeDecodeError)
"""What is raised by a store whose file is damaged."""


@dataclass(slots=True)
class Tally:
    """What was injected, and what survived it."""

    rounds: int = 0
    cuts: int = 0
    dropped: int = 0
    torn: int = 0
    reordered: int = 0
    twice: int = 0
    acknowledged: int = 0
    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)

    def add_cut(self, cut: Cut) -> None:
        """Count what a cut did to the writes that were pending."""
        self.cuts += 1
        self.dropped += cut.dropped
        self.torn += cut.torn
        self.reordered += cut.reordered

    def add_found(self, found: Found, written: Written, where: str) -> None:
        """Count what was found afterwards."""
        self.acknowledged += len(written.acknowledged)
        self.present += found.present
        self.absent += found.absent
        self.lost += found.lost
        self.damaged += found.damaged
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        return (
            f"{self.cuts} power cuts in {self.rounds} rounds: {self.dropped} dropped writes,"
            f" {self.torn} tore sectors, {self.reordered} reordered writes,"
            f" {self.twice} came twice, the second during recovery\n"
            f"{self.acknowledged} acknowledged proposals looked for: {self.lost} lost;"
            f" in flight: {self.present} present, {self.absent} absent;"
            f" {self.damaged} databases damaged"
        )


def look(disk: Disk, written: Written) -> Found:
    """Open the store on a disk again and hold it against what was written."""
    try:
        with opened(disk) as store:
            found = compare(store, written)
        wrong = damage(disk)
    except UNREADABLE as error:
        return Found(
            damaged=True,
            unfit=isinstance(error, StoreUnusable),
            problems=[f"{type(error).__name__}: {error}"],
        )
    return found._replace(damaged=bool(wrong), problems=[*found.problems, *wrong])
