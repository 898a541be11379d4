"""Measure odds sheets, rulebook compilation and start-up against references in the same run.

Run it with `python benchmarks/odds.py`; it needs the `bench` extra.

1. The odds sheet of the 107-box game: each box's ways, hit, return, edge, variance, standard
   deviation, volatility and stakes to lead, and the layout's edge, all exact but the roots.
   icepool and dyce compute the same sheet in `reference_sheets`, and must agree with ours before
   anything is timed. There are three comparisons:
   a) ours from a loaded Game, which has each box's winning rolls, and theirs from the rules;
   b) ours, and theirs from each box's distribution;
   c) ours from the TOML file, including all of its checks, and theirs from the rules.
2. Compiling all rulebooks, and parsing their TOML only.
3. `threedice --help` as a new process, and a Python process that does nothing; both have their
   bytecode cached, as they would when installed.

Contenders take turns, so that load on the machine affects all of them. Targets apply to medians.
"""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `benchmarks` when run as a file

import threedice
from benchmarks.reference_sheets import (
    BOXES,
    Row,
    Sheet,
    dyce_figures,
    dyce_histograms,
    icepool_by_the_manual,
    icepool_dice,
    icepool_figures,
)
from threedice.rulebook import source
from threedice.rulebook.library import load_rulebook

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = "sg-rws-tai-sai-v6/e"
ROUNDS = 40
FEW_ROUNDS = 10
STARTS = 5

# --- our sheet --------------------------------------------------------------------------------


def our_sheet(game: threedice.Game) -> Sheet:
    """Return every figure of every box."""
    sheet = threedice.odds_sheet(game)
    rows: dict[str, Row] = {}
    for each in sheet.boxes:
        figures = each.figures
        rows[each.box.id] = (
            figures.ways,
            figures.hit,
            figures.return_to_player,
            figures.edge,
            figures.variance,
            figures.sd,
            figures.volatility,
            figures.stakes_to_lead,
        )
    return rows, sheet.layout_edge


def check_agreement(game: threedice.Game) -> None:
    """Exit unless all implementations give the same sheet."""
    ours = our_sheet(game)
    others = (icepool_by_the_manual(), icepool_figures(icepool_dice()))
    for theirs in (*others, dyce_figures(dyce_histograms())):
        if theirs != ours:
            raise SystemExit("the sheets differ, so their times would mean nothing")


# --- timing -----------------------------------------------------------------------------------


class Contender(NamedTuple):
    """Work to time, and its preparation, which is not timed."""

    name: str
    work: Callable[[Any], object]
    prepare: Callable[[], Any] = lambda: None


def race(title: str, rounds: int, references: list[Contender], ours: Contender) -> float:
    """Time contenders in turns, print their ratios to the fastest reference, return our median."""
    contenders = [*references, ours]
    times: dict[str, list[float]] = {each.name: [] for each in contenders}
    for _ in range(rounds + 1):
        for each in contenders:
            prepared = each.prepare()
            gc.collect()
            start = perf_counter()
            each.work(prepared)
            times[each.name].append(1000 * (perf_counter() - start))
    medians = {name: median(samples[1:]) for name, samples in times.items()}  # the first warms up
    fastest = min(medians[each.name] for each in references)
    print(f"\n{title:52}{'median ms':>10}{'min ms':>10}{'ratio':>8}")
    for name, samples in times.items():
        ratio = medians[name] / fastest
        print(f"  {name:50}{medians[name]:10.2f}{min(samples[1:]):10.2f}{ratio:8.2f}")
    return medians[ours.name]


def race_sheets(game: threedice.Game) -> float:
    """Run the three comparisons of the odds sheet; return our median from a loaded Game."""
    from_rules = [
        Contender("icepool, by the manual", lambda _: icepool_by_the_manual()),
        Contender("icepool, fastest", lambda _: icepool_figures(icepool_dice())),
        Contender("dyce", lambda _: dyce_figures(dyce_histograms())),
    ]
    from_distributions = [
        Contender("icepool", icepool_figures, icepool_dice),
        Contender("dyce", dyce_figures, dyce_histograms),
    ]
    loaded = Contender("threedice, from a loaded Game", our_sheet, lambda: game)
    cold = Contender(
        "threedice, from TOML", lambda _: our_sheet(threedice.load(GAME)), clear_caches
    )
    median_ms = race("1a odds sheet, theirs from the rules", ROUNDS, from_rules, loaded)
    race("1b odds sheet, theirs from ready distributions", ROUNDS, from_distributions, loaded)
    race("1c load, compile and odds sheet", FEW_ROUNDS, from_rules, cold)
    return median_ms


def race_compiling() -> float:
    """Return the median time of compiling all rulebooks."""
    parsing = Contender("tomllib alone", lambda _: list(map(parse_toml, source.shipped_ids())))
    ours = Contender(
        "threedice", lambda _: list(map(load_rulebook, source.shipped_ids())), clear_caches
    )
    return race("2 compile of all rulebooks together", FEW_ROUNDS, [parsing], ours)


def clear_caches() -> None:
    """Clear every cache of the package, so that the next load is as in a new process."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "threedice":
            for value in list(vars(module).values()):
                getattr(value, "cache_clear", lambda: None)()


def parse_toml(book_id: str) -> dict[str, Any]:
    """Read and parse a rulebook's file only."""
    return tomllib.loads(
        files(source.RULEBOOKS_PACKAGE).joinpath(f"{book_id}.toml").read_text("utf-8")
    )


def race_starting() -> float:
    """Return the median time of `threedice --help` with cached bytecode."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        bare = process("python -c pass", ["-c", "pass"], environment)
        ours = process("threedice --help", ["-m", "threedice", "--help"], environment)
        return race("3 start-up", STARTS, [bare], ours)


def process(name: str, arguments: list[str], environment: dict[str, str]) -> Contender:
    """Return a contender that runs Python as a new process."""
    command = [sys.executable, *arguments]
    return Contender(
        name,
        lambda _: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True),
    )


def main() -> None:
    """Check, time, and compare the medians with the targets."""
    game = threedice.load(GAME)
    check_agreement(game)
    others = f"icepool {version('icepool')}, dyce {version('dyce')}"
    print(f"Python {platform.python_version()}, {others}; all sheets of {len(BOXES)} boxes agree")
    print("ratio: to the fastest reference")
    targets = [
        (f"odds sheet of {GAME}", race_sheets(game), 50),
        ("compile of all rulebooks", race_compiling(), 300),
        ("threedice --help", race_starting(), 300),
    ]
    print()
    for name, median_ms, target in targets:
        verdict = "target met" if median_ms <= target else "target MISSED"
        print(f"{name:38}{median_ms:8.1f} ms of {target:4} ms  {verdict}")


if __name__ == "__main__":
    main()
