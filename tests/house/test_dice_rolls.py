"""The rolls of a table's dice sets, from its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.house.codec import encode
from threedice.house.reports.dice_rolls import RoundRoll, SetRolls, read_dice_sets
from threedice.log.entry import Entry
from threedice.table.commands import Actor, Die
from threedice.table.events import (
    DiceInstalled,
    DiceRemoved,
    PieceRegistered,
    ResultCalled,
    RoundsReversed,
    RoundVoided,
    WinnersPaid,
)

if TYPE_CHECKING:
    from threedice.table.events import AnyEvent

SUE, DAN = Actor(id="sue", role="supervisor"), Actor(id="dan", role="dealer")
DICE = [Die(serial=f"A{number}") for number in (1, 2, 3)]


def entries(*events: AnyEvent) -> list[Entry]:
    stored = [encode(event) for event in events]
    return [
        Entry("table/one", version, 0, each.kind, each.schema, each.data, b"", b"")
        for version, each in enumerate(stored, 1)
    ]


def called(*dice: int) -> ResultCalled:
    a, b, c = dice
    return ResultCalled(dice=(a, b, c), call="", by=DAN)


def paid(number: int, *dice: int) -> WinnersPaid:
    a, b, c = dice
    return WinnersPaid(round=number, dice=(a, b, c), bets=[])


def reversed_rounds(*rounds: int) -> RoundsReversed:
    return RoundsReversed(
        rounds=[*rounds], cause="damaged-dice", transfers=[], owing=[], by=DAN, approved_by=SUE
    )


def registered(name: str) -> PieceRegistered:
    return PieceRegistered(piece=name, kind="dice", serial=f"S-{name}", dice=DICE, by=SUE)


def installed(name: str) -> DiceInstalled:
    return DiceInstalled(piece=name, by=SUE)


def removed(name: str) -> DiceRemoved:
    return DiceRemoved(piece=name, by=SUE)


def rounds_by_set(*events: AnyEvent) -> dict[str, list[int]]:
    sets = read_dice_sets(entries(*events)).sets
    return {each.name: [roll.round for roll in each.rolls] for each in sets}


def test_rolls_of_settled_rounds_count_in_order() -> None:
    log = entries(called(1, 2, 3), paid(1, 1, 2, 3), called(6, 5, 4), paid(2, 6, 5, 4))

    (whole,) = read_dice_sets(log).sets

    assert whole == SetRolls(rolls=(RoundRoll(1, (1, 2, 3)), RoundRoll(2, (6, 5, 4))))


def test_rolls_of_void_and_reversed_rounds_do_not_count() -> None:
    void = RoundVoided(round=2, cause="dice", bets="returned", returned=[], by=SUE)

    assert rounds_by_set(
        paid(1, 1, 1, 1), called(2, 2, 2), void, reversed_rounds(1, 2), paid(3, 3, 3, 3)
    ) == {"": [3]}


def test_each_set_has_the_rounds_between_its_installation_and_its_removal() -> None:
    log: list[AnyEvent] = [
        paid(1, 1, 1, 1),
        registered("A"),
        registered("B"),
        registered("spare"),
        paid(2, 2, 2, 2),
        installed("A"),
        paid(3, 3, 3, 3),
        removed("A"),
        installed("B"),
        paid(4, 4, 4, 4),
        paid(5, 5, 5, 5),
    ]

    assert rounds_by_set(*log) == {"": [1, 2], "A": [3], "B": [4, 5]}
    _, first, second = read_dice_sets(entries(*log)).sets
    assert (first.serial, first.dice, first.installed) == ("S-A", tuple(DICE), False)
    assert (second.serial, second.installed) == ("S-B", True)


def test_set_that_is_installed_again_continues() -> None:
    assert rounds_by_set(
        registered("A"),
        registered("B"),
        installed("A"),
        paid(1, 1, 1, 1),
        removed("A"),
        installed("B"),
        paid(2, 2, 2, 2),
        removed("B"),
        installed("A"),
        paid(3, 3, 3, 3),
    ) == {"A": [1, 3], "B": [2]}


def test_reversal_takes_a_round_from_the_set_that_served_it() -> None:
    assert rounds_by_set(
        registered("A"),
        registered("B"),
        installed("A"),
        paid(1, 1, 1, 1),
        paid(2, 2, 2, 2),
        removed("A"),
        installed("B"),
        reversed_rounds(2),
    ) == {"A": [1], "B": []}


def test_version_is_that_of_the_last_entry_that_matters() -> None:
    log = entries(paid(1, 1, 1, 1), called(2, 2, 2))

    assert read_dice_sets(log).version == 1
