"""The route handlers of the API, by subject."""

from typing import Final

from litestar.handlers import HTTPRouteHandler

from threedice.api.routes import (
    accounts,
    approvals,
    commands,
    counts,
    dice_monitor,
    displays,
    equipment,
    games,
    history,
    house,
    people,
    players,
    request_queries,
    sessions,
    sign_in,
    tables,
    worksheets,
)

_MODULES: Final = (
    sign_in, sessions, tables, worksheets, commands, approvals, request_queries, history, equipment,
    counts, dice_monitor, players, accounts, games, people, displays, house,
)  # fmt: skip

ROUTE_HANDLERS: Final = tuple(
    each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, HTTPRouteHandler)
)
"""Every handler that these modules define, in the order of the reference."""
