"""`make calm`: repeated runs beside busy loops, which end with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.calm import main, run_repeatedly

ROOT = Path(__file__).parents[1]
FAIL_SECOND = """
import pathlib, sys
runs = pathlib.Path(sys.argv[1])
runs.write_text(runs.read_text() + "x")
if runs.read_text() == "xx":
    sys.exit("FAILED tests/test_dice.py::test_roll - AssertionError")
"""


def test_failed_runs_are_named_with_their_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    runs.write_text("")

    command = [sys.executable, "-c", FAIL_SECOND, str(runs)]
    failed = run_repeatedly(command, 3, tmp_path / "calm", loops=1)

    assert failed == [2]
    printed = capsys.readouterr().out
    assert "run 2 of 3" in printed
    assert "FAILED tests/test_dice.py::test_roll" in printed
    assert printed.count("passed") == 2


def test_chosen_tests_are_run_instead_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--runs", "1", "--loops", "1", "--output", str(tmp_path)]

    assert main([*options, "--tests", "tests/test_dice.py"]) == 0

    assert capsys.readouterr().out.endswith("passed: 1 of 1\n")


@pytest.mark.parametrize("ending", ["raise KeyboardInterrupt", "os.kill(os.getpid(), 9)"])
def test_busy_loops_end_with_the_program_that_started_them(ending: str) -> None:
    program = f"import os\nfrom tools.calm import busy_loops\nwith busy_loops(2): {ending}"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False
    )

    assert done.returncode  # and every loop has closed the output, which was read to its end
