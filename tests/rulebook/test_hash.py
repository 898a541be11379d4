"""The hash of a game, and games rebuilt from canonical bytes."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    SMALL,
    edit_book,
    load_book,
)
from threedice import ThreediceError
from threedice.dice import ROLLS
from threedice.rulebook import from_canonical

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[dice]", "# three of them\n[dice]"),
        ('title = "My Game"', 'title = "Your Game"'),
        ('source = "House', 'authority = "A"\noperator = "B"\njurisdiction = "C"\nsource = "House'),
        ("faces = [", 'words = ["A", "B", "C", "D", "E", "F"]\nfaces = ['),
        ('name = "Small"', 'name = "Little"'),
        ('title = "the felt"', 'title = "the cloth"'),
        ('summary = "Odds."', 'summary = "What is paid."'),
        ('what = "A die leans"', 'what = "A die is cocked"'),
        ('what = "Three dice"', 'what = "Dice"'),
        ('dealer = "Banker"', 'dealer = "Croupier"'),
        ('question = "Does', 'question = "So: does'),
        ('says = "No."', 'says = "Never."'),
        ("size = [600, 300]", "size = [900, 400]"),
        ("at = [0, 0]", "at = [300, 0]"),
        ("columns = 3", "columns = 3\nzh = ['大']"),
        ('boxes = ["small", "big"]', 'boxes = ["big", "small"]'),
        ('clause = "2.1"\n', 'clause = ["2.1"]\n'),
        ('small = { odds = "1 to 1" }\nbig = { odds = "1 to 1", clause = "3.1" }',
         'big = { clause = "3.1", odds = "1 to 1" }\nsmall = { odds = "1 to 1" }'),
    ],
)  # fmt: skip
def test_hash_does_not_change_with_labels_geometry_comments_or_key_order(
    tmp_path: Path, old: str, new: str
) -> None:
    assert load_book(tmp_path, edit_book((old, new))).hash == load_book(tmp_path, BOOK).hash


def test_hash_does_not_change_with_the_order_of_tables(tmp_path: Path) -> None:
    top, *tables = BOOK.split("\n\n")

    turned = "\n\n".join([top, *reversed(tables)])

    assert turned != BOOK
    for layout in ("main", "short"):
        assert load_book(tmp_path, turned, layout).hash == load_book(tmp_path, BOOK, layout).hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('version = "1"', 'version = "2"'),
        ('"2024-02-29"', '"2024-03-01"'),
        ('group = { odds = "6 to 1" }', 'group = { odds = "7 to 1" }'),
        (SMALL, SMALL.replace("[4, ", "[")),
        (SMALL, SMALL.replace(', unless = "any-triple"', "")),
        ("throws = 2", "throws = 3"),
        ('scope = "box"', 'scope = "player"'),
        ('pairs = [["big", "small"]]', "pairs = []"),
        ('displayed = ["minimum", ', "displayed = ["),
        ('"close-betting", "throw", "pay', '"throw", "close-betting", "pay'),
        ('by = ["shooter"]', 'by = ["dealer"]'),
        ('by = ["dealer", "supervisor"]', 'by = ["dealer"]'),
        ('"Place your bets"', '"Bets, please"'),
        ('as_early_as = "open-betting"', 'as_early_as = "close-betting"'),
        ('fixed_at = "close-betting"', 'fixed_at = "throw"'),
        ('bets = "returned"', 'bets = "stand"'),
        ('consequence = "throw-again"', 'consequence = "void-round"'),
        ('"total {total}"', '"sum {total}"'),
        ('by = ["player"]', 'by = ["player", "shooter"]'),
        ("years = 18", "years = 21"),
        ('applies_to = ["player"]', 'applies_to = ["player", "dealer"]'),
        ("locked = true", "locked = false"),
        ('kinds = ["value"]', 'kinds = ["value", "non-value"]'),
        ("detail = { count = 3 }", "detail = { count = 4 }"),
        ("[readings.generous]\n", '[readings.new]\nquestion = "?"\nclause = "3"\ndefault = "a"\n'
         'options.a.says = "A"\n\n[readings.generous]\n'),
    ],
)  # fmt: skip
def test_hash_changes_with_every_value_that_affects_payments_or_conduct(
    tmp_path: Path, old: str, new: str
) -> None:
    assert load_book(tmp_path, edit_book((old, new))).hash != load_book(tmp_path, BOOK).hash


def test_hash_differs_between_layouts(tmp_path: Path) -> None:
    assert load_book(tmp_path, BOOK, "short").hash != load_book(tmp_path, BOOK).hash


def test_game_rebuilt_from_its_canonical_bytes_is_the_same_game(tmp_path: Path) -> None:
    game = load_book(tmp_path, BOOK, readings={"generous": "yes"})

    rebuilt = from_canonical(game.canonical)

    assert rebuilt.hash == game.hash
    assert rebuilt.canonical == game.canonical
    assert rebuilt.unit == game.unit
    assert rebuilt.payoffs == game.payoffs
    assert rebuilt.readings == game.readings
    assert rebuilt.facts.procedure == game.facts.procedure
    for roll in ROLLS:
        assert rebuilt.call(roll) == game.call(roll)
        assert set(rebuilt.winning(roll)) == set(game.winning(roll))
        assert rebuilt.conclusive(roll[:2]) == game.conclusive(roll[:2])


def test_game_with_keys_that_rulebooks_no_longer_have_keeps_its_hash(tmp_path: Path) -> None:
    game = load_book(tmp_path, BOOK)
    old = json.loads(game.canonical)
    old["chips"]["smaller_on_top"] = True
    old["limits"]["maximum"]["noticed"] = "reject-excess"
    old["equipment"]["dice"]["detail"]["cover"] = True
    stored = json.dumps(old).encode()

    rebuilt = from_canonical(stored)

    assert rebuilt.facts.limits.maximum == game.facts.limits.maximum
    assert rebuilt.facts.equipment["dice"].detail == game.facts.equipment["dice"].detail
    assert rebuilt.hash == sha256(stored).hexdigest()


@pytest.mark.parametrize("damaged", [b"", b"{}", b"\xff", b'{"boxes": 5}'])
def test_damaged_canonical_bytes_are_refused(damaged: bytes) -> None:
    with pytest.raises(ThreediceError):
        from_canonical(damaged)
