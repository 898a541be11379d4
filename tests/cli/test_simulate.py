"""`threedice simulate`: bets, sessions, tables, output formats, interruption and errors."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from threading import main_thread
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from threedice.sim import jobs
from threedice.sim.jobs import SessionJob

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run
    from threedice.sim.jobs import Tally

GAME = "sg-rws-tai-sai-v6/a"
MONEY = ("--bankroll", "300", "--base", "10", "--maximum", "160", "--rounds", "50")
SESSIONS = ("--plan", "martingale", "--box", "big", *MONEY, "--sessions", "20000")
FLAT = ("--bet", "big=10", "--bet", "single:3=5", "--rounds", "10000000")
TABLE = (
    "--player", "ann bankroll=500 shooter=10 single:crown=5@martingale", "--player", "bob red=10",
    "--maximum", "200", "--rounds", "20", "--sessions", "2000",
)  # fmt: skip


def test_simulated_sessions_as_text_have_errors_and_intervals(run: Run) -> None:
    out = run("simulate", GAME, *SESSIONS).out

    assert out.startswith("Tai Sai, layout A")
    assert (
        "martingale on big: bankroll 300, base 10, stakes 1 to 160, 20,000 sessions of 50 rounds"
        in out
    )
    ruined = re.search(r"ruined +(\S+) +(\S+) +(\S+) +(\S+)", out)
    assert ruined
    value, error, low, high = (float(each) for each in ruined.groups())
    assert low < value < high
    assert error == pytest.approx((value * (1 - value) / 20_000) ** 0.5, abs=1e-6)
    assert "99.9%" in out
    assert "counted to one part" not in out


def test_simulated_sessions_as_json_have_every_count(run: Run) -> None:
    report = run("simulate", GAME, *SESSIONS, "--seed", "9", "--json").json

    assert (report["game"], report["plan"], report["seed"]) == (GAME, "martingale", 9)
    assert sum(count for _, _, count in report["final"]) == report["sessions"] == 20000
    assert report["ruin_by_round"][-1] == [50, report["ruin"]["value"]]
    assert report["fan"][0] == [0, *[300] * 7]
    assert sum(each["value"] for each in report["ends"].values()) == pytest.approx(1)
    assert report["edge"]["low"] - 0.02 < 1 / 36 < report["edge"]["high"] + 0.02


def test_number_of_threads_does_not_change_a_simulation(run: Run) -> None:
    one, three = (
        run("simulate", GAME, *SESSIONS, "--threads", each, "--json").out for each in ("1", "3")
    )

    assert one == three


def test_simulate_as_csv_lists_bankrolls_rolls_or_players(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("simulate", GAME, *SESSIONS, "--csv").out)))
    rolls = list(csv.DictReader(io.StringIO(run("simulate", GAME, *FLAT, "--csv").out)))
    players = list(csv.DictReader(io.StringIO(run("simulate", "triple-dice", *TABLE, "--csv").out)))

    assert sum(int(row["sessions"]) for row in rows) == 20000
    assert sum(int(row["times"]) for row in rolls) == 10**7
    assert [row["who"] for row in players] == ["ann", "bob", "house"]


def test_simulated_flat_bets_are_compared_with_the_exact_edge(run: Run) -> None:
    out = run("simulate", GAME, *FLAT).out
    report = run("simulate", GAME, *FLAT, "--json").json

    assert re.search(r"big +0\.02\d+ +0\.000\d+ .*0\.02777778", out)
    assert report["bets"]["big"]["exact"] == "1/36"
    assert report["rounds"] == sum(report["rolls"]) == 10**7


def test_simulated_table_shows_players_and_house(run: Run) -> None:
    out = run("simulate", "triple-dice", *TABLE).out
    report = run("simulate", "triple-dice", *TABLE, "--json").json

    assert [line for line in out.splitlines() if line in ("ann", "bob", "The house")]
    lost = -sum(each["net"]["value"] for each in report["players"].values())
    assert report["house"]["win"]["value"] == pytest.approx(lost)


def test_flat_bets_with_the_shooters_bet_are_simulated_as_a_table(run: Run) -> None:
    words = ("--bet", "shooter=10", "--bet", "red=5", "--rounds", "40", "--sessions", "500")

    report = run("simulate", "triple-dice", *words, "--json").json

    assert list(report["players"]) == ["player"]


def test_a_plan_on_a_mix_takes_its_base_from_the_bets(run: Run) -> None:
    words = ("--plan", "flat", "--bet", "big=6", "--bet", "total:10=3", "--bankroll", "90",
             "--rounds", "5", "--sessions", "100")  # fmt: skip

    report = run("simulate", GAME, *words, "--json").json

    assert (report["terms"]["base"], report["terms"]["step"]) == (9, 3)


def test_custom_plan_is_named_by_file_and_function(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my_plan.py"
    file.write_text(
        "def press_twice(due, presses, net, base, maximum):\n"
        "    if net <= 0 or presses == 2:\n"
        "        return base, 0\n"
        "    return min(2 * due, maximum), presses + 1\n"
    )
    words = ("--plan", f"{file}:press_twice", "--box", "big", *MONEY, "--sessions", "300")

    assert run("simulate", GAME, *words, "--json").json["sessions"] == 300
    broken = run("simulate", GAME, "--plan", f"{file}:press", *words[2:])
    assert (broken.code, len(broken.err.splitlines())) == (2, 1)
    assert "it has press_twice" in broken.err


@pytest.mark.parametrize(
    ("game", "words", "title"),
    [
        (GAME, SESSIONS, "Martingale on big, simulated"),
        (GAME, FLAT, "Flat bets, simulated"),
        ("triple-dice", TABLE, "A table, simulated"),
    ],
)
def test_simulation_page_is_written(
    run: Run, tmp_path: Path, game: str, words: tuple[str, ...], title: str
) -> None:
    file = tmp_path / "page.html"

    result = run("simulate", game, *words, "--html", str(file))

    page = file.read_text(encoding="utf-8")
    assert (result.code, result.out) == (0, f"wrote {file}\n")
    assert f"<h1>{title}</h1>" in page
    assert page.count("<svg") == {"M": 3, "F": 0, "A": 1}[title[0]]
    assert "Seed 1." in page


def test_interrupted_simulation_resumes_to_the_result_of_an_uninterrupted_one(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "so-far.json"
    words = ("simulate", GAME, "--plan", "martingale", "--box", "big", *MONEY,
             "--sessions", "400000000", "--threads", "1")  # fmt: skip
    command = [sys.executable, "-m", "threedice", *words, "--json", "--resume", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        while not file.exists() and running.poll() is None:
            os.sched_yield()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()

    assert running.returncode == 130, err
    assert '"sessions":' in out
    again = re.search(r"stopped with .*% done; resume with: threedice (.*)", err)
    assert again
    assert shlex.split(again[1])[-2:] == ["--resume", str(file)]
    done = int(re.search(r'"sessions":(\d+)', out)[1])  # type: ignore[index]
    more = str(done + 100_000)
    fewer = [more if word == "400000000" else word for word in shlex.split(again[1])]
    resumed = run(*fewer)
    assert resumed.code == 0, resumed.err
    whole = run(*(more if word == "400000000" else word for word in words), "--json")
    assert resumed.out == whole.out


def test_interrupted_simulation_is_shown_when_its_progress_cannot_be_saved(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    play = SessionJob.play

    def interrupt(self: SessionJob, first: int, count: int, device: str = "cpu") -> Tally:
        if first == 128:  # starts only after the first task is counted
            folder.rmdir()
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        return play(self, first, count, device)

    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(jobs, "ROUNDS_PER_TASK", 64 * 50)
    monkeypatch.setattr(SessionJob, "play", interrupt)
    result = run("simulate", GAME, *SESSIONS, "--threads", "1")

    assert result.code == 130
    assert "mean final bankroll" in result.out
    assert "it cannot be resumed: cannot write threedice-" in result.err


def test_history_of_flat_bets_has_the_totals_of_the_report(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rounds.parquet"

    report = run("simulate", GAME, *FLAT[:-1], "3000", "--parquet", str(file), "--json").json

    net = parquet.read_table(file)["net"].to_pylist()
    assert (len(net), str(sum(net))) == (3000, report["won"])


def test_history_of_sessions_has_the_totals_of_the_report(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "sessions.parquet"
    words = (*SESSIONS[:-1], "500", "--parquet", str(file), "--json")

    report = run("simulate", GAME, *words).json

    stakes = parquet.read_table(file)["stake"].to_pylist()
    assert sum(stakes) / 500 == pytest.approx(report["mean_staked"]["value"])
    assert len(stakes) / 500 == pytest.approx(report["mean_rounds"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*FLAT, "--resume", "x"), "--resume does not apply to a simulation with --parquet"),
        ((*FLAT, "--cluster", "x"), "--cluster does not apply to a simulation with --parquet"),
        ((*SESSIONS, "--device", "gpu"), "--device does not apply to a simulation with"),
        (TABLE, "leave --parquet out for a table"),
        (("--bet", "shooter=1", "--rounds", "9"), "leave --parquet out for a table"),
    ],
)
def test_history_that_cannot_be_written_is_refused(
    words: tuple[str, ...], message: str, run: Run, tmp_path: Path
) -> None:
    game = "triple-dice" if "leave" in message else GAME

    result = run("simulate", game, *words, "--parquet", str(tmp_path / "x"))

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert message in result.err


def test_history_does_not_replace_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").touch()

    result = run("simulate", GAME, *FLAT, "--parquet", str(tmp_path / "x"))

    assert result.code == 2
    assert "exists already; name a new one" in result.err


def test_simulate_shows_quantiles_of_large_bankrolls_as_ranges(run: Run) -> None:
    words = ("--plan", "flat", "--box", "big", "--bankroll", "1000001", "--base", "10", "--rounds",
             "20", "--maximum", "100000", "--sessions", "2000")  # fmt: skip
    out = run("simulate", GAME, *words).out
    report = run("simulate", GAME, *words, "--json").json

    median = re.search(r"50\.0% +([\d,]+) to ([\d,]+)", out)
    assert median
    low, high = (int(each.replace(",", "")) for each in median.groups())
    assert low < 1_000_001 < high + 40
    assert f"final bankrolls from {report['final_exact_below']:,} up are counted to one part" in out
    level = re.search(r"level +(\S+)", out)
    assert level
    assert float(level[1]) == report["level"]["value"] > 0.1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--bet", "big=10"), "--rounds"),
        (("--rounds", "10"), "nothing to simulate"),
        (("--bet", "bog=10", "--rounds", "10"), "no box"),
        (("--bet", "big=10", "--rounds", "0"), "0 rounds"),
        (("--bet", "big=10", "--rounds", "9", "--maximum", "5"), "does not apply to flat bets"),
        (("--plan", "martingale", *MONEY), "the box to bet on is missing"),
        (("--plan", "martingale", "--box", "big", "--bet", "big=5", *MONEY), "either --box"),
        (("--plan", "martingal", "--box", "big", *MONEY), "did you mean martingale"),
        (("--plan", "flat", "--box", "big", "--bankroll", "90", "--rounds", "9"), "--base"),
        (("--plan", "flat", "--box", "big", "--base", "5", "--rounds", "9"), "--bankroll"),
        ((*SESSIONS, "--minimum", "20"), "under the minimum"),
        ((*SESSIONS, "--maximum", "5"), "over the maximum"),
        ((*SESSIONS, "--seed", "-1"), "0 to 2^64"),
        ((*SESSIONS, "--threads", "0"), "0 threads"),
        ((*SESSIONS, "--device", "tpu"), "choose cpu or gpu"),
        ((*SESSIONS, "--device", "gpu"), "pip install 'threedice[gpu]'"),
        ((*SESSIONS, "--line", "1,x"), "is not an amount"),
        ((*SESSIONS, "--cluster", "tcp://x", "--threads", "2"), "leave one out"),
        ((*SESSIONS, "--json", "--csv"), "exclude each other"),
        (("--player", "big=10", "--rounds", "9"), "give a name first"),
        (("--player", "", "--rounds", "9"), "is not a player"),
        (("--player", "ann big", "--rounds", "9"), "is not a bet of ann"),
        (("--player", "ann big=5@martingal", "--rounds", "9"), "is not a plan"),
        (("--player", "ann big=5", "--bet", "big=5", "--rounds", "9"), "leave --bet out"),
        (("--player", "ann big=5@martingale", "--rounds", "9999"), "lower --maximum"),
        (
            ("--player", "ann big=5", "--bankroll", "90", "--rounds", "9"),
            "write it into a --player",
        ),
        ((*SESSIONS, "--differential", "50"), "give --player instead of --plan"),
        ((*SESSIONS, "--maximum", "0"), "over the maximum"),
        ((*SESSIONS, "--html", "nowhere/page.html"), "there is no folder nowhere"),
        ((*SESSIONS, "--html", "."), "it is a folder"),
        ((*SESSIONS, "--cluster", "nonsense"), "no Dask scheduler answers at 'nonsense'"),
    ],
)
def test_invalid_arguments_of_simulate_print_one_line_and_exit_with_2(
    words: tuple[str, ...], message: str, run: Run
) -> None:
    result = run("simulate", GAME, *words)

    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_resume_file_of_another_simulation_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "so-far.json"
    assert run("simulate", GAME, *SESSIONS, "--resume", str(file)).code == 0

    other = run("simulate", GAME, *SESSIONS, "--seed", "2", "--resume", str(file))
    same = run("simulate", GAME, *SESSIONS, "--resume", str(file), "--json")

    assert other.code == 2
    assert "belongs to another simulation" in other.err
    assert same.json["sessions"] == 20000
