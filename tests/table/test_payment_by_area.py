"""Winners paid one area at a time: what is released, and what a void takes back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.table.chip_table import ChipTable
from tests.table.table_driver import DEALER, Table
from threedice.table import BetRef, Refusal, commands, events, explain, replay
from threedice.table.forecast import forecast_settlement
from threedice.table.prose import describe_events

NEW_ZEALAND = "nz-tai-sai-2008/1"
TO_PAYMENT = ("uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
              "collect the losers")  # fmt: skip
"""The steps after the close of betting, and after the tumble where that follows it."""


def table_at_payment(**options: Any) -> Table:
    """Return a table of New Zealand at which big, total 15 and a single have won."""
    table = Table(NEW_ZEALAND, **options)
    table.play("open betting", "ann bets 100 on big", "bob bets 50 on big",
               "ann bets 50 on total:15", "cat bets 50 on single:6", "cat bets 50 on small",
               "close betting", *TO_PAYMENT)  # fmt: skip
    return table


def test_paying_an_area_pays_all_its_winners_and_no_others() -> None:
    table = table_at_payment()

    (paid,) = table.play("pay the winners on big")

    assert paid == events.AreaPaid(
        spot="big", bets=[("big", "ann", 100, 100), ("big", "bob", 50, 50)], by=DEALER
    )
    assert [table.stack(player) for player in ("ann", "bob", "cat")] == [2050, 2050, 1900]
    assert table.state.current.paid == ["big"]


def test_player_may_take_the_chips_of_a_paid_area_before_the_others_are_paid() -> None:
    table = table_at_payment()
    table.play("pay the winners on big")

    table.play("bob leaves with 2050")

    assert "bob" not in table.state.seats


def test_player_may_not_handle_a_winning_wager_in_an_unpaid_area() -> None:
    table = table_at_payment()
    table.play("pay the winners on big")

    refusal = table.expect_refusal("ann withdraws 50 from total:15")

    assert (refusal.code, refusal.clause) == ("betting/closed", ("4.7(b)", "4.8"))


def test_no_bet_is_placed_while_an_area_is_unpaid() -> None:
    table = table_at_payment()
    table.play("pay the winners on big")

    refusal = table.expect_refusal("bob bets 50 on small")

    assert refusal.code == "betting/closed"
    assert "4.4" in refusal.clause


def test_the_round_is_settled_once_the_other_winners_are_paid() -> None:
    table, at_once = table_at_payment(), table_at_payment()
    table.play("pay the winners on single:6", "pay the winners on big")
    (rest,) = table.play("pay the winners")
    at_once.play("pay the winners")

    assert rest == events.WinnersPaid(round=1, dice=(6, 5, 4), bets=[("total:15", "ann", 50, 900)])
    assert table.state == at_once.state


def test_areas_may_all_be_paid_one_by_one() -> None:
    table = table_at_payment()
    for box in ("single:6", "big", "total:15"):
        table.play(f"pay the winners on {box}")

    (rest,) = table.play("pay the winners")

    assert rest == events.WinnersPaid(round=1, dice=(6, 5, 4), bets=[])
    assert table.state.settled[1] == {"ann": 1000, "bob": 50, "cat": 0}


@pytest.mark.parametrize("box", ["big", "small", "odd", "double:1"])
def test_area_without_an_unpaid_winner_is_refused(box: str) -> None:
    table = Table("nz-tai-sai-2008/2")
    table.play("open betting", "ann bets 100 on big", "bob bets 50 on small", "close betting",
               *TO_PAYMENT, "pay the winners on big")  # fmt: skip

    refusal = table.expect_refusal(f"pay the winners on {box}")

    assert (refusal.code, refusal.facts["box"]) == ("payment/none", box)


def test_area_that_the_layout_does_not_have_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        table_at_payment().send(commands.PayArea(by=DEALER, box="bgi"))

    assert refused.value.code == "bet/unknown-box"


def test_area_is_not_paid_before_the_losers_are_collected() -> None:
    table = Table(NEW_ZEALAND)
    table.play("open betting", "ann bets 100 on big", "close betting", *TO_PAYMENT[:-1])

    refusal = table.expect_refusal("pay the winners on big")

    assert (refusal.code, refusal.clause) == ("step/not-now", ("6.5(b)",))


def test_only_those_who_pay_winners_pay_an_area() -> None:
    assert table_at_payment().expect_refusal("ann pays the winners on big").code == (
        "role/not-allowed"
    )


def test_area_that_the_float_cannot_pay_is_refused_and_the_others_can_be_paid() -> None:
    table = table_at_payment()
    table.play(f"credit {table.state.float_amount - 150}")

    assert table.expect_refusal("pay the winners on total:15").code == "float/short"
    table.play("pay the winners on big")

    assert table.state.float_amount == 0


def test_areas_of_a_box_that_share_its_limits_are_paid_together() -> None:
    table = Table("sg-rws-tai-sai-v6/e")
    table.play("open betting", "ann bets 50 on big at left", "bob bets 50 on big at right",
               "close betting", "tumbles 3 times", *TO_PAYMENT)  # fmt: skip

    refusal = table.expect_refusal("pay the winners on big at left")
    table.play("pay the winners on big")

    assert (refusal.code, refusal.facts["box"]) == ("payment/none", "big at left")
    assert (table.stack("ann"), table.stack("bob")) == (2050, 2050)


def test_areas_with_limits_of_their_own_are_paid_one_by_one() -> None:
    table = Table("sg-rws-tai-sai-v6/e", readings={"areas": "per-area"})
    table.play("open betting", "ann bets 50 on big at left", "bob bets 50 on big at right",
               "close betting", "tumbles 3 times", *TO_PAYMENT,
               "pay the winners on big at left")  # fmt: skip

    assert (table.stack("ann"), table.stack("bob")) == (2050, 1950)


def test_winnings_of_an_area_reduce_a_debt_at_once() -> None:
    table = Table(stacks={"ann": 100, "bob": 2000})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "ann leaves with 150",
               "supervisor reports dice-damaged affecting 1 with shift-manager",
               "ann buys 100 from account", "open betting", "ann bets 50 on big",
               "ann bets 50 on odd", "close betting", "tumbles 3 times", *TO_PAYMENT)  # fmt: skip

    _, repaid = table.play("pay the winners on odd")
    table.play("pay the winners")

    assert repaid == events.DebtRepaid(player="ann", amount=50, source="winnings", round=2)
    assert "50 of the winnings of this round reduced a debt to the house" in " ".join(
        explain(table.game, table.events, BetRef(2, "ann", "odd"))
    )


def test_forecast_of_a_round_being_paid_leaves_out_the_paid_areas() -> None:
    table = table_at_payment()
    table.play("pay the winners on big")

    (rest,) = forecast_settlement(table.game, table.state)

    assert rest == events.WinnersPaid(
        round=1, dice=(6, 5, 4),
        bets=[("total:15", "ann", 50, 900), ("single:6", "cat", 50, 50)],
    )  # fmt: skip


# --- voids after an area was paid ---------------------------------------------------------------


def test_void_takes_the_winnings_of_a_paid_area_back_and_leaves_the_stake() -> None:
    table = table_at_payment()
    table.play("pay the winners on big", "dealer reports dice-not-flat with supervisor")

    assert [table.stack(player) for player in ("ann", "bob", "cat")] == [2000, 2000, 2000]
    assert replay(table.events) == table.state


def test_void_makes_a_player_who_has_left_with_winnings_owe_them() -> None:
    table = table_at_payment()
    table.play("pay the winners on big", "bob leaves with 2050",
               "dealer reports dice-not-flat with supervisor")  # fmt: skip

    assert table.state.owing == {"bob": 50}


def test_bets_that_would_stand_are_returned_once_an_area_is_paid() -> None:
    table = table_at_payment(readings={"no-spin": "stand"})
    table.play("pay the winners on big", "dealer reports dice-not-flat with supervisor")

    assert table.state.standing is None
    assert [table.stack(player) for player in ("ann", "bob", "cat")] == [2000, 2000, 2000]


def test_no_throw_found_after_an_area_was_paid_returns_the_bets_and_restores_the_shooter() -> None:
    table = Table("triple-dice/mat")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 100 on shooter", "bob bets 50 on single:club", "bob bets 50 on red",
               "close betting", "ann throws", "call club club heart", "collect the losers",
               "pay the winners on single:club",
               "dealer reports not-thrown-together with supervisor")  # fmt: skip

    assert table.state.round is None
    assert table.stack("bob") == 2000
    assert table.state.shooter is not None
    assert (table.state.shooter.player, table.state.shooter.stake) == ("ann", 100)


@pytest.mark.parametrize("paying", ["pay the winners on single:club", "pay the winners"])
def test_void_throw_restores_a_shooter_who_broke_even_and_left(paying: str) -> None:
    table = Table("triple-dice/mat")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 100 on shooter", "ann bets 100 on single:club", "close betting",
               "ann throws", "call club heart heart", "collect the losers", paying,
               "ann leaves with 2000",
               "dealer reports not-thrown-together with supervisor")  # fmt: skip

    assert table.state.shooter is not None
    assert (table.state.shooter.player, table.state.shooter.stake) == ("ann", 100)
    assert table.state.owing == {"ann": 100}
    assert replay(table.events) == table.state


# --- what people read ---------------------------------------------------------------------------


def test_payment_of_an_area_is_described() -> None:
    table = table_at_payment()
    start = len(table.events)
    table.play("pay the winners on big")

    lines = describe_events(table.game, table.events)

    assert list(lines)[start:] == [
        "  Winners of big paid: ann's 100 on big wins 100; bob's 50 on big wins 50."
    ]


def test_bet_paid_with_its_area_is_explained_like_any_other() -> None:
    table, at_once = table_at_payment(), table_at_payment()
    table.play("pay the winners on big", "pay the winners")
    at_once.play("pay the winners")

    for bet in (BetRef(1, "ann", "big"), BetRef(1, "ann", "total:15")):
        assert explain(table.game, table.events, bet) == explain(at_once.game, at_once.events, bet)


def test_explanation_says_that_a_void_took_the_winnings_of_a_paid_bet_back() -> None:
    table = table_at_payment()
    table.play("pay the winners on big", "bob leaves with 2050",
               "dealer reports dice-not-flat with supervisor")  # fmt: skip

    lines = explain(table.game, table.events, BetRef(1, "bob", "big"))

    assert lines[-2:] == [
        "Spin 1 is void: A die does not lie flat in the bottom of the tumbler (7.1, 7.1(a)). "
        "50 was handed back, and its winnings are taken back.",
        "50 of that is owed.",
    ]


# --- chips --------------------------------------------------------------------------------------


def test_table_that_deals_in_chips_pays_an_area_from_the_rack() -> None:
    table = ChipTable(game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.play("open betting")
    table.bet("ann", 25, "big")
    table.bet("ann", 25, "total:15")
    table.play("close betting", *TO_PAYMENT)

    (paid,) = table.play("pay the winners on big")

    assert isinstance(paid, events.AreaPaid)
    assert paid.chip_moves == [
        ("bet/big/ann", "stack/ann", "ann", {"25": 1}),
        ("float", "stack/ann", "ann", {"25": 1}),
    ]
    assert table.held("bet/total:15/ann") == {"25": 1}
