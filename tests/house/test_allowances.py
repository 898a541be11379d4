"""Adding up what one person moves alone."""

from __future__ import annotations

from threedice.account.events import Deposited
from threedice.house.allowances import DAY, MovedAlone, amount_moved, count_event
from threedice.table.commands import Actor
from threedice.table.events import BoughtIn, ColouredUp, FloatCredited, FloatFilled, RulingMade

MANAGER = Actor(id="m", role="shift-manager")


def ruling(amount: int) -> RulingMade:
    return RulingMade(player="ann", amount=amount, owing=0, reason="r", by=MANAGER)


def test_amounts_paid_and_taken_add_up() -> None:
    moved: MovedAlone = {}
    for amount in (60, -40):
        count_event(moved, ruling(amount), at=5)
    assert amount_moved(moved, "ruling_alone", "bob", now=5) == 100


def test_cash_counts_per_player_and_fills_and_credits_per_table() -> None:
    moved: MovedAlone = {}
    for player in ("ann", "bob"):
        count_event(moved, BoughtIn(player=player, amount=10, source="cash"), at=0)
    count_event(moved, FloatFilled(amount=3, by=MANAGER), at=0)
    count_event(moved, FloatCredited(amount=4, by=MANAGER), at=0)
    assert amount_moved(moved, "cash_alone", "ann", now=0) == 10
    assert amount_moved(moved, "float_alone", "", now=0) == 7


def test_only_money_that_one_member_of_staff_moves_is_counted() -> None:
    moved: MovedAlone = {}
    for event in (
        BoughtIn(player="ann", amount=10, source="account"),
        BoughtIn(player="ann", amount=10, source="cash", by=MANAGER, approved_by=MANAGER),
        Deposited(player="ann", amount=10, by="m", approved_by="s"),
        ColouredUp(player="ann"),
    ):
        count_event(moved, event, at=0)
    assert moved == {}


def test_amounts_expire_a_day_after_the_first_of_them() -> None:
    moved: MovedAlone = {}
    count_event(moved, Deposited(player="ann", amount=10, by="m"), at=0)
    count_event(moved, Deposited(player="ann", amount=20, by="m"), at=DAY - 1)
    assert amount_moved(moved, "cash_alone", "ann", now=DAY - 1) == 30
    assert amount_moved(moved, "cash_alone", "ann", now=DAY) == 0
    count_event(moved, Deposited(player="bob", amount=5, by="m"), at=DAY)
    assert moved == {"cash_alone/bob": (DAY, 5)}
