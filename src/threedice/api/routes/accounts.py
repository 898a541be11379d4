"""Players' accounts with the house: balances, statements and personal data."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

import msgspec
from litestar import delete, get, put
from litestar.params import JSONBody

from threedice.api.auth.authorisation import is_own_or_staff
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.limits import run_in_thread
from threedice.api.http.problems import HttpProblem
from threedice.api.http.requests import LineCount, OptionalTime, PlayerId
from threedice.api.views import build_view
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


class PersonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A player's name and date of birth."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    born: date | None = None


@get("/api/accounts/{player:str}", name="show-account")
async def show_account(context: Context, caller: CurrentCaller, player: PlayerId) -> AccountView:
    """Show a player's account with the house."""
    require_own_or_staff(caller, player)
    handler = context.house.command_handler
    head = await run_in_thread(handler.store.head, account_stream(player))
    if not head.version:
        raise UnknownName("account of player", player, [])
    account = await handler.account(player)
    return AccountView(player, account.currency, account.balance)


@get("/api/accounts/{player:str}/statement", name="show-statement")
async def show_statement(
    context: Context,
    caller: CurrentCaller,
    player: PlayerId,
    since: OptionalTime = None,
    until: OptionalTime = None,
    most: LineCount = 200,
) -> list[StatementLine]:
    """Show a player's statement: buy-ins, bets, payouts and notices, the oldest line first."""
    require_own_or_staff(caller, player)
    statements = await context.house.command_handler.streams.statements(account_stream(player))
    subject = player_subject(player)

    def lines() -> list[StatementLine]:
        rows = statements.rows(subject, since=since, until=until, limit=most)
        return [_statement_line(each) for each in rows]

    return await context.queries.run(caller.account.id, lines)


@get("/api/accounts/{player:str}/person", name="show-person")
async def show_person(context: Context, player: PlayerId) -> Person:
    """Show the name and date of birth on record for a player."""
    person = await run_in_thread(load_person, context.house.command_handler.store, player)
    if person is None:
        raise UnknownName("person for player", player, [])
    return person


@put("/api/accounts/{player:str}/person", name="set-person", status_code=204)
async def set_person(context: Context, player: PlayerId, data: JSONBody[PersonForm]) -> None:
    """Store a player's name and date of birth, outside the log."""
    person, store = Person(data.name, data.born), context.house.command_handler.store
    await run_in_thread(save_person, store, player, person)


@delete("/api/accounts/{player:str}/person", name="erase-person")
async def erase_person(context: Context, player: PlayerId) -> None:
    """Erase a player's name and date of birth; the log of their play stays intact."""
    if not await run_in_thread(delete_person, context.house.command_handler.store, player):
        raise UnknownName("person for player", player, [])


def require_own_or_staff(caller: CurrentCaller, player: str) -> None:
    """Reject players who name another player."""
    if not is_own_or_staff(caller, player):
        raise HttpProblem(403, "door/own")


def _statement_line(dated: DatedStatementRow) -> StatementLine:
    kind, _, table = dated.stream.partition("/")
    table = table if kind == "table" else ""
    return build_view(StatementLine, dated.row, at=dated.at, table=table)
