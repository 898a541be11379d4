"""The sign-ins of the demo, one for every role; they are no secret."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.cage.commands import Deposit, OpenAccount
from threedice.errors import InvalidInput
from threedice.floor.persons import Person, remember
from threedice.people.names import CONSOLE
from threedice.people.roles import ROLES, Role
from threedice.web.authorisation import POSTED

if TYPE_CHECKING:
    from threedice.people import Account, People
    from threedice.web.context import Context

PASSWORD: Final = "three dice for everybody"
PLAYERS: Final = ("player", "player2")
PLAY_MONEY: Final = 100_000_000
YEAR: Final = 365 * 24 * 3600 * 1_000_000
BORN: Final = date(1990, 1, 1)


class SignIn(msgspec.Struct, frozen=True):
    """Who may be tried, with the password for it."""

    name: str
    role: Role
    password: str


SIGN_INS: Final[tuple[SignIn, ...]] = (
    *(SignIn(name, "player", PASSWORD) for name in PLAYERS),
    *(SignIn(role, role, PASSWORD) for role in ROLES if role != "player"),
)


def check_database(people: People, *, demo: bool) -> None:
    """Refuse to put sign-ins that are no secret into a real house, or to serve one with them."""
    names = {account.name for account in people.accounts.all()}
    if demo and names and not names.issuperset(PLAYERS):
        raise InvalidInput(
            "this database is a house's own, and the demo's passwords are no secret; give the demo "
            "another with --database, or leave that and THREEDICE_DATABASE out"
        )
    if not demo and names.issuperset(PLAYERS) and _is_open(people):
        raise InvalidInput(
            "this database is a demo's, whose passwords are no secret; give the house another with "
            "--database"
        )


def _is_open(people: People) -> bool:
    """Tell whether somebody can sign in with the password that everybody knows."""
    found = people.records.database.rows(
        "SELECT password FROM people_accounts WHERE name = ? AND enabled = 1", (PLAYERS[0],)
    )
    return any(people.records.passwords.verify(kept, PASSWORD) for (kept,) in found)


async def make_people(context: Context) -> tuple[SignIn, ...]:
    """Make the accounts that are missing, post the staff, and give players money to play with."""
    accounts = await asyncio.to_thread(_accounts, context.people)
    for sign_in in SIGN_INS:
        if sign_in.role == "player":
            await _fund(context, accounts[sign_in.name])
    return SIGN_INS


def _accounts(people: People) -> dict[str, Account]:
    found = {}
    now = people.records.clock()
    for each in SIGN_INS:
        account = people.accounts.named(each.name)
        if account is None:
            account = people.accounts.add(each.name, [each.role], password=each.password).account
        if each.role in POSTED and not people.assignments.current(account=account.id, at=now):
            people.assignments.add(account.id, None, each.role, starts=now, until=now + 10 * YEAR)
        found[each.name] = account
    return found


async def _fund(context: Context, player: Account) -> None:
    """Give a player an account with play money, and say that he is of age."""
    floor, currency = context.house.floor, context.house_file.currency
    person = Person(player.name, BORN)
    await asyncio.to_thread(remember, floor.store, player.id, person)
    account = await floor.account(player.id)
    if not account.currency:
        opening = OpenAccount(by=CONSOLE, player=player.id, currency=currency)
        await floor.handle(opening, account=CONSOLE, key=f"demo: open {player.id}")
    if account.balance < PLAY_MONEY // 10:
        number = (await asyncio.to_thread(floor.store.head, f"cage/{player.id}")).version
        paid = Deposit(by=CONSOLE, player=player.id, amount=PLAY_MONEY)
        await floor.handle(paid, account=CONSOLE, key=f"demo: fund {player.id} {number}")
