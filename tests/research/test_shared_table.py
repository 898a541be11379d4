"""PettingZoo environments: several players under shared maxima, differential and pro rata."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

from threedice.dice import index
from threedice.errors import InvalidInput
from threedice.research import BettingEnv, SharedTableEnv
from threedice.rulebook import shipped_games
from threedice.table import Table

GAME = "sg-rws-tai-sai-v6/a"
BIG_WINS, TRIPLE = index((6, 5, 4)), index((1, 1, 1))


def started(game: str = GAME, players: int = 2, **terms: Any) -> SharedTableEnv:
    env = SharedTableEnv(game, players, **terms)
    env.reset(seed=1)
    return env


def actions(env: SharedTableEnv, *bets: dict[str, int]) -> dict[str, Any]:
    """Return an action for each player in turn, from bets by box."""
    rows = np.zeros((len(bets), len(env.boxes)), np.int64)
    for row, each in zip(rows, bets, strict=True):
        for box, chips in each.items():
            row[env.boxes.index(box)] = chips
    return dict(zip(env.possible_agents, rows, strict=False))


@pytest.mark.parametrize("mode", ["record", "refuse"])
@pytest.mark.parametrize("game", shipped_games())
def test_environment_of_every_game_passes_the_test_of_pettingzoo(game: str, mode: Any) -> None:
    parallel_api_test(SharedTableEnv(game, 3, mode=mode, rounds=40), num_cycles=50)


@pytest.mark.parametrize("game", shipped_games())
def test_random_stakes_end_as_at_a_table_that_players_bet_at(game: str) -> None:
    rng = np.random.default_rng(7)
    env = started(game, 3, maximum=40, bankroll=10**6)
    bets = rng.integers(0, 41, (3, len(env.boxes))) * (rng.random((3, len(env.boxes))) < 0.4)
    bets[:, -1] = 0  # the shooter's box, in Triple Dice
    table = Table(game, (1, 40), chips=(1,), float_amount=10**9)
    for player in (*env.possible_agents, "stand-in"):
        table.buy_in(player, 10**6)
    if table.game.facts.shooter:
        table.offer_dice("stand-in")
    table.open_betting()
    if table.game.facts.shooter:
        table.bet("stand-in", "shooter", 1)
    for player, row in zip(env.possible_agents, bets, strict=True):
        for box, chips in zip(env.boxes, row, strict=True):
            if chips:
                table.bet(player, box, int(chips))
    table.close_betting()
    table.roll(3, 3, 5)

    _, rewards, *_ = env.play(dict(zip(env.possible_agents, bets, strict=True)), index((3, 3, 5)))

    assert rewards == {each: table.stacks[each] - 10**6 for each in env.possible_agents}
    assert any(rewards.values())


@pytest.mark.clause("sg-rws-tai-sai-v6 5.1.1")
def test_stakes_over_a_shared_maximum_play_pro_rata() -> None:
    env = started(maximum=1000, minimum=50, bankroll=1000)

    _, rewards, _, _, infos = env.play(actions(env, {"big": 900}, {"big": 300}), BIG_WINS)

    assert rewards == {"player_0": 750, "player_1": 250}
    assert [infos[each]["returned"] for each in env.agents] == [150, 50]


def test_differential_between_players_plays_pro_rata() -> None:
    env = started(differential=40)

    _, rewards, *_ = env.play(actions(env, {"big": 90}, {"small": 10}), TRIPLE)

    assert rewards == {"player_0": -50, "player_1": -10}


def test_electronic_table_gives_the_room_that_is_left_in_the_order_of_betting() -> None:
    env = started(mode="refuse", maximum=100)
    wanted = actions(env, {"big": 80}, {"big": 80})

    first = env.play(wanted, BIG_WINS)[1]
    second = env.play(wanted, BIG_WINS)[1]

    assert first == {"player_0": 80, "player_1": 20}
    assert second == {"player_0": 20, "player_1": 80}


def test_electronic_table_rejects_the_excess_over_the_differential_last_bet_first() -> None:
    env = started(mode="refuse", differential=50)

    _, rewards, _, _, infos = env.play(actions(env, {"big": 40}, {"big": 30}), TRIPLE)

    assert rewards == {"player_0": -40, "player_1": -10}
    assert infos["player_1"] == {"placed": {"big": 30}, "returned": 20}


def test_maximum_of_a_player_is_not_shared_where_the_rulebook_says_so() -> None:
    env = started("macau-sic-bo", mode="refuse", maximum=100)

    _, rewards, *_ = env.play(actions(env, {"big": 80}, {"big": 80}), BIG_WINS)

    assert rewards == {"player_0": 80, "player_1": 80}


def test_single_player_environment_is_the_shared_table_with_one_player() -> None:
    rng = np.random.default_rng(2)
    shared, single = (
        started(players=1, mode="refuse", bankroll=9000),
        BettingEnv(GAME, bankroll=9000),
    )
    single.reset()
    for _ in range(50):
        action, roll = rng.integers(0, 30, len(single.boxes)), int(rng.integers(216))

        rewards = shared.play({"player_0": action}, roll)[1]

        assert rewards == {"player_0": single.play(action, roll)[1]}


def test_ruined_player_leaves_and_the_others_play_on() -> None:
    env = started(players=3, bankroll=30)

    observations, _, terminated, truncated, _ = env.play(
        actions(env, {"small": 30}, {"big": 30}, {}), BIG_WINS
    )

    assert terminated == {"player_0": True, "player_1": False, "player_2": False}
    assert not any(truncated.values())
    assert env.agents == ["player_1", "player_2"]
    assert observations["player_2"]["stacks"].tolist() == [0, 60, 30]


def test_all_players_are_truncated_after_the_rounds() -> None:
    env = started(rounds=1)

    truncated = env.play(actions(env, {}, {}), 0)[3]

    assert truncated == {"player_0": True, "player_1": True}
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_dice_go_to_the_next_player_who_bets_on_the_shooter_box() -> None:
    env = started("triple-dice", players=2)
    both, no_crown = actions(env, {"shooter": 5}, {"shooter": 7}), index((2, 2, 2))

    throws = [env.play(both, no_crown)[1] for _ in range(2)]

    assert throws == [{"player_0": -5, "player_1": 0}, {"player_0": 0, "player_1": -7}]


def test_same_seed_gives_the_same_dice() -> None:
    def rolls() -> list[Any]:
        env = started()
        return [env.step({})[0]["player_0"]["last_roll"].tolist() for _ in range(20)]

    assert rolls() == rolls()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"players": 0}, "0 players"), ({"mode": "strict"}, "choose record or refuse")],
)
def test_impossible_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SharedTableEnv(GAME, **arguments)
