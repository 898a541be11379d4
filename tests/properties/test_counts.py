"""Counted shifts: the two wins agree, and a chip that is missing is found where it went missing.

The long form is `python -m tests.properties.count_campaign`, which `make soak` runs.
"""

from __future__ import annotations

import pytest

from tests.properties.count_campaign import play_clean_shifts, play_planted_chip


@pytest.mark.no_cover
def test_win_by_count_equals_win_by_log_in_clean_shifts() -> None:
    assert play_clean_shifts(24) >= 24


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(6))
def test_a_planted_chip_is_found_at_its_table_in_its_shift_and_denomination(seed: int) -> None:
    play_planted_chip(seed)
