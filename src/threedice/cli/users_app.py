"""The commands of `threedice users` and their options."""

from __future__ import annotations

from typing import Annotated

import typer

users = typer.Typer(
    help="The accounts of a house: who may sign in, in which roles, at which tables.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

UserName = Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")]
Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        help="sqlite:///PATH or postgresql://...; the user's own house without it.",
        envvar="THREEDICE_DATABASE",
    ),
]
PasswordStdin = Annotated[
    bool,
    typer.Option(
        "--password-stdin",
        help="Read the password from standard input; without it, a random one is shown once and "
        "has to be changed.",
    ),
]


@users.command("add")
def add_user(
    name: UserName,
    role: Annotated[
        list[str],
        typer.Option(
            metavar="ROLE",
            help="player, dealer, supervisor, pit-manager, shift-manager, auditor or "
            "administrator; may be repeated.",
        ),
    ],
    password_stdin: PasswordStdin = False,
    database: Database = "",
) -> None:
    """Make an account, and the house with it where there is none."""
    from threedice.cli import users as command

    command.add(database, name, role, password_stdin)


@users.command("list")
def list_users(
    database: Database = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the accounts."""
    from threedice.cli import users as command

    command.list_all(database, as_json)


@users.command("disable")
def disable_user(name: UserName, database: Database = "") -> None:
    """Let an account sign in no more, and end all it has open."""
    from threedice.cli import users as command

    command.disable(database, name)


@users.command("enable")
def enable_user(name: UserName, database: Database = "") -> None:
    """Let a disabled account sign in again."""
    from threedice.cli import users as command

    command.enable(database, name)


@users.command("passwd")
def reset_password(
    name: UserName, password_stdin: PasswordStdin = False, database: Database = ""
) -> None:
    """Give an account another password, and end all its sessions."""
    from threedice.cli import users as command

    command.reset_password(database, name, password_stdin)


@users.command("reset-codes")
def reset_codes(name: UserName, database: Database = "") -> None:
    """Forget the codes of somebody who lost his telephone; he sets up new ones."""
    from threedice.cli import users as command

    command.reset_codes(database, name)


@users.command("assign")
def assign_user(
    name: UserName,
    role: Annotated[str, typer.Option(metavar="ROLE", help="A role that the account has.")],
    until: Annotated[
        str, typer.Option(metavar="TIME", help="When the shift ends, such as 2030-01-31T02:00.")
    ],
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The id of a table; all without it.")
    ] = None,
    starts: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="TIME",
            help="When it begins; now without it. Times are local unless they have an offset.",
        ),
    ] = "",
    database: Database = "",
) -> None:
    """Assign an account to a table, or to all, for a shift."""
    from threedice.cli import users as command

    command.assign(database, name, role, table, starts, until)


@users.command("token")
def make_token(
    name: UserName,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What the token is for.")],
    scope: Annotated[
        list[str],
        typer.Option(metavar="SCOPE", help="read, play, deal, ...; may be repeated."),
    ],
    days: Annotated[
        int | None, typer.Option(metavar="DAYS", help="How long it lasts; for ever without.")
    ] = None,
    database: Database = "",
) -> None:
    """Make a token by which a program acts for an account; it is shown once."""
    from threedice.cli import users as command

    command.make_token(database, name, title, scope, days)
