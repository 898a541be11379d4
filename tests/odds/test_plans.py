"""Staking plans move by move."""

from __future__ import annotations

import pytest

from threedice.odds import PLANS, StakingPlan
from threedice.odds.sessions.plans import MOVES, actual_stake

WIN, PUSH, LOSS = 1, 0, -1


@pytest.mark.parametrize(
    ("name", "state", "result", "after"),
    [
        ("flat", (10, 0), WIN, (10, 0)),
        ("flat", (10, 0), LOSS, (10, 0)),
        ("martingale", (10, 0), LOSS, (20, 0)),
        ("martingale", (160, 0), LOSS, (300, 0)),
        ("martingale", (300, 0), LOSS, (300, 0)),
        ("martingale", (160, 0), PUSH, (160, 0)),
        ("martingale", (160, 0), WIN, (10, 0)),
        ("grand-martingale", (10, 0), LOSS, (30, 0)),
        ("grand-martingale", (150, 0), LOSS, (300, 0)),
        ("grand-martingale", (70, 0), PUSH, (70, 0)),
        ("grand-martingale", (70, 0), WIN, (10, 0)),
        ("paroli", (10, 0), WIN, (20, 1)),
        ("paroli", (20, 1), WIN, (40, 2)),
        ("paroli", (40, 2), WIN, (10, 0)),
        ("paroli", (20, 1), PUSH, (20, 1)),
        ("paroli", (40, 2), LOSS, (10, 0)),
        ("paroli", (200, 1), WIN, (300, 2)),
        ("dalembert", (10, 0), LOSS, (20, 0)),
        ("dalembert", (295, 0), LOSS, (300, 0)),
        ("dalembert", (30, 0), PUSH, (30, 0)),
        ("dalembert", (30, 0), WIN, (20, 0)),
        ("dalembert", (10, 0), WIN, (10, 0)),
        ("fibonacci", (10, 0), LOSS, (10, 10)),
        ("fibonacci", (10, 10), LOSS, (20, 10)),
        ("fibonacci", (20, 10), LOSS, (30, 20)),
        ("fibonacci", (340, 210), LOSS, (340, 210)),
        ("fibonacci", (50, 30), PUSH, (50, 30)),
        ("fibonacci", (50, 30), WIN, (20, 10)),
        ("fibonacci", (30, 20), WIN, (10, 10)),
        ("fibonacci", (20, 10), WIN, (10, 0)),
        ("fibonacci", (10, 10), WIN, (10, 0)),
        ("fibonacci", (10, 0), WIN, (10, 0)),
        ("labouchere", (50, 10, 20, 30, 40), WIN, (50, 20, 30)),
        ("labouchere", (50, 20, 30), WIN, (50, 10, 20, 30, 40)),
        ("labouchere", (20, 20), WIN, (50, 10, 20, 30, 40)),
        ("labouchere", (50, 10, 20, 30, 40), PUSH, (50, 10, 20, 30, 40)),
        ("labouchere", (50, 20, 30), LOSS, (70, 20, 30, 50)),
        ("labouchere", (300, 20, 290), LOSS, (300, 20, 290, 300)),
    ],
)
def test_plan_moves_to_the_expected_state(
    name: str, state: tuple[int, ...], result: int, after: tuple[int, ...]
) -> None:
    stake = min(state[0], 300)

    assert StakingPlan(name, 10, 300).next_state(state, stake, result * stake) == after


@pytest.mark.parametrize(
    ("state", "net", "after"),
    [
        ((10, 0), 10, (10, 0)),
        ((10, 0), -10, (10, -10)),
        ((10, -10), 10, (10, 0)),
        ((10, -30), 10, (20, -20)),
        ((20, -20), 20, (10, 0)),
        ((20, -50), 20, (30, -30)),
        ((30, -30), 30, (10, 0)),
        ((40, -45), 40, (20, -5)),
        ((40, -200), 0, (40, -200)),
        ((300, -900), 300, (300, -600)),
        ((20, -20), 240, (10, 0)),
    ],
)
def test_oscars_grind_never_aims_at_more_than_one_base_stake(
    state: tuple[int, int], net: int, after: tuple[int, int]
) -> None:
    assert StakingPlan("oscars-grind", 10, 300).next_state(state, state[0], net) == after


@pytest.mark.parametrize("name", PLANS)
def test_first_stake_of_a_plan_is_the_base_or_the_ends_of_the_line(name: str) -> None:
    state = StakingPlan(name, 10, 300).initial_state()

    assert state == ((50, 10, 20, 30, 40) if name == "labouchere" else (10, 0))
    assert (name in MOVES) == (len(state) == 2)


@pytest.mark.parametrize(
    ("due", "left", "made"),
    [(10, 1000, 10), (640, 1000, 500), (320, 130, 120), (320, 20, 20), (320, 19, 0), (20, 0, 0)],
)
def test_actual_stake_is_the_minimum_of_due_maximum_and_bankroll(
    due: int, left: int, made: int
) -> None:
    assert actual_stake(due, left, minimum=10, maximum=500, step=20 if due > 100 else 1) == made
