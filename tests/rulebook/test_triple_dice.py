"""The rules of Triple Dice, Sic Bo and Crown and Anchor as data."""

from __future__ import annotations

import pytest

from threedice import load
from threedice.rulebook import load_rulebook


def clause(*numbers: str) -> pytest.MarkDecorator:
    return pytest.mark.clause(*(f"triple-dice {number}" for number in numbers))


@clause("1", "2")
def test_triple_dice_has_six_symbols_and_eighteen_boxes() -> None:
    game = load("triple-dice")

    assert game.faces.names == ("crown", "anchor", "spade", "heart", "diamond", "club")
    assert len(game.payoffs) == 17
    assert set(game.boxes) - set(game.payoffs) == {"shooter"}


@clause("3", "7.6", "8", "10")
def test_triple_dice_excludes_dealers_from_betting_and_anyone_under_18() -> None:
    people = load_rulebook("triple-dice").book.people

    assert people.acts["bet"].by == ["player", "shooter"]
    assert people.minimum_age is not None
    assert people.minimum_age.years == 18
    assert {"player", "shooter", "dealer"} <= set(people.minimum_age.applies_to)


@clause("4", "5", "7.7", "9")
@pytest.mark.parametrize(
    ("reading", "consequence", "bets"),
    [("rethrow", "throw-again", "locked"), ("return", "void-round", "returned")],
)
def test_triple_dice_no_throw_follows_its_reading(
    reading: str, consequence: str, bets: str
) -> None:
    irregularities = load("triple-dice", {"no-throw": reading}).facts.irregularities

    for each in (irregularities["dice-not-flat"], irregularities["not-thrown-together"]):
        assert (each.announces, each.consequence, each.bets) == ("No Throw", consequence, bets)


@clause("6")
def test_triple_dice_displays_minimum_and_maximum() -> None:
    book = load_rulebook("triple-dice").book

    assert book.limits.displayed == ["minimum", "maximum"]
    assert book.equipment["limit-sign"].needed == "always"


@clause("7", "7.1", "7.2", "7.3", "7.4", "7.5", "7.8", "odds:shooter")
def test_triple_dice_shooter_bets_on_four_throws_at_nine_to_one() -> None:
    game = load("triple-dice")
    shooter, box = game.facts.shooter, game.box("shooter")

    assert shooter is not None
    assert (shooter.dice_offered, shooter.dice_chosen) == (5, 3)
    assert shooter.must_bet
    assert shooter.locked
    assert shooter.may_bet_elsewhere
    assert (box.throws, str(box.lines[0].odds)) == (4, "9 to 1")
    assert box.wins.bit_count() == 91
    assert game.facts.procedure.steps["choose-dice"].per == "shooter"
    assert game.facts.procedure.steps["throw"].by == ["shooter", "dealer"]


def macau(*numbers: str) -> pytest.MarkDecorator:
    return pytest.mark.clause(*(f"macau-sic-bo {number}" for number in numbers))


@macau("1", "2", "3", "3.1", "3.2", "3.3", "3.4", "3.5", "6.1", "6.2", "6.4")
@pytest.mark.parametrize("book_id", ["macau-sic-bo", "atlantic-city-sic-bo"])
def test_sic_bo_dice_are_tumbled_under_cover(book_id: str) -> None:
    book = load_rulebook(book_id).book

    assert book.procedure.order[:4] == ["tumble", "open-betting", "close-betting", "uncover"]
    assert book.procedure.steps["tumble"].covered
    assert book.procedure.steps["tumble"].at_least == 3
    assert book.limits.displayed == ["minimum", "maximum"]
    voiding = [n for n, each in book.irregularities.items() if each.consequence == "void-round"]
    assert voiding == ["too-few-tumbles", "dice-not-flat", "exposed-before-close"]
    assert book.irregularities["illumination-failed"].consequence == "settle-by-dice"
    assert book.irregularities["not-provided-for"].by == ["shift-manager"]


@pytest.mark.clause(*(f"crown-and-anchor {number}" for number in "1236"))
def test_crown_and_anchor_is_thrown_by_the_banker() -> None:
    game = load("crown-and-anchor")

    assert game.facts.procedure.order[2] == "throw"
    assert game.facts.irregularities["dice-not-flat"].consequence == "throw-again"
    assert list(game.boxes) == [f"single:{face}" for face in game.faces.names]
    assert game.facts.limits.displayed == ["minimum", "maximum"]
