"""The commands of `threedice` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from threedice.cli import sessions_app, simulate_app
from threedice.cli.serve_app import serve
from threedice.cli.users_app import users

app = typer.Typer(
    help="Casino table games with three dice: rulebooks, exact odds, settlement.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _group(name: str, says: str, *, alone: bool = False) -> typer.Typer:
    """Add a group of commands; one that says something alone needs no command after it."""
    group = typer.Typer(
        help=says,
        rich_markup_mode=None,
        no_args_is_help=not alone,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name=name)
    return group


rulebooks = _group("rulebooks", "List, show, check and compare rulebooks.", alone=True)
log = _group("log", "Prove, tell, export and rebuild the log of a house.")
house = _group("house", "Check the file that describes a house.")
app.add_typer(users, name="users")
app.command()(serve)
sessions_app.register(app)
app.command("simulate")(simulate_app.simulate)
keys = _group("keys", "Export or replace the key that signs a house's checkpoints.")

GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME", help="RULEBOOK/LAYOUT, such as sg-rws-tai-sai-v6/a, or FILE.toml/LAYOUT."
    ),
]
BookName = Annotated[
    str, typer.Argument(metavar="RULEBOOK", help="The id of a rulebook, or a file FILE.toml.")
]
Readings = Annotated[
    list[str] | None,
    typer.Option(
        "--reading", metavar="NAME=VALUE", help="Read an open question this way; may be repeated."
    ),
]
Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        help="sqlite:///PATH or postgresql://...; the user's own house without it.",
        envvar="THREEDICE_DATABASE",
    ),
]
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="The id of a table.")]
PublicKeys = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="Public keys to trust, from `threedice keys export`; those kept with the database "
        "without it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _version(asked: bool) -> None:
    if asked:
        from threedice import __version__

        typer.echo(f"threedice {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Casino table games with three dice: rulebooks, exact odds, settlement."""


@rulebooks.callback(invoke_without_command=True)
def list_rulebooks(context: typer.Context, as_json: Json = False) -> None:
    """List the rulebooks, or show, check or compare them."""
    if context.invoked_subcommand and as_json:
        raise typer.BadParameter(f"put --json after {context.invoked_subcommand}")
    if context.invoked_subcommand is None:
        from threedice.cli import rulebooks as command

        command.list_all(as_json)


@rulebooks.command("show")
def show_rulebook(book: BookName, as_json: Json = False) -> None:
    """Show a rulebook: identity, games, readings, procedure, limits, irregularities."""
    from threedice.cli import rulebooks as command

    command.show(book, as_json)


@rulebooks.command("check")
def check_rulebook(
    book: Annotated[
        str, typer.Argument(metavar="RULEBOOK", help="A file FILE.toml, a rulebook or a game.")
    ],
    floor: Annotated[
        str, typer.Option(metavar="PERCENT", help="Report boxes that return less than this.")
    ] = "75",
    chips: Annotated[
        str, typer.Option(metavar="5,25,100", help="Report odds not payable in these chips.")
    ] = "",
    reading: Readings = None,
    as_json: Json = False,
) -> None:
    """Load a rulebook strictly, then report what a game designer should look at again.

    The exit code is 0 unless the rulebook is refused: findings are advice.
    """
    from threedice.cli import rulebooks as command

    command.check(book, floor, chips, reading or [], as_json)


@rulebooks.command("diff")
def diff_rulebooks(
    one: Annotated[str, typer.Argument(metavar="A", help="A rulebook or a game.")],
    other: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    reading: Readings = None,
    as_json: Json = False,
) -> None:
    """Show how two games, or all layouts two rulebooks share, differ.

    Readings apply to whichever of the two has them.
    """
    from threedice.cli import rulebooks as command

    command.diff(one, other, reading or [], as_json)


@app.command()
def odds(
    game: GameName,
    box: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this box; may be repeated.")
    ] = None,
    bet: Annotated[
        list[str] | None,
        typer.Option(metavar="BOX=AMOUNT", help="The figures of these bets together; repeat it."),
    ] = None,
    reading: Readings = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Json = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a printable page to FILE.")
    ] = None,
) -> None:
    """Print the odds sheet of a game, exact."""
    from threedice.cli import odds as command

    form = command.form(csv=csv, as_json=as_json, html=html)
    if bet:
        command.mix(game, bet, box or [], reading or [], form)
    else:
        command.sheet(game, box or [], reading or [], form, html)


@app.command()
def payoffs(game: GameName, reading: Readings = None, as_json: Json = False) -> None:
    """Print what each box pays on each of the 216 rolls."""
    from threedice.cli import odds as command

    command.payoffs(game, reading or [], as_json)


@app.command()
def settle(
    game: GameName,
    dice: Annotated[str, typer.Option(metavar="1,3,6", help="The three faces, by name or number.")],
    bet: Annotated[
        list[str], typer.Option(metavar="BOX=AMOUNT", help="A bet, such as big=50; repeat it.")
    ],
    reading: Readings = None,
    as_json: Json = False,
) -> None:
    """Settle bets on a roll, clause by clause."""
    from threedice.cli import settle as command

    command.settle_bets(game, dice, bet, reading or [], as_json)


@app.command()
def clauses(
    book: Annotated[
        str | None, typer.Argument(metavar="RULEBOOK", help="One rulebook; all without it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print every clause with its status, its data and its tests."""
    from threedice.cli import clauses as command

    command.show(book, as_json)


@app.command()
def cases(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Files of cases; ours without.")
    ] = None,
    tell: Annotated[
        bool, typer.Option("--tell", help="Tell what happens in each case, as prose.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play cases and show where they come out otherwise."""
    from threedice.cli import cases as command

    raise typer.Exit(command.run(files or [], tell, as_json))


@log.command("verify")
def verify_log(
    against: Annotated[
        Path | None,
        typer.Option(metavar="CHECKPOINTS", help="A file of checkpoints kept outside."),
    ] = None,
    public_keys: PublicKeys = None,
    database: Database = "",
    as_json: Json = False,
) -> None:
    """Prove that nothing in the log was changed, and that everything kept beside it follows.

    Chains, answers, games, checkpoints, snapshots, books and balances. The exit code is 1 where
    something is not as it was written.
    """
    from threedice.cli import log as command

    raise typer.Exit(command.verify(database, against, public_keys, as_json))


@log.command("replay")
def replay_log(
    table: TableName,
    to: Annotated[
        int | None, typer.Option(metavar="VERSION", min=1, help="Stop after this version.")
    ] = None,
    database: Database = "",
) -> None:
    """Tell what happened at a table, as a playthrough."""
    from threedice.cli import log as command

    command.replay(database, table, to)


@log.command("export")
def export_log(
    table: TableName,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="CSV with a heading.")] = False,
    database: Database = "",
) -> None:
    """Write the entries of a table to standard output, exactly as they are stored."""
    from threedice.cli import log as command

    if jsonl and csv:
        raise typer.BadParameter("choose --jsonl or --csv")
    command.export(database, table, csv)


@log.command("explain")
def explain_log(
    table: TableName,
    number: Annotated[int, typer.Argument(metavar="ROUND", help="The number of the round.")],
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="The id of the player.")],
    database: Database = "",
) -> None:
    """Explain why a player's bets in a round were paid what they were paid."""
    from threedice.cli import log as command

    command.explain_bets(database, table, number, player)


@log.command("rebuild")
def rebuild_log(database: Database = "") -> None:
    """Make snapshots and books again from the log.

    A stream that is damaged is named and keeps what it has; the exit code is 1 then.
    """
    from threedice.cli import log as command

    raise typer.Exit(command.rebuild_folds(database))


@app.command("verify-dice")
def verify_dice(
    table: TableName,
    number: Annotated[
        int | None, typer.Option("--round", metavar="N", help="Only this round.")
    ] = None,
    database: Database = "",
) -> None:
    """Check the dice of a table that the house deals, from the log alone."""
    from threedice.cli import log as command

    raise typer.Exit(command.verify_dice(database, table, number))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    without_people: Annotated[
        bool, typer.Option("--without-people", help="Leave names and birth dates out.")
    ] = False,
    no_checkpoint: Annotated[
        bool,
        typer.Option(
            "--no-checkpoint",
            help="Sign nothing, as where the key is not at hand: copy up to the last checkpoint.",
        ),
    ] = False,
    database: Database = "",
) -> None:
    """Sign a checkpoint and copy a house up to it into one file, while it goes on playing."""
    from threedice.cli import backup as command

    command.make(database, file, without_people, no_checkpoint)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    against: Annotated[
        Path | None,
        typer.Option(metavar="CHECKPOINTS", help="A file of checkpoints kept outside."),
    ] = None,
    public_keys: PublicKeys = None,
    database: Database = "",
) -> None:
    """Put a backup into an empty database, if it is whole and ends at a trusted checkpoint."""
    from threedice.cli import backup as command

    raise typer.Exit(command.put_back(database, file, against, public_keys))


@keys.command("export")
def export_keys(
    pem: Annotated[bool, typer.Option("--pem", help="The key in use, as PEM.")] = False,
    database: Database = "",
) -> None:
    """Print the public keys of a house, with which anybody can check its checkpoints."""
    from threedice.cli import backup as command

    command.export_keys(database, pem)


@keys.command("rotate")
def rotate_keys(database: Database = "") -> None:
    """Sign with a new key from now on; the old one vouches for it."""
    from threedice.cli import backup as command

    command.rotate_keys(database)


@house.command("check")
def check_house(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A house.toml.")],
    as_json: Json = False,
) -> None:
    """Read a house's file as strictly as a server does, and show what it comes to."""
    from threedice.cli import house as command

    command.check(file, as_json)
