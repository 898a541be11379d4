"""A player's session as a page to print: what it ends in, the fan of bankrolls, ruin over time."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.maths.session_odds import BANDS
from threedice.maths.sessions import ENDINGS
from threedice.money import MOST
from threedice.pages.curves import curve_chart, distribution_chart, fan_chart
from threedice.pages.distribution import SHARES
from threedice.pages.frame import (
    amount,
    chance,
    figure,
    heading,
    key_figures,
    page,
    paragraph,
    table,
)

if TYPE_CHECKING:
    from threedice.maths import Session, SessionOdds

SAYS = {
    "ruined": "could not make the least stake any more",
    "stop-loss": "left having lost as much as he would",
    "stop-win": "left having won as much as he would",
    "played out": "played to the last round",
}


def session_page(found: SessionOdds) -> str:
    """Return the whole page."""
    session = found.session
    ruin_time = found.mean_rounds_to_ruin
    return page(
        f"{session.plan.name.capitalize()} on {session.spread}",
        session.spread.game,
        [
            paragraph(terms(session), "lead"),
            _cut_short(found),
            key_figures(
                [
                    ("risk of ruin", chance(found.ruin)),
                    ("mean final bankroll", amount(found.mean_final)),
                    ("leaves with more than he brought", chance(found.ahead)),
                    ("rounds played on average", f"{float(found.mean_rounds):.2f}"),
                    *(
                        [("rounds to ruin, of the ruined", f"{float(ruin_time):.2f}")]
                        if ruin_time is not None
                        else []
                    ),
                ]
            ),
            *_pictures(found),
            heading("How sessions end"),
            table(
                ("ending", "probability"),
                ((f"{each}: {SAYS[each]}", chance(found.chance(each))) for each in ENDINGS),
            ),
            heading("Final bankroll"),
            table(
                ("with probability", "no more than"),
                ((f"{float(share) * 100:g} %", found.quantile_words(share)) for share in SHARES),
            ),
            heading("How the figures are made"),
            paragraph(method(found)),
        ],
    )


def terms(session: Session) -> str:
    """Say in a sentence what is played."""
    plan = session.plan
    stops = [
        f"leaves after a {word} of {value:,}"
        for word, value in (("loss", session.stop_loss), ("win", session.stop_win))
        if value is not None
    ]
    most = "up" if plan.maximum == MOST else f"to {plan.maximum:,}"
    line = f", line {','.join(map(str, plan.line))}" if plan.name == "labouchere" else ""
    return (
        f"A bankroll of {session.bankroll:,} for {session.rounds:,} rounds: base stake "
        f"{plan.base:,}{line}, at the table from {session.least:,} {most}"
        f"{''.join(f'; {each}' for each in stops)}."
    )


def method(found: SessionOdds) -> str:
    """Say how a session was worked out, and how sure its digits are."""
    if found.method == "exact":
        return (
            "Every sequence of rolls is followed to its end and counted, in whole numbers of any "
            "size; nothing is simulated and nothing is rounded until it is written down."
        )
    if found.method == "simulated":
        low, high = found.intervals["ruin"]
        return (
            f"{found.sessions:,} sessions were simulated, with no stake over the maximum above. "
            f"With 95 % confidence the risk of ruin is between {chance(low)} and {chance(high)}."
        )
    return (
        "Every sequence of rolls is followed to its end, with probabilities in float64. Each is "
        f"within {found.error:.1e} of the truth, relatively."
    )


def _cut_short(found: SessionOdds) -> str:
    if found.rounds == found.session.rounds:
        return ""
    return paragraph(
        f"Stopped on request: these are the first {found.rounds:,} of {found.session.rounds:,} "
        "rounds; those still playing count as played out."
    )


def _pictures(found: SessionOdds) -> list[str]:
    session = found.session
    results = [(float(left - session.bankroll), float(share)) for left, share in found.final]
    middle = found.quantile(Fraction(1, 2)) - session.bankroll
    bands = ", ".join(f"{float(each) * 100:g}" for each in BANDS)
    return [
        figure(
            fan_chart(
                [(when, [float(each) for each in bands]) for when, bands in found.fan],
                session.bankroll,
                "Bankroll by round",
                "round",
            ),
            f"The bankroll after each round: quantiles at {bands} per cent, the median as a line. "
            "Those who have left stay where they left; the dashed line is what was brought.",
        ),
        figure(
            distribution_chart(
                results, [("median", float(middle))], "What was won or lost", "net result"
            ),
            "What is won or lost in the whole session. Red is lost, green is won.",
        ),
        figure(
            curve_chart([float(each) for each in found.ruin_by_round()], "Ruin", "round"),
            "The probability of having been ruined by each round.",
        ),
    ]
