"""Voids: what becomes of the bets, where a rulebook speaks of it and where it is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.table.setting import DEALER, Table
from tests.table.test_facts_that_decide import stating, table_on
from threedice.table import Refusal, commands, events
from threedice.table.settlement import reverse_nets

if TYPE_CHECKING:
    from threedice.rulebook import Game


def usually(game: Game, fate: Any, **irregularities: Any) -> Game:
    """Return a game in whose void rounds the bets fare so, but where an irregularity says not."""
    procedure = game.facts.procedure
    void = msgspec.structs.replace(procedure.void, bets=fate)
    return stating(
        game,
        procedure=msgspec.structs.replace(procedure, void=void),
        irregularities=irregularities,
    )


@pytest.mark.parametrize(
    ("usual", "stated", "stack"),
    [
        ("stand", "returned", 2000),
        ("returned", "stand", 1950),
        ("returned", "locked", 1950),
        ("returned", None, 2000),
        ("stand", None, 1950),
    ],
)
def test_an_irregularity_that_speaks_of_the_bets_has_the_last_word(
    usual: str, stated: Any, stack: int
) -> None:
    game = Table().game
    rule = msgspec.structs.replace(game.facts.irregularities["dice-not-flat"], bets=stated)
    table = table_on(usually(game, usual, **{"dice-not-flat": rule}))

    table.play("open betting", "ann bets 50 on big", "dealer reports dice-not-flat")

    assert table.stack("ann") == stack


@pytest.mark.parametrize(("usual", "stack"), [("returned", 2000), ("stand", 1950)])
def test_a_round_is_abandoned_as_ever_where_nothing_is_said_of_interruptions(
    usual: str, stack: int
) -> None:
    table = table_on(usually(Table().game, usual))
    table.play("open betting", "ann bets 50 on big")

    table.ask(commands.AbandonRound(by=DEALER, reason="the lights went out"))

    assert table.state.round is None
    assert table.stack("ann") == stack


def test_who_owes_and_has_chips_pays_a_reversal_from_both() -> None:
    assert reverse_nets({"ann": 100}, {"ann": 60}, {"ann": 500}) == ([("ann", -100)], [("ann", 40)])
    assert reverse_nets({"ann": 100}, {"ann": 160}, {"ann": 500}) == ([("ann", -100)], [])
    assert reverse_nets({"ann": -100}, {"ann": 160}, {"ann": 500}) == (
        [("ann", 100)],
        [("ann", -100)],
    )


@pytest.mark.parametrize(
    ("lines", "reason", "code"),
    [
        (["open betting"], " ", "reason/missing"),
        ([], "the lights went out", "irregularity/not-now"),
        (
            ["open betting", "close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4"],
            "the lights went out",
            "irregularity/not-now",
        ),
        (
            [
                "open betting",
                "close betting",
                "tumbles 3 times",
                "uncover the dice",
                "dealer reports interruption knowing 6 5 4",
            ],
            "the dice are bad for us",
            "irregularity/not-now",
        ),
    ],
)
def test_a_round_is_abandoned_for_a_reason_and_while_its_dice_are_not_all_known(
    lines: list[str], reason: str, code: str
) -> None:
    table = Table()
    table.play(*lines)

    with pytest.raises(Refusal) as refused:
        table.ask(commands.AbandonRound(by=DEALER, reason=reason))

    assert refused.value.code == code


CONFIRMED = ("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
             "uncover the dice", "dealer reports interruption knowing 6 5 4")  # fmt: skip


def test_confirmed_dice_cannot_be_escaped_by_closing_the_table() -> None:
    table = Table()
    table.play(*CONFIRMED)

    assert table.refuses("close the table").code == "table/round-open"


def test_confirmed_dice_are_void_only_if_two_agree() -> None:
    table = Table()
    table.play(*CONFIRMED)

    assert table.refuses("dealer reports dice-not-flat").code == "role/second-person"


def test_confirmed_dice_are_not_thrown_again() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 5 on shooter", "close betting", "ann throws",
               "dealer reports interruption knowing crown club heart")  # fmt: skip

    assert table.refuses("dealer reports dice-not-flat").code == "irregularity/not-now"


def test_dice_of_which_one_cannot_be_known_any_more_are_lost() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "uncover the dice", "dealer reports interruption knowing 6 5")  # fmt: skip
    assert table.state.round is not None

    table.ask(commands.AbandonRound(by=DEALER, reason="the third die was knocked off the table"))

    assert table.stack("ann") == 2000


def test_an_abandoned_round_locks_the_table_where_an_interruption_does() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big")

    table.ask(commands.AbandonRound(by=DEALER, reason="the lights went out"))

    assert table.state.locked == "interruption"
    assert table.stack("ann") == 2000


def test_a_throw_to_come_that_is_void_at_the_close_keeps_its_number() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 50 on shooter", "dice crown crown heart")  # fmt: skip
    void, _ = table.play("close the table")
    assert isinstance(void, events.RoundVoided)
    assert void.round == 2

    assert table.state.rounds == 2
