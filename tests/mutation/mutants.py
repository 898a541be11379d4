"""Mutation testing: change one thing in the code, and see whether a test goes red.

    python -m tests.mutation.mutants [--part 2/5] [--seconds 600] [--only TEXT] [FILE...]

Every mutant is a process of its own that imports the package afresh, since much of `rulebook` runs
while it is imported and its games are cached: a tool that switches mutants on in modules already
imported (mutmut) would not see them.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import signal
import sys
import time
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.mutation.mutating import mutants

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType

ROOT = Path(__file__).parents[2]
AT_THE_TABLE = (
    "table/test_settling table/test_rejections table ledger cases playthroughs properties"
)
OF_THE_RULES = (
    "rulebook/test_boxes rulebook/test_loading_wagers rulebook/test_loading_pay_tables "
    "rulebook/test_triple_dice rulebook/test_new_zealand rulebook/test_singapore "
    "rulebook/test_hash rulebook/test_loading_layouts rulebook/test_loading "
    "rulebook/test_loading_conduct maths/test_guards rulebook/test_against_oracle"
)
FILES = {
    "table/settling.py": AT_THE_TABLE,
    "table/limits.py": f"table/test_limits {AT_THE_TABLE}",
    "table/voiding.py": AT_THE_TABLE,
    "ledger/postings.py": f"ledger {AT_THE_TABLE}",
    "rulebook/boxes.py": OF_THE_RULES,
    "rulebook/conditions.py": OF_THE_RULES,
    "rulebook/compile.py": OF_THE_RULES,
}
"""Which tests to run against mutants of a file, those that are quick to notice first."""


class Mutated(SourceFileLoader):
    """Finds and loads one module from its mutant's tree, everything else as it is."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        name = "threedice." + file.removesuffix(".py").replace("/", ".")
        super().__init__(name, str(ROOT / "src/threedice" / file))
        self.tree = ast.fix_missing_locations(tree)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return compile(self.tree, self.path, "exec")


def outcome(file: str, tree: ast.Module, seconds: int) -> str:
    """Run the tests of a file against a mutant of it, in a process of its own."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            return "timeout"
        return {0: "survived", 1: "killed", 2: "killed"}.get(os.WEXITSTATUS(status), "error")
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    finder: Any = Mutated(file, tree)
    sys.meta_path.insert(0, finder)
    hypothesis.settings.register_profile("mutants", database=None, derandomize=True)
    hypothesis.settings.load_profile("mutants")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    for test in FILES[file].split():
        path = f"tests/{test}.py" if "/" in test else f"tests/{test}"
        if code := pytest.main(
            [*options, "-W", "ignore:Module already", "-k", "not no_value", path]
        ):
            os._exit(code)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*", default=list(FILES))
    parser.add_argument("--part", default="1/1", help="every nth mutant only, as 2/5")
    parser.add_argument("--seconds", type=int, default=24 * 3600, help="stop after these")
    parser.add_argument("--only", default="", help="only mutants with this in their description")
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ["THREEDICE_STEPS"] = "3000"
    part, parts = map(int, asked.part.split("/"))
    end, failed = time.monotonic() + asked.seconds, 0
    for file in asked.files:
        path, started = ROOT / "src/threedice" / file, time.monotonic()
        if outcome(file, ast.parse(path.read_text(encoding="utf-8")), 600) != "survived":
            sys.exit(f"{file}: its tests do not pass as it is")
        most = int(2 * (time.monotonic() - started)) + 5
        counts = dict.fromkeys(("killed", "timeout", "survived", "error", "left"), 0)
        for i, (tree, change) in enumerate(mutants(path)):
            if i % parts == part - 1 and asked.only in change:
                found = outcome(file, tree, most) if time.monotonic() < end else "left"
                counts[found] += 1
                if found in ("survived", "timeout", "error"):
                    print(f"  {found}: {change}", flush=True)  # noqa: T201
        dead = counts["killed"] + counts["timeout"]
        tried = sum(counts.values()) - counts["left"]
        failed += dead * 100 < tried * 95
        print(f"{file}: {dead} of {tried} killed ({100 * dead / (tried or 1):.1f} %), {counts}")  # noqa: T201
    sys.exit(failed)


if __name__ == "__main__":
    main()
