"""What events of a player's account move, and the balance that the state implies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from threedice.account import PlayerAccount, events, evolve
from threedice.account.money import account_balance, account_postings
from threedice.money import Balances, Posting
from threedice.table.events import BoughtIn

if TYPE_CHECKING:
    from threedice.account.events import AnyPlayerAccountEvent

OPENED = events.AccountOpened(player="ann", currency="SGD", by="cashier")


@pytest.mark.parametrize(
    ("event", "source", "destination"),
    [
        (events.Deposited(player="ann", amount=50, by="cashier"), "outside", "account/ann"),
        (events.Withdrawn(player="ann", amount=50, by="cashier"), "account/ann", "outside"),
        (events.SentToTable(player="ann", table="1", amount=50), "account/ann", "transfer/ann"),
        (events.ReceivedFromTable(player="ann", table="1", amount=50),
         "transfer/ann", "account/ann"),
    ],
)  # fmt: skip
def test_account_event_posts_its_amount_from_source_to_destination(
    event: AnyPlayerAccountEvent, source: str, destination: str
) -> None:
    assert account_postings(event) == [Posting(source, destination, 50, "ann")]


def test_opening_an_account_moves_nothing() -> None:
    assert account_postings(OPENED) == []


def test_event_of_a_table_is_not_posted_as_one_of_an_account() -> None:
    foreign: Any = BoughtIn(player="ann", amount=5, source="cash")

    with pytest.raises(AssertionError, match="BoughtIn"):
        account_postings(foreign)


def test_balance_of_an_account_agrees_with_its_postings() -> None:
    account, balances = PlayerAccount(), Balances()
    happened: list[AnyPlayerAccountEvent] = [
        OPENED,
        events.Deposited(player="ann", amount=500, by="cashier"),
        events.SentToTable(player="ann", table="1", amount=300),
        events.ReceivedFromTable(player="ann", table="1", amount=40),
        events.Withdrawn(player="ann", amount=100, by="cashier"),
    ]
    for event in happened:
        evolve(account, event)
        balances.post(account_postings(event))
        assert account_balance(account, "account/ann") == balances.get("account/ann", 0)
    assert account.balance == 140
    assert account_balance(account, "outside") is None
