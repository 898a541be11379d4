"""A simulation as a page to print: estimates with their intervals, and pictures of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.odds import percent
from threedice.pages.charts import curve_chart, distribution_chart, fan_chart
from threedice.pages.markup import (
    figure,
    format_amount,
    format_chance,
    heading,
    key_figures,
    page,
    paragraph,
    table,
)
from threedice.sim.estimates import FAN_QUANTILES, format_bin
from threedice.sim.kernels.sessions import ENDING_NAMES
from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.sim.estimates import Estimate
    from threedice.sim.simulation import Study

_ENDING_TEXTS: Final = {
    "ruined": "could not make the least stake any more",
    "stop-loss": "left having lost as much as he would",
    "stop-win": "left having won as much as he would",
    "played-out": "played to the last round",
}
_COLUMNS: Final = ("", "estimate", "standard error", "95 % from", "to")
_QUANTILES: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
_METHOD_TEXT: Final = (
    "Simulated with Philox 4x32-10, three unbiased rolls to each word of 32 bits, and counted in "
    "whole numbers; the same seed brings the same numbers on any machine. Where an interval is "
    "given, it holds the true value 95 times in 100."
)


def simulation_page(game: Game, study: Study) -> str:
    """Return the whole page."""
    match study:
        case SessionStudy():
            return _sessions_page(game, study)
        case FlatStudy():
            return _flat_bets_page(game, study)
        case TableStudy():
            return _table_page(game, study)


def _estimate_row(name: str, each: Estimate, places: int) -> tuple[str, ...]:
    numbers = (each.value, each.standard_error, each.low, each.high)
    return (name, *(f"{number:,.{places}f}".replace("-", "−") for number in numbers))


def _method_section(seed: int) -> list[str]:
    return [heading("How the figures are made"), paragraph(f"Seed {seed}. {_METHOD_TEXT}")]


# --- sessions -----------------------------------------------------------------------------------


def _sessions_page(game: Game, study: SessionStudy) -> str:
    terms = study.job.terms
    lead = (
        f"{study.sessions:,} sessions: a bankroll of {terms.bankroll:,} for {terms.rounds:,} "
        f"rounds, base stake {terms.base:,}, at the table from {terms.minimum:,} to "
        f"{terms.maximum:,}."
    )
    return page(
        f"{study.title[:1].upper()}{study.title[1:]}, simulated",
        game,
        [
            paragraph(lead, "lead"),
            _interrupted_note(study.sessions, study.job.sessions),
            key_figures(
                [
                    ("risk of ruin", format_chance(study.ruin.value)),
                    ("mean final bankroll", format_amount(round(study.mean_final.value, 2))),
                    ("leaves with more than he brought", format_chance(study.ahead.value)),
                    ("rounds played on average", f"{study.mean_rounds:.2f}"),
                ]
            ),
            *_session_figures(study),
            heading("How sessions end, and with what"),
            table(
                _COLUMNS,
                [
                    *(
                        _estimate_row(f"{each}: {_ENDING_TEXTS[each]}", study.chance(each), 6)
                        for each in ENDING_NAMES
                    ),
                    _estimate_row("mean final bankroll", study.mean_final, 2),
                    _estimate_row("staked in a session", study.mean_staked, 2),
                    _estimate_row("house edge on all stakes", study.edge, 6),
                ],
            ),
            heading("Final bankroll"),
            table(
                ("with probability", "no more than"),
                [
                    (f"{float(share):.0%}", format_bin(study.quantile(share)))
                    for share in _QUANTILES
                ],
            ),
            *_method_section(study.job.seed),
        ],
    )


def _interrupted_note(done: int, asked: int) -> str:
    return (
        "" if done == asked else paragraph(f"Stopped on request: {done:,} of {asked:,} sessions.")
    )


def _session_figures(study: SessionStudy) -> list[str]:
    bankroll = study.job.terms.bankroll
    results = [
        (float(each.low - bankroll), each.times / study.sessions) for each in study.final_bankrolls
    ]
    middle = float(study.quantile(Fraction(1, 2)).low - bankroll)
    bands = ", ".join(f"{float(each) * 100:g}" for each in FAN_QUANTILES)
    pictures = [
        figure(
            distribution_chart(results, [("median", middle)], "What was won or lost", "net result"),
            "What is won or lost in the whole session. Red is lost, green is won.",
        ),
        figure(
            curve_chart(ruin_curve(study), "Ruin", "round"),
            "The share of sessions ruined by each round.",
        ),
    ]
    if len(study.fan) > 1:
        fan = [(when, [float(each) for each in row]) for when, row in study.fan]
        drawing = fan_chart(fan, bankroll, "Bankroll by round", "round")
        pictures.insert(
            0,
            figure(
                drawing,
                f"The bankroll after each round: quantiles at {bands} per cent, the median as a "
                "line. Those who have left stay where they left; the dashed line is what was "
                "brought.",
            ),
        )
    return pictures


def ruin_curve(study: SessionStudy) -> list[float]:
    """Return the share ruined by each round, one value for every round."""
    rows = dict(study.ruin_by_round)
    curve, so_far = [], 0.0
    for number in range(study.job.terms.rounds + 1):
        so_far = rows.get(number, so_far)
        curve.append(so_far)
    return curve


# --- flat bets ----------------------------------------------------------------------------------


def _flat_bets_page(game: Game, study: FlatStudy) -> str:
    edges = [(box, study.box_edge(box)) for box in study.bets]
    return page(
        "Flat bets, simulated",
        game,
        [
            paragraph(f"{study.rounds:,} rounds with the same bets in each.", "lead"),
            key_figures(
                [
                    ("house edge, estimated", percent(Fraction(study.edge.value), 4)),
                    ("house edge, exact", percent(study.mix.figures.edge, 4)),
                    ("won in all", format_amount(study.net_result)),
                ]
            ),
            heading("House edge of each bet"),
            table(
                _COLUMNS,
                [
                    *(_estimate_row(box, each, 8) for box, each in edges),
                    _estimate_row("all bets", study.edge, 8),
                ],
            ),
            paragraph(
                f"Chi-square of the 216 rolls: {study.chi_square:.1f}, where 215 is expected."
            ),
            *_method_section(study.job.seed),
        ],
    )


# --- tables -------------------------------------------------------------------------------------


def _table_page(game: Game, study: TableStudy) -> str:
    names = [seat.name for seat in study.players]
    rows = [
        *(_estimate_row(f"{name}: result of a session", study.mean_net(name), 2) for name in names),
        *(_estimate_row(f"{name}: ruined", study.chance(name, "ruined"), 6) for name in names),
        _estimate_row("the house: win in a session", study.house_win, 2),
        _estimate_row("the house: share of the stakes", study.hold, 6),
        _estimate_row("the house: loses a session", study.house_loss_probability, 6),
    ]
    house = [(float(each.low), each.times / study.sessions) for each in study.results("")]
    return page(
        "A table, simulated",
        game,
        [
            paragraph(
                f"{study.sessions:,} sessions of {study.job.rounds:,} rounds, "
                f"{len(names)} players.",
                "lead",
            ),
            _interrupted_note(study.sessions, study.job.sessions),
            key_figures(
                [
                    ("the house wins in a session", format_amount(round(study.house_win.value, 2))),
                    ("of what is staked", percent(Fraction(study.hold.value), 3)),
                    ("sessions it loses", format_chance(study.house_loss_probability.value)),
                ]
            ),
            figure(
                distribution_chart(house, [], "The house's win", "win of the house"),
                "What the house wins in a session. Green is won, red is lost.",
            ),
            heading("Players and house"),
            table(_COLUMNS, rows),
            *_method_section(study.job.seed),
        ],
    )
