"""Explanations of bets: their wording, and that their numbers are the posted ones."""

from __future__ import annotations

import re

import pytest

from tests.table.table_driver import Table
from threedice.errors import InvalidInput
from threedice.table import BetRef, events, explain
from threedice.table.explanation import explain_round
from threedice.table.money import table_postings


def explain_bet(table: Table, round_: int, player: str, spot: str) -> str:
    return " ".join(explain(table.game, table.events, BetRef(round_, player, spot)))


def numbers(text: str) -> set[int]:
    return {int(each) for each in re.findall(r"(?<![\w.:(-])\d+(?![\w.:)-]|\.\d)", text)}


def test_explanation_of_an_apportioned_bet_shows_working_and_payment() -> None:
    table = Table()
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "cat bets 40 on big",
               "dice 6 5 4")  # fmt: skip
    text = explain_bet(table, 1, "ann", "big")

    assert "900 placed on big." in text
    assert "The box held 1240 and may hold 1000 by its maximum" in text
    assert "900 x 1000 / 1240" in text
    assert "725 plays; 175 is returned (5.1.1, 5.1.2)." in text
    assert "it won, paid 1 to 1 (3.9, 4.1.2)." in text
    assert "725 at 1 to 1 pays 725; 725 is handed back." in text


def test_every_number_in_an_explanation_is_a_posting_a_limit_or_a_term() -> None:
    table = Table()
    table.play("open betting", "ann bets 900 on total:9", "bob bets 300 on total:9", "dice 3 3 3")
    for player in ("ann", "bob"):
        lines = explain(table.game, table.events, BetRef(1, player, "total:9"))
        moved = {
            posting.amount
            for event in table.events
            for posting in table_postings(event)
            if f"stack/{player}" in posting
        }
        working = {1200, 1000, 50, 5}
        odds_and_dice = {7, 1, 3, 9}
        assert numbers(" ".join(lines)) <= moved | working | odds_and_dice


def test_payment_in_an_explanation_equals_the_posted_payment() -> None:
    table = Table(mode="refuse")
    table.play("open betting", "ann bets 50 on total:9", "ann bets 50 on single:3", "dice 3 3 3")
    paid = {
        spot: winnings
        for event in table.events
        if isinstance(event, events.WinnersPaid)
        for spot, _, _, winnings in event.bets
    }
    for spot, winnings in paid.items():
        assert f"pays {winnings}; 50 is handed back." in explain_bet(table, 1, "ann", spot)


def test_explanation_of_a_lost_bet_cites_the_losing_clause() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on small", "dice 2 2 2")

    assert explain_bet(table, 1, "ann", "small").endswith("it lost (3.10). 50 is taken.")


def test_explanation_lists_withdrawn_rejected_and_moved_chips() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 500 on big", "ann withdraws 100 from big",
               "ann calls 700 on big", "dealer rejects the excess on big",
               "bob bets 50 on big", "50 of bob's is moved from big to small",
               "50 of ann's is moved from big to small",
               "supervisor puts 50 of ann's back from small to big", "dice 6 5 4")  # fmt: skip
    text = explain_bet(table, 1, "ann", "big")

    for words in ("500 placed on big.", "100 withdrawn from big.",
                  "700 placed on big as a call bet.", "100 rejected, over the maximum (2.0).",
                  "50 moved to small.",
                  "50 put back from small.", "1000 at 1 to 1 pays 1000"):  # fmt: skip
        assert words in text


def test_explanation_covers_void_rounds_reversals_and_corrections() -> None:
    table = Table("sg-rws-tai-sai-open-cover-v5/a")
    table.play("open betting", "ann bets 100 on big", "tumbles 3 times",
               "dealer reports tumbled-before-close with supervisor")  # fmt: skip
    assert explain_bet(table, 1, "ann", "big").endswith(
        'Round 1 is void: The tumbler was activated before "No more Bets" (5.5, 5.5.3, 5.12). '
        "100 is returned."
    )
    table.play("open betting", "dealer bets 100 on big for ann", "dice 6 5 4",
               "dealer corrects round 2 for ann by -50 with supervisor: paid twice",
               "supervisor reports dice-damaged affecting 2 with shift-manager")  # fmt: skip
    text = explain_bet(table, 2, "ann", "big")
    assert "100 placed on big by a pit employee." in text
    assert "50 taken back as a correction: paid twice." in text
    assert "Round 2 was voided later: A die is damaged (5.6, 5.12). 50 taken back" in text


@pytest.mark.clause("sg-rws-tai-sai-v6 5.5", "sg-rws-tai-sai-v6 5.12", "nz-tai-sai-2008 7.1")
@pytest.mark.parametrize(
    ("game", "report"),
    [
        ("sg-rws-tai-sai-v6/a", "supervisor reports dice-damaged affecting 1 with shift-manager"),
        ("sg-rws-tai-sai-v6/a", "dealer reports dice-not-flat with supervisor"),
        ("nz-tai-sai-2008/1", "dealer reports dice-not-flat with supervisor"),
    ],
)
def test_bet_in_a_round_voided_after_the_collection_is_explained_once(
    game: str, report: str
) -> None:
    table = Table(game)
    tumble = [] if game.startswith("nz") else ["tumbles 3 times"]
    table.play("open betting", "ann bets 100 on big", "ann bets 50 on small", "close betting",
               *tumble, "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
               "collect the losers", report)  # fmt: skip

    lost, won = (explain_bet(table, 1, "ann", spot) for spot in ("small", "big"))
    assert lost.count("void") == won.count("void") == 1
    assert lost.endswith(". 50 was taken and is paid back.")
    assert won.endswith(". 100 is returned.")


def test_collected_bet_that_stands_over_a_void_spin_is_explained_as_put_back() -> None:
    table = Table("nz-tai-sai-2008/1", readings={"no-spin": "stand"})
    table.play("open betting", "ann bets 100 on small", "close betting", "uncover the dice",
               "call 6 5 4", "enter 6 5 4", "light the areas", "collect the losers",
               "dealer reports dice-not-flat with supervisor", "open betting", "close betting",
               "dealer reports dice-not-flat")  # fmt: skip

    first, second = (explain_bet(table, number, "ann", "small") for number in (1, 2))
    assert first.endswith(". 100 was taken and put back, and stays for the next.")
    assert second.endswith("). 100 stays for the next.")


def test_bet_that_stands_over_a_void_spin_is_explained_in_both_rounds() -> None:
    table = Table("nz-tai-sai-2008/1", readings={"no-spin": "stand"})
    table.play("open betting", "ann bets 100 on big", "close betting",
               "dealer reports dice-not-flat", "open betting", "dice 6 5 4")  # fmt: skip

    assert "100 stays for the next." in explain_bet(table, 1, "ann", "big")
    assert "100 at 1 to 1 pays 100" in explain_bet(table, 2, "ann", "big")


@pytest.mark.parametrize(
    ("throws", "words"),
    [
        (["dice crown club club"], "Throw 1 of 4 was won; the series goes on."),
        (["dice club club club"],
         "this throw did not, so 100 is lost (7.3, 7.4, odds:shooter, 7.5)."),
        (["dice crown crown crown", *["open betting", "dice crown heart club"] * 3],
         "100 at 9 to 1 pays 900."),
    ],
)  # fmt: skip
def test_explanation_of_the_shooter_bet_states_its_outcome(throws: list[str], words: str) -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 100 on shooter", *throws)  # fmt: skip

    assert words in explain_bet(table, table.state.rounds, "ann", "shooter")


def test_explanation_names_the_differential_that_reduced_a_bet() -> None:
    table = Table(readings={"pro-rata": "absorb"})
    table.play("dealer sets limits 50 to 5000 differential 100 with supervisor", "open betting",
               "ann bets 500 on big", "bob bets 100 on small", "dice 6 5 4")  # fmt: skip
    text = explain_bet(table, 1, "ann", "big")

    assert "may hold 200 by its differential" in text
    assert "500 x 200 / 500, sharing what fixed stakes leave" in text


def test_explanation_of_absorbed_stakes_shows_fixed_amounts_and_shares() -> None:
    table = Table(readings={"pro-rata": "absorb"}, stacks={"ann": 4000, "bob": 100, "cat": 100})
    table.play("open betting", "ann bets 3000 on big", "bob bets 60 on big", "cat bets 40 on big",
               "dice 6 5 4")  # fmt: skip

    ann, bob = explain_bet(table, 1, "ann", "big"), explain_bet(table, 1, "bob", "big")
    assert "3000 x 910 / 3000, sharing what fixed stakes leave" in ann
    assert "910 plays; 2090 is returned" in ann
    assert "plays in proportion: the minimum, its share being less" in bob
    assert "50 plays; 10 is returned" in bob
    assert "40 at 1 to 1 pays 40" in explain_bet(table, 1, "cat", "big")


def test_explaining_a_bet_that_was_never_placed_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="had no bet on big"):
        explain_bet(Table(), 1, "ann", "big")


def test_losing_bet_that_stood_over_a_void_spin_is_explained_in_the_next_round() -> None:
    table = Table("nz-tai-sai-2008/1", readings={"no-spin": "stand"})
    table.play("open betting", "bob bets 50 on small", "close betting",
               "dealer reports dice-not-flat", "open betting", "dice 6 5 4")  # fmt: skip

    text = explain_bet(table, 2, "bob", "small")
    assert text.startswith("50 placed on small.")
    assert text.endswith("50 is taken.")


def test_shooter_bet_that_stays_over_a_void_throw_is_explained_only_for_the_shooter() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 100 on shooter", "close betting", "dealer reports interruption",
               "supervisor releases the table: power is back")  # fmt: skip

    assert "100 stays for the next." in explain_bet(table, 1, "ann", "shooter")
    with pytest.raises(InvalidInput):
        explain_bet(table, 1, "bob", "shooter")


def test_explanation_of_a_reversal_states_the_debt() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000})
    table.play("open betting", "ann bets 1000 on big", "dice 6 5 4", "ann leaves with 1900",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip

    text = explain_bet(table, 1, "ann", "big")
    assert "1000 taken back over all rounds voided with it. 900 of that is owed." in text


def test_explanation_lists_accepted_and_rejected_chips_on_the_line() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 100 on big",
               "supervisor accepts 50 of ann's on the line of big",
               "supervisor rejects 50 of ann's on the line of big", "dice 6 5 4")  # fmt: skip
    text = explain_bet(table, 1, "ann", "big")

    assert "50 on the line counts (4.3)." in text
    assert "50 on the line does not count and is returned (4.3)." in text
    assert "50 at 1 to 1 pays 50" in text


def test_explained_bet_has_its_stake_odds_and_net() -> None:
    table = Table()
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "ann bets 50 on small",
               "ann bets 100 on total:15", "dice 6 5 4")  # fmt: skip
    bets = explain_round(table.game, table.events, 1, "ann")

    outcomes = {spot: (bet.stake, bet.odds, bet.net) for spot, bet in bets.items()}
    assert outcomes == {
        "big": (750, "1 to 1", 750),
        "small": (50, "", -50),
        "total:15": (100, "18 to 1", 1800),
    }


def test_explained_bet_of_a_reversed_round_has_no_net() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4",
               "supervisor reports dice-damaged affecting 1 with shift-manager")  # fmt: skip
    (bet,) = explain_round(table.game, table.events, 1, "ann").values()

    assert (bet.stake, bet.net) == (100, 0)
