"""Simulated tables: shared limits, the differential, the shooter, several players."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from tests.sim.reference import play_table
from threedice.errors import InvalidInput, ThreediceError
from threedice.odds import box_figures
from threedice.rulebook import load
from threedice.sim import table_study
from threedice.sim.estimates import SessionSums
from threedice.sim.runner import run_job, thread_pool
from threedice.sim.studies import TableStudy
from threedice.sim.table_setup import UNLIMITED, PlannedBet, SimulatedPlayer, table_job

if TYPE_CHECKING:
    from threedice.sim.jobs import TableJob

SIC_BO = "sg-rws-tai-sai-v6/c"
CROWDED = [
    SimulatedPlayer("ann", (PlannedBet("big", 60, "martingale"), PlannedBet("odd", 30)), 700),
    SimulatedPlayer(
        "bob", (PlannedBet("small", 20), PlannedBet("single:3", 15, "paroli")), 300, 150, 200
    ),
    SimulatedPlayer(
        "cat", (PlannedBet("big", 45, "fibonacci"), PlannedBet("even", 25, "labouchere")), 900
    ),
    SimulatedPlayer(
        "dan", (PlannedBet("big", 50, "dalembert"), PlannedBet("total:10", 5, "oscars-grind"))
    ),
]
SHOOTING = [
    SimulatedPlayer(
        "ann", (PlannedBet("shooter", 20, "martingale"), PlannedBet("single:crown", 10)), 400, 300
    ),
    SimulatedPlayer("bob", (PlannedBet("red", 10, "grand-martingale"),), 200),
]
TABLES: dict[str, tuple[str, list[SimulatedPlayer], dict[str, Any]]] = {
    "differential": (SIC_BO, CROWDED, {"minimum": 5, "maximum": 130, "differential": 40}),
    "shared room": (SIC_BO, CROWDED, {"minimum": 5, "maximum": 100}),
    "own room": ("nz-tai-sai-2008/2", [
        SimulatedPlayer("ann", (PlannedBet("big", 60, "martingale"),), 700),
        SimulatedPlayer("bob", (PlannedBet("big", 60, "martingale"), PlannedBet("small", 20)), 500),
    ], {"minimum": 5, "maximum": 100}),
    "shooter": ("triple-dice/mat", SHOOTING, {"minimum": 5, "maximum": 200}),
}  # fmt: skip


def job(name: str, **changes: Any) -> TableJob:
    where, seats, limits = TABLES[name]
    words = {**limits, "rounds": 30, "sessions": 1000, "seed": 8, **changes}
    return table_job(load(where), seats, **words)


@pytest.mark.parametrize("name", TABLES)
def test_compiled_tables_equal_the_reference(name: str) -> None:
    where, seats, limits = TABLES[name]
    whole = job(name)
    terms = {"differential": None, **limits}

    for number in range(12):
        tally = whole.play(number, 1)
        played = play_table(load(where), seats, 30, 8, number, **terms)
        for row, seat in enumerate(seats):
            sums = SessionSums(tally.counts["sums"][row].tolist())
            found = {each: sums.total(each) for each in ("bank", "staked", "played")}
            assert found == {
                "bank": played.bank[seat.name] - (seat.bankroll or UNLIMITED),
                "staked": played.staked[seat.name],
                "played": played.rounds[seat.name],
            }, (number, seat.name)
            gone = played.gone.get(seat.name, "")
            for each in ("ruined", "stop_loss", "stop_win"):
                assert sums.total(each) == (each == gone), (number, seat.name, each)
        house = SessionSums(tally.counts["sums"][len(seats)].tolist())
        assert house.total("bank") == played.house


def test_differential_and_shared_maximum_change_the_results() -> None:
    with_it, without = job("differential").play(0, 200), job("shared room").play(0, 200)
    free = job("shared room", maximum=2000).play(0, 200)

    assert with_it != without
    assert without != free


def test_any_split_of_a_table_job_gives_the_same_tally() -> None:
    whole = job("differential")

    assert whole.play(0, 7) + whole.play(7, 93) == whole.play(0, 100)
    assert whole.play(0, 100) != job("differential", seed=9).play(0, 100)


def test_house_win_equals_the_loss_of_all_players() -> None:
    whole = job("differential")
    with thread_pool(2) as pool:
        study = TableStudy(load(SIC_BO), tuple(CROWDED), whole, run_job(whole, pool))

    lost = -sum(study.mean_net(seat.name).value for seat in CROWDED)
    assert study.house_win.value == pytest.approx(lost)
    assert study.mean_staked().value == pytest.approx(
        sum(study.mean_staked(seat.name).value for seat in CROWDED)
    )
    assert study.hold.value == pytest.approx(study.house_win.value / study.mean_staked().value)
    assert 0 < study.house_loss_probability.value < 1
    assert study.quantiles("", (Fraction(0), Fraction(1)))[0].low < 0
    assert "the house" in study._repr_html_()


def test_results_of_players_without_a_bankroll_are_exact() -> None:
    study = table_study(
        load(SIC_BO),
        [SimulatedPlayer("bob", (PlannedBet("big", 10),))],
        rounds=2,
        sessions=4000,
        seed=5,
    )

    assert [each[:2] for each in study.results("bob")] == [(-20, -20), (0, 0), (20, 20)]
    assert [each[:2] for each in study.results("")] == [(-20, -20), (0, 0), (20, 20)]
    assert [each.times for each in study.results("bob")] == [
        each.times for each in reversed(study.results(""))
    ]
    ahead = sum(each.times for each in study.results("") if each.low < 0)
    assert study.house_loss_probability.value == ahead / 4000


def test_results_of_the_house_cover_stakes_raised_by_a_plan() -> None:
    seats = [SimulatedPlayer("bob", (PlannedBet("big", 5000, "dalembert"),))]

    study = table_study(load(SIC_BO), seats, rounds=2, sessions=4000, maximum=10_000, seed=5)

    assert study.results("")[-1][:2] == (15_000, 15_000)


def test_large_results_are_binned_with_an_exact_standard_error() -> None:
    seats = [SimulatedPlayer("bob", (PlannedBet("triple:6", 11_000_000),))]

    study = table_study(load(SIC_BO), seats, rounds=1, sessions=4000, seed=5)

    loss, win = study.results("bob")
    assert loss.low <= -11_000_000 <= loss.high
    assert win.low <= 11_000_000 * 180 <= win.high
    chance = win.times / 4000
    assert study.mean_net("bob").standard_error == pytest.approx(
        11_000_000 * 181 * (chance * (1 - chance) / 4000) ** 0.5
    )


def test_hold_of_flat_bets_is_consistent_with_their_edge() -> None:
    seats = [SimulatedPlayer("ann", (PlannedBet("big", 10), PlannedBet("single:2", 10)))]

    study = table_study(load(SIC_BO), seats, rounds=100, sessions=5000, seed=3)

    edge = sum(float(box_figures(load(SIC_BO).box(box)).edge) for box in ("big", "single:2")) / 2
    assert study.hold.is_consistent_with(edge, 3.5)
    assert study.mean_staked("ann").value == 2000
    assert study.chance("ann", "ruined").value == 0


def test_hold_of_the_shooter_bet_matches_its_exact_edge() -> None:
    seats = [SimulatedPlayer("ann", (PlannedBet("shooter", 10),))]

    study = table_study(load("triple-dice/mat"), seats, rounds=4000, sessions=2000, seed=3)

    exact = float(box_figures(load("triple-dice/mat").box("shooter")).edge)
    assert study.hold.value == pytest.approx(exact, abs=0.003)


@pytest.mark.parametrize(
    ("seats", "limits", "message"),
    [
        ([], {}, "there are no players"),
        ([SimulatedPlayer("ann", ())], {}, "bets on nothing"),
        ([SimulatedPlayer("ann", (PlannedBet("bog", 5),))], {}, "no box"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5, "martingal"),))], {}, "is not a plan"),
        (
            [SimulatedPlayer("ann", (PlannedBet("big", 5), PlannedBet("big", 5)))],
            {},
            "twice on the same box",
        ),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),))] * 2, {}, "same name"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),), 3)], {}, "bankroll of 3"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),), 30, 0)], {}, "stop-loss of 0"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),))], {"minimum": 10}, "not within 10"),
        (
            [SimulatedPlayer("ann", (PlannedBet("big", 5),))],
            {"minimum": 10, "maximum": 9},
            "maximum 9 is under the minimum 10",
        ),
        (
            [SimulatedPlayer("ann", (PlannedBet("big", 5),))],
            {"differential": 0},
            "differential of 0",
        ),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),))], {"rounds": 0}, "0 rounds"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5),))], {"seed": 2**64}, "seed of"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5, "martingale"),))], {}, "lower --maximum"),
        ([SimulatedPlayer("ann", (PlannedBet("big", 5 * 10**7),))], {}, "give them a bankroll"),
    ],
)
def test_invalid_table_job_is_refused(
    seats: list[SimulatedPlayer], limits: dict[str, Any], message: str
) -> None:
    words = {"rounds": 30, "sessions": 10, **limits}
    with pytest.raises(ThreediceError, match=message):
        table_job(load(SIC_BO), seats, **words)


def test_differential_in_a_game_without_pairs_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no boxes under a differential"):
        table_job(load("triple-dice/mat"), SHOOTING, rounds=5, sessions=5, maximum=100,
                  differential=50)  # fmt: skip


def test_table_with_two_shooters_is_refused() -> None:
    seats = [SimulatedPlayer(name, (PlannedBet("shooter", 10),)) for name in ("ann", "bob")]

    with pytest.raises(InvalidInput, match="shooter's alone"):
        table_job(load("triple-dice/mat"), seats, rounds=5, sessions=5)


def test_table_job_on_a_gpu_is_refused() -> None:
    with pytest.raises(InvalidInput, match="on the CPU"):
        job("shooter").play(0, 1, "gpu")


def test_figures_of_an_unknown_player_are_refused() -> None:
    whole = job("shooter")
    study = TableStudy(load("triple-dice/mat"), tuple(SHOOTING), whole, whole.play(0, 5))

    with pytest.raises(InvalidInput, match="no player 'eve'"):
        study.mean_net("eve")
