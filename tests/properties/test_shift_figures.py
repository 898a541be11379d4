"""Shift reports and statements compared with the ledger, over random histories."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import shift_figures, statement
from tests.oracle.table_figures import compute_table_figures
from tests.properties.disputed_table import TABLE, DisputedTable
from tests.properties.likely_commands import PLAYERS
from threedice import load

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook import Game

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
        table.play(COMMANDS)
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
