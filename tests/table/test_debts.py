"""Debts that reversals leave, and their repayment."""

from __future__ import annotations

import pytest

from tests.table.table_driver import DEALER, SUPERVISOR, Table, replace_facts, table_on_changed_game
from threedice.money import Balances
from threedice.table import BetRef, events, explain
from threedice.table.money import table_postings


def table_with_ann_in_debt(set_off: str = "winnings") -> Table:
    """Return a table where Ann carried her winnings away before the round was reversed."""
    table = Table(readings={"set-off": set_off}, stacks={"ann": 100})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "ann leaves with 150")
    table.play("supervisor reports dice-damaged affecting 1 with shift-manager")
    return table


def test_debt_can_be_repaid_in_chips_or_cash() -> None:
    table = table_with_ann_in_debt("none")
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
    table = table_with_ann_in_debt("none")
    table.play("ann buys 5")

    assert table.expect_refusal(line).code == code


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_winnings_are_paid_and_set_off_by_an_event_that_names_their_round() -> None:
    table = table_with_ann_in_debt()
    table.play("ann buys 100 from account", "open betting", "ann bets 50 on big",
               "ann bets 50 on small")  # fmt: skip

    *_, paid, repaid = table.play("dice 6 5 4")

    assert isinstance(paid, events.WinnersPaid)
    assert repaid == events.DebtRepaid(player="ann", amount=50, source="winnings", round=2)
    assert (table.stack("ann"), table.state.owing) == (50, {"ann": 0})
    balances = Balances()
    for event in table.events:
        balances.post(table_postings(event))
    assert (balances["owing/ann"], balances["stack/ann"]) == (0, 50)
    assert balances["float"] == table.state.float_amount


def test_winnings_reduce_a_debt_beside_one_that_is_repaid() -> None:
    table = table_with_ann_in_debt()
    table.play("bob buys 100", "shift-manager rules -105 for bob: taken by mistake", "bob buys 5")
    table.play("ann buys 50 from account", "open betting", "ann bets 50 on big", "dice 6 5 4")

    assert table.state.owing == {"ann": 0, "bob": 0}
    assert table.stack("ann") == 50


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_explanation_of_a_won_bet_tells_what_reduced_the_debt() -> None:
    table = table_with_ann_in_debt()
    table.play("ann buys 100 from account", "open betting", "ann bets 50 on big",
               "ann bets 50 on small", "dice 6 5 4")  # fmt: skip

    won = explain(table.game, table.events, BetRef(2, "ann", "big"))
    lost = explain(table.game, table.events, BetRef(2, "ann", "small"))
    assert won[-1] == "50 of the winnings of this round reduced a debt to the house (5.12)."
    assert lost[-1] == "50 is taken."


def test_winnings_of_the_shooter_bet_that_reduced_a_debt_are_explained() -> None:
    table = Table("triple-dice", stacks={"ann": 100})
    series = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
              "ann bets 10 on shooter", "dice crown club club",
              *["open betting", "dice crown club club"] * 3)  # fmt: skip
    table.play("shift-manager rules -150 for ann: taken by mistake", "ann buys 20 from account")

    table.play(*series)

    assert (table.stack("ann"), table.state.owing) == (20 + 40, {"ann": 0})
    text = explain(table.game, table.events, BetRef(4, "ann", "shooter"))
    assert text[-1] == "50 of the winnings of this throw reduced a debt to the house (5)."


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_supervisor_who_lets_held_chips_leave_is_recorded() -> None:
    table = table_with_ann_in_debt()
    table.play("ann buys 100 from account")

    (free,) = table.play("ann leaves with 50")
    (decided,) = table.play("supervisor cashes out 20 for ann")
    (approved,) = table.play("dealer cashes out 20 for ann with supervisor")

    assert free == events.CashedOut(player="ann", amount=50, to="outside")
    assert decided == events.CashedOut(player="ann", amount=20, to="outside", by=SUPERVISOR)
    assert approved == events.CashedOut(
        player="ann", amount=20, to="outside", by=DEALER, approved_by=SUPERVISOR
    )


def test_rulebook_without_a_rule_on_debts_sets_nothing_off() -> None:
    table = table_on_changed_game(replace_facts(Table().game, debts=None), stacks={"ann": 100})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "ann leaves with 150",
               "supervisor reports dice-damaged affecting 1 with shift-manager",
               "ann buys 100", "ann leaves with 100")  # fmt: skip

    assert table.state.owing == {"ann": 50}


@pytest.mark.parametrize(("stack", "amount", "free"), [(150, 105, 100), (30, 5, 0)])
def test_refused_cash_out_of_a_player_in_debt_names_the_chips_that_may_leave(
    stack: int, amount: int, free: int
) -> None:
    table = table_with_ann_in_debt()
    table.play(f"ann buys {stack} from account")

    refusal = table.expect_refusal(f"ann leaves with {amount}")

    assert (refusal.code, refusal.facts) == (
        "debt/held", {"player": "ann", "owing": 50, "free": free},
    )  # fmt: skip


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_cash_paid_in_reduces_the_debt_by_an_event_of_no_round() -> None:
    table = table_with_ann_in_debt()

    bought, repaid = table.play("ann buys 20")

    assert bought == events.BoughtIn(player="ann", amount=20, source="cash")
    assert repaid == events.DebtRepaid(player="ann", amount=20, source="buy-in")


@pytest.mark.clause("sg-rws-tai-sai-v6 5.12")
def test_debt_of_a_correction_that_ends_with_its_round_is_recorded_and_explained() -> None:
    table = Table(stacks={"bob": 1000})
    table.play("open betting", "bob bets 100 on small", "dice 6 5 4", "bob leaves with 900")
    table.play("dealer corrects round 1 for bob by -50 with supervisor: paid too much")

    (reversal,) = table.play("supervisor reports dice-damaged affecting 1 with pit-manager")

    assert isinstance(reversal, events.RoundsReversed)
    assert (reversal.transfers, reversal.owing) == ([("bob", 150)], [("bob", -50)])
    balances = Balances()
    for event in table.events:
        balances.post(table_postings(event))
    assert (balances["owing/bob"], balances["stack/bob"]) == (0, 100)
    text = " ".join(explain(table.game, table.events, BetRef(1, "bob", "small")))
    assert text.endswith("voided with it. A debt of 50 is cancelled.")
