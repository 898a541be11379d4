"""Shift reports and statements compared with the ledger, over random histories."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import shift_figures, statement
from tests.oracle.table_figures import compute_table_figures
from tests.properties.likely_commands import PLAYERS
from tests.properties.random_table import RandomTable
from threedice import load
from threedice.house.codec import encode
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import table_stream
from threedice.log.entry import EMPTY_HEAD, extend_stream
from threedice.log.records import Append, Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand

TABLE, STREAM = "t", table_stream("t")
GAMES = ("sg-rws-tai-sai-v6/a", "sg-rws-tai-sai-v6/e", "sg-rws-tai-sai-open-cover-v5/c")
SHOOTER_WITH_REVERSALS = """
extends = "triple-dice"
id = "reversible"
title = "Triple Dice with reversals"
[irregularities.dice-damaged]
what = "A die is damaged"
consequence = "void-affected-rounds"
bets = "returned"
by = ["supervisor"]
clause = ["9"]
"""
HISTORIES, COMMANDS, SHIFTS = 6, 400, 6
REQUIRED_EVENTS = ("BetCorrected", "RoundsReversed", "RulingMade", "DebtRepaid", "RoundVoided")


class DisputedTable(RandomTable):
    """A table with many corrections, rulings and reversals, whose log is kept in a store.

    The number of commands is the time. `money` is what the house holds, after each command that
    leaves no round half settled: from the collection of the losers until the winners are paid, the
    float holds stakes that no report counts.
    """

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, "record", seed)
        self.store, self.head = MemoryStore(), EMPTY_HEAD
        self.time, self.money = 0, {0: 0}

    def play(self) -> None:
        while self.time < COMMANDS or self.time not in self.money:
            self.time += 1
            count = len(self.events)
            self.step()
            self.write(count)
            if self.state.round is None or "collect-losers" not in self.state.round.done:
                held = (self.balances.get(account, 0) for account in ("float", "cash", "vault"))
                self.money[self.time] = sum(held)
        update_statements(self.store, STREAM, lambda _: self.game)

    def write(self, count: int) -> None:
        """Append the events after the first `count` to the log."""
        if new := [encode(event) for event in self.events[count:]]:
            expected = self.head
            entries, self.head = extend_stream(expected, STREAM, self.time, b"", new)
            append = Append(STREAM, expected, entries)
            self.store.write([Proposal("house", f"k{self.time}", b"", (append,))])

    def rare_command(self) -> AnyCommand | None:
        settled = sorted(set(self.state.settled) - self.state.reversed)[-4:]
        if not settled or self.random.random() < 0.4:
            return super().rare_command()
        return self.dispute(settled)

    def dispute(self, settled: list[int]) -> AnyCommand:
        """Return a correction or a reversal of settled rounds, or a ruling."""
        random, manager = self.random, self.actor("shift-manager")
        number = random.choice(settled)
        amount = random.choice([5, 50, 700, -5, -50, -5000])
        kind = random.choice(["correction", "correction", "ruling", "reversal"])
        if kind == "correction":
            return commands.CorrectBet(
                by=self.actor("dealer"),
                round=number,
                player=random.choice(list(self.state.settled[number]) or PLAYERS),
                amount=amount,
                reason="paid wrongly",
                approved_by=self.actor("supervisor"),
            )
        if kind == "ruling":
            return commands.MakeRuling(
                by=manager, player=self.player(), amount=amount, reason="as seen"
            )
        current = [self.state.round.number] if self.state.round else []
        return commands.Report(
            by=self.actor("supervisor"),
            irregularity="dice-damaged",
            rounds=random.sample([*settled, *current], random.choice([1, 1, min(len(settled), 2)])),
            approved_by=manager,
        )


@pytest.mark.parametrize("game_id", GAMES)
def test_win_of_every_shift_equals_the_change_in_house_money(game_id: str) -> None:
    check_histories(load(game_id))


def test_win_of_every_shift_includes_reversed_shooter_bets(tmp_path: Path) -> None:
    file = tmp_path / "reversible.toml"
    file.write_text(SHOOTER_WITH_REVERSALS, encoding="utf-8")
    check_histories(load(f"{file}/mat"))


def check_histories(game: Game) -> None:
    """Play random histories of a game, and compare reports and statements with the ledger."""
    seen = Counter[str]()
    for seed in range(HISTORIES):
        table = DisputedTable(game, seed)
        table.play()
        seen.update(table.counts)
        check_shifts(table)
        check_statements(table)
    assert [kind for kind in REQUIRED_EVENTS if not seen[kind]] == []


def check_shifts(table: DisputedTable) -> None:
    """Compare the reports of random consecutive shifts, and of all time, with the ledger."""
    last = max(table.money)
    times = table.random.sample(sorted(table.money.keys() - {0, last}), SHIFTS - 1)
    ends = [0, *sorted(times), last]
    for before, end in pairwise(ends):
        report = shift_figures(table.store, TABLE, before + 1, end + 1)
        assert report.win == table.money[end] - table.money[before], (before, end)
    report = shift_figures(table.store, TABLE)
    figures = compute_table_figures(table.game, table.events)
    assert (report.win, report.drop) == (table.money[last], figures.drop)
    assert (report.win, report.rounds) == (figures.win, figures.rounds)
    assert report.turnover == figures.turnover
    assert report.theoretical_win == figures.theoretical_win


def check_statements(table: DisputedTable) -> None:
    """Compare the total of each player's statement with their chips less their debt."""
    for player in PLAYERS:
        rows = [dated.row for dated in statement(table.store, player)]
        seat, debt = table.state.seats.get(player), table.state.owing.get(player, 0)
        chips = seat.stack + seat.at_risk if seat else 0
        assert sum(row.amount for row in rows) == chips - debt
        assert sum(row.debt for row in rows) == debt
