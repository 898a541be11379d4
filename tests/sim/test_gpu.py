"""The GPU's kernel, without a GPU: Numba's simulator plays the same sessions as the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from threedice.errors import InvalidInput, MissingExtra
from threedice.rulebook import load
from threedice.sim.simulation import session_job

ROOT = Path(__file__).parents[2]
COMPARE_GPU_WITH_CPU = """
from threedice.rulebook import load
from threedice.sim.simulation import session_job
from pathlib import Path

own = Path({own!r})
own.write_text("def same(due, memory, net, base, maximum):\\n    return base, memory\\n")
job = session_job(
    load("sg-rws-tai-sai-v6/a"), plan={plan!r} or f"{{own}}:same", box="single:3", bankroll=200,
    base=10, maximum=160, rounds=20, sessions=9, seed=2**40 + 3, paths=False, **{terms!r},
)
assert job.play(2**32 - 4, 9, "gpu") == job.play(2**32 - 4, 9)
print("the same")
"""


def run_with_cuda_simulator(*words: str) -> str:
    """Run Python with Numba's simulator of a GPU, and return its output."""
    found = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


@pytest.mark.parametrize(
    ("plan", "terms"),
    [
        ("labouchere", {"stop_win": 60, "minimum": 5}),
        pytest.param("martingale", {}, marks=pytest.mark.long),
        pytest.param("", {}, marks=pytest.mark.long, id="own plan"),
    ],
)
def test_simulated_gpu_plays_the_same_sessions_as_the_cpu(
    tmp_path: Path, plan: str, terms: dict[str, int]
) -> None:
    script = COMPARE_GPU_WITH_CPU.format(own=str(tmp_path / "own.py"), plan=plan, terms=terms)

    assert run_with_cuda_simulator("-c", script) == "the same\n"


def test_generator_matches_the_vectors_on_a_simulated_gpu() -> None:
    output = run_with_cuda_simulator(
        "-c", "from benchmarks.gpu import check_vectors; check_vectors()"
    ).splitlines()

    assert [line.split(":")[0] for line in output] == ["vector ok"] * 3


def test_gpu_benchmark_needs_only_numpy_and_numba() -> None:
    without_others = "import sys; sys.modules.update(msgspec=None, rich=None, typer=None)"

    assert run_with_cuda_simulator(
        "-c", f"{without_others}; import benchmarks.gpu; print('imported')"
    )


def test_gpu_job_without_the_extra_or_without_a_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = session_job(
        load("sg-rws-tai-sai-v6/a"), plan="martingale", box="big", bankroll=300, base=10,
        maximum=160, rounds=50, sessions=10, seed=12, paths=False,
    )  # fmt: skip

    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(MissingExtra, match=r"pip install 'threedice\[gpu\]'"):
        job.play(0, 10, "gpu")

    monkeypatch.setitem(sys.modules, "numba_cuda", numba)
    with pytest.raises(InvalidInput, match="no GPU can be reached"):
        job.play(0, 10, "gpu")
