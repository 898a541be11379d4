"""Rounds that damaged dice affect, compared with a brute-force reference on random histories."""

from __future__ import annotations

import os
from random import Random

import pytest

from threedice.table import events
from threedice.table.commands import Actor
from threedice.table.equipment.history import HISTORY_EVENTS, affected_rounds

HISTORIES = int(os.environ.get("THREEDICE_DICE_HISTORIES", "300"))
BY = Actor(id="s", role="supervisor")
SETS = ["d-1", "d-2", "d-3"]


def random_history(random: Random, *, shooter: bool) -> list[events.AnyEvent]:
    """Return the events of a table whose sets of dice are exchanged and inspected at random."""
    history: list[events.AnyEvent] = []
    installed, number, dice = "", 0, [1, 2, 3]
    for _ in range(random.randint(5, 40)):
        chance = random.random()
        if chance < 0.15 and not installed:
            installed = random.choice(SETS)
            history.append(events.DiceInstalled(piece=installed, by=BY))
        elif chance < 0.25 and installed:
            history.append(events.DiceRemoved(piece=installed, by=BY))
            installed = ""
        elif chance < 0.35:
            good = random.random() < 0.6
            history.append(events.DiceInspected(piece=random.choice(SETS), good=good, by=BY))
        elif chance < 0.42 and number:
            rounds = sorted({random.randint(1, number) for _ in range(2)})
            history.append(
                events.RoundsReversed(
                    rounds=rounds, cause="-", transfers=[], owing=[], by=BY, approved_by=BY
                )
            )
        else:
            number += 1
            history += random_round(random, number, dice, shooter=shooter)
    return history


def random_round(
    random: Random, number: int, dice: list[int], *, shooter: bool
) -> list[events.AnyEvent]:
    found: list[events.AnyEvent] = [events.RoundStarted(round=number, game_hash="")]
    if shooter and (random.random() < 0.4 or number == 1):
        dice[:] = sorted(random.sample(range(1, 6), 3))
        found.append(events.DiceChosen(player="ann", dice=[*dice]))
    if random.random() < 0.9:
        thrown = events.StepTaken(step="throw", by=BY)
        found.append(thrown if shooter else events.DiceTumbled(times=3, by=BY))
        found += [thrown] if shooter and random.random() < 0.2 else []
    if random.random() < 0.2:
        found.append(
            events.RoundVoided(round=number, cause="-", bets="returned", returned=[], by=BY)
        )
    else:
        found.append(events.WinnersPaid(round=number, dice=(1, 2, 3), bets=[]))
    return found


def reference(history: list[events.AnyEvent], dice_set: str, damaged: list[int]) -> list[int]:
    """Ask of every round: was it thrown with the set, uninspected since, and is it not void?"""
    return [
        number
        for number in rounds_of(history)
        if any(
            thrown_with(history[:place], dice_set)
            and not inspected_good(history[place:], dice_set)
            and (
                not damaged
                or not chosen(history[:place])
                or {*damaged} & {*chosen(history[:place])}
            )
            for place in throws_of(history, number)
        )
        and not is_void(history, number)
    ]


def rounds_of(history: list[events.AnyEvent]) -> list[int]:
    return [event.round for event in history if isinstance(event, events.RoundStarted)]


def throws_of(history: list[events.AnyEvent], number: int) -> list[int]:
    started = next(
        place
        for place, event in enumerate(history)
        if isinstance(event, events.RoundStarted) and event.round == number
    )
    later = [
        place
        for place, event in enumerate(history)
        if isinstance(event, events.RoundStarted) and event.round > number
    ]
    return [
        place
        for place in range(started, later[0] if later else len(history))
        if isinstance(history[place], events.StepTaken | events.DiceTumbled)
    ]


def thrown_with(before: list[events.AnyEvent], dice_set: str) -> bool:
    changes = [
        each for each in before if isinstance(each, events.DiceInstalled | events.DiceRemoved)
    ]
    last = changes[-1] if changes else None
    return isinstance(last, events.DiceInstalled) and last.piece == dice_set


def inspected_good(after: list[events.AnyEvent], dice_set: str) -> bool:
    return any(
        isinstance(each, events.DiceInspected) and each.piece == dice_set and each.good
        for each in after
    )


def chosen(before: list[events.AnyEvent]) -> list[int]:
    choices = [each.dice for each in before if isinstance(each, events.DiceChosen)]
    return choices[-1] if choices else []


def is_void(history: list[events.AnyEvent], number: int) -> bool:
    return any(
        (isinstance(each, events.RoundVoided) and each.round == number)
        or (isinstance(each, events.RoundsReversed) and number in each.rounds)
        for each in history
    )


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6", "triple-dice 7.8")
@pytest.mark.parametrize("shooter", [False, True])
def test_proposed_rounds_equal_a_brute_force_reference_on_random_histories(
    shooter: bool,
) -> None:
    found = 0
    for seed in range(HISTORIES):
        random = Random(seed)
        history = random_history(random, shooter=shooter)
        damaged = random.choice([[], [random.randint(1, 5)]])
        for dice_set in SETS:
            expected = reference(history, dice_set, damaged)
            assert affected_rounds(history, dice_set, damaged) == expected, (seed, dice_set)
            read = (event for event in history if isinstance(event, HISTORY_EVENTS))
            assert affected_rounds(read, dice_set, damaged) == expected
            found += len(expected)
    assert found > HISTORIES
