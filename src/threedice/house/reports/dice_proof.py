"""Collect what anyone needs to verify the dice of a round that the house dealt.

The hash of an entry covers the hash before it, so the links from the commitment to the close of
betting prove that the head, from which the dice are drawn, follows from every bet. Entries that the
reader may not see are links with a hash only; docs/adr/0013 states what that proves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from threedice.house import events
from threedice.house.codec import decode
from threedice.table.events import BettingClosed, ResultCalled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.dice import Roll
    from threedice.house.events import AnyStreamEvent
    from threedice.log.entry import Entry


class LinkedEntry(msgspec.Struct, frozen=True):
    """The columns of an entry that its hash covers besides version, time and previous hash.

    `data` is the JSON as stored, `cause` the hash of the command in hexadecimal.
    """

    kind: str
    schema: int
    data: str
    cause: str


class ChainLink(msgspec.Struct, frozen=True):
    """A link of a table's hash chain; `entry` is None if the reader may not see it."""

    version: int
    at: int
    hash: str
    entry: LinkedEntry | None


class DiceProof(msgspec.Struct, frozen=True):
    """The proof of the dice of a round: the seed, the chain from commitment to close, the dice.

    `previous` is the hash before the first link. Seed and dice are None until they are called;
    there are no links if the round was not dealt by the house.
    """

    round: int
    stream: str
    betting_seconds: float
    previous: str
    links: list[ChainLink]
    seed: str | None
    dice: tuple[int, int, int] | None


def build_dice_proof(
    number: int,
    entries: Iterable[Entry],
    betting_seconds: float,
    is_visible: Callable[[AnyStreamEvent], bool],
) -> DiceProof:
    """Return the proof of a round from its entries and the two before its start."""
    stream, previous, seed = "", "", None
    dice: Roll | None = None
    links: list[ChainLink] = []
    before, is_closed = "", False
    for entry in entries:
        event, stream = decode(entry), entry.stream
        if isinstance(event, events.SeedCommitted) and event.round == number:
            previous, links = before, []
        if previous and not is_closed:
            links.append(_link(entry, is_visible(event)))
        match event:
            case BettingClosed():
                is_closed = True
            case events.SeedRevealed(round=revealed) if revealed == number:
                seed = event.seed
            case ResultCalled() if dice is None:
                dice = event.dice
            case _:
                pass
        before = entry.hash.hex()
    called = dice if seed else None
    return DiceProof(number, stream, betting_seconds, previous, links, seed, called)


def _link(entry: Entry, visible: bool) -> ChainLink:
    columns = LinkedEntry(entry.kind, entry.schema, entry.data.decode(), entry.cause.hex())
    return ChainLink(entry.version, entry.at, entry.hash.hex(), columns if visible else None)
