"""`threedice slips`: the slips of a table by its log, in a list or on a printable page."""

from __future__ import annotations

from typing import Annotated

import msgspec

from threedice.cli.arguments import (
    DatabaseOption,
    HtmlOption,
    JsonOption,
    TableArgument,
    check_page_file,
    command_group,
    option,
)
from threedice.cli.log import open_log, require_table
from threedice.cli.output import choose_format, print_json, print_line, print_table, write_page
from threedice.errors import InvalidInput
from threedice.money import format_currency
from threedice.pages.slip import (
    COUNT_COLUMNS,
    SLIP_TITLES,
    describe_slip,
    describe_total,
    describe_variance,
    slip_page,
    slip_rows,
)

commands = command_group()


@commands.command("slips")
def show_slips(
    table: TableArgument,
    number: Annotated[int | None, option("N", "The slip with this number.", "--slip")] = None,
    html: HtmlOption = None,
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Print the slips of a table, or one of them chip by chip."""
    from threedice.house.reports.counts import read_counts
    from threedice.house.stream_state import GameRegistry

    output_format = choose_format(csv=False, as_json=as_json, html=html)
    check_page_file(html)
    if html and number is None:
        raise InvalidInput("a page shows one slip; name it with --slip")
    with open_log(database) as store:
        require_table(store, table)
        ledger = read_counts(store, table)
        slips = [slip for slip in ledger.slips if number in (None, slip.slip)]
        if not slips and number is not None:
            last = len(ledger.slips)
            known = f"its slips are 1 to {last}" if last else "it has none"
            raise InvalidInput(f"table {table} has no slip {number}; {known}")
        if html:
            game = GameRegistry(store).load_pinned(ledger.game_hash)
            write_page(html, slip_page(game, table, ledger.currency, slips[0]))
            return
    if output_format == "json":
        print_json(msgspec.to_builtins(slips))
    elif number is not None:
        (slip,) = slips
        print_line(f"{SLIP_TITLES[slip.kind]}, slip {slip.slip}. {describe_slip(slip)}")
        print_table(COUNT_COLUMNS, slip_rows(slip, ledger.currency), right=(1, 2, 3, 4))
        print_line(describe_total(slip, ledger.currency))
    elif slips:
        rows = [
            (
                str(slip.slip),
                SLIP_TITLES[slip.kind],
                format_currency(slip.value, ledger.currency),
                describe_variance(slip, ledger.currency),
                slip.by.id,
                slip.approved_by.id if slip.approved_by else "",
            )
            for slip in slips
        ]
        columns = ("slip", "kind", "value", "variance", "by", "approved by")
        print_table(columns, rows, right=(2, 3))
    else:
        print_line("there are no slips; the table has not dealt in chips")
