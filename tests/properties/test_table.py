"""Invariants of every table: money, replay, refusals without effect, settlement by oracle."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.random_runs import (
    CHIP_GAMES,
    EQUIPMENT_GAMES,
    MODES,
    describe_counts,
    find_gaps,
    plan_chip_runs,
    plan_equipment_runs,
    plan_long_runs,
    write_fractional_game,
)
from tests.properties.random_table import GAMES_AND_READINGS, run_random_table
from threedice import load

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.table.limits import LimitMode

STEPS = int(os.environ.get("THREEDICE_STEPS", "30000"))
SEEN: Counter[str] = Counter()


@pytest.mark.no_cover  # other lines in each run
@given(
    st.sampled_from(GAMES_AND_READINGS),
    st.sampled_from(MODES),
    st.integers(0, 2**64),
    st.integers(1, 60),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
def test_invariants_hold_under_random_commands(
    game: tuple[str, dict[str, str]], mode: LimitMode, seed: int, steps: int
) -> None:
    run_random_table(load(*game), mode, seed, steps)


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "readings"), GAMES_AND_READINGS)
def test_invariants_hold_in_long_random_runs(
    name: str, readings: dict[str, str], mode: LimitMode
) -> None:
    for run in plan_long_runs(name, readings, mode, STEPS):
        SEEN.update(run.play())


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
def test_invariants_hold_in_long_random_runs_with_fractional_odds(
    tmp_path: Path, mode: LimitMode
) -> None:
    for run in plan_long_runs(write_fractional_game(tmp_path), {}, mode, STEPS):
        SEEN.update(run.play())


@pytest.mark.no_cover
@pytest.mark.clause("nz-tai-sai-2008 5.0", "nz-tai-sai-2008 7.4")
@pytest.mark.parametrize("name", EQUIPMENT_GAMES)
def test_no_round_starts_with_a_failed_check_or_bad_dice(name: str) -> None:
    """The invariants of a table include it; here most commands are about equipment."""
    for run in plan_equipment_runs(name, STEPS):
        SEEN.update(run.play())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CHIP_GAMES)
def test_every_kind_of_chip_is_conserved_at_tables_that_deal_in_chips(name: str) -> None:
    """The invariants of a table include it; these tables all deal in chips."""
    for run in plan_chip_runs(name, STEPS):
        SEEN.update(run.play())


def test_long_random_runs_cover_every_event_and_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the commands are accepted; every event and refusal occurs often enough."""
    if not SEEN:
        pytest.skip("the long runs did not run")
    with capsys.disabled():
        print(f"\n{describe_counts(SEEN)}")  # noqa: T201
    assert find_gaps(SEEN) == []
