"""Every command has a handler, and is decided for the round that it names."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.table.table_driver import Table
from threedice.errors import Refusal
from threedice.table.commands import Actor, AnyCommand, PlaceBet
from threedice.table.rules import HANDLERS


def test_every_command_has_a_handler() -> None:
    assert set(HANDLERS) == set(get_args(AnyCommand))


@pytest.mark.parametrize("before", [(), ("open betting", "dice 6 5 4", "open betting")])
def test_bet_for_another_round_than_the_one_being_played_is_refused(
    before: tuple[str, ...],
) -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play(*before)
    bet = PlaceBet(by=Actor(id="ann", role="player"), player="ann", box="big", amount=50, round=1)
    with pytest.raises(Refusal) as refused:
        table.send(bet)
    assert (refused.value.code, refused.value.facts["round"]) == ("bet/other-round", 1)


def test_bet_for_the_round_being_played_is_placed() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting")
    bet = PlaceBet(by=Actor(id="ann", role="player"), player="ann", box="big", amount=50, round=1)
    assert table.send(bet)
