"""Rounds written to a store on a simulated disk, and the comparison of the store after a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from tests.faults.simulated_disk import Disk, Image, Operation
from tests.faults.sqlite_on_disk import Level, open_on_disk
from tests.log.inspection import all_answers, all_games
from threedice.log.entry import EMPTY_HEAD, Head, NewEntry, extend_stream, hash_cause, hash_entry
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.log.records import (
    Acceptance,
    Append,
    Checkpoint,
    EntrySpan,
    ProjectionLine,
    Proposal,
    Snapshot,
    StoredAnswer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.log.entry import Entry
    from threedice.log.store import Store

Batch = list[Proposal]
Step = Batch | Checkpoint
Wanted = Mapping[str, list[NewEntry]]

TABLES = ("table/1", "table/2")
PLAYERS = ("anna", "ben", "chloe")


class RoundGenerator:
    """Generates proposals of rounds in realistic sizes, each on the heads of the previous one."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._heads: dict[str, Head] = {}
        self._proposed = self._checkpoints = 0

    def fork(self, random: Random) -> RoundGenerator:
        """Return a generator that continues from here with other random numbers."""
        other = RoundGenerator(random)
        other._heads = dict(self._heads)
        other._proposed, other._checkpoints = self._proposed, self._checkpoints
        return other

    def round(self) -> list[Step]:
        """Return the steps of a round: pinned game, buy-ins, bets, roll and settlement."""
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
        """Return a settlement larger than a page, so that it spans several sectors."""
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


class WriteHistory(NamedTuple):
    """The proposals acknowledged before a fault, and those in flight."""

    acknowledged: Sequence[Proposal]
    checkpoints: Sequence[Checkpoint]
    in_flight: Sequence[Proposal] = ()


class Comparison(NamedTuple):
    """The result of comparing a store with a write history; `problems` describes differences."""

    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: bool = False
    unfit: bool = False
    problems: Sequence[str] = ()


def compare(store: Store, written: WriteHistory) -> Comparison:
    """Compare a store with the proposals acknowledged before a fault, and those in flight."""
    acknowledged, in_flight = written.acknowledged, written.in_flight
    streams = {stream: list(store.scan(stream)) for stream in store.streams()}
    answers = {(each.account, each.key): each for each in all_answers(store)}
    games = all_games(store)
    problems = [*_broken_chains(streams, store.heads())]
    lost = [each for each in acknowledged if not _is_stored(each, streams, answers, games)]
    problems += [f"acknowledged, but not stored completely: {each.key}" for each in lost]
    present = [each for each in in_flight if _is_stored(each, streams, answers, games)]
    absent = [each for each in in_flight if _is_absent(each, streams, answers)]
    if len(present) + len(absent) != len(in_flight):
        problems.append("a proposal in flight is stored in part")
    if present and absent:
        problems.append("a batch in flight is stored in part")
    if not set(written.checkpoints) <= set(store.checkpoints()):
        problems.append("an acknowledged checkpoint is missing")
    if not lost:
        problems += _unexpected_rows([*acknowledged, *present], streams, answers)
    return Comparison(len(present), len(absent), len(lost), problems=problems)


def _is_stored(
    proposal: Proposal,
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
    games: dict[str, bytes],
) -> bool:
    """Return whether a proposal is stored with all entries, its answer and its games."""
    spans = tuple(
        EntrySpan(each.stream, each.entries[0].version, each.entries[-1].version)
        for each in proposal.appends
    )
    answer = StoredAnswer(proposal.account, proposal.key, proposal.command_hash, spans)
    return (
        answers.get((proposal.account, proposal.key)) == answer
        and all(
            streams.get(span.stream, [])[span.first - 1 : span.last] == list(append.entries)
            for span, append in zip(spans, proposal.appends, strict=True)
        )
        and all(games.get(name) == game for name, game in proposal.games.items())
    )


def _is_absent(
    proposal: Proposal,
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
) -> bool:
    return (proposal.account, proposal.key) not in answers and all(
        len(streams.get(append.stream, [])) <= append.expected.version
        for append in proposal.appends
    )


def _broken_chains(streams: dict[str, list[Entry]], heads: dict[str, Head]) -> Iterable[str]:
    for stream, entries in streams.items():
        head = EMPTY_HEAD
        for entry in entries:
            _, version, at, kind, schema, data, cause, hashed = astuple(entry)
            if version != head.version + 1:
                yield f"{stream}: version {version} follows {head.version}"
            if hashed != hash_entry(head.hash, stream, version, at, kind, schema, data, cause):
                yield f"{stream}: the hash of version {version} is not that of its columns"
            head = Head(version, hashed)
        if heads.get(stream, EMPTY_HEAD) != head:
            yield f"{stream}: its head is not its last entry"


def _unexpected_rows(
    proposals: Sequence[Proposal],
    streams: dict[str, list[Entry]],
    answers: dict[tuple[str, str], StoredAnswer],
) -> Iterable[str]:
    """Yield descriptions of rows that belong to no expected proposal, nor to people's records."""
    recorded = streams.get(PEOPLE_STREAM, [])  # each with an answer of its own
    entries = sum(len(append.entries) for each in proposals for append in each.appends)
    if entries + len(recorded) != sum(map(len, streams.values())):
        yield "there are entries that no proposal accounts for"
    if len(answers) != len(proposals) + len(recorded):
        yield "there are answers to no proposal"


class DiskKind(NamedTuple):
    """The sector size of a disk, and whether it has powersafe overwrite."""

    sector: int
    powersafe: bool

    def __str__(self) -> str:
        overwrite = "powersafe overwrite" if self.powersafe else "no powersafe overwrite"
        return f"sectors of {self.sector} bytes, {overwrite}"

    def new(self, image: Image) -> Disk:
        """Return a disk of this kind with an image on it."""
        return Disk(image, sector=self.sector, powersafe=self.powersafe)

    def replayed(self, image: Image, trace: Iterable[Operation]) -> Disk:
        """Return a disk of this kind with operations replayed."""
        disk = self.new(image)
        for operation in trace:
            disk.replay(operation)
        return disk


DISK_KINDS = (
    DiskKind(512, False),
    DiskKind(4096, True),
    DiskKind(512, True),
    DiskKind(4096, False),
)


@dataclass(frozen=True, slots=True)
class BaseDatabase:
    """An existing database: its image, its write history, and the generator of further rounds."""

    image: Image
    written: WriteHistory
    generator: RoundGenerator


@dataclass(frozen=True, slots=True)
class Recording:
    """The trace of some steps, and the operations at which each step began and was acknowledged."""

    base: BaseDatabase
    trace: list[Operation]
    steps: list[Step]
    marks: list[tuple[int, int]]

    def written(self, moment: int) -> WriteHistory:
        """Return the proposals acknowledged after a number of operations, and those in flight."""
        acknowledged, checkpoints = list(self.base.written.acknowledged), []
        in_flight: list[Proposal] = []
        for step, (began, ended) in zip(self.steps, self.marks, strict=True):
            if isinstance(step, Checkpoint):
                checkpoints += [step] if ended <= moment else []
            elif ended <= moment:
                acknowledged += step
            elif began <= moment:
                in_flight += step
        return WriteHistory(acknowledged, [*self.base.written.checkpoints, *checkpoints], in_flight)


def record(
    base: BaseDatabase, disk: Disk, steps: list[Step], *, level: Level, checkpoint_every: int
) -> Recording:
    """Write steps to the store on a disk, from its opening to its closing."""
    marks = []
    with open_on_disk(disk, level=level, checkpoint_every=checkpoint_every) as store:
        for step in steps:
            began = len(disk.trace)
            write(store, step)
            marks.append((began, len(disk.trace)))
    return Recording(base, disk.trace, steps, marks)


def write(store: Store, step: Step) -> None:
    """Write one step, which must be accepted.

    A checkpoint comes with a snapshot, a projection, and an erasure, which checkpoints the WAL.
    """
    if isinstance(step, Checkpoint):
        store.add_checkpoint(step)
        store.set_person("anna", step.body)
        store.erase_person("anna")
        name = f"round-{step.number}"
        line = ProjectionLine("results", "", name, 1, 0, step.number, step.body)
        assert store.project("results", name, 0, 1, [line])
        store.save_snapshot(Snapshot("table/1", "state", "1", EMPTY_HEAD, step.body * 4))
    else:
        outcomes = store.write(step)
        assert all(isinstance(each, Acceptance) for each in outcomes), outcomes


@cache
def base_databases() -> tuple[BaseDatabase, ...]:
    """Return a closed database, one of a killed process, and an empty one."""
    disk, generator = Disk({}), RoundGenerator(Random(1))
    steps = [step for _ in range(2) for step in generator.round()]
    proposals = [each for step in steps if not isinstance(step, Checkpoint) for each in step]
    written = WriteHistory(proposals, [step for step in steps if isinstance(step, Checkpoint)])
    with open_on_disk(disk) as store:
        for step in steps:
            write(store, step)
        killed = disk.image()
    return (
        BaseDatabase(disk.image(), written, generator),
        BaseDatabase(killed, written, generator),
        BaseDatabase({}, WriteHistory([], []), RoundGenerator(Random(1))),
    )
