"""Facts of a rulebook that the table acts on, whichever way a book states them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.table.setting import Table

if TYPE_CHECKING:
    from threedice.rulebook import Game


def stating(game: Game, **facts: Any) -> Game:
    """Return a game some of whose facts are otherwise."""
    return replace(game, facts=msgspec.structs.replace(game.facts, **facts))


def table_on(game: Game, **setting: Any) -> Table:
    """Return a table that goes on under another game than it was opened on."""
    table = Table(game.id, **setting)
    table.game, table.state.game_hash = game, game.hash
    return table


@pytest.mark.clause("triple-dice 7.6")
@pytest.mark.parametrize("allowed", [True, False])
def test_whether_the_shooter_may_bet_elsewhere_is_the_rulebooks_to_say(allowed: bool) -> None:
    game = Table("triple-dice").game
    assert game.facts.shooter is not None
    rule = msgspec.structs.replace(game.facts.shooter, may_bet_elsewhere=allowed)
    table = table_on(stating(game, shooter=rule), stacks={"ann": 500, "bob": 500})
    table.play(
        "offer the dice to ann", "ann chooses dice 1 2 3", "open betting", "bob bets 50 on red"
    )

    if allowed:
        table.play("ann bets 50 on red")
    else:
        refused = table.refuses("ann bets 50 on red")
        assert (refused.code, refused.clause) == ("role/not-allowed", tuple(_cited(rule.clause)))


def _cited(clause: Any) -> list[str]:
    return [clause] if isinstance(clause, str) else clause


@pytest.mark.parametrize("fate", ["returned", "stand"])
def test_bets_of_a_void_round_fare_as_ever_where_an_irregularity_is_silent(fate: Any) -> None:
    game = Table().game
    procedure = msgspec.structs.replace(
        game.facts.procedure, void=msgspec.structs.replace(game.facts.procedure.void, bets=fate)
    )
    silent = {
        name: msgspec.structs.replace(rule, bets=None)
        for name, rule in game.facts.irregularities.items()
    }
    table = table_on(stating(game, procedure=procedure, irregularities=silent))

    table.play("open betting", "ann bets 50 on big", "dealer reports dice-not-flat")

    assert table.stack("ann") == (2000 if fate == "returned" else 1950)


@pytest.mark.clause("nz-tai-sai-2008 4.8", "nz-tai-sai-2008 4.7(b)")
@pytest.mark.parametrize(("box", "clauses"), [("big", ("4.7(b)", "4.8")), ("small", ("4.8",))])
def test_once_there_is_a_result_hands_are_off_winning_and_losing_bets(
    box: str, clauses: tuple[str, ...]
) -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big", "ann bets 50 on small", "close betting")
    table.play("uncover the dice", "call 6 5 4")

    refused = table.refuses(f"ann withdraws 50 from {box}")

    assert refused.code == "betting/closed"
    assert set(clauses) <= set(refused.clause)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6", "sg-rws-tai-sai-v6 5.12")
def test_dice_found_damaged_while_winners_are_paid_void_the_round_for_losers_too() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "bob bets 300 on small", "close betting")
    table.play(
        "tumbles 3 times", "uncover the dice", "call 6 5 4", "enters 6 5 4", "light the areas"
    )
    table.play("collect the losers")

    table.play("supervisor reports dice-damaged with shift-manager")

    assert (table.stack("ann"), table.stack("bob")) == (2000, 2000)
    assert table.state.round is None
    assert table.state.float_amount == 1_000_000 - 6000
    assert (
        table.refuses("supervisor reports dice-damaged affecting 1 with shift-manager").code
        == "round/reversed"
    )


def test_dice_found_damaged_now_and_in_a_round_before_undo_both_together() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4")
    table.play(
        "open betting",
        "ann bets 400 on small",
        "close betting",
        "tumbles 3 times",
        "uncover the dice",
    )
    table.play("call 6 5 4", "enters 6 5 4", "light the areas", "collect the losers")

    table.play("supervisor reports dice-damaged affecting 1 2 with shift-manager")

    assert table.stack("ann") == 2000
    assert table.state.reversed == {1, 2}
