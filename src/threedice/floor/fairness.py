"""Whether the dice of automatic rounds are those that the house had committed itself to.

From the entries of a table's stream alone: the seed hashes to what was committed before betting
opened, and the dice follow from it and from the head of the chain at the close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.floor import events as happened
from threedice.floor.encoding import decode
from threedice.floor.sealing import commitment, drawn
from threedice.table.events import BettingClosed, BettingOpened, ResultCalled, RoundStarted

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
    commitment: str = ""
    opened: bool = False
    late: bool = False
    head: bytes = b""
    seed: bytes | None = None


def check_dice(entries: Iterable[Entry]) -> Iterator[Checked]:
    """Yield every round of a table that the house dealt, and whether its dice were fair."""
    committed = ""
    current: _Round | None = None
    for entry in entries:
        match event := decode(entry):
            case happened.SeedCommitted():
                committed = event.commitment
                if current and not current.head:
                    current.commitment, current.late = committed, current.opened
            case RoundStarted():
                current = _Round(event.round, committed)
                committed = ""
            case BettingOpened() if current:
                current.opened = True
            case BettingClosed() if current:
                current.head = entry.hash
            case happened.SeedRevealed() if current:
                current.seed = _bytes(event.seed)
            case happened.SeedLost():
                yield Checked(event.round, None, "the seed is lost; the round is void")
            case ResultCalled() if current and (current.commitment or current.seed is not None):
                yield Checked(current.number, event.dice, _problem(current, event.dice))
            case _:
                pass


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
    return ""


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
