"""Extras: the core works without them, and a missing one is a line that names what to install."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import threedice.research
import threedice.sim
from threedice.cli.app import COMMANDS
from threedice.errors import MissingExtra
from threedice.extras import EXTRA_MODULES, require_extra

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

PROJECT: Final = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]
MAXIMUM_PACKAGES: Final = 14
BLOCK: Final = "import sys; sys.modules.update(dict.fromkeys({names!r}))\n"
"""A module that is None cannot be imported, nor found."""
RUN_COMMANDS: Final = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from threedice.cli import main

results = []
for words in json.loads(sys.stdin.read()):
    sys.argv = ["threedice", *words]
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as stopped:
        code = stopped.code or 0
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def closure(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that requirements bring, directly and through others."""
    found: set[str] = set()
    pending = [Requirement(each) for each in requirements]
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        environments = [{"extra": extra} for extra in ("", *requirement.extras)]
        if name in found or (requirement.marker and not requirement.marker.evaluate()):
            continue
        found.add(name)
        for text in requires(name) or ():
            needed = Requirement(text)
            if not needed.marker or any(map(needed.marker.evaluate, environments)):
                needed.marker = None
                pending.append(needed)
    return found


def modules_outside(allowed: set[str]) -> set[str]:
    """Return the installed top-level modules of other distributions."""
    return {
        module
        for module, owners in packages_distributions().items()
        if module.isidentifier()
        and module != "threedice"
        and not allowed & {canonicalize_name(owner) for owner in owners}
    }


CORE: Final = closure(PROJECT["dependencies"])


def run_without(names: set[str], code: str, stdin: str = "") -> str:
    """Run code as if some modules were not installed, and return its output."""
    completed = subprocess.run(
        [sys.executable, "-c", BLOCK.format(names=names) + code],
        input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return completed.stdout + completed.stderr.strip().rpartition("\n")[2]


def run_core_commands(commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """Run commands with only the core installed; return their exit codes and outputs."""
    return run_commands_without(modules_outside(CORE), commands)


def run_commands_without(names: set[str], commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """Run commands as if some modules did not exist; return their exit codes and outputs."""
    output = run_without(names, RUN_COMMANDS, json.dumps(commands))
    return [(code, out, err) for code, out, err in json.loads(output)]


def test_plain_installation_has_few_packages() -> None:
    assert len(CORE | {"threedice"}) <= MAXIMUM_PACKAGES


def test_library_imports_only_msgspec_from_outside_the_standard_library() -> None:
    code = """
import threedice
assert not any(name.startswith(("threedice.", "msgspec")) for name in sys.modules)
for name in threedice.__all__:
    if name != "sim":
        getattr(threedice, name)
game = threedice.load("sg-rws-tai-sai-v6/a")
threedice.odds_sheet(game)
import threedice.cases, threedice.dice_monitor, threedice.pages.odds, threedice.table
tops = {name.partition(".")[0] for name, module in sys.modules.items() if module}
print(sorted(tops - set(sys.stdlib_module_names) - {"__main__"} - BEFORE))
"""
    before = "BEFORE = {name.partition('.')[0] for name, module in sys.modules.items() if module}\n"
    output = run_without(modules_outside({"msgspec"}), before + code)

    assert output == "['msgspec', 'threedice']\n"


def test_exact_commands_run_without_any_extra(tmp_path: Path) -> None:
    game = "sg-rws-tai-sai-v6/a"
    rolls = tmp_path / "rolls.csv"
    rolls.write_text("die1,die2,die3\n1,2,3\n4,5,6\n", encoding="utf-8")
    cases = Path(threedice.__file__).parent / "cases" / "shipped" / "macau.toml"
    lines = (
        "--help",
        f"odds {game}",
        f"odds {game} --html {tmp_path}/odds.html",
        f"odds {game} --bet big=50 --json",
        f"payoffs {game}",
        f"settle {game} --dice 1,3,6 --bet big=50",
        "rulebooks",
        "rulebooks show macau-sic-bo",
        "rulebooks check macau-sic-bo",
        "rulebooks diff sg-rws-tai-sai-v6 sg-rws-tai-sai-open-cover-v5",
        "clauses macau-sic-bo",
        f"cases {cases}",
        f"distribution {game} --bet big=50 --rounds 10",
        f"session {game} --plan flat --box big --bankroll 100 --base 10 --rounds 5",
        f"shift {game} --bet big=500 --hours 1 --shifts 1",
        f"dice-monitor --csv {rolls}",
        "simulate --help",
    )

    results = run_core_commands([line.split() for line in lines])

    for line, (code, out, err) in zip(lines, results, strict=True):
        assert (line, code, err) == (line, 0, "")
        assert out


def test_commands_of_a_missing_extra_print_what_to_install() -> None:
    extras = {name: each.extra for name, each in COMMANDS.items() if each.extra}
    extras_of_words = {(name,): extra for name, extra in extras.items()} | {
        ("simulate", "macau-sic-bo/main", "--bet", "big=1", "--rounds", "9"): "sim",
        ("simulate", "macau-sic-bo/main", "--rounds", "9", "--parquet", "x"): "research",
        ("dice-monitor", "pit-1"): "house",
    }

    results = run_core_commands([list(words) for words in extras_of_words])

    assert len(extras) >= 10
    for (words, extra), (code, out, err) in zip(extras_of_words.items(), results, strict=True):
        assert (words, code, out) == (words, 2, "")
        assert err.endswith(f" needs the extra \"{extra}\": pip install 'threedice[{extra}]'\n")
        assert err.count("\n") == 1


def test_commands_of_a_house_without_posix_say_so_in_one_sentence() -> None:
    commands = [name for name, each in COMMANDS.items() if each.extra == "house"]
    words = [[name] for name in commands] + [["house", "check", "house.toml"]]

    results = run_commands_without({"fcntl"}, words)

    assert {"serve", "doctor", "house"} <= set(commands)
    assert results == [
        (2, "", f"threedice: {name} needs a POSIX system, such as Linux or macOS\n")
        for name, *_ in words
    ]


def test_library_and_its_commands_work_without_posix() -> None:
    cases = Path(threedice.__file__).parent / "cases" / "shipped" / "macau.toml"
    lines = f"cases {cases}", "odds macau-sic-bo/main", "session macau-sic-bo/main --help"

    results = run_commands_without({"fcntl"}, [line.split() for line in lines])

    assert [(code, bool(out), err) for code, out, err in results] == [(0, True, "")] * len(lines)


@pytest.mark.parametrize("package", ["api.app", "db", "house", "identity", "log.store"])
def test_package_of_a_house_without_its_extra_raises_missing_extra(package: str) -> None:
    output = run_without(set(EXTRA_MODULES["house"]), f"import threedice.{package}")

    assert output.startswith("threedice.errors.MissingExtra: running a house needs the extra")


def test_simulation_without_its_extra_raises_missing_extra() -> None:
    output = run_without({"numba", "numpy"}, "import threedice.sim")

    assert output == (
        "threedice.errors.MissingExtra: "
        "simulation needs the extra \"sim\": pip install 'threedice[sim]'"
    )


def test_research_kit_without_its_extra_raises_missing_extra() -> None:
    output = run_without({"pyarrow"}, "import threedice; threedice.research")

    assert output == (
        "threedice.errors.MissingExtra: "
        "the research kit needs the extra \"research\": pip install 'threedice[research]'"
    )


def test_only_missing_modules_raise_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra("cluster", "this")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"this needs .*threedice\[cluster\]"):
        require_extra("cluster", "this")


def test_missing_extra_is_an_import_error() -> None:
    assert issubclass(MissingExtra, ImportError)


@pytest.mark.parametrize("extra", ["house", "sim", "research"])
def test_modules_of_an_extra_are_those_of_its_requirements(extra: str) -> None:
    extras = PROJECT["optional-dependencies"]
    needed = [Requirement(each) for each in extras[extra]]
    needed += [
        Requirement(text)
        for each in needed
        for name in each.extras
        if each.name == "threedice"
        for text in extras[name]
    ]
    required = {canonicalize_name(each.name) for each in needed} - {"threedice"}
    owners = packages_distributions()
    checked = {canonicalize_name(owners[module][0]) for module in EXTRA_MODULES[extra]}  # type: ignore[index]

    assert checked == required - {"uvloop"}


def test_every_extra_is_known() -> None:
    assert set(EXTRA_MODULES) == set(PROJECT["optional-dependencies"]) - {"dev", "docs", "bench"}


@pytest.mark.parametrize("module", [threedice.sim, threedice.research])
def test_every_public_name_of_a_module_with_an_extra_resolves(module: ModuleType) -> None:
    assert all(getattr(module, name) is not None for name in module.__all__)
