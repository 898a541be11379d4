"""`threedice distribution`: the net result of bets over many rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import log10
from typing import Annotated, Any, Final

from threedice.cli.arguments import (
    CsvOption,
    GameArgument,
    HtmlOption,
    JsonOption,
    ReadingsOption,
    check_memory,
    check_page_file,
    command_group,
    load_game,
    option,
    parse_bets,
    parse_probability,
    repeatable,
)
from threedice.cli.output import (
    OutputFormat,
    choose_format,
    defer_interrupt,
    exact_text,
    figure_json,
    format_money,
    format_probability,
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
from threedice.odds import (
    Distribution,
    LongRun,
    Mix,
    RoundDistribution,
    long_run,
    round_distribution,
)
from threedice.odds.approximation import choose_method, estimate_exact_bytes
from threedice.odds.convolution import (
    chance_at_least,
    check_probability,
    check_rounds,
    power_coefficients,
    quantile_over_rounds,
)
from threedice.pages.distribution import DISTRIBUTION_QUANTILES, distribution_page

commands = command_group()

DISTRIBUTION_METHODS: Final = ("exact", "streaming", "float64")
MAX_COUNT_DIGITS: Final = 20_000_000
"""Counts are left out of JSON if they have more digits than this in total."""


@commands.command("distribution")
def show_distribution(
    name: GameArgument,
    bet: Annotated[list[str], repeatable("BOX=AMOUNT", "A bet in every round, such as big=50")],
    rounds: Annotated[int, option("N", "The number of rounds.")],
    at_least: Annotated[
        list[str] | None, repeatable("NET", "Print the probability of this net or more")
    ] = None,
    quantile: Annotated[
        list[str] | None,
        repeatable("P", "Print the net not exceeded with this probability, such as 1/1000"),
    ] = None,
    method: Annotated[
        str | None,
        option(
            "HOW",
            "exact, streaming (single answers, little memory) or float64 (bounded error); if "
            "omitted, exact where that takes less than about half a minute, else float64.",
        ),
    ] = None,
    reading: ReadingsOption = None,
    csv: CsvOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
) -> None:
    """Print the net result of bets over many rounds."""
    output_format = choose_format(csv=csv, as_json=as_json, html=html)
    game = load_game(name, reading)
    bets = Mix(game, parse_bets(game, bet))
    if method is not None and method not in DISTRIBUTION_METHODS:
        raise InvalidInput(f"{method!r} is not a method; give {', '.join(DISTRIBUTION_METHODS)}")
    check_rounds(rounds)
    check_page_file(html)
    probabilities = [parse_probability(each) for each in quantile or []]
    for each in probabilities:
        check_probability(each)
    nets = [_parse_net(each) for each in at_least or []]
    if method == "streaming":
        _print_streamed_answers(bets, rounds, nets, probabilities, output_format)
        return
    result = _compute(round_distribution(bets), rounds, method)
    if result is None:
        return
    match output_format:
        case "json":
            print_json(_as_json(bets, result, nets, probabilities), indent=None)
        case "csv":
            rows = [(net, format_probability(share)) for _, net, share in _result_rows(result)]
            print_csv(("net", "probability"), rows)
        case "html" if html:
            write_page(html, distribution_page(bets, result))
        case _:
            _print_text(bets, result, nets, probabilities)


def _parse_net(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is not a net result; give a number such as -500") from None


def _compute(one_round: RoundDistribution, rounds: int, method: str | None) -> LongRun | None:
    """Return the distribution over the rounds, or None if the user interrupts."""
    if (method or choose_method(one_round, rounds)) != "exact":
        return long_run(one_round, rounds, "float64")
    check_memory(
        2 * estimate_exact_bytes(one_round, rounds),
        f"counting {rounds} rounds of these bets",
        "use --method float64, or --method streaming for single answers",
    )
    counts: list[int] = []
    total = rounds * one_round.degree + 1
    with progress_bar("counting", total) as report, defer_interrupt() as is_interrupted:
        for count in power_coefficients(one_round.ways, rounds):
            counts.append(count)
            if len(counts) % 256 == 0:
                report(len(counts))
            if is_interrupted():
                _report_partial_counts(one_round, rounds, counts)
                return None
    return Distribution(one_round, rounds, tuple(counts))


def _report_partial_counts(one_round: RoundDistribution, rounds: int, counts: list[int]) -> None:
    """Report the probability that the counts so far add up to."""
    partial = Distribution(one_round, rounds, tuple(counts))
    highest_net = partial.net(len(counts) - 1)
    probability = Fraction(sum(counts), partial.total)
    report_interrupted(
        f"counted {len(counts):,} of {rounds * one_round.degree + 1:,} results from the worst up; "
        f"the net is {format_money(highest_net)} or less with probability "
        f"{format_probability(probability)}"
    )


# --- text ---------------------------------------------------------------------------------------


def _print_text(
    bets: Mix, result: LongRun, nets: Sequence[Fraction], probabilities: Sequence[Fraction]
) -> None:
    print_game(bets.game, f"{result.rounds:,} rounds of {bets.total:,}")
    print_line(_describe_method(result))
    print_line(f"mean {format_money(result.mean)}, standard deviation {format_money(result.sd)}")
    rows = [
        ("ahead", format_probability(result.ahead)),
        ("level", format_probability(result.level)),
        ("behind", format_probability(result.behind)),
        *(
            (f"net of {format_money(net)} or more", format_probability(result.at_least(net)))
            for net in nets
        ),
    ]
    print_table(("", "probability"), rows, right={1}, heading="Probability")
    quantiles = probabilities or DISTRIBUTION_QUANTILES
    rows = [(f"{float(each) * 100:g} %", format_money(result.quantile(each))) for each in quantiles]
    print_table(("with probability", "net, or worse"), rows, right={1}, heading="Quantiles")
    worst = format_money(result.worst_1_in_1000)
    print_line(f"\nonce in a thousand times the net is {worst} or worse")


def _describe_method(result: LongRun) -> str:
    if isinstance(result, Distribution):
        total = f"{result.one_round.total_ways}^{result.rounds}"
        return f"exact: all {len(result.counts):,} results counted, out of {total}"
    return f"float64: every probability within {result.error:.1e} of the truth"


# --- streaming ----------------------------------------------------------------------------------


def _print_streamed_answers(
    bets: Mix,
    rounds: int,
    nets: Sequence[Fraction],
    probabilities: Sequence[Fraction],
    output_format: OutputFormat,
) -> None:
    """Compute and print single answers without holding all counts in memory."""
    if not nets and not probabilities:
        raise InvalidInput("streaming computes single answers; give --at-least or --quantile")
    if output_format in ("csv", "html"):
        raise InvalidInput("streaming keeps no distribution to write; leave --csv and --html out")
    one_round = round_distribution(bets)
    try:
        chances = [(net, chance_at_least(one_round, rounds, net)) for net in nets]
        quantiles = [
            (each, quantile_over_rounds(one_round, rounds, each)) for each in probabilities
        ]
    except KeyboardInterrupt:
        report_interrupted("no answer yet; --method float64 is faster")
        return
    if output_format == "json":
        print_json(
            {
                **game_json(bets.game),
                "rounds": rounds,
                "stakes": bets.stakes,
                "method": "streaming",
                "at_least": [
                    {"net": str(net), "probability": figure_json(each)} for net, each in chances
                ],
                "quantiles": [{"share": str(each), "net": str(net)} for each, net in quantiles],
            }
        )
        return
    for net, chance in chances:
        print_line(f"net of {format_money(net)} or more: {format_probability(chance)}")
    for probability, net in quantiles:
        print_line(f"net not exceeded with probability {probability}: {format_money(net)}")


# --- JSON and CSV -------------------------------------------------------------------------------


def _as_json(
    bets: Mix, result: LongRun, nets: Sequence[Fraction], probabilities: Sequence[Fraction]
) -> dict[str, Any]:
    return {
        **game_json(bets.game),
        "stakes": bets.stakes,
        "rounds": result.rounds,
        "method": "exact" if isinstance(result, Distribution) else "float64",
        "error": result.error,
        "mean": figure_json(result.mean),
        "variance": figure_json(result.variance),
        "sd": result.sd,
        "ahead": figure_json(result.ahead),
        "level": figure_json(result.level),
        "behind": figure_json(result.behind),
        "worst_1_in_1000": figure_json(result.worst_1_in_1000),
        "quantiles": [
            {"share": str(each), "net": str(result.quantile(each))}
            for each in probabilities or DISTRIBUTION_QUANTILES
        ],
        "at_least": [
            {"net": str(net), "probability": figure_json(result.at_least(net))} for net in nets
        ],
        "of": exact_text(result.total) if isinstance(result, Distribution) else None,
        "results": _results_json(result),
    }


def _results_json(result: LongRun) -> list[dict[str, Any]]:
    """Return every result, with its exact count unless the counts are too long in total."""
    if isinstance(result, Distribution) and _total_digits(result) <= MAX_COUNT_DIGITS:
        return [
            {"net": net, "probability": share, "count": exact_text(result.counts[index])}
            for index, net, share in _result_rows(result)
        ]
    return [{"net": net, "probability": share} for _, net, share in _result_rows(result)]


def _result_rows(result: LongRun) -> Iterator[tuple[int, str, float]]:
    """Yield the index of each result, its net as exact text and its probability, with progress.

    Nothing may be printed meanwhile, because of the progress bar.
    """
    net_text, rounds = result.one_round.net_text, result.rounds
    with progress_bar("writing", rounds * result.one_round.degree + 1) as report:
        for index, share in result.indexed_probabilities():
            yield index, net_text(index, rounds), share
            if index % 4096 == 0:
                report(index)


def _total_digits(result: Distribution) -> float:
    return len(result.counts) * result.rounds * log10(result.one_round.total_ways)
