"""Chance nodes: exact probabilities, legal actions, and expected returns equal to the odds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from threedice.dice import index
from threedice.errors import InvalidInput
from threedice.odds import Mix, box_figures
from threedice.research import BettingGame, expected_returns
from threedice.research.chance import CHANCE_PLAYER, DONE, TERMINAL_PLAYER
from threedice.rulebook import load, shipped_games

if TYPE_CHECKING:
    from threedice.research import BettingState

GAME = "sg-rws-tai-sai-v6/a"


def after(tree: BettingGame, *actions: int) -> BettingState:
    state = tree.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize("game", shipped_games())
def test_chance_outcomes_are_the_216_rolls_and_sum_to_exactly_one(game: str) -> None:
    state = after(BettingGame(game), DONE)
    outcomes = state.chance_outcomes()

    assert state.is_chance_node()
    assert state.current_player() == CHANCE_PLAYER
    assert [outcome for outcome, _ in outcomes] == list(range(216)) == state.legal_actions()
    assert {chance for _, chance in outcomes} == {Fraction(1, 216)}
    assert sum(chance for _, chance in outcomes) == 1


@pytest.mark.parametrize("game", shipped_games())
def test_expected_return_of_a_box_of_every_family_is_its_exact_edge(game: str) -> None:
    tree = BettingGame(game)
    families = {box.family: box for box in load(game).boxes.values()}
    for box in families.values():
        state = after(tree, tree.bet_action(box.id, tree.stakes[0]), DONE)

        assert expected_returns(state) == (-box_figures(box).edge * tree.stakes[0],)


def test_expected_return_of_several_bets_is_that_of_the_mix() -> None:
    tree = BettingGame(GAME, stakes=(20, 50))
    state = after(tree, tree.bet_action("big", 50), tree.bet_action("total:10", 20), DONE)

    assert expected_returns(state) == (
        -70 * Mix(load(GAME), {"big": 50, "total:10": 20}).figures.edge,
    )


def test_shooter_bet_leads_through_as_many_chance_nodes_as_it_takes_throws() -> None:
    tree, crowns = BettingGame("triple-dice"), index((1, 2, 3))
    state = after(tree, tree.bet_action("shooter", 1), DONE)

    for _ in range(3):
        state.apply_action(crowns)
        assert (state.is_chance_node(), state.returns()) == (True, [0])
    state.apply_action(crowns)

    assert state.is_terminal()
    assert state.returns() == [9]
    assert state.current_player() == TERMINAL_PLAYER
    assert state.legal_actions() == []


def test_shooter_bet_may_be_lost_by_every_throw() -> None:
    tree, crowns, none = BettingGame("triple-dice"), index((1, 2, 3)), index((2, 2, 2))
    bet = tree.bet_action("shooter", 1)

    for throws in range(4):
        state = after(tree, bet, DONE, *[crowns] * throws, none)
        assert (state.is_terminal(), state.returns()) == (True, [-1])


def test_dice_are_offered_to_the_next_player_until_one_bets_on_them() -> None:
    tree = BettingGame("triple-dice", players=3)
    bet = tree.bet_action("shooter", 1)

    assert bet in after(tree).legal_actions()
    assert bet in after(tree, DONE).legal_actions()
    assert bet not in after(tree, DONE, bet, DONE).legal_actions()
    expected = expected_returns(after(tree, DONE, bet, DONE, DONE))
    assert list(expected) == [0, 10 * Fraction(91, 216) ** 4 - 1, 0]


def test_players_bet_in_turn_before_the_dice_are_rolled() -> None:
    tree = BettingGame(GAME, players=2)

    turns = [after(tree, *[DONE] * count).current_player() for count in range(3)]

    assert turns == [0, 1, CHANCE_PLAYER]
    assert tree.num_players() == 2


def test_room_in_a_shared_box_is_taken_by_the_player_before() -> None:
    tree = BettingGame(GAME, players=2, stakes=(60,), maximum=100)
    bet = tree.bet_action("big", 60)

    assert bet in after(tree, DONE).legal_actions()
    assert bet not in after(tree, bet, DONE).legal_actions()


def test_each_set_of_bets_is_reached_in_one_way() -> None:
    tree = BettingGame(GAME, stakes=(1, 5))
    state = after(tree, tree.bet_action("big", 1))

    legal = [state.action_to_string(action) for action in state.legal_actions()]

    assert legal[:3] == ["done", "1 on single:1", "5 on single:1"]
    assert len(legal) == 1 + 2 * 48


def test_bet_that_the_chips_do_not_cover_is_not_legal() -> None:
    tree = BettingGame(GAME, stakes=(1, 5), bankroll=5)
    state = after(tree, tree.bet_action("small", 5))

    assert state.legal_actions() == [DONE]


def test_rounds_follow_each_other_until_the_last() -> None:
    tree = BettingGame(GAME, rounds=2)
    big, big_wins = tree.bet_action("big", 1), index((6, 5, 4))
    state = after(tree, big, DONE, big_wins)

    assert (state.current_player(), state.returns()) == (0, [1])
    for action in (big, DONE, big_wins):
        state.apply_action(action)
    assert (state.is_terminal(), state.returns()) == (True, [2])
    assert state.history() == [big, DONE, big_wins] * 2


def test_policy_decides_for_the_players() -> None:
    tree = BettingGame(GAME, rounds=2)
    big = tree.bet_action("big", 1)

    def half_of_the_time(state: BettingState) -> dict[int, Fraction]:
        if big not in state.legal_actions():
            return {DONE: Fraction(1)}
        return {DONE: Fraction(1, 2), big: Fraction(1, 2)}

    assert expected_returns(after(tree), half_of_the_time) == (Fraction(-1, 36),)
    with pytest.raises(InvalidInput, match="do not sum to 1"):
        expected_returns(after(tree), lambda _: {DONE: Fraction(1, 3)})


def test_child_and_clone_leave_the_state_as_it_is() -> None:
    tree = BettingGame(GAME)
    state = after(tree, tree.bet_action("big", 1), DONE)
    before = state.key()

    won, lost = state.child(index((6, 5, 4))), state.child(0)
    copy = state.clone()

    assert (won.returns(), lost.returns(), state.returns()) == ([1], [-1], [0])
    assert copy.key() == state.key() == before
    assert copy.get_game() is tree


def test_state_and_actions_are_described_in_words() -> None:
    tree = BettingGame(GAME)
    state = after(tree, tree.bet_action("big", 1), DONE)

    assert str(state) == (
        "sg-rws-tai-sai-v6/a, 2 actions, bets {'player_0': {'big': 1}}, returns [0]"
    )
    assert state.action_to_string(index((1, 3, 6))) == "1, 3, 6, total 10"
    assert (tree.num_distinct_actions(), tree.max_chance_outcomes()) == (51, 216)


def test_impossible_trees_and_actions_are_refused() -> None:
    tree = BettingGame(GAME)

    with pytest.raises(InvalidInput, match="0 players"):
        BettingGame(GAME, players=0)
    with pytest.raises(InvalidInput, match="different numbers of chips"):
        BettingGame(GAME, stakes=(5, 5))
    with pytest.raises(InvalidInput, match="a stake of 2; choose from"):
        tree.bet_action("big", 2)
    with pytest.raises(InvalidInput, match="not a chance node"):
        after(tree).chance_outcomes()
    with pytest.raises(InvalidInput, match="99 is not a legal action"):
        after(tree).apply_action(99)
