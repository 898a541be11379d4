"""

What can go wrong, as one tree; every layer raises from here and `cli` turns it into one line.

ThreediceError
├── RulebookError      a rulebook file is not well formed: file, key, clause, what to do
├── UnknownName        no game, box, reading, ... of that name: with the nearest that exist
├── InvalidInput       dice, amounts or odds that cannot be meant
├── Refusal            a person may not do this now: code, clause, facts
├── OperatingFailure   the house cannot do it at the moment; nothing was acknowledged
│   ├── Conflicted     others changed the stream first, again and again
│   ├── KeyReused      the idempotency key stands for another command already
│   ├── QueueFull      more is waiting to be written than may wait
│   ├── StoreAway      the database does not answer in time; it may come back
│   ├── StoreFailed    the database could not write; nothing is written until a person releases it
│   ├── StoreUnfit     the database is not one this program may serve: what is wrong, what to do
│   └── HouseOutdated  the program was replaced under a running house, which must be restarted
├── Tampered           what is stored is not what was written: where, and what is wrong
└── InvariantBroken    something that must always hold does not; stops the table
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class ThreediceError(Exception):
    """Anything that Threedice itself raises."""


class RulebookError(ThreediceError):
    """A rulebook that is refused: which file and key, under which clause, and how to mend it."""

    def __init__(self, file: str, key: str, problem: str, remedy: str, clause: str = "") -> None:
        self.file, self.key, self.clause = file, key, clause
        self.problem, self.remedy = problem, remedy
        under = f" (clause {clause})" if clause else ""
        super().__init__(f"{file}: {key}{under}: {problem}; {remedy}")


class UnknownName(ThreediceError):
    """A name that nothing has, with the nearest names that something does."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], suggestions: list[str] | None = None
    ) -> None:
        self.kind, self.name = kind, name
        self.nearest = suggestions or nearest_names(name, known)
        super().__init__(f"no {kind} {name!r}; {did_you_mean(self.nearest)}")


class InvalidInput(ThreediceError):
    """Input that has the wrong form, told in words that say what would be right."""


class Refusal(ThreediceError):
    """A command that is not accepted; everything is as it was."""

    def __init__(
        self, code: str, text: str, clause: tuple[str, ...], facts: dict[str, Any]
    ) -> None:
        self.code, self.clause, self.facts = code, clause, facts
        under = f" ({', '.join(clause)})" if clause else ""
        super().__init__(f"{text.format_map(facts)}{under}")


class OperatingFailure(ThreediceError):
    """The house cannot do something at the moment; nothing was acknowledged."""


class StreamConflict(OperatingFailure):
    """Others changed a stream first, more often than is tried again."""


class KeyReused(OperatingFailure):
    """An idempotency key that stands for another command already."""


class QueueFull(OperatingFailure):
    """More is waiting to be written than may wait; ask again later."""


class StoreUnavailable(OperatingFailure):
    """The database does not answer in time; what became of a command is to be asked by its key."""


class StoreFailed(OperatingFailure):
    """The database could not write; nothing more is written until a person releases it."""


class StoreUnusable(OperatingFailure):
    """A database that this program may not serve, with what to do about it."""


class HouseOutdated(OperatingFailure):
    """A house that runs in another version than is installed now; it must be restarted."""


class TamperedData(ThreediceError):
    """Something stored that is not what was written."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class InvariantBroken(ThreediceError):
    """Something that must always hold does not: a defect, never a person's mistake."""


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names most like the given one; where none is alike, the first few."""
    names = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), names, n=limit, cutoff=0.5)
    return [names[each] for each in close] or list(names.values())[:12]


def did_you_mean(names: list[str]) -> str:
    """Put the nearest names into words.

    >>> did_you_mean(["total:9", "total:10"])
    'did you mean total:9 or total:10?'
    """
    if not names:
        return "there is none to choose from"
    *most, last = names
    return f"did you mean {', '.join(most)} or {last}?" if most else f"did you mean {last}?"


class InfeasibleComputation(ThreediceError):
    """A question too large for an exact answer, with the size that was found."""

    def __init__(self, problem: str, size: int, remedy: str) -> None:
        self.size = size
        super().__init__(f"{problem}; {remedy}")
