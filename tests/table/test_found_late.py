"""Rounds and throws that are void although their result was called: records and explanations."""

from __future__ import annotations

import msgspec
import pytest

from tests.table.table_driver import DEALER, SUPERVISOR, Table
from threedice.table import BetRef, commands, events, explain
from threedice.table.money import table_postings
from threedice.table.voids import reverse_rounds

SERIES = ("offer the dice to ann", "ann chooses dice 1 2 5", "open betting",
          "ann bets 100 on shooter")  # fmt: skip
LOST = (*SERIES, "bob bets 50 on red", "close betting", "ann throws", "call club club spade",
        "collect the losers")  # fmt: skip


def explain_bet(table: Table, round_: int, player: str, spot: str) -> str:
    return " ".join(explain(table.game, table.events, BetRef(round_, player, spot)))


def test_no_throw_before_the_call_is_recorded_as_before() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "close betting", "ann throws")

    (repeated,) = table.play("dealer reports dice-not-flat")

    assert msgspec.json.encode(repeated) == b'{"type":"ThrowRepeated","cause":"dice-not-flat"}'


@pytest.mark.clause("triple-dice 4", "triple-dice 9")
def test_no_throw_after_collection_puts_the_lost_bets_back_and_names_both_people() -> None:
    table = Table("triple-dice")
    table.play(*LOST)

    repeated, restored = table.play("dealer reports dice-not-flat with supervisor")

    assert repeated == events.ThrowRepeated(
        cause="dice-not-flat",
        restored=[("red", "bob", 50), ("shooter", "ann", 100)],
        by=DEALER,
        approved_by=SUPERVISOR,
    )
    assert [posting.amount for posting in table_postings(repeated)] == [50, 100]
    assert restored == events.ShooterRestored(
        round=1, player="ann", dice=[1, 2, 5], throws=0, stake=100
    )
    assert table_postings(restored) == []


def test_shooter_bet_laid_again_after_a_win_is_explained_as_it_lies() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice crown club club", *["open betting", "dice crown club club"] * 3)
    table.play("dealer reports dice-not-flat with supervisor", "open betting")
    table.play("dealer abandons the round: a fire alarm")

    explained = explain_bet(table, 5, "ann", "shooter")

    assert "100 stays for the next" in explained
    assert "winnings" not in explained


def test_throw_is_not_repeated_if_the_float_cannot_return_the_collected_bets() -> None:
    table = Table("triple-dice", float_amount=10_000)
    table.play(*LOST, "credit 4005")

    refusal = table.expect_refusal("dealer reports dice-not-flat with supervisor")

    assert (refusal.code, refusal.facts) == ("float/short", {"short": 5})


def test_shooter_bet_that_a_stack_cannot_cover_is_laid_on_credit() -> None:
    table = Table("triple-dice", stacks={"ann": 100})
    table.play(*SERIES, "dice crown club club", *["open betting", "dice crown club club"] * 3)
    table.play("ann leaves with 960")

    *_, restored = table.play("dealer reports dice-not-flat with supervisor")

    assert isinstance(restored, events.ShooterRestored)
    assert (restored.laid, restored.owing) == (100, 100)
    assert [posting[:3] for posting in table_postings(restored)] == [
        ("float", "stack/ann", 100),
        ("owing/ann", "vault", 100),
        ("stack/ann", "layout", 100),
    ]
    assert table.state.owing == {"ann": 960}


def test_shooter_bet_is_not_laid_on_credit_that_the_float_cannot_give() -> None:
    table = Table("triple-dice", stacks={"ann": 100}, float_amount=2000)
    table.play(*SERIES, "dice crown club club", *["open betting", "dice crown club club"] * 3)
    table.play("ann leaves with 1000", f"credit {table.state.float_amount - 95}")

    refusal = table.expect_refusal("dealer reports dice-not-flat with supervisor")

    assert (refusal.code, refusal.facts) == ("float/short", {"short": 5})


def test_shooter_whose_lost_throw_is_void_takes_the_dice_back_from_an_abandoned_throw() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice club club club", "offer the dice to bob", "bob chooses dice 1 2 3",
               "open betting", "bob bets 200 on shooter")  # fmt: skip
    table.send(commands.AbandonRound(by=DEALER, reason="the dice fell off the table"))
    table.play("supervisor releases the table: found")
    assert table.stack("bob") == 1800

    table.play("dealer reports dice-not-flat with supervisor")

    assert table.stack("bob") == 2000
    assert table.state.shooter is not None
    assert (table.state.shooter.player, table.state.shooter.stake) == ("ann", 100)


def test_shooter_who_is_away_stays_away_when_a_throw_is_void() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice crown club club", "dealer reports walked-away of ann",
               "dealer reports dice-not-flat with supervisor")  # fmt: skip

    assert table.state.shooter is not None
    assert (table.state.shooter.throws, table.state.shooter.absent) == (0, True)


def test_closing_the_table_ends_the_time_for_reports_about_the_last_round() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice club club club", "close the table")

    assert table.state.last_settled is None


def test_repeated_throw_is_explained_by_its_last_result() -> None:
    table = Table("triple-dice")
    table.play(*LOST, "dealer reports dice-not-flat with supervisor", "ann throws",
               "dice crown heart diamond")  # fmt: skip

    assert "it won, paid 4 to 1" in explain_bet(table, 1, "bob", "red")
    assert "it lost" not in explain_bet(table, 1, "bob", "red")
    assert explain_bet(table, 1, "ann", "shooter").endswith("the series goes on.")


def test_void_throw_is_explained_with_the_bet_that_lies_again() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "bob bets 50 on red", "dice club club club")
    table.play("offer the dice to bob", "bob chooses dice 1 2 3", "open betting")
    table.play("dealer reports dice-not-flat with supervisor", "open betting")
    table.play("dice crown club club")

    text = explain_bet(table, 1, "ann", "shooter")
    assert "later: A die does not come to rest flat on the mat (4, 5, 9). 100 paid back" in text
    assert text.endswith("100 lies locked as before, 0 of 4 throws won.")
    assert explain_bet(table, 1, "bob", "red").endswith(
        "50 paid back over all rounds voided with it."
    )
    assert explain_bet(table, 3, "ann", "shooter") == (
        "100 laid again, as before a void throw. Throw 1 of 4 was won; the series goes on."
    )


def test_won_throw_that_is_void_is_explained_without_a_payment() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice crown club club", "dealer reports dice-not-flat with supervisor")

    assert "Nothing is paid back or taken back. 100 lies locked" in explain_bet(
        table, 1, "ann", "shooter"
    )


def test_shooter_is_restored_from_the_last_of_several_reversed_throws() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice crown club club", "open betting", "dice club club club")

    _, restored = reverse_rounds(
        table.game, table.state, [1, 2], "dice-not-flat", DEALER, SUPERVISOR
    )

    assert isinstance(restored, events.ShooterRestored)
    assert (restored.round, restored.throws, restored.laid) == (2, 1, 100)


def test_reversal_of_an_earlier_throw_does_not_restore_the_shooter_of_the_last() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "bob bets 50 on red", "dice crown club club", "open betting",
               "dice club club club")  # fmt: skip

    (reversal,) = reverse_rounds(table.game, table.state, [1], "dice-not-flat", DEALER, SUPERVISOR)

    assert isinstance(reversal, events.RoundsReversed)
    assert reversal.rounds == [1]


def test_shooter_who_takes_the_dice_back_from_one_who_walked_away_is_present() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dice club club club", "offer the dice to bob",
               "dealer reports walked-away of bob")  # fmt: skip

    *_, restored = table.play("dealer reports dice-not-flat with supervisor")

    assert isinstance(restored, events.ShooterRestored)
    assert (restored.player, restored.absent) == ("ann", False)


@pytest.mark.clause("triple-dice 7.2")
def test_restored_shooter_is_recorded_as_absent_only_if_they_walked_away() -> None:
    table = Table("triple-dice")
    table.play(*LOST)
    present = table.play("dealer reports dice-not-flat with supervisor")[1]
    table.play("dealer reports walked-away of ann", "dealer throws", "call club club spade")
    table.play("collect the losers")

    absent = table.play("dealer reports dice-not-flat with supervisor")[1]

    assert isinstance(absent, events.ShooterRestored)
    assert absent.absent
    assert b"absent" not in msgspec.json.encode(present)


def test_shooter_who_is_offered_the_dice_again_is_present_when_they_are_restored() -> None:
    table = Table("triple-dice")
    table.play(*SERIES, "dealer reports walked-away of ann", "dice club club spade")
    table.play("offer the dice to ann")

    *_, restored = table.play("dealer reports dice-not-flat with supervisor")

    assert isinstance(restored, events.ShooterRestored)
    assert not restored.absent
