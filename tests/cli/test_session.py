"""`threedice session`: its figures, output formats, fallback to simulation and errors."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import sys
from fractions import Fraction
from threading import main_thread
from typing import TYPE_CHECKING

import pytest

from threedice.cli import arguments
from threedice.odds.sessions.session_odds import SessionCalculation
from threedice.sim import jobs
from threedice.sim.jobs import SessionJob

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run
    from threedice.sim.jobs import Tally

GAME = "sg-rws-tai-sai-v6/a"
MONEY = ("--bankroll", "1000", "--base", "10", "--maximum", "500")
REFERENCE = ("--plan", "martingale", "--box", "big", *MONEY, "--rounds", "200")
SHORT = ("--plan", "martingale", "--box", "big", *MONEY, "--rounds", "20")


def test_session_as_text_shows_the_reference_figures_to_all_digits(run: Run) -> None:
    out = run("session", GAME, *REFERENCE).out

    assert "risk of ruin                     0.469143625154827" in out
    assert "mean final bankroll                    855.0484019" in out
    assert "nothing is simulated" in out


def test_session_as_json_is_exact(run: Run) -> None:
    report = run("session", GAME, *REFERENCE, "--json").json

    assert report["method"] == "exact"
    assert report["error"] == 0
    assert Fraction(report["ruin"]["exact"]).denominator > 10**100
    assert report["ruin"]["value"] == pytest.approx(0.469143625154827, abs=1e-15)
    assert sum(Fraction(each["exact"]) for each in report["final"]) == 1
    assert sum(Fraction(each["exact"]) for each in report["endings"].values()) == 1
    assert len(report["by_round"]["ruined"]) == 201
    assert report["fan"]["rounds"][0] == {"round": 0, "bankroll": [1000] * 7}


def test_session_as_csv_has_a_row_for_every_round(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("session", GAME, *REFERENCE, "--csv").out)))

    assert len(rows) == 201
    assert sum(float(row["ruined"]) for row in rows) == pytest.approx(0.469143625154827)
    assert rows[200]["bankroll_50"] == "690"


def test_session_page_is_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert run("session", GAME, *SHORT, "--html", str(file)).code == 0
    assert "Martingale on big" in file.read_text(encoding="utf-8")


def test_float64_session_reports_its_error_bound(run: Run) -> None:
    report = run("session", GAME, *REFERENCE, "--method", "float64", "--json").json

    assert report["method"] == "float64"
    assert 0 < report["error"] < 1e-10
    assert report["ruin"]["value"] == pytest.approx(0.469143625154827, abs=1e-12)


def test_session_on_several_boxes_divides_each_stake(run: Run) -> None:
    report = run(
        "session", GAME, "--plan", "flat", "--box", "big=2", "--box", "total:10=1",
        "--bankroll", "90", "--base", "9", "--rounds", "5", "--json",
    ).json  # fmt: skip

    assert report["on"] == {"big": 2, "total:10": 1}
    assert report["minimum"] == 3


def test_labouchere_session_accepts_a_line(run: Run) -> None:
    words = ("--plan", "labouchere", "--box", "big", *MONEY, "--rounds", "6", "--line", "1,1")

    assert run("session", GAME, *words, "--json").json["line"] == [1, 1]
    assert "line 1,1" in run("session", GAME, *words).out


def test_session_that_cannot_be_ruined_reports_never(run: Run) -> None:
    words = ("--plan", "flat", "--box", "big", *MONEY, "--rounds", "5")

    assert re.search("rounds to ruin, of the ruined +never", run("session", GAME, *words).out)
    assert run("session", GAME, *words, "--json").json["mean_rounds_to_ruin"] is None


def test_session_with_too_many_states_is_simulated_with_confidence_intervals(run: Run) -> None:
    few = ("--states", "50")
    result = run("session", GAME, *SHORT, *few, "--sessions", "20000", "--json")
    exact = run("session", GAME, *SHORT, *few, "--method", "exact")

    assert "martingale has more than 50 states" in result.err
    assert "simulating 20,000 sessions instead" in result.err
    report = result.json
    assert (report["method"], report["sessions"]) == ("simulated", 20000)
    low, high = report["intervals_95"]["mean_final"]
    assert report["mean_final"]["value"] == pytest.approx((low + high) / 2)
    assert sum(each["value"] for each in report["endings"].values()) == pytest.approx(1)
    assert exact.code == 2
    assert "play fewer rounds" in exact.err


def test_simulated_session_agrees_with_the_exact_one(run: Run, tmp_path: Path) -> None:
    words = (*SHORT, "--method", "simulate", "--sessions", "50000", "--seed", "5")
    report = run("session", GAME, *words, "--json").json
    truth = run("session", GAME, *SHORT, "--json").json

    low, high = report["intervals_95"]["ruin"]
    assert low - 0.01 < truth["ruin"]["value"] < high + 0.01
    assert report["mean_rounds"]["value"] == pytest.approx(truth["mean_rounds"]["value"], rel=0.02)
    assert "50,000 sessions were simulated" in run("session", GAME, *words).out
    file = tmp_path / "page.html"
    assert run("session", GAME, *words, "--html", str(file)).code == 0


def test_simulated_session_without_the_sim_extra_names_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.startswith("threedice.sim")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)
    result = run("session", GAME, *SHORT, "--method", "simulate")

    assert result.code == 2
    assert "threedice[sim]" in result.err


def test_interrupted_session_shows_the_rounds_done(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    advance = SessionCalculation.advance

    def interrupt(self: SessionCalculation) -> None:
        if self.rounds == 11:
            signal.raise_signal(signal.SIGINT)
        advance(self)

    monkeypatch.setattr(SessionCalculation, "advance", interrupt)
    result = run("session", GAME, *SHORT, "--json")
    file = tmp_path / "page.html"
    run("session", GAME, *SHORT, "--html", str(file))

    assert "stopped: these are the first 12 of 20 rounds" in result.err
    assert result.json["rounds_done"] == 12
    assert "the first 12 of 20 rounds" in file.read_text(encoding="utf-8")


def test_session_that_needs_more_memory_than_available_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "available_memory_bytes", lambda: 1024)

    assert "use --method simulate" in run("session", GAME, *SHORT).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plan", "martingal", "--box", "big", *MONEY, "--rounds", "5"), "did you mean marting"),
        (("--plan", "flat", "--box", "bag", *MONEY, "--rounds", "5"), "did you mean big"),
        ((*SHORT, "--minimum", "20"), "is under the minimum 20"),
        ((*SHORT, "--stop-loss", "2000"), "a stop-loss of 2000"),
        ((*SHORT, "--line", "1,2"), "--line is for the labouchere"),
        ((*SHORT, "--method", "guess"), "'guess' is not a method"),
        (
            ("--plan", "labouchere", "--box", "big", *MONEY, "--rounds", "5", "--line", "1,x"),
            "'1,x' is not a line",
        ),
        (
            ("--plan", "flat", "--box", "big=2", "--box", "total:10=1", *MONEY, "--rounds", "5"),
            "give a multiple of 3",
        ),
    ],
)
def test_invalid_arguments_of_session_print_one_line_and_exit_with_2(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    result = run("session", GAME, *words)

    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_simulated_session_without_a_maximum_reports_the_maximum_it_assumed(
    run: Run,
) -> None:
    words = ("--plan", "labouchere", "--box", "big", "--bankroll", "300", "--base", "10")
    exact = run("session", GAME, *words, "--rounds", "12", "--json").json
    simulated = (*words, "--rounds", "12", "--method", "simulate", "--sessions", "40000")
    report = run("session", GAME, *simulated, "--json").json

    for each in ("ahead", "level"):
        assert report[each]["value"] == pytest.approx(exact[each]["value"], abs=0.009)
    median = next(each for each in report["quantiles"] if each["share"] == "1/2")
    assert median["bankroll"] == median["up_to"]
    assert report["maximum"] < exact["maximum"]
    assert f"from 1 to {report['maximum']:,}" in run("session", GAME, *simulated).out


def test_simulated_session_shows_quantiles_of_large_bankrolls_as_ranges(run: Run) -> None:
    words = ("--plan", "flat", "--box", "big", "--bankroll", "1000001", "--base", "10", "--rounds",
             "20", "--maximum", "100000", "--method", "simulate", "--sessions", "2000")  # fmt: skip

    assert re.search(r"50 % +[\d,]+ to [\d,]+\n", run("session", GAME, *words).out)


def test_interrupted_simulated_session_shows_the_sessions_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = SessionJob.play

    def interrupt(self: SessionJob, first: int, count: int, device: str = "cpu") -> Tally:
        if first == stop:
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        return play(self, first, count, device)

    monkeypatch.setattr(jobs, "ROUNDS_PER_TASK", 64 * 20)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(SessionJob, "play", interrupt)
    words = (*SHORT, "--method", "simulate", "--sessions", "100000", "--json")
    stop = 6400
    result = run("session", GAME, *words)
    stop = 0
    at_once = run("session", GAME, *words)

    assert "of 100,000 sessions" in result.err
    assert 0 < result.json["sessions"] < 100_000
    assert "stopped before the end" in at_once.err


def test_mean_of_large_simulated_bankrolls_is_not_biased_by_binning(run: Run) -> None:
    words = ("--plan", "labouchere", "--box", "big", "--bankroll", "1000000", "--base", "10")
    simulated = ("--rounds", "300", "--method", "simulate", "--sessions", "2000", "--json")
    report = run("session", GAME, *words, *simulated).json

    low, high = report["intervals_95"]["mean_final"]
    assert report["mean_final"]["value"] == pytest.approx((low + high) / 2)
