"""Sessions with a bankroll: exact odds by enumeration, float odds within their error."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.odds.enumerated_session import EnumeratedSession
from threedice import InvalidInput, Mix, UnknownName, load
from threedice.errors import MissingExtra
from threedice.money import MAX_AMOUNT
from threedice.odds import (
    PLANS,
    BettingSession,
    InfeasibleComputation,
    StakingPlan,
    over_rounds,
    round_distribution,
    spread,
)
from threedice.odds.sessions.markov_chain import enumerate_states
from threedice.odds.sessions.session import ENDINGS
from threedice.odds.sessions.session_odds import (
    MAX_EXACT_WORK,
    estimate_exact_work,
    quantiles,
    session_odds,
    start_calculation,
)

if TYPE_CHECKING:
    from pathlib import Path

GAME = load("sg-rws-tai-sai-v6/a")
SPREADS = {
    "even money": spread(GAME, {"big": 1}),
    "three tiers": spread(GAME, {"single:1": 1}),
    "a push": spread(GAME, {"big": 1, "small": 1}),
    "half lost": spread(GAME, {"big": 1, "total:10": 2}),
}
BIG = SPREADS["even money"]


def enumerated_session(session: BettingSession) -> EnumeratedSession:
    return EnumeratedSession(
        session.plan.name,
        session.spread.results,
        session.spread.step,
        session.plan.base,
        session.bankroll,
        session.rounds,
        session.minimum,
        session.plan.maximum,
        session.stop_loss,
        session.stop_win,
        session.plan.line,
    )


def check_against_enumeration(session: BettingSession) -> None:
    """Compare every figure of the exact odds with the enumeration of all paths."""
    outcomes = enumerated_session(session).outcomes()
    found = session_odds(session)
    final: dict[int, Fraction] = defaultdict(Fraction)
    for each, share in outcomes.items():
        final[each.left] += share

    assert found.method == "exact"
    assert dict(found.final_bankrolls) == final
    for ending in ENDINGS:
        by_round = [Fraction(0)] * (session.rounds + 1)
        for each, share in outcomes.items():
            if each.ending == ending:
                by_round[each.rounds] += share
        assert list(found.ending_probabilities[ending]) == by_round, ending
        assert found.chance(ending) == sum(by_round)
    assert found.mean_final == sum(each.left * share for each, share in outcomes.items())
    assert found.mean_rounds == sum(each.rounds * share for each, share in outcomes.items())
    start = session.bankroll
    assert found.ahead == sum(share for each, share in outcomes.items() if each.left > start)
    assert found.level == sum(share for each, share in outcomes.items() if each.left == start)


CASES: dict[str, dict[str, Any]] = {
    "roomy": {"bankroll": 600},
    "short of money": {"bankroll": 48, "minimum": 6},
    "a low maximum": {"bankroll": 300, "maximum": 50},
    "stops": {"bankroll": 200, "stop_loss": 84, "stop_win": 36},
    "over at once": {"bankroll": 13, "minimum": 12},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("plan", PLANS)
def test_exact_odds_equal_the_enumeration_of_all_paths(
    plan: str, name: str, case: dict[str, Any]
) -> None:
    rules = dict(case)
    rounds = {2: 8, 3: 6, 4: 5}[len(SPREADS[name].results)]
    session = BettingSession(
        SPREADS[name],
        StakingPlan(plan, 12, rules.pop("maximum", 500)),
        rounds=rounds,
        **rules,
    )
    check_against_enumeration(session)


@pytest.mark.parametrize("line", [(1,), (5, 1, 2), (1, 1)])
def test_labouchere_with_any_line_equals_the_enumeration(line: tuple[int, ...]) -> None:
    check_against_enumeration(BettingSession(BIG, StakingPlan("labouchere", 10, 400, line), 700, 9))


@pytest.mark.no_cover
def test_long_progressions_at_the_maximum_equal_the_enumeration() -> None:
    for plan in ("martingale", "grand-martingale", "dalembert", "fibonacci", "oscars-grind"):
        check_against_enumeration(BettingSession(BIG, StakingPlan(plan, 10, 70), 1000, 10))


def test_reference_martingale_has_the_published_ruin_and_mean() -> None:
    found = session_odds(BettingSession(BIG, StakingPlan("martingale", 10, 500), 1000, 200))

    assert f"{float(found.ruin):.15f}" == "0.469143625154827"
    assert f"{float(found.mean_final):.7f}" == "855.0484019"
    assert found.ruin_by_round()[-1] == found.ruin
    assert found.quantile(Fraction(1, 4)) == 0


@st.composite
def sessions(draw: st.DrawFn) -> BettingSession:
    chosen = SPREADS[draw(st.sampled_from(sorted(SPREADS)))]
    base = chosen.step * draw(st.integers(1, 5))
    bankroll = draw(st.integers(base, 40 * base))
    return BettingSession(
        chosen,
        StakingPlan(draw(st.sampled_from(PLANS)), base, base * draw(st.integers(1, 30))),
        bankroll,
        draw(st.integers(1, 9)),
        draw(st.integers(0, base)),
        draw(st.none() | st.integers(1, bankroll)),
        draw(st.none() | st.integers(1, 20 * base)),
    )


@settings(max_examples=60, deadline=None)
@given(sessions())
def test_session_probabilities_sum_to_one_and_bankrolls_are_not_negative(
    session: BettingSession,
) -> None:
    found = session_odds(session)

    assert sum(share for _, share in found.final_bankrolls) == 1
    assert sum(found.chance(each) for each in found.ending_probabilities) == 1
    assert min(left for left, _ in found.final_bankrolls) >= 0
    assert all(list(band) == sorted(band) for _, band in found.fan)
    assert found.fan[0] == (0, (session.bankroll,) * 7)
    assert found.fan[-1][0] == session.rounds


@settings(max_examples=60, deadline=None)
@given(sessions())
def test_float_session_odds_are_within_their_error(session: BettingSession) -> None:
    exact, found = session_odds(session, "exact"), session_odds(session, "float64")
    error = Fraction(found.error)

    assert 0 < error < 1e-11
    assert [left for left, _ in found.final_bankrolls] == [
        left for left, _ in exact.final_bankrolls
    ]
    pairs = [(found.mean_final, exact.mean_final), (found.mean_rounds, exact.mean_rounds)]
    pairs += [
        (mine, truth)
        for (_, mine), (_, truth) in zip(found.final_bankrolls, exact.final_bankrolls, strict=True)
    ]
    for ending in ENDINGS:
        pairs += zip(
            found.ending_probabilities[ending], exact.ending_probabilities[ending], strict=True
        )
    for mine, truth in pairs:
        assert abs(Fraction(mine) - Fraction(truth)) <= error * Fraction(truth)
    assert (found.fan[0], found.fan[-1][0]) == (exact.fan[0], exact.fan[-1][0])


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(SPREADS)), st.integers(1, 12))
def test_flat_session_without_stops_equals_the_distribution_over_rounds(
    name: str, rounds: int
) -> None:
    chosen = SPREADS[name]
    base = chosen.step * 2
    stakes = {
        box: share * base // sum(chosen.shares.values()) for box, share in chosen.shares.items()
    }
    bankroll = base * rounds
    found = session_odds(BettingSession(chosen, StakingPlan("flat", base), bankroll, rounds))
    whole = over_rounds(round_distribution(Mix(GAME, stakes)), rounds)

    assert {left - bankroll: share for left, share in found.final_bankrolls} == dict(
        whole.results()
    )


def test_partial_calculation_equals_a_shorter_session() -> None:
    session = BettingSession(BIG, StakingPlan("martingale", 10, 500), 300, 40)
    calculation = start_calculation(session)
    for _ in range(15):
        calculation.advance()
    shorter = session_odds(BettingSession(BIG, StakingPlan("martingale", 10, 500), 300, 15))

    assert calculation.odds().final_bankrolls == shorter.final_bankrolls
    assert calculation.odds().ruin == shorter.ruin


def test_fan_of_a_long_session_is_thinned() -> None:
    found = session_odds(BettingSession(BIG, StakingPlan("flat", 10), 50, 450))

    assert [when for when, _ in found.fan][:3] == [0, 3, 6]
    assert len(found.fan) <= 202
    assert found.fan[-1][0] == 450
    ruined = found.ending_probabilities["ruined"]
    assert found.mean_rounds_to_ruin == sum(
        when * share for when, share in enumerate(ruined)
    ) / sum(ruined)


def test_bankroll_above_the_largest_loss_has_no_ruin() -> None:
    found = session_odds(BettingSession(BIG, StakingPlan("flat", 10), 500, 10))

    assert found.ruin == 0
    assert found.mean_rounds_to_ruin is None


def test_quantiles_of_weighted_values() -> None:
    shares = (Fraction(1, 10), Fraction(1, 2), Fraction(1))

    assert quantiles({5: 1, 1: 1, 3: 8}, shares) == (1, 3, 5)
    assert quantiles({5: 0.1, 1: 0.1, 3: 0.8}, (*shares, Fraction(2)))[-1] == 5


def test_infeasible_number_of_states_is_refused_with_its_size() -> None:
    session = BettingSession(BIG, StakingPlan("labouchere", 10, 500), 2000, 200)
    with pytest.raises(
        InfeasibleComputation, match="labouchere has more than 5,000 states"
    ) as refused:
        enumerate_states(session, 5000)
    assert refused.value.size > 5000


def test_amount_of_work_selects_exact_or_float_calculation() -> None:
    short = BettingSession(BIG, StakingPlan("martingale", 10, 500), 1000, 200)
    states = enumerate_states(short)
    long = BettingSession(SPREADS["three tiers"], StakingPlan("flat", 10, 500), 20_000, 2000)

    assert estimate_exact_work(short, states) < MAX_EXACT_WORK
    assert states.estimate_exact_bytes(short) > 100 * len(states.bankrolls)
    assert start_calculation(short).method == "exact"
    assert start_calculation(long).method == "float64"


def test_float_session_without_numpy_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"float64 session needs .*threedice\[sim\]"):
        session_odds(BettingSession(BIG, StakingPlan("flat", 10), 100, 5), "float64")


def test_step_of_a_spread_makes_every_part_payable(tmp_path: Path) -> None:
    file = tmp_path / "commission.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "commission"\ntitle = "Commission"\n'
        '[pay_tables.main]\nrows.small.odds = "19 to 20"\n'
    )
    commission = load(f"{file}/main")
    mixed = spread(GAME, {"big": 2, "total:10": 4})
    taxed = spread(commission, {"small": 1})

    assert (BIG.step, str(BIG)) == (1, "big")
    assert (mixed.step, str(mixed)) == (3, "1 big + 2 total:10")
    assert sum(ways for _, ways in mixed.results) == mixed.total_ways
    assert (taxed.step, taxed.results) == (20, ((-20, 37), (19, 35)))
    assert spread(commission, {"small": 10, "big": 3}).step == 26
    assert spread(commission, {"small": 1, "big": 1}).step == 40
    check_against_enumeration(BettingSession(taxed, StakingPlan("martingale", 20, 200), 130, 7))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bankroll": 5}, "bring at least 6"),
        ({"bankroll": MAX_AMOUNT + 1}, "at most"),
        ({"rounds": 0}, "0 rounds"),
        ({"rounds": 100_001}, "100001 rounds"),
        ({"minimum": -1}, "a minimum of -1"),
        ({"minimum": 20}, "is under the minimum 20"),
        ({"stop_loss": 0}, "a stop-loss of 0"),
        ({"stop_loss": 101}, "from 1 to the bankroll of 100"),
        ({"stop_win": 0}, "a stop-win of 0"),
    ],
)
def test_invalid_session_is_refused(wrong: dict[str, Any], message: str) -> None:
    terms: dict[str, Any] = {"bankroll": 100, "rounds": 10, "minimum": 6, **wrong}
    with pytest.raises(InvalidInput, match=message):
        BettingSession(BIG, StakingPlan("flat", 12), **terms)


def test_base_stake_not_payable_at_the_odds_is_refused() -> None:
    with pytest.raises(InvalidInput, match="give a multiple of 3"):
        BettingSession(SPREADS["half lost"], StakingPlan("flat", 10), 100, 10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": 0}, "a base stake of 0"),
        ({"maximum": MAX_AMOUNT + 1}, "no stake is over"),
        ({"base": 60}, "the base stake 60 is over the maximum 50"),
        ({"line": ()}, "a line of 0 numbers"),
        ({"line": (1, 0)}, "whole numbers above zero"),
        ({"line": (1,) * 65}, "a line of 65 numbers"),
    ],
)
def test_invalid_plan_is_refused(wrong: dict[str, Any], message: str) -> None:
    terms: dict[str, Any] = {"name": "labouchere", "base": 10, "maximum": 50, **wrong}
    with pytest.raises(InvalidInput, match=message):
        StakingPlan(**terms)


def test_known_figures_of_simulated_sessions_override_binned_ones() -> None:
    exact = session_odds(BettingSession(BIG, StakingPlan("flat", 10), 100, 4))
    known: Any = {"final": 98.5, "rounds": 3.5, "ahead": 0.25, "level": 0.375}

    study = replace(exact, known_figures=known, upper_bounds={80: 95})

    assert (study.mean_final, study.mean_rounds, study.ahead, study.level) == tuple(known.values())
    assert study.format_quantile(Fraction(1, 4)) == "80 to 95"
    assert study.format_quantile(Fraction(1, 2)) == exact.format_quantile(Fraction(1, 2)) == "100"


def test_unknown_plan_is_refused_with_nearest_plan() -> None:
    with pytest.raises(UnknownName, match="did you mean martingale"):
        StakingPlan("martingal", 10)


def test_labouchere_line_that_grows_too_long_starts_again() -> None:
    plan = StakingPlan("labouchere", 1, 10**6, (1,) * 64)
    state = plan.initial_state()

    assert plan.next_state(state, 2, -2) == state
    assert len(plan.next_state(state, 2, 2)) == 1 + 62
