"""A small, complete rulebook, and functions that edit and load it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice import Game, RulebookError, load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BOOK = """\
id = "my-game"
title = "My Game"
version = "1"
source = "House rules, numbered by the house"
effective = "2024-02-29"

[dice]
faces = [1, 2, 3, 4, 5, 6]
clause = "1"

[wagers.small]
name = "Small"
wins = { when = "total-is", of = [4, 5, 6, 7, 8, 9, 10], unless = "any-triple" }
clause = "2"

[wagers.big]
name = "Big"
wins = { when = "total-is", of = [11, 12, 13, 14, 15, 16, 17], unless = "any-triple" }
clause = "2"

[wagers.single]
name = "Single"
selects = "face"
wins = "count"
clause = "2.1"

[wagers.domino]
name = "Domino"
selects = "two-faces"
wins = "shows-both"
clause = "2.2"

[wagers.group]
name = "Group"
selects = ["1-2-3", "4-5-6"]
wins = "all-within"
clause = "2.3"

[wagers.run]
name = "Run"
wins = { when = "shows", of = [6] }
throws = 2
clause = "2.4"

[pay_tables.evens]
clause = "3"

[pay_tables.evens.rows]
small = { odds = "1 to 1" }
big = { odds = "1 to 1", clause = "3.1" }

[pay_tables.full]
clause = "3"
includes = "evens"

[pay_tables.full.rows]
single = { odds = ["1 to 1", "2 to 1", "3 to 1"] }
domino = { odds = "5 to 1", boxes = ["1-2", "5-6"] }
group = { odds = "6 to 1" }
run = { odds = "9 to 1" }

[layouts.main]
title = "the felt"
pay_table = "full"
size = [600, 300]
clause = "1.1"

[layouts.main.blocks.evens]
boxes = ["small", "big"]
at = [0, 0]
cell = [100, 100]
en = ["{a} TO {b}"]

[layouts.main.blocks.singles]
boxes = ["single:1", "single:2", "single:3", "single:4", "single:5", "single:6"]
at = [0, 100]
cell = [90, 50]
columns = 6
dice = true

[layouts.main.blocks.others]
boxes = ["domino:1-2", "domino:5-6", "", "group:1-2-3", "group:4-5-6", "run"]
at = [0, 150]
cell = [110, 50]
columns = 3

[layouts.main.legends.odds]
at = [0, 250]
size = [600, 50]
en = ["{a1}, {a2} OR {a3} TO {b}"]
odds_of = "single:1"

[layouts.short]
title = "the short felt"
pay_table = "evens"
clause = "1.1"

[readings.generous]
question = "Does a domino pay more?"
clause = "3"
default = "no"
layouts = ["main"]

[readings.generous.options.no]
says = "No."

[readings.generous.options.yes]
says = "Yes, 6 to 1."
set.pay_tables.full.rows.domino.odds = "6 to 1"

[limits]
displayed = ["minimum", "maximum", "differential"]
clause = "4"

[limits.minimum]
scope = "player"
clause = "4"

[limits.maximum]
scope = "box"
unnoticed = "stands"
clause = "4"

[limits.differential]
pairs = [["big", "small"]]
unnoticed = "stands"
clause = "4.1"

[procedure]
unit = "round"
order = ["open-betting", "close-betting", "throw", "pay-winners"]
clause = "5"

[procedure.steps]
open-betting = { by = ["dealer"], announces = "Place your bets", clause = "5" }
close-betting = { by = ["dealer", "supervisor"], clause = "5" }
throw = { by = ["shooter"], as_early_as = "open-betting", clause = "5.1" }
pay-winners = { by = ["dealer"], clause = "5" }

[procedure.positions]
fixed_at = "close-betting"
clause = "5"

[procedure.void]
bets = "returned"
clause = "5"

[call]
total = "total {total}"
clause = "5.2"

[irregularities.dice-not-flat]
what = "A die leans"
consequence = "throw-again"
clause = "5"

[people.titles]
dealer = "Banker"

[people.acts.bet]
by = ["player"]
clause = "6"

[people.minimum_age]
years = 18
applies_to = ["player"]
clause = "6"

[shooter]
box = "run"
dice_offered = 5
dice_chosen = 3
must_bet = true
locked = true
may_bet_elsewhere = true
clause = "6.1"

[chips]
kinds = ["value"]
clause = "4"

[equipment.dice]
what = "Three dice"
needed = "always"
detail = { count = 3 }
clause = "1"

[clauses]
"1" = { status = "modelled", summary = "Three dice." }
"1.1" = { status = "modelled", summary = "Two felts." }
"2" = { status = "modelled", summary = "Small and big." }
"2.1" = { status = "modelled", summary = "Singles." }
"2.2" = { status = "modelled", summary = "Dominoes." }
"2.3" = { status = "modelled", summary = "Groups." }
"2.4" = { status = "modelled", summary = "Runs." }
"3" = { status = "modelled", summary = "Odds." }
"3.1" = { status = "modelled", summary = "Odds of big." }
"4" = { status = "modelled", summary = "Limits." }
"4.1" = { status = "modelled", summary = "The differential." }
"5" = { status = "prompted", summary = "A round." }
"5.1" = { status = "modelled", summary = "The throw." }
"5.2" = { status = "modelled", summary = "The call." }
"6" = { status = "modelled", summary = "People." }
"6.1" = { status = "modelled", summary = "The shooter." }
"7" = { status = "excused", summary = "Tips.", reason = "No money of the game." }
"""
SMALL = 'wins = { when = "total-is", of = [4, 5, 6, 7, 8, 9, 10], unless = "any-triple" }'
ORDER = 'order = ["open-betting", "close-betting", "throw", "pay-winners"]'
SET = 'set.pay_tables.full.rows.domino.odds = "6 to 1"'
SINGLES = 'odds = ["1 to 1", "2 to 1", "3 to 1"]'
OPTION = "readings.generous.options.yes.set"

Swap = tuple[str, str]


def edit_book(*swaps: Swap) -> str:
    """Return the text of the book with replacements; each old text occurs once."""
    text = BOOK
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def load_book(
    folder: Path, text: str, layout: str = "main", readings: Mapping[str, str] | None = None
) -> Game:
    """Write the text of a book to a file and load a layout of it."""
    file = folder / "my-game.toml"
    file.write_text(text, encoding="utf-8")
    return load(f"{file}/{layout}", readings)


def expect_error(folder: Path, text: str) -> RulebookError:
    """Load a book that must be refused, and return the error after checking its form."""
    with pytest.raises(RulebookError) as caught:
        load_book(folder, text)
    error = caught.value
    assert error.file == str(folder / "my-game.toml")
    assert error.key
    assert error.problem
    assert error.remedy
    assert len(str(error).splitlines()) == 1
    return error
