"""Players' accounts with the house: balances, statements and personal data."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.api.auth.authorisation import is_own_or_staff
from threedice.api.context import require_account
from threedice.api.http.limits import run_in_thread
from threedice.api.http.operations import Operation, RequestContext, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.routes.history import Timestamp
from threedice.errors import UnknownName
from threedice.house.persons import Person, delete_person, load_person, save_person
from threedice.house.reports.projection import player_subject
from threedice.house.stream_state import account_stream

if TYPE_CHECKING:
    from threedice.house.reports.statements import DatedStatementRow


class AccountView(msgspec.Struct, frozen=True):
    """A player's account with the house."""

    player: str
    currency: str
    balance: int


class StatementLine(msgspec.Struct, frozen=True):
    """A line of a statement; `amount` is the player's gain, negative for a loss."""

    at: int
    table: str
    what: str
    round: int
    amount: int
    note: str


class StatementQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Lines from `since` until before `until`; the last `most` of them."""

    since: Timestamp | None = None
    until: Timestamp | None = None
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class PersonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A player's name and date of birth."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    born: date | None = None


@operation(
    "show-account", "GET", "/api/accounts/{player}", response=AccountView, problems=(404, 503)
)
async def show_account(request: RequestContext) -> AccountView:
    """Show a player's account with the house."""
    player = require_own_or_staff(request)
    account = await require_account(request.context, player)
    return AccountView(player, account.currency, account.balance)


@operation(
    "show-statement",
    "GET",
    "/api/accounts/{player}/statement",
    query=StatementQuery,
    response=list[StatementLine],
    problems=(503,),
)
async def show_statement(request: RequestContext) -> list[StatementLine]:
    """Show a player's statement: buy-ins, bets, payouts and notices, the oldest line first."""
    player, query = require_own_or_staff(request), request.query
    streams = request.context.house.command_handler.streams
    statements = await streams.statements(account_stream(player))
    rows = await run_in_thread(
        statements.rows,
        player_subject(player),
        since=query.since,
        until=query.until,
        limit=query.most,
    )
    return [_statement_line(each) for each in rows]


@operation(
    "show-person", "GET", "/api/accounts/{player}/person", response=Person, problems=(404, 503)
)
async def show_person(request: RequestContext) -> Person:
    """Show the name and date of birth on record for a player."""
    player = request.path_params["player"]
    person = await run_in_thread(load_person, request.context.house.command_handler.store, player)
    if person is None:
        raise UnknownName("person for player", player, [])
    return person


@operation(
    "set-person",
    "PUT",
    "/api/accounts/{player}/person",
    body=PersonForm,
    status=204,
    problems=(503,),
)
async def set_person(request: RequestContext) -> None:
    """Store a player's name and date of birth, outside the log."""
    person = Person(request.body.name, request.body.born)
    await run_in_thread(
        save_person,
        request.context.house.command_handler.store,
        request.path_params["player"],
        person,
    )


@operation(
    "erase-person", "DELETE", "/api/accounts/{player}/person", status=204, problems=(404, 503)
)
async def erase_person(request: RequestContext) -> None:
    """Erase a player's name and date of birth; the log of their play stays intact."""
    player = request.path_params["player"]
    if not await run_in_thread(delete_person, request.context.house.command_handler.store, player):
        raise UnknownName("person for player", player, [])


def require_own_or_staff(request: RequestContext) -> str:
    """Return the player named in the path; players may name only themselves."""
    player: str = request.path_params["player"]
    if not is_own_or_staff(request.caller, player):
        raise HttpProblem(403, "door/own")
    return player


def _statement_line(dated: DatedStatementRow) -> StatementLine:
    row = dated.row
    kind, _, table = dated.stream.partition("/")
    return StatementLine(
        at=dated.at,
        table=table if kind == "table" else "",
        what=row.what,
        round=row.round,
        amount=row.amount,
        note=row.note,
    )


ACCOUNT_OPERATIONS: Final[tuple[Operation, ...]] = (
    show_account,
    show_statement,
    show_person,
    set_person,
    erase_person,
)
