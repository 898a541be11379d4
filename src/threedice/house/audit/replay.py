"""Replay streams and compare snapshots, balances and statement rows with the stored ones.

Statement rows are compared as they are projected, so that none are held in memory; if any differ,
the stream is projected a second time to find out which.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from threedice.errors import TamperedData
from threedice.house.codec import CURRENT_SCHEMA, EVENT_DECODERS, decode, tag_of
from threedice.house.events import HouseEvent, TableEstablished
from threedice.house.reports.projection import FORMER_VIEWS, VIEW, StatementProjector, StatementRow
from threedice.house.stream_state import HouseTable, fold_of
from threedice.ledger import EVENTS_WITHOUT_POSTINGS, Balances, account_postings, post_event
from threedice.log.entry import Entry
from threedice.log.proof import IntegrityFinding
from threedice.log.stores import schema
from threedice.table import events
from threedice.table.evolve import add_placement

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from threedice.account.events import AnyPlayerAccountEvent
    from threedice.house.events import AnyStreamEvent
    from threedice.log.store import StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


_kind_of_row: Final = itemgetter(3)

_BET_KIND: Final = tag_of(events.BetPlaced)
_BET_DECODERS: Final = {CURRENT_SCHEMA: msgspec.json.Decoder(events.BetPlaced).decode}

_PINNING_KINDS: Final = frozenset(
    tag_of(kind) for kind in (TableEstablished, events.TableOpened, events.RoundStarted)
)
"""Kinds of entries that pin a game."""

_STEP_KINDS: Final = frozenset(tag_of(kind) for kind in EVENTS_WITHOUT_POSTINGS) - _PINNING_KINDS
"""Kinds of entries that only advance a round: no postings, no statement rows."""

_SETTLED_KIND: Final = tag_of(events.WinnersPaid)

_SETTLEMENT_KINDS: Final = frozenset({tag_of(events.LosersCollected), _SETTLED_KIND})
"""Other kinds of entries that do not need the positions of single bets."""

KINDS_WITHOUT_ROWS: Final = _STEP_KINDS | {_BET_KIND}
"""The commonest kinds of entries, which have no statement rows."""


class StreamReplay:
    """The replay of one stream: its state, its balances and its statement rows.

    `stored_snapshot` is a tuple of form, version, hash and data.
    """

    def __init__(
        self,
        name: str,
        stored_snapshot: StoredRow | None,
        statements: StreamStatementsReplay,
        games: Container[str],
    ) -> None:
        self.name, self._stored_snapshot = name, stored_snapshot
        self._statements, self._games = statements, games
        self._snapshot_version = stored_snapshot[1] if stored_snapshot else 0
        self._fold, self._is_account = fold_of(name), name.startswith("cage/")
        self._state: Any = self._fold.state_type()
        self.balances = Balances()
        self._findings: list[IntegrityFinding] = []
        self._version = 0
        self._deferred_bets: list[events.BetPlaced] = []
        self.failed = False
        if type(self._snapshot_version) is not int or (
            stored_snapshot and self._snapshot_version < 1
        ):
            self._note(f"snapshot of {name}", f"has an invalid version: {self._snapshot_version!r}")
            self._stored_snapshot, self._snapshot_version = None, 0

    @property
    def state(self) -> Any:
        """The state after the entries replayed so far."""
        self._place_deferred_bets()
        return self._state

    def apply(self, rows: Sequence[StoredRow]) -> None:
        """Fold the next entries; raise `TamperedData` at one that no command can have caused."""
        before = self._snapshot_version - rows[0][1] + 1  # versions follow one another
        try:
            if 0 < before <= len(rows):
                self._apply_all(rows[:before])
                self._compare_snapshot(rows[before - 1][7])
                self._apply_all(rows[before:])
            else:
                self._apply_all(rows)
        except TamperedData:
            self.failed = True
            raise
        except Exception as error:  # events that no command could have caused can raise anything
            self.failed = True
            problem = f"cannot follow from the entries before: {str(error) or type(error).__name__}"
            raise TamperedData(f"{self.name} version {self._version}", problem) from None

    def _apply_all(self, rows: Sequence[StoredRow]) -> None:
        for kind, group in groupby(rows, key=_kind_of_row):
            if kind == _BET_KIND and self._has_only_box_bets():
                self._apply_bets(group)
            else:
                self._apply_each(group)

    def _apply_each(self, rows: Iterable[StoredRow]) -> None:
        evolve, state = self._fold.evolve, self._state
        for row in rows:
            _, self._version, at, kind, _, _, _, _ = row
            event = decode_row(row)
            if kind in _STEP_KINDS:
                evolve(state, event, at, self._version)
            else:
                self._apply_one(row, event)

    def _apply_one(self, row: StoredRow, event: Any) -> None:
        _, version, at, kind, _, _, _, _ = row
        if kind in _PINNING_KINDS:
            self._require_game(event)
        if kind not in _SETTLEMENT_KINDS:
            self._place_deferred_bets()
        self._fold.evolve(self._state, event, at, version)
        self._post(event)
        if self._is_account and self._state.balance < 0:
            raise TamperedData(f"{self.name} version {version}", "the account went below zero")
        if kind != _BET_KIND:
            self._statements.apply(Entry(*row), event)
        if kind == _SETTLED_KIND:
            self._deferred_bets.clear()  # the layout is empty now

    def _post(self, event: AnyStreamEvent) -> None:
        if self._is_account:
            self.balances.post(account_postings(cast("AnyPlayerAccountEvent", event)))
        elif not isinstance(event, HouseEvent):
            post_event(self.balances, cast("AnyEvent", event))

    def _has_only_box_bets(self) -> bool:
        """Return whether bets placed now can only be on boxes, not on a shooter's series."""
        if not isinstance(self._state, HouseTable):
            return False
        return self._state.table.round is not None and self._state.table.shooter is None

    def _apply_bets(self, rows: Iterable[StoredRow]) -> None:
        """Replay bets on boxes: `table.evolve` and `ledger.post_event` written out for speed.

        Nine of ten entries are bets, and nearly all are settled before their positions matter, so
        placing them on the layout is deferred. A test compares this with replaying each bet.
        """
        table, balances, total = self._state.table, self.balances, 0
        seats, deferred, version = table.seats, self._deferred_bets, self._version
        try:
            for row in rows:
                _, version, _, _, schema_number, data, _, _ = row
                try:
                    event = _BET_DECODERS[schema_number](data)
                except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
                    event = decode_row(row)  # another schema, or not an event
                player, amount = event.player, event.amount
                seat = seats[player]
                seat.stack -= amount
                seat.at_risk += amount
                deferred.append(event)
                stack = f"stack/{player}"
                remaining = balances.get(stack, 0) - amount
                if amount > 0 and remaining >= 0:
                    balances[stack] = remaining
                    total += amount
                else:
                    post_event(balances, event)  # raises the error
        finally:
            self._version = version
        table.placements = event.number
        balances["layout"] = balances.get("layout", 0) + total

    def _place_deferred_bets(self) -> None:
        """Place the deferred bets on the layout, because their positions matter now."""
        if self._deferred_bets:
            for event in self._deferred_bets:
                add_placement(self._state.table, event)
            self._deferred_bets.clear()

    def finish(self) -> list[IntegrityFinding]:
        """Return all findings; after a failed replay nothing more is compared."""
        if self.failed:
            return self._findings
        if self._snapshot_version > self._version:
            self._note(f"snapshot of {self.name}", "goes further than the stream")
        self._findings += self._statements.finish(self._version)
        if sum(self.balances.values()):
            self._note(self.name, f"postings sum to {sum(self.balances.values())}, not to zero")
        if isinstance(self.state, HouseTable):
            self._compare_money(self.state)
        return self._findings

    def _note(self, where: str, problem: str) -> None:
        self._findings.append(IntegrityFinding(where, problem))

    def _require_game(self, event: Any) -> None:
        if event.game_hash not in self._games:
            where = f"{self.name} version {self._version}"
            raise TamperedData(where, f"the pinned game {event.game_hash} is missing")

    def _compare_snapshot(self, entry_hash: bytes) -> None:
        if self._stored_snapshot is None:
            return
        form, version, snapshot_hash, data = self._stored_snapshot
        where = f"snapshot of {self.name} at version {version}"
        if form != self._fold.form:
            return  # written by another release: ignored, and replaced eventually
        if snapshot_hash != entry_hash:
            self._note(where, "belongs to another entry")
        try:
            same = self._fold.decode_state(data) == self.state
        except (ValueError, TypeError) as error:
            self._note(where, f"cannot be read: {error}")
            return
        if not same:
            self._note(where, "differs from the replayed state")

    def _compare_money(self, house_table: HouseTable) -> None:
        table, get = house_table.table, self.balances.get
        expected = {"float": table.float_amount, "cash": table.drop}
        expected["layout"] = sum(seat.at_risk for seat in table.seats.values())
        expected |= {f"stack/{player}": seat.stack for player, seat in table.seats.items()}
        expected |= {f"owing/{player}": -owed for player, owed in table.owing.items()}
        for account, amount in expected.items():
            if get(account, 0) != amount:
                problem = f"{account} is {amount}, its postings sum to {get(account, 0)}"
                self._note(self.name, problem)


def decode_row(row: StoredRow) -> Any:
    """Decode the event of a stored row."""
    try:
        event = EVENT_DECODERS[row[4]](row[5])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        event = None
    if event is not None and tag_of(event) == row[3]:
        return event
    return decode(Entry(*row))  # raises the error


class StatementsReplay:
    """The stored statement rows of a house, for comparison with the replay."""

    def __init__(
        self, rows: LogRows, game_of: Callable[[str], Game], findings: list[IntegrityFinding]
    ) -> None:
        self._rows, self._game_of, self._findings = rows, game_of, findings
        self._stored_versions: dict[Any, Any] = {}
        self._stored_views = defaultdict[Any, set[Any]](set)
        try:
            for view, stream, version in chain.from_iterable(rows.chunks(schema.views)):
                if view == VIEW:
                    self._stored_versions[stream] = version
                elif view not in FORMER_VIEWS:
                    findings.append(IntegrityFinding(_location(stream), f"unknown view {view!r}"))
            for view, stream in rows.projected_streams():
                if view not in FORMER_VIEWS:  # those are of another release and not used
                    self._stored_views[stream].add(view)
        except TamperedData as error:
            findings.append(IntegrityFinding(error.where, error.problem))

    def for_stream(self, stream: str) -> StreamStatementsReplay:
        """Return the comparison of one stream's rows."""
        version, where = self._stored_versions.pop(stream, 0), _location(stream)
        if type(version) is not int:
            self._findings.append(IntegrityFinding(where, f"have an invalid version: {version!r}"))
            version = 0
        views = self._stored_views.pop(stream, set())
        for view in sorted(views - {VIEW}, key=repr):
            self._findings.append(IntegrityFinding(where, f"unknown view {view!r}"))
        stored = self._rows.projection_lines(VIEW, stream) if VIEW in views else ()
        return StreamStatementsReplay(stream, version, stored, self._rows, self._game_of)

    def finish(self, visited: Iterable[str]) -> list[IntegrityFinding]:
        """Return a finding for each stream that has statement rows and no entries."""
        streams = self._stored_views.keys() | self._stored_versions.keys()
        return [
            IntegrityFinding(_location(stream), "the stream has no entries")
            for stream in sorted(streams - set(visited), key=repr)
        ]


def _location(stream: str) -> str:
    """Return where a finding about the statement rows of a stream is."""
    return f"books of {stream}"


class StreamStatementsReplay:
    """Compare the stored statement rows of one stream with those of its replay."""

    def __init__(
        self,
        stream: str,
        stored_version: int,
        stored: Iterable[Sequence[StoredRow]],
        rows: LogRows,
        game_of: Callable[[str], Game],
    ) -> None:
        self._stream, self._stored_version = stream, stored_version
        self._rows, self._game_of = rows, game_of
        self._projector = BatchStatementProjector(stream, game_of)
        self._stored, self._agree = chain.from_iterable(stored), True
        self._unreadable: list[IntegrityFinding] = []

    def apply(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Project an entry, up to the version that the stored rows reach, and compare."""
        if entry.version <= self._stored_version:
            rows = self._projector.project_rows(entry, event)
            if rows and self._agree:
                self._agree = self._next_stored(len(rows)) == rows

    def _next_stored(self, count: int) -> list[StoredRow]:
        """Return the next stored rows; an unreadable row is a finding and ends them."""
        try:
            return list(islice(self._stored, count))
        except TamperedData as error:
            self._unreadable.append(IntegrityFinding(error.where, error.problem))
            return []

    def finish(self, last_version: int) -> list[IntegrityFinding]:
        """Return how the stored rows differ from the replayed ones."""
        where = _location(self._stream)
        agree = self._agree and not self._next_stored(1)
        findings = [*self._unreadable]
        if self._stored_version > last_version:
            findings.append(IntegrityFinding(where, "go further than the stream"))
        elif not self._projector.is_resumable:
            problem = f"end at version {self._stored_version}, in the middle of a settlement"
            findings.append(IntegrityFinding(where, problem))
        if not agree and not self._unreadable:
            differences = list(self._differences(where))
            findings += differences or [IntegrityFinding(where, "differ from the replayed rows")]
        return findings

    def _differences(self, where: str) -> Iterator[IntegrityFinding]:
        """Yield which rows differ, by projecting the stream a second time."""
        projector = BatchStatementProjector(self._stream, self._game_of)
        replayed: dict[tuple[int, int], StoredRow] = {}
        for row in chain.from_iterable(self._rows.chunks(schema.entries, [self._stream])):
            entry = Entry(*row)
            if entry.version <= self._stored_version:
                rows = projector.project_rows(entry, decode(entry))
                replayed.update(((row[1], row[2]), row) for row in rows)
        for row in chain.from_iterable(self._rows.projection_lines(VIEW, self._stream)):
            _, version, place, _, _ = row
            if replayed.pop((version, place), None) != row:
                yield IntegrityFinding(
                    f"{where} version {version}", f"line {place} does not follow from the entries"
                )
        for version, place in replayed:
            yield IntegrityFinding(f"{where} version {version}", f"line {place} is missing")


_encode_row: Final = msgspec.json.Encoder().encode


class BatchStatementProjector(StatementProjector):
    """A projector that builds the rows of a settlement, one for each bet, in a batch for speed."""

    def project_rows(self, entry: Entry, event: AnyStreamEvent) -> Sequence[StoredRow]:
        """Return the rows of an entry in the form of `LogRows.projection_lines`."""
        match event:
            case events.LosersCollected():
                return self._loss_rows(entry.version, entry.at, event)
            case events.WinnersPaid():
                return self._win_rows(entry.version, entry.at, event)
        return [
            (line.subject, line.version, line.place, line.at, line.data)
            for line in self.project(entry, event)
        ]

    def _loss_rows(self, version: int, at: int, event: events.LosersCollected) -> list[StoredRow]:
        data, stakes = _EncodedRows("lost", self._round), self._stakes
        rows: list[StoredRow] = []
        for place, (spot, player, stake) in enumerate(event.bets):
            stakes[spot] = stakes.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[-stake, spot]))
        self._win += sum([stake for _, _, stake in event.bets])
        return rows

    def _win_rows(self, version: int, at: int, event: events.WinnersPaid) -> list[StoredRow]:
        data, stakes = _EncodedRows("won", self._round), self._stakes
        rows: list[StoredRow] = []
        for place, (spot, player, stake, winnings) in enumerate(event.bets):
            stakes[spot] = stakes.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[winnings, spot]))
        self._win -= sum([winnings for _, _, _, winnings in event.bets])
        rows.append((self.stream, version, len(rows), at, _encode_row(self._result_row(event))))
        self._forget_round()
        return rows


class _EncodedRows(dict[tuple[int, str], bytes]):
    """Encoded rows of a round by amount and spot; in most rounds many bets share both."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__()
        self._what, self._number = what, number

    def __missing__(self, key: tuple[int, str]) -> bytes:
        amount, spot = key
        self[key] = data = _encode_row(StatementRow(self._what, self._number, amount, note=spot))
        return data
