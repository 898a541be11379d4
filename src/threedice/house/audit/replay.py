"""Replay streams and compare snapshots, balances and statements with what is stored.

One stream folded again for the audit: its state, its money, its books.

The books made again for the audit, and compared with those that are kept.

The lines of a stream are read as they are made again, so that nothing need be held; where any
differ, that stream's lines are made once more to say which.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from threedice.errors import TamperedData
from threedice.house.codec import CURRENT_SCHEMA, EVENT_DECODERS, decode
from threedice.house.events import HouseEvent, TableEstablished
from threedice.house.reports.projection import FORMER_VIEWS, VIEW, StatementProjector, StatementRow
from threedice.house.stream_state import HouseTable, fold_of
from threedice.ledger import EVENTS_WITHOUT_POSTINGS, Balances, account_postings, post_event
from threedice.log.entry import Entry
from threedice.log.proof import IntegrityFinding
from threedice.log.stores import schema
from threedice.table import events
from threedice.table.evolve import add_placement
from threedice.tags import tag_of

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
    tag_of(each) for each in (TableEstablished, events.TableOpened, events.RoundStarted)
)
"""Kinds of entries that pin a game."""


_STEP_KINDS: Final = frozenset(tag_of(each) for each in EVENTS_WITHOUT_POSTINGS) - _PINNING_KINDS
"""Kinds of entries that take a round a step further and do nothing else."""


_SETTLED_KIND: Final = tag_of(events.WinnersPaid)


_SETTLEMENT_KINDS: Final = frozenset({tag_of(events.LosersCollected), _SETTLED_KIND})
"""Other kinds for which no bet is looked for where it lies."""


KINDS_WITHOUT_ROWS: Final = _STEP_KINDS | {_BET_KIND}
"""Kinds of entries, the commonest, of which the books say nothing."""


class StreamReplay:
    """A stream as it is folded again; `kept` is its snapshot: form, version, hash, data."""

    def __init__(
        self,
        name: str,
        stored_snapshot: StoredRow | None,
        statements: StreamStatementsReplay,
        games: Container[str],
    ) -> None:
        self.name, self._stored_snapshot, self._statements, self._games = (
            name,
            stored_snapshot,
            statements,
            games,
        )
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
            self._note(f"snapshot of {name}", f"stands for no version: {self._snapshot_version!r}")
            self._stored_snapshot, self._snapshot_version = None, 0

    @property
    def state(self) -> Any:
        """What the entries so far lead to."""
        self._place_deferred_bets()
        return self._state

    def apply(self, rows: Sequence[StoredRow]) -> None:
        """Fold the next entries; one that cannot have been caused is `Tampered`, and the last."""
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
        except Exception as error:  # whatever folding raises over what nobody could have caused
            self.failed = True
            problem = f"cannot follow from what is before it: {str(error) or type(error).__name__}"
            raise TamperedData(f"{self.name} version {self._version}", problem) from None

    def _apply_all(self, rows: Sequence[StoredRow]) -> None:
        for kind, some in groupby(rows, key=_kind_of_row):
            if kind == _BET_KIND and self._has_only_box_bets():
                self._apply_bets(some)
            else:
                self._apply_each(some)

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
            self._deferred_bets.clear()  # they are gone from the layout

    def _post(self, event: AnyStreamEvent) -> None:
        if self._is_account:
            self.balances.post(account_postings(cast("AnyPlayerAccountEvent", event)))
        elif not isinstance(event, HouseEvent):
            post_event(self.balances, cast("AnyEvent", event))

    def _has_only_box_bets(self) -> bool:
        """Tell whether bets that are placed now can only be on boxes."""
        if not isinstance(self._state, HouseTable):
            return False
        return self._state.table.round is not None and self._state.table.shooter is None

    def _apply_bets(self, rows: Iterable[StoredRow]) -> None:
        """Fold bets on boxes: what `table.evolve` and `ledger.add` make of each, written out.

        Nine of ten entries are bets, and nearly all are settled before anything asks where each
        lies: until then they are held. A test compares this with folding them one by one.
        """
        table, balances, laid = self._state.table, self.balances, 0
        seats, held, now = table.seats, self._deferred_bets, self._version
        try:
            for row in rows:
                _, now, _, _, schema, data, _, _ = row
                try:
                    event = _BET_DECODERS[schema](data)
                except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
                    event = decode_row(row)  # written in another form, or not at all
                player, amount = event.player, event.amount
                seat = seats[player]
                seat.stack -= amount
                seat.at_risk += amount
                held.append(event)
                stack = f"stack/{player}"
                left = balances.get(stack, 0) - amount
                if amount > 0 and left >= 0:
                    balances[stack] = left
                    laid += amount
                else:
                    post_event(balances, event)  # which says what is wrong
        finally:
            self._version = now
        table.placements = event.number
        balances["layout"] = balances.get("layout", 0) + laid

    def _place_deferred_bets(self) -> None:
        """Lay the bets that are held, now that something asks where each lies."""
        if self._deferred_bets:
            for event in self._deferred_bets:
                add_placement(self._state.table, event)
            self._deferred_bets.clear()

    def finish(self) -> list[IntegrityFinding]:
        """Return what does not agree; where the folding failed, nothing can be compared."""
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

    def _note(self, where: str, what: str) -> None:
        self._findings.append(IntegrityFinding(where, what))

    def _require_game(self, event: Any) -> None:
        if event.game_hash not in self._games:
            where = f"{self.name} version {self._version}"
            raise TamperedData(where, f"the game that it pins, {event.game_hash}, is missing")

    def _compare_snapshot(self, digest: bytes) -> None:
        if self._stored_snapshot is None:
            return
        form, version, stood_for, data = self._stored_snapshot
        where = f"snapshot of {self.name} at version {version}"
        if form != self._fold.form:
            return  # another version's; it is not used, and made again
        if stood_for != digest:
            self._note(where, "stands for another entry")
        try:
            same = self._fold.decode_state(data) == self.state
        except (ValueError, TypeError) as error:
            self._note(where, f"cannot be read: {error}")
            return
        if not same:
            self._note(where, "is not what the entries lead to")

    def _compare_money(self, house_table: HouseTable) -> None:
        table, get = house_table.table, self.balances.get
        pairs = {"float": table.float_amount, "cash": table.drop}
        pairs["layout"] = sum(seat.at_risk for seat in table.seats.values())
        pairs |= {f"stack/{player}": seat.stack for player, seat in table.seats.items()}
        pairs |= {f"owing/{player}": -owed for player, owed in table.owing.items()}
        for account, amount in pairs.items():
            if get(account, 0) != amount:
                problem = f"{account} is {amount}, its postings come to {get(account, 0)}"
                self._note(self.name, problem)


def decode_row(row: StoredRow) -> Any:
    """Return the event that a row holds."""
    try:
        event = EVENT_DECODERS[row[4]](row[5])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        event = None
    if event is not None and tag_of(event) == row[3]:
        return event
    return decode(Entry(*row))  # which says what is wrong


_encode_row: Final = msgspec.json.Encoder().encode


class StatementsReplay:
    """The books of a house as they are kept."""

    def __init__(
        self, rows: LogRows, game_of: Callable[[str], Game], findings: list[IntegrityFinding]
    ) -> None:
        self._rows, self._game_of, self._findings = rows, game_of, findings
        self._reached: dict[Any, Any] = {}
        self._stored_views = defaultdict[Any, set[Any]](set)
        try:
            for view, stream, version in chain.from_iterable(rows.chunks(schema.views)):
                if view == VIEW:
                    self._reached[stream] = version
                elif view not in FORMER_VIEWS:
                    findings.append(
                        IntegrityFinding(f"books of {stream}", f"there is no view {view!r}")
                    )
            for view, stream in rows.projected_streams():
                if view not in FORMER_VIEWS:  # another version's; not used, and made again
                    self._stored_views[stream].add(view)
        except TamperedData as tampered:
            findings.append(IntegrityFinding(tampered.where, tampered.problem))

    def for_stream(self, stream: str) -> StreamStatementsReplay:
        """Return the books of a stream, to be compared."""
        reached, where = self._reached.pop(stream, 0), f"books of {stream}"
        if type(reached) is not int:
            self._findings.append(IntegrityFinding(where, f"reach no version: {reached!r}"))
            reached = 0
        views = self._stored_views.pop(stream, set())
        for view in sorted(views - {VIEW}, key=repr):
            self._findings.append(IntegrityFinding(where, f"there is no view {view!r}"))
        kept = self._rows.projection_lines(VIEW, stream) if VIEW in views else ()
        return StreamStatementsReplay(stream, reached, kept, self._rows, self._game_of)

    def finish(self, seen: Iterable[str]) -> list[IntegrityFinding]:
        """Return what is kept of streams that have no entries."""
        left = sorted((self._stored_views.keys() | self._reached.keys()) - set(seen), key=repr)
        return [IntegrityFinding(f"books of {each}", "there are no entries of it") for each in left]


class StreamStatementsReplay:
    """The books of one stream, made again as its entries are shown."""

    def __init__(
        self,
        stream: str,
        reached: int,
        stored: Iterable[Sequence[StoredRow]],
        rows: LogRows,
        game_of: Callable[[str], Game],
    ) -> None:
        self._stream, self._reached = stream, reached
        self._rows, self._game_of = rows, game_of
        self._projector = BatchStatementProjector(stream, game_of)
        self._stored, self._agree = chain.from_iterable(stored), True
        self._unreadable: list[IntegrityFinding] = []

    def apply(self, entry: Entry, event: AnyStreamEvent) -> None:
        """Make the lines that follow from an entry, as far as the books go, and compare them."""
        if entry.version <= self._reached:
            made = self._projector.project_rows(entry, event)
            if made and self._agree:
                self._agree = self._next_stored(len(made)) == made

    def _next_stored(self, count: int) -> list[StoredRow]:
        """Return the next lines that are kept; what cannot be read ends them, and is a finding."""
        try:
            return list(islice(self._stored, count))
        except TamperedData as tampered:
            self._unreadable.append(IntegrityFinding(tampered.where, tampered.problem))
            return []

    def finish(self, last: int) -> list[IntegrityFinding]:
        """Return how the books differ from what the entries lead to."""
        where = f"books of {self._stream}"
        agree = self._agree and not self._next_stored(1)
        findings = [*self._unreadable]
        if self._reached > last:
            findings.append(IntegrityFinding(where, "go further than the stream"))
        elif not self._projector.is_resumable:  # from where they could not be gone on with
            what = f"end at version {self._reached}, in the middle of a settlement"
            findings.append(IntegrityFinding(where, what))
        if not agree and not self._unreadable:
            differences = list(self._differences(where))
            findings += differences or [IntegrityFinding(where, "are not what the entries lead to")]
        return findings

    def _differences(self, where: str) -> Iterator[IntegrityFinding]:
        """Yield which lines differ, by a second look."""
        projector = BatchStatementProjector(self._stream, self._game_of)
        made: dict[tuple[int, int], StoredRow] = {}
        for row in chain.from_iterable(self._rows.chunks(schema.entries, [self._stream])):
            entry = Entry(*row)
            if entry.version <= self._reached:
                lines = projector.project_rows(entry, decode(entry))
                made.update(((line[1], line[2]), line) for line in lines)
        for line in chain.from_iterable(self._rows.projection_lines(VIEW, self._stream)):
            _, version, place, _, _ = line
            if made.pop((version, place), None) != line:
                yield IntegrityFinding(
                    f"{where} version {version}", f"line {place} does not follow"
                )
        for version, place in made:
            yield IntegrityFinding(f"{where} version {version}", f"line {place} is missing")


class BatchStatementProjector(StatementProjector):
    """Makes the lines of a settlement in one go: there are as many of them as there were bets."""

    def project_rows(self, entry: Entry, event: AnyStreamEvent) -> Sequence[StoredRow]:
        """Return the lines that follow from an entry, as `Rows.lines_of` has them."""
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
        data, staked = _EncodedRows("lost", self._round), self._staked
        rows: list[StoredRow] = []
        for place, (spot, player, stake) in enumerate(event.bets):
            staked[spot] = staked.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[-stake, spot]))
        self._win += sum([stake for _, _, stake in event.bets])
        return rows

    def _win_rows(self, version: int, at: int, event: events.WinnersPaid) -> list[StoredRow]:
        data, staked = _EncodedRows("won", self._round), self._staked
        rows: list[StoredRow] = []
        for place, (spot, player, stake, winnings) in enumerate(event.bets):
            staked[spot] = staked.get(spot, 0) + stake
            rows.append((f"player/{player}", version, place, at, data[winnings, spot]))
        self._win -= sum([winnings for _, _, _, winnings in event.bets])
        rows.append((self.stream, version, len(rows), at, _encode_row(self._result_row(event))))
        self._forget_round()
        return rows


class _EncodedRows(dict[tuple[int, str], bytes]):
    """What lines of a round say, by amount and spot: in most rounds, many bets say the same."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__()
        self._what, self._number = what, number

    def __missing__(self, key: tuple[int, str]) -> bytes:
        amount, spot = key
        self[key] = data = _encode_row(StatementRow(self._what, self._number, amount, note=spot))
        return data
