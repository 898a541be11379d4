"""The exceptions that Threedice raises, as one tree; the command line prints each as one line.

ThreediceError
├── RulebookError          a rulebook file is invalid: file, key, clause, what to do
├── UnknownName            no game, box, reading, ... has this name; lists the nearest names
├── InvalidInput           dice, amounts or odds that make no sense
│   ├── InvalidToml        a TOML file cannot be read, or exceeds a limit: what to do
│   ├── MissingExtra       an optional part of the package is not installed; also an ImportError
│   └── UnsupportedSystem  this part of the package needs a POSIX system; also an ImportError
├── InfeasibleComputation  a question too large for an exact answer
├── Refusal                a person may not do this now: code, clause, facts
├── OperatingFailure       the house cannot do this at the moment; nothing was acknowledged
│   ├── StreamConflict     the stream kept changing until the retries were used up
│   ├── KeyReused          the idempotency key belongs to another command
│   ├── QueueFull          the write queue is full
│   ├── StoreUnavailable   the database does not respond in time; it may recover
│   ├── StoreFailed        the database failed to write; writing stops until a person releases it
│   └── StoreUnusable      the database must not be used: what is wrong, what to do
├── TamperedData           stored data differs from what was written: where, what is wrong
└── InvariantBroken        an invariant does not hold; stops the table
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class ThreediceError(Exception):
    """Base class of everything that Threedice raises."""


class RulebookError(ThreediceError):
    """A rulebook is invalid: the file and key, the clause, the problem and the remedy."""

    def __init__(self, file: str, key: str, problem: str, remedy: str, clause: str = "") -> None:
        self.file, self.key, self.clause = file, key, clause
        self.problem, self.remedy = problem, remedy
        under = f" (clause {clause})" if clause else ""
        super().__init__(f"{file}: {key}{under}: {problem}; {remedy}")


class UnknownName(ThreediceError):
    """Nothing has this name; `nearest` lists similar names that exist."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], suggestions: list[str] | None = None
    ) -> None:
        self.kind, self.name = kind, name
        self.nearest = suggestions or nearest_names(name, known)
        super().__init__(f"no {kind} {name!r}; {did_you_mean(self.nearest)}")


class InvalidInput(ThreediceError):
    """Input is malformed; the message says what is expected."""


class InvalidToml(InvalidInput):
    """A TOML file cannot be read, is malformed or exceeds a limit: the problem and the remedy."""

    def __init__(self, file: object, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{file} {problem}; {remedy}")


class MissingExtra(InvalidInput, ImportError):
    """An optional part of the package is needed and not installed; the message says how to."""

    def __init__(self, subject: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{subject} needs the extra \"{extra}\": pip install 'threedice[{extra}]'")


class UnsupportedSystem(InvalidInput, ImportError):
    """A part of the package needs a POSIX system, for the locks of its files."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"{subject} needs a POSIX system, such as Linux or macOS")


class InfeasibleComputation(ThreediceError):
    """A question is too large for an exact answer; `size` is how large it is."""

    def __init__(self, problem: str, size: int, remedy: str) -> None:
        self.size = size
        super().__init__(f"{problem}; {remedy}")


class Refusal(ThreediceError):
    """A command is refused; it has changed nothing."""

    def __init__(
        self, code: str, text: str, clause: tuple[str, ...], facts: dict[str, Any]
    ) -> None:
        self.code, self.text, self.clause, self.facts = code, text, clause, facts
        under = f" ({', '.join(clause)})" if clause else ""
        super().__init__(f"{text.format_map(facts)}{under}")


class OperatingFailure(ThreediceError):
    """The house cannot do this at the moment; nothing was acknowledged."""


class StreamConflict(OperatingFailure):
    """Concurrent writers kept changing the stream until the retries were used up."""


class KeyReused(OperatingFailure):
    """The idempotency key belongs to another command."""


class QueueFull(OperatingFailure):
    """The write queue is full; try again later."""


class StoreUnavailable(OperatingFailure):
    """The database does not respond in time.

    The command may have been written: send it again with the same idempotency key to find out.
    """


class StoreFailed(OperatingFailure):
    """The database failed to write; nothing is written until a person releases the house."""


class StoreUnusable(OperatingFailure):
    """This program must not use the database; the message says what to do."""


class MissingTables(StoreUnusable):
    """The database has no tables, where those of a house were expected."""


class TamperedData(ThreediceError):
    """Stored data differs from what was written."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class ForeignEntries(TamperedData):
    """The end of a stream was not written by the house; it stops until a person releases it."""

    def __init__(self, stream: str, problem: str) -> None:
        self.stream = stream
        super().__init__(stream, problem)


class EntriesMissing(ForeignEntries):
    """A stream lacks entries that it is known to have had; only a backup brings them back."""


class InvariantBroken(ThreediceError):
    """An invariant does not hold: a defect, never a person's mistake."""


class BalanceMismatch(InvariantBroken):
    """The state of a stream, or the chips in it, disagree with its postings; the stream must stop.

    `by` names what holds the other amount.
    """

    def __init__(
        self, stream: str, account: str, held: int, posted: int, by: str = "the state"
    ) -> None:
        self.stream = stream
        super().__init__(
            f"{stream}: {account} holds {held} by {by}, but its postings sum to {posted}"
        )


def nearest_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names most similar to the given one, or the first 12 if none is similar."""
    names = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), names, n=limit, cutoff=0.5)
    return [names[each] for each in close] or list(names.values())[:12]


def did_you_mean(names: list[str]) -> str:
    """Return a question that suggests the nearest names.

    >>> did_you_mean(["total:9", "total:10"])
    'did you mean total:9 or total:10?'
    """
    if not names:
        return "there are none to choose from"
    *others, last = names
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
