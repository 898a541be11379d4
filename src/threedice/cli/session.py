"""`threedice session`: the odds of a bankroll under a staking plan, exact or simulated.

Simulation needs the extra `sim`, which is imported only where a session is simulated.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from threedice.cli.arguments import (
    CsvOption,
    GameArgument,
    HtmlOption,
    JsonOption,
    MaximumOption,
    MinimumOption,
    ReadingsOption,
    check_memory,
    check_page_file,
    command_group,
    load_game,
    option,
    parse_bets,
)
from threedice.cli.output import (
    choose_format,
    defer_interrupt,
    figure_json,
    format_money,
    format_probability,
    game_json,
    print_csv,
    print_game,
    print_json,
    print_line,
    print_stderr,
    print_table,
    progress_bar,
    report_interrupted,
    write_page,
)
from threedice.errors import InvalidInput
from threedice.money import MAX_AMOUNT
from threedice.odds import BettingSession, InfeasibleComputation, SessionOdds, StakingPlan, spread
from threedice.odds.sessions.session import ENDINGS, SessionEnding
from threedice.odds.sessions.session_odds import FAN_QUANTILES, start_calculation
from threedice.pages.distribution import DISTRIBUTION_QUANTILES
from threedice.pages.session import (
    ENDING_TEXTS,
    describe_session,
    describe_session_method,
    session_page,
)

if TYPE_CHECKING:
    from threedice.sim.jobs import SessionJob, Tally
    from threedice.sim.studies import SessionStudy

commands = command_group()

SESSION_METHODS: Final = ("exact", "float64", "simulate")
CalculationMethod = Literal["exact", "float64"]


@commands.command("session")
def show_session(
    name: GameArgument,
    plan: Annotated[
        str,
        option(
            "PLAN",
            "flat, martingale, grand-martingale, paroli, dalembert, fibonacci, labouchere or "
            "oscars-grind.",
        ),
    ],
    box: Annotated[
        list[str], option("BOX", "The box to bet on; repeat it as BOX=SHARE to divide each stake.")
    ],
    bankroll: Annotated[int, option("AMOUNT", "The bankroll of the player.")],
    base: Annotated[int, option("AMOUNT", "The base stake.")],
    rounds: Annotated[int, option("N", "The maximum number of rounds.")],
    minimum: MinimumOption = 0,
    maximum: MaximumOption = None,
    stop_loss: Annotated[int | None, option("AMOUNT", "Leave after losing this much.")] = None,
    stop_win: Annotated[int | None, option("AMOUNT", "Leave after winning this much.")] = None,
    line: Annotated[str, option("1,2,3,4", "The line of a labouchere, in base stakes.")] = "",
    method: Annotated[
        str | None,
        option(
            "HOW", "exact, float64 (bounded error) or simulate; the first feasible one if omitted."
        ),
    ] = None,
    states: Annotated[
        int, option("N", "The maximum number of states of an exact computation.", min=1)
    ] = 400_000,
    sessions: Annotated[int, option("N", "The number of sessions to simulate.", min=1)] = 1_000_000,
    seed: Annotated[int, option("SEED", "The seed of a simulation.")] = 1,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Print the odds of a bankroll under a staking plan.

    The odds are the risk of ruin, the endings, the final bankroll and its course.
    """
    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    if method is not None and method not in SESSION_METHODS:
        raise InvalidInput(f"{method!r} is not a method; give {', '.join(SESSION_METHODS)}")
    game = load_game(name, reading)
    shares = parse_bets(game, [each if "=" in each else f"{each}=1" for each in box])
    if line and plan != "labouchere":
        raise InvalidInput("--line is for the labouchere; leave it out")
    stakes = parse_labouchere_line(line) if line else (1, 2, 3, 4)
    session = BettingSession(
        spread(game, shares),
        StakingPlan(plan, base, maximum or MAX_AMOUNT, stakes),
        bankroll,
        rounds,
        minimum,
        stop_loss,
        stop_win,
    )
    check_page_file(html)
    odds = _compute(session, method, states, sessions, seed)
    match output_format:
        case "json":
            print_json(_as_json(odds), indent=None)
        case "csv":
            _print_csv(odds)
        case "html" if html:
            write_page(html, session_page(odds))
        case _:
            _print_text(odds)


def parse_labouchere_line(text: str) -> tuple[int, ...]:
    """Parse the line of a labouchere: whole numbers separated by commas."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise InvalidInput(f"{text!r} is not a line; give whole numbers such as 1,2,3,4") from None


# --- computation --------------------------------------------------------------------------------


def _compute(
    session: BettingSession, method: str | None, states: int, sessions: int, seed: int
) -> SessionOdds:
    """Compute the odds by the given method, or by the first that is feasible."""
    if method == "simulate":
        return simulate_session(session, sessions, seed)
    try:
        return _calculate(session, cast("CalculationMethod | None", method), states)
    except InfeasibleComputation as error:
        if method is not None:
            raise
        print_stderr(f"{error}: simulating {sessions:,} sessions instead")
        return simulate_session(session, sessions, seed)


def _calculate(
    session: BettingSession, method: CalculationMethod | None, max_states: int
) -> SessionOdds:
    """Return the odds of a session, after fewer rounds if the user interrupts."""
    calculation = start_calculation(session, method, max_states)
    check_memory(
        calculation.states.estimate_exact_bytes(session),
        f"a session of {len(calculation.states.bankrolls):,} states",
        "play fewer rounds or use --method simulate",
    )
    with progress_bar("rounds", session.rounds) as report, defer_interrupt() as is_interrupted:
        while calculation.rounds < session.rounds and not is_interrupted():
            calculation.advance()
            report(calculation.rounds)
    if calculation.rounds < session.rounds:
        report_interrupted(
            f"these are the first {calculation.rounds:,} of {session.rounds:,} rounds"
        )
    return calculation.odds()


# --- simulation ---------------------------------------------------------------------------------


def simulate_session(session: BettingSession, sessions: int, seed: int) -> SessionOdds:
    """Simulate sessions and return their results in the form of an exact answer."""
    from threedice.sim.simulation import session_job
    from threedice.sim.studies import SessionStudy

    plan = session.plan
    job = session_job(
        session.spread.game,
        plan=plan.name,
        box=dict(session.spread.shares),
        bankroll=session.bankroll,
        base=plan.base,
        rounds=session.rounds,
        sessions=sessions,
        minimum=session.minimum,
        maximum=None if plan.maximum == MAX_AMOUNT else plan.maximum,
        stop_loss=session.stop_loss,
        stop_win=session.stop_win,
        line=plan.line,
        seed=seed,
    )
    study = SessionStudy(job, _run_job(job))
    estimates = {"ruin": study.ruin, "mean_final": study.mean_final, "ahead": study.ahead}
    return SessionOdds(
        session=replace(session, plan=replace(plan, maximum=job.terms.maximum)),
        rounds=session.rounds,
        method="simulated",
        error=study.ruin.high - study.ruin.low,
        ending_probabilities=_endings_by_round(session, study),
        final_bankrolls=tuple(
            (each.low, each.times / study.sessions) for each in study.final_bankrolls
        ),
        fan=study.fan,
        simulated_sessions=study.sessions,
        confidence_intervals={name: (each.low, each.high) for name, each in estimates.items()},
        known_figures={
            "final": study.mean_final.value,
            "rounds": study.mean_rounds,
            "ahead": study.ahead.value,
            "level": study.level.value,
        },
        upper_bounds={
            each.low: each.high for each in study.final_bankrolls if each.high > each.low
        },
    )


def _run_job(job: SessionJob) -> Tally:
    """Run a job and return its tally, a partial one if the user interrupts."""
    from threedice.sim.runner import SimulationInterrupt, run_job, thread_pool

    try:
        with thread_pool() as workers, progress_bar("sessions", job.units) as report:
            return run_job(job, workers, report=lambda tally: report(tally.units))
    except SimulationInterrupt as interrupt:
        if not interrupt.tally.units:
            raise
        report_interrupted(
            f"these are the first {interrupt.tally.units:,} of {job.units:,} sessions"
        )
        return interrupt.tally


def _endings_by_round(
    session: BettingSession, study: SessionStudy
) -> dict[SessionEnding, tuple[float, ...]]:
    """Return for each ending the share of the sessions that end in each round."""
    from threedice.sim.kernels.sessions import bin_bounds

    precision_bits = study.job.terms.histograms.round_precision_bits
    shares: dict[SessionEnding, tuple[float, ...]] = {}
    for ending, row in zip(ENDINGS, study.tally.counts["ends"].tolist(), strict=True):
        by_round = [0.0] * (session.rounds + 1)
        for index, count in enumerate(row):
            last_round = min(bin_bounds(index, precision_bits)[1], session.rounds)
            by_round[last_round] += count / study.sessions
        shares[ending] = tuple(by_round)
    return shares


# --- text ---------------------------------------------------------------------------------------


def _print_text(odds: SessionOdds) -> None:
    session = odds.session
    print_game(session.spread.game, f"{session.plan.name} on {session.spread}")
    print_line(describe_session(session))
    print_line(describe_session_method(odds))
    rounds_to_ruin = odds.mean_rounds_to_ruin
    intervals = (
        (f"  {name.replace('_', ' ')}, 95 % interval", f"{low:.6g} to {high:.6g}")
        for name, (low, high) in odds.confidence_intervals.items()
    )
    rows: list[tuple[str, ...]] = [
        ("risk of ruin", format_probability(odds.ruin)),
        ("mean final bankroll", format_money(odds.mean_final)),
        ("leaves with more", format_probability(odds.ahead)),
        ("leaves with the same", format_probability(odds.level)),
        ("rounds played, on average", format_money(odds.mean_rounds)),
        (
            "rounds to ruin, of the ruined",
            "never" if rounds_to_ruin is None else format_money(rounds_to_ruin),
        ),
        *intervals,
    ]
    print_table(("", ""), rows, right={1}, heading="Session")
    rows = [(each, format_probability(odds.chance(each)), ENDING_TEXTS[each]) for each in ENDINGS]
    print_table(("ending", "probability", ""), rows, right={1}, heading="Endings")
    rows = [
        (f"{float(each) * 100:g} %", odds.format_quantile(each)) for each in DISTRIBUTION_QUANTILES
    ]
    print_table(("with probability", "no more than"), rows, right={1}, heading="Final bankroll")


# --- JSON and CSV -------------------------------------------------------------------------------


def _as_json(odds: SessionOdds) -> dict[str, Any]:
    session, plan = odds.session, odds.session.plan
    rounds_to_ruin = odds.mean_rounds_to_ruin
    return {
        **game_json(session.spread.game),
        "plan": plan.name,
        "line": list(plan.line) if plan.name == "labouchere" else None,
        "on": dict(session.spread.shares),
        "bankroll": session.bankroll,
        "base": plan.base,
        "minimum": session.min_stake,
        "maximum": plan.maximum,
        "stop_loss": session.stop_loss,
        "stop_win": session.stop_win,
        "rounds": session.rounds,
        "rounds_done": odds.rounds,
        "method": odds.method,
        "error": odds.error,
        "sessions": odds.simulated_sessions or None,
        "intervals_95": {name: list(each) for name, each in odds.confidence_intervals.items()},
        "ruin": figure_json(odds.ruin),
        "mean_final": figure_json(odds.mean_final),
        "ahead": figure_json(odds.ahead),
        "level": figure_json(odds.level),
        "mean_rounds": figure_json(odds.mean_rounds),
        "mean_rounds_to_ruin": None if rounds_to_ruin is None else figure_json(rounds_to_ruin),
        "endings": {each: figure_json(odds.chance(each)) for each in ENDINGS},
        "quantiles": [_quantile_json(odds, each) for each in DISTRIBUTION_QUANTILES],
        "final": [
            {
                "bankroll": bankroll,
                "up_to": odds.upper_bounds.get(bankroll, bankroll),
                **figure_json(share),
            }
            for bankroll, share in odds.final_bankrolls
        ],
        "by_round": {
            each: [float(share) for share in odds.ending_probabilities[each]] for each in ENDINGS
        },
        "fan": {
            "shares": [str(each) for each in FAN_QUANTILES],
            "rounds": [{"round": number, "bankroll": list(each)} for number, each in odds.fan],
        },
    }


def _quantile_json(odds: SessionOdds, share: Fraction) -> dict[str, Any]:
    bankroll = odds.quantile(share)
    return {
        "share": str(share),
        "bankroll": bankroll,
        "up_to": odds.upper_bounds.get(bankroll, bankroll),
    }


def _print_csv(odds: SessionOdds) -> None:
    """Print for each round the probability of each ending, and the bankroll quantiles if known."""
    bands = dict(odds.fan)
    columns = ["round", *(each.replace(" ", "-") for each in ENDINGS)]
    columns += [f"bankroll_{float(each) * 100:g}" for each in FAN_QUANTILES]
    empty = ("",) * len(FAN_QUANTILES)
    rows = (
        (
            number,
            *(format_probability(odds.ending_probabilities[each][number]) for each in ENDINGS),
            *bands.get(number, empty),
        )
        for number in range(odds.rounds + 1)
    )
    print_csv(columns, rows)
