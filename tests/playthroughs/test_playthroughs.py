"""Every rulebook has playthroughs that match their golden files."""

from __future__ import annotations

import pytest

from tests.playthroughs.regenerate import HERE, playthrough
from threedice.cases import read_cases, run_case
from threedice.rulebook.source import shipped_ids


@pytest.mark.parametrize("book", shipped_ids())
def test_rulebook_has_playthroughs_of_a_normal_round_a_void_round_and_an_irregularity(
    book: str,
) -> None:
    cases = read_cases(HERE / f"{book}.toml")
    outcomes = [run_case(case) for case in cases]

    assert [outcome.differences for outcome in outcomes] == [[]] * 3
    assert all(case.game.startswith(f"{book}/") for case in cases)
    kinds = [{type(event).__name__ for event in outcome.events} for outcome in outcomes]
    assert "WinnersPaid" in kinds[0]
    assert "RoundVoided" in kinds[1]


@pytest.mark.parametrize("book", shipped_ids())
def test_playthrough_matches_its_golden_file(book: str) -> None:
    golden = (HERE / f"{book}.txt").read_text(encoding="utf-8")

    assert playthrough(HERE / f"{book}.toml") == golden, "look, then run `make playthroughs`"
