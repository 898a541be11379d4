"""Mutation testing: change one thing in the code and check that a test fails.

    python -m tests.mutation.mutants [--part 2/5] [--seconds 600] [--only TEXT] [--write] [FILE...]

Every mutant is a process of its own that imports the package afresh, since much of `rulebook` runs
while it is imported and its games are cached: a tool that switches mutants on in modules already
imported (mutmut) would not see them. A survivor that `survivors.md` does not explain is a failure.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import signal
import sys
import time
from collections import Counter
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.mutation.mutations import mutants
from tests.mutation.survivors import LIST, Survivor, Tally, differences, with_counts

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType

ROOT = Path(__file__).parents[2]
TABLE_TESTS = "table/test_settlement table/test_rejections table cases playthroughs properties"
RULEBOOK_TESTS = (
    "rulebook/test_boxes rulebook/test_conditions rulebook/test_loading_wagers "
    "rulebook/test_loading_pay_tables rulebook/test_triple_dice rulebook/test_new_zealand "
    "rulebook/test_singapore rulebook/test_hash rulebook/test_loading_layouts "
    "rulebook/test_loading rulebook/test_loading_conduct rulebook/test_game "
    "rulebook/test_against_oracle"
)
FILES = {
    "table/settlement.py": f"table/test_pro_rata {TABLE_TESTS}",
    "table/voids.py": f"table/test_voids table/test_found_late {TABLE_TESTS}",
    "table/limits.py": f"table/test_limits table/test_terms table/test_pro_rata {TABLE_TESTS}",
    "table/rejections.py": TABLE_TESTS,
    "table/debts.py": f"table/test_debts {TABLE_TESTS}",
    "table/money.py": f"table/test_postings {TABLE_TESTS}",
    "account/money.py": "account",
    "rulebook/boxes.py": RULEBOOK_TESTS,
    "rulebook/conditions.py": RULEBOOK_TESTS,
    "rulebook/compiler.py": RULEBOOK_TESTS,
}
"""The tests to run against mutants of a file, those that fail fastest first."""

_COUNTED_TESTS = "not no_value and not cover_every_event_and_refusal"
"""Without a test of the random generator, whose short runs here miss rare events."""


class MutantLoader(SourceFileLoader):
    """Loads one module from the tree of its mutant."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        name = "threedice." + file.removesuffix(".py").replace("/", ".")
        super().__init__(name, str(ROOT / "src/threedice" / file))
        self.tree = ast.fix_missing_locations(tree)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return compile(self.tree, self.path, "exec")


def run_tests(file: str, tree: ast.Module, seconds: int) -> tuple[str, float]:
    """Run the tests of a file against a mutant in its own process; return the outcome and CPU time.

    The limit is CPU time, so that a busy machine does not make a mutant time out.
    """
    pid = os.fork()
    if pid:
        _, status, used = os.wait4(pid, 0)
        spent = used.ru_utime + used.ru_stime
        if os.WIFSIGNALED(status):
            return "timeout" if os.WTERMSIG(status) == signal.SIGXCPU else "error", spent
        ends = {0: "survived", 1: "killed", 2: "killed", 3: "killed"}
        return ends.get(os.WEXITSTATUS(status), "error"), spent
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    finder: Any = MutantLoader(file, tree)
    sys.meta_path.insert(0, finder)
    hypothesis.settings.register_profile("mutants", database=None, deadline=None, derandomize=True)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    options += ["--hypothesis-profile=mutants"]
    for path in paths_of_tests(file):
        if code := pytest.main(
            [*options, "-W", "ignore:Module already", "-k", _COUNTED_TESTS, path]
        ):
            os._exit(code)
    os._exit(0)


def paths_of_tests(file: str) -> list[str]:
    """Return the test files and folders to run against mutants of a file, in order."""
    return [f"tests/{test}.py" if "/" in test else f"tests/{test}" for test in FILES[file].split()]


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*", default=list(FILES))
    parser.add_argument("--part", default="1/1", help="every nth mutant only, as 2/5")
    parser.add_argument("--seconds", type=int, default=24 * 3600, help="stop after these")
    parser.add_argument("--only", default="", help="only mutants with this in their description")
    parser.add_argument("--write", action="store_true", help="write the counts into the list")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    os.environ["THREEDICE_STEPS"] = "3000"
    end = time.monotonic() + arguments.seconds
    found: Counter[Survivor] = Counter()
    tallies: dict[str, Tally] = {}
    for file in arguments.files:
        tallies[file], left = _run_mutants(file, arguments, end, found)
        print_line(f"{file}: {tallies[file]}" + (f", {left} left" if left else ""))
    text = LIST.read_text(encoding="utf-8")
    whole = arguments.part == "1/1" and not arguments.only and time.monotonic() < end
    wrong = differences(found, text, arguments.files if whole else [])
    print_line("\n".join(wrong) or "every survivor is on the list")
    if arguments.write and whole:
        LIST.write_text(with_counts(text, tallies), encoding="utf-8")
    sys.exit(bool(wrong) or not all(tally.enough for tally in tallies.values()))


def _run_mutants(
    file: str, arguments: argparse.Namespace, end: float, survivors: Counter[Survivor]
) -> tuple[Tally, int]:
    """Run the mutants of a file until the end; return their tally and how many are left."""
    source = (ROOT / "src/threedice" / file).read_text(encoding="utf-8")
    result, spent = run_tests(file, ast.parse(source), 600)
    if result != "survived":
        sys.exit(f"{file}: its tests do not pass as it is")
    (part, parts), most = map(int, arguments.part.split("/")), int(2 * spent) + 5
    killed = tried = left = 0
    for i, (tree, number, change) in enumerate(mutants(source)):
        line = source.splitlines()[number - 1].strip()
        if i % parts != part - 1 or arguments.only not in f"{line}: {change}":
            continue
        if time.monotonic() > end:
            left += 1
            continue
        result, _ = run_tests(file, tree, most)
        tried, killed = tried + 1, killed + (result in ("killed", "timeout"))
        if result != "killed":
            print_line(f"  {result}: {file}:{number}: {line}: {change}")
        if result not in ("killed", "timeout"):
            survivors[Survivor(file, line, change)] += 1
    return Tally(killed, tried), left


def print_line(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
