"""A round of play as the log sees it: batches of proposals, of the sizes and shapes of real ones,
and a checkpoint of what went before."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from threedice.log.entry import EMPTY_HEAD, Head, NewEntry, extend_stream, hash_cause
from threedice.log.records import Append, Checkpoint, Proposal

if TYPE_CHECKING:
    from random import Random

Batch = list[Proposal]
Step = Batch | Checkpoint
Wanted = Mapping[str, list[NewEntry]]

TABLES = ("table/1", "table/2")
PLAYERS = ("anna", "ben", "chloe")


class Play:
    """Proposes rounds, one after the other; each proposal takes those before it for accepted."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._heads: dict[str, Head] = {}
        self._proposed = self._checkpoints = 0

    def after(self, random: Random) -> Play:
        """Return a play that goes on from here in its own way."""
        other = Play(random)
        other._heads = dict(self._heads)
        other._proposed, other._checkpoints = self._proposed, self._checkpoints
        return other

    def round(self) -> list[Step]:
        """Return the steps of a round: a game pinned, buy-ins, bets, the roll, settlement."""
        table = self._random.choice(TABLES)
        return [
            [self._opened(table)],
            [self._bought_in(table, player) for player in PLAYERS],
            self._signed(),
            *([self._bet(table) for _ in range(bets)] for bets in self._bets()),
            [self._said(table, "BettingClosed", 40), self._said(table, "Rolled", 12)],
            [self._settled(table)],
        ]

    def _bets(self) -> list[int]:
        return [self._random.choice((1, 2, 3, 8)) for _ in range(self._random.randint(1, 3))]

    def _opened(self, table: str) -> Proposal:
        game = self._random.randbytes(self._random.choice((300, 6000)))
        records = self._records("RoundOpened", 64)
        return self._proposed_by("dealer", {table: records}, {sha256(game).hexdigest(): game})

    def _bought_in(self, table: str, player: str) -> Proposal:
        moved = {
            f"cage/{player}": self._records("Withdrawn", 60),
            table: self._records("BoughtIn", 70),
        }
        return self._proposed_by(player, moved)

    def _bet(self, table: str) -> Proposal:
        player = self._random.choice(PLAYERS)
        return self._proposed_by(player, {table: self._records("BetPlaced", 90)})

    def _said(self, table: str, kind: str, size: int) -> Proposal:
        return self._proposed_by("dealer", {table: self._records(kind, size)})

    def _settled(self, table: str) -> Proposal:
        """Return what is larger than a page, so that it lies in more sectors than one."""
        many = self._random.choice((3, 12, 40))
        paid = [each for _ in range(many) for each in self._records("BetSettled", 180)]
        return self._proposed_by("dealer", {table: [*paid, *self._records("RoundEnded", 900)]})

    def _signed(self) -> Checkpoint:
        self._checkpoints += 1
        return Checkpoint(self._checkpoints, self._random.randbytes(400), "key", bytes(64))

    def _records(self, kind: str, size: int) -> list[NewEntry]:
        return [NewEntry(kind, 1, self._random.randbytes(size))]

    def _proposed_by(
        self, account: str, wanted: Wanted, games: Mapping[str, bytes] | None = None
    ) -> Proposal:
        self._proposed += 1
        key, command_hash = f"key-{self._proposed}", self._random.randbytes(32)
        cause = hash_cause(account, key, command_hash)
        appends = []
        for stream, records in wanted.items():
            expected = self._heads.get(stream, EMPTY_HEAD)
            at = 1_700_000_000_000_000 + self._proposed
            entries, self._heads[stream] = extend_stream(expected, stream, at, cause, records)
            appends.append(Append(stream, expected, entries))
        return Proposal(account, key, command_hash, tuple(appends), games or {})
