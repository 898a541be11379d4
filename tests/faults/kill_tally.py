"""What kills have done, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.kill_found import Found
    from tests.faults.kill_words import Heard
    from threedice.house import CommandResult
    from threedice.log.entry import Entry


@dataclass(slots=True)
class Tally:
    """Processes that were killed while they wrote, and what survived it."""

    points: Counter[str] = field(default_factory=Counter)
    between: int = 0
    told: int = 0
    lost: int = 0
    untold: int = 0
    absent: int = 0
    again: int = 0
    interrupted: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """How often a process was killed."""
        return self.points.total()

    def add(self, point: str, found: Found, where: str) -> None:
        """Count a kill."""
        self.points[point] += 1
        self.between += found.untold > 0
        self.told += found.told
        self.lost += found.lost
        self.untold += found.untold
        self.absent += found.absent
        self.again += found.again
        self.interrupted += found.interrupted
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        points = ", ".join(f"{count} {point}" for point, count in sorted(self.points.items()))
        return (
            f"{self.kills} processes killed ({points}),"
            f" {self.between} of them between commit and acknowledgement\n"
            f"{self.told} acknowledged commands looked for: {self.lost} lost;"
            f" in flight: {self.untold} stored as a whole, {self.absent} absent;"
            f" {self.again} asked again; {self.interrupted} tables came back interrupted;"
            f" {len(self.problems)} problems"
        )


@dataclass(slots=True)
class ServerTally:
    """Kills of PostgreSQL under a house that went on, and what survived them."""

    kills: Counter[str] = field(default_factory=Counter)
    told: int = 0
    lost: int = 0
    met: int = 0
    away: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, way: str, met: int, found: Found, heard: Heard) -> None:
        """Count a kill, and how many commands it met on their way."""
        self.kills[way] += 1
        self.met += met
        self.told += found.told
        self.lost += found.lost
        self.away += len(heard.failures)
        where = f"kill {self.kills.total()} ({way})"
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        kills = ", ".join(f"{count} {what}" for what, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills in PostgreSQL ({kills}), which met {self.met} commands;"
            f" {self.away} times somebody heard that the store was away\n"
            f"{self.told} acknowledged commands looked for: {self.lost} lost;"
            f" {len(self.problems)} problems"
        )


@dataclass(slots=True)
class ListenerTally:
    """Connections that listened and were killed; all houses listened again after each."""

    killed: int = 0
    written: int = 0
    shown: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, killed: int, answer: CommandResult, shown: list[Entry]) -> None:
        """Count what one house wrote after a kill, and whether another has shown just that."""
        self.killed += killed
        self.written += 1
        if tuple(shown) == answer.entries:
            self.shown += 1
        else:
            self.problems.append(f"{answer.entries} were written, {shown} shown")

    def __str__(self) -> str:
        return (
            f"{self.killed} listening connections killed:"
            f" {self.shown} of {self.written} bets were shown by the other house"
        )
