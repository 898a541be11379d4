"""`threedice shift`: fixed layouts, crowds, limits, output formats and errors."""

from __future__ import annotations

import csv
import io
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from threedice import load
from threedice.cli import shift
from threedice.odds import FixedLayout, LayoutLimits, RandomLayout, WeightedBet, forecast_period

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

GAME = "sg-rws-tai-sai-v6/a"
FIXED = ("--bet", "big=500", "--bet", "small=200")
TIMES = ("--rounds-per-hour", "20", "--hours", "2", "--shifts", "3")
CROWD = (
    "--bets", "3", "--box", "big=2", "--box", "small", "--stake", "25=3", "--stake", "100",
    "--idle", "1", "--minimum", "25",
)  # fmt: skip


def test_shift_with_a_fixed_layout_forecasts_hour_shift_and_year(run: Run) -> None:
    report = run("shift", GAME, *FIXED, *TIMES, "--json").json
    exact = forecast_period(FixedLayout(load(GAME), {"big": 500, "small": 200}), "shift", 40)

    assert [each["rounds"] for each in report["periods"]] == [20, 40, 120]
    found = report["periods"][1]
    assert Fraction(found["mean"]["exact"]) == exact.win.mean
    assert Fraction(found["losing"]["exact"]) == exact.loss_probability
    assert Fraction(found["quantiles"][0]["win"]) == exact.win.worst_1_in_1000
    assert found["quantiles"][0]["hold"] == pytest.approx(float(exact.win.worst_1_in_1000 / 28000))


def test_shift_with_a_crowd_draws_boxes_and_stakes_by_weight(run: Run) -> None:
    report = run("shift", GAME, *CROWD, *TIMES, "--json").json
    habits = (
        WeightedBet("big", 25, 6),
        WeightedBet("big", 100, 2),
        WeightedBet("small", 25, 3),
        WeightedBet("small", 100, 1),
    )
    exact = forecast_period(RandomLayout(load(GAME), 3, habits, LayoutLimits(25), 4), "hour", 20)

    found = report["periods"][0]
    assert Fraction(found["mean"]["exact"]) == exact.win.mean
    assert Fraction(found["turnover"]["exact"]) == exact.turnover
    assert Fraction(found["losing"]["exact"]) == exact.loss_probability


def test_shift_as_text_compares_differentials_and_finds_a_maximum(run: Run) -> None:
    out = run(
        "shift", GAME, *FIXED, *TIMES, "--differential", "200", "--compare-differential", "100",
        "--loss", "3000", "--chance", "5%", "--drop", "5000",
    ).out  # fmt: skip

    assert "In every round 400 on big, 200 on small" in out
    assert "Effect of a differential on a shift" in out
    assert "expected hold of drop" in out
    assert "A table maximum of" in out or "No table maximum" in out


def test_shift_as_json_has_the_safe_maximum_and_the_next_one_up(run: Run) -> None:
    words = (*FIXED, *TIMES, "--loss", "2000", "--chance", "1/100")
    report = run("shift", GAME, *words, "--json").json["safe_maximum"]

    assert Fraction(report["chance"]["exact"]) <= Fraction(1, 100)
    assert Fraction(report["next_chance"]["exact"]) > Fraction(1, 100)
    assert report["maximum"] % 100 == 0
    assert "The next one up makes it" in run("shift", GAME, *words).out


def test_unavoidable_loss_has_no_safe_maximum(run: Run) -> None:
    words = ("--bet", "big=500", *TIMES, "--loss", "0", "--chance", "1/1000000")

    assert "No table maximum keeps" in run("shift", GAME, *words).out
    assert run("shift", GAME, *words, "--json").json["safe_maximum"]["maximum"] is None


def test_impossible_loss_needs_no_maximum(run: Run) -> None:
    assert (
        "A higher one changes nothing"
        in run("shift", GAME, *FIXED, *TIMES, "--loss", "1000000").out
    )


def test_shift_as_csv_has_a_column_for_each_period(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("shift", GAME, *FIXED, *TIMES, "--csv").out)))
    by_name = {row["figure"]: row for row in rows}

    assert by_name["rounds"] == {"figure": "rounds", "hour": "20", "shift": "40", "year": "120"}
    assert float(by_name["hold"]["year"]) == pytest.approx(1 / 36)


def test_shift_page_is_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    words = ("--compare-differential", "100", "--loss", "3000", "--html", str(file))
    run("shift", GAME, *FIXED, *TIMES, *words)
    html = file.read_text(encoding="utf-8")

    assert "Effect of a differential on a shift" in html
    assert "A safe maximum" in html


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        ((), 3),
        (("--compare-differential", "100", "--compare-differential", "50"), 6),
        (("--compare-differential", "100", "--loss", "3000"), 6),
    ],
)
def test_shift_progress_ends_at_the_number_of_steps(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], steps: int
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = run("shift", GAME, *FIXED, *TIMES, *words).err

    done = [(int(step), int(total)) for step, total in re.findall(r"(\d+)/(\d+)", shown)]
    assert max(done) == (steps, steps)


def test_interrupted_shift_shows_the_periods_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_after(most: int) -> Any:
        def forecast(layout: Any, name: str, rounds: int) -> Any:
            if rounds > most:
                raise KeyboardInterrupt
            return forecast_period(layout, name, rounds)

        return forecast

    monkeypatch.setattr(shift, "forecast_period", interrupted_after(20))
    result = run("shift", GAME, *FIXED, *TIMES, "--json")
    assert "stopped: 1 of 3 periods are computed" in result.err
    assert [each["period"] for each in result.json["periods"]] == ["hour"]
    assert "hold of drop" in run("shift", GAME, *FIXED, *TIMES, "--drop", "5000").out

    monkeypatch.setattr(shift, "forecast_period", interrupted_after(0))
    assert run("shift", GAME, *FIXED, *TIMES, "--drop", "50").out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no bets given"),
        (("--bets", "3"), "no bets given"),
        ((*FIXED, "--bets", "3"), "leave --bets, --box and --stake out"),
        ((*FIXED, "--hours", "0"), "at least one each"),
        ((*FIXED, "--minimum", "50", "--maximum", "20"), "is under the minimum 50"),
        ((*CROWD, "--stake", "x=1"), "'x' is not an amount"),
        ((*FIXED, "--loss", "-5"), "a loss of -5"),
    ],
)
def test_invalid_arguments_of_shift_print_one_line_and_exit_with_2(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    result = run("shift", GAME, *words)

    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_differential_needs_opposite_boxes(run: Run) -> None:
    result = run("shift", "nz-tai-sai-2008/1", *FIXED, "--differential", "100")

    assert "no boxes under a differential" in result.err
