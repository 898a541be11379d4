"""Corners of the rules: the order of things, who may do them, chips that move, corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.table.setting import DEALER, Table
from threedice import load
from threedice.errors import InvariantBroken
from threedice.table import BetRef, Refusal, commands, decide, explain
from threedice.table import events as table_events
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits, find_breaches
from threedice.table.settlement import apportion_by_rule

if TYPE_CHECKING:
    from pathlib import Path

START = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")


@pytest.mark.clause("triple-dice 7.8")
def test_the_shooter_chooses_his_dice_before_he_bets() -> None:
    table = Table("triple-dice")
    table.play(*START, "offer the dice to bob")

    assert table.refuses("bob bets 50 on shooter").code == "shooter/no-dice"
    table.play("bob chooses dice 3 4 5", "bob bets 50 on shooter", "dice club club club")
    assert table.stack("bob") == 1950


def test_chips_moved_in_parts_stay_one_placement() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("dealer sets limits 5 to 50 differential 50 with supervisor", "open betting",
               "ann bets 100 on big", "10 of ann's is moved from big to small",
               "70 of ann's is moved from big to small",
               "dealer rejects the excess on small")  # fmt: skip
    bet = table.state.current.bets["small"]["ann"]

    assert bet.total == sum(each.amount for each in bet.placements) == 50


def test_chips_that_were_withdrawn_cannot_be_put_back() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big", "50 of ann's is moved from big to small",
               "ann withdraws 50 from small", "ann calls 50 on small")  # fmt: skip

    assert (
        table.refuses("supervisor puts 50 of ann's back from small to big").code == "bet/call-bet"
    )


def test_a_correction_needs_a_bet_in_that_round_and_a_ruling_a_known_player() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4")

    line = "dealer corrects round 1 for bob by 500 with supervisor: late"
    assert table.refuses(line).code == "round/no-bet"
    assert table.refuses("shift-manager rules 5 for nobody: goodwill").code == "player/unknown"


def test_a_ruling_needs_a_reason_whole_chips_and_a_float_that_holds_it() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4")
    over = table.state.float_amount + table.state.chips[0]

    for amount, reason, code in (
        (500, " ", "reason/missing"),
        (0, "goodwill", "amount/zero"),
        (1, "goodwill", "chips/amount"),
        (over, "goodwill", "float/short"),
    ):
        manager = Actor(id="mia", role="shift-manager")
        ruling = commands.MakeRuling(by=manager, player="ann", amount=amount, reason=reason)
        with pytest.raises(Refusal) as refused:
            decide(table.game, table.state, ruling)
        assert refused.value.code == code


def test_a_spin_void_at_its_first_step_is_the_one_that_is_void() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "dice 6 5 4")
    events = table.play("tumbles 2 times")

    assert [each.round for each in events if isinstance(each, table_events.RoundVoided)] == [2]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6")
def test_rounds_of_before_the_table_was_reopened_can_be_voided() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "close the table")
    table.ask(opening_of(table))
    table.play("supervisor reports dice-damaged affecting 1 with shift-manager")

    assert table.state.owing == {"ann": 100}


def opening_of(table: Table) -> commands.OpenTable:
    opened = table.events[0]
    assert isinstance(opened, table_events.TableOpened)
    return commands.OpenTable(
        by=opened.by, table="t", currency="SGD", mode="record", chips=opened.chips,
        float_amount=opened.float_amount, limits=opened.limits,
    )  # fmt: skip


@pytest.mark.clause("nz-tai-sai-2008 3.4(a)", "nz-tai-sai-2008 3.4(b)")
def test_a_colour_is_played_in_its_own_chips() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("ann takes red at 25", "open betting", "ann bets 50 on big")

    for line in ("ann withdraws 5 from big", "ann leaves with 5", "ann buys 5"):
        assert table.refuses(line).code in {"bet/amount", "chips/amount"}
    assert table.refuses("ann colours up").code == "chips/bets-down"
    with pytest.raises(Exception, match="give a colour, and a value"):
        table.ask(commands.TakeColour(by=DEALER, player="bob", colour=" ", value=25))


def test_a_table_is_played_on_the_game_it_was_opened_on() -> None:
    table = Table()
    other = load("sg-rws-tai-sai-v6/c", {"pro-rata": "absorb"})

    with pytest.raises(InvariantBroken, match="opened on another game"):
        decide(other, table.state, commands.OpenBetting(by=DEALER))


@pytest.mark.clause("triple-dice 6")
def test_the_shooters_bet_is_flagged_too() -> None:
    table = Table("triple-dice")
    table.play(*START, "ann bets 5 on shooter")
    assert [flag.kind for flag in find_breaches(table.game, table.state)] == ["minimum"]
    table.play("ann bets 1500 on shooter")
    assert [flag.kind for flag in find_breaches(table.game, table.state)] == ["maximum"]


@pytest.mark.clause("sg-rws-tai-sai-v6 1.5")
def test_seniors_may_stand_in_for_the_dealer_and_not_the_other_way() -> None:
    table = Table()
    table.play("open betting", "supervisor tumbles 3 times")

    assert (
        table.refuses("dealer reports dice-damaged with shift-manager").code == "role/not-allowed"
    )
    assert table.refuses("shift-manager uncovers the dice").code == "role/not-allowed"


def test_a_rulebook_may_apportion_without_floor_or_exemption() -> None:
    rule = load("sg-rws-tai-sai-v6/c").facts.limits.pro_rata
    assert rule is not None
    plain = rule.__class__(
        method="floor", round_to="smallest-chip", never_below_minimum=False,
        exempt_below_minimum=False, clause=rule.clause,
    )  # fmt: skip

    assert apportion_by_rule(rule, {"a": 1960, "b": 40}, 1000, 50, 5) == {"a": 980, "b": 40}
    assert apportion_by_rule(plain, {"a": 1960, "b": 40}, 1000, 50, 5) == {"a": 980, "b": 20}


@pytest.mark.clause("nz-tai-sai-2008 6.5", "nz-tai-sai-2008 3.3(b)")
def test_an_amended_result_is_lit_anew() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big", "close betting", "uncover the dice",
               "call 1 2 3", "enter 1 2 3", "light the areas",
               "dealer amends the result to 6 5 4 with supervisor")  # fmt: skip

    assert table.refuses("collect the losers").code == "step/not-now"
    (lit,) = table.play("light the areas")
    assert isinstance(lit, table_events.AreasLit)
    assert "big" in lit.boxes


@pytest.mark.clause("sg-rws-tai-sai-v6 5.13", "triple-dice 3")
def test_nobody_places_a_bet_for_himself_on_anothers_behalf() -> None:
    table = Table()
    table.play("open betting")
    by = Actor(id="ann", role="dealer")

    with pytest.raises(Refusal) as refused:
        table.ask(commands.PlaceBet(by=by, player="ann", box="big", amount=50, manner="behalf"))
    assert refused.value.code == "role/same-person"


@pytest.mark.clause("nz-tai-sai-2008 4.3")
def test_chips_on_the_line_go_back_in_chips_and_only_before_settlement() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big")

    assert table.refuses("supervisor rejects 3 of ann's on the line of big").code == "bet/amount"
    table.play("close betting", "uncover the dice", "call 6 5 4", "enter 6 5 4",
               "light the areas", "collect the losers")  # fmt: skip
    late = table.refuses("supervisor rejects 50 of ann's on the line of big")
    assert late.code == "bet/position-fixed"
    singapore = Table()
    assert singapore.refuses("supervisor accepts 5 of ann's on the line of big").code == (
        "irregularity/unknown"
    )


def test_the_line_is_told_in_an_explanation() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big",
               "supervisor accepts 50 of ann's on the line of big",
               "supervisor rejects 50 of ann's on the line of big", "dice 6 5 4")  # fmt: skip
    text = " ".join(explain(table.game, table.events, BetRef(1, "ann", "big")))

    assert "50 on the line counts (4.3)." in text
    assert "50 on the line does not count and is returned (4.3)." in text
    assert "50 at 1 to 1 pays 50" in text


def test_a_table_opens_on_limits_that_can_be() -> None:
    table = Table()
    table.play("close the table")
    opening = opening_of(table)

    with pytest.raises(Refusal) as refused:
        table.ask(replace(opening, limits=TableLimits(families={})))
    assert refused.value.code == "limits/wrong"
    table.ask(opening)
    with pytest.raises(Refusal) as again:
        table.ask(opening)
    assert again.value.code == "table/already-open"


def test_an_excess_that_nobody_noticed_stands_where_a_rulebook_says_so(tmp_path: Path) -> None:
    file = tmp_path / "standing.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "standing"\ntitle = "Standing"\n'
        '[limits]\nmaximum.unnoticed = "stands"\ndifferential.unnoticed = "stands"\n'
    )
    table = Table(f"{file}/a")
    table.play("open betting", "ann bets 1500 on big", "dice 6 5 4")

    assert table.stack("ann") == 3500
