"""The 216 rolls and sets of them."""

from itertools import product

from threedice import dice


def test_rolls_are_in_lexicographic_order() -> None:
    assert list(dice.ROLLS) == list(product(range(1, 7), repeat=3))
    assert [dice.index(roll) for roll in dice.ROLLS] == list(range(216))


def test_set_of_rolls_contains_only_its_members() -> None:
    nines = dice.rolls_where(lambda roll: sum(roll) == 9)

    assert list(dice.members(nines)) == [roll for roll in dice.ROLLS if sum(roll) == 9]
    assert dice.count(nines) == 25
    assert dice.contains(nines, (3, 3, 3))
    assert not dice.contains(nines, (3, 3, 4))


def test_known_dice_select_the_rolls_that_begin_with_them() -> None:
    assert dice.count(dice.rolls_beginning_with(())) == 216
    assert list(dice.members(dice.rolls_beginning_with((2, 5)))) == [(2, 5, n) for n in range(1, 7)]
    assert list(dice.members(dice.rolls_beginning_with((2, 5, 1)))) == [(2, 5, 1)]
