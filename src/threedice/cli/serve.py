"""`threedice serve`: a house on the network, or a demo of one on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_config_path, user_data_path

from threedice.errors import InvalidInput
from threedice.log.opening import default_url
from threedice.people import Cost
from threedice.web import demo, journal
from threedice.web.house_file import read_house
from threedice.web.listening import Address, tls_context
from threedice.web.loopback import is_loopback
from threedice.web.serving import Plan, run
from threedice.web.serving import serve as serve_house

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.web.house_file import HouseFile

DEMO_HOUSE = Path(demo.__file__).with_name("house.toml")
DEMO_COST = Cost(1, 8 * 1024, 1)
"""Everybody may know the demo's passwords; they need not be hard to guess."""


def serve(database: str, house: Path | None, address: Address, origins: Sequence[str]) -> None:
    """Serve a house until it is told to stop."""
    _check(address)
    _serve(Plan(database or default_url(), _house_file(house), address, origins))


def serve_demo(database: str, house: Path | None, address: Address) -> None:
    """Serve the demo house on this machine only."""
    if not is_loopback(address.host) or address.behind_proxy:
        raise InvalidInput(
            "the demo's passwords are no secret, so it listens on this machine only; "
            "leave --host and --behind-proxy out"
        )
    _check(address)
    described = read_house(house or DEMO_HOUSE)
    _serve(Plan(database or _demo_database(), described, address, demo=True, cost=DEMO_COST))


def _serve(plan: Plan) -> None:
    opened = journal.open_journal()
    try:
        run(serve_house(plan, _say))
    finally:
        journal.close_journal(opened)


def _check(address: Address) -> None:
    address.check()
    if address.certificate and address.key:
        tls_context(address.certificate, address.key)


def _house_file(named: Path | None) -> HouseFile:
    """Return the house of a file, or of the one where houses are looked for."""
    if named is not None:
        return read_house(named)
    usual = user_config_path("threedice") / "house.toml"
    if not usual.exists():
        raise InvalidInput(
            f"there is no house to serve: write {usual} as docs/how-to/house-file.md shows, name a "
            "file with --house, or try threedice serve --demo"
        )
    return read_house(usual)


def _demo_database() -> str:
    folder = user_data_path("threedice") / "demo"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'house.sqlite'}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
