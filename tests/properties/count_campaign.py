"""Counted shifts at tables that deal in chips: clean ones, and ones from which a chip is stolen.

`python -m tests.properties.count_campaign --trials 1000` plays that many clean shifts and that many
trials with a planted chip. It stops at the first shift whose win by count differs from its win by
log, or the first chip that is not found at its table, in its shift and in its denomination.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.properties.chip_commands import COLOURS, RICH_RACK
from tests.properties.disputed_table import STREAM, TABLE, DisputedTable
from threedice import load
from threedice.house.reports.counts import read_counts, win_by_log
from threedice.house.reports.statements import StatementReader, update_statements
from threedice.table import commands
from threedice.table.chip_counts.counts import face_value
from threedice.table.events import RackCounted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.house.reports.counts import CountLedger
    from threedice.rulebook import Game
    from threedice.table.chip_counts.counts import ChipCounts
    from threedice.table.commands import AnyCommand

GAMES = ("sg-rws-tai-sai-v6/c", "nz-tai-sai-2008/1", "triple-dice/mat")
PLANTED = "25"
STEPS_PER_SHIFT = 60
COUNTS = (commands.OpenTable, commands.CloseTable, commands.CountRack, commands.CountDrop)


class CountedTable(DisputedTable):
    """A table that deals in chips and whose people count correctly what lies in the rack.

    `missing` are chips that somebody took from the rack and no count has found yet.
    """

    chips_share = 1.0
    equipment_share = 0.0

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed)
        self.missing: ChipCounts = {}
        self.racks_counted = 0

    def counted_rack(self) -> ChipCounts:
        rack = Counter(self.rack)
        rack.subtract(self.missing)
        return dict(rack)

    def open_table(self) -> AnyCommand:
        opening = super().open_table()
        assert isinstance(opening, commands.OpenTable)
        fresh = RICH_RACK | (COLOURS if "non-value" in self.game.facts.chips.kinds else {})
        rack = Counter(fresh if self.state.last_closer is None else self.state.last_closer)
        rack.subtract(self.missing)
        return commands.OpenTable(
            by=opening.by,
            table=opening.table,
            currency=self.state.currency or "SGD",
            mode=opening.mode,
            chips=opening.chips,
            float_amount=face_value(rack),
            limits=opening.limits,
            approved_by=self.actor("pit-manager"),
            rack=dict(rack),
        )

    def count_drop(self) -> AnyCommand:
        waiting = self.state.uncounted_drops or {99: 0}
        closing = next(iter(waiting))
        return commands.CountDrop(
            by=self.actor("supervisor"),
            closing=closing,
            notes={"5": waiting[closing] // 5},
            approved_by=self.actor("pit-manager"),
        )

    def arbitrary_command(self) -> AnyCommand:
        return self.without_counts(super().arbitrary_command)

    def sample_command(self) -> AnyCommand:
        return self.without_counts(super().sample_command)

    def without_counts(self, make: Callable[[], AnyCommand]) -> AnyCommand:
        """Return a random command of no kind that counts something."""
        while isinstance(command := make(), COUNTS):
            pass
        return command

    def send(self, command: AnyCommand, ages: dict[str, int | None] | None = None) -> None:
        known = len(self.events)
        super().send(command, ages)
        if any(isinstance(event, RackCounted) for event in self.events[known:]):
            self.missing, self.racks_counted = {}, self.racks_counted + 1

    def play_shift(self) -> None:
        """Play a while, and then until the rack is counted."""
        self.play(self.time + STEPS_PER_SHIFT)
        counted = self.racks_counted
        while self.racks_counted == counted:
            self.time += 1
            known = len(self.events)
            if self.state.round or not self.state.open:
                self.step()
            else:
                self.send(self.count_rack())
            self.write(known)
        update_statements(self.store, STREAM, lambda _: self.game)

    def count_rack(self) -> AnyCommand:
        return commands.CountRack(
            by=self.actor("supervisor"),
            counted=self.counted_rack(),
            approved_by=self.actor("pit-manager"),
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A variance that a count found: the table, the shift by number, the chip and how many."""

    table: int
    shift: int
    chip: str
    count: int


def findings(table: int, ledger: CountLedger) -> Iterator[Finding]:
    """Yield the variances of a table's counts; an opener's belongs to the shift before it."""
    shift = 0
    for slip in ledger.slips:
        for chip, count in slip.variance.items():
            yield Finding(table, shift, chip, count)
        shift += slip.kind in ("opener", "shift")


def check_clean_shifts(table: CountedTable) -> int:
    """Compare the win by count of every counted period with the win by log; return how many."""
    ledger = read_counts(table.store, TABLE)
    ended = [period for period in ledger.periods if period.end]
    for period in ended:
        assert period.win_by_count == win_by_log(StatementReader(table.store), TABLE, period), (
            period
        )
        assert not period.variance
    assert [slip.slip for slip in ledger.slips] == list(range(1, len(ledger.slips) + 1))
    return len(ended)


def play_clean_shifts(shifts: int) -> int:
    """Play at least as many clean shifts, and return how many were counted."""
    counted = seed = 0
    while counted < shifts:
        table = CountedTable(load(GAMES[seed % len(GAMES)]), seed)
        for _ in range(4):
            table.play_shift()
        counted += check_clean_shifts(table)
        seed += 1
    return counted


def play_planted_chip(seed: int) -> None:
    """Take one chip from the rack of one of three tables, and check where the counts find it."""
    random = Random(seed)
    tables = [CountedTable(load(GAMES[n]), seed * 10 + n) for n in range(len(GAMES))]
    robbed, shift = random.randrange(len(tables)), random.randint(1, 3)
    found: list[Finding] = []
    expected: list[Finding] = []
    for number, table in enumerate(tables):
        for each in range(1, 4):
            if (number, each) == (robbed, shift):
                table.play(table.time + random.randrange(STEPS_PER_SHIFT))
                while not table.racks_counted:  # not open yet
                    table.play(table.time + 1)
                begun = len(read_counts(table.store, TABLE).periods)
                table.missing = {PLANTED: 1}
                expected.append(Finding(number, begun, PLANTED, -1))
            table.play_shift()
        found += findings(number, read_counts(table.store, TABLE))
    assert found == expected, (seed, found, expected)


def main() -> None:
    """Play clean shifts and trials with a planted chip, and print how many held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    trials = parser.parse_args().trials
    shifts = play_clean_shifts(trials)
    sys.stdout.write(f"{shifts} clean shifts: the win by count equals the win by log in all\n")
    for seed in range(trials):
        play_planted_chip(seed)
    sys.stdout.write(f"{trials} of {trials} planted chips found at table, shift and chip\n")


if __name__ == "__main__":
    main()
