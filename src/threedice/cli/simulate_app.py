"""The command `threedice simulate` and its options."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 -- Typer reads the annotations
from typing import Annotated

import typer


def simulate(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="RULEBOOK/LAYOUT, such as sg-rws-tai-sai-v6/a, or FILE.toml/LAYOUT.",
        ),
    ],
    bet: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOX=AMOUNT",
            help="A bet made in every round; repeat it. With --plan, the proportions in which its "
            "stake is divided and together its base.",
        ),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="flat, martingale, grand-martingale, paroli, dalembert, fibonacci, labouchere, "
            "oscars-grind, or FILE.py:FUNCTION.",
        ),
    ] = None,
    box: Annotated[str | None, typer.Option(metavar="ID", help="The box a plan stakes on.")] = None,
    base: Annotated[int | None, typer.Option(help="The base stake of a plan.")] = None,
    bankroll: Annotated[int | None, typer.Option(help="What a player brings.")] = None,
    minimum: Annotated[int, typer.Option(help="The least stake at the table.")] = 0,
    maximum: Annotated[int | None, typer.Option(help="The largest stake at the table.")] = None,
    stop_loss: Annotated[int | None, typer.Option(help="Leave having lost this much.")] = None,
    stop_win: Annotated[int | None, typer.Option(help="Leave having won this much.")] = None,
    line: Annotated[
        str, typer.Option(metavar="1,2,3,4", help="The line of a Labouchere, in bases.")
    ] = "1,2,3,4",
    player: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME BOX=AMOUNT[@PLAN] ...'",
            help="A player at the table, with bankroll=, stop-loss= and stop-win= where he has "
            "them; repeat it.",
        ),
    ] = None,
    differential: Annotated[
        int | None, typer.Option(help="The maximum differential, with --player.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds, of a session or in all.")] = None,
    sessions: Annotated[int, typer.Option(help="How many sessions.")] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed brings the same dice anywhere.")] = 1,
    threads: Annotated[int | None, typer.Option(help="Threads; all processors without it.")] = None,
    device: Annotated[str, typer.Option(metavar="cpu|gpu", help="Where to play.")] = "cpu",
    cluster: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A Dask scheduler, such as tcp://127.0.0.1:8786."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on from FILE, and put by there what is done."),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option(
            "--reading",
            metavar="NAME=VALUE",
            help="Read an open question this way; may be repeated.",
        ),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a printable page to FILE.")
    ] = None,
) -> None:
    """Simulate bets, a player's sessions by a plan, or a whole table.

    `--bet` alone: the same bets in every round. `--plan` or `--bankroll`: sessions of a player.
    `--player`: sessions of a table. Ctrl-C shows what is done so far and how to go on.
    """
    from threedice.cli import simulate as command
    from threedice.cli.odds import form

    asked = command.Asked(
        game=game,
        bets=tuple(bet or ()),
        plan=plan,
        box=box,
        base=base,
        bankroll=bankroll,
        minimum=minimum,
        maximum=maximum,
        stop_loss=stop_loss,
        stop_win=stop_win,
        line=line,
        players=tuple(player or ()),
        differential=differential,
        rounds=rounds,
        sessions=sessions,
        seed=seed,
        readings=tuple(reading or ()),
    )
    crew = command.Crewing(threads, device, cluster)
    shape = form(csv=csv, as_json=as_json, html=html)
    raise typer.Exit(command.simulate(asked, crew, resume, shape, html))
