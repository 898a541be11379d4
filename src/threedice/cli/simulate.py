"""`threedice simulate`: what is asked for becomes a job, the job is done, the study is told."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from threedice.cli.arguments import read_bets, read_game
from threedice.cli.counting import progress
from threedice.cli.figures import check_page
from threedice.errors import InvalidInput
from threedice.money import parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.cli.odds import Form
    from threedice.rulebook import Game
    from threedice.sim.jobs import Tally
    from threedice.sim.runner import AnyJob, WorkerPool
    from threedice.sim.simulation import Study
    from threedice.sim.table_setup import SimulatedPlayer

STOPPED: Final = 130
"""The exit code of a command that was interrupted."""
_SAVE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be simulated, as it was typed."""

    game: str
    bets: tuple[str, ...]
    plan: str | None
    box: str | None
    base: int | None
    bankroll: int | None
    minimum: int
    maximum: int | None
    stop_loss: int | None
    stop_win: int | None
    line: str
    players: tuple[str, ...]
    differential: int | None
    rounds: int | None
    sessions: int
    seed: int
    readings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crewing:
    """Who is to do it."""

    threads: int | None
    device: str
    cluster: str | None


def simulate(
    asked: Asked, crewing: Crewing, resume: Path | None, form: Form, html: Path | None
) -> int:
    """Simulate, tell what came of it, and return the exit code."""
    from threedice.cli.simulated import tell
    from threedice.sim.runner import SimulationInterrupt, load_progress, save_progress

    game = read_game(asked.game, asked.readings)
    job, seats = _job(game, asked, crewing)
    check_page(html)
    so_far = load_progress(resume, job) if resume else job.empty_tally()
    try:
        tally = _done(job, crewing, so_far, resume)
    except SimulationInterrupt as stop:
        file = resume or Path(f"threedice-{stop.tally.units}-done.json")
        kept = _kept(file, job, stop.tally)
        if stop.tally.units:
            tell(_study(game, asked, seats, job, stop.tally), form, html)
        sys.stderr.write(f"threedice: stopped with {stop.tally.units / job.units:.1%} done; {kept}")
        return STOPPED
    if resume:
        save_progress(resume, job, tally)
    tell(_study(game, asked, seats, job, tally), form, html)
    return 0


def _done(job: AnyJob, crewing: Crewing, so_far: Tally, resume: Path | None) -> Tally:
    """Do what is left, showing how far it is and putting it by now and then."""
    from threedice.sim.runner import run_job, save_progress

    rounds = _rounds_a_unit(job)
    last = monotonic() - _SAVE_SECONDS
    with _crew(crewing) as crew, progress("rounds", job.units * rounds) as show:

        def report(tally: Tally) -> None:
            nonlocal last
            show(tally.units * rounds)
            if resume and monotonic() - last >= _SAVE_SECONDS:
                save_progress(resume, job, tally)
                last = monotonic()

        return run_job(job, crew, so_far, report)


def _rounds_a_unit(job: AnyJob) -> int:
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.kernels.roll_counts import ROUNDS_PER_BLOCK

    if isinstance(job, FlatJob):
        return ROUNDS_PER_BLOCK
    return job.terms.rounds if isinstance(job, SessionJob) else job.rounds


@contextmanager
def _crew(crewing: Crewing) -> Iterator[WorkerPool]:
    from threedice.sim.runner import dask_pool, thread_pool

    if crewing.cluster is None:
        with thread_pool(crewing.threads, crewing.device) as crew:
            yield crew
    else:
        if crewing.threads is not None:
            raise InvalidInput("the workers of a cluster have threads of their own; leave one out")
        with dask_pool(crewing.cluster, crewing.device) as crew:
            yield crew


def _kept(file: Path, job: AnyJob, tally: Tally) -> str:
    """Put by what is done, and say how to go on, or why that cannot be."""
    from threedice.sim.runner import save_progress

    try:
        save_progress(file, job, tally)
    except InvalidInput as error:
        return f"it cannot be gone on with: {error}\n"
    own = ("--resume", str(file), f"--resume={file}")
    words = [word for word in sys.argv[1:] if word not in own]
    again = shlex.join(["threedice", *words, "--resume", str(file)])
    return f"go on with: {again}\n"


# --- what is asked ------------------------------------------------------------------------------


def _job(game: Game, asked: Asked, crewing: Crewing) -> tuple[AnyJob, tuple[SimulatedPlayer, ...]]:
    """Return the job that is asked for, and who sits at the table if it is one."""
    if asked.rounds is None:
        raise InvalidInput("say how many rounds to play with --rounds")
    if asked.players:
        _refuse_idle(asked, "a table of players", _OF_A_PLAYER)
        return _table(game, asked, [_seat(words) for words in asked.players])
    bets = read_bets(game, asked.bets)
    if asked.plan or asked.bankroll is not None or asked.box:
        _refuse_idle(asked, "sessions of one player", ("differential",))
        return _sessions(game, asked, bets, paths=crewing.device == "cpu"), ()
    _refuse_idle(asked, "flat bets", _OF_A_SESSION)
    if not bets:
        raise InvalidInput(
            "nothing to simulate; give --bet for flat bets, --plan for sessions of a player, or "
            "--player for a table"
        )
    if any(game.box(each).throws > 1 for each in bets):
        return _table(game, asked, [_shooting(bets)])
    from threedice.sim.simulation import flat_job

    return flat_job(bets, game, rounds=asked.rounds, seed=asked.seed), ()


_OF_A_PLAYER: Final = ("plan", "box", "base", "bankroll", "stop_loss", "stop_win")
_OF_A_SESSION: Final = ("base", "maximum", "stop_loss", "stop_win", "differential", "minimum")
_GIVE: Final = {
    "a table of players": "write it into a --player",
    "sessions of one player": "give --player instead of --plan",
    "flat bets": "give --plan as well",
}


def _refuse_idle(asked: Asked, what: str, names: tuple[str, ...]) -> None:
    """Refuse options that mean nothing for what is asked, rather than leave them unheard."""
    given = [name for name in names if getattr(asked, name) not in (None, 0)]
    idle = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    if idle:
        raise InvalidInput(f"{idle} means nothing for {what}; leave it out or {_GIVE[what]}")


def _sessions(game: Game, asked: Asked, bets: dict[str, Any], *, paths: bool) -> AnyJob:
    from threedice.sim.simulation import session_job

    if bool(bets) == bool(asked.box):
        raise InvalidInput("say what to stake on: either --box ID with --base, or --bet")
    base = asked.base or sum(bets.values())
    if not base:
        raise InvalidInput("say what the plan begins with: --base AMOUNT")
    if asked.bankroll is None:
        raise InvalidInput("say what the player brings: --bankroll AMOUNT")
    return session_job(
        game,
        plan=asked.plan or "flat",
        box=asked.box or {box: int(each) for box, each in bets.items()},
        bankroll=asked.bankroll,
        base=base,
        rounds=asked.rounds or 0,
        sessions=asked.sessions,
        minimum=asked.minimum,
        maximum=asked.maximum,
        stop_loss=asked.stop_loss,
        stop_win=asked.stop_win,
        line=read_line(asked.line),
        seed=asked.seed,
        paths=paths,
    )


def read_line(text: str) -> tuple[int, ...]:
    """Read the line of a Labouchere.

    >>> read_line("1,2,3,4")
    (1, 2, 3, 4)
    """
    return tuple(parse_amount(each.strip()) for each in text.split(","))


def _table(
    game: Game, asked: Asked, seats: list[SimulatedPlayer]
) -> tuple[AnyJob, tuple[SimulatedPlayer, ...]]:
    from threedice.sim.table_setup import table_job

    if asked.bets and asked.players:
        raise InvalidInput("put the bets of each player into his --player; leave --bet out")
    job = table_job(
        game,
        seats,
        rounds=asked.rounds or 0,
        sessions=asked.sessions,
        minimum=asked.minimum or 1,
        maximum=asked.maximum,
        differential=asked.differential,
        seed=asked.seed,
    )
    return job, tuple(seats)


def _shooting(bets: dict[str, Any]) -> SimulatedPlayer:
    from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

    return SimulatedPlayer(
        "player", tuple(PlannedBet(box, int(stake)) for box, stake in bets.items())
    )


_OWN: Final = ("bankroll", "stop-loss", "stop-win")


def _seat(words: str) -> SimulatedPlayer:
    """Read a player: his name, then what he brings and BOX=AMOUNT or BOX=AMOUNT@PLAN."""
    from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

    name, *rest = words.split() or [""]
    if not name or "=" in name:
        raise InvalidInput(f"{words!r} is no player; give his name first, such as 'ann big=10'")
    own: dict[str, int] = {}
    placed = []
    for word in rest:
        box, equals, value = word.rpartition("=")
        if not equals:
            raise InvalidInput(f"{word!r} is no bet of {name}; give BOX=AMOUNT, such as big=10")
        if box in _OWN:
            own[box] = parse_amount(value)
            continue
        stake, _, plan = value.partition("@")
        placed.append(PlannedBet(box, parse_amount(stake), plan or "flat"))
    return SimulatedPlayer(
        name, tuple(placed), own.get("bankroll"), own.get("stop-loss"), own.get("stop-win")
    )


def _study(
    game: Game, asked: Asked, seats: tuple[SimulatedPlayer, ...], job: AnyJob, tally: Tally
) -> tuple[Game, Study]:
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

    if isinstance(job, SessionJob):
        return game, SessionStudy(job, tally)
    if isinstance(job, FlatJob):
        return game, FlatStudy(game, read_bets(game, asked.bets), job, tally)
    return game, TableStudy(game, seats, job, tally)
