"""What the library refuses when it is called wrongly, and what a sheet says of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from threedice import InvalidInput, load, settle
from threedice.odds.comparison import readings_in_force
from threedice.rulebook import load_rulebook

if TYPE_CHECKING:
    from pathlib import Path

GAME = load("sg-rws-tai-sai-v6/c")


@pytest.mark.parametrize("known", [(7,), (0,), ("6",), (1, 2, 3, 4), (True,), (1.0,)])
def test_what_dice_cannot_show_decides_nothing(known: Any) -> None:
    with pytest.raises(InvalidInput, match="faces numbered 1 to 6"):
        GAME.conclusive(known)


def test_known_dice_may_be_a_list() -> None:
    assert GAME.conclusive([6]) == GAME.conclusive((6,))


@pytest.mark.parametrize("roll", [(7, 7, 7), (0, 1, 1), (1, 2), (1, 2, 3, 4)])
def test_no_roll_no_answer(roll: Any) -> None:
    for ask in (GAME.winning, GAME.call, lambda each: GAME.cell("big", each)):
        with pytest.raises(InvalidInput):
            ask(roll)


@pytest.mark.parametrize("stake", [0, -5, 1.5, True])
def test_a_stake_is_a_whole_number_above_zero(stake: Any) -> None:
    with pytest.raises(InvalidInput, match="whole number above zero"):
        settle(GAME, (1, 2, 3), {"big": stake})


def test_a_reading_that_chooses_another_pay_table_tells_what_it_does(tmp_path: Path) -> None:
    file = tmp_path / "book.toml"
    file.write_text(
        """extends = "macau-sic-bo"
id = "book"
title = "Book"
[pay_tables.alt]
clause = "5"
rows.small.odds = "2 to 1"
rows.big.odds = "1 to 1"
[layouts.plain]
title = "plain"
pay_table = "alt"
clause = "1"
[layouts.other]
title = "other"
pay_table = "main"
clause = "1"
[readings.which]
question = "Which?"
clause = "5"
default = "main"
options.main.says = "Main."
options.alt.says = "Alt."
options.alt.set.layouts.other.pay_table = "alt"
"""
    )
    (reading,) = readings_in_force(load_rulebook(str(file)), load(f"{file}/other"))
    edges = reading.alternatives[0].edge_changes

    assert [str(edge) for edge in edges["small"]] == ["1/36", "-11/24"]
    assert [str(edge) for edge in edges["any-triple"]] == ["11/36", "None"]
    assert "big" not in edges
