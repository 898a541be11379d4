"""Flat bets: counts of the 216 rolls are exactly distributed and independent of the split."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threedice.errors import InvalidInput, UnknownName
from threedice.odds import box_figures
from threedice.rulebook import load
from threedice.sim import flat_study
from threedice.sim.jobs import FlatJob, generator_key
from threedice.sim.kernels.roll_counts import (
    ROUNDS_PER_BLOCK,
    binomial_cdf,
    binomial_tables,
    draw_roll_counts,
)
from threedice.sim.studies import FlatStudy

SIC_BO = "sg-rws-tai-sai-v6/a"


@settings(deadline=None)
@given(st.integers(1, 300), st.sampled_from([2, 3]))
def test_binomial_table_is_exact_to_the_last_bit(trials: int, parts: int) -> None:
    first, sums = binomial_cdf(trials, parts)

    so_far, exact = Fraction(0), []
    for k in range(trials + 1):
        so_far += Fraction(comb(trials, k) * (parts - 1) ** (trials - k), parts**trials)
        exact.append(so_far)
    for k, each in enumerate(sums, start=first):
        assert abs(each - exact[k] * 2**64) < 2
    assert exact[first - 1] < Fraction(1, 2**100) if first else True


def test_large_binomial_table_has_the_exact_mean_and_variance() -> None:
    first, sums = binomial_cdf(2**20, 3)
    weights = np.diff(np.array([0, *sums, 2**64], dtype=object)).astype(float) / 2.0**64
    numbers = np.arange(first, first + len(weights))
    mean = float((weights * numbers).sum())

    assert mean == pytest.approx(2**20 / 3, abs=1e-6)
    assert float((weights * (numbers - mean) ** 2).sum()) == pytest.approx(2**20 * 2 / 9, rel=1e-9)


def test_binomial_tables_are_contiguous() -> None:
    sums, begins, firsts, guides = binomial_tables()

    assert begins[1, 20] + guides[1, 20, 256] == len(sums)
    assert (firsts >= 0).all()
    assert (np.diff(guides, axis=2) >= 0).all()


@pytest.mark.parametrize(
    "rounds",
    [
        1,
        215,
        ROUNDS_PER_BLOCK - 1,
        ROUNDS_PER_BLOCK,
        ROUNDS_PER_BLOCK + 1,
        5 * ROUNDS_PER_BLOCK + 777,
    ],
)
def test_roll_counts_sum_to_the_number_of_rounds(rounds: int) -> None:
    job = FlatJob(rounds, 3)

    tally = job.play(0, job.units)

    assert sum(tally.counts["rolls"].tolist()) == rounds
    assert tally.units == -(-rounds // ROUNDS_PER_BLOCK)


def test_any_split_of_a_flat_job_gives_the_same_tally() -> None:
    job = FlatJob(7 * ROUNDS_PER_BLOCK + 5, 3)
    parts = job.play(0, 1) + job.play(1, 4) + job.play(5, 3)

    assert parts == job.play(0, 8)
    assert parts != FlatJob(7 * ROUNDS_PER_BLOCK + 5, 4).play(0, 8)


def test_chi_square_of_roll_counts_has_the_expected_distribution() -> None:
    squares = []
    for seed in range(300):
        rolls = draw_roll_counts(0, 1, 10**6, generator_key(seed))
        squares.append(float(((rolls - 10**6 / 216) ** 2).sum() / (10**6 / 216)))

    assert np.mean(squares) == pytest.approx(215, abs=4 * (430 / 300) ** 0.5)
    assert np.var(squares) == pytest.approx(430, rel=0.35)
    assert np.corrcoef(squares[:-1], squares[1:])[0, 1] == pytest.approx(0, abs=0.25)


def test_roll_counts_have_the_multinomial_covariance() -> None:
    falls = np.array(
        [draw_roll_counts(0, 1, 50_000, generator_key(seed)) for seed in range(400)], float
    )
    big = falls[:, :108].sum(axis=1)
    faces = falls.reshape(400, 6, 6, 6).sum(axis=(2, 3))

    assert np.var(big) == pytest.approx(50_000 / 4, rel=0.25)
    expected = -50_000 / 36
    pairs = np.cov(faces.T)[np.triu_indices(6, 1)]
    assert pairs.mean() == pytest.approx(expected, rel=0.1)
    assert abs(pairs - expected).max() < abs(expected)


@pytest.mark.parametrize("name", ["sg-rws-tai-sai-v6/c", "nz-tai-sai-2008/2", "crown-and-anchor"])
def test_simulated_edge_of_every_box_is_consistent_with_the_exact_one(name: str) -> None:
    boxes = dict.fromkeys(load(name).payoffs, 1)

    study = flat_study(load(name), boxes, rounds=10**8, seed=77)

    for box in boxes:
        assert study.box_edge(box).is_consistent_with(
            float(box_figures(load(name).box(box)).edge), 4.5
        ), box
    assert study.edge.is_consistent_with(float(study.mix.figures.edge), 4)
    assert 140 < study.chi_square < 310


def test_net_result_of_flat_bets_is_the_sum_over_all_rounds() -> None:
    study = flat_study(load(SIC_BO), {"big": 10, "total:10": 5}, rounds=1000, seed=1)
    rolls = [i for i, times in enumerate(study.roll_counts) for _ in range(times)]
    payoffs = load(SIC_BO).payoffs

    by_hand = sum(10 * payoffs["big"][i] + 5 * payoffs["total:10"][i] for i in rolls)

    assert study.net_result == by_hand
    assert study.edge.value == pytest.approx(-by_hand / 15 / 1000)
    assert "house edge" in study._repr_html_()


def test_flat_study_without_rounds_has_zero_figures() -> None:
    job = FlatJob(10, 1)
    study = FlatStudy(load(SIC_BO), {"big": 1}, job, job.empty_tally())

    assert (study.rounds, study.edge.value, study.chi_square) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("bets", "rounds", "kind", "message"),
    [
        ({"bog": 1}, 10, UnknownName, "no box"),
        ({}, 10, InvalidInput, "no stakes"),
        ({"big": 1}, 0, InvalidInput, "0 rounds"),
        ({"big": 1}, 10**19, InvalidInput, "10\\^18"),
    ],
)
def test_invalid_flat_study_is_refused(
    bets: dict[str, int], rounds: int, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        flat_study(load(SIC_BO), bets, rounds=rounds)


def test_flat_bets_on_a_gpu_are_refused() -> None:
    with pytest.raises(InvalidInput, match="need no GPU"):
        FlatJob(10, 1).play(0, 1, "gpu")
