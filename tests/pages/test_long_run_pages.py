"""Pages of distributions, sessions and shifts."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from tests.pages.test_odds_page import BalanceChecker, drawings
from threedice import Mix, load
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
from threedice.odds.sessions.session_odds import start_calculation
from threedice.pages.charts import Scale, curve_chart, distribution_chart, fan_chart
from threedice.pages.distribution import distribution_page
from threedice.pages.numbers import format_amount, format_chance
from threedice.pages.session import describe_session, session_page
from threedice.pages.shift import ShiftForecast, shift_page

GAME = load("sg-rws-tai-sai-v6/a")
BETS = Mix(GAME, {"big": 50, "total:10": 20})
SESSION = BettingSession(
    spread(GAME, {"big": 1}), StakingPlan("martingale", 10, 500), 1000, 60, 10, 700, 300
)
LAYOUT = FixedLayout(GAME, {"big": 500, "small": 200})
REPORT = ShiftForecast(
    GAME,
    "Some <chips>.",
    [forecast_period(LAYOUT, each, n) for each, n in (("hour", 20), ("shift", 40))],
)
PAGES = {
    "counted": distribution_page(BETS, long_run(round_distribution(BETS), 100)),
    "approximate": distribution_page(BETS, long_run(round_distribution(BETS), 50_000, "float64")),
    "session": session_page(session_odds(SESSION)),
    "float session": session_page(session_odds(SESSION, "float64")),
    "shift": shift_page(REPORT),
}


@pytest.mark.parametrize("name", PAGES)
def test_long_run_page_is_well_formed_and_self_contained(name: str) -> None:
    balance = BalanceChecker()
    balance.feed(PAGES[name])

    assert balance.open == []
    assert not re.search(r"<(script|link|img|iframe)|url\(|@import|\bsrc=|\bhref=", PAGES[name])
    assert len(list(drawings(PAGES[name]))) >= 1
    assert GAME.hash in PAGES[name]


def test_titles_of_the_bars_of_a_distribution_sum_to_100_percent() -> None:
    (drawing,) = drawings(PAGES["counted"])
    titles = [each.text or "" for each in drawing.iter("{http://www.w3.org/2000/svg}title")][1:]
    shares = [float(each.rpartition(":")[2].removesuffix(" %")) for each in titles]

    assert sum(shares) == pytest.approx(100, abs=0.1)
    assert len(shares) <= 96


def test_session_page_states_its_terms_and_its_method() -> None:
    html = PAGES["session"]

    assert (
        "at the table from 10 to 500; leaves after a loss of 700; leaves after a win of 300" in html
    )
    assert "nothing is simulated" in html
    assert "from 10 up;" in describe_session(replace(SESSION, plan=StakingPlan("flat", 10)))
    assert format_chance(session_odds(SESSION).ruin) in html
    assert "in float64. Each is within" in PAGES["float session"]


def test_page_of_an_interrupted_session_states_the_rounds_done() -> None:
    calculation = start_calculation(SESSION)
    for _ in range(9):
        calculation.advance()

    assert "the first 9 of 60 rounds" in session_page(calculation.odds())
    assert "Stopped on request" not in PAGES["session"]


def test_shift_page_escapes_its_assumptions() -> None:
    assert "Some &lt;chips&gt;." in PAGES["shift"]
    assert "A safe maximum" not in PAGES["shift"]


def test_title_of_a_game_is_escaped() -> None:
    sly = replace(GAME, title="<b>Sly</b>")
    html = distribution_page(Mix(sly, {"big": 5}), long_run(round_distribution(BETS), 3))

    assert "&lt;b&gt;Sly" in html
    assert "<b>Sly" not in html


def test_ticks_are_round_numbers_within_the_scale() -> None:
    assert Scale(0, 200, 0, 1).ticks(6) == [0, 50, 100, 150, 200]
    assert Scale(-3, 3, 0, 1).ticks(6) == [-3, -2, -1, 0, 1, 2, 3]
    assert Scale(5, 5, 0, 100).at(5) == 0
    assert Scale(5, 5, 0, 100).ticks(6) == [5]


def test_marks_outside_a_chart_are_omitted() -> None:
    inside = distribution_chart([(-1.0, 0.5), (1.0, 0.5)], [("here", 0.0)], "t", "u")
    outside = distribution_chart([(-1.0, 0.5), (1.0, 0.5)], [("there", 9.0)], "t", "u")

    assert "here" in inside
    assert "there" not in outside


def test_charts_of_one_or_two_points_are_valid_svg() -> None:
    for drawing in (
        distribution_chart([(0.0, 1.0)], [], "t", "u"),
        fan_chart([(0, [5.0] * 7), (1, [0.0] * 7)], 5, "t", "u"),
        curve_chart([0.0], "t", "u"),
    ):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")


def test_small_probabilities_are_formatted_as_one_in_n() -> None:
    assert format_chance(Fraction(1, 5000)) == "1 in 5,000"
    assert format_chance(Fraction(1, 10**12)) == "1e-12"
    assert format_chance(Fraction(1, 10**400)) == "0"
    assert format_amount(Fraction(-5, 2)) == "−2.50"
