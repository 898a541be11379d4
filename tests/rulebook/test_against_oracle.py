"""Every box of every game on every roll, compared with the brute-force oracle."""

from __future__ import annotations

import pytest

from tests.oracle import brute_force as oracle
from threedice import load, shipped_games
from threedice.dice import ROLLS

pytestmark = pytest.mark.no_cover  # tracing would double the time of the longest tests

READINGS = [
    ("triple-dice/mat", {"outside": "per-die"}),
    ("triple-dice/mat", {"double": "exact-pair"}),
    ("triple-dice/mat", {"outside": "per-die", "double": "exact-pair"}),
    ("chuck-a-luck/casino", {"three-alike": "ten"}),
    ("chuck-a-luck/wide", {"field": "near-the-middle"}),
]
GAMES: list[tuple[str, dict[str, str]]] = [(game, {}) for game in oracle.GAMES] + READINGS


def test_oracle_covers_every_shipped_game() -> None:
    assert set(shipped_games()) == set(oracle.GAMES)


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "readings"), GAMES)
@pytest.mark.clause(
    "sg-rws-tai-sai-v6 3.9", "sg-rws-tai-sai-v6 3.10", "sg-rws-tai-sai-v6 3.10.1",
    "sg-rws-tai-sai-v6 3.10.2", "sg-rws-tai-sai-v6 3.10.3", "sg-rws-tai-sai-v6 3.10.4",
    "sg-rws-tai-sai-v6 3.10.5", "sg-rws-tai-sai-v6 4.1.1", "sg-rws-tai-sai-v6 4.1.2",
    "sg-rws-tai-sai-v6 4.1.3", "nz-tai-sai-2008 4.1", "nz-tai-sai-2008 4.10",
    "triple-dice odds:outside", "triple-dice odds:red-black", "triple-dice odds:double",
    "triple-dice odds:any-triple", "triple-dice odds:specific-triple",
    "macau-sic-bo 4.1", "macau-sic-bo 4.2", "macau-sic-bo 4.3", "macau-sic-bo 4.4",
    "macau-sic-bo 4.5", "macau-sic-bo 4.6", "macau-sic-bo 4.7", "macau-sic-bo 5",
    "atlantic-city-sic-bo 5", "crown-and-anchor 4", "crown-and-anchor 5",
    "chuck-a-luck 4.1", "chuck-a-luck 4.2", "chuck-a-luck 4.3", "chuck-a-luck 4.4",
    "chuck-a-luck 4.5", "chuck-a-luck 5.1", "chuck-a-luck 5.2", "chuck-a-luck 5.3",
    "bau-cua 4.1", "bau-cua 4.2", "bau-cua 5.1", "bau-cua 5.2",
    "yee-hah-hi 4.1", "yee-hah-hi 4.2", "yee-hah-hi 4.3", "yee-hah-hi 4.4", "yee-hah-hi 4.5",
    "yee-hah-hi 4.6", "yee-hah-hi 4.7", "yee-hah-hi 4.8", "yee-hah-hi 4.9", "yee-hah-hi 5",
    "yee-hah-hi 5.1",
)  # fmt: skip
def test_every_box_pays_the_documented_amount_on_every_roll(
    name: str, readings: dict[str, str]
) -> None:
    game = load(name, readings)

    assert set(game.payoffs) == set(oracle.GAMES[name])
    assert game.unit == 1
    for box, row in game.payoffs.items():
        expected = [oracle.net(name, box, roll, readings) for roll in oracle.rolls()]
        assert list(row) == expected, box


@pytest.mark.no_cover
@pytest.mark.parametrize("name", oracle.GAMES)
def test_cells_and_winning_boxes_agree_with_the_payoff_matrix(name: str) -> None:
    game = load(name)
    for i, roll in enumerate(ROLLS):
        cells = {box: game.cell(box, roll) for box in game.payoffs}
        assert {box: cell.net for box, cell in cells.items()} == {
            box: row[i] for box, row in game.payoffs.items()
        }
        assert game.winning(roll) == tuple(box for box, cell in cells.items() if cell.odds)


@pytest.mark.parametrize("name", oracle.GAMES)
@pytest.mark.clause("nz-tai-sai-2008 6.3", "macau-sic-bo 3.4")
def test_call_of_every_roll_matches_the_oracle(name: str) -> None:
    game = load(name)

    assert [game.call(roll) for roll in ROLLS] == [oracle.call(name, roll) for roll in ROLLS]


@pytest.mark.parametrize(
    ("roll", "call"),
    [
        ((6, 1, 3), "1, 3, 6, total 10"),
        ((3, 4, 3), "double 3, 4, total 10"),
        ((4, 1, 4), "1, double 4, total 9"),
        ((5, 5, 5), "triple 5, total 15"),
    ],
)
@pytest.mark.clause("nz-tai-sai-2008 6.3")
def test_calls_use_the_wording_of_the_document(roll: tuple[int, int, int], call: str) -> None:
    assert load("nz-tai-sai-2008/1").call(roll) == call


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "readings"), GAMES)
@pytest.mark.clause(
    "sg-rws-tai-sai-v6 5.4",
    "sg-rws-tai-sai-v6 5.4.1",
    "sg-rws-tai-sai-v6 5.4.2",
    "macau-sic-bo 6.3",
)
def test_boxes_conclusive_from_partial_dice_match_the_oracle(
    name: str, readings: dict[str, str]
) -> None:
    game = load(name, readings)
    for known in {roll[:n] for roll in ROLLS for n in range(4)}:
        won, lost = oracle.conclusive(name, known, readings)
        found = game.conclusive(known)
        assert (set(found.won), set(found.lost) - {"shooter"}) == (won, lost), known


@pytest.mark.clause("triple-dice 7.4")
def test_shooter_bet_is_conclusively_lost_only_when_no_crown_can_come() -> None:
    game = load("triple-dice")

    assert "shooter" not in game.conclusive((2, 3)).lost
    assert "shooter" in game.conclusive((2, 3, 4)).lost
    assert "shooter" not in game.conclusive((1, 1, 1)).won


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4.1")
@pytest.mark.parametrize("layout", "ace")
def test_one_known_die_always_decides_some_box(layout: str) -> None:
    game = load(f"sg-rws-tai-sai-v6/{layout}")
    for face in range(1, 7):
        found = game.conclusive((face,))
        assert found.won | found.lost
    nothing = game.conclusive(())
    assert not nothing.won | nothing.lost
