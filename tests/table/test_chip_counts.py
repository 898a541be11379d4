"""Chips by denomination: change, bets, payments, colours and conservation."""

from __future__ import annotations

from collections import Counter
from itertools import product
from operator import mul
from random import Random
from typing import Any

import msgspec
import pytest

from tests.table.chip_table import NEW_ZEALAND, RACK, ChipTable, refusal_of
from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR, Table, replace_facts
from threedice import load
from threedice.errors import InvariantBroken
from threedice.table import BetRef, Refusal, commands, events, explain
from threedice.table.chip_counts.counts import (
    ChipCounts,
    fewest_chips,
    most_chips_within,
    value_of,
    values_of_chips,
)
from threedice.table.chip_counts.ledger import accounts_of, apply_moves, chip_balance
from threedice.table.chip_counts.moves import rack_payments
from threedice.table.commands import Actor
from threedice.table.forecast import forecast_settlement
from threedice.table.limits import uniform_limits
from threedice.table.prose import describe_events
from threedice.table.settlement import playing_stakes

# --- change -------------------------------------------------------------------------------------


def test_fewest_chips_agree_with_trying_every_combination() -> None:
    random = Random(24)
    for _ in range(400):
        values = random.sample([5, 10, 15, 25, 40, 50, 100, 125], random.randint(1, 4))
        available = {str(value): random.randint(0, 4) for value in values}
        amount = random.randrange(0, 300, 5)
        made = [
            sum(taken)
            for taken in product(*(range(available[str(value)] + 1) for value in values))
            if sum(n * value for n, value in zip(taken, values, strict=True)) == amount
        ]
        found = fewest_chips(available, values_of_chips(tuple(values)), amount)
        assert (sum(found.values()) if found is not None else None) == min(made, default=None)


@pytest.mark.parametrize("denominations", [(5, 25, 100, 500), (5, 10, 25, 40)])
def test_most_chips_within_an_amount_leave_the_smallest_rest_with_the_fewest_chips(
    denominations: tuple[int, ...],
) -> None:
    random, values = Random(25), values_of_chips(denominations)
    for _ in range(200):
        available = {name: random.randint(0, 3) for name in values}
        amount = random.randrange(5, 1000, 5)
        made = [
            (amount - worth, sum(taken))
            for taken in product(*(range(count + 1) for count in available.values()))
            if (worth := sum(map(mul, taken, values.values()))) <= amount
        ]
        counts, rest = most_chips_within(available, values, amount)
        assert (rest, sum(counts.values())) == min(made)
        assert value_of(counts, values) == amount - rest
        assert all(available[name] >= count > 0 for name, count in counts.items())


def test_amount_that_no_chips_make_is_made_as_far_as_smaller_chips_reach() -> None:
    values = values_of_chips((20, 50))
    assert most_chips_within({"50": 1, "20": 1}, values, 60) == ({"50": 1}, 10)


def test_largest_chips_first_would_fail_where_the_exact_search_pays() -> None:
    available, values = {"25": 4, "40": 2}, values_of_chips((25, 40))
    assert fewest_chips(available, values, 115) == {"40": 1, "25": 3}
    assert fewest_chips(available, values, 100) == {"25": 4}


def test_chips_that_are_too_large_for_an_amount_are_not_searched() -> None:
    """Each search counts, because a return over a limit tries every amount up to the bet."""
    values = values_of_chips((5, 20, 50, 10**9))
    available = {str(10**9): 1, "50": 3, "20": 1}
    assert most_chips_within(available, values, 10**9 - 5) == ({"50": 3, "20": 1}, 10**9 - 175)
    assert most_chips_within({str(10**9): 1}, values, 10**9 - 5) == ({}, 10**9 - 5)
    assert most_chips_within({"50": 10**8}, values, 10**9 - 5) == ({"50": 19_999_999}, 45)


def test_change_of_large_amounts_needs_no_long_search() -> None:
    values = values_of_chips((5, 25, 40, 1000, 99_995))
    available = dict.fromkeys(values, 10**6)
    found = fewest_chips(available, values, 10**10)
    assert found is not None
    assert value_of(found, values) == 10**10


def test_a_chip_is_neither_made_nor_lost() -> None:
    holders = {"float": {"25": 1}}
    apply_moves(holders, [("float", "stack/ann", "ann", {"25": 1})])
    assert holders == {"stack/ann": {"25": 1}}
    with pytest.raises(InvariantBroken, match="below zero"):
        apply_moves(holders, [("float", "stack/ann", "ann", {"25": 1})])
    with pytest.raises(InvariantBroken, match="a move of 0"):
        apply_moves(holders, [("stack/ann", "float", "ann", {"25": 0})])


# --- bets and payments --------------------------------------------------------------------------


def test_a_buy_in_gives_the_chips_that_were_asked_for_or_the_fewest() -> None:
    table = ChipTable()
    table.buy_in("ann", 200)
    assert table.held("stack/ann") == {"100": 2}
    table.buy_in("ann", 60, counts={"5": 2, "25": 2})
    assert table.held("stack/ann") == {"100": 2, "5": 2, "25": 2}
    assert table.held("float") == {"5": 198, "25": 198, "100": 98}


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"7": 1}, "chips/unknown"),
        ({"25": 3}, "chips/counts"),
        ({"5": 201}, "chips/lacking"),
    ],
)
def test_a_buy_in_for_other_chips_is_refused(counts: ChipCounts, code: str) -> None:
    table = ChipTable()
    amount = 1005 if code == "chips/lacking" else 50
    with pytest.raises(Refusal) as refused:
        table.buy_in("ann", amount, counts=counts)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("amount", "counts", "cash_facts"),
    [
        (20_000, None, {"short": 4_000}),
        (1_005, {"5": 201}, {"chip": "5", "count": 201, "held": 200}),
    ],
)
def test_refused_buy_in_from_an_account_does_not_say_what_the_rack_holds(
    amount: int, counts: ChipCounts | None, cash_facts: dict[str, Any]
) -> None:
    table = ChipTable()
    asked: dict[str, Any] = {} if counts is None else {"counts": counts}
    ann = Actor(id="ann", role="player")
    with pytest.raises(Refusal) as with_cash:
        table.buy_in("ann", amount, **asked)
    from_account = commands.BuyIn(
        by=ann, player="ann", amount=amount, age_years=30, source="account", **asked
    )
    refusal = refusal_of(table, from_account)

    assert with_cash.value.facts == cash_facts
    assert (refusal.code, refusal.facts) == ("chips/rack", {"amount": amount})


def test_counts_of_chips_are_refused_where_a_table_deals_in_amounts() -> None:
    table = Table()
    table.play("open betting")
    ann = Actor(id="ann", role="player")
    counts = {"100": 1}
    sent: list[commands.AnyCommand] = [
        commands.BuyIn(by=ann, player="ann", amount=100, counts=counts),
        commands.PlaceBet(by=ann, player="ann", box="big", amount=100, counts=counts),
        commands.FillFloat(by=SUPERVISOR, amount=100, counts=counts),
        commands.CreditFloat(by=SUPERVISOR, amount=100, counts=counts),
    ]
    for command in sent:
        assert refusal_of(table, command).code == "chips/amounts-only"
    table = Table()
    for command in (
        commands.CountRack(by=SUPERVISOR, counted=counts, approved_by=MANAGER),
        commands.CloseTable(by=SUPERVISOR, counted=counts, approved_by=MANAGER),
    ):
        assert refusal_of(table, command).code == "chips/amounts-only"


def test_a_bet_takes_the_chips_that_were_named_and_lies_on_its_spot() -> None:
    table = ChipTable()
    table.buy_in("ann", 130, counts={"100": 1, "25": 1, "5": 1})
    table.play("open betting")
    table.bet("ann", 30, "big", counts={"25": 1, "5": 1})
    assert table.held("bet/big/ann") == {"25": 1, "5": 1}
    assert table.held("stack/ann") == {"100": 1}


def test_a_bet_takes_the_fewest_chips_also_where_the_largest_do_not_fit() -> None:
    table = ChipTable({"5": 9, "20": 9, "50": 9}, chips=[5, 20, 50])
    table.buy_in("ann", 110, counts={"20": 3, "50": 1})
    table.play("open betting")
    table.bet("ann", 60, "big")
    assert table.held("bet/big/ann") == {"20": 3}


def test_the_dealer_changes_a_chip_for_a_bet_that_the_stack_cannot_make() -> None:
    table = ChipTable()
    table.buy_in("ann", 200)
    table.play("open betting")
    table.bet("ann", 130, "big")
    assert table.held("bet/big/ann") == {"100": 1, "25": 1, "5": 1}
    assert table.held("stack/ann") == {"25": 2, "5": 4}
    assert table.held("float") == {"5": 195, "25": 197, "100": 99}


def test_a_bet_that_nobody_can_change_is_refused() -> None:
    table = ChipTable({"100": 50})
    table.buy_in("ann", 200)
    table.play("open betting")
    refusal = table.expect_refusal("ann bets 30 on big")
    assert (refusal.code, refusal.facts) == ("chips/change", {"amount": 30})


def test_change_may_give_the_small_part_from_what_the_large_part_leaves() -> None:
    """40 of a chip of 100: its change needs the only 50 for the 60, not for the 40."""
    table = ChipTable({"10": 5, "50": 1, "100": 9}, chips=[10, 50, 100], limits=(10, 1000, 2000))
    table.buy_in("ann", 100)
    table.play("open betting")
    table.bet("ann", 40, "big")
    assert value_of(table.held("bet/big/ann"), {"10": 10, "50": 50}) == 40
    assert value_of(table.held("stack/ann"), {"10": 10, "50": 50}) == 60


def test_winners_are_paid_with_the_fewest_chips_and_losers_go_to_the_rack_as_they_lie() -> None:
    table = ChipTable()
    table.buy_in("ann", 60, counts={"5": 2, "25": 2})
    table.buy_in("bob", 25)
    table.play("open betting", "bob bets 25 on small")
    table.bet("ann", 60, "big", counts={"5": 2, "25": 2})
    table.roll(6, 5, 4)
    assert table.held("stack/ann") == {"5": 4, "25": 4}
    assert table.held("float")["25"] == 200 - 2 - 1 + 1 - 2


def test_payment_that_the_rack_cannot_make_is_refused_until_a_fill() -> None:
    table = ChipTable({"25": 2, "100": 100}, chips=[25, 100], limits=(25, 1000, 2000))
    table.buy_in("ann", 50)
    table.play("open betting", "ann bets 50 on big", "close betting")
    with pytest.raises(Refusal) as refused:
        table.roll(6, 5, 4)
    assert refused.value.code == "chips/rack"
    fill = commands.FillFloat(by=SUPERVISOR, amount=100, approved_by=MANAGER, counts={"25": 4})
    (filled,) = table.send(fill)
    assert isinstance(filled, events.FloatFilled)
    assert filled.slip == 2
    table.send(commands.PayWinners(by=DEALER))
    assert table.held("stack/ann") == {"25": 4}


def test_proposed_payments_say_where_the_rack_cannot_pay() -> None:
    table = ChipTable({"25": 5, "100": 1}, chips=[25, 100], limits=(25, 1000, 2000))
    payouts = [("big", "ann", 25, 125), ("big", "bob", 25, 75), ("big", "cat", 25, 50)]
    proposed = [counts for _, counts in rack_payments(table.game, table.state, [], payouts)]
    assert proposed == [{"100": 1, "25": 1}, {"25": 3}, None]


def test_no_payment_is_proposed_while_the_rack_cannot_give_back_what_losers_did_not_play() -> None:
    table = big_over_its_maximum({"100": 100})
    table.play("tumble 3 times", "uncover the dice", "call 1 2 3")
    collected = [
        each
        for each in forecast_settlement(table.game, table.state)
        if isinstance(each, events.LosersCollected)
    ]
    payouts = [("small", "cat", 100, 100)]
    assert collected[0].excess == [("big", "ann", 150), ("big", "bob", 50)]
    assert list(rack_payments(table.game, table.state, collected, payouts)) == [(payouts[0], None)]


# --- excess over a limit ------------------------------------------------------------------------


def fill_of(counts: ChipCounts) -> commands.FillFloat:
    """Return a fill with these value chips."""
    amount = sum(int(name) * count for name, count in counts.items())
    return commands.FillFloat(by=SUPERVISOR, amount=amount, approved_by=MANAGER, counts=counts)


def shares_of(table: ChipTable) -> dict[str, int]:
    """Return what bets over a limit play, by player."""
    (shared,) = (each for each in table.events if isinstance(each, events.BetsApportioned))
    return {player: plays for _, player, _, plays in shared.bets}


def big_over_its_maximum(rack: ChipCounts) -> ChipTable:
    """Return a table where ann's 900 and bob's 300 lie on big, of which 1000 may play."""
    table = ChipTable(rack, chips=[5, 100], limits=(50, 1000, 2000))
    table.buy_in("ann", 900)
    table.buy_in("bob", 300)
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "close betting")
    return table


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_two_winners_whose_chips_nobody_can_change_win_by_their_shares() -> None:
    table = ChipTable({"500": 1000}, chips=[5, 500], limits=(50, 500, 2000))
    for player in ("ann", "bob"):
        table.buy_in(player, 500)
    table.play("open betting", "ann bets 500 on triple:4", "bob bets 500 on triple:4",
               "close betting")  # fmt: skip
    table.roll(4, 4, 4)

    assert shares_of(table) == {"ann": 250, "bob": 250}
    assert (table.stack("ann"), table.stack("bob")) == (45_500, 45_500)
    assert table.held("stack/ann") == {"500": 91}


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
@pytest.mark.parametrize("rack", [{"5": 200, "100": 100}, {"5": 40, "100": 100}])
def test_winners_over_a_limit_win_the_same_whatever_the_rack_holds(rack: ChipCounts) -> None:
    table = big_over_its_maximum(rack)
    table.roll(6, 5, 4)

    assert shares_of(table) == {"ann": 750, "bob": 250}
    assert (table.stack("ann"), table.stack("bob")) == (900 + 750, 300 + 250)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_payment_of_shares_without_change_waits_for_a_fill() -> None:
    table = big_over_its_maximum({"100": 100})
    with pytest.raises(Refusal) as refused:
        table.roll(6, 5, 4)
    assert refused.value.code == "chips/rack"
    assert shares_of(table) == {"ann": 750, "bob": 250}

    table.send(fill_of({"5": 20}))
    (paid,) = table.send(commands.PayWinners(by=DEALER))

    assert isinstance(paid, events.WinnersPaid)
    assert paid.bets == [("big", "ann", 750, 750), ("big", "bob", 250, 250)]
    assert paid.excess == [("big", "ann", 150), ("big", "bob", 50)]
    assert (table.stack("ann"), table.stack("bob")) == (1650, 550)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_collection_waits_while_the_rack_cannot_give_back_what_losers_did_not_play() -> None:
    table = big_over_its_maximum({"100": 100})
    with pytest.raises(Refusal) as refused:
        table.roll(1, 2, 3)
    assert (refused.value.code, refused.value.facts) == ("chips/rack", {"amount": 150})
    assert not any(isinstance(each, events.BetsApportioned) for each in table.events)

    table.send(fill_of({"5": 20}))
    table.roll(1, 2, 3)

    assert shares_of(table) == {"ann": 750, "bob": 250}
    assert (table.stack("ann"), table.stack("bob")) == (150, 50)
    assert table.state.settled[1] == {"ann": -750, "bob": -250}


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_chips_of_all_losers_serve_as_change() -> None:
    table = ChipTable({"500": 9, "5": 100}, chips=[5, 500], limits=(50, 500, 2000))
    for player in ("ann", "bob"):
        table.buy_in(player, 500, counts={"500": 1})
    table.buy_in("cat", 500, counts={"5": 100})
    table.play("open betting", *(f"{player} bets 500 on triple:4" for player in ("ann", "bob")))
    table.play("cat bets 500 on big", "close betting")
    assert "5" not in table.held("float")

    table.roll(1, 2, 3)

    assert (table.held("stack/ann"), table.held("stack/bob")) == ({"5": 50}, {"5": 50})


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_bet_of_which_nothing_plays_goes_back_as_it_lies() -> None:
    game = load("sg-rws-tai-sai-v6/c")
    rule = game.facts.limits.pro_rata
    assert rule
    changed = msgspec.structs.replace(
        game.facts.limits, pro_rata=msgspec.structs.replace(rule, never_below_minimum=False)
    )
    for dice in ((6, 5, 4), (1, 2, 3)):
        table = ChipTable({"100": 100}, chips=[100], limits=(100, 1000, 2000))
        table.game = replace_facts(game, limits=changed)
        table.state.game_hash = table.game.hash
        table.buy_in("ann", 1000)
        table.buy_in("bob", 100)
        table.play("open betting", "ann bets 1000 on big", "bob bets 100 on big")
        table.roll(*dice)

        assert shares_of(table) == {"ann": 900, "bob": 0}
        assert table.stack("bob") == 100
        assert "bob" not in table.state.settled[1]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1")
@pytest.mark.parametrize("dice", [(6, 5, 4), (1, 2, 3)])
def test_rejected_excess_without_change_waits_and_does_not_play(dice: tuple[int, int, int]) -> None:
    table = ChipTable({"5": 2, "100": 100}, chips=[5, 100], limits=(50, 1000, 2000))
    table.buy_in("ann", 910)
    table.buy_in("bob", 100)
    table.play("open betting", "ann bets 910 on big", "bob bets 100 on big")

    (rejected,) = table.send(commands.RejectExcess(by=DEALER, box="big"))
    assert isinstance(rejected, events.BetRejected)
    assert (rejected.player, rejected.amount, rejected.waits) == ("bob", 10, True)
    assert table.state.current.totals["big"] == 1000
    assert refusal_of(table, commands.RejectExcess(by=DEALER, box="big")).code == "bet/nothing-over"
    assert playing_stakes(table.game, table.state)["big"] == {"ann": 910, "bob": 90}
    (line,) = describe_events(table.game, [rejected])
    assert line.endswith("over the maximum; it lies there without playing, for lack of change.")

    table.play("close betting")
    won = dice == (6, 5, 4)
    if won:
        with pytest.raises(Refusal, match="ask for a fill"):
            table.roll(*dice)
        table.send(fill_of({"5": 20}))
    table.roll(*dice)  # ann's lost chips are change for bob

    assert (table.stack("ann"), table.stack("bob")) == ((1820, 190) if won else (0, 10))
    words = " ".join(explain(table.game, table.events, BetRef(1, "bob", "big")))
    assert "no change for the 10, so it lies with the bet without playing" in words
    settled = describe_events(table.game, table.events)
    assert any("; back without playing: bob's 10 on big." in each for each in settled)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1")
def test_rejected_excess_without_change_goes_back_when_its_area_is_paid() -> None:
    table = ChipTable({"5": 2, "100": 100}, chips=[5, 100], limits=(50, 1000, 2000))
    table.buy_in("ann", 910)
    table.buy_in("bob", 100)
    table.play("open betting", "ann bets 910 on big", "bob bets 100 on big",
               "dealer rejects the excess on big", "close betting", "tumble 3 times",
               "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
               "collect the losers")  # fmt: skip
    table.send(fill_of({"5": 20}))

    (paid,) = table.send(commands.PayArea(by=DEALER, box="big"))

    assert isinstance(paid, events.AreaPaid)
    assert paid.excess == [("big", "bob", 10)]
    assert table.stack("bob") == 190
    assert "big" not in table.state.current.bets


@pytest.fixture
def waiting() -> ChipTable:
    """Return a table where 5 of bob's 100 on big are rejected and wait for change."""
    table = ChipTable({"5": 1, "100": 100}, chips=[5, 100], limits=(50, 1000, 2000))
    table.buy_in("ann", 905)
    table.buy_in("bob", 100)
    table.play("open betting", "ann bets 905 on big", "bob bets 100 on big",
               "dealer rejects the excess on big")  # fmt: skip
    assert table.state.current.bets["big"]["bob"].excess == 5
    return table


def test_whole_bet_is_withdrawn_with_the_excess_that_waits(waiting: ChipTable) -> None:
    assert waiting.expect_refusal("bob withdraws 45 from big").code == "chips/change"
    (withdrawn,) = waiting.play("bob withdraws 95 from big")

    assert isinstance(withdrawn, events.BetWithdrawn)
    assert (withdrawn.amount, withdrawn.excess) == (95, 5)
    assert waiting.held("stack/bob") == {"100": 1}
    assert waiting.state.current.bets["big"].keys() == {"ann"}


def test_whole_bet_moves_with_the_excess_that_waits(waiting: ChipTable) -> None:
    move = commands.MoveChips(by=DEALER, player="bob", box="big", to_box="small", amount=95)
    waiting.send(move)
    assert waiting.held("bet/small/bob") == {"100": 1}
    bet = waiting.state.current.bets["small"]["bob"]
    assert (bet.total, bet.excess, bet.lying) == (95, 5, 100)


def test_whole_bet_is_put_back_with_the_excess_that_waits() -> None:
    table = ChipTable({"5": 1, "100": 100}, NEW_ZEALAND, [5, 100], limits=(50, 95, 2000))
    table.buy_in("bob", 100)
    table.play("tumble 3 times", "open betting", "bob bets 100 on big",
               "dealer rejects the excess on big")  # fmt: skip
    assert table.state.current.bets["big"]["bob"].excess == 5
    move = commands.MoveChips(by=DEALER, player="bob", box="big", to_box="small", amount=95)
    table.send(move)
    table.play("supervisor puts 95 of bob's back from small to big")
    bet = table.state.current.bets["big"]["bob"]
    assert (bet.total, bet.excess) == (95, 5)
    assert table.held("bet/big/bob") == {"100": 1}


def test_bet_on_a_line_goes_back_with_the_excess_that_waits() -> None:
    table = ChipTable({"5": 1, "100": 100}, NEW_ZEALAND, [5, 100], limits=(50, 95, 2000))
    table.buy_in("bob", 100)
    table.play("tumble 3 times", "open betting", "bob bets 100 on big",
               "dealer rejects the excess on big")  # fmt: skip
    line = commands.JudgeLine(by=SUPERVISOR, player="bob", box="big", amount=95, accepted=False)
    table.send(line)
    assert table.held("stack/bob") == {"100": 1}
    assert not table.state.current.bets


def test_void_round_returns_the_excess_that_waits(waiting: ChipTable) -> None:
    (*_, voided) = waiting.play("close betting", "tumble 3 times", "dealer reports dice-not-flat")
    assert isinstance(voided, events.RoundVoided)
    assert ("big", "bob", 100) in voided.returned
    assert waiting.held("stack/bob") == {"100": 1}


def test_whole_bet_that_is_rejected_later_goes_back_with_its_excess(waiting: ChipTable) -> None:
    waiting.buy_in("ann", 100)
    waiting.play("bob withdraws 95 from big", "bob bets 100 on big")
    waiting.play("dealer rejects the excess on big")
    assert waiting.state.limits
    narrower = uniform_limits(waiting.game, 50, 950, 2000)
    waiting.state.limits = narrower

    (rejected,) = waiting.send(commands.RejectExcess(by=DEALER, box="big"))

    assert isinstance(rejected, events.BetRejected)
    assert (rejected.number, rejected.amount, rejected.excess) == (events.ALL_PLACEMENTS, 95, 5)
    assert waiting.held("stack/bob")["100"] == 1


def rejected_from_big(table: ChipTable) -> list[tuple[str, int, int]]:
    """Reject the excess on big; return the rejections as (player, placement number, amount)."""
    rejected = table.send(commands.RejectExcess(by=DEALER, box="big"))
    return [
        (each.player, each.number, each.amount)
        for each in rejected
        if isinstance(each, events.BetRejected)
    ]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1")
def test_a_bet_whose_placements_need_change_goes_back_whole_as_it_lies() -> None:
    table = ChipTable({"20": 20, "50": 40}, chips=[5, 20, 50], limits=(50, 1020, 2000))
    table.buy_in("bob", 1000)
    table.buy_in("ann", 200, counts={"50": 2, "20": 5})
    table.play("open betting", "bob bets 1000 on big")
    for counts in ({"50": 1}, {"50": 1}, {"20": 5}):
        table.bet("ann", sum(int(chip) * count for chip, count in counts.items()), "big",
                  counts=counts)  # fmt: skip

    # one return, because her last 100 might go back as chips of 50, which the others then need
    assert rejected_from_big(table) == [("ann", events.ALL_PLACEMENTS, 200)]
    assert table.held("stack/ann") == {"50": 2, "20": 5}
    assert "ann" not in table.state.current.bets["big"]


def test_change_for_one_rejection_is_not_there_for_the_next() -> None:
    table = ChipTable({"5": 5, "25": 40}, NEW_ZEALAND, [5, 25], limits=(50, 120, 2000))
    for player in ("ann", "bob"):
        table.buy_in(player, 125)
    table.play("tumble 3 times", "open betting", "ann bets 125 on big", "bob bets 125 on big")

    assert rejected_from_big(table) == [("ann", 1, 5), ("bob", 2, 5)]
    bets = table.state.current.bets["big"]
    assert {player: bet.excess for player, bet in bets.items()} == {"ann": 0, "bob": 5}


# --- chips on the layout ------------------------------------------------------------------------


def test_moved_chips_lie_on_the_other_spot() -> None:
    table = ChipTable(game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.play("tumble 3 times", "open betting", "ann bets 100 on big")
    for to_box in ("small", "small"):
        move = commands.MoveChips(by=DEALER, player="ann", box="big", to_box=to_box, amount=25)
        table.send(move)
    assert table.held("bet/small/ann") == {"25": 2}
    same = commands.MoveChips(by=DEALER, player="ann", box="small", to_box="small", amount=25)
    (moved,) = table.send(same)
    assert isinstance(moved, events.ChipsMoved)
    assert not moved.chip_moves


# --- change and colours -------------------------------------------------------------------------


def test_chips_are_changed_into_one_denomination_and_back() -> None:
    table = ChipTable()
    table.buy_in("ann", 100)
    change = commands.ChangeChips(by=DEALER, player="ann", amount=100, into=25)
    table.send(change)
    assert table.held("stack/ann") == {"25": 4}
    colour_up = commands.ChangeChips(by=DEALER, player="ann", amount=100, into=100)
    table.send(colour_up)
    assert table.held("stack/ann") == {"100": 1}
    assert refusal_of(table, colour_up).code == "chips/change"


@pytest.mark.clause("nz-tai-sai-2008 3.4(a)", "nz-tai-sai-2008 4.3")
def test_a_colour_is_taken_for_value_chips_bet_and_coloured_up() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    take = commands.TakeColour(by=DEALER, player="ann", colour="red", value=5)
    table.send(take)
    assert table.held("stack/ann") == {"red": 20}
    assert table.state.float_amount == chip_balance(table.state, "float")
    table.buy_in("ann", 50)
    assert table.held("stack/ann") == {"red": 30}
    table.buy_in("ann", 25)
    assert table.held("stack/ann") == {"red": 30, "25": 1}
    table.play("tumble 3 times", "open betting", "ann bets 50 on big")
    table.roll(6, 5, 4)
    assert table.stack("ann") == 225
    table.send(commands.ColourUp(by=DEALER, player="ann"))
    assert "red" not in table.held("stack/ann")
    assert table.held("float")["red"] == 30
    assert refusal_of(table, take).code == "chips/lacking"


def test_a_colour_without_chips_moves_none() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 50)
    table.play("tumble 3 times", "open betting", "ann bets 50 on big")
    table.roll(1, 2, 3)
    take = commands.TakeColour(by=DEALER, player="ann", colour="red", value=5)
    (taken,) = table.send(take)
    assert isinstance(taken, events.ColourTaken)
    assert not taken.chip_moves
    (up,) = table.send(commands.ColourUp(by=DEALER, player="ann"))
    assert isinstance(up, events.ColouredUp)
    assert not up.chip_moves


@pytest.mark.parametrize(
    "colour",
    ["25", "\N{FULLWIDTH DIGIT FIVE}", "-", "", "5e2", "__proto__", "light blue", "r\u00f6t"],
)
def test_a_name_of_other_characters_than_letters_and_hyphens_is_no_colour(colour: str) -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.buy_in("bob", 50)
    take = commands.TakeColour(by=DEALER, player="ann", colour=colour, value=5)
    assert refusal_of(table, take).code == "chips/colour-name"
    table.play("tumble 3 times", "open betting", "bob bets 50 on big")
    table.roll(1, 2, 3)
    assert table.stack("bob") == 0
    broke = commands.TakeColour(by=DEALER, player="bob", colour=colour, value=5)
    assert refusal_of(table, broke).code == "chips/colour-name"


def test_a_colour_that_the_rack_does_not_have_is_not_taken_without_chips_either() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("bob", 50)
    table.play("tumble 3 times", "open betting", "bob bets 50 on big")
    table.roll(1, 2, 3)
    take = commands.TakeColour(by=DEALER, player="bob", colour="Red", value=5)
    refusal = refusal_of(table, take)
    assert (refusal.code, refusal.facts["chip"]) == ("chips/lacking", "Red")


def test_only_value_chips_leave_the_table() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    ann = Actor(id="ann", role="player")
    table.send(commands.CashOut(by=ann, player="ann", amount=50))
    assert table.held("outside") == {"25": 2}
    assert table.held("stack/ann") == {"red": 10}
    table.send(commands.CashOut(by=ann, player="ann", amount=50))
    assert table.held("outside") == {"25": 4}
    assert table.held("float")["red"] == 30


def test_only_value_chips_leave_the_table_when_a_chip_is_changed_for_a_cash_out() -> None:
    table = ChipTable({"5": 10, "25": 4, "red": 30}, game=NEW_ZEALAND)
    table.send(commands.BuyIn(by=DEALER, player="ann", amount=25, counts={"25": 1}))
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    table.send(commands.ColourUp(by=DEALER, player="ann"))
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    table.send(commands.ChangeChips(by=DEALER, player="ann", amount=25, into=25))
    (cashed,) = table.send(commands.CashOut(by=DEALER, player="ann", amount=5, to="outside"))
    assert isinstance(cashed, events.CashedOut)
    assert ("float", "outside", "ann", {"5": 1}) in (cashed.chip_moves or ())


def test_the_dealer_changes_a_chip_for_a_cash_out_by_a_player_with_colours() -> None:
    table = ChipTable({"5": 40, "25": 40, "100": 10, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 110)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    table.send(commands.ChangeChips(by=DEALER, player="ann", amount=100, into=100))
    assert table.held("stack/ann") == {"red": 2, "100": 1}
    ann = Actor(id="ann", role="player")

    table.send(commands.CashOut(by=ann, player="ann", amount=60))

    assert value_of(table.held("outside"), {"5": 5, "25": 25, "100": 100}) == 60
    assert "red" not in table.held("outside")
    assert table.stack("ann") == chip_balance(table.state, "stack/ann") == 50
    assert table.state.float_amount == chip_balance(table.state, "float")


def test_value_chips_leave_before_coloured_ones_are_changed() -> None:
    table = ChipTable({"5": 20, "100": 10, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    table.buy_in("ann", 100, counts={"5": 20})
    ann = Actor(id="ann", role="player")

    table.send(commands.CashOut(by=ann, player="ann", amount=100))

    assert table.held("outside") == {"5": 20}
    assert table.held("stack/ann") == {"red": 20}


def test_coloured_chips_stay_where_the_rack_has_no_value_chips_for_them() -> None:
    table = ChipTable({"100": 1, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    table.play("tumbles 3 times", "open betting", "ann bets 25 on big")
    table.roll(1, 2, 3)
    ann = Actor(id="ann", role="player")
    out = commands.CashOut(by=ann, player="ann", amount=50)
    assert refusal_of(table, out).code == "chips/change"
    up = commands.ColourUp(by=DEALER, player="ann")
    assert refusal_of(table, up).code == "chips/rack"


def test_every_kind_of_chip_sums_to_zero_over_its_holders() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 300)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=25))
    table.play("tumble 3 times", "open betting", "ann bets 50 on big")
    table.roll(6, 5, 4)
    totals: Counter[str] = Counter()
    for counts in (table.state.holders or {}).values():
        totals.update(counts)
    assert not any(totals.values())


def test_an_amount_that_the_rack_cannot_make_is_not_sold() -> None:
    table = ChipTable({"100": 20})
    with pytest.raises(Refusal) as refused:
        table.buy_in("ann", 115)
    assert (refused.value.code, refused.value.facts) == ("chips/rack", {"amount": 115})


def test_debts_move_only_the_chips_that_the_player_has() -> None:
    table = ChipTable()
    table.buy_in("ann", 100)

    def rule(amount: int) -> list[events.AnyEvent]:
        ruling = commands.MakeRuling(by=MANAGER, player="ann", amount=amount, reason="as seen")
        return table.send(ruling)

    rule(-300)
    assert (table.held("stack/ann"), table.state.owing["ann"]) == ({}, 200)
    (set_off,) = rule(50)
    assert isinstance(set_off, events.RulingMade)
    assert not set_off.chip_moves
    ann = Actor(id="ann", role="player")
    repay = commands.RepayDebt(by=ann, player="ann", amount=150, source="cash")
    (repaid,) = table.send(repay)
    assert isinstance(repaid, events.DebtRepaid)
    assert not repaid.chip_moves
    assert table.held("float") == RACK


def test_chips_are_valued_by_holder_and_a_table_in_amounts_has_none() -> None:
    table = ChipTable()
    table.buy_in("ann", 130)
    table.play("open betting", "ann bets 30 on big")
    state = table.state
    accounts = ("stack/ann", "layout", "float", "vault")
    values = [chip_balance(state, account) for account in accounts]
    assert values == [100, 30, state.float_amount, None]
    assert chip_balance(Table().state, "float") is None
    moves = [("bet/big/ann", "float", "ann", {"5": 1})]
    assert accounts_of(moves) == {"layout", "float"}
