"""Conduct of the game: order of steps, roles, moved chips, corrections and rulings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from tests.table.table_driver import DEALER, SUPERVISOR, Table, replace_facts, table_on_changed_game
from threedice import load
from threedice.errors import InvariantBroken
from threedice.table import Refusal, commands, decide
from threedice.table import events as table_events
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits, uniform_limits
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from pathlib import Path

START = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")


@pytest.mark.clause("triple-dice 7.8")
def test_shooter_bet_before_the_dice_are_chosen_is_refused() -> None:
    table = Table("triple-dice")
    table.play(*START, "offer the dice to bob")

    assert table.expect_refusal("bob bets 50 on shooter").code == "shooter/no-dice"
    table.play("bob chooses dice 3 4 5", "bob bets 50 on shooter", "dice club club club")
    assert table.stack("bob") == 1950


def test_chips_moved_in_parts_stay_one_placement_when_excess_is_rejected() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("dealer sets limits 5 to 50 differential 50 with supervisor", "open betting",
               "ann bets 100 on big", "10 of ann's is moved from big to small",
               "70 of ann's is moved from big to small",
               "dealer rejects the excess on small")  # fmt: skip
    bet = table.state.current.bets["small"]["ann"]

    assert bet.total == sum(each.amount for each in bet.placements) == 50


def test_withdrawn_chips_cannot_be_put_back() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big", "50 of ann's is moved from big to small",
               "ann withdraws 50 from small", "ann calls 50 on small")  # fmt: skip

    assert (
        table.expect_refusal("supervisor puts 50 of ann's back from small to big").code
        == "bet/call-bet"
    )


@pytest.mark.clause("nz-tai-sai-2008 4.9")
def test_chips_recorded_as_moved_are_put_back_before_later_ones() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann calls 50 on big", "50 of ann's is moved from big to small",
               "dealer bets 50 on small for ann",
               "supervisor puts 50 of ann's back from small to big")  # fmt: skip

    bets = table.state.current.bets
    assert [each.manner for each in bets["big"]["ann"].placements] == ["call"]
    assert [each.manner for each in bets["small"]["ann"].placements] == ["behalf"]


@pytest.mark.clause("nz-tai-sai-2008 4.9")
def test_event_of_chips_put_back_says_who_moved_them_without_a_record() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on small",
               "supervisor puts 50 of ann's back from small to big, moved by a patron")  # fmt: skip

    assert isinstance(table.events[-1], table_events.ChipsPutBack)
    assert table.events[-1].moved_by == "patron"
    told = describe_events(table.game, table.events)
    assert told[-1] == "  50 of ann's is put back on big (moved by another patron)."


def test_refusal_of_an_act_without_a_role_for_it_says_that_nobody_may() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting")
    refusal = table.expect_refusal("dealer calls 50 on big for ann")
    assert str(refusal).startswith("dealer may not do this; nobody may")


@pytest.mark.clause("sg-rws-tai-sai-v6 5.9", "sg-rws-tai-sai-v6 5.13")
def test_refusal_names_each_clause_once() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting", "dealer bets 100 on small for ann", "close betting")
    refusal = table.expect_refusal("supervisor puts 100 of ann's back from small to big")
    assert refusal.clause == ("5.9", "5.13")


@pytest.mark.clause("nz-tai-sai-2008 4.9")
def test_event_of_chips_put_back_after_the_call_names_the_second_person() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on small", "close betting", "uncover the dice",
               "call 6 5 4", "supervisor puts 50 of ann's back from small to big with pit-manager,"
               " moved by a patron")  # fmt: skip

    assert isinstance(table.events[-1], table_events.ChipsPutBack)
    assert table.events[-1].approved_by == Actor(id="pit-manager", role="pit-manager")


def test_chips_put_back_by_one_person_are_written_as_before_there_was_a_second() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on small", "50 of ann's is moved from small to big",
               "supervisor puts 50 of ann's back from big to small")  # fmt: skip
    command = commands.PutBack(
        by=SUPERVISOR, player="ann", box="big", to_box="small", amount=50, moved_by="patron"
    )

    assert "approved_by" not in msgspec.to_builtins(table.events[-1])
    assert "approved_by" not in msgspec.to_builtins(command)


def test_correction_without_a_bet_and_ruling_for_an_unknown_player_are_refused() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4")

    line = "dealer corrects round 1 for bob by 500 with supervisor: late"
    assert table.expect_refusal(line).code == "round/no-bet"
    assert (
        table.expect_refusal("shift-manager rules 5 for nobody: goodwill").code == "player/unknown"
    )


def test_ruling_without_reason_whole_chips_or_enough_float_is_refused() -> None:
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


def test_spin_voided_at_its_first_step_is_voided_under_its_own_number() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "dice 6 5 4")
    events = table.play("tumbles 2 times")

    assert [each.round for each in events if isinstance(each, table_events.RoundVoided)] == [2]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6")
def test_rounds_from_before_a_table_was_reopened_can_be_voided() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4", "close the table")
    table.send(reopening_command(table))
    table.play("supervisor reports dice-damaged affecting 1 with shift-manager")

    assert table.state.owing == {"ann": 100}


def reopening_command(table: Table) -> commands.OpenTable:
    opened = table.events[0]
    assert isinstance(opened, table_events.TableOpened)
    return commands.OpenTable(
        by=opened.by, table="t", currency="SGD", mode="record", chips=opened.chips,
        float_amount=opened.float_amount, limits=opened.limits,
    )  # fmt: skip


@pytest.mark.clause("nz-tai-sai-2008 3.4(a)", "nz-tai-sai-2008 3.4(b)")
def test_colour_chips_are_bet_withdrawn_and_cashed_only_in_their_own_value() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("ann takes red at 25", "open betting", "ann bets 50 on big")

    for line in ("ann withdraws 5 from big", "ann leaves with 5", "ann buys 5"):
        assert table.expect_refusal(line).code in {"bet/amount", "chips/amount"}
    assert table.expect_refusal("ann colours up").code == "chips/bets-down"
    with pytest.raises(Exception, match="use letters a to z"):
        table.send(commands.TakeColour(by=DEALER, player="bob", colour=" ", value=25))
    with pytest.raises(Exception, match="give a value that is a multiple of"):
        table.send(commands.TakeColour(by=DEALER, player="bob", colour="blue", value=7))


def test_player_whose_name_looks_like_that_of_another_is_refused() -> None:
    table = Table()
    name = "\N{CYRILLIC SMALL LETTER A}nn"
    with pytest.raises(Refusal) as refused:
        table.send(commands.BuyIn(by=DEALER, player=name, amount=50, age_years=30))

    assert (refused.value.code, refused.value.facts["other"]) == ("player/looks-alike", "ann")


@pytest.mark.clause("nz-tai-sai-2008 3.4(b)")
def test_player_who_leaves_with_the_whole_stack_gives_the_colour_back() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("ann takes red at 25")

    coloured_up, cashed = table.play("ann leaves with 2000")

    assert coloured_up == table_events.ColouredUp(player="ann")
    assert isinstance(cashed, table_events.CashedOut)
    table.play("bob takes red at 25")


def test_stake_that_the_odds_cannot_pay_exactly_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fractional.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "fractional"\ntitle = "Fractional"\n'
        '[pay_tables.main.rows]\nsmall.odds = "19 to 20"\n',
        encoding="utf-8",
    )
    game = f"{file}/main"
    table = Table(game, limits=uniform_limits(load(game), 100, 1000, 2000))
    table.play("open betting", "ann bets 100 on small")

    refused = table.expect_refusal("ann bets 150 on small")

    assert (refused.code, refused.facts["step"]) == ("bet/not-payable", 100)


def test_command_decided_on_another_game_than_the_opened_one_is_an_invariant_error() -> None:
    table = Table()
    other = load("sg-rws-tai-sai-v6/c", {"pro-rata": "absorb"})

    with pytest.raises(InvariantBroken, match="opened on another game"):
        decide(other, table.state, commands.OpenBetting(by=DEALER))


@pytest.mark.clause("sg-rws-tai-sai-v6 1.5")
def test_supervisor_may_act_as_dealer_but_dealer_may_not_act_as_supervisor() -> None:
    table = Table()
    table.play("open betting", "supervisor tumbles 3 times")

    assert table.expect_refusal("dealer reports error-found-late").code == "role/not-allowed"
    assert table.expect_refusal("shift-manager uncovers the dice").code == "role/not-allowed"


@pytest.mark.clause("nz-tai-sai-2008 6.5", "nz-tai-sai-2008 3.3(b)")
def test_amended_result_must_be_lit_again_before_collection() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big", "close betting", "uncover the dice",
               "call 1 2 3", "enter 1 2 3", "light the areas",
               "dealer amends the result to 6 5 4 with supervisor")  # fmt: skip

    assert table.expect_refusal("collect the losers").code == "step/not-now"
    (lit,) = table.play("light the areas")
    assert isinstance(lit, table_events.AreasLit)
    assert "big" in lit.boxes


@pytest.mark.clause("sg-rws-tai-sai-v6 5.13", "triple-dice 3")
def test_dealer_cannot_place_a_bet_on_behalf_of_themselves() -> None:
    table = Table()
    table.play("open betting")
    by = Actor(id="ann", role="dealer")

    with pytest.raises(Refusal) as refused:
        table.send(commands.PlaceBet(by=by, player="ann", box="big", amount=50, manner="behalf"))
    assert refused.value.code == "role/same-person"


@pytest.mark.clause("nz-tai-sai-2008 4.3")
def test_line_bet_is_rejected_only_in_whole_chips_and_before_settlement() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big")

    assert (
        table.expect_refusal("supervisor rejects 3 of ann's on the line of big").code
        == "bet/amount"
    )
    table.play("close betting", "uncover the dice", "call 6 5 4", "enter 6 5 4",
               "light the areas", "collect the losers")  # fmt: skip
    late = table.expect_refusal("supervisor rejects 50 of ann's on the line of big")
    assert late.code == "bet/position-fixed"
    singapore = Table()
    assert singapore.expect_refusal("supervisor accepts 5 of ann's on the line of big").code == (
        "irregularity/unknown"
    )


def test_opening_with_incomplete_limits_or_twice_is_refused() -> None:
    table = Table()
    table.play("close the table")
    opening = reopening_command(table)

    with pytest.raises(Refusal) as refused:
        table.send(replace(opening, limits=TableLimits(families={})))
    assert refused.value.code == "limits/wrong"
    table.send(opening)
    with pytest.raises(Refusal) as again:
        table.send(opening)
    assert again.value.code == "table/already-open"


def test_unnoticed_excess_stands_where_the_rulebook_allows_it(tmp_path: Path) -> None:
    file = tmp_path / "standing.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "standing"\ntitle = "Standing"\n'
        '[limits]\nmaximum.unnoticed = "stands"\ndifferential.unnoticed = "stands"\n'
    )
    table = Table(f"{file}/a")
    table.play("open betting", "ann bets 1500 on big", "dice 6 5 4")

    assert table.stack("ann") == 3500


@pytest.mark.clause("triple-dice 7.6")
@pytest.mark.parametrize("allowed", [True, False])
def test_shooter_may_bet_elsewhere_only_if_the_rulebook_allows_it(allowed: bool) -> None:
    game = Table("triple-dice").game
    assert game.facts.shooter is not None
    rule = replace(game.facts.shooter, may_bet_elsewhere=allowed)
    table = table_on_changed_game(
        replace_facts(game, shooter=rule), stacks={"ann": 500, "bob": 500}
    )
    table.play(
        "offer the dice to ann", "ann chooses dice 1 2 3", "open betting", "bob bets 50 on red"
    )

    if allowed:
        table.play("ann bets 50 on red")
    else:
        refused = table.expect_refusal("ann bets 50 on red")
        assert (refused.code, refused.clause) == ("role/not-allowed", ("7.6",))


def test_late_bet_that_the_rulebook_lets_stand_is_refused_once_the_dice_are_visible() -> None:
    game = Table().game
    rules = game.facts.irregularities
    late = replace(rules["bet-after-close"], consequence="settle-as-placed")
    table = table_on_changed_game(
        replace_facts(game, irregularities={**rules, "bet-after-close": late})
    )
    table.play("open betting", "close betting", "ann bets 50 on big", "tumbles 3 times")
    table.play("ann bets 50 on big", "ann withdraws 50 from big", "uncover the dice")

    assert table.expect_refusal("ann bets 50 on big").code == "betting/closed"
    table.play("dice 6 5 4")
    assert table.stack("ann") == 2050


@pytest.mark.clause("nz-tai-sai-2008 4.8", "nz-tai-sai-2008 4.7(b)")
@pytest.mark.parametrize(("box", "clauses"), [("big", ("4.7(b)", "4.8")), ("small", ("4.8",))])
def test_bets_cannot_be_withdrawn_once_the_result_is_called(
    box: str, clauses: tuple[str, ...]
) -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big", "ann bets 50 on small", "close betting")
    table.play("uncover the dice", "call 6 5 4")

    refused = table.expect_refusal(f"ann withdraws 50 from {box}")

    assert refused.code == "betting/closed"
    assert set(clauses) <= set(refused.clause)


@pytest.mark.parametrize("amount", [3, 52])
def test_withdrawing_or_moving_a_fraction_of_a_chip_is_refused(amount: int) -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big")

    assert table.expect_refusal(f"ann withdraws {amount} from big").code == "bet/amount"
    assert (
        table.expect_refusal(f"{amount} of ann's is moved from big to small").code == "bet/amount"
    )


def test_moved_chips_of_one_player_do_not_change_the_payout_of_another() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big", "bob bets 100 on big",
               "50 of bob's is moved from big to small", "dice 6 5 4")  # fmt: skip

    assert table.stack("ann") == 2100
    assert table.stack("bob") == 2000
