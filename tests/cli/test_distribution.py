"""`threedice distribution`: its methods, output formats and errors."""

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
from threedice.odds import Distribution, over_rounds, round_distribution
from threedice.odds.convolution import power_coefficients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

GAME = "sg-rws-tai-sai-v6/a"
BETS = ("--bet", "big=50", "--bet", "total:10=20")
EXACT = over_rounds(round_distribution(Mix(load(GAME), {"big": 50, "total:10": 20})), 30)


def test_distribution_as_text_shows_method_probabilities_and_quantiles(run: Run) -> None:
    result = run("distribution", GAME, *BETS, "--rounds", "30", "--at-least", "100")

    assert result.code == 0
    assert "exact: all 211 results counted, out of 72^30" in result.out
    assert f"{float(EXACT.ahead):.15g}" in result.out
    assert f"{float(EXACT.at_least(100)):.15g}" in result.out
    assert "once in a thousand times the net is" in result.out


def test_distribution_as_json_has_exact_fractions_and_floats(run: Run) -> None:
    report = run("distribution", GAME, *BETS, "--rounds", "30", "--json", "--quantile", "5%").json

    assert (report["method"], report["error"]) == ("exact", 0)
    assert Fraction(report["ahead"]["exact"]) == EXACT.ahead
    assert report["ahead"]["value"] == float(EXACT.ahead)
    assert Fraction(report["mean"]["exact"]) == EXACT.mean
    assert report["quantiles"] == [{"share": "1/20", "net": str(EXACT.quantile(Fraction(1, 20)))}]
    counts = {each["net"]: int(each["count"]) for each in report["results"]}
    assert sum(counts.values()) == int(report["of"]) == EXACT.total
    assert {Fraction(net): Fraction(n, EXACT.total) for net, n in counts.items()} == dict(
        EXACT.results()
    )


def test_distribution_as_csv_has_a_row_for_every_result(run: Run) -> None:
    out = run("distribution", GAME, *BETS, "--rounds", "30", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))

    assert [Fraction(row["net"]) for row in rows] == [net for net, _ in EXACT.results()]
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1)


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_results_are_written_without_reducing_every_fraction(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(Distribution, "results", None)
    monkeypatch.setattr(distribution, "MAX_COUNT_DIGITS", 0)

    result = run("distribution", GAME, *BETS, "--rounds", "30", form)

    assert (result.code, result.err) == (0, "")
    assert str(EXACT.net(0)) in result.out


def test_progress_of_counting_and_writing_is_shown_on_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    result = run("distribution", GAME, *BETS, "--rounds", "30", "--json")

    assert "counting" in result.err
    assert "writing" in result.err
    assert result.json["rounds"] == 30


def test_distribution_page_is_written(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    result = run("distribution", GAME, *BETS, "--rounds", "30", "--html", str(file))

    assert result.out == f"wrote {file}\n"
    assert "30 rounds of 70" in file.read_text(encoding="utf-8")


def test_streaming_method_computes_single_probabilities_and_quantiles(run: Run) -> None:
    options = ("--method", "streaming", "--at-least", "0", "--quantile", "1/1000")
    text = run("distribution", GAME, *BETS, "--rounds", "30", *options).out
    report = run("distribution", GAME, *BETS, "--rounds", "30", *options, "--json").json

    assert f"net of 0 or more: {float(EXACT.at_least(0)):.15g}" in text
    assert Fraction(report["at_least"][0]["probability"]["exact"]) == EXACT.at_least(0)
    assert report["quantiles"] == [{"share": "1/1000", "net": str(EXACT.worst_1_in_1000)}]


def test_float64_distribution_reports_its_error_bound(run: Run) -> None:
    report = run(
        "distribution", GAME, *BETS, "--rounds", "30", "--method", "float64", "--json"
    ).json
    text = run("distribution", GAME, *BETS, "--rounds", "30", "--method", "float64").out

    assert 0 < report["error"] < 1e-9
    assert report["ahead"]["exact"] is None
    assert abs(Fraction(report["ahead"]["value"]) - EXACT.ahead) <= report["error"]
    assert "float64: every probability within" in text


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_invalid_arguments_of_distribution_print_one_line_and_exit_with_2(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    result = run("distribution", GAME, *words)

    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_distribution_that_needs_more_memory_than_available_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "available_memory_bytes", lambda: 1024)
    result = run("distribution", GAME, *BETS, "--rounds", "30")

    assert result.code == 2
    assert "of memory" in result.err
    assert "use --method float64" in result.err


def test_interrupted_distribution_reports_the_results_counted_so_far(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*terms: Any) -> Iterator[int]:
        for place, count in enumerate(power_coefficients(*terms)):
            if place == 39:
                signal.raise_signal(signal.SIGINT)
            yield count

    monkeypatch.setattr(distribution, "power_coefficients", interrupt)
    result = run("distribution", GAME, *BETS, "--rounds", "30")
    share = EXACT.at_most(EXACT.net(39))

    assert result.out == ""
    assert "stopped: counted 40 of 211 results" in result.err
    assert f"{float(share):.15g}" in result.err


def test_interrupted_streaming_reports_that_there_is_no_answer(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> Fraction:
        raise KeyboardInterrupt

    monkeypatch.setattr(distribution, "chance_at_least", interrupt)
    words = ("--method", "streaming", "--at-least", "0")

    assert "stopped: no answer yet" in run("distribution", GAME, *BETS, "--rounds", "9", *words).err


def test_counts_with_too_many_digits_are_omitted_from_json(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribution, "MAX_COUNT_DIGITS", 10)
    report = run("distribution", GAME, *BETS, "--rounds", "30", "--json").json

    assert "count" not in report["results"][0]
    assert report["results"][0]["probability"] > 0


def test_exact_text_writes_numbers_of_any_length() -> None:
    assert len(exact_text(7**9000)) > 7000


def test_percentage_is_parsed_as_a_probability() -> None:
    assert arguments.parse_probability("0.1 %") == Fraction(1, 1000)


def test_available_memory_is_read_from_meminfo(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:   2000 kB\n")

    assert arguments.available_memory_bytes(meminfo) == 2_048_000
    assert arguments.available_memory_bytes(tmp_path / "missing") is None


def test_memory_check_passes_when_the_available_memory_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arguments, "available_memory_bytes", lambda: None)
    arguments.check_memory(10**18, "a great deal", "do less")


def test_memory_check_names_the_memory_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "available_memory_bytes", lambda: 2_048_000)
    with pytest.raises(InvalidInput, match=r"a great deal needs about 1\.0 GB"):
        arguments.check_memory(10**9, "a great deal", "do less")


def test_progress_bar_is_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_bar("counting", 10) as shown:
        for done in range(11):
            shown(done)

    assert "counting" in capsys.readouterr().err
