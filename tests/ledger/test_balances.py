"""Balances added up at once are those of the postings, event by event, whatever happens."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.properties.test_table import EVENTS, GAMES, drive
from tests.table.setting import DEALER
from threedice import load
from threedice.errors import InvariantBroken
from threedice.ledger import Balances, post_event, table_postings
from threedice.ledger.balances import EVENTS_WITHOUT_POSTINGS
from threedice.table import events

if TYPE_CHECKING:
    from threedice.table.events import AnyEvent

STEPS = 250


def posted(balances: Balances, event: AnyEvent) -> str:
    """Apply an event's postings one by one; return what is refused of them."""
    return refused(balances, event, by_postings=True)


def added(balances: Balances, event: AnyEvent) -> str:
    return refused(balances, event, by_postings=False)


def refused(balances: Balances, event: AnyEvent, *, by_postings: bool) -> str:
    try:
        if by_postings:
            balances.post(table_postings(event))
        else:
            post_event(balances, event)
    except InvariantBroken as broken:
        return str(broken)
    return ""


def test_every_event_of_random_tables_adds_up_to_its_postings() -> None:
    seen: Counter[str] = Counter()
    for number, (name, readings) in enumerate(GAMES):
        table = drive(load(name, readings), "record" if number % 2 else "refuse", number, STEPS)
        one_by_one, at_once = Balances(), Balances()
        for event in table.events:
            assert added(at_once, event) == posted(one_by_one, event) == ""
            assert at_once == one_by_one, event
            if type(event) in EVENTS_WITHOUT_POSTINGS:
                assert table_postings(event) == []
            seen[type(event).__name__] += 1

    assert {each.__name__ for each in EVENTS_WITHOUT_POSTINGS} <= seen.keys() <= EVENTS
    assert min(seen[name] for name in ("BetPlaced", "LosersCollected", "WinnersPaid")) > 50


def bet(amount: int) -> AnyEvent:
    return events.BetPlaced(
        player="ann", spot="big", area="", amount=amount, number=1, manner="self", by=DEALER
    )


def lost(*amounts: int) -> AnyEvent:
    bets = [("big", "ann", amount) for amount in amounts]
    return events.LosersCollected(bets=bets)


def won(*bets: tuple[int, int]) -> AnyEvent:
    paid = [("big", "ann", stake, winnings) for stake, winnings in bets]
    return events.WinnersPaid(round=1, dice=(6, 5, 4), bets=paid)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (bet(0), ""),
        (bet(100), ""),
        (bet(101), "stack/ann went below zero, to -1"),
        (bet(-5), "a posting of -5 from stack/ann to layout"),
        (lost(), ""),
        (lost(0, 0), ""),
        (lost(10, 0, 40), ""),
        (lost(10, 41), "layout went below zero, to -1"),
        (lost(30, -10, 20), "a posting of -10 from layout to float"),
        (lost(-10, 10), "a posting of -10 from layout to float"),
        (won(), ""),
        (won((10, 10), (40, 20)), ""),
        (won((10, 0), (40, 20)), ""),
        (
            won(
                (0, 20),
            ),
            "",
        ),
        (won((10, 10), (41, 10)), "layout went below zero, to -1"),
        (won((10, 25), (10, 6)), "float went below zero, to -1"),
        (won((10, -10), (10, 20)), "a posting of -10 from float to stack/ann"),
        (won((-10, 10), (20, 10)), "a posting of -10 from layout to stack/ann"),
    ],
)
def test_whatever_must_not_be_posted_is_refused_in_the_same_words(
    event: AnyEvent, problem: str
) -> None:
    held = {"stack/ann": 100, "layout": 50, "float": 30}
    one_by_one, at_once = Balances(held), Balances(held)

    assert added(at_once, event) == posted(one_by_one, event) == problem
    assert problem or at_once == one_by_one
