"""`threedice session`: what becomes of a bankroll played by a staking plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from threedice.cli.arguments import read_bets, read_game
from threedice.cli.beyond_exact import simulated_session
from threedice.cli.counting import beside, check_memory, progress, stoppable, stopped
from threedice.cli.figures import (
    check_page,
    figure,
    identity,
    money,
    print_csv,
    probability,
    write_page,
)
from threedice.cli.odds import readings_line
from threedice.cli.output import print_heading, print_json, print_line, print_table
from threedice.errors import InvalidInput
from threedice.money import MAX_AMOUNT
from threedice.odds import BettingSession, InfeasibleComputation, SessionOdds, StakingPlan, spread
from threedice.odds.sessions.session import ENDINGS
from threedice.odds.sessions.session_odds import FAN_QUANTILES, start_calculation
from threedice.pages.distribution import DISTRIBUTION_QUANTILES
from threedice.pages.session import (
    ENDING_TEXTS,
    describe_session,
    describe_session_method,
    session_page,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from pathlib import Path

    from threedice.cli.odds import Form

METHODS: Final = ("exact", "float64", "simulate")


@dataclass(frozen=True)
class Asked:
    """What was typed: the plan and the money, and on what."""

    plan: str
    boxes: Sequence[str]
    bankroll: int
    base: int
    rounds: int
    minimum: int
    maximum: int | None
    stop_loss: int | None
    stop_win: int | None
    line: str
    states: int
    sessions: int
    seed: int


def show(
    name: str,
    asked: Asked,
    method: str | None,
    readings: Sequence[str],
    form: Form,
    html: Path | None,
) -> None:
    """Print, or write, what becomes of the session."""
    if method is not None and method not in METHODS:
        raise InvalidInput(f"{method!r} is no method; give {', '.join(METHODS)}")
    session = read_session(name, asked, readings)
    check_page(html)
    found = _found(session, asked, method)
    match form:
        case "json":
            print_json(_as_json(found), indent=None)
        case "csv":
            _print_csv(found)
        case "html" if html:
            write_page(html, session_page(found))
        case _:
            _print(found)


def read_session(name: str, asked: Asked, readings: Sequence[str]) -> BettingSession:
    """Read what was typed into a session."""
    game = read_game(name, readings)
    if not asked.boxes:
        raise InvalidInput("nothing to bet on; give --box big, or --box several times as BOX=SHARE")
    shares = read_bets(game, [each if "=" in each else f"{each}=1" for each in asked.boxes])
    if asked.line and asked.plan != "labouchere":
        raise InvalidInput("--line is for the labouchere; leave it out")
    line = read_line(asked.line) if asked.line else (1, 2, 3, 4)
    plan = StakingPlan(asked.plan, asked.base, asked.maximum or MAX_AMOUNT, line)
    return BettingSession(
        spread(game, shares),
        plan,
        asked.bankroll,
        asked.rounds,
        asked.minimum,
        asked.stop_loss,
        asked.stop_win,
    )


def read_line(text: str) -> tuple[int, ...]:
    """Read the line of a labouchere: whole numbers separated by commas."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise InvalidInput(f"{text!r} is no line; give whole numbers such as 1,2,3,4") from None


def _found(session: BettingSession, asked: Asked, method: str | None) -> SessionOdds:
    if method == "simulate":
        return simulated_session(session, asked.sessions, asked.seed)
    try:
        return _counted(session, "exact" if method == "exact" else _float(method), asked.states)
    except InfeasibleComputation as error:
        if method is not None:
            raise
        beside(f"{error}: simulating {asked.sessions:,} sessions instead")
        return simulated_session(session, asked.sessions, asked.seed)


def _float(method: str | None) -> Literal["float64"] | None:
    return "float64" if method else None


def _counted(
    session: BettingSession, method: Literal["exact", "float64"] | None, most_states: int
) -> SessionOdds:
    """Return the session's odds; those so far where somebody stops it."""
    reckoning = start_calculation(session, method, most_states)
    check_memory(
        reckoning.states.estimate_exact_bytes(session),
        f"a session of {len(reckoning.states.bankrolls):,} states",
        "play fewer rounds or use --method simulate",
    )
    with progress("rounds", session.rounds) as shown, stoppable() as asked_to_stop:
        while reckoning.rounds < session.rounds and not asked_to_stop():
            reckoning.advance()
            shown(reckoning.rounds)
    if reckoning.rounds < session.rounds:
        stopped(f"these are the first {reckoning.rounds:,} of {session.rounds:,} rounds")
    return reckoning.odds()


# --- text ---------------------------------------------------------------------------------------


def _print(found: SessionOdds) -> None:
    session = found.session
    game = session.spread.game
    print_line(f"{game.title} ({game.id}): {session.plan.name} on {session.spread}")
    print_line(f"hash {game.hash}; readings {readings_line(game)}")
    print_line(describe_session(session))
    print_line(describe_session_method(found))
    ruin_time = found.mean_rounds_to_ruin
    rows = [
        ("risk of ruin", probability(found.ruin)),
        ("mean final bankroll", money(found.mean_final)),
        ("leaves with more", probability(found.ahead)),
        ("leaves with the same", probability(found.level)),
        ("rounds played, on average", money(found.mean_rounds)),
        ("rounds to ruin, of the ruined", "never" if ruin_time is None else money(ruin_time)),
    ]
    rows += [
        (f"  {name.replace('_', ' ')}, 95 % sure", f"{low:.6g} to {high:.6g}")
        for name, (low, high) in found.confidence_intervals.items()
    ]
    print_heading("Session")
    print_table(("", ""), rows, right=frozenset({1}))
    print_heading("How it ends")
    print_table(
        ("ending", "probability", ""),
        [(each, probability(found.chance(each)), ENDING_TEXTS[each]) for each in ENDINGS],
        right=frozenset({1}),
    )
    print_heading("Final bankroll")
    print_table(
        ("with probability", "no more than"),
        [
            (f"{float(each) * 100:g} %", found.format_quantile(each))
            for each in DISTRIBUTION_QUANTILES
        ],
        right=frozenset({1}),
    )


# --- other forms --------------------------------------------------------------------------------


def _as_json(found: SessionOdds) -> dict[str, Any]:
    session, plan = found.session, found.session.plan
    ruin_time = found.mean_rounds_to_ruin
    return {
        **identity(session.spread.game),
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
        "rounds_done": found.rounds,
        "method": found.method,
        "error": found.error,
        "sessions": found.simulated_sessions or None,
        "intervals_95": {name: list(each) for name, each in found.confidence_intervals.items()},
        "ruin": figure(found.ruin),
        "mean_final": figure(found.mean_final),
        "ahead": figure(found.ahead),
        "level": figure(found.level),
        "mean_rounds": figure(found.mean_rounds),
        "mean_rounds_to_ruin": None if ruin_time is None else figure(ruin_time),
        "endings": {each: figure(found.chance(each)) for each in ENDINGS},
        "quantiles": [_quantile(found, each) for each in DISTRIBUTION_QUANTILES],
        "final": [
            {"bankroll": left, "up_to": found.upper_bounds.get(left, left), **figure(share)}
            for left, share in found.final_bankrolls
        ],
        "by_round": {
            each: [float(share) for share in found.ending_probabilities[each]] for each in ENDINGS
        },
        "fan": {
            "shares": [str(each) for each in FAN_QUANTILES],
            "rounds": [{"round": when, "bankroll": list(each)} for when, each in found.fan],
        },
    }


def _quantile(found: SessionOdds, share: Fraction) -> dict[str, Any]:
    left = found.quantile(share)
    return {"share": str(share), "bankroll": left, "up_to": found.upper_bounds.get(left, left)}


def _print_csv(found: SessionOdds) -> None:
    """Print a line for each round: what ended in it, and the fan where it was noted."""
    bands = dict(found.fan)
    columns = ["round", *(each.replace(" ", "-") for each in ENDINGS)]
    columns += [f"bankroll_{float(each) * 100:g}" for each in FAN_QUANTILES]
    empty = ("",) * len(FAN_QUANTILES)
    rows = (
        (
            when,
            *(probability(found.ending_probabilities[each][when]) for each in ENDINGS),
            *bands.get(when, empty),
        )
        for when in range(found.rounds + 1)
    )
    print_csv(columns, rows)
