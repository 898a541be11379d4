"""What came of a simulation, told: text, JSON, CSV, or a page."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from threedice.cli.figures import identity, print_csv, write_page
from threedice.cli.output import print_heading, print_json, print_line, print_table
from threedice.odds import Mix, box_figures
from threedice.pages.simulation import simulation_page
from threedice.sim.estimates import FAN_QUANTILES, format_bin
from threedice.sim.kernels.sessions import ENDING_NAMES
from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from threedice.cli.odds import Form
    from threedice.rulebook import Game
    from threedice.sim.estimates import Estimate
    from threedice.sim.kernels.sessions import HistogramBin
    from threedice.sim.simulation import Study

SHARES: Final = tuple(Fraction(each, 1000) for each in (1, 10, 50, 250, 500, 750, 950, 990, 999))
_COLUMNS: Final = ("", "estimate", "standard error", "95 % from", "to")


def tell(found: tuple[Game, Study], form: Form, html: Path | None) -> None:
    """Print a study, or write it to a page."""
    game, study = found
    match form:
        case "json":
            print_json({**identity(game), **as_json(study)}, indent=None)
        case "csv":
            _print_csv(study)
        case "html" if html:
            write_page(html, simulation_page(game, study))
        case _:
            _print(game, study)


def _print(game: Game, study: Study) -> None:
    print_line(f"{game.title} ({game.id})")
    match study:
        case SessionStudy():
            _print_sessions(study)
        case FlatStudy():
            _print_flat(study)
        case TableStudy():
            _print_table(study)


def _row(name: str, each: Estimate, places: int) -> tuple[str, ...]:
    numbers = (each.value, each.standard_error, each.low, each.high)
    return (name, *(f"{number:,.{places}f}" for number in numbers))


def _table(rows: list[tuple[str, ...]]) -> None:
    print_table(_COLUMNS, rows, right=frozenset(range(1, 5)))


# --- sessions -----------------------------------------------------------------------------------


def _print_sessions(study: SessionStudy) -> None:
    terms = study.job.terms
    print_line(
        f"{study.title}: bankroll {terms.bankroll}, base {terms.base}, stakes {terms.minimum} to "
        f"{terms.maximum}, {study.sessions:,} sessions of {terms.rounds} rounds, seed "
        f"{study.job.seed}"
    )
    print_heading("Sessions")
    rows = [_row(each, study.chance(each), 6) for each in ENDING_NAMES]
    rows.append(_row("ahead", study.ahead, 6))
    rows.append(_row("level", study.level, 6))
    rows.append(_row("mean final bankroll", study.mean_final, 3))
    rows.append(_row("staked in a session", study.mean_staked, 3))
    rows.append(_row("house edge", study.edge, 6))
    _table(rows)
    print_line(f"\nrounds played on average: {study.mean_rounds:.3f}")
    print_heading("Final bankroll")
    told = [(f"{float(share):.1%}", format_bin(study.quantile(share))) for share in SHARES]
    print_table(("with probability", "no more than"), told, right=frozenset((1,)))
    if study.final_bankrolls[-1].high >= study.exact_below:
        print_line(
            f"final bankrolls from {study.exact_below:,} up are counted to one part in "
            f"{study.bins_per_doubling:,}"
        )


def _sessions_json(study: SessionStudy) -> dict[str, Any]:
    terms = study.job.terms
    return {
        "plan": terms.plan,
        "on": study.job.on,
        "terms": {
            "bankroll": terms.bankroll, "base": terms.base, "minimum": terms.minimum,
            "maximum": terms.maximum, "rounds": terms.rounds, "stop_loss": terms.stop_loss,
            "stop_win": terms.stop_win, "step": terms.step,
        },
        "seed": study.job.seed,
        "sessions": study.sessions,
        "asked": study.job.sessions,
        "ends": {each: estimate(study.chance(each)) for each in ENDING_NAMES},
        "ruin": estimate(study.ruin),
        "ahead": estimate(study.ahead),
        "level": estimate(study.level),
        "mean_final": estimate(study.mean_final),
        "sd_final": study.sd_final,
        "mean_staked": estimate(study.mean_staked),
        "edge": estimate(study.edge),
        "mean_rounds": study.mean_rounds,
        "final": [list(each) for each in study.final_bankrolls],
        "final_exact_below": study.exact_below,
        "ruin_by_round": [list(each) for each in study.ruin_by_round],
        "bands": [float(each) for each in FAN_QUANTILES],
        "fan": [[when, *bands] for when, bands in study.fan],
    }  # fmt: skip


# --- flat bets ----------------------------------------------------------------------------------


def _print_flat(study: FlatStudy) -> None:
    print_line(f"{study.rounds:,} rounds, seed {study.job.seed}")
    print_heading("House edge")
    rows = []
    for box in study.bets:
        exact = box_figures(study.game.box(box)).edge
        rows.append((*_row(box, study.box_edge(box), 8), f"{float(exact):.8f}"))
    exact = study.mix.figures.edge
    rows.append((*_row("all bets", study.edge, 8), f"{float(exact):.8f}"))
    print_table((*_COLUMNS, "exactly"), rows, right=frozenset(range(1, 6)))
    print_line(
        f"\nwon in all: {float(study.net_result):,.2f}; chi-square of the rolls {_chi(study)}"
    )


def _chi(study: FlatStudy) -> str:
    return f"{study.chi_square:.1f} (215 expected)"


def _flat_json(study: FlatStudy) -> dict[str, Any]:
    return {
        "bets": {
            box: {
                "stake": stake,
                "edge": estimate(study.box_edge(box)),
                "exact": str(Mix(study.game, {box: 1}).figures.edge),
            }
            for box, stake in study.bets.items()
        },
        "seed": study.job.seed,
        "rounds": study.rounds,
        "edge": estimate(study.edge),
        "exact": str(study.mix.figures.edge),
        "won": str(study.net_result),
        "chi_square": study.chi_square,
        "rolls": list(study.roll_counts),
    }


# --- tables -------------------------------------------------------------------------------------


def _print_table(study: TableStudy) -> None:
    print_line(f"{study.sessions:,} sessions of {study.job.rounds} rounds, seed {study.job.seed}")
    for seat in study.players:
        print_heading(seat.name)
        rows = [
            _row("result of a session", study.mean_net(seat.name), 3),
            _row("staked in a session", study.mean_staked(seat.name), 3),
            *(_row(end, study.chance(seat.name, end), 6) for end in ENDING_NAMES[:3]),
        ]
        _table(rows)
    print_heading("The house")
    _table(
        [
            _row("win in a session", study.house_win, 3),
            _row("share of the stakes", study.hold, 6),
            _row("loses a session", study.house_loss_probability, 6),
        ]
    )
    told = [
        (f"{float(share):.1%}", format_bin(each))
        for share, each in zip(SHARES, study.quantiles("", SHARES), strict=True)
    ]
    print_line()
    print_table(("with probability", "wins no more than"), told, right=frozenset((1,)))


def _table_json(study: TableStudy) -> dict[str, Any]:
    return {
        "rounds": study.job.rounds,
        "sessions": study.sessions,
        "asked": study.job.sessions,
        "seed": study.job.seed,
        "players": {
            seat.name: {
                "net": estimate(study.mean_net(seat.name)),
                "staked": estimate(study.mean_staked(seat.name)),
                **{end: estimate(study.chance(seat.name, end)) for end in ENDING_NAMES[:3]},
                "quantiles": _spans(study.quantiles(seat.name)),
            }
            for seat in study.players
        },
        "house": {
            "win": estimate(study.house_win),
            "share": estimate(study.hold),
            "loses": estimate(study.house_loss_probability),
            "quantiles": _spans(study.quantiles("")),
        },
        "bands": [float(each) for each in FAN_QUANTILES],
    }


def _spans(amounts: Iterable[HistogramBin]) -> list[list[int]]:
    return [[each.low, each.high] for each in amounts]


# --- forms --------------------------------------------------------------------------------------


def estimate(each: Estimate) -> dict[str, float]:
    """Return an estimate for JSON."""
    return {"value": each.value, "error": each.standard_error, "low": each.low, "high": each.high}


def as_json(study: Study) -> dict[str, Any]:
    """Return a study for JSON."""
    match study:
        case SessionStudy():
            return _sessions_json(study)
        case FlatStudy():
            return _flat_json(study)
        case TableStudy():
            return _table_json(study)


def _print_csv(study: Study) -> None:
    """Print what was counted one by one: final bankrolls, rolls, or results of players."""
    match study:
        case SessionStudy():
            print_csv(("final_bankroll", "up_to", "sessions"), study.final_bankrolls)
        case FlatStudy():
            print_csv(("roll", "times"), list(enumerate(study.roll_counts)))
        case TableStudy():
            names = [*(seat.name for seat in study.players), ""]
            shares = ("who", *(f"{float(each):g}" for each in SHARES))
            rows = [
                (name or "house", *map(format_bin, study.quantiles(name, SHARES))) for name in names
            ]
            print_csv(shares, rows)
