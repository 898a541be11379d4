"""`threedice shift`: the house's win over an hour, a shift and a year, and the effect of limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from threedice.cli.arguments import (
    CsvOption,
    GameArgument,
    HtmlOption,
    JsonOption,
    MaximumOption,
    ReadingsOption,
    check_page_file,
    command_group,
    load_game,
    parse_bets,
    parse_probability,
)
from threedice.cli.output import (
    choose_format,
    figure_json,
    format_readings,
    game_json,
    print_csv,
    print_heading,
    print_json,
    print_line,
    print_table,
    progress_bar,
    report_interrupted,
    write_page,
)
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

    from threedice.rulebook import Game

commands = command_group()

BetSource = FixedLayout | RandomLayout


@dataclass(frozen=True)
class ShiftOptions:
    """The options of `threedice shift`: bets, limits, times, and the loss to limit."""

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


@commands.command("shift")
def show_shift(
    name: GameArgument,
    bet: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOX=AMOUNT", help="A bet in every round, such as big=50; may be repeated."
        ),
    ] = None,
    bets: Annotated[
        int | None, typer.Option(metavar="N", help="A crowd: the number of its bets in a round.")
    ] = None,
    box: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOX=WEIGHT", help="A box of the crowd's bets and its weight; may be repeated."
        ),
    ] = None,
    stake: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT=WEIGHT",
            help="A stake of the crowd's bets and its weight; may be repeated.",
        ),
    ] = None,
    idle: Annotated[
        int,
        typer.Option(
            metavar="WEIGHT", min=0, help="The weight of no bet, against the weights of the boxes."
        ),
    ] = 0,
    minimum: Annotated[int, typer.Option(metavar="AMOUNT", min=1, help="The table minimum.")] = 1,
    maximum: MaximumOption = None,
    differential: Annotated[
        int | None, typer.Option(metavar="AMOUNT", min=0, help="The maximum differential.")
    ] = None,
    compare: Annotated[
        list[int] | None,
        typer.Option(
            "--compare-differential",
            metavar="AMOUNT",
            min=0,
            help="Compare a shift under this differential with one under none; may be repeated.",
        ),
    ] = None,
    per_hour: Annotated[
        int, typer.Option("--rounds-per-hour", metavar="N", help="Rounds in an hour.")
    ] = 60,
    hours: Annotated[int, typer.Option(metavar="N", help="Hours in a shift.")] = 8,
    shifts: Annotated[int, typer.Option(metavar="N", help="Shifts in a year.")] = 1095,
    loss: Annotated[
        int | None,
        typer.Option(
            metavar="AMOUNT",
            help="Find the highest table maximum that keeps a greater loss in a shift unlikely.",
        ),
    ] = None,
    chance: Annotated[
        str, typer.Option(metavar="P", help="The probability allowed for that loss.")
    ] = "1%",
    drop: Annotated[
        int | None,
        typer.Option(metavar="AMOUNT", min=1, help="The drop of a shift, to compute its hold."),
    ] = None,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Forecast the house's win over an hour, a shift and a year.

    The forecast holds the win, the hold and the worst roll, for fixed bets (--bet) or for a crowd
    that bets at random (--bets, --box, --stake).
    """
    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    options = ShiftOptions(
        bet or [], bets, box or [], stake or [], idle, minimum, maximum, differential,
        compare or [], per_hour, hours, shifts, loss, chance, drop,
    )  # fmt: skip
    layout = parse_bet_source(load_game(name, reading or []), options)
    check_page_file(html)
    forecast = _compute_forecast(layout, options)
    if forecast is None:
        return
    match output_format:
        case "json":
            print_json(_as_json(forecast, options))
        case "csv":
            print_csv(("figure", *(each.name for each in forecast.periods)), _csv_rows(forecast))
        case "html" if html:
            write_page(html, shift_page(forecast))
        case _:
            _print_text(forecast)


def parse_bet_source(game: Game, options: ShiftOptions) -> BetSource:
    """Build the source of the bets in a round: fixed bets, or a crowd that bets at random."""
    limits = LayoutLimits(options.minimum, options.maximum, options.differential)
    if options.bet:
        if options.box or options.stake or options.bets:
            raise InvalidInput("--bet is a fixed layout; leave --bets, --box and --stake out")
        return FixedLayout(game, parse_bets(game, options.bet), limits)
    if not (options.bets and options.box and options.stake):
        raise InvalidInput(
            "no bets given; give --bet BOX=AMOUNT for the same bets in every round, or "
            "--bets N with --box BOX=WEIGHT and --stake AMOUNT=WEIGHT for a crowd"
        )
    boxes = parse_bets(game, [each if "=" in each else f"{each}=1" for each in options.box])
    stakes = _parse_stakes(options.stake)
    choices = tuple(
        WeightedBet(box, stake, box_weight * stake_weight)
        for box, box_weight in boxes.items()
        for stake, stake_weight in stakes.items()
    )
    # A choice has the weight of its box times that of its stake. `--idle` is compared with the
    # weights of the boxes, so it is multiplied by those of the stakes.
    idle = options.idle * sum(stakes.values())
    return RandomLayout(game, options.bets, choices, limits, idle)


def _parse_stakes(pairs: Sequence[str]) -> dict[int, int]:
    stakes: dict[int, int] = {}
    for pair in pairs:
        amount, _, weight = pair.partition("=")
        stake = parse_amount(amount)
        stakes[stake] = stakes.get(stake, 0) + parse_amount(weight or "1")
    return stakes


def _compute_forecast(layout: BetSource, options: ShiftOptions) -> ShiftForecast | None:
    """Return the forecast, with fewer periods if the user interrupts, or None with no period."""
    if min(options.per_hour, options.hours, options.shifts) < 1:
        raise InvalidInput("--rounds-per-hour, --hours and --shifts must be at least one each")
    share = parse_probability(options.chance)
    rounds = options.per_hour * options.hours
    lengths = {"hour": options.per_hour, "shift": rounds, "year": rounds * options.shifts}
    steps = len(lengths) + len(options.compare) + (options.loss is not None)
    forecast = ShiftForecast(
        layout.game,
        _describe_assumptions(layout, options),
        [],
        loss=options.loss or 0,
        share=share,
        drop=Fraction(options.drop, rounds) if options.drop else None,
    )
    with progress_bar("shift", steps) as report:
        try:
            for name, length in lengths.items():
                period = forecast_period(layout, name, length)
                forecast = replace(forecast, periods=[*forecast.periods, period])
                report(len(forecast.periods))
            for differential in (None, *options.compare) if options.compare else ():
                other = replace(layout, limits=replace(layout.limits, differential=differential))
                pair = (differential, forecast_period(other, "shift", rounds))
                forecast = replace(forecast, comparisons=[*forecast.comparisons, pair])
                report(len(forecast.periods) + len(forecast.comparisons))
            if options.loss is not None:
                safe = safe_maximum(layout, rounds, options.loss, share)
                forecast = replace(forecast, safe=safe)
        except KeyboardInterrupt:
            report_interrupted(f"{len(forecast.periods)} of {len(lengths)} periods are computed")
    return forecast if forecast.periods else None


def _describe_assumptions(layout: BetSource, options: ShiftOptions) -> str:
    """Return the bets, limits and times in one sentence, which JSON holds as `assumed`."""
    limits = layout.limits
    terms = [f"at least {limits.minimum:,}"]
    if limits.maximum is not None:
        terms.append(f"at most {limits.maximum:,}")
    if limits.differential is not None:
        terms.append(f"differential {limits.differential:,}")
    times = (
        f"{options.per_hour:,} rounds an hour, {options.hours} hours a shift, "
        f"{options.shifts:,} shifts a year"
    )
    if isinstance(layout, FixedLayout):
        bets = ", ".join(f"{stake:,} on {box}" for box, stake in layout.mix().stakes.items())
        return f"In every round {bets}; limits {', '.join(terms)}; {times}."
    boxes = len({each.box for each in layout.choices})
    stakes = sorted({each.stake for each in layout.choices})
    return (
        f"{layout.bets} bets a round, each drawn independently from {boxes} boxes and stakes of "
        f"{', '.join(f'{each:,}' for each in stakes)}; limits {', '.join(terms)}; {times}."
    )


def _print_text(forecast: ShiftForecast) -> None:
    game = forecast.game
    print_line(f"{game.title} ({game.id}): the house's win")
    print_line(f"hash {game.hash}; readings {format_readings(game)}")
    print_line(forecast.assumptions)
    print_line(describe_distribution_method(max(each.win.error for each in forecast.periods)))
    print_heading("Win")
    columns = ("", *(each.name for each in forecast.periods))
    print_table(columns, win_rows(forecast), right=frozenset(range(1, len(columns))))
    if forecast.comparisons:
        print_heading("Effect of a differential on a shift")
        print_table(
            COMPARISON_COLUMNS,
            comparison_rows(forecast),
            right=frozenset(range(1, len(COMPARISON_COLUMNS))),
        )
    safe_text = describe_safe_maximum(forecast)
    if safe_text:
        print_line(f"\n{safe_text}")


def _csv_rows(forecast: ShiftForecast) -> list[tuple[object, ...]]:
    periods = forecast.periods
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


def _as_json(forecast: ShiftForecast, options: ShiftOptions) -> dict[str, Any]:
    safe = forecast.safe
    return {
        **game_json(forecast.game),
        "assumed": forecast.assumptions,
        "limits": {
            "minimum": options.minimum,
            "maximum": options.maximum,
            "differential": options.differential,
        },
        "periods": [_period_json(each) for each in forecast.periods],
        "compared": [
            {"differential": differential, "shift": _period_json(each)}
            for differential, each in forecast.comparisons
        ],
        "safe_maximum": safe
        and {
            "loss": forecast.loss,
            "share": str(forecast.share),
            "maximum": safe.maximum,
            "chance": None if safe.chance is None else figure_json(safe.chance),
            "next_chance": None if safe.next_chance is None else figure_json(safe.next_chance),
            "all_tried": safe.all_tried,
        },
    }


def _period_json(each: PeriodForecast) -> dict[str, Any]:
    return {
        "period": each.name,
        "rounds": each.rounds,
        "turnover": figure_json(each.turnover),
        "mean": figure_json(each.win.mean),
        "sd": each.win.sd,
        "hold": figure_json(each.mean_hold),
        "losing": figure_json(each.loss_probability),
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
