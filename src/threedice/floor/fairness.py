"""Whether the dice of automatic rounds are those that the house had committed itself to.

From the entries of a table's stream alone: the seed hashes to what was committed before betting
opened, and the dice follow from it and from the head of the chain at the close: those that were
called, and also those that were entered, amended and paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.floor import events as happened
from threedice.floor.dealing import SECOND, closing_key
from threedice.floor.deciding import HOUSE, HOUSE_DEALER
from threedice.floor.encoding import decode, read_command
from threedice.floor.events import Timing
from threedice.floor.sealing import commitment, drawn
from threedice.log.entry import cause_of
from threedice.table.commands import CloseBetting
from threedice.table.events import (
    BettingClosed,
    BettingOpened,
    ResultAmended,
    ResultCalled,
    ResultEntered,
    RoundStarted,
    RoundVoided,
    WinnersPaid,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.dice import Roll
    from threedice.log.entry import Entry


@dataclass(frozen=True, slots=True)
class Checked:
    """The dice of a round, whether they are fair, and why not."""

    round: int
    dice: Roll | None
    problem: str = ""


@dataclass(slots=True)
class _Round:
    number: int
    commitment: str
    opened_at: int | None = None
    late: bool = False
    head: bytes = b""
    punctual: bool = True
    seed: bytes | None = None
    dice: Roll | None = None
    problem: str = ""


def check_dice(entries: Iterable[Entry]) -> Iterator[Checked]:
    """Yield every round of a table that the house dealt, and whether its dice were fair."""
    table, timing, by_house, committed, before = "", Timing(), False, "", 0
    current: _Round | None = None
    for entry in entries:
        match event := decode(entry):
            case happened.TableEstablished():
                table, timing = event.table, event.dealt_by_house or timing
                by_house = event.dealt_by_house is not None
            case happened.SeedCommitted():
                committed = event.commitment
                if current and current.dice is None:
                    current.commitment, current.late = committed, current.opened_at is not None
            case RoundStarted():
                yield from _told(current)
                current = _Round(event.round, committed)
                committed = ""
            case BettingOpened() if current:
                current.opened_at = entry.at
            case BettingClosed() if current:
                current.head = entry.hash
                current.punctual = _is_punctual(table, timing, current, entry, before)
            case happened.SeedRevealed() if current:
                current.seed = _bytes(event.seed)
            case RoundVoided() if current and current.commitment and current.dice is None:
                yield Checked(current.number, None, "void; its seed was never drawn from")
                current = None
            case ResultCalled() | ResultEntered() | ResultAmended() if current:
                if _is_of_house(current, by_house and event.by.id == HOUSE):
                    _hear(current, event.dice)
                else:
                    current = None  # people dealt it
            case WinnersPaid() if current and _is_of_house(current, by_house):
                _hear(current, event.dice)
            case _:
                pass
        before = entry.at
    yield from _told(current)


def _is_of_house(current: _Round, dealt: bool) -> bool:
    """Tell whether the dice of a round are the house's: it sealed them, called them, or deals."""
    sealed = bool(current.commitment) or current.seed is not None
    return sealed or current.dice is not None or dealt


def _hear(current: _Round, dice: Roll) -> None:
    """Take dice that were called, entered, amended or paid: the first, or the same again."""
    if current.dice is None:
        current.dice, current.problem = dice, _problem(current, dice)
    elif sorted(dice) != sorted(current.dice) and not current.problem:
        named = " ".join(map(str, dice))
        current.problem = f"the dice follow from the seed, and {named} were taken instead"


def _told(current: _Round | None) -> Iterator[Checked]:
    if current is not None and current.dice is not None:
        yield Checked(current.number, current.dice, current.problem)


def _is_punctual(table: str, timing: Timing, current: _Round, entry: Entry, before: int) -> bool:
    """Tell whether betting was closed when and as it had to be, which leaves the house no choice.

    The hash of this entry decides the dice: a house that could choose its time or its key could
    try until it liked them.
    """
    due = (current.opened_at or 0) + round(timing.betting_seconds * SECOND)
    _, said = read_command(table, CloseBetting(by=HOUSE_DEALER))
    cause = cause_of(HOUSE, closing_key(table, current.number), said)
    return entry.at == max(due, before) and entry.cause == cause


def _problem(current: _Round, dice: Roll) -> str:
    if not current.commitment:
        return "no seed was committed to"
    if current.late:
        return "the seed was committed to after betting had opened"
    if current.seed is None:
        return "the dice were called before the seed was revealed"
    if commitment(current.seed) != current.commitment:
        return "the seed is not the one that was committed to"
    if not current.head or drawn(current.seed, current.head) != dice:
        return "the dice do not follow from the seed and the bets"
    if not current.punctual:
        return "betting was not closed when and as it had to be"
    return ""


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
