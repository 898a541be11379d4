"""Account balances: the sum of postings equals the state of the table."""

from __future__ import annotations

import pytest

from tests.table.table_driver import Table
from threedice.errors import InvariantBroken
from threedice.money import Balances, Posting
from threedice.table.money import table_accounts, table_balance, table_postings


def checked_balances(table: Table) -> Balances:
    """Sum the postings of a table, checking each balance against its state."""
    found = Balances()
    for event in table.events:
        found.post(table_postings(event))
    for account in {*found, *table_accounts(table.state)}:
        is_outside = account.partition("/")[0] in ("vault", "outside", "transfer")
        expected = None if is_outside else found.get(account, 0)
        assert table_balance(table.state, account) == expected, account
    return found


def test_a_round_moves_money_between_stack_layout_and_float() -> None:
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=10_000)
    assert table_accounts(table.state) == ["float", "cash", "layout", "stack/ann", "stack/bob"]
    assert table_balance(table.state, "owing/ann") == 0
    table.play("open betting", "ann bets 100 on big", "bob bets 100 on small")
    assert checked_balances(table)["layout"] == 200
    table.play("dice 6 5 4")

    found = checked_balances(table)
    assert (found["stack/ann"], found["stack/bob"]) == (1100, 900)
    assert (found["layout"], found["float"], found["cash"]) == (0, 8000, 2000)
    assert (found["vault"], found["outside"]) == (-10_000, -2000)
    assert sum(found.values()) == 0


def test_buy_in_and_cash_out_through_a_house_account_are_transfers() -> None:
    table = Table(stacks={"ann": 1000})
    table.play("ann buys 500 from account", "ann leaves with 300 to account", "ann leaves with 200")

    found = checked_balances(table)
    assert found["transfer/ann"] == -500 + 300
    assert (found["cash"], table.state.drop) == (1000, 1000)
    assert found["stack/ann"] == 1000
    assert found["outside"] == -1000 + 200


def test_reversal_of_chips_already_carried_away_leaves_a_debt() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 1000 on big", "dice 6 5 4", "ann leaves with 1900",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip

    found = checked_balances(table)
    assert (found["stack/ann"], found["owing/ann"]) == (0, -900)
    assert table.state.owing == {"ann": 900}


def test_closing_a_table_leaves_every_balance_at_zero() -> None:
    table = Table(stacks={"ann": 1000})
    table.play("fill 500", "credit 200", "open betting", "ann bets 100 on big", "close the table")

    found = checked_balances(table)
    assert {name: amount for name, amount in found.items() if amount} == {}
    assert (found["float"], found["cash"], found["layout"], found["stack/ann"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("posting", "message"),
    [
        (Posting("vault", "float", -5), "a posting of -5"),
        (Posting("float", "vault", 5), "float went below zero"),
        (Posting("stack/ann", "layout", 5), "stack/ann went below zero"),
        (Posting("cash", "vault", 5), "cash went below zero, to -5"),
        (Posting("layout", "float", 5), "layout went below zero"),
        (Posting("account/ann", "outside", 5), "account/ann went below zero"),
    ],
)
def test_posting_that_is_negative_or_overdraws_an_account_is_an_invariant_error(
    posting: Posting, message: str
) -> None:
    with pytest.raises(InvariantBroken, match=message):
        Balances().post([posting])


def test_reversal_collects_winnings_before_it_refunds_losses() -> None:
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=2000)
    table.play("open betting", "ann bets 100 on small", "bob bets 100 on big", "dice 6 5 4",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip

    assert checked_balances(table)["float"] == 0
    assert (table.stack("ann"), table.stack("bob")) == (1000, 1000)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_returned_stake_enters_the_stack_of_a_player_in_debt_in_full() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4",
               "open betting", "ann bets 100 on big", "dice 1 1 2", "ann leaves with 1000",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip
    assert checked_balances(table)["owing/ann"] == -100
    table.play("supervisor reports dice-damaged affecting 2 with shift-manager")

    found = checked_balances(table)
    assert (found["owing/ann"], found["stack/ann"], table.state.owing) == (-100, 100, {"ann": 100})
    table.play("shift-manager rules 150 for ann: goodwill")
    assert (table.stack("ann"), table.state.owing) == (150, {"ann": 0})
