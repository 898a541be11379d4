"""`threedice house`: the file that describes a house."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.api.config import check_table, load_config
from threedice.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from pathlib import Path


def check(file: Path, as_json: bool) -> None:
    """Read a house strictly and show what it comes to."""
    house = load_config(file)
    games = {name: check_table(table) for name, table in house.tables.items()}
    if as_json:
        tables = {
            name: {"game": game.id, "hash": game.hash, "readings": game.readings}
            for name, game in games.items()
        }
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
