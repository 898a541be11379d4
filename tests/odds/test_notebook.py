"""HTML of results in a notebook."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from threedice import Mix, load, odds_sheet
from threedice.notebook import html_bars, html_table
from threedice.odds import (
    BettingSession,
    FixedLayout,
    StakingPlan,
    forecast_period,
    long_run,
    round_distribution,
    session_odds,
    spread,
)

GAME = load("sg-rws-tai-sai-v6/a")
ROUND = round_distribution(Mix(GAME, {"big": 50}))
SHOWN: dict[str, tuple[Any, str]] = {
    "a mix": (
        Mix(GAME, {"big": 50, "total:10": 20}),
        "<td style='text-align:right;padding:1px 10px'>1/18</td>",
    ),
    "one round": (ROUND, "35/72"),
    "a sheet": (odds_sheet(GAME), "1/36"),
    "counted": (long_run(ROUND, 10), "net result of 10 rounds, exact"),
    "approximate": (long_run(ROUND, 10, "float64"), "net result of 10 rounds, within"),
    "a session": (
        session_odds(BettingSession(spread(GAME, {"big": 1}), StakingPlan("flat", 10), 50, 20)),
        "flat on big, 20 rounds, exact",
    ),
    "a shift": (
        forecast_period(FixedLayout(GAME, {"big": 50}), "hour", 30),
        "win of one hour, 30 rounds",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_result_renders_as_html(name: str) -> None:
    result, words = SHOWN[name]
    html = result._repr_html_()

    assert html.startswith("<table>")
    assert words in html
    assert ("<svg" in html) == (name != "a sheet")


def test_html_escapes_titles_and_cells() -> None:
    sly = odds_sheet(replace(GAME, title="<b>Sly</b>"))

    assert "&lt;b&gt;Sly" in sly._repr_html_()
    assert html_table("a", [("<i>",)], ("<u>",)).count("<i>") == 0
    assert "&lt;u&gt;" in html_table("a", [], ("<u>",))


def test_bars_colour_losses_and_gains_differently() -> None:
    drawn = html_bars([(-2.0, 0.25), (0.0, 0.5), (2.0, 0.25)], 4)

    assert (drawn.count("#d88a74"), drawn.count("#8fb8a0")) == (1, 2)
    assert html_bars([(3.0, 1.0)]).count("<rect") == 1
