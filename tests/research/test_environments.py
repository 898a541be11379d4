"""Gymnasium environments for one player: every game, actions as requests, rewards and endings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import threedice
from threedice.dice import ROLLS, index
from threedice.errors import InvalidInput, RulebookError
from threedice.research import BettingEnv, BettingVectorEnv, environment_ids
from threedice.research.registration import environment_id, register_environments
from threedice.rulebook import load, shipped_games

GAME = "sg-rws-tai-sai-v6/a"
MACAU = Path(threedice.__file__).parent / "rulebooks" / "macau-sic-bo.toml"


def stakes(env: BettingEnv | BettingVectorEnv, **bets: int) -> Any:
    """Return the action with these bets; boxes are named with `_` for `:`."""
    action = np.zeros(len(env.boxes), np.int64)
    for box, chips in bets.items():
        action[env.boxes.index(box.replace("_", ":"))] = chips
    return action


def started(game: str = GAME, **terms: Any) -> BettingEnv:
    env = BettingEnv(game, **terms)
    env.reset(seed=1)
    return env


@pytest.mark.parametrize("game", shipped_games())
def test_environment_of_every_game_passes_the_check_of_gymnasium(game: str) -> None:
    env = gymnasium.make(environment_ids()[game])

    check_env(env.unwrapped)
    assert isinstance(env.unwrapped, BettingEnv)
    assert env.unwrapped.terms.game.id == game


@pytest.mark.parametrize("game", shipped_games())
def test_vectorised_environment_of_every_game_stays_within_its_spaces(game: str) -> None:
    env = gymnasium.make_vec(environment_ids()[game], num_envs=5, rounds=4)
    assert isinstance(env, BettingVectorEnv)
    env.action_space.seed(3)

    observation, _ = env.reset(seed=3)
    for _ in range(9):
        assert observation in env.observation_space
        observation, *_ = env.step(env.action_space.sample())
    env.close()


def test_ids_are_made_from_the_titles_of_the_rulebooks() -> None:
    ids = environment_ids()

    assert ids["sg-rws-tai-sai-v6/a"] == "Threedice/TaiSai-v6-a-v0"
    assert ids["sg-rws-tai-sai-open-cover-v5/e"] == "Threedice/TaiSaiOpenCover-v5-e-v0"
    assert ids["nz-tai-sai-2008/2"] == "Threedice/TaiSai-v2008-2-v0"
    assert environment_id("Bầu Cua / Hey-How", "2.1 b", "long one") == (
        "Threedice/BauCuaHeyHow-v2.1-b-long-one-v0"
    )


def test_every_game_has_an_id_of_its_own() -> None:
    assert len(set(environment_ids().values())) == len(shipped_games())


def test_registering_again_changes_nothing() -> None:
    spec = gymnasium.spec("Threedice/TaiSai-v6-a-v0")
    register_environments()

    assert gymnasium.spec("Threedice/TaiSai-v6-a-v0") is spec


def test_file_of_a_user_is_an_environment() -> None:
    env = started(f"{MACAU}/main")

    assert env.boxes == tuple(load("macau-sic-bo/main").boxes)
    with pytest.raises(RulebookError, match="nowhere"):
        BettingEnv("./nowhere.toml")


def test_reward_is_the_net_result_in_chips() -> None:
    env = started()

    _, reward, *_ = env.play(stakes(env, big=50, total_10=20), index((1, 3, 6)))

    assert reward == -50 + 20 * 6


def test_observation_has_the_bankroll_the_last_roll_and_the_rounds_left() -> None:
    env = started(rounds=7)

    observation, *_ = env.play(stakes(env, small=10), index((1, 3, 6)))

    assert {name: each.tolist() for name, each in observation.items()} == {
        "bankroll": [1010],
        "last_roll": [1, 3, 6],
        "rounds_left": [6],
    }


def test_stake_above_the_maximum_is_cut_to_it() -> None:
    env = started(maximum=30)

    *_, info = env.play(stakes(env, big=999), 0)

    assert info["placed"] == {"big": 30}


def test_stake_below_the_minimum_is_not_placed() -> None:
    env = started(minimum=5)

    _, reward, *_, info = env.play(stakes(env, big=4, small=-3, total_9=5), 0)

    assert info["placed"] == {"total:9": 5}
    assert reward == -5


def test_stakes_are_placed_in_the_order_of_the_layout_until_the_chips_are_used_up() -> None:
    env = started(bankroll=25)

    *_, info = env.play(np.full(len(env.boxes), 10), 0)

    assert info["placed"] == {"small": 10, "big": 10, "single:1": 5}


def test_differential_returns_the_excess_of_one_side() -> None:
    env = started(differential=20)

    _, reward, *_, info = env.play(stakes(env, big=70, small=10), index((1, 1, 1)))

    assert info == {"placed": {"big": 70, "small": 10}, "returned": 40}
    assert reward == -40


def test_stakes_are_multiples_of_the_unit_in_which_odds_are_paid(tmp_path: Path) -> None:
    text = 'extends = "macau-sic-bo"\nid = "commission"\npay_tables.main.rows.big.odds = "19 to 20"'
    (tmp_path / "commission.toml").write_text(text, encoding="utf-8")
    env = started(str(tmp_path / "commission.toml"))
    box = next(box for box in env.terms.game.boxes.values() if box.unit == 20)

    *_, info = env.play(stakes(env, **{box.id.replace(":", "_"): 59}), 0)

    assert (env.terms.minimum, env.terms.maximum, env.terms.bankroll) == (20, 2000, 20_000)
    assert info["placed"] == {box.id: 40}


def test_episode_terminates_when_the_player_cannot_make_the_minimum_bet() -> None:
    env = started(minimum=10, bankroll=25)

    _, _, terminated, truncated, _ = env.play(stakes(env, big=20), 0)

    assert (terminated, truncated) == (True, False)


def test_episode_is_truncated_after_its_rounds() -> None:
    env = started(rounds=2)

    endings = [env.play(stakes(env), 0)[2:4] for _ in range(2)]

    assert endings == [(False, False), (False, True)]


def test_shooter_bet_is_locked_until_it_is_decided() -> None:
    env = started("triple-dice", rounds=4)
    crowns, anchors = index((1, 2, 3)), index((2, 2, 2))

    steps = [
        env.play(stakes(env, shooter=10), crowns),
        env.play(stakes(env, shooter=50), crowns),
        env.play(stakes(env, shooter=50), anchors),
        env.play(stakes(env, shooter=50), anchors),
    ]

    assert [info["placed"] for *_, info in steps] == [{"shooter": 10}, {}, {}, {"shooter": 50}]
    assert [reward for _, reward, *_ in steps] == [0, 0, -10, -50]
    assert [each["shooter"].tolist() for each, *_ in steps] == [[10, 1], [10, 2], [0, 0], [0, 0]]


def test_stand_in_throws_for_a_player_who_does_not_bet_on_the_shooter_box() -> None:
    env = started("triple-dice")
    crowns = index((1, 2, 3))

    env.play(stakes(env, red=10), crowns)
    observation, reward, *_, info = env.play(stakes(env, shooter=50, red=10), crowns)

    assert info["placed"] == {"red": 10}
    assert reward == -10
    assert observation["shooter"].tolist() == [0, 2]


def test_player_whose_last_chips_are_the_shooter_bet_is_not_ruined() -> None:
    env = started("triple-dice", bankroll=10)

    _, _, terminated, _, _ = env.play(stakes(env, shooter=10), index((1, 2, 3)))

    assert not terminated


def test_same_seed_gives_the_same_episode() -> None:
    def play() -> list[float]:
        env = started()
        return [env.step(stakes(env, single_4=5))[1] for _ in range(40)]

    assert play() == play()
    assert len(set(play())) > 1


def test_environment_describes_itself_in_text() -> None:
    env = started(render_mode="ansi")
    env.play(stakes(env, big=10), index((6, 5, 4)))

    assert env.render() == "sg-rws-tai-sai-v6/a: 4, 5, 6, total 15; 1010 chips"
    assert started().render() is None


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.ones(3, np.int64), r"shape \(3,\); give \(50,\): one stake for each box"),
        (np.full(50, np.nan), "type float64; give whole numbers of chips"),
        ("all on big", "give whole numbers of chips"),
        (None, "give whole numbers of chips"),
    ],
)
def test_action_that_is_no_array_of_chips_is_refused(action: Any, message: str) -> None:
    env = started()

    with pytest.raises(InvalidInput, match=message):
        env.step(action)


def test_float_is_filled_when_players_have_won_much_of_it() -> None:
    env = started("macau-sic-bo", maximum=10**7, bankroll=10**9)
    sixes = ROLLS.index((6, 6, 6))

    total = sum(env.play(stakes(env, triple_6=10**7), sixes)[1] for _ in range(500))

    assert total == 500 * 150 * 10**7


@pytest.mark.parametrize(
    ("game", "terms", "message"),
    [
        (GAME, {"minimum": 0}, "leave no room"),
        (GAME, {"minimum": 9, "maximum": 8}, "leave no room"),
        (GAME, {"bankroll": 0}, "a bankroll of 0; give at least the minimum of 1"),
        (GAME, {"maximum": 10**8}, r"10\^7 at most"),
        (GAME, {"rounds": 0}, "0 rounds"),
        (GAME, {"differential": 0}, "differential of 0"),
        ("macau-sic-bo", {"differential": 5}, "has no differential; leave it out"),
    ],
)
def test_impossible_terms_are_refused(game: str, terms: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        BettingEnv(game, **terms)  # type: ignore[arg-type]
