"""Exposure: what the house would win or pay on every roll, compared with settling every roll."""

from __future__ import annotations

from copy import copy, deepcopy
from itertools import combinations_with_replacement
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.properties.random_table import GAMES_AND_READINGS
from tests.table.table_driver import Table
from threedice import load
from threedice.cases.runner import Case, run_case
from threedice.house.reports.figures import exposure
from threedice.table import Refusal, replay
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from threedice.dice import Roll
    from threedice.rulebook import Game
    from threedice.table import TableState
    from threedice.table.limits import LimitMode

FACES = range(1, 7)


def test_exposure_of_a_bet_over_the_maximum_is_that_of_the_part_that_plays() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 5000})
    table.play("open betting", "ann bets 5000 on triple:6")

    assert exposure(table.game, table.state)[6, 6, 6] == -180_000


def test_table_without_a_round_has_no_exposure() -> None:
    table = Table("sg-rws-tai-sai-v6/a")

    assert set(exposure(table.game, table.state).values()) == {0}


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1")
def test_exposure_before_the_close_leaves_out_what_an_electronic_table_will_reject() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    limits = uniform_limits(game, 50, 5000, 1000)
    table = Table(game.id, mode="refuse", limits=limits, stacks={"ann": 5000, "bob": 5000})
    table.play("open betting", "bob bets 500 on small", "ann bets 1500 on big")
    table.play("bob withdraws 500 from small")

    assert exposure(table.game, table.state)[4, 5, 6] == -1000


def test_exposure_after_losers_are_collected_is_not_apportioned_again() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 5000, "bob": 5000})
    table.play("open betting", "ann bets 1500 on big", "bob bets 45 on big", "close betting")
    table.play("tumbles 3 times", "uncover the dice", "call 4 5 6", "dealer enters 4 5 6")
    table.play("light the areas")
    before = exposure(table.game, table.state)[4, 5, 6]
    table.play("collect the losers")

    assert exposure(table.game, table.state)[4, 5, 6] == before == settle(table, (4, 5, 6)) < -1000


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_exposure_of_a_bet_over_the_maximum_is_that_of_its_share_whatever_the_rack_holds() -> None:
    limits = {"minimum": 50, "maximum": 1000}
    case = {"chips": [5, 100], "rack": {"100": 100}, "players": {"ann": 900, "bob": 300}}
    bets = ["open betting", "ann bets 900 on big", "bob bets 300 on big"]
    game, before = _state_after_case(bets, limits=limits, **case)
    settled = [*bets, "fill 20x5 with pit-manager", "dice 4 5 6"]
    _, after = _state_after_case(settled, limits=limits, **case)

    paid = before.float_amount + 100 - after.float_amount
    assert exposure(game, before)[4, 5, 6] == -paid == -1000


@pytest.mark.clause("triple-dice 7.3")
def test_exposure_includes_the_shooters_bet_on_the_rolls_that_end_it() -> None:
    table = Table("triple-dice/mat")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    table.play("ann bets 100 on shooter")
    first_throw = exposure(table.game, table.state)
    for _ in range(3):
        table.play("dice 1 2 3", "open betting")
    last_throw = exposure(table.game, table.state)

    assert (first_throw[2, 3, 4], first_throw[1, 3, 4]) == (100, 0)
    assert (last_throw[2, 3, 4], last_throw[1, 3, 4]) == (100, -900)


@pytest.mark.clause("triple-dice 7.4")
def test_exposure_after_losers_are_collected_includes_the_shooters_lost_bet() -> None:
    table = Table("triple-dice/mat")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    table.play("ann bets 100 on shooter", "bob bets 50 on red", "close betting", "ann throws")
    table.play("call 2 3 4", "collect the losers")

    assert exposure(table.game, table.state)[2, 3, 4] == 150


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", ["refuse", "record"])
@pytest.mark.parametrize(("game", "readings"), GAMES_AND_READINGS)
def test_exposure_equals_settlement_by_every_roll(
    game: str, readings: dict[str, str], mode: LimitMode
) -> None:
    check_tables(game, readings, mode, range(2))


@pytest.mark.long
@pytest.mark.parametrize("mode", ["refuse", "record"])
@pytest.mark.parametrize(("game", "readings"), GAMES_AND_READINGS)
def test_exposure_of_many_tables_equals_settlement_by_every_roll(
    game: str, readings: dict[str, str], mode: LimitMode
) -> None:
    check_tables(game, readings, mode, range(10_000 // (2 * len(GAMES_AND_READINGS)) + 1))


def check_tables(game: str, readings: dict[str, str], mode: LimitMode, seeds: range) -> None:
    """Compare the exposure of random tables with the change of the float on every roll."""
    for seed in seeds:
        random = Random(f"{game} {readings} {mode} {seed}")
        table = open_table(random, game, readings, mode)
        bet_at_random(random, table)
        nets = exposure(table.game, table.state)
        for roll in combinations_with_replacement(FACES, 3):
            assert nets[roll] == settle(table, roll), (seed, roll)


def _state_after_case(play: list[str], **options: Any) -> tuple[Game, TableState]:
    """Play a case at layout a of Singapore, and return the game and the state of the table."""
    book = {"clause": "sg-rws-tai-sai-v6 5.1.1", "game": "sg-rws-tai-sai-v6/a"}
    case = msgspec.convert({"name": "c", "play": play, **book, **options}, Case)
    outcome = run_case(case)
    assert outcome.stopped_by is None
    return load(case.game), replay(outcome.events)


def open_table(random: Random, game: str, readings: dict[str, str], mode: LimitMode) -> Table:
    """Open a table with random limits, and with a shooter where the game has one."""
    minimum = random.choice([5, 50, 100])
    limits = uniform_limits(
        load(game, readings), minimum, 10 * minimum, random.choice([5, 2 * minimum, 20 * minimum])
    )
    stacks = {"ann": 50_000, "bob": 50_000, "cat": 50_000}
    table = Table(game, mode, readings, limits, stacks, float_amount=10**9)
    if table.game.facts.shooter:
        table.play("offer the dice to ann", "ann chooses dice 1 2 3")
        table.play("open betting", f"ann bets {minimum} on shooter")
        for _ in range(random.choice([0, 1, 3])):
            table.play("dice 1 2 3", "open betting")
    return table


def bet_at_random(random: Random, table: Table) -> None:
    """Open betting and place bets that may exceed the limits where the mode records them."""
    if table.state.round is None:
        table.play("open betting")
    boxes = [*random.sample(sorted(table.game.boxes), 6), "big", "small", "odd", "even"]
    for _ in range(random.randrange(1, 12)):
        player, box = random.choice(["ann", "bob", "cat"]), random.choice(boxes)
        amount = 5 * random.randrange(1, 400)
        if box in table.game.boxes:
            try_to_play(table, f"{player} bets {amount} on {box}")
    if random.random() < 0.3:
        try_to_play(table, "close betting")


def try_to_play(table: Table, line: str) -> None:
    """Play a line that the table may refuse."""
    try:
        table.play(line)
    except Refusal:
        return


def settle(table: Table, roll: Roll) -> int:
    """Settle a copy of the round by a roll, and return what the house's float gained."""
    settled = copy(table)
    settled.state = deepcopy(table.state)
    settled.play("dice {} {} {}".format(*roll))
    return settled.state.float_amount - table.state.float_amount
