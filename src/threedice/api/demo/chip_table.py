"""The demo's table that deals in chips: two members of its staff count the rack at the opening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.house.commands import EstablishTable
from threedice.rulebook import load
from threedice.table.chip_counts.counts import face_value
from threedice.table.commands import Actor, OpenTable
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.rulebook.conduct import TableRole

CHIP_TABLE: Final = "chips"
GAME: Final = "nz-tai-sai-2008/1"
RACK: Final = {
    "100": 1_000,
    "500": 800,
    "2500": 600,
    "10000": 400,
    "50000": 200,
    "red": 200,
    "blue": 200,
    "yellow": 200,
}
MINIMUM, MAXIMUM, DIFFERENTIAL = 100, 100_000, 1_000_000


async def open_chip_table(context: ServerContext) -> None:
    """Set up the table and open it with a counted rack, unless an earlier run did."""
    handler = context.house.command_handler
    if handler.suspension_reason or (await handler.table(CHIP_TABLE)).id:
        return
    supervisor, manager = _staff(context, "supervisor"), _staff(context, "pit-manager")
    setup = EstablishTable(by=supervisor, game=GAME, approved_by=manager)
    opening = OpenTable(
        by=supervisor,
        table=CHIP_TABLE,
        currency=context.config.currency,
        mode="record",
        chips=[int(chip) for chip in RACK if chip.isdigit()],
        float_amount=face_value(RACK),
        limits=uniform_limits(load(GAME), MINIMUM, MAXIMUM, DIFFERENTIAL),
        approved_by=manager,
        rack=RACK,
    )
    for command in (setup, opening):
        key = f"demo: {type(command).__name__} {CHIP_TABLE}"
        await handler.handle(
            command, table=CHIP_TABLE, account=supervisor.id, key=key, may_retry=True
        )


def _staff(context: ServerContext, role: TableRole) -> Actor:
    """Return the member of the demo's staff who signs in by the name of a role."""
    account = context.identity.accounts.find_by_name(role)
    if account is None:
        raise InvalidInput(f"the demo has no account {role}; give it a new database")
    return Actor(id=account.id, role=role)
