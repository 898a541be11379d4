"""`threedice serve`: a house on the network, or a demo of one on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_config_path, user_data_path

from threedice.api import demo
from threedice.api.config import load_config
from threedice.api.http import journal
from threedice.api.listener import ListenAddress, is_loopback, tls_context
from threedice.api.server import ServerSettings, run_event_loop
from threedice.api.server import serve as serve_house
from threedice.errors import InvalidInput
from threedice.identity import Argon2Cost
from threedice.log.stores.urls import default_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.api.config import HouseConfig

DEMO_HOUSE = Path(demo.__file__).with_name("house.toml")
DEMO_COST = Argon2Cost(1, 8 * 1024, 1)
"""Everybody may know the demo's passwords; they need not be hard to guess."""


def serve(
    database: str, house: Path | None, address: ListenAddress, origins: Sequence[str]
) -> None:
    """Serve a house until it is told to stop."""
    _check(address)
    _serve(ServerSettings(database or default_url(), _house_file(house), address, origins))


def serve_demo(database: str, house: Path | None, address: ListenAddress) -> None:
    """Serve the demo house on this machine only."""
    if not is_loopback(address.host) or address.behind_proxy:
        raise InvalidInput(
            "the demo's passwords are no secret, so it listens on this machine only; "
            "leave --host and --behind-proxy out"
        )
    _check(address)
    described = load_config(house or DEMO_HOUSE)
    _serve(
        ServerSettings(
            database or _demo_database(), described, address, demo=True, password_cost=DEMO_COST
        )
    )


def _serve(plan: ServerSettings) -> None:
    opened = journal.open_journal()
    try:
        run_event_loop(serve_house(plan, _say))
    finally:
        journal.close_journal(opened)


def _check(address: ListenAddress) -> None:
    address.check()
    if address.certificate and address.key:
        tls_context(address.certificate, address.key)


def _house_file(named: Path | None) -> HouseConfig:
    """Return the house of a file, or of the one where houses are looked for."""
    if named is not None:
        return load_config(named)
    usual = user_config_path("threedice") / "house.toml"
    if not usual.exists():
        raise InvalidInput(
            f"there is no house to serve: write {usual} as docs/how-to/house-file.md shows, name a "
            "file with --house, or try threedice serve --demo"
        )
    return load_config(usual)


def _demo_database() -> str:
    folder = user_data_path("threedice") / "demo"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'house.sqlite'}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
