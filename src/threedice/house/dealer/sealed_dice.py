"""Commit to a seed, draw the dice from it, and verify both from the log.

The house commits to a seed by its hash before betting opens. After betting has closed, the dice are
drawn from the seed and the head of the table's chain at that moment, so they depend on every bet.
Then the seed is revealed, and anyone can check the dice. docs/adr/0013 states what this proves and
what it does not.

`check_dice` needs only the entries of a table's stream. It verifies that the seed has the committed
hash, that betting closed at the prescribed time, and that the dice called, entered, amended and
paid are the dice drawn.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from threedice.house import events
from threedice.house.codec import decode, normalise_command
from threedice.house.decisions import HOUSE_ACCOUNT, HOUSE_DEALER
from threedice.house.events import Timing
from threedice.log.entry import hash_cause
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
    from threedice.house.stream_state import HouseTable
    from threedice.log.entry import Entry


SEED_BYTES = 32
MICROSECONDS_PER_SECOND: Final = 1_000_000

_REJECTION_LIMIT = 252
"""The largest multiple of six that fits in a byte; bytes from here up are skipped as biased."""


def seed_commitment(seed: bytes) -> str:
    """Return the hash that commits the house to a seed."""
    return sha256(seed).hexdigest()


def draw_dice(seed: bytes, head: bytes) -> Roll:
    """Return the dice of a round: unbiased faces from HMAC-SHA256 of the head under the seed.

    >>> draw_dice(bytes(32), bytes(32))
    (4, 1, 1)
    """
    faces: list[int] = []
    block = 0
    while len(faces) < 3:
        digest = hmac.digest(seed, head + block.to_bytes(4, "big"), "sha256")
        faces += [1 + byte % 6 for byte in digest if byte < _REJECTION_LIMIT]
        block += 1
    return (faces[0], faces[1], faces[2])


def closing_time(house_table: HouseTable) -> int:
    """Return the time at which betting must close, computed from the log alone."""
    timing = house_table.dealt_by_house or Timing()
    return house_table.betting_since + round(timing.betting_seconds * MICROSECONDS_PER_SECOND)


def closing_key(table: str, number: int) -> str:
    """Return the idempotency key with which the house closes betting in a round."""
    return f"{table} round {number} CloseBetting"


@dataclass(frozen=True, slots=True)
class DiceCheck:
    """The dice of a round, and the problem with them; without a problem they are fair."""

    round: int
    dice: Roll | None
    problem: str = ""


@dataclass(slots=True)
class _SealedRound:
    number: int
    commitment: str
    opened_at: int | None = None
    is_late: bool = False
    head: bytes = b""
    is_punctual: bool = True
    seed: bytes | None = None
    dice: Roll | None = None
    problem: str = ""


def check_dice(entries: Iterable[Entry]) -> Iterator[DiceCheck]:
    """Yield a check of the dice of every round of a table that the house dealt."""
    table, timing, by_house, commitment, previous_at = "", Timing(), False, "", 0
    current: _SealedRound | None = None
    for entry in entries:
        match event := decode(entry):
            case events.TableEstablished():
                table, timing = event.table, event.dealt_by_house or timing
                by_house = event.dealt_by_house is not None
            case events.SeedCommitted():
                commitment = event.commitment
                if current and current.dice is None:
                    current.commitment, current.is_late = commitment, current.opened_at is not None
            case RoundStarted():
                yield from _finish_round(current)
                current = _SealedRound(event.round, commitment)
                commitment = ""
            case BettingOpened() if current:
                current.opened_at = entry.at
            case BettingClosed() if current:
                current.head = entry.hash
                current.is_punctual = _is_punctual(table, timing, current, entry, previous_at)
            case events.SeedRevealed() if current:
                current.seed = _decode_hex(event.seed)
            case RoundVoided() if current and current.commitment and current.dice is None:
                yield DiceCheck(current.number, None, "void; its seed was never drawn from")
                current = None
            case ResultCalled() | ResultEntered() | ResultAmended() if current:
                if _is_of_house(current, by_house and event.by.id == HOUSE_ACCOUNT):
                    _record_dice(current, event.dice)
                else:
                    current = None  # people dealt it
            case WinnersPaid() if current and _is_of_house(current, by_house):
                _record_dice(current, event.dice)
            case _:
                pass
        previous_at = entry.at
    yield from _finish_round(current)


def _is_of_house(current: _SealedRound, dealt: bool) -> bool:
    """Return whether the dice of a round are the house's: sealed, called before, or dealt by it."""
    sealed = bool(current.commitment) or current.seed is not None
    return sealed or current.dice is not None or dealt


def _record_dice(current: _SealedRound, dice: Roll) -> None:
    """Record dice that were called, entered, amended or paid; all must be the same."""
    if current.dice is None:
        current.dice, current.problem = dice, _find_problem(current, dice)
    elif sorted(dice) != sorted(current.dice) and not current.problem:
        named = " ".join(map(str, dice))
        current.problem = f"the dice follow from the seed, but {named} were used instead"


def _finish_round(current: _SealedRound | None) -> Iterator[DiceCheck]:
    if current is not None and current.dice is not None:
        yield DiceCheck(current.number, current.dice, current.problem)


def _is_punctual(
    table: str, timing: Timing, current: _SealedRound, entry: Entry, previous_at: int
) -> bool:
    """Return whether betting closed at the prescribed time, with the prescribed key and command.

    The hash of this entry decides the dice: a house that could choose its time or key could try
    values until it liked the dice.
    """
    due = (current.opened_at or 0) + round(timing.betting_seconds * MICROSECONDS_PER_SECOND)
    _, command_hash = normalise_command(table, CloseBetting(by=HOUSE_DEALER))
    cause = hash_cause(HOUSE_ACCOUNT, closing_key(table, current.number), command_hash)
    return entry.at == max(due, previous_at) and entry.cause == cause


def _find_problem(current: _SealedRound, dice: Roll) -> str:
    if not current.commitment:
        return "no seed was committed to"
    if current.is_late:
        return "the seed was committed to after betting had opened"
    if current.seed is None:
        return "the dice were called before the seed was revealed"
    if seed_commitment(current.seed) != current.commitment:
        return "the seed is not the one that was committed to"
    if not current.head or draw_dice(current.seed, current.head) != dice:
        return "the dice do not follow from the seed and the bets"
    if not current.is_punctual:
        return "betting was not closed at the prescribed time or not by the prescribed command"
    return ""


def _decode_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
