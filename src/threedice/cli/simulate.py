"""`threedice simulate`: build a simulation job from options, run it, save and resume it.

The package `threedice.sim` needs numpy and numba, so it is imported within the functions that use
it, and `threedice simulate --help` works without them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
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
    option,
    parse_bets,
    repeatable,
)
from threedice.cli.output import choose_format, print_stderr, progress_bar
from threedice.errors import InvalidInput
from threedice.extras import require_extra
from threedice.money import parse_amount
from threedice.rulebook import Game

if TYPE_CHECKING:
    from threedice.sim.jobs import AnyJob, Tally
    from threedice.sim.runner import WorkerPool
    from threedice.sim.simulation import Study
    from threedice.sim.table_setup import SimulatedPlayer

commands = command_group()

INTERRUPTED_EXIT_CODE: Final = 130
"""The exit code of a command that the user interrupts."""
_SAVE_INTERVAL_SECONDS: Final = 30


Simulation = tuple["AnyJob", "Callable[[Tally], Study]"]
"""A job, and the function that builds the study of its tally."""


@commands.command("simulate")
def simulate(
    name: GameArgument,
    bet: Annotated[
        list[str] | None,
        option(
            "BOX=AMOUNT",
            "A bet in every round; may be repeated. With --plan, the proportions that divide "
            "each stake; their sum is the base stake unless --base is given.",
        ),
    ] = None,
    plan: Annotated[
        str | None,
        option(
            "PLAN",
            "flat, martingale, grand-martingale, paroli, dalembert, fibonacci, labouchere, "
            "oscars-grind, or FILE.py:FUNCTION.",
        ),
    ] = None,
    box: Annotated[str | None, option("ID", "The box that a plan bets on.")] = None,
    base: Annotated[int | None, typer.Option(help="The base stake of a plan.")] = None,
    bankroll: Annotated[int | None, typer.Option(help="The bankroll of the player.")] = None,
    minimum: Annotated[int, typer.Option(help="The table minimum.")] = 0,
    maximum: Annotated[int | None, typer.Option(help="The table maximum.")] = None,
    stop_loss: Annotated[int | None, typer.Option(help="Leave after losing this much.")] = None,
    stop_win: Annotated[int | None, typer.Option(help="Leave after winning this much.")] = None,
    line: Annotated[
        str, option("1,2,3,4", "The line of a labouchere, in base stakes.")
    ] = "1,2,3,4",
    player: Annotated[
        list[str] | None,
        repeatable(
            "'NAME BOX=AMOUNT[@PLAN] ...'",
            "A player at the table, optionally with bankroll=, stop-loss= and stop-win=",
        ),
    ] = None,
    differential: Annotated[
        int | None, typer.Option(help="The maximum differential, with --player.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="The rounds of a session; of flat bets, the rounds in total.")
    ] = None,
    sessions: Annotated[int, typer.Option(help="The number of sessions.")] = 100_000,
    seed: Annotated[
        int, typer.Option(help="The seed; the same seed gives the same dice on every machine.")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(help="The number of threads; one per processor if omitted.")
    ] = None,
    device: Annotated[str, option("cpu|gpu", "The device to run on.")] = "cpu",
    cluster: Annotated[
        str | None, option("URL", "Run on the Dask scheduler at URL, such as tcp://127.0.0.1:8786.")
    ] = None,
    resume: Annotated[
        Path | None, option("FILE", "Resume from FILE if it exists, and save progress to it.")
    ] = None,
    parquet: Annotated[
        Path | None,
        option("FILE", "Also write every round to this new Parquet file; not for --player."),
    ] = None,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Simulate flat bets, a player's sessions or a whole table.

    With --bet alone, the same bets in every round. With --plan or --bankroll, sessions of a
    player. With --player, sessions of a table. Ctrl-C prints the results so far and the command
    that resumes the simulation. --parquet needs the extra "research"; the columns are described in
    docs/reference/parquet.md.
    """
    if parquet is not None:
        _check_history_options(resume=resume, cluster=cluster, device=device)
    from threedice.cli.simulation_report import print_study

    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    game = load_game(name, reading)
    if rounds is None:
        raise InvalidInput("the number of rounds is missing; give --rounds")
    bets = parse_bets(game, bet or [])
    if player:
        _refuse_unused_options(
            "a table of players", plan=plan, box=box, base=base, bankroll=bankroll,
            stop_loss=stop_loss, stop_win=stop_win,
        )  # fmt: skip
        if bets:
            raise InvalidInput("put the bets of each player into their --player; leave --bet out")
        job, build_study = _build_table(
            game, [_parse_player(each) for each in player], rounds=rounds, sessions=sessions,
            minimum=minimum or 1, maximum=maximum, differential=differential, seed=seed,
        )  # fmt: skip
    elif plan or bankroll is not None or box:
        _refuse_unused_options("sessions of one player", differential=differential)
        job, build_study = _build_sessions(
            game, bets, box, base, bankroll, plan=plan or "flat", rounds=rounds, sessions=sessions,
            minimum=minimum, maximum=maximum, stop_loss=stop_loss, stop_win=stop_win,
            line=parse_labouchere_line(line), seed=seed, paths=device == "cpu",
        )  # fmt: skip
    else:
        _refuse_unused_options(
            "flat bets", base=base, maximum=maximum, stop_loss=stop_loss, stop_win=stop_win,
            differential=differential, minimum=minimum,
        )  # fmt: skip
        job, build_study = _build_flat_bets(game, bets, rounds, sessions, seed)
    check_page_file(html)
    _check_history_file(job, parquet)
    workers = _open_workers(threads, device, cluster)
    tally, next_step = _run(job, workers, resume)
    if parquet is not None and not next_step:
        _write_history(build_study(tally), game, bets or {box or "": 1}, parquet)
    if tally.units:
        print_study(game, build_study(tally), output_format, html)
    if next_step:
        print_stderr(f"stopped with {tally.units / job.units:.1%} done; {next_step}")
        raise typer.Exit(INTERRUPTED_EXIT_CODE)


def _run(
    job: AnyJob, workers: AbstractContextManager[WorkerPool], resume: Path | None
) -> tuple[Tally, str]:
    """Run a job from its saved progress; return its tally and, if interrupted, how to resume."""
    from threedice.sim.runner import SimulationInterrupt, load_progress, save_progress

    so_far = load_progress(resume, job) if resume else job.empty_tally()
    try:
        tally = _run_remaining(job, workers, so_far, resume)
    except SimulationInterrupt as interrupt:
        file = resume or Path(f"threedice-{interrupt.tally.units}-done.json")
        return interrupt.tally, _save_interrupted(file, job, interrupt.tally)
    if resume:
        save_progress(resume, job, tally)
    return tally, ""


def _run_remaining(
    job: AnyJob, workers: AbstractContextManager[WorkerPool], so_far: Tally, resume: Path | None
) -> Tally:
    """Run the rest of a job, show its progress, and save it to `resume` at intervals."""
    from threedice.sim.runner import run_job, save_progress

    rounds_per_unit = _rounds_per_unit(job)
    saved_at = monotonic() - _SAVE_INTERVAL_SECONDS
    total = job.units * rounds_per_unit
    with workers as pool, progress_bar("rounds", total) as show:

        def report(tally: Tally) -> None:
            nonlocal saved_at
            show(tally.units * rounds_per_unit)
            if resume and monotonic() - saved_at >= _SAVE_INTERVAL_SECONDS:
                save_progress(resume, job, tally)
                saved_at = monotonic()

        return run_job(job, pool, so_far, report)


def _check_history_options(*, resume: Path | None, cluster: str | None, device: str) -> None:
    """Raise an error if a history needs an extra, or does not go with these options."""
    require_extra("research", "simulate --parquet")
    elsewhere = None if device == "cpu" else device
    _refuse_unused_options(
        "a simulation with --parquet", resume=resume, cluster=cluster, device=elsewhere
    )


def _check_history_file(job: AnyJob, file: Path | None) -> None:
    """Raise InvalidInput for a history that cannot be written, before any work starts."""
    from threedice.sim.jobs import TableJob

    if file is None:
        return
    if isinstance(job, TableJob):
        raise InvalidInput(
            "a history is written of bets that one roll decides, or of sessions of one player; "
            "leave --parquet out for a table"
        )
    if file.exists():
        raise InvalidInput(f"{file} exists already; name a new one")


def _write_history(study: Study, game: Game, bets: Mapping[str, int], file: Path) -> None:
    """Write the rounds of a simulation, and compare their totals with those of its study."""
    from threedice.research.histories import check_history, write_history
    from threedice.sim.studies import FlatStudy, SessionStudy

    if isinstance(study, FlatStudy | SessionStudy):
        job = study.job
        total = study.rounds if isinstance(study, FlatStudy) else study.sessions
        with progress_bar("writing", total) as show:
            check_history(write_history(job, game, bets, file, show), study)


def _rounds_per_unit(job: AnyJob) -> int:
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.kernels.roll_counts import ROUNDS_PER_BLOCK

    if isinstance(job, FlatJob):
        return ROUNDS_PER_BLOCK
    return job.terms.rounds if isinstance(job, SessionJob) else job.rounds


def _open_workers(
    threads: int | None, device: str, cluster: str | None
) -> AbstractContextManager[WorkerPool]:
    from threedice.sim.runner import dask_pool, thread_pool

    if cluster is None:
        return thread_pool(threads, device)
    if threads is not None:
        raise InvalidInput(
            "--threads does not apply to --cluster, whose workers set it; leave one out"
        )
    return dask_pool(cluster, device)


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


_REMEDIES: Final = {
    "a table of players": "write it into a --player",
    "sessions of one player": "give --player instead of --plan",
    "flat bets": "give --plan as well",
    "a simulation with --parquet": "write the history on this machine",
}


def _refuse_unused_options(simulation: str, **options: object) -> None:
    """Raise InvalidInput for given options that the kind of simulation would ignore."""
    given = [name for name, value in options.items() if value not in (None, 0)]
    unused = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    if unused:
        raise InvalidInput(
            f"{unused} does not apply to {simulation}; leave it out or {_REMEDIES[simulation]}"
        )


def _build_sessions(
    game: Game,
    bets: Mapping[str, int],
    box: str | None,
    base: int | None,
    bankroll: int | None,
    **terms: Any,
) -> Simulation:
    from threedice.sim.simulation import session_job
    from threedice.sim.studies import SessionStudy

    if bool(bets) == bool(box):
        raise InvalidInput(
            "the box to bet on is missing; give either --box ID with --base, or --bet"
        )
    base = base or sum(bets.values())
    if not base:
        raise InvalidInput("the base stake of the plan is missing; give --base AMOUNT")
    if bankroll is None:
        raise InvalidInput("the bankroll of the player is missing; give --bankroll AMOUNT")
    job = session_job(game, box=box or bets, base=base, bankroll=bankroll, **terms)
    return job, partial(SessionStudy, job)


def parse_labouchere_line(text: str) -> tuple[int, ...]:
    """Parse the line of a labouchere.

    >>> parse_labouchere_line("1,2,3,4")
    (1, 2, 3, 4)
    """
    return tuple(parse_amount(each.strip()) for each in text.split(","))


def _build_flat_bets(
    game: Game, bets: Mapping[str, int], rounds: int, sessions: int, seed: int
) -> Simulation:
    """Return the simulation of flat bets: a table if some take several throws to settle."""
    from threedice.sim.simulation import flat_job
    from threedice.sim.studies import FlatStudy
    from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

    if not bets:
        raise InvalidInput(
            "nothing to simulate; give --bet for flat bets, --plan for sessions of a player, or "
            "--player for a table"
        )
    if any(game.box(each).throws > 1 for each in bets):
        planned = tuple(PlannedBet(box, stake) for box, stake in bets.items())
        players = [SimulatedPlayer("player", planned)]
        return _build_table(game, players, rounds=rounds, sessions=sessions, seed=seed)
    job = flat_job(bets, game, rounds=rounds, seed=seed)
    return job, partial(FlatStudy, game, bets, job)


def _build_table(game: Game, players: Sequence[SimulatedPlayer], **terms: Any) -> Simulation:
    from threedice.sim.studies import TableStudy
    from threedice.sim.table_setup import table_job

    job = table_job(game, players, **terms)
    return job, partial(TableStudy, game, tuple(players), job)


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
