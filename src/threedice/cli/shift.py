"""`threedice shift`: the house's win over an hour, a shift and a year, and the effect of limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Annotated, Any, Final

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
    option,
    parse_bets,
    parse_probability,
    repeatable,
)
from threedice.cli.output import (
    choose_format,
    figure_json,
    game_json,
    print_csv,
    print_game,
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
from threedice.rulebook import Game

commands = command_group()

_ROLL_QUANTILES: Final = (Fraction(1, 100), Fraction(1, 2))


@commands.command("shift")
def show_shift(
    name: GameArgument,
    bet: Annotated[
        list[str] | None, repeatable("BOX=AMOUNT", "A bet in every round, such as big=50")
    ] = None,
    bets: Annotated[int | None, option("N", "A crowd: the number of its bets in a round.")] = None,
    box: Annotated[
        list[str] | None, repeatable("BOX=WEIGHT", "A box of the crowd's bets and its weight")
    ] = None,
    stake: Annotated[
        list[str] | None, repeatable("AMOUNT=WEIGHT", "A stake of the crowd's bets and its weight")
    ] = None,
    idle: Annotated[
        int, option("WEIGHT", "The weight of no bet, against the weights of the boxes.", min=0)
    ] = 0,
    minimum: Annotated[int, option("AMOUNT", "The table minimum.", min=1)] = 1,
    maximum: MaximumOption = None,
    differential: Annotated[
        int | None, option("AMOUNT", "The maximum differential.", min=0)
    ] = None,
    compare: Annotated[
        list[int] | None,
        repeatable(
            "AMOUNT",
            "Compare a shift under this differential with one under none",
            "--compare-differential",
            min=0,
        ),
    ] = None,
    per_hour: Annotated[int, option("N", "Rounds in an hour.", "--rounds-per-hour")] = 60,
    hours: Annotated[int, option("N", "Hours in a shift.")] = 8,
    shifts: Annotated[int, option("N", "Shifts in a year.")] = 1095,
    loss: Annotated[
        int | None,
        option(
            "AMOUNT",
            "Find the highest table maximum that keeps a greater loss in a shift unlikely.",
        ),
    ] = None,
    chance: Annotated[str, option("P", "The probability allowed for that loss.")] = "1%",
    drop: Annotated[
        int | None, option("AMOUNT", "The drop of a shift, to compute its hold.", min=1)
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
    game, limits = load_game(name, reading), LayoutLimits(minimum, maximum, differential)
    layout: FixedLayout | RandomLayout
    if not bet:
        layout = parse_crowd(game, limits, bets, box or [], stake or [], idle)
    elif box or stake or bets:
        raise InvalidInput("--bet is a fixed layout; leave --bets, --box and --stake out")
    else:
        layout = FixedLayout(game, parse_bets(game, bet), limits)
    check_page_file(html)
    if min(per_hour, hours, shifts) < 1:
        raise InvalidInput("--rounds-per-hour, --hours and --shifts must be at least one each")
    rounds = per_hour * hours
    times = f"{per_hour:,} rounds an hour, {hours} hours a shift, {shifts:,} shifts a year"
    forecast = ShiftForecast(
        game,
        f"{_describe_bets(layout)}; limits {_describe_limits(limits)}; {times}.",
        [],
        loss=loss or 0,
        share=parse_probability(chance),
        drop=Fraction(drop, rounds) if drop else None,
    )
    forecast = _compute(
        forecast,
        layout,
        {"hour": per_hour, "shift": rounds, "year": rounds * shifts},
        (None, *compare) if compare else (),
        is_limiting_loss=loss is not None,
    )
    if not forecast.periods:
        return
    match output_format:
        case "json":
            print_json(_as_json(forecast, limits))
        case "csv":
            figures = [_figures_csv(each) for each in forecast.periods]
            rows = ((key, *(each[key] for each in figures)) for key in figures[0])
            print_csv(("figure", *(each.name for each in forecast.periods)), rows)
        case "html" if html:
            write_page(html, shift_page(forecast))
        case _:
            _print_text(forecast)


def parse_crowd(
    game: Game,
    limits: LayoutLimits,
    bets: int | None,
    box_pairs: Sequence[str],
    stake_pairs: Sequence[str],
    idle_weight: int,
) -> RandomLayout:
    """Build the layout of a crowd that bets at random."""
    if not (bets and box_pairs and stake_pairs):
        raise InvalidInput(
            "no bets given; give --bet BOX=AMOUNT for the same bets in every round, or "
            "--bets N with --box BOX=WEIGHT and --stake AMOUNT=WEIGHT for a crowd"
        )
    boxes = parse_bets(game, [each if "=" in each else f"{each}=1" for each in box_pairs])
    stakes: Counter[int] = Counter()
    for pair in stake_pairs:
        amount, _, weight = pair.partition("=")
        stakes[parse_amount(amount)] += parse_amount(weight or "1")
    choices = tuple(
        WeightedBet(box, stake, box_weight * stake_weight)
        for box, box_weight in boxes.items()
        for stake, stake_weight in stakes.items()
    )
    # A choice has the weight of its box times that of its stake. `--idle` is compared with the
    # weights of the boxes, so it is multiplied by those of the stakes.
    return RandomLayout(game, bets, choices, limits, idle_weight * sum(stakes.values()))


def _compute(
    forecast: ShiftForecast,
    layout: FixedLayout | RandomLayout,
    lengths: Mapping[str, int],
    differentials: Sequence[int | None],
    *,
    is_limiting_loss: bool,
) -> ShiftForecast:
    """Return the forecast with its figures, of which some are missing if the user interrupts."""
    steps = count(1)
    with progress_bar("shift", len(lengths) + len(differentials) + is_limiting_loss) as report:
        try:
            for name, length in lengths.items():
                period = forecast_period(layout, name, length)
                forecast = replace(forecast, periods=[*forecast.periods, period])
                report(next(steps))
            for differential in differentials:
                other = replace(layout, limits=replace(layout.limits, differential=differential))
                pair = (differential, forecast_period(other, "shift", lengths["shift"]))
                forecast = replace(forecast, comparisons=[*forecast.comparisons, pair])
                report(next(steps))
            if is_limiting_loss:
                safe = safe_maximum(layout, lengths["shift"], forecast.loss, forecast.share)
                forecast = replace(forecast, safe=safe)
                report(next(steps))
        except KeyboardInterrupt:
            report_interrupted(f"{len(forecast.periods)} of {len(lengths)} periods are computed")
    return forecast


def _describe_bets(layout: FixedLayout | RandomLayout) -> str:
    if isinstance(layout, FixedLayout):
        bets = ", ".join(f"{stake:,} on {box}" for box, stake in layout.mix().stakes.items())
        return f"In every round {bets}"
    boxes = len({each.box for each in layout.choices})
    stakes = sorted({each.stake for each in layout.choices})
    return (
        f"{layout.bets} bets a round, each drawn independently from {boxes} boxes and stakes of "
        f"{', '.join(f'{each:,}' for each in stakes)}"
    )


def _describe_limits(limits: LayoutLimits) -> str:
    terms = [f"at least {limits.minimum:,}"]
    if limits.maximum is not None:
        terms.append(f"at most {limits.maximum:,}")
    if limits.differential is not None:
        terms.append(f"differential {limits.differential:,}")
    return ", ".join(terms)


def _print_text(forecast: ShiftForecast) -> None:
    print_game(forecast.game, "the house's win")
    print_line(forecast.assumptions)
    print_line(describe_distribution_method(max(each.win.error for each in forecast.periods)))
    columns = ("", *(each.name for each in forecast.periods))
    print_table(columns, win_rows(forecast), right=range(1, len(columns)), heading="Win")
    if forecast.comparisons:
        print_table(
            COMPARISON_COLUMNS,
            comparison_rows(forecast),
            right=range(1, len(COMPARISON_COLUMNS)),
            heading="Effect of a differential on a shift",
        )
    safe_text = describe_safe_maximum(forecast)
    if safe_text:
        print_line(f"\n{safe_text}")


def _figures_csv(each: PeriodForecast) -> dict[str, float]:
    wins = {f"win_{share}": each.win.quantile(share) for share in SHIFT_QUANTILES}
    rolls = {f"worst_roll_{share}": each.worst_round_quantile(share) for share in _ROLL_QUANTILES}
    return {
        "rounds": each.rounds,
        "turnover": float(each.turnover),
        "mean": float(each.win.mean),
        "sd": each.win.sd,
        "hold": float(each.mean_hold),
        "losing": float(each.loss_probability),
        **{name: float(amount) for name, amount in (wins | rolls).items()},
    }


def _as_json(forecast: ShiftForecast, limits: LayoutLimits) -> dict[str, Any]:
    safe = forecast.safe
    return {
        **game_json(forecast.game),
        "assumed": forecast.assumptions,
        "limits": {
            "minimum": limits.minimum,
            "maximum": limits.maximum,
            "differential": limits.differential,
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
            for share in _ROLL_QUANTILES
        ],
    }
