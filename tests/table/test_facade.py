"""A table in memory: the same rules, checks and steps as in a house, by method calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from threedice import InvalidInput, Refusal, StakeRange, Table, TableLimits, load, shipped_games
from threedice.table import replay
from threedice.table.commands import FillFloat
from threedice.table.usual_steps import SUPERVISOR

SINGAPORE = "sg-rws-tai-sai-v6/a"


@pytest.mark.parametrize("name", shipped_games())
def test_every_shipped_game_can_be_played(name: str) -> None:
    table = Table(name)
    table.buy_in("ann", 1000)
    game = table.game
    if game.facts.shooter:
        table.offer_dice("ann")
    table.open_betting()
    if game.facts.shooter:
        table.bet("ann", game.facts.shooter.box, 100)
    box = next(box for box in game.boxes.values() if box.throws == 1)
    table.bet("ann", box.id, 100)
    assert table.bets["ann"][box.id] == 100
    table.close_betting()
    table.roll(*game.faces.names[:3])

    assert table.state.round is None
    assert table.bets == {}
    assert table.explain("ann", box.id, 1) == table.explain("ann", box.id)
    assert len(table.describe()) == len(table.history)
    assert replay(table.history) == table.state


def test_payments_follow_the_payoff_matrix() -> None:
    table = Table(SINGAPORE, limits=(50, 1000))
    table.buy_in("ann", 1000)
    table.open_betting()
    table.bet("ann", "total:10", 50)
    table.bet("ann", "small", 100)
    table.withdraw("ann", "small", 50)
    table.roll(1, 3, 6)

    assert table.stacks == {"ann": 1000 + 300 + 50}
    table.cash_out("ann", 350)
    assert repr(table) == "<Table sg-rws-tai-sai-v6/a, round 1, stacks {'ann': 1000}>"


def test_refused_bet_changes_nothing_and_names_its_clause() -> None:
    table = Table(SINGAPORE, limits=(50, 1000), mode="refuse")
    table.buy_in("ann", 2000)
    table.open_betting()
    events = len(table.history)

    with pytest.raises(Refusal) as refused:
        table.bet("ann", "big", 1500)

    assert refused.value.clause
    assert (len(table.history), table.stacks) == (events, {"ann": 2000})


def test_readings_limits_and_terms_are_those_given() -> None:
    game = load(SINGAPORE)
    families = {box.family: StakeRange(25, 500) for box in game.boxes.values()}
    pairs = game.facts.limits.differential
    assert pairs is not None
    limits = TableLimits(families, differential={first: 400 for first, _ in pairs.pairs})

    table = Table(game, limits, chips=(25, 100), float_amount=50_000, currency="SGD")

    assert (table.game, table.state.limits) == (game, limits)
    assert (table.state.chips, table.state.float_amount) == ([25, 100], 50_000)
    assert table.state.currency == "SGD"
    table = Table(game, (50, 1000), differential=300)
    assert table.state.limits is not None
    assert set(table.state.limits.differential.values()) == {300}


def test_roll_without_a_shooter_is_refused_where_a_player_throws() -> None:
    table = Table("triple-dice/mat")
    table.buy_in("ann", 1000)

    with pytest.raises(Refusal, match="dice"):
        table.roll("crown", "club", "heart")


def test_limits_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(Refusal, match="not multiples"):
        Table(SINGAPORE, limits=(7, 1000))


def test_player_under_age_is_refused() -> None:
    with pytest.raises(Refusal, match="at least"):
        Table("triple-dice/mat").buy_in("ann", 100, age_years=15)


def test_other_commands_can_be_sent() -> None:
    table = Table(SINGAPORE)

    table.send(FillFloat(by=SUPERVISOR, amount=500))

    assert table.state.float_amount == 1_000_500


def test_bet_that_was_never_made_cannot_be_explained() -> None:
    with pytest.raises(InvalidInput, match="no bet"):
        Table(SINGAPORE).explain("ann", "big")


def test_table_in_a_notebook_shows_players_and_their_chips_on_the_felt() -> None:
    table = Table("sg-rws-tai-sai-v6/a", limits=(50, 1000))
    table.buy_in("ann", 1000)
    before = table._repr_html_()
    table.open_betting()
    table.bet("ann", "big", 300)

    html = table._repr_html_()

    assert before.count("#f3c74f") == 0
    assert html.count("#f3c74f") == 1
    assert "big 300" in html


def test_chips_of_a_box_with_areas_at_both_ends_are_drawn_in_a_notebook() -> None:
    table = Table("sg-rws-tai-sai-v6/e", limits=(50, 1000))
    table.buy_in("ann", 1000)
    table.open_betting()
    table.bet("ann", "big", 300, area="right")

    assert table._repr_html_().count("#f3c74f") == 1


def test_table_of_a_game_without_a_felt_shows_its_players_in_a_notebook() -> None:
    table = Table(replace(load("crown-and-anchor/main"), felt=None))
    table.buy_in("ann", 1000)

    assert table._repr_html_().startswith("<table>")
