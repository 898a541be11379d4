"""`threedice distribution`: the same answers in every form, and clear words for what cannot be."""

from __future__ import annotations

import csv
import io
import signal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from threedice import Mix, load
from threedice.cli import arguments, distribution
from threedice.cli.output import exact_text, progress_bar
from threedice.errors import InvalidInput
from threedice.odds import over_rounds, round_distribution
from threedice.odds.convolution import power_coefficients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

GAME = "sg-rws-tai-sai-v6/a"
BETS = ("--bet", "big=50", "--bet", "total:10=20")
EXACT = over_rounds(round_distribution(Mix(load(GAME), {"big": 50, "total:10": 20})), 30)


def test_text_tells_method_probabilities_and_quantiles(run: Run) -> None:
    result = run("distribution", GAME, *BETS, "--rounds", "30", "--at-least", "100")

    assert result.code == 0
    assert "exact: all 211 results counted, out of 72^30" in result.out
    assert f"{float(EXACT.ahead):.15g}" in result.out
    assert f"{float(EXACT.at_least(100)):.15g}" in result.out
    assert "once in a thousand times the net is" in result.out


def test_json_carries_exact_fractions_beside_floats(run: Run) -> None:
    told = run("distribution", GAME, *BETS, "--rounds", "30", "--json", "--quantile", "5%").json

    assert (told["method"], told["error"]) == ("exact", 0)
    assert Fraction(told["ahead"]["exact"]) == EXACT.ahead
    assert told["ahead"]["value"] == float(EXACT.ahead)
    assert Fraction(told["mean"]["exact"]) == EXACT.mean
    assert told["quantiles"] == [{"share": "1/20", "net": str(EXACT.quantile(Fraction(1, 20)))}]
    counts = {each["net"]: int(each["count"]) for each in told["results"]}
    assert sum(counts.values()) == int(told["of"]) == EXACT.total
    assert {Fraction(net): Fraction(n, EXACT.total) for net, n in counts.items()} == dict(
        EXACT.results()
    )


def test_csv_has_a_line_for_every_result(run: Run) -> None:
    out = run("distribution", GAME, *BETS, "--rounds", "30", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))

    assert [Fraction(row["net"]) for row in rows] == [net for net, _ in EXACT.results()]
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1)


def test_a_page_is_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    result = run("distribution", GAME, *BETS, "--rounds", "30", "--html", str(file))

    assert result.out == f"wrote {file}\n"
    assert "30 rounds of 70" in file.read_text(encoding="utf-8")


def test_streaming_answers_single_questions(run: Run) -> None:
    asked = ("--method", "streaming", "--at-least", "0", "--quantile", "1/1000")
    text = run("distribution", GAME, *BETS, "--rounds", "30", *asked).out
    told = run("distribution", GAME, *BETS, "--rounds", "30", *asked, "--json").json

    assert f"net of 0 or more: {float(EXACT.at_least(0)):.15g}" in text
    assert Fraction(told["at_least"][0]["probability"]["exact"]) == EXACT.at_least(0)
    assert told["quantiles"] == [{"share": "1/1000", "net": str(EXACT.worst_1_in_1000)}]


def test_floats_tell_their_error(run: Run) -> None:
    told = run("distribution", GAME, *BETS, "--rounds", "30", "--method", "float64", "--json").json
    text = run("distribution", GAME, *BETS, "--rounds", "30", "--method", "float64").out

    assert 0 < told["error"] < 1e-9
    assert told["ahead"]["exact"] is None
    assert abs(Fraction(told["ahead"]["value"]) - EXACT.ahead) <= told["error"]
    assert "float64: every probability within" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*BETS, "--rounds", "0"), "0 rounds; give a whole number from 1"),
        (("--bet", "bog=5", "--rounds", "5"), "did you mean big"),
        ((*BETS, "--rounds", "5", "--method", "magic"), "'magic' is not a method"),
        ((*BETS, "--rounds", "5", "--method", "streaming"), "give --at-least or --quantile"),
        (
            (*BETS, "--rounds", "5", "--method", "streaming", "--quantile", "1/2", "--csv"),
            "leave --csv and --html out",
        ),
        ((*BETS, "--rounds", "5", "--quantile", "2"), "above 0 and up to 1"),
        ((*BETS, "--rounds", "5", "--quantile", "often"), "'often' is not a probability"),
        ((*BETS, "--rounds", "5", "--at-least", "much"), "'much' is not a net result"),
        ((*BETS, "--rounds", "5", "--csv", "--json"), "exclude each other"),
        ((*BETS, "--rounds", "5", "--html", "/nowhere/at/all"), "cannot write"),
    ],
)
def test_what_cannot_be_is_one_clear_line(run: Run, words: tuple[str, ...], says: str) -> None:
    result = run("distribution", GAME, *words)

    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert result.err.count("\n") == 1


def test_more_memory_than_there_is_is_refused_before_work(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemAvailable: 1 kB\n")
    monkeypatch.setattr(arguments, "_MEMINFO_FILE", told)
    result = run("distribution", GAME, *BETS, "--rounds", "30")

    assert result.code == 2
    assert "of memory" in result.err
    assert "use --method float64" in result.err


def test_stopping_tells_what_is_known_so_far(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*terms: Any) -> Iterator[int]:
        for place, count in enumerate(power_coefficients(*terms)):
            if place == 39:
                signal.raise_signal(signal.SIGINT)
            yield count

    monkeypatch.setattr(distribution, "power_coefficients", stopped)
    result = run("distribution", GAME, *BETS, "--rounds", "30")
    share = EXACT.at_most(EXACT.net(39))

    assert result.out == ""
    assert "stopped: counted 40 of 211 results" in result.err
    assert f"{float(share):.15g}" in result.err


def test_stopping_a_stream_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> Fraction:
        raise KeyboardInterrupt

    monkeypatch.setattr(distribution, "chance_at_least", stopped)
    words = ("--method", "streaming", "--at-least", "0")

    assert "stopped: no answer yet" in run("distribution", GAME, *BETS, "--rounds", "9", *words).err


def test_counts_too_long_to_write_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_MAX_COUNT_DIGITS", 10)
    told = run("distribution", GAME, *BETS, "--rounds", "30", "--json").json

    assert "count" not in told["results"][0]
    assert told["results"][0]["probability"] > 0


def test_numbers_of_any_length_are_written_out() -> None:
    assert len(exact_text(7**9000)) > 7000
    assert arguments.parse_probability("0.1 %") == Fraction(1, 1000)


def test_memory_that_nobody_tells_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_MEMINFO_FILE", tmp_path / "none")
    assert arguments.available_memory_bytes() is None
    arguments.check_memory(10**18, "a great deal", "do less")

    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 9 kB\nMemAvailable:   2000 kB\n")
    monkeypatch.setattr(arguments, "_MEMINFO_FILE", told)
    assert arguments.available_memory_bytes() == 2_048_000
    with pytest.raises(InvalidInput, match=r"a great deal needs about 1\.0 GB"):
        arguments.check_memory(10**9, "a great deal", "do less")


def test_progress_shows_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_bar("counting", 10) as shown:
        for done in range(11):
            shown(done)

    assert "counting" in capsys.readouterr().err
