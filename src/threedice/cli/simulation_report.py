"""Print the results of a simulation as text, JSON, CSV or a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from threedice.cli.output import (
    OutputFormat,
    game_json,
    print_csv,
    print_json,
    print_line,
    print_table,
    write_page,
)
from threedice.odds import Mix, box_figures
from threedice.pages.simulation import simulation_page
from threedice.rulebook import Game
from threedice.sim.estimates import FAN_QUANTILES, Estimate, format_bin
from threedice.sim.kernels.sessions import ENDING_NAMES, HistogramBin
from threedice.sim.simulation import Study
from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

SIMULATION_QUANTILES: Final = tuple(
    Fraction(each, 1000) for each in (1, 10, 50, 250, 500, 750, 950, 990, 999)
)
CsvTable = tuple[Sequence[str], Iterable[Sequence[object]]]
_ESTIMATE_COLUMNS: Final = ("", "estimate", "standard error", "95 % from", "to")


def print_study(game: Game, study: Study, output_format: OutputFormat, html: Path | None) -> None:
    """Print the results of a simulation, or write them to a page."""
    print_text, figures_json, csv_table = _FORMS[type(study)]
    match output_format:
        case "json":
            print_json({**game_json(game), **figures_json(study)}, indent=None)
        case "csv":
            print_csv(*csv_table(study))
        case "html" if html:
            write_page(html, simulation_page(game, study))
        case _:
            print_line(f"{game.title} ({game.id})")
            print_text(study)


def _print_estimates(heading: str, *rows: tuple[str, ...]) -> None:
    print_table(_ESTIMATE_COLUMNS, rows, right=range(1, 5), heading=heading)


def _print_quantiles(heading: str, column: str, bins: Iterable[HistogramBin]) -> None:
    rows = [
        (f"{float(probability):.1%}", format_bin(each))
        for probability, each in zip(SIMULATION_QUANTILES, bins, strict=True)
    ]
    print_table(("with probability", column), rows, right={1}, heading=heading)


def _estimate_row(name: str, estimate: Estimate, places: int) -> tuple[str, ...]:
    numbers = (estimate.value, estimate.standard_error, estimate.low, estimate.high)
    return (name, *(f"{number:,.{places}f}" for number in numbers))


def _estimate_json(estimate: Estimate) -> dict[str, float]:
    return {
        "value": estimate.value,
        "error": estimate.standard_error,
        "low": estimate.low,
        "high": estimate.high,
    }


# --- sessions -----------------------------------------------------------------------------------


def _print_sessions(study: SessionStudy) -> None:
    terms = study.job.terms
    print_line(
        f"{study.title}: bankroll {terms.bankroll}, base {terms.base}, stakes {terms.minimum} to "
        f"{terms.maximum}, {study.sessions:,} sessions of {terms.rounds} rounds, seed "
        f"{study.job.seed}"
    )
    _print_estimates(
        "Sessions",
        *(_estimate_row(each, study.chance(each), 6) for each in ENDING_NAMES),
        _estimate_row("ahead", study.ahead, 6),
        _estimate_row("level", study.level, 6),
        _estimate_row("mean final bankroll", study.mean_final, 3),
        _estimate_row("staked in a session", study.mean_staked, 3),
        _estimate_row("house edge", study.edge, 6),
    )
    print_line(f"\nrounds played on average: {study.mean_rounds:.3f}")
    quantiles = map(study.quantile, SIMULATION_QUANTILES)
    _print_quantiles("Final bankroll", "no more than", quantiles)
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
        "ends": {each: _estimate_json(study.chance(each)) for each in ENDING_NAMES},
        "ruin": _estimate_json(study.ruin),
        "ahead": _estimate_json(study.ahead),
        "level": _estimate_json(study.level),
        "mean_final": _estimate_json(study.mean_final),
        "sd_final": study.sd_final,
        "mean_staked": _estimate_json(study.mean_staked),
        "edge": _estimate_json(study.edge),
        "mean_rounds": study.mean_rounds,
        "final": study.final_bankrolls,
        "final_exact_below": study.exact_below,
        "ruin_by_round": study.ruin_by_round,
        "bands": [float(each) for each in FAN_QUANTILES],
        "fan": [[number, *bankrolls] for number, bankrolls in study.fan],
    }  # fmt: skip


def _sessions_csv(study: SessionStudy) -> CsvTable:
    return ("final_bankroll", "up_to", "sessions"), study.final_bankrolls


# --- flat bets ----------------------------------------------------------------------------------


def _print_flat(study: FlatStudy) -> None:
    print_line(f"{study.rounds:,} rounds, seed {study.job.seed}")
    rows = []
    for box in study.bets:
        exact = box_figures(study.game.box(box)).edge
        rows.append((*_estimate_row(box, study.box_edge(box), 8), f"{float(exact):.8f}"))
    exact = study.mix.figures.edge
    rows.append((*_estimate_row("all bets", study.edge, 8), f"{float(exact):.8f}"))
    columns = (*_ESTIMATE_COLUMNS, "exact")
    print_table(columns, rows, right=range(1, 6), heading="House edge")
    print_line(
        f"\nnet result {float(study.net_result):,.2f}; "
        f"chi-square of the rolls {study.chi_square:.1f} (215 expected)"
    )


def _flat_json(study: FlatStudy) -> dict[str, Any]:
    return {
        "bets": {
            box: {
                "stake": stake,
                "edge": _estimate_json(study.box_edge(box)),
                "exact": str(Mix(study.game, {box: 1}).figures.edge),
            }
            for box, stake in study.bets.items()
        },
        "seed": study.job.seed,
        "rounds": study.rounds,
        "edge": _estimate_json(study.edge),
        "exact": str(study.mix.figures.edge),
        "won": str(study.net_result),
        "chi_square": study.chi_square,
        "rolls": study.roll_counts,
    }


def _flat_csv(study: FlatStudy) -> CsvTable:
    return ("roll", "times"), enumerate(study.roll_counts)


# --- tables -------------------------------------------------------------------------------------


def _print_table(study: TableStudy) -> None:
    print_line(f"{study.sessions:,} sessions of {study.job.rounds} rounds, seed {study.job.seed}")
    for player in study.players:
        endings = ((each, study.chance(player.name, each)) for each in ENDING_NAMES[:3])
        _print_estimates(
            player.name,
            _estimate_row("result of a session", study.mean_net(player.name), 3),
            _estimate_row("staked in a session", study.mean_staked(player.name), 3),
            *(_estimate_row(ending, chance, 6) for ending, chance in endings),
        )
    _print_estimates(
        "The house",
        _estimate_row("win in a session", study.house_win, 3),
        _estimate_row("share of the stakes", study.hold, 6),
        _estimate_row("loses a session", study.house_loss_probability, 6),
    )
    print_line()
    _print_quantiles("", "wins no more than", study.quantiles("", SIMULATION_QUANTILES))


def _table_json(study: TableStudy) -> dict[str, Any]:
    return {
        "rounds": study.job.rounds,
        "sessions": study.sessions,
        "asked": study.job.sessions,
        "seed": study.job.seed,
        "players": {
            player.name: {
                "net": _estimate_json(study.mean_net(player.name)),
                "staked": _estimate_json(study.mean_staked(player.name)),
                **{
                    ending: _estimate_json(study.chance(player.name, ending))
                    for ending in ENDING_NAMES[:3]
                },
                "quantiles": _spans_json(study.quantiles(player.name)),
            }
            for player in study.players
        },
        "house": {
            "win": _estimate_json(study.house_win),
            "share": _estimate_json(study.hold),
            "loses": _estimate_json(study.house_loss_probability),
            "quantiles": _spans_json(study.quantiles("")),
        },
        "bands": [float(each) for each in FAN_QUANTILES],
    }


def _spans_json(amounts: Iterable[HistogramBin]) -> list[list[int]]:
    return [[each.low, each.high] for each in amounts]


def _table_csv(study: TableStudy) -> CsvTable:
    columns = ("who", *(f"{float(each):g}" for each in SIMULATION_QUANTILES))
    rows = (
        (name or "house", *map(format_bin, study.quantiles(name, SIMULATION_QUANTILES)))
        for name in (*(player.name for player in study.players), "")
    )
    return columns, rows


# --- forms --------------------------------------------------------------------------------------


_FORMS: Final[dict[type[Study], tuple[Callable[[Any], Any], ...]]] = {
    SessionStudy: (_print_sessions, _sessions_json, _sessions_csv),
    FlatStudy: (_print_flat, _flat_json, _flat_csv),
    TableStudy: (_print_table, _table_json, _table_csv),
}
"""The functions that print each kind of study as text, and return it for JSON and for CSV."""
