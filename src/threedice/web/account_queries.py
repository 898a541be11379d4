"""Players' accounts with the house: balances, statements, and who a player is."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.errors import UnknownName
from threedice.floor.persons import Person, forget, recall, remember
from threedice.floor.projections import VIEW, Said, of
from threedice.web.answering import Operation, Visit, in_thread, operation
from threedice.web.authorisation import is_own_or_staffs
from threedice.web.history import Moment
from threedice.web.knowing import account_of
from threedice.web.problems import Turned

if TYPE_CHECKING:
    from threedice.log.store import Line

_SAID: Final = msgspec.json.Decoder(Said)


class AccountView(msgspec.Struct, frozen=True):
    """A player's account with the house."""

    player: str
    currency: str
    balance: int


class StatementLine(msgspec.Struct, frozen=True):
    """A line of a statement; amounts are the player's gain."""

    at: int
    table: str
    what: str
    round: int
    amount: int
    note: str


class Period(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """From when until before when, and how many of the last lines of it."""

    since: Moment | None = None
    until: Moment | None = None
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class PersonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A person by name and date of birth."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"\S")]
    born: date | None = None


@operation("show-account", "GET", "/api/accounts/{player}", answer=AccountView, problems=(404, 503))
async def show_account(visit: Visit) -> AccountView:
    """Show a player's account with the house."""
    player = need_own_or_staff(visit)
    account = await account_of(visit.context, player)
    return AccountView(player, account.currency, account.balance)


@operation(
    "show-statement",
    "GET",
    "/api/accounts/{player}/statement",
    query=Period,
    answer=list[StatementLine],
    problems=(503,),
)
async def show_statement(visit: Visit) -> list[StatementLine]:
    """Show what a player was paid, lost, bought and was told."""
    player, asked = need_own_or_staff(visit), visit.query
    lines = await in_thread(
        visit.context.house.floor.store.lines,
        VIEW,
        subject=of(player),
        since=asked.since,
        until=asked.until,
        most=asked.most,
    )
    return [_line(each) for each in lines]


@operation(
    "show-person", "GET", "/api/accounts/{player}/person", answer=Person, problems=(404, 503)
)
async def show_person(visit: Visit) -> Person:
    """Show who a player is, as far as the house knows."""
    player = visit.path["player"]
    person = await in_thread(recall, visit.context.house.floor.store, player)
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
async def set_person(visit: Visit) -> None:
    """Keep a player's name and date of birth, outside the log."""
    person = Person(visit.body.name, visit.body.born)
    await in_thread(remember, visit.context.house.floor.store, visit.path["player"], person)


@operation(
    "erase-person", "DELETE", "/api/accounts/{player}/person", status=204, problems=(404, 503)
)
async def erase_person(visit: Visit) -> None:
    """Erase a player's name and date of birth; his play stays proved."""
    player = visit.path["player"]
    if not await in_thread(forget, visit.context.house.floor.store, player):
        raise UnknownName("person for player", player, [])


def need_own_or_staff(visit: Visit) -> str:
    """Return the player of the address, unless he is another player than the one who asks."""
    player: str = visit.path["player"]
    if not is_own_or_staffs(visit.who, player):
        raise Turned(403, "door/own")
    return player


def _line(line: Line) -> StatementLine:
    said = _SAID.decode(line.data)
    kind, _, table = line.stream.partition("/")
    return StatementLine(
        at=line.at,
        table=table if kind == "table" else "",
        what=said.what,
        round=said.round,
        amount=said.amount,
        note=said.note,
    )


ACCOUNT_OPERATIONS: Final[tuple[Operation, ...]] = (
    show_account,
    show_statement,
    show_person,
    set_person,
    erase_person,
)
