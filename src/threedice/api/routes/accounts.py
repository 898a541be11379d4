"""Players' accounts with the house: balances, statements and personal data."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

import msgspec
from litestar import delete, get, put
from litestar.params import JSONBody

from threedice.api.auth.authorisation import is_own_or_staff
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import HttpProblem, problem_responses
from threedice.api.http.requests import LineCount, OptionalTime, PlayerId
from threedice.api.views import build_view
from threedice.errors import UnknownName
from threedice.house.persons import (
    Person,
    check_birth_date,
    delete_person,
    load_person,
    save_person,
)
from threedice.house.reports.ledgers import player_ledgers, table_of
from threedice.house.reports.projection import player_subject
from threedice.house.stream_state import account_stream

if TYPE_CHECKING:
    from threedice.house.reports.ledgers import Ledger
    from threedice.house.reports.statements import DatedStatementRow


class AccountView(msgspec.Struct, frozen=True):
    """A player's account with the house."""

    player: str
    currency: str
    balance: int


class StatementLine(msgspec.Struct, frozen=True):
    """A line of a statement; `amount` is the player's gain, negative for a loss.

    The amounts sum to the player's money with the house and chips at the tables, bets included,
    less their debts. `debt` is the change of their debt, which `amount` includes.
    """

    at: int
    table: str
    what: str
    round: int
    amount: int
    note: str
    debt: int


class LedgerLine(StatementLine, frozen=True):
    """A line of a ledger, with the balance after it."""

    balance: int


class LedgerView(msgspec.Struct, frozen=True):
    """The lines of one account of a player over a period, the oldest first.

    `table` is empty for the money with the house; otherwise the balances are the player's chips at
    that table, bets included, less their debts. `opening` and `closing` are the balances at the
    ends of the period, `balance` is that of now. `money_in` and `money_out` are the totals of the
    period, including the oldest lines that were left out of `lines`; their number is `left_out`.
    """

    table: str
    opening: int
    money_in: int
    money_out: int
    closing: int
    balance: int
    left_out: int
    lines: list[LedgerLine]


class LedgersView(msgspec.Struct, frozen=True):
    """A player's ledgers: the account with the house first, then the tables by name."""

    player: str
    currency: str
    ledgers: list[LedgerView]


class PersonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A player's name and date of birth."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    born: date | None = None


@get("/api/accounts/{player:str}", name="show-account")
async def show_account(context: Context, caller: CurrentCaller, player: PlayerId) -> AccountView:
    """Show a player's account with the house."""
    require_own_or_staff(caller, player)
    handler = context.house.command_handler
    stream = account_stream(player)
    head = await context.run_blocking(handler.store.head, stream)
    if not head.version and stream not in handler.streams.stopped:
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


@get("/api/accounts/{player:str}/ledgers", name="show-ledgers")
async def show_ledgers(
    context: Context,
    caller: CurrentCaller,
    player: PlayerId,
    since: OptionalTime = None,
    until: OptionalTime = None,
    most: LineCount = 200,
) -> LedgersView:
    """Show a player's statement by account: lines with balances, and the totals of a period.

    All figures are of one moment. `most` bounds the lines of each account.
    """
    require_own_or_staff(caller, player)
    handler = context.house.command_handler
    statements = await handler.streams.statements(account_stream(player))
    currency = (await handler.account(player)).currency

    def build() -> LedgersView:
        rows = statements.rows(player_subject(player))
        ledgers = player_ledgers(rows, since=since, until=until)
        return LedgersView(player, currency, [_ledger_view(each, most) for each in ledgers])

    return await context.queries.run(caller.account.id, build)


@get("/api/accounts/{player:str}/person", name="show-person")
async def show_person(context: Context, player: PlayerId) -> Person:
    """Show the name and date of birth on record for a player."""
    person = await context.run_blocking(load_person, context.house.command_handler.store, player)
    if person is None:
        raise UnknownName("person for player", player, [])
    return person


@put(
    "/api/accounts/{player:str}/person",
    name="set-person",
    status_code=204,
    responses=problem_responses(409),
)
async def set_person(
    context: Context, caller: CurrentCaller, player: PlayerId, data: JSONBody[PersonForm]
) -> None:
    """Store a player's name and date of birth, outside the log."""
    await context.run_blocking(_reject_staff, context, player)
    check_birth_date(data.born, context.today())
    await context.run_blocking(
        _record_person, context, caller, player, Person(data.name, data.born)
    )


def _record_person(context: Context, caller: CurrentCaller, player: str, person: Person) -> None:
    context.identity.accounts.refuse_forgotten(player)
    _record_change(context, caller, player, person.born)
    save_person(context.house.command_handler.store, player, person)


@delete("/api/accounts/{player:str}/person", name="erase-person")
async def erase_person(context: Context, caller: CurrentCaller, player: PlayerId) -> None:
    """Erase a player's name and date of birth; the log of their play stays intact."""
    await context.run_blocking(_reject_staff, context, player)
    await context.run_blocking(_record_change, context, caller, player, None)
    if not await context.run_blocking(delete_person, context.house.command_handler.store, player):
        raise UnknownName("person for player", player, [])


def _record_change(context: Context, caller: CurrentCaller, player: str, born: date | None) -> None:
    """Record in the audit trail that a player's birth date changes, if it does."""
    before = load_person(context.house.command_handler.store, player)
    if born != (before.born if before else None):
        record = context.identity.accounts.record_birth_date_change
        record(player, removed=born is None, by=caller.account.id)


def _reject_staff(context: Context, account_id: str) -> None:
    """Reject a member of staff, whose birth date administrators record."""
    if any(each.id == account_id for each in context.identity.accounts.staff()):
        raise HttpProblem(403, "door/role")


def require_own_or_staff(caller: CurrentCaller, player: str) -> None:
    """Reject players who name another player."""
    if not is_own_or_staff(caller, player):
        raise HttpProblem(403, "door/own")


def _statement_line(dated: DatedStatementRow) -> StatementLine:
    return build_view(StatementLine, dated.row, at=dated.at, table=table_of(dated))


def _ledger_view(ledger: Ledger, most: int) -> LedgerView:
    lines = [
        build_view(
            LedgerLine,
            each.dated.row,
            at=each.dated.at,
            table=ledger.table,
            balance=each.balance,
        )
        for each in ledger.entries[-most:]
    ]
    left_out = len(ledger.entries) - len(lines)
    return build_view(LedgerView, ledger, left_out=left_out, lines=lines)
