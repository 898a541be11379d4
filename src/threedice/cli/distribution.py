"""`threedice distribution`: the net result of bets over many rounds."""

from __future__ import annotations

from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING, Any, Final

from threedice.cli.arguments import read_bets, read_game
from threedice.cli.counting import check_memory, progress, stoppable, stopped
from threedice.cli.figures import (
    check_page,
    exact_text,
    figure,
    identity,
    money,
    print_csv,
    probability,
    read_share,
    write_page,
)
from threedice.cli.odds import readings_line
from threedice.cli.output import print_heading, print_json, print_line, print_table
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

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.cli.odds import Form

METHODS: Final = ("exact", "streaming", "float64")
_DIGITS: Final = 20_000_000
"""The most digits of counts that are written out."""


def show(
    name: str,
    pairs: Sequence[str],
    rounds: int,
    method: str | None,
    at_least: Sequence[str],
    quantiles: Sequence[str],
    readings: Sequence[str],
    form: Form,
    html: Path | None,
) -> None:
    """Print, or write, the distribution of the bets' net result."""
    game = read_game(name, readings)
    bets = Mix(game, read_bets(game, pairs))
    if method is not None and method not in METHODS:
        raise InvalidInput(f"{method!r} is no method; give {', '.join(METHODS)}")
    check_rounds(rounds)
    check_page(html)
    shares = [read_share(each) for each in quantiles]
    for each in shares:
        check_probability(each)
    nets = [_net(each) for each in at_least]
    if method == "streaming":
        _stream(bets, rounds, nets, shares, form)
        return
    law = round_distribution(bets)
    found = _found(law, rounds, method)
    if found is None:
        return
    match form:
        case "json":
            print_json(_as_json(bets, found, nets, shares), indent=None)
        case "csv":
            _print_csv(found)
        case "html" if html:
            write_page(html, distribution_page(bets, found))
        case _:
            _print(bets, found, nets, shares)


def _net(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{text!r} is no net result; give a number such as -500") from None


def _found(law: RoundDistribution, rounds: int, method: str | None) -> LongRun | None:
    """Return the distribution; nothing where somebody stopped it."""
    chosen = method or choose_method(law, rounds)
    if chosen != "exact":
        return long_run(law, rounds, "float64")
    check_memory(
        2 * estimate_exact_bytes(law, rounds),
        f"counting {rounds} rounds of these bets",
        "use --method float64, or --method streaming for single answers",
    )
    counts: list[int] = []
    with progress("counting", rounds * law.degree + 1) as shown, stoppable() as asked_to_stop:
        for count in power_coefficients(law.ways, rounds):
            counts.append(count)
            if len(counts) % 256 == 0:
                shown(len(counts))
            if asked_to_stop():
                _told_so_far(law, rounds, counts)
                return None
    return Distribution(law, rounds, tuple(counts))


def _told_so_far(law: RoundDistribution, rounds: int, counts: list[int]) -> None:
    """Say what the counts found so far amount to."""
    partial = Distribution(law, rounds, tuple(counts))
    reached = partial.net(len(counts) - 1)
    share = Fraction(sum(counts), partial.total)
    stopped(
        f"counted {len(counts):,} of {rounds * law.degree + 1:,} results from the worst up; "
        f"the net is {money(reached)} or less with probability {probability(share)}"
    )


# --- text ---------------------------------------------------------------------------------------


def _print(bets: Mix, found: LongRun, nets: Sequence[Fraction], shares: Sequence[Fraction]) -> None:
    game = bets.game
    print_line(f"{game.title} ({game.id}): {found.rounds:,} rounds of {bets.total:,}")
    print_line(f"hash {game.hash}; readings {readings_line(game)}")
    print_line(_how(found))
    print_line(f"mean {money(found.mean)}, standard deviation {money(found.sd)}")
    rows = [
        ("ahead", probability(found.ahead)),
        ("level", probability(found.level)),
        ("behind", probability(found.behind)),
        *((f"net of {money(net)} or more", probability(found.at_least(net))) for net in nets),
    ]
    print_heading("Probability")
    print_table(("", "probability"), rows, right=frozenset({1}))
    print_heading("Quantiles")
    wanted = shares or DISTRIBUTION_QUANTILES
    rows = [(f"{float(each) * 100:g} %", money(found.quantile(each))) for each in wanted]
    print_table(("with probability", "net, or worse"), rows, right=frozenset({1}))
    print_line(f"\nonce in a thousand times the net is {money(found.worst_1_in_1000)} or worse")


def _how(found: LongRun) -> str:
    if isinstance(found, Distribution):
        places, of = f"{len(found.counts):,}", f"{found.one_round.total_ways}^{found.rounds}"
        return f"exact: all {places} results counted, out of {of}"
    return f"float64: every probability within {found.error:.1e} of the truth"


# --- one answer at a time -----------------------------------------------------------------------


def _stream(
    bets: Mix, rounds: int, nets: Sequence[Fraction], shares: Sequence[Fraction], form: Form
) -> None:
    """Answer single questions without holding the counts."""
    if not nets and not shares:
        raise InvalidInput("streaming answers single questions; give --at-least or --quantile")
    if form in ("csv", "html"):
        raise InvalidInput("streaming holds no distribution to write; leave --csv and --html out")
    law = round_distribution(bets)
    try:
        chances = [(net, chance_at_least(law, rounds, net)) for net in nets]
        found = [(share, quantile_over_rounds(law, rounds, share)) for share in shares]
    except KeyboardInterrupt:
        stopped("no answer yet; --method float64 is quicker")
        return
    if form == "json":
        at_least = [{"net": str(net), "probability": figure(each)} for net, each in chances]
        quantiles = [{"share": str(each), "net": str(net)} for each, net in found]
        answer = {"rounds": rounds, "stakes": bets.stakes, "method": "streaming"}
        print_json({**identity(bets.game), **answer, "at_least": at_least, "quantiles": quantiles})
        return
    for net, chance in chances:
        print_line(f"net of {money(net)} or more: {probability(chance)}")
    for share, net in found:
        print_line(f"net not exceeded with probability {share}: {money(net)}")


# --- other forms --------------------------------------------------------------------------------


def _as_json(
    bets: Mix, found: LongRun, nets: Sequence[Fraction], shares: Sequence[Fraction]
) -> dict[str, Any]:
    exact = isinstance(found, Distribution)
    return {
        **identity(bets.game),
        "stakes": bets.stakes,
        "rounds": found.rounds,
        "method": "exact" if exact else "float64",
        "error": found.error,
        "mean": figure(found.mean),
        "variance": figure(found.variance),
        "sd": found.sd,
        "ahead": figure(found.ahead),
        "level": figure(found.level),
        "behind": figure(found.behind),
        "worst_1_in_1000": figure(found.worst_1_in_1000),
        "quantiles": [
            {"share": str(each), "net": str(found.quantile(each))}
            for each in shares or DISTRIBUTION_QUANTILES
        ],
        "at_least": [{"net": str(net), "probability": figure(found.at_least(net))} for net in nets],
        "of": exact_text(found.total) if isinstance(found, Distribution) else None,
        "results": _results_json(found),
    }


def _results_json(found: LongRun) -> list[dict[str, Any]]:
    """Return every result, with its exact count unless all of them are too long to write."""
    if isinstance(found, Distribution) and counts_fit(found):
        pairs = ((k, n) for k, n in enumerate(found.counts) if n)
        return [
            {"net": str(found.net(k)), "probability": n / found.total, "count": exact_text(n)}
            for k, n in pairs
        ]
    return [{"net": str(net), "probability": float(share)} for net, share in found.results()]


def counts_fit(found: Distribution) -> bool:
    """Tell whether all counts can reasonably be written out."""
    digits = found.rounds * log10(found.one_round.total_ways)
    return len(found.counts) * digits <= _DIGITS


def _print_csv(found: LongRun) -> None:
    rows = ((net, probability(float(share))) for net, share in found.results())
    print_csv(("net", "probability"), rows)
