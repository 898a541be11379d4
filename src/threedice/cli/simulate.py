"""`threedice simulate`: build a simulation job from options, run it, save and resume it.

The package `threedice.sim` needs numpy and numba, so it is imported within the functions that use
it, and `threedice simulate --help` works without them.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from threedice.cli.arguments import (
    CsvOption,
    GameArgument,
    HtmlOption,
    JsonOption,
    ReadingsOption,
    check_page_file,
    command_group,
    load_game,
    parse_bets,
)
from threedice.cli.output import OutputFormat, choose_format, print_stderr, progress_bar
from threedice.errors import InvalidInput
from threedice.money import parse_amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Game
    from threedice.sim.jobs import Tally
    from threedice.sim.runner import AnyJob, WorkerPool
    from threedice.sim.simulation import Study
    from threedice.sim.table_setup import SimulatedPlayer

commands = command_group()

INTERRUPTED_EXIT_CODE: Final = 130
"""The exit code of a command that the user interrupts."""
_SAVE_INTERVAL_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options that describe the simulation; the fields have the names of the options."""

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
class WorkerOptions:
    """The options that say where the simulation runs."""

    threads: int | None
    device: str
    cluster: str | None


@commands.command("simulate")
def simulate(
    game: GameArgument,
    bet: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOX=AMOUNT",
            help="A bet in every round; may be repeated. With --plan, the proportions that divide "
            "each stake; their sum is the base stake unless --base is given.",
        ),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="flat, martingale, grand-martingale, paroli, dalembert, fibonacci, labouchere, "
            "oscars-grind, or FILE.py:FUNCTION.",
        ),
    ] = None,
    box: Annotated[
        str | None, typer.Option(metavar="ID", help="The box that a plan bets on.")
    ] = None,
    base: Annotated[int | None, typer.Option(help="The base stake of a plan.")] = None,
    bankroll: Annotated[int | None, typer.Option(help="The bankroll of the player.")] = None,
    minimum: Annotated[int, typer.Option(help="The table minimum.")] = 0,
    maximum: Annotated[int | None, typer.Option(help="The table maximum.")] = None,
    stop_loss: Annotated[int | None, typer.Option(help="Leave after losing this much.")] = None,
    stop_win: Annotated[int | None, typer.Option(help="Leave after winning this much.")] = None,
    line: Annotated[
        str, typer.Option(metavar="1,2,3,4", help="The line of a labouchere, in base stakes.")
    ] = "1,2,3,4",
    player: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME BOX=AMOUNT[@PLAN] ...'",
            help="A player at the table, optionally with bankroll=, stop-loss= and stop-win=; may "
            "be repeated.",
        ),
    ] = None,
    differential: Annotated[
        int | None, typer.Option(help="The maximum differential, with --player.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="The rounds of a session; of flat bets, the rounds in total."),
    ] = None,
    sessions: Annotated[int, typer.Option(help="The number of sessions.")] = 100_000,
    seed: Annotated[
        int, typer.Option(help="The seed; the same seed gives the same dice on every machine.")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(help="The number of threads; one per processor if omitted.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="cpu|gpu", help="The device to run on.")] = "cpu",
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Run on the Dask scheduler at URL, such as tcp://127.0.0.1:8786."
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Resume from FILE if it exists, and save progress to it."
        ),
    ] = None,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Simulate flat bets, a player's sessions or a whole table.

    With --bet alone, the same bets in every round. With --plan or --bankroll, sessions of a
    player. With --player, sessions of a table. Ctrl-C prints the results so far and the command
    that resumes the simulation.
    """
    options = SimulationOptions(
        game=game,
        bets=tuple(bet or ()),
        plan=plan,
        box=box,
        base=base,
        bankroll=bankroll,
        minimum=minimum,
        maximum=maximum,
        stop_loss=stop_loss,
        stop_win=stop_win,
        line=line,
        players=tuple(player or ()),
        differential=differential,
        rounds=rounds,
        sessions=sessions,
        seed=seed,
        readings=tuple(reading or ()),
    )
    worker_options = WorkerOptions(threads, device, cluster)
    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    raise typer.Exit(run_simulation(options, worker_options, resume, output_format, html))


def run_simulation(
    options: SimulationOptions,
    worker_options: WorkerOptions,
    resume: Path | None,
    output_format: OutputFormat,
    html: Path | None,
) -> int:
    """Run the simulation, print its results, and return the exit code."""
    from threedice.cli.simulation_report import print_study
    from threedice.sim.runner import SimulationInterrupt, load_progress, save_progress

    game = load_game(options.game, options.readings)
    job, players = _build_job(game, options, worker_options)
    check_page_file(html)
    so_far = load_progress(resume, job) if resume else job.empty_tally()
    try:
        tally = _run_remaining(job, worker_options, so_far, resume)
    except SimulationInterrupt as interrupt:
        tally = interrupt.tally
        file = resume or Path(f"threedice-{tally.units}-done.json")
        next_step = _save_interrupted(file, job, tally)
        if tally.units:
            print_study(game, _build_study(game, options, players, job, tally), output_format, html)
        print_stderr(f"stopped with {tally.units / job.units:.1%} done; {next_step}")
        return INTERRUPTED_EXIT_CODE
    if resume:
        save_progress(resume, job, tally)
    print_study(game, _build_study(game, options, players, job, tally), output_format, html)
    return 0


def _run_remaining(
    job: AnyJob, worker_options: WorkerOptions, so_far: Tally, resume: Path | None
) -> Tally:
    """Run the rest of a job, show its progress, and save it to `resume` at intervals."""
    from threedice.sim.runner import run_job, save_progress

    rounds_per_unit = _rounds_per_unit(job)
    saved_at = monotonic() - _SAVE_INTERVAL_SECONDS
    total = job.units * rounds_per_unit
    with _open_workers(worker_options) as workers, progress_bar("rounds", total) as show:

        def report(tally: Tally) -> None:
            nonlocal saved_at
            show(tally.units * rounds_per_unit)
            if resume and monotonic() - saved_at >= _SAVE_INTERVAL_SECONDS:
                save_progress(resume, job, tally)
                saved_at = monotonic()

        return run_job(job, workers, so_far, report)


def _rounds_per_unit(job: AnyJob) -> int:
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.kernels.roll_counts import ROUNDS_PER_BLOCK

    if isinstance(job, FlatJob):
        return ROUNDS_PER_BLOCK
    return job.terms.rounds if isinstance(job, SessionJob) else job.rounds


@contextmanager
def _open_workers(options: WorkerOptions) -> Iterator[WorkerPool]:
    from threedice.sim.runner import dask_pool, thread_pool

    if options.cluster is None:
        with thread_pool(options.threads, options.device) as workers:
            yield workers
    else:
        if options.threads is not None:
            raise InvalidInput(
                "--threads does not apply to --cluster, whose workers set it; leave one out"
            )
        with dask_pool(options.cluster, options.device) as workers:
            yield workers


def _save_interrupted(file: Path, job: AnyJob, tally: Tally) -> str:
    """Save progress and return how to resume, or why the progress could not be saved."""
    from threedice.sim.runner import save_progress

    try:
        save_progress(file, job, tally)
    except InvalidInput as error:
        return f"it cannot be resumed: {error}"
    resume_words = ("--resume", str(file), f"--resume={file}")
    words = [word for word in sys.argv[1:] if word not in resume_words]
    return f"resume with: {shlex.join(['threedice', *words, '--resume', str(file)])}"


# --- jobs from options --------------------------------------------------------------------------


def _build_job(
    game: Game, options: SimulationOptions, worker_options: WorkerOptions
) -> tuple[AnyJob, tuple[SimulatedPlayer, ...]]:
    """Return the job that the options describe, and the players if it is a table."""
    if options.rounds is None:
        raise InvalidInput("the number of rounds is missing; give --rounds")
    if options.players:
        _refuse_unused_options(options, "a table of players", _PLAYER_OPTION_NAMES)
        return _build_table_job(game, options, [_parse_player(each) for each in options.players])
    bets = parse_bets(game, options.bets)
    if options.plan or options.bankroll is not None or options.box:
        _refuse_unused_options(options, "sessions of one player", ("differential",))
        paths = worker_options.device == "cpu"
        return _build_session_job(game, options, bets, paths=paths), ()
    _refuse_unused_options(options, "flat bets", _SESSION_OPTION_NAMES)
    if not bets:
        raise InvalidInput(
            "nothing to simulate; give --bet for flat bets, --plan for sessions of a player, or "
            "--player for a table"
        )
    if any(game.box(each).throws > 1 for each in bets):
        return _build_table_job(game, options, [_player_of_bets(bets)])
    from threedice.sim.simulation import flat_job

    return flat_job(bets, game, rounds=options.rounds, seed=options.seed), ()


_PLAYER_OPTION_NAMES: Final = ("plan", "box", "base", "bankroll", "stop_loss", "stop_win")
_SESSION_OPTION_NAMES: Final = (
    "base",
    "maximum",
    "stop_loss",
    "stop_win",
    "differential",
    "minimum",
)
_REMEDIES: Final = {
    "a table of players": "write it into a --player",
    "sessions of one player": "give --player instead of --plan",
    "flat bets": "give --plan as well",
}


def _refuse_unused_options(
    options: SimulationOptions, simulation: str, names: tuple[str, ...]
) -> None:
    """Raise InvalidInput for options that the kind of simulation would ignore."""
    given = [name for name in names if getattr(options, name) not in (None, 0)]
    unused = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    if unused:
        raise InvalidInput(
            f"{unused} does not apply to {simulation}; leave it out or {_REMEDIES[simulation]}"
        )


def _build_session_job(
    game: Game, options: SimulationOptions, bets: dict[str, Any], *, paths: bool
) -> AnyJob:
    from threedice.sim.simulation import session_job

    if bool(bets) == bool(options.box):
        raise InvalidInput(
            "the box to bet on is missing; give either --box ID with --base, or --bet"
        )
    base = options.base or sum(bets.values())
    if not base:
        raise InvalidInput("the base stake of the plan is missing; give --base AMOUNT")
    if options.bankroll is None:
        raise InvalidInput("the bankroll of the player is missing; give --bankroll AMOUNT")
    return session_job(
        game,
        plan=options.plan or "flat",
        box=options.box or {box: int(stake) for box, stake in bets.items()},
        bankroll=options.bankroll,
        base=base,
        rounds=options.rounds or 0,
        sessions=options.sessions,
        minimum=options.minimum,
        maximum=options.maximum,
        stop_loss=options.stop_loss,
        stop_win=options.stop_win,
        line=parse_labouchere_line(options.line),
        seed=options.seed,
        paths=paths,
    )


def parse_labouchere_line(text: str) -> tuple[int, ...]:
    """Parse the line of a labouchere.

    >>> parse_labouchere_line("1,2,3,4")
    (1, 2, 3, 4)
    """
    return tuple(parse_amount(each.strip()) for each in text.split(","))


def _build_table_job(
    game: Game, options: SimulationOptions, players: list[SimulatedPlayer]
) -> tuple[AnyJob, tuple[SimulatedPlayer, ...]]:
    from threedice.sim.table_setup import table_job

    if options.bets and options.players:
        raise InvalidInput("put the bets of each player into their --player; leave --bet out")
    job = table_job(
        game,
        players,
        rounds=options.rounds or 0,
        sessions=options.sessions,
        minimum=options.minimum or 1,
        maximum=options.maximum,
        differential=options.differential,
        seed=options.seed,
    )
    return job, tuple(players)


def _player_of_bets(bets: dict[str, Any]) -> SimulatedPlayer:
    """Return the player of flat bets, some of which take several throws to settle."""
    from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

    return SimulatedPlayer(
        "player", tuple(PlannedBet(box, int(stake)) for box, stake in bets.items())
    )


_PLAYER_TERMS: Final = ("bankroll", "stop-loss", "stop-win")


def _parse_player(text: str) -> SimulatedPlayer:
    """Parse a player: a name, then bankroll=, stop-loss=, stop-win= and BOX=AMOUNT[@PLAN]."""
    from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

    name, *words = text.split() or [""]
    if not name or "=" in name:
        raise InvalidInput(f"{text!r} is not a player; give a name first, such as 'ann big=10'")
    terms: dict[str, int] = {}
    bets = []
    for word in words:
        key, equals, value = word.rpartition("=")
        if not equals:
            raise InvalidInput(f"{word!r} is not a bet of {name}; give BOX=AMOUNT, such as big=10")
        if key in _PLAYER_TERMS:
            terms[key] = parse_amount(value)
            continue
        stake, _, plan = value.partition("@")
        bets.append(PlannedBet(key, parse_amount(stake), plan or "flat"))
    return SimulatedPlayer(
        name, tuple(bets), terms.get("bankroll"), terms.get("stop-loss"), terms.get("stop-win")
    )


def _build_study(
    game: Game,
    options: SimulationOptions,
    players: tuple[SimulatedPlayer, ...],
    job: AnyJob,
    tally: Tally,
) -> Study:
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

    if isinstance(job, SessionJob):
        return SessionStudy(job, tally)
    if isinstance(job, FlatJob):
        return FlatStudy(game, parse_bets(game, options.bets), job, tally)
    return TableStudy(game, players, job, tally)
