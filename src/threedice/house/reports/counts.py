"""Slips and counts of a table that deals in chips, and its win by count next to its win by log.

Everything is read from the table's log: `CountLedger` folds its events into numbered slips, and
into periods from one count of the rack to the next. The win by count needs no results of rounds:
it is what the rack gained, with the drop and the credits, less the fills.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from threedice.house.codec import decode
from threedice.house.events import VarianceAcknowledged
from threedice.house.reports.figures import shift_figures
from threedice.house.stream_state import table_stream
from threedice.money import balance_changes
from threedice.table import events
from threedice.table.chip_counts.counts import differences, face_value
from threedice.table.commands import Actor
from threedice.table.events import TableEvent
from threedice.table.money import table_postings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.house.events import AnyStreamEvent
    from threedice.house.reports.statements import StatementReader
    from threedice.house.variances import CountPolicy
    from threedice.log.store import Store
    from threedice.table.chip_counts.counts import ChipCounts

SlipKind = Literal["opener", "fill", "credit", "shift", "closer", "drop"]


class Acknowledgement(msgspec.Struct, frozen=True):
    """A person who acknowledged the variance of a count, and when."""

    by: Actor
    at: int


class Slip(msgspec.Struct, frozen=True):
    """A numbered slip: a fill, a credit, or a count with what was expected.

    `counts` are the chips that moved or were counted, for a drop the notes; `variance` is the
    difference to the expected chips by chip, and `variance_value` its value. `closing` is the
    closing whose drop was counted, or 0. `acknowledged` are the people who acknowledged the
    variance.
    """

    slip: int
    kind: SlipKind
    version: int
    at: int
    counts: dict[str, int]
    value: int
    expected_value: int
    by: Actor
    approved_by: Actor | None
    expected: dict[str, int] = {}
    variance: dict[str, int] = {}
    note: str = ""
    closing: int = 0
    acknowledged: list[Acknowledgement] = []

    @property
    def variance_value(self) -> int:
        """The value of the variance: negative if something is missing."""
        return self.value - self.expected_value

    def is_over(self, policy: CountPolicy) -> bool:
        """Return whether the variance exceeds the tolerance of the house."""
        return policy.is_exceeded(self.variance, self.variance_value)


@dataclass(slots=True)
class CountPeriod:
    """A table from one count of its rack to the next: a shift, or the part of one.

    The values of the rack are less what it owes for coloured chips in play. `drop` is the cash put
    into the drop box, as the log has it, and `drop_variance` what the count
    of the drop found more; `accounts` is the money from players' accounts less that to them, and
    `debts` by how much debts to the house grew. `end` is 0 while the period runs.
    """

    start: int
    start_version: int
    opened_by: int
    start_value: int
    end: int = 0
    end_version: int = 0
    closed_by: int = 0
    counted_value: int = 0
    expected_value: int = 0
    variance: ChipCounts = field(default_factory=dict)
    fills: int = 0
    credits: int = 0
    drop: int = 0
    drop_variance: int = 0
    accounts: int = 0
    debts: int = 0

    @property
    def win_by_count(self) -> int:
        """The win of the house by the chips and the cash that people counted."""
        gained = self.counted_value - self.start_value + self.credits - self.fills
        return gained + self.drop + self.drop_variance + self.accounts + self.debts


def win_by_log(statements: StatementReader, table: str, period: CountPeriod) -> int:
    """Return the win of the house in a counted period by the results of its rounds."""
    versions = range(period.start_version + 1, period.end_version + 1)
    return shift_figures(statements, table, period.start, period.end + 1, versions).win


class CountLedger:
    """Fold a table's events into slips and periods; it reads only events of the table."""

    def __init__(self) -> None:
        self.slips: list[Slip] = []
        self.periods: list[CountPeriod] = []
        self.game_hash, self.currency = "", ""
        self._running: CountPeriod | None = None
        self._closing_periods: dict[int, CountPeriod] = {}

    def add(self, event: AnyStreamEvent, version: int, at: int) -> None:
        """Add the next event of the table."""
        if isinstance(event, VarianceAcknowledged):
            self.slips[event.slip - 1].acknowledged.append(Acknowledgement(event.by, at))
        if not isinstance(event, TableEvent):
            return
        match event:
            case events.TableOpened():
                self.game_hash, self.currency = event.game_hash, event.currency
            case events.RackCounted():
                self._count(event, version, at)
            case events.DropCounted():
                self._count_drop(event, version, at)
            case events.FloatFilled() | events.FloatCredited() if event.slip:
                self._fill(event, version, at)
            case _:
                if self._running is not None:
                    _add_movement(self._running, event)

    def _count(self, event: events.RackCounted, version: int, at: int) -> None:
        counted, expected = face_value(event.counted), face_value(event.expected)
        variance = differences(event.counted, event.expected)
        self.slips.append(
            Slip(
                event.slip, event.kind, version, at, event.counted, counted, expected,
                event.by, event.approved_by, event.expected, variance, event.note,
            )
        )  # fmt: skip
        period = self._running
        if period is not None:
            period.end, period.end_version, period.closed_by = at, version, event.slip
            period.counted_value = counted - event.owed
            period.expected_value = expected - event.owed
            period.variance = variance
        if event.kind == "closer":
            self._closing_periods[len(self._closing_periods) + 1] = self.periods[-1]
            self._running = None
            return
        self._running = CountPeriod(at, version, event.slip, counted - event.owed)
        self.periods.append(self._running)

    def _count_drop(self, event: events.DropCounted, version: int, at: int) -> None:
        counted = face_value(event.notes)
        self.slips.append(
            Slip(
                event.slip, "drop", version, at, event.notes, counted, event.expected,
                event.by, event.approved_by, note=event.note, closing=event.closing,
            )
        )  # fmt: skip
        period = self._closing_periods.get(event.closing)
        if period is not None:
            period.drop_variance += counted - event.expected

    def _fill(
        self, event: events.FloatFilled | events.FloatCredited, version: int, at: int
    ) -> None:
        kind: SlipKind = "fill" if isinstance(event, events.FloatFilled) else "credit"
        counts = event.chip_moves[0][3] if event.chip_moves else {}
        self.slips.append(
            Slip(
                event.slip, kind, version, at, counts, event.amount, event.amount,
                event.by, event.approved_by,
            )
        )  # fmt: skip
        if self._running is not None:
            self._running.fills += event.amount if kind == "fill" else 0
            self._running.credits += event.amount if kind == "credit" else 0


def _add_movement(period: CountPeriod, event: events.AnyEvent) -> None:
    """Add the cash, the money of accounts and the debts that an event moves."""
    for account, change in balance_changes(table_postings(event)).items():
        match account.partition("/")[0]:
            case "cash":
                period.drop += change
            case "transfer":
                period.accounts -= change
            case "owing":
                period.debts -= change
            case _:
                pass


def fold_counts(history: Iterable[tuple[int, int, AnyStreamEvent]]) -> CountLedger:
    """Return the slips and periods of a table's events, given as (version, time, event)."""
    ledger = CountLedger()
    for version, at, event in history:
        ledger.add(event, version, at)
    return ledger


def read_counts(store: Store, table: str) -> CountLedger:
    """Return the slips and periods of a table from its log."""

    def entries() -> Iterator[tuple[int, int, AnyStreamEvent]]:
        for entry in store.scan(table_stream(table)):
            yield entry.version, entry.at, decode(entry)

    return fold_counts(entries())
