"""`threedice serve`, `migrate`, `house`, `backup`, `restore` and `keys`: operate a house.

The packages `api` and `house` take a second to import, so they are imported within the functions
that use them, and the help of these commands is shown at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from platformdirs import user_config_path, user_data_path

from threedice.cli.arguments import (
    AgainstOption,
    DatabaseOption,
    JsonOption,
    PublicKeysOption,
    argument,
    command_group,
    option,
    repeatable,
)
from threedice.cli.log import (
    load_checkpoints,
    load_trusted_keys,
    open_log,
    rebuild_projections,
    require_database,
)
from threedice.cli.output import game_json, print_json, print_line, print_table, progress_callback
from threedice.db.schema import load_migrations
from threedice.errors import InvalidInput, TamperedData
from threedice.identity import Argon2Cost
from threedice.log.proof import keys
from threedice.log.proof.backup import create_backup, restore_backup
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.store import Store
from threedice.log.stores.files import is_halted
from threedice.log.stores.urls import default_url, open_store, state_directory

if TYPE_CHECKING:
    from threedice.api.listener import ListenAddress

commands = command_group()
house_commands = command_group("Check the file that describes a house.")
commands.add_typer(house_commands, name="house")
key_commands = command_group("Export or rotate the key that signs checkpoints.")
commands.add_typer(key_commands, name="keys")


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
            help="Serve a demo house with play money, automatic dealers and public passwords.",
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
    if demo:
        config = load_config(house or DEMO_HOUSE_FILE)
        settings = server.ServerSettings(
            database or _demo_database(),
            config,
            address,
            demo=True,
            password_cost=demo_password_cost(),
        )
    else:
        config = load_config(house or _default_house_file())
        settings = server.ServerSettings(database or default_url(), config, address, origins)
    opened = journal.open_journal()
    try:
        server.run_event_loop(server.serve(settings, typer.echo))
    finally:
        journal.close_journal(opened)


def demo_password_cost() -> Argon2Cost:
    """Return a low cost for the demo's passwords, which are public and need no protection."""
    from threedice.identity import Argon2Cost

    return Argon2Cost(1, 8 * 1024, 1)


def _default_house_file() -> Path:
    """Return the house file in the user's configuration directory."""
    file = user_config_path("threedice") / "house.toml"
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
def migrate(database: DatabaseOption = "") -> None:
    """Create or migrate the tables of a database.

    `threedice serve` does the same before it serves; commands that only read never do. Stop the
    house and make a backup first. Servers of an older version suspend their tables when they
    notice.
    """
    open_store(database or default_url(), serving=True, tables="migrate").close()
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


# --- backup and restore -------------------------------------------------------------------------


@commands.command("backup")
def backup(
    file: Annotated[Path, argument("FILE", "The file to create; it must not exist.")],
    without_people: Annotated[
        bool, typer.Option("--without-people", help="Leave names and birth dates out.")
    ] = False,
    no_checkpoint: Annotated[
        bool,
        typer.Option(
            "--no-checkpoint",
            help="Sign nothing, for a machine without the key: copy up to the last checkpoint.",
        ),
    ] = False,
    database: DatabaseOption = "",
) -> None:
    """Sign a checkpoint and back up a house to a file.

    The backup ends at the checkpoint. The house may be in service meanwhile.
    """
    state = state_directory(database or default_url())
    with open_log(database) as store:
        if not no_checkpoint:
            if file.exists():  # do not sign a checkpoint for a backup that cannot be written
                raise InvalidInput(f"{file} exists already; name a new file for the backup")
            _sign_checkpoint(store, state)
        counts = create_backup(store, file, people=not without_people)
    rows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print_line(f"{file}: {rows or 'an empty house'}")


def _sign_checkpoint(store: Store, state: Path) -> None:
    """Sign a checkpoint of the current state, so that the backup can end at it."""
    remedy = "or give --no-checkpoint to copy only up to the last checkpoint"
    if not keys.has_signing_key(state):
        raise InvalidInput(
            f"the house's signing key is not in {state}, so the backup cannot be signed; "
            f"run it on the machine with the key, {remedy}"
        )
    if cause := store.suspension_reason() or (is_halted(state) and f"as {state} says"):
        raise InvalidInput(f"writing is halted ({cause}); release it first, {remedy}")
    CheckpointSigner(store, keys.open_keys(state), state).create_checkpoint(time.time_ns() // 1000)


@commands.command("restore")
def restore(
    file: Annotated[Path, argument("FILE", "A backup.")],
    against: AgainstOption = None,
    public_keys: PublicKeysOption = None,
    database: DatabaseOption = "",
) -> None:
    """Verify a backup and restore it to an empty database.

    The backup must be complete and end at a checkpoint signed by a trusted key. The exit code is 1
    if a stream cannot be rebuilt.
    """
    from threedice.house.audit.auditor import audit

    url = database or default_url()
    trusted = load_trusted_keys(url, public_keys)
    if not trusted:
        raise InvalidInput("there are no keys to verify the backup with; name them with --keys")
    checkpoints, malformed = load_checkpoints(url, against)
    if malformed:
        raise TamperedData(malformed[0].where, f"{malformed[0].what}; nothing is restored")
    with progress_callback("restoring") as progress:
        report = restore_backup(
            file, url, public_keys=trusted, against=checkpoints, progress=progress, verify=audit
        )
    keys.save_known_keys(state_directory(url), trusted)
    code = rebuild_projections(url)
    print_line(f"{report.entries} entries in {report.streams} streams restored and verified")
    raise typer.Exit(code)


# --- keys ---------------------------------------------------------------------------------------


@key_commands.command("export")
def export_keys(
    pem: Annotated[bool, typer.Option("--pem", help="Print only the current key, in PEM.")] = False,
    database: DatabaseOption = "",
) -> None:
    """Print the public keys of a house, which verify its checkpoints."""
    state = state_directory(require_database(database))
    current = keys.open_keys(state)
    if pem:
        print_line(keys.export_pem(current.public[current.key_id]).decode().rstrip())
    else:
        known = keys.read_public_keys(state)
        print_line(keys.export_public_keys(known.values()).decode())


@key_commands.command("rotate")
def rotate_keys(database: DatabaseOption = "") -> None:
    """Replace the signing key; the old key vouches for the new one."""
    rotated = keys.rotate_signing_key(state_directory(require_database(database)))
    print_line(f"new checkpoints are signed with key {rotated.key_id}")
