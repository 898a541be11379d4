"""`threedice serve`, `migrate` and `house`: operate a house.

The packages `api` and `house` take a second to import, so they are imported within the functions
that use them, and the help of these commands is shown at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from platformdirs import user_data_path

from threedice.cli.arguments import (
    DatabaseOption,
    JsonOption,
    argument,
    command_group,
    default_house_file,
    find_house_file,
    option,
    repeatable,
)
from threedice.cli.output import game_json, print_json, print_line, print_table
from threedice.db.schema import load_migrations
from threedice.errors import InvalidInput
from threedice.identity import Argon2Cost
from threedice.log.stores.urls import default_url, open_store, refuse_lost_database, state_directory

if TYPE_CHECKING:
    from threedice.api.listener import ListenAddress

commands = command_group()
house_commands = command_group("Check the file that describes a house.")
commands.add_typer(house_commands, name="house")


# --- serve --------------------------------------------------------------------------------------

DEMO_HOUSE_FILE = Path(__file__).parents[1] / "api" / "demo" / "house.toml"


@commands.command("serve")
def serve(
    database: DatabaseOption = "",
    house: Annotated[
        Path | None, option("FILE", "The file that describes the house, house.toml.")
    ] = None,
    host: Annotated[
        str, option("ADDRESS", "The address to listen on; loopback if omitted.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 for any free port.")
    ] = 8000,
    tls_cert: Annotated[
        Path | None, option("FILE", "The certificate and its chain, in PEM.")
    ] = None,
    tls_key: Annotated[Path | None, option("FILE", "The key of the certificate, in PEM.")] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A reverse proxy terminates TLS and sets X-Forwarded-For."
        ),
    ] = False,
    origin: Annotated[
        list[str] | None,
        repeatable("URL", "An origin that browsers use, such as https://house.example"),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a demo house with play money, automatic dealers and public passwords; with "
            "--house, at the tables of that file and in a database of its own.",
        ),
    ] = False,
) -> None:
    """Serve a house over HTTP and WebSocket."""
    from threedice.api.listener import ListenAddress

    address = ListenAddress(host, port, tls_cert, tls_key, behind_proxy)
    run_server(database, house, address, origin or [], demo=demo)


def run_server(
    database: str,
    house: Path | None,
    address: ListenAddress,
    origins: Sequence[str] = (),
    *,
    demo: bool = False,
) -> None:
    """Serve a house, or the demo house on a loopback address, until a signal stops it."""
    from threedice.api import server
    from threedice.api.config import load_config
    from threedice.api.http import journal
    from threedice.api.listener import is_loopback, tls_context

    if demo and (not is_loopback(address.host) or address.behind_proxy):
        raise InvalidInput(
            "the demo's passwords are public, so it listens on this machine only; "
            "leave --host and --behind-proxy out"
        )
    address.check()
    if address.certificate and address.key:
        tls_context(address.certificate, address.key)
    house_file = house or (DEMO_HOUSE_FILE if demo else _require_default_house_file())
    config = load_config(house_file)
    if demo:
        if house is not None:
            typer.echo(
                f"{house} is served as a demo: anybody at this machine may sign in with the"
                " passwords below, in every role, and simulated players bet play money at its"
                " tables; leave --demo out to serve the real house"
            )
        settings = server.ServerSettings(
            database or _demo_database(),
            config,
            address,
            demo=True,
            password_cost=demo_password_cost(),
            house_file=house_file,
        )
    else:
        settings = server.ServerSettings(
            database or default_url(), config, address, origins, house_file=house_file
        )
    opened = journal.open_journal()
    try:
        server.run_event_loop(server.serve(settings, typer.echo))
    finally:
        journal.close_journal(opened)


def demo_password_cost() -> Argon2Cost:
    """Return a low cost for the demo's passwords, which are public and need no protection."""
    from threedice.identity import Argon2Cost

    return Argon2Cost(1, 8 * 1024, 1)


def _require_default_house_file() -> Path:
    file = default_house_file()
    if not file.exists():
        raise InvalidInput(
            f"there is no house to serve: write {file} as docs/how-to/house-file.md shows, name "
            "a file with --house, or try threedice serve --demo"
        )
    return file


def _demo_database() -> str:
    folder = user_data_path("threedice") / "demo"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'house.sqlite'}"


# --- migrate ------------------------------------------------------------------------------------


@commands.command("migrate")
def migrate(
    house: Annotated[
        Path | None,
        option("FILE", "The house file to check first; the one in use if omitted."),
    ] = None,
    database: DatabaseOption = "",
) -> None:
    """Create or migrate the tables of a database.

    `threedice serve` does the same before it serves; commands that only read never do. Both refuse
    a house file that is not valid before they change anything. Stop the house and make a backup
    first. Servers of an older version suspend their tables when they notice.
    """
    from threedice.api.config import load_config

    url = database or default_url()
    state = state_directory(url)
    refuse_lost_database(url, state)
    if house_file := house or find_house_file(None, state):
        load_config(house_file)
    open_store(url, serving=True, tables="migrate").close()
    print_line(f"the tables have version {max(load_migrations('sqlite'))}")


# --- house check --------------------------------------------------------------------------------


@house_commands.command("check")
def check_house(
    file: Annotated[Path, argument("FILE", "A house.toml.")], as_json: JsonOption = False
) -> None:
    """Validate a house file as the server does, and show its tables."""
    from threedice.api.config import check_table, load_config

    house = load_config(file)
    games = {name: check_table(table) for name, table in house.tables.items()}
    if as_json:
        tables = {name: game_json(game) for name, game in games.items()}
        print_json({"name": house.name, "currency": house.currency, "tables": tables})
        return
    print_line(f"{house.name}: {house.currency}, {house.time_zone}")
    rows = [
        (
            name,
            games[name].id,
            table.mode,
            "the house" if table.dealt_by_house else "people",
            f"{table.limits.minimum} to {table.limits.maximum}",
        )
        for name, table in house.tables.items()
    ]
    print_table(("table", "game", "mode", "dealt by", "limits"), rows)
