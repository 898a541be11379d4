"""The evidence is a mixture of likelihood ratios with expectation one under fair dice, exactly.

The exact twin below computes the evidence in fractions from the definition of its components.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, factorial, log, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threedice.dice import FACES
from threedice.dice_monitor.mixture import (
    CONCENTRATIONS,
    TARGETS,
    WEIGHTS,
    Evidence,
    log_mean,
    log_target_ratios,
    opposite,
)

faces = st.lists(st.sampled_from(FACES), max_size=40).map(tuple)


def exact_evidence(seen: tuple[int, ...]) -> Fraction:
    """Return the evidence of some faces as a fraction, prediction by prediction."""
    learning = []
    for prior in CONCENTRATIONS:
        ratio = Fraction(1)
        for place, face in enumerate(seen):
            same = seen[:place].count(face)
            ratio *= 6 * Fraction(prior + same, 6 * prior + place)
        learning.append(ratio)
    targets = [prod((target[face - 1] for face in seen), start=Fraction(1)) for target in TARGETS]
    return sum(
        (weight * each for weight, each in zip(WEIGHTS, [*learning, *targets], strict=True)),
        Fraction(0),
    )


def exact_expectation(count: int) -> Fraction:
    """Return the expectation of the evidence after some faces of fair dice, over all of them."""
    total = Fraction(0)
    for seen in combinations_with_replacement(FACES, count):
        orders = factorial(count) // prod(map(factorial, Counter(seen).values()))
        total += Fraction(orders, 6**count) * exact_evidence(seen)
    return total


def test_weights_sum_to_one_half_on_each_kind() -> None:
    assert sum(WEIGHTS) == 1
    assert sum(WEIGHTS[: len(CONCENTRATIONS)]) == Fraction(1, 2)
    assert all(weight > 0 for weight in WEIGHTS)
    assert len(WEIGHTS) == 4 + 36


def test_every_target_is_a_die_with_one_face_too_frequent() -> None:
    assert len(set(TARGETS)) == 36
    for target in TARGETS:
        assert sum(target) == 6
        excess = max(target) - 1
        assert excess in (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
        assert sorted(target)[:5] in (
            [1 - excess / 5] * 5,
            [1 - excess, *[Fraction(1)] * 4],
        )


def test_loss_of_a_target_is_borne_by_all_others_or_by_the_opposite_face() -> None:
    opposite_losers = [target for target in TARGETS if min(target) == 2 - max(target)]

    assert len(opposite_losers) == 18
    for target in opposite_losers:
        assert target.index(min(target)) + 1 == opposite(target.index(max(target)) + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_expectation_under_fair_dice_is_exactly_one(count: int) -> None:
    assert exact_expectation(count) == 1


@given(faces)
def test_evidence_after_a_further_face_is_expected_to_be_that_before(seen: tuple[int, ...]) -> None:
    after = sum((exact_evidence((*seen, face)) for face in FACES), Fraction(0))

    assert after / 6 == exact_evidence(seen)


@given(faces)
def test_evidence_in_logs_equals_the_exact_evidence(seen: tuple[int, ...]) -> None:
    evidence = Evidence()
    for face in seen:
        evidence = evidence.add((face,))

    assert evidence.log_total == pytest.approx(log(exact_evidence(seen)), abs=1e-12)
    assert evidence.counts == tuple(seen.count(face) for face in FACES)


@given(faces)
def test_order_of_the_faces_does_not_matter(seen: tuple[int, ...]) -> None:
    assert Evidence().add(seen).log_total == pytest.approx(
        Evidence().add(tuple(sorted(seen))).log_total, abs=1e-12
    )


def test_evidence_of_a_long_life_does_not_overflow() -> None:
    evidence = Evidence()
    for _ in range(3000):
        evidence = evidence.add((6, 6, 6))

    assert evidence.log_total > log(10**308) * 5


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=9))
def test_log_mean_is_the_logarithm_of_the_mean(logs: list[float]) -> None:
    assert log_mean(logs) == pytest.approx(log(sum(map(exp, logs)) / len(logs)), abs=1e-9)


def test_target_ratios_multiply_over_the_faces_of_a_round() -> None:
    expected = [log(target[5] * target[5] * target[0]) for target in TARGETS]

    assert log_target_ratios((6, 6, 1)) == pytest.approx(expected)
