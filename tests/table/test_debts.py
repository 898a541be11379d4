"""Debts that reversals leave, and their repayment."""

from __future__ import annotations

import pytest

from tests.table.table_driver import Table
from threedice.money import Balances
from threedice.table.money import table_postings


def table_with_ann_in_debt() -> Table:
    """Return a table where Ann carried her winnings away before the round was reversed."""
    table = Table(stacks={"ann": 100})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "ann leaves with 150")
    table.play("supervisor reports dice-damaged affecting 1 with shift-manager")
    return table


def test_debt_can_be_repaid_in_chips_or_cash() -> None:
    table = table_with_ann_in_debt()
    assert table.state.owing["ann"] == 50

    table.play("ann buys 100", "ann repays 20", "ann repays 30 in cash")

    assert (table.stack("ann"), table.state.owing["ann"]) == (80, 0)
    balances = Balances()
    for event in table.events:
        balances.post(table_postings(event))
    assert (balances["owing/ann"], balances["stack/ann"]) == (0, 80)
    assert balances["cash"] == table.state.drop
    assert balances["float"] == table.state.float_amount


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ann repays 55 in cash", "debt/amount"),
        ("ann repays 0 in cash", "debt/amount"),
        ("bob repays 5 in cash", "debt/amount"),
        ("ann repays 50", "chips/stack"),
        ("ann repays 3", "chips/amount"),
    ],
)
def test_repayment_over_the_debt_or_the_stack_is_refused(line: str, code: str) -> None:
    table = table_with_ann_in_debt()
    table.play("ann buys 5")

    assert table.expect_refusal(line).code == code
