"""A printable page: a player's session, with its endings, bankroll fan and ruin over time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.money import MAX_AMOUNT
from threedice.odds.sessions.session import ENDINGS
from threedice.odds.sessions.session_odds import FAN_QUANTILES
from threedice.pages import markup
from threedice.pages.charts import curve_chart, distribution_chart, fan_chart
from threedice.pages.distribution import DISTRIBUTION_QUANTILES
from threedice.pages.numbers import format_amount, format_chance, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.odds import BettingSession, SessionOdds

ENDING_TEXTS = {
    "ruined": "could no longer make the minimum stake",
    "stop-loss": "left at the loss limit",
    "stop-win": "left at the win limit",
    "played out": "played to the last round",
}


def session_page(result: SessionOdds) -> str:
    """Return the page."""
    session = result.session
    ruin_time = result.mean_rounds_to_ruin
    return markup.page(
        f"{session.plan.name.capitalize()} on {session.spread}",
        session.spread.game,
        [
            markup.paragraph(describe_session(session), "lead"),
            _interrupted_note(result),
            markup.key_figures(
                [
                    ("risk of ruin", format_chance(result.ruin)),
                    ("mean final bankroll", format_amount(result.mean_final)),
                    ("leaves with more than the bankroll", format_chance(result.ahead)),
                    ("rounds played on average", f"{float(result.mean_rounds):.2f}"),
                    *(
                        [("rounds to ruin, of the ruined", f"{float(ruin_time):.2f}")]
                        if ruin_time is not None
                        else []
                    ),
                ]
            ),
            *session_figures(
                session.bankroll,
                result.fan,
                [
                    (float(final - session.bankroll), float(share))
                    for final, share in result.final_bankrolls
                ],
                float(result.quantile(Fraction(1, 2)) - session.bankroll),
                [float(each) for each in result.ruin_by_round()],
            ),
            markup.heading("How sessions end"),
            markup.table(
                ("ending", "probability"),
                (
                    (f"{each}: {ENDING_TEXTS[each]}", format_chance(result.chance(each)))
                    for each in ENDINGS
                ),
            ),
            markup.heading("Final bankroll"),
            markup.table(
                ("with probability", "no more than"),
                (
                    (format_share(share), result.format_quantile(share))
                    for share in DISTRIBUTION_QUANTILES
                ),
            ),
            markup.heading("How the figures are computed"),
            markup.paragraph(describe_session_method(result)),
        ],
    )


def describe_session(session: BettingSession) -> str:
    """Describe the session in a sentence."""
    plan = session.plan
    stops = [
        f"leaves after a {word} of {value:,}"
        for word, value in (("loss", session.stop_loss), ("win", session.stop_win))
        if value is not None
    ]
    upper = "up" if plan.maximum == MAX_AMOUNT else f"to {plan.maximum:,}"
    line = f", line {','.join(map(str, plan.line))}" if plan.name == "labouchere" else ""
    return (
        f"A bankroll of {session.bankroll:,} for {session.rounds:,} rounds: base stake "
        f"{plan.base:,}{line}, at the table from {session.min_stake:,} {upper}"
        f"{''.join(f'; {each}' for each in stops)}."
    )


def describe_session_method(result: SessionOdds) -> str:
    """Describe how a session was computed and how exact it is."""
    if result.method == "exact":
        return (
            "Every sequence of rolls is followed to its end and counted, in whole numbers of any "
            "size; nothing is simulated and nothing is rounded until it is written down."
        )
    if result.method == "simulated":
        low, high = result.confidence_intervals["ruin"]
        return (
            f"{result.simulated_sessions:,} sessions were simulated, with no stake over the "
            "maximum above. With 95 % confidence the risk of ruin is between "
            f"{format_chance(low)} and {format_chance(high)}."
        )
    return (
        "Every sequence of rolls is followed to its end, with probabilities in float64. Each is "
        f"within {result.error:.1e} of the truth, relatively."
    )


def _interrupted_note(result: SessionOdds) -> str:
    if result.rounds == result.session.rounds:
        return ""
    return markup.paragraph(
        f"Stopped on request: these are the first {result.rounds:,} of {result.session.rounds:,} "
        "rounds; those still playing count as played out."
    )


def session_figures(
    bankroll: int,
    fan: Sequence[tuple[int, Sequence[Fraction | float]]],
    results: Iterable[tuple[float, float]],
    median: float,
    ruin_by_round: Sequence[float],
) -> list[str]:
    """Return the charts of a session: bankroll by round, net result, ruin by round.

    `results` and `median` are net results. The fan is left out if it has a single round.
    """
    bands = ", ".join(f"{float(each) * 100:g}" for each in FAN_QUANTILES)
    figures = [
        markup.figure(
            fan_chart(
                [(number, [float(each) for each in row]) for number, row in fan],
                bankroll,
                "Bankroll by round",
                "round",
            ),
            f"The bankroll after each round: quantiles at {bands} per cent, the median as a line. "
            "Players who have left keep their last bankroll; the dashed line is the initial one.",
        ),
        markup.figure(
            distribution_chart(results, [("median", median)], "Net result", "net result"),
            "The net result of the whole session. Losses are red, wins are green.",
        ),
        markup.figure(
            curve_chart(ruin_by_round, "Ruin", "round"),
            "The probability of having been ruined by each round.",
        ),
    ]
    return figures if len(fan) > 1 else figures[1:]
