"""Invariants of every table: money, replay, refusals without effect, settlement by oracle."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.random_table import GAMES_AND_READINGS, run_random_table
from threedice import load
from threedice.table import events
from threedice.table.rules import TABLE_REFUSAL_TEXTS

if TYPE_CHECKING:
    from pathlib import Path

    from threedice import Game
    from threedice.table.limits import LimitMode

FRACTIONAL = """
extends = "macau-sic-bo"
id = "fractional"
title = "Fractional"
[pay_tables.main.rows]
small.odds = "19 to 20"
big.odds = "11 to 10"
"""
STEPS = int(os.environ.get("THREEDICE_STEPS", "30000"))
SEEN: Counter[str] = Counter()
EVENTS = {event.__name__ for event in events.AnyEvent.__args__}
RUN = 400
"""Steps to a table: long enough for a dozen rounds, short enough to read."""


@given(
    st.sampled_from(GAMES_AND_READINGS),
    st.sampled_from(["refuse", "record"]),
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


@pytest.mark.parametrize("mode", ["refuse", "record"])
@pytest.mark.parametrize(("name", "readings"), GAMES_AND_READINGS)
def test_invariants_hold_in_long_random_runs(
    name: str, readings: dict[str, str], mode: LimitMode
) -> None:
    play_long_runs(load(name, readings), mode)


@pytest.mark.parametrize("mode", ["refuse", "record"])
def test_invariants_hold_in_long_random_runs_with_fractional_odds(
    tmp_path: Path, mode: LimitMode
) -> None:
    file = tmp_path / "fractional.toml"
    file.write_text(FRACTIONAL, encoding="utf-8")
    play_long_runs(load(f"{file}/main"), mode)


def play_long_runs(game: Game, mode: LimitMode) -> None:
    """Play a table for many rounds; the games with the rarest events for many more."""
    tables = STEPS // (len(GAMES_AND_READINGS) * 2 * RUN)
    rare = 6 if game.facts.shooter else 4 if "non-value" in game.facts.chips.kinds else 1
    rare = 2 if game.unit > 1 else rare
    for seed in range(tables * rare or 1):
        SEEN.update(run_random_table(game, mode, seed, RUN).counts)


def test_long_random_runs_cover_every_event_and_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the commands are accepted; every event and refusal occurs often enough."""
    if not SEEN:
        pytest.skip("the long runs did not run")
    with capsys.disabled():
        asked, accepted = SEEN["accepted"] + SEEN["refused"], SEEN["accepted"]
        print(f"\n{asked} commands, {accepted} accepted")  # noqa: T201
        for kind in (sorted(EVENTS), sorted(TABLE_REFUSAL_TEXTS)):
            print(", ".join(f"{name} {SEEN[name]}" for name in kind))  # noqa: T201
    enough = min(100, asked // 4_000)
    assert accepted * 2 >= asked
    assert {name for name in {*EVENTS, *TABLE_REFUSAL_TEXTS} if SEEN[name] < enough} == set()
