"""The commands about many rounds, `distribution`, `session` and `shift`, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME", help="RULEBOOK/LAYOUT, such as sg-rws-tai-sai-v6/a, or FILE.toml/LAYOUT."
    ),
]
Readings = Annotated[
    list[str] | None,
    typer.Option(
        "--reading", metavar="NAME=VALUE", help="Read an open question this way; may be repeated."
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a printable page to FILE.")
]
Minimum = Annotated[int, typer.Option(metavar="AMOUNT", min=0, help="The table minimum.")]
Maximum = Annotated[
    int | None, typer.Option(metavar="AMOUNT", min=1, help="The table maximum; none without it.")
]


def register(app: typer.Typer) -> None:
    """Add the three commands to an application, those it has not got yet."""
    known = [each.callback for each in app.registered_commands]
    for command in (distribution, session, shift):
        if command not in known:
            app.command()(command)


def distribution(
    game: GameName,
    bet: Annotated[
        list[str],
        typer.Option(metavar="BOX=AMOUNT", help="A bet in every round, such as big=50; repeat it."),
    ],
    rounds: Annotated[int, typer.Option(metavar="N", help="How many rounds.")],
    at_least: Annotated[
        list[str] | None,
        typer.Option(metavar="NET", help="How likely is this net result or more; repeat it."),
    ] = None,
    quantile: Annotated[
        list[str] | None,
        typer.Option(metavar="P", help="The net result not exceeded so likely, such as 1/1000."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="exact, streaming (single answers, little memory) or float64 (bounded error); "
            "without it exact where that is half a minute's work.",
        ),
    ] = None,
    reading: Readings = None,
    csv: Csv = False,
    as_json: Json = False,
    html: Html = None,
) -> None:
    """Print how bets end after many rounds, exact to the last digit."""
    from threedice.cli import distribution as command
    from threedice.cli.odds import form

    command.show(
        game,
        bet,
        rounds,
        method,
        at_least or [],
        quantile or [],
        reading or [],
        form(csv=csv, as_json=as_json, html=html),
        html,
    )


def session(
    game: GameName,
    plan: Annotated[
        str,
        typer.Option(
            metavar="PLAN",
            help="flat, martingale, grand-martingale, paroli, dalembert, fibonacci, labouchere or "
            "oscars-grind.",
        ),
    ],
    box: Annotated[
        list[str],
        typer.Option(metavar="BOX", help="What to bet on; several as BOX=SHARE divide each stake."),
    ],
    bankroll: Annotated[int, typer.Option(metavar="AMOUNT", help="What the player brings.")],
    base: Annotated[int, typer.Option(metavar="AMOUNT", help="The base stake.")],
    rounds: Annotated[int, typer.Option(metavar="N", help="The most rounds to play.")],
    minimum: Minimum = 0,
    maximum: Maximum = None,
    stop_loss: Annotated[
        int | None, typer.Option(metavar="AMOUNT", help="Leave having lost this much.")
    ] = None,
    stop_win: Annotated[
        int | None, typer.Option(metavar="AMOUNT", help="Leave having won this much.")
    ] = None,
    line: Annotated[
        str, typer.Option(metavar="1,2,3,4", help="The line of a labouchere, in base stakes.")
    ] = "",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="exact, float64 (bounded error) or simulate; without it the first that is "
            "feasible.",
        ),
    ] = None,
    states: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="The most states to lay out for an exact answer."),
    ] = 400_000,
    sessions: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many sessions where they are simulated.")
    ] = 1_000_000,
    seed: Annotated[
        int, typer.Option(metavar="SEED", help="The seed where they are simulated.")
    ] = 1,
    reading: Readings = None,
    csv: Csv = False,
    as_json: Json = False,
    html: Html = None,
) -> None:
    """Print what becomes of a bankroll: ruin and when, the final bankroll, the way there."""
    from threedice.cli import session as command
    from threedice.cli.odds import form

    asked = command.Asked(
        plan, box, bankroll, base, rounds, minimum, maximum, stop_loss, stop_win, line, states,
        sessions, seed,
    )  # fmt: skip
    command.show(
        game, asked, method, reading or [], form(csv=csv, as_json=as_json, html=html), html
    )


def shift(
    game: GameName,
    bet: Annotated[
        list[str] | None,
        typer.Option(metavar="BOX=AMOUNT", help="The same bets in every round; repeat it."),
    ] = None,
    bets: Annotated[
        int | None, typer.Option(metavar="N", help="A crowd: how many bets it makes in a round.")
    ] = None,
    box: Annotated[
        list[str] | None,
        typer.Option(metavar="BOX=WEIGHT", help="A box the crowd chooses so often; repeat it."),
    ] = None,
    stake: Annotated[
        list[str] | None,
        typer.Option(metavar="AMOUNT=WEIGHT", help="A stake it chooses so often; repeat it."),
    ] = None,
    idle: Annotated[
        int, typer.Option(metavar="WEIGHT", min=0, help="How often it makes no bet instead.")
    ] = 0,
    minimum: Annotated[int, typer.Option(metavar="AMOUNT", min=1, help="The table minimum.")] = 1,
    maximum: Maximum = None,
    differential: Annotated[
        int | None, typer.Option(metavar="AMOUNT", min=0, help="The maximum differential.")
    ] = None,
    compare: Annotated[
        list[int] | None,
        typer.Option(
            "--compare-differential",
            metavar="AMOUNT",
            min=0,
            help="Show a shift under this differential beside one under none; repeat it.",
        ),
    ] = None,
    per_hour: Annotated[int, typer.Option("--rounds-per-hour", metavar="N", help="Rounds.")] = 60,
    hours: Annotated[int, typer.Option(metavar="N", help="Hours in a shift.")] = 8,
    shifts: Annotated[int, typer.Option(metavar="N", help="Shifts in a year.")] = 1095,
    loss: Annotated[
        int | None,
        typer.Option(
            metavar="AMOUNT", help="Find the table maximum that keeps a greater loss unlikely."
        ),
    ] = None,
    chance: Annotated[
        str, typer.Option(metavar="P", help="How likely that loss may be in a shift.")
    ] = "1%",
    drop: Annotated[
        int | None, typer.Option(metavar="AMOUNT", min=1, help="The drop of a shift, for its hold.")
    ] = None,
    reading: Readings = None,
    csv: Csv = False,
    as_json: Json = False,
    html: Html = None,
) -> None:
    """Print the house's win, hold and worst roll over an hour, a shift and a year."""
    from threedice.cli import shift as command
    from threedice.cli.odds import form

    asked = command.Asked(
        bet or [], bets, box or [], stake or [], idle, minimum, maximum, differential,
        compare or [], per_hour, hours, shifts, loss, chance, drop,
    )  # fmt: skip
    command.show(game, asked, reading or [], form(csv=csv, as_json=as_json, html=html), html)
