"""Mutation testing: change one thing in the code, and see whether a test goes red.

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

from tests.mutation.mutating import mutants
from tests.mutation.survivors import LIST, Survivor, Tally, differences, with_counts

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType

ROOT = Path(__file__).parents[2]
AT_THE_TABLE = "table/test_settling table/test_rejections table cases playthroughs properties"
OF_THE_RULES = (
    "rulebook/test_boxes rulebook/test_mutants_words rulebook/test_loading_wagers "
    "rulebook/test_loading_pay_tables rulebook/test_triple_dice rulebook/test_new_zealand "
    "rulebook/test_singapore rulebook/test_hash rulebook/test_loading_layouts "
    "rulebook/test_loading rulebook/test_loading_conduct odds/test_guards "
    "rulebook/test_against_oracle"
)
FILES = {
    "table/settlement.py": AT_THE_TABLE,
    "table/limits.py": f"table/test_limits {AT_THE_TABLE}",
    "table/rejections.py": AT_THE_TABLE,
    "table/money.py": f"table/test_postings {AT_THE_TABLE}",
    "rulebook/boxes.py": OF_THE_RULES,
    "rulebook/conditions.py": OF_THE_RULES,
    "rulebook/compiler.py": OF_THE_RULES,
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


def outcome(file: str, tree: ast.Module, seconds: int) -> tuple[str, float]:
    """Run the tests of a file against a mutant in a process of its own; what came of it, and when.

    Seconds are of the processor, so that a busy machine lets no mutant pass for one that hangs.
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
    finder: Any = Mutated(file, tree)
    sys.meta_path.insert(0, finder)
    hypothesis.settings.register_profile("mutants", database=None, deadline=None, derandomize=True)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    options += ["--hypothesis-profile=mutants"]
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
    parser.add_argument("--write", action="store_true", help="write the counts into the list")
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ["THREEDICE_STEPS"] = "3000"
    end = time.monotonic() + asked.seconds
    found: Counter[Survivor] = Counter()
    tallies: dict[str, Tally] = {}
    for file in asked.files:
        tallies[file], left = _try(file, asked, end, found)
        say(f"{file}: {tallies[file]}" + (f", {left} left" if left else ""))
    text = LIST.read_text(encoding="utf-8")
    whole = asked.part == "1/1" and not asked.only and time.monotonic() < end
    wrong = differences(found, text, asked.files if whole else [])
    say("\n".join(wrong) or "every survivor is on the list")
    if asked.write and whole:
        LIST.write_text(with_counts(text, tallies), encoding="utf-8")
    sys.exit(bool(wrong) or not all(tally.enough for tally in tallies.values()))


def _try(
    file: str, asked: argparse.Namespace, end: float, survivors: Counter[Survivor]
) -> tuple[Tally, int]:
    """Try the mutants of a file while there is time; how they fared, and how many are left."""
    source = (ROOT / "src/threedice" / file).read_text(encoding="utf-8")
    result, spent = outcome(file, ast.parse(source), 600)
    if result != "survived":
        sys.exit(f"{file}: its tests do not pass as it is")
    (part, parts), most = map(int, asked.part.split("/")), int(2 * spent) + 5
    killed = tried = left = 0
    for i, (tree, number, change) in enumerate(mutants(source)):
        line = source.splitlines()[number - 1].strip()
        if i % parts != part - 1 or asked.only not in f"{line}: {change}":
            continue
        if time.monotonic() > end:
            left += 1
            continue
        result, _ = outcome(file, tree, most)
        tried, killed = tried + 1, killed + (result in ("killed", "timeout"))
        if result != "killed":
            say(f"  {result}: {file}:{number}: {line}: {change}")
        if result not in ("killed", "timeout"):
            survivors[Survivor(file, line, change)] += 1
    return Tally(killed, tried), left


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
