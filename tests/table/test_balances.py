"""The balances that the postings of a table lead to, and those that its state implies."""

from __future__ import annotations

import pytest

from tests.table.setting import Table
from threedice.errors import InvariantBroken
from threedice.money import Balances, Posting
from threedice.table.money import table_accounts, table_balance, table_postings


def balances(table: Table) -> Balances:
    found = Balances()
    for event in table.events:
        found.post(table_postings(event))
    for account in {*found, *table_accounts(table.state)}:
        assert table_balance(table.state, account) in (None, found.get(account, 0)), account
    return found


def test_a_round_moves_money_between_stack_layout_and_float() -> None:
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=10_000)
    table.play("open betting", "ann bets 100 on big", "bob bets 100 on small")
    assert balances(table)["layout"] == 200
    table.play("dice 6 5 4")

    found = balances(table)
    assert (found["stack/ann"], found["stack/bob"]) == (1100, 900)
    assert (found["layout"], found["float"], found["cash"]) == (0, 8000, 2000)
    assert (found["vault"], found["outside"]) == (-10_000, -2000)
    assert sum(found.values()) == 0


def test_accounts_with_the_house_pay_in_and_are_paid_out() -> None:
    table = Table(stacks={"ann": 1000})
    table.play("ann buys 500 from account", "ann leaves with 300 to account", "ann leaves with 200")

    found = balances(table)
    assert found["transfer/ann"] == -500 + 300
    assert (found["cash"], table.state.drop) == (1000, 1000)
    assert found["stack/ann"] == 1000
    assert found["outside"] == -1000 + 200


def test_what_a_reversal_cannot_take_back_is_owed() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 1000 on big", "dice 6 5 4", "ann leaves with 1900",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip

    found = balances(table)
    assert (found["stack/ann"], found["owing/ann"]) == (0, -900)
    assert table.state.owing == {"ann": 900}


def test_closing_the_table_empties_it() -> None:
    table = Table(stacks={"ann": 1000})
    table.play("fill 500", "credit 200", "open betting", "ann bets 100 on big", "close the table")

    found = balances(table)
    assert {name: amount for name, amount in found.items() if amount} == {}
    assert (found["float"], found["cash"], found["layout"], found["stack/ann"]) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("posting", "says"),
    [
        (Posting("vault", "float", -5), "a posting of -5"),
        (Posting("float", "vault", 5), "float went below zero"),
        (Posting("stack/ann", "layout", 5), "stack/ann went below zero"),
        (Posting("cash", "vault", 5), "cash went below zero, to -5"),
        (Posting("layout", "float", 5), "layout went below zero"),
        (Posting("account/ann", "outside", 5), "account/ann went below zero"),
    ],
)
def test_what_must_never_happen_stops_the_ledger(posting: Posting, says: str) -> None:
    with pytest.raises(InvariantBroken, match=says):
        Balances().post([posting])


def test_a_reversal_collects_before_it_pays() -> None:
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=2000)
    table.play("open betting", "ann bets 100 on small", "bob bets 100 on big", "dice 6 5 4",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip

    assert balances(table)["float"] == 0
    assert (table.stack("ann"), table.stack("bob")) == (1000, 1000)


def test_what_comes_to_a_player_pays_off_his_debt_first() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4",
               "open betting", "ann bets 100 on big", "dice 1 1 2", "ann leaves with 1000",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip
    assert balances(table)["owing/ann"] == -100
    table.play("supervisor reports dice-damaged affecting 2 with shift-manager")

    found = balances(table)
    assert (found["owing/ann"], found["stack/ann"], table.state.owing) == (0, 0, {"ann": 0})
    table.play("shift-manager rules 50 for ann: goodwill")
    assert table.stack("ann") == 50
