"""Plans of the user: compiled like built-in ones, or refused with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from threedice.errors import InvalidInput
from threedice.rulebook import load
from threedice.sim.kernels.plans import own_plan_move, read_own_plan
from threedice.sim.simulation import session_job

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.sim.jobs import SessionJob

DOUBLING = """
def doubling(due, memory, net, base, maximum):
    if net > 0:
        return base, memory
    if net < 0:
        return min(2 * due, maximum), memory
    return due, memory
"""
PRESSING = """
LIMIT = 2

def press_twice(due, presses, net, base, maximum):
    if net <= 0 or presses == LIMIT:
        return base, 0
    return min(2 * due, maximum), presses + 1
"""
FAILING = """
def plan(due, rounds, net, base, maximum):
    if rounds < 150:
        return base, rounds + 1
    if base == 10:
        return -1, rounds + 1
    if base == 20:
        return base // (150 - rounds), rounds + 1
    raise ValueError("tired")
"""


def job(file: Path, function: str, **changes: Any) -> SessionJob:
    words: dict[str, Any] = {
        "bankroll": 300, "base": 10, "maximum": 160, "rounds": 50, "sessions": 500, "seed": 3,
    }  # fmt: skip
    plan = f"{file}:{function}"
    return session_job(load("sg-rws-tai-sai-v6/a"), plan=plan, box="big", **{**words, **changes})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my_plan.py"


@pytest.fixture(scope="module")
def failing_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one plan that fails in several ways, so that it is compiled once."""
    file = tmp_path_factory.mktemp("plans") / "failing.py"
    file.write_text(FAILING)
    return file


def test_own_martingale_equals_the_built_in_one(file: Path) -> None:
    file.write_text(DOUBLING)
    ours = session_job(
        load("sg-rws-tai-sai-v6/a"), plan="martingale", box="big", bankroll=300, base=10,
        maximum=160, rounds=50, sessions=500, seed=3,
    ).play(0, 500)  # fmt: skip

    own = job(file, "doubling").play(0, 500)

    assert own.counts["ends"].tolist() == ours.counts["ends"].tolist()
    assert [own.counts["sums"][0], own.counts["sums"][3]] == [
        10 * ours.counts["sums"][0],
        10 * ours.counts["sums"][3],
    ]


def test_own_plan_with_memory_is_played_as_written(file: Path) -> None:
    file.write_text(PRESSING)

    tally = job(file, "press_twice").play(0, 500)

    assert tally.units == 500
    assert tally.counts["sums"][12] == 0
    move = own_plan_move(read_own_plan(f"{file}:press_twice"), lambda function: function)
    path = [(10, 0)]
    for net in (10, 20, 40, 10, -20):
        path.append(move(path[-1], (10, net, net > 0, net < 0), (10, 160), ()))
    assert path == [(10, 0), (20, 1), (40, 2), (10, 0), (20, 1), (10, 0)]


@pytest.mark.long
def test_own_plan_below_the_minimum_stakes_the_minimum(file: Path) -> None:
    file.write_text("def least(due, memory, net, base, maximum):\n    return 1, memory\n")

    tally = job(file, "least", minimum=10, rounds=10).play(0, 500)

    assert tally.counts["sums"][3] == 500 * 10 * 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def plan(due, memory, net, base, maximum):\n    return -due, memory\n", "makes -10 due"),
        ("def plan(due, memory, net, base, maximum):\n    return 0, memory\n", "makes 0 due"),
        ("def plan(due, memory, net, base, maximum):\n    return due\n", "two whole numbers"),
        (
            "def plan(due, memory, net, base, maximum):\n    return due / 2, 0\n",
            "two whole numbers",
        ),
        ("def plan(due, memory, net, base, maximum):\n    return due, 2**40\n", "below 2.31"),
        (
            "def plan(due, memory, net, base, maximum):\n    return due // memory, 0\n",
            "fails on due 10, memory 0, .* ZeroDivisionError",
        ),
        ("def plan(due, net):\n    return due, 0\n", "must take five numbers"),
        ("def plan(due, *, memory, net, base, maximum):\n    return due, 0\n", "five numbers"),
        ("def other(due):\n    return due, 0\n", "no function 'plan' in .*; it has other"),
        ("plan = 5\n", "it has no functions"),
        ("def plan(due:\n", "cannot be run in line 1: SyntaxError"),
        ("import nothing_of_that_name\n", "cannot be run: ModuleNotFoundError"),
        (
            "def plan(due, memory, net, base, maximum):\n"
            "    return int(str(due)[::-1] or '1') + 1, 0\n",
            "cannot be compiled; use whole numbers and plain arithmetic only",
        ),
        (
            "def plan(due, memory, net, base, maximum):\n"
            "    return (base if memory < 150 else 1.5 * base), memory + 1\n",
            "whole in every case",
        ),
        ("plan = max\n", "it has no functions"),
        ("raise SystemExit(3)\n", "cannot be run: SystemExit"),
    ],
)
def test_invalid_own_plan_is_refused_before_work_begins(
    file: Path, text: str, message: str
) -> None:
    file.write_text(text)

    with pytest.raises(InvalidInput, match=message):
        job(file, "plan")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (10, "made less than one due, .* in 5 sessions"),
        (20, "divides by zero"),
        (30, "fails after many rounds: ValueError: tired"),
    ],
)
def test_own_plan_that_fails_after_many_rounds_is_refused(
    failing_file: Path, base: int, message: str
) -> None:
    whole = job(failing_file, "plan", base=base, rounds=200, bankroll=5000)

    with pytest.raises(InvalidInput, match=message):
        whole.play(0, 5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:plan", "cannot read the plan nowhere.py: No such file"),
        ("plan.txt:plan", "give FILE.py:FUNCTION"),
        ("my_plan.py", "give FILE.py:FUNCTION"),
    ],
)
def test_missing_own_plan_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_own_plan(name)


def test_own_plan_in_a_binary_file_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InvalidInput, match="not text"):
        read_own_plan(f"{file}:plan")
