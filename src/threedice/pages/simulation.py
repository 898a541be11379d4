"""A printable page: a simulation's estimates with their intervals, and charts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.odds import percent
from threedice.pages import markup
from threedice.pages.charts import distribution_chart
from threedice.pages.numbers import format_amount, format_chance
from threedice.pages.session import ENDING_TEXTS, session_figures
from threedice.sim.estimates import format_bin
from threedice.sim.kernels.sessions import ENDING_NAMES
from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.sim.estimates import Estimate
    from threedice.sim.simulation import Study

_COLUMNS: Final = ("", "estimate", "standard error", "95 % from", "to")
_QUANTILES: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
_METHOD_TEXT: Final = (
    "Simulated with Philox 4x32-10, three unbiased rolls from each 32-bit word, and counted in "
    "whole numbers; the same seed gives the same numbers on any machine. An interval contains the "
    "true value 95 times in 100."
)


def simulation_page(game: Game, study: Study) -> str:
    """Return the page."""
    match study:
        case SessionStudy():
            return _sessions_page(game, study)
        case FlatStudy():
            return _flat_bets_page(game, study)
        case TableStudy():
            return _table_page(game, study)


def _estimate_row(name: str, estimate: Estimate, places: int) -> tuple[str, ...]:
    numbers = (estimate.value, estimate.standard_error, estimate.low, estimate.high)
    return (name, *(f"{number:,.{places}f}".replace("-", "−") for number in numbers))


def _method_section(seed: int) -> list[str]:
    return [
        markup.heading("How the figures are computed"),
        markup.paragraph(f"Seed {seed}. {_METHOD_TEXT}"),
    ]


# --- sessions -----------------------------------------------------------------------------------


def _sessions_page(game: Game, study: SessionStudy) -> str:
    terms, bankroll = study.job.terms, study.job.terms.bankroll
    lead = (
        f"{study.sessions:,} sessions: a bankroll of {terms.bankroll:,} for {terms.rounds:,} "
        f"rounds, base stake {terms.base:,}, at the table from {terms.minimum:,} to "
        f"{terms.maximum:,}."
    )
    return markup.page(
        f"{study.title[:1].upper()}{study.title[1:]}, simulated",
        game,
        [
            markup.paragraph(lead, "lead"),
            _interrupted_note(study.sessions, study.job.sessions),
            markup.key_figures(
                [
                    ("risk of ruin", format_chance(study.ruin.value)),
                    ("mean final bankroll", format_amount(round(study.mean_final.value, 2))),
                    ("leaves with more than the bankroll", format_chance(study.ahead.value)),
                    ("rounds played on average", f"{study.mean_rounds:.2f}"),
                ]
            ),
            *session_figures(
                bankroll,
                study.fan,
                [
                    (each.low - bankroll, each.times / study.sessions)
                    for each in study.final_bankrolls
                ],
                study.quantile(Fraction(1, 2)).low - bankroll,
                ruin_curve(study),
            ),
            markup.heading("How sessions end, and with what"),
            markup.table(
                _COLUMNS,
                [
                    *(
                        _estimate_row(f"{ending}: {meaning}", study.chance(ending), 6)
                        for ending, meaning in zip(ENDING_NAMES, ENDING_TEXTS.values(), strict=True)
                    ),
                    _estimate_row("mean final bankroll", study.mean_final, 2),
                    _estimate_row("staked in a session", study.mean_staked, 2),
                    _estimate_row("house edge on all stakes", study.edge, 6),
                ],
            ),
            markup.heading("Final bankroll"),
            markup.table(
                ("with probability", "no more than"),
                [
                    (f"{float(share):.0%}", format_bin(study.quantile(share)))
                    for share in _QUANTILES
                ],
            ),
            *_method_section(study.job.seed),
        ],
    )


def _interrupted_note(done: int, requested: int) -> str:
    if done == requested:
        return ""
    return markup.paragraph(f"Stopped on request: {done:,} of {requested:,} sessions.")


def ruin_curve(study: SessionStudy) -> list[float]:
    """Return the share of sessions ruined by each round, a value for every round."""
    rows = dict(study.ruin_by_round)
    curve, share = [], 0.0
    for number in range(study.job.terms.rounds + 1):
        share = rows.get(number, share)
        curve.append(share)
    return curve


# --- flat bets ----------------------------------------------------------------------------------


def _flat_bets_page(game: Game, study: FlatStudy) -> str:
    edges = [(box, study.box_edge(box)) for box in study.bets]
    return markup.page(
        "Flat bets, simulated",
        game,
        [
            markup.paragraph(f"{study.rounds:,} rounds with the same bets in each.", "lead"),
            markup.key_figures(
                [
                    ("house edge, estimated", percent(Fraction(study.edge.value), 4)),
                    ("house edge, exact", percent(study.mix.figures.edge, 4)),
                    ("net result", format_amount(study.net_result)),
                ]
            ),
            markup.heading("House edge of each bet"),
            markup.table(
                _COLUMNS,
                [
                    *(_estimate_row(box, each, 8) for box, each in edges),
                    _estimate_row("all bets", study.edge, 8),
                ],
            ),
            markup.paragraph(
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
    return markup.page(
        "A table, simulated",
        game,
        [
            markup.paragraph(
                f"{study.sessions:,} sessions of {study.job.rounds:,} rounds, "
                f"{len(names)} players.",
                "lead",
            ),
            _interrupted_note(study.sessions, study.job.sessions),
            markup.key_figures(
                [
                    ("the house wins in a session", format_amount(round(study.house_win.value, 2))),
                    ("of what is staked", percent(Fraction(study.hold.value), 3)),
                    ("sessions it loses", format_chance(study.house_loss_probability.value)),
                ]
            ),
            markup.figure(
                distribution_chart(house, [], "The house's win", "win of the house"),
                "The house's win in a session. Wins are green, losses are red.",
            ),
            markup.heading("Players and house"),
            markup.table(_COLUMNS, rows),
            *_method_section(study.job.seed),
        ],
    )
