"""`threedice equipment`: the equipment of a table by its log, and what served a round."""

from __future__ import annotations

from typing import Annotated

import msgspec

from threedice.cli.arguments import (
    DatabaseOption,
    JsonOption,
    TableArgument,
    command_group,
    option,
)
from threedice.cli.log import open_log, require_table
from threedice.cli.output import print_json, print_line
from threedice.errors import InvalidInput
from threedice.table.equipment.history import ServingPiece

commands = command_group()


@commands.command("equipment")
def show_equipment(
    table: TableArgument,
    number: Annotated[int | None, option("N", "The equipment of this round.", "--round")] = None,
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Print the equipment of a table, or what served a round."""
    from threedice.house.reports.equipment import read_equipment_history
    from threedice.table.equipment.history import equipment_in_use, equipment_of_round

    with open_log(database) as store:
        require_table(store, table)
        history = read_equipment_history(store, table)
        of_round = equipment_of_round(history, number) if number is not None else None
        served = of_round if number is not None else equipment_in_use(history)
    if served is None:
        raise InvalidInput(f"there was no round {number} at table {table}")
    if as_json:
        print_json(msgspec.to_builtins(served))
        return
    for piece in served.pieces:
        print_line(_describe(piece))
    for kind in served.omitted:
        print_line(f"no {kind}")
    if not served.pieces and not served.omitted:
        print_line("nothing is registered")


def _describe(piece: ServingPiece) -> str:
    details = [
        f"{word} {value}"
        for word, value in (("serial", piece.serial), ("seal", piece.seal))
        if value
    ]
    dice = [f"dice {', '.join(piece.dice)}"] if piece.dice else []
    condition = piece.condition.replace("-", " ")
    return ", ".join([f"{piece.kind} {piece.piece}: {condition}", *details, *dice])
