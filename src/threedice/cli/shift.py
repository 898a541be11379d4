"""`threedice shift`: the house's win over an hour, a shift and a year, and what limits do to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from threedice.cli.arguments import read_bets, read_game
from threedice.cli.counting import progress, stopped
from threedice.cli.figures import check_page, figure, identity, print_csv, read_share, write_page
from threedice.cli.odds import readings_line
from threedice.cli.output import print_heading, print_json, print_line, print_table
from threedice.errors import InvalidInput
from threedice.money import parse_amount
from threedice.odds import (
    FixedLayout,
    LayoutLimits,
    PeriodForecast,
    RandomLayout,
    WeightedBet,
    forecast_period,
    safe_maximum,
)
from threedice.pages.distribution import describe_distribution_method
from threedice.pages.shift import (
    COMPARISON_COLUMNS,
    SHIFT_QUANTILES,
    ShiftForecast,
    comparison_rows,
    describe_safe_maximum,
    shift_page,
    win_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.cli.odds import Form
    from threedice.rulebook import Game

Layout = FixedLayout | RandomLayout


@dataclass(frozen=True)
class Asked:
    """What was typed: who bets what, the limits, and how long a shift is."""

    bet: Sequence[str]
    bets: int | None
    box: Sequence[str]
    stake: Sequence[str]
    idle: int
    minimum: int
    maximum: int | None
    differential: int | None
    compare: Sequence[int]
    per_hour: int
    hours: int
    shifts: int
    loss: int | None
    chance: str
    drop: int | None


def show(name: str, asked: Asked, readings: Sequence[str], form: Form, html: Path | None) -> None:
    """Print, or write, the house's shift."""
    game = read_game(name, readings)
    layout = read_layout(game, asked)
    check_page(html)
    report = _report(layout, asked)
    if report is None:
        return
    match form:
        case "json":
            print_json(_as_json(report, asked))
        case "csv":
            print_csv(("figure", *(each.name for each in report.periods)), _plain_rows(report))
        case "html" if html:
            write_page(html, shift_page(report))
        case _:
            _print(report)


def read_layout(game: Game, asked: Asked) -> Layout:
    """Read what lies on the layout in a round: the same bets always, or a crowd's."""
    limits = LayoutLimits(asked.minimum, asked.maximum, asked.differential)
    if asked.bet:
        if asked.box or asked.stake or asked.bets:
            raise InvalidInput("--bet is a fixed layout; leave --bets, --box and --stake out")
        return FixedLayout(game, read_bets(game, asked.bet), limits)
    if not (asked.bets and asked.box and asked.stake):
        raise InvalidInput(
            "say what lies on the layout: --bet BOX=AMOUNT for the same bets in every round, or "
            "--bets N with --box BOX=WEIGHT and --stake AMOUNT=WEIGHT for a crowd"
        )
    boxes = read_bets(game, [each if "=" in each else f"{each}=1" for each in asked.box])
    stakes = _read_stakes(asked.stake)
    habits = tuple(
        WeightedBet(box, stake, weight * times)
        for box, weight in boxes.items()
        for stake, times in stakes.items()
    )
    # A weight of boxes and one of stakes make a habit, so idling is weighed against their product.
    idle = asked.idle * sum(stakes.values())
    return RandomLayout(game, asked.bets, habits, limits, idle)


def _read_stakes(pairs: Sequence[str]) -> dict[int, int]:
    stakes: dict[int, int] = {}
    for pair in pairs:
        amount, _, weight = pair.partition("=")
        stake = parse_amount(amount)
        stakes[stake] = stakes.get(stake, 0) + parse_amount(weight or "1")
    return stakes


def _report(layout: Layout, asked: Asked) -> ShiftForecast | None:
    """Return the whole report; nothing where somebody stopped it before the first period."""
    if min(asked.per_hour, asked.hours, asked.shifts) < 1:
        raise InvalidInput("rounds an hour, hours a shift and shifts a year are at least one each")
    share = read_share(asked.chance)
    rounds = asked.per_hour * asked.hours
    lengths = {"hour": asked.per_hour, "shift": rounds, "year": rounds * asked.shifts}
    steps = len(lengths) + len(asked.compare) + (asked.loss is not None)
    report = ShiftForecast(
        layout.game,
        _assumed(layout, asked),
        [],
        loss=asked.loss or 0,
        share=share,
        drop=Fraction(asked.drop, rounds) if asked.drop else None,
    )
    with progress("shift", steps) as shown:
        try:
            for name, each in lengths.items():
                report = replace(
                    report, periods=[*report.periods, forecast_period(layout, name, each)]
                )
                shown(len(report.periods))
            for apart in (None, *asked.compare) if asked.compare else ():
                other = replace(layout, limits=replace(layout.limits, differential=apart))
                pair = (apart, forecast_period(other, "shift", rounds))
                report = replace(report, compared=[*report.compared, pair])
                shown(len(report.periods) + len(report.compared))
            if asked.loss is not None:
                safe = safe_maximum(layout, rounds, asked.loss, share)
                report = replace(report, safe=safe)
        except KeyboardInterrupt:
            stopped(f"{len(report.periods)} of {len(lengths)} periods are worked out")
    return report if report.periods else None


def _assumed(layout: Layout, asked: Asked) -> str:
    """Say in a sentence what happens at the table."""
    limits = layout.limits
    told = [f"at least {limits.minimum:,}"]
    told += [f"at most {limits.maximum:,}"] if limits.maximum is not None else []
    told += [f"differential {limits.differential:,}"] if limits.differential is not None else []
    times = (
        f"{asked.per_hour:,} rounds an hour, {asked.hours} hours a shift, "
        f"{asked.shifts:,} shifts a year"
    )
    if isinstance(layout, FixedLayout):
        lies = ", ".join(f"{stake:,} on {box}" for box, stake in layout.mix().stakes.items())
        return f"In every round {lies}; limits {', '.join(told)}; {times}."
    boxes = len({each.box for each in layout.choices})
    stakes = sorted({each.stake for each in layout.choices})
    return (
        f"{layout.bets} bets a round, each drawn independently from {boxes} boxes and stakes of "
        f"{', '.join(f'{each:,}' for each in stakes)}; limits {', '.join(told)}; {times}."
    )


def _print(report: ShiftForecast) -> None:
    game = report.game
    print_line(f"{game.title} ({game.id}): the house's shift")
    print_line(f"hash {game.hash}; readings {readings_line(game)}")
    print_line(report.assumptions)
    print_line(describe_distribution_method(max(each.win.error for each in report.periods)))
    print_heading("Win")
    columns = ("", *(each.name for each in report.periods))
    print_table(columns, win_rows(report), right=frozenset(range(1, len(columns))))
    if report.compared:
        print_heading("What a differential does to a shift")
        print_table(
            COMPARISON_COLUMNS,
            comparison_rows(report),
            right=frozenset(range(1, len(COMPARISON_COLUMNS))),
        )
    words = describe_safe_maximum(report)
    if words:
        print_line(f"\n{words}")


def _plain_rows(report: ShiftForecast) -> list[tuple[object, ...]]:
    periods = report.periods
    rows: list[tuple[object, ...]] = [
        ("rounds", *(each.rounds for each in periods)),
        ("turnover", *(float(each.turnover) for each in periods)),
        ("mean", *(float(each.win.mean) for each in periods)),
        ("sd", *(each.win.sd for each in periods)),
        ("hold", *(float(each.mean_hold) for each in periods)),
        ("losing", *(float(each.loss_probability) for each in periods)),
    ]
    for share in SHIFT_QUANTILES:
        rows.append((f"win_{share}", *(float(each.win.quantile(share)) for each in periods)))
    for share in (Fraction(1, 100), Fraction(1, 2)):
        rows.append(
            (f"worst_roll_{share}", *(float(each.worst_round_quantile(share)) for each in periods))
        )
    return rows


def _as_json(report: ShiftForecast, asked: Asked) -> dict[str, Any]:
    safe = report.safe
    return {
        **identity(report.game),
        "assumed": report.assumptions,
        "limits": {
            "minimum": asked.minimum,
            "maximum": asked.maximum,
            "differential": asked.differential,
        },
        "periods": [_period_json(each) for each in report.periods],
        "compared": [
            {"differential": apart, "shift": _period_json(each)} for apart, each in report.compared
        ],
        "safe_maximum": safe
        and {
            "loss": report.loss,
            "share": str(report.share),
            "maximum": safe.maximum,
            "chance": None if safe.chance is None else figure(safe.chance),
            "next_chance": None if safe.next_chance is None else figure(safe.next_chance),
            "all_tried": safe.all_tried,
        },
    }


def _period_json(each: PeriodForecast) -> dict[str, Any]:
    return {
        "period": each.name,
        "rounds": each.rounds,
        "turnover": figure(each.turnover),
        "mean": figure(each.win.mean),
        "sd": each.win.sd,
        "hold": figure(each.mean_hold),
        "losing": figure(each.loss_probability),
        "error": each.win.error,
        "quantiles": [
            {
                "share": str(share),
                "win": str(each.win.quantile(share)),
                "hold": float(each.hold_quantile(share)),
            }
            for share in SHIFT_QUANTILES
        ],
        "worst_roll": [
            {"share": str(share), "win": str(each.worst_round_quantile(share))}
            for share in (Fraction(1, 100), Fraction(1, 2))
        ],
    }
