"""How long odds, compiling and starting take, beside a reference measured in the same run.

Run it with `python benchmarks/odds.py`; it needs the `bench` extra.

1. The odds sheet of the 107-box game: each box's ways, hit, return, edge, variance, standard
   deviation, volatility and stakes to lead, and the layout's edge, all but the roots exact.
   icepool and dyce compute the same sheet in `reference_sheets`, and must agree with ours before
   anything is timed. There are three races:
   a) ours from a loaded Game, which knows each box's winning rolls, against theirs from the rules;
   b) ours against theirs when they too are handed each box's distribution;
   c) ours from the TOML file, all of its checks included, against theirs from the rules.
2. Compiling all the rulebooks, beside merely parsing their TOML.
3. `threedice --help` as a process of its own, beside a Python that does nothing; both find their
   bytecode, as they would when installed.

Contenders take turns, so that a busy spell hits all of them alike. The verdicts go by medians.
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

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a file, it is in no package

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
    """Ask for every figure of every box, for they are computed when asked."""
    odds = threedice.odds_sheet(game)
    rows: dict[str, Row] = {}
    for each in odds.boxes:
        of = each.figures
        sizes = (of.sd, of.volatility, of.stakes_to_lead)
        rows[each.box.id] = (of.ways, of.hit, of.return_to_player, of.edge, of.variance, *sizes)
    return rows, odds.layout_edge


def check_agreement(game: threedice.Game) -> None:
    """Stop unless all versions give the same sheet, exact figures and all."""
    ours = our_sheet(game)
    others = (icepool_by_the_manual(), icepool_figures(icepool_dice()))
    for theirs in (*others, dyce_figures(dyce_histograms())):
        if theirs != ours:
            raise SystemExit("the sheets differ, so their times would mean nothing")


# --- timing -----------------------------------------------------------------------------------


class Contender(NamedTuple):
    """Something to time, on what is prepared outside the timing."""

    name: str
    work: Callable[[Any], object]
    prepare: Callable[[], Any] = lambda: None


def race(title: str, rounds: int, references: list[Contender], ours: Contender) -> float:
    """Time contenders in turns, print them beside the quickest reference, return our median."""
    contenders = [*references, ours]
    times: dict[str, list[float]] = {each.name: [] for each in contenders}
    for _ in range(rounds + 1):
        for each in contenders:
            prepared = each.prepare()
            gc.collect()
            start = perf_counter()
            each.work(prepared)
            times[each.name].append(1000 * (perf_counter() - start))
    medians = {name: median(taken[1:]) for name, taken in times.items()}  # the first warms up
    quickest = min(medians[each.name] for each in references)
    print(f"\n{title:52}{'median ms':>10}{'min ms':>10}{'ratio':>8}")
    for name, taken in times.items():
        ratio = medians[name] / quickest
        print(f"  {name:50}{medians[name]:10.2f}{min(taken[1:]):10.2f}{ratio:8.2f}")
    return medians[ours.name]


def race_sheets(game: threedice.Game) -> float:
    """Run the three races of the odds sheet; return how long ours takes from a loaded Game."""
    from_rules = [
        Contender("icepool, by the manual", lambda _: icepool_by_the_manual()),
        Contender("icepool, quickest", lambda _: icepool_figures(icepool_dice())),
        Contender("dyce", lambda _: dyce_figures(dyce_histograms())),
    ]
    from_results = [
        Contender("icepool", icepool_figures, icepool_dice),
        Contender("dyce", dyce_figures, dyce_histograms),
    ]
    loaded = Contender("threedice, from a loaded Game", our_sheet, lambda: game)
    cold = Contender("threedice, from TOML", lambda _: our_sheet(threedice.load(GAME)), forget)
    taken = race("1a odds sheet, theirs from the rules", ROUNDS, from_rules, loaded)
    race("1b odds sheet, theirs from ready distributions", ROUNDS, from_results, loaded)
    race("1c load, compile and odds sheet", FEW_ROUNDS, from_rules, cold)
    return taken


def race_compiling() -> float:
    """Return how long compiling all rulebooks takes."""
    parsing = Contender("tomllib alone", lambda _: [parsed(each) for each in source.shipped_ids()])
    ours = Contender("threedice", lambda _: list(map(load_rulebook, source.shipped_ids())), forget)
    return race("2 compile of all rulebooks together", FEW_ROUNDS, [parsing], ours)


def forget() -> None:
    """Clear every cache of the package, so that the next load is as in a new process."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "threedice":
            for each in list(vars(module).values()):
                getattr(each, "cache_clear", lambda: None)()


def parsed(book_id: str) -> dict[str, Any]:
    """Read and parse a rulebook's file, and no more."""
    return tomllib.loads(
        files(source.RULEBOOKS_PACKAGE).joinpath(f"{book_id}.toml").read_text("utf-8")
    )


def race_starting() -> float:
    """Return how long the program takes to say what it can do, its bytecode being in place."""
    with TemporaryDirectory() as folder:
        settings = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        settings.pop("PYTHONDONTWRITEBYTECODE", None)
        bare = starting("python -c pass", ["-c", "pass"], settings)
        ours = starting("threedice --help", ["-m", "threedice", "--help"], settings)
        return race("3 start-up", STARTS, [bare], ours)


def starting(name: str, arguments: list[str], settings: dict[str, str]) -> Contender:
    """Return the running of this Python afresh as a contender."""
    command = [sys.executable, *arguments]
    return Contender(
        name, lambda _: subprocess.run(command, env=settings, stdout=subprocess.DEVNULL, check=True)
    )


def main() -> None:
    """Check, time, and hold the medians against the targets."""
    game = threedice.load(GAME)
    check_agreement(game)
    others = f"icepool {version('icepool')}, dyce {version('dyce')}"
    print(f"Python {platform.python_version()}, {others}; all sheets of {len(BOXES)} boxes agree")
    print("ratio: to the quickest of those that are not ours")
    targets = [
        (f"odds sheet of {GAME}", race_sheets(game), 50),
        ("compile of all rulebooks", race_compiling(), 300),
        ("threedice --help", race_starting(), 300),
    ]
    print()
    for what, taken, target in targets:
        verdict = "target met" if taken <= target else "target MISSED"
        print(f"{what:38}{taken:8.1f} ms of {target:4} ms  {verdict}")


if __name__ == "__main__":
    main()
