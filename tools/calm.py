"""Run the tests again and again beside busy loops, and say which runs failed: `make calm`.

A test that depends on how fast the machine is passes alone and fails here.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OUTPUT: Final = Path(__file__).parents[1] / "build" / "calm"
LOOPS: Final = 4
NICENESS: Final = 10
"""Of the loops: they take all the time that tests leave, and a little of theirs."""

BUSY_LOOP: Final = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    sum(range(10**6))
"""
"""Ends by itself if the program that started it is killed."""

FAULT: Final = ("FAILED ", "ERROR ", "make: ***")


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Keep the processor busy until the context ends, in whatever way."""
    command = ["nice", "-n", str(NICENESS), sys.executable, "-c", BUSY_LOOP, str(os.getpid())]
    loops = [subprocess.Popen(command) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def run_repeatedly(command: Sequence[str], runs: int, output: Path, loops: int) -> list[int]:
    """Run a command several times beside busy loops; return the numbers of the runs that failed."""
    output.mkdir(parents=True, exist_ok=True)
    failed = []
    with busy_loops(loops):
        for number in range(1, runs + 1):
            file, began = output / f"run-{number:02}.txt", time.monotonic()
            with file.open("w", encoding="utf-8") as out:
                code = subprocess.call(command, stdout=out, stderr=subprocess.STDOUT)
            ending = f"run {number} of {runs}, {time.monotonic() - began:.0f} s"
            if code == 0:
                print(f"{ending}: passed", flush=True)
                continue
            failed.append(number)
            print(f"{ending}: failed, see {file}", *faults(file), sep="\n  ", flush=True)
    return failed


def faults(file: Path) -> list[str]:
    """Return the lines of an output that name what failed."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.startswith(FAULT)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `make test`, or some tests only, and print which runs failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--loops", type=int, default=LOOPS)
    parser.add_argument("--output", type=Path, default=OUTPUT, help="a folder")
    parser.add_argument("--tests", default="", help="what pytest runs, instead of `make test`")
    given = parser.parse_args(arguments)
    command = ["make", "--no-print-directory", "test"]
    if given.tests:
        command = [sys.executable, "-m", "pytest", "-q", *shlex.split(given.tests)]
    failed = run_repeatedly(command, given.runs, given.output, given.loops)
    if failed:
        print(f"failed: {len(failed)} of {given.runs}: runs {', '.join(map(str, failed))}")
    else:
        print(f"passed: {given.runs} of {given.runs}")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("MAKEFLAGS", None)  # of the `make` that runs this
    sys.exit(main())
