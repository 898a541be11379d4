"""Demo house: a table for every rulebook, sign-ins for every role, simulated players.

A house to try everything in: tables of every rulebook, sign-ins, and players who bet.

The sign-ins of the demo, one for every role; they are no secret.
"""

from __future__ import annotations

import asyncio
from datetime import date
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.account.commands import Deposit, OpenAccount
from threedice.api.auth.authorisation import ASSIGNED_ROLES
from threedice.errors import InvalidInput
from threedice.house.persons import Person, save_person
from threedice.identity.accounts import CONSOLE
from threedice.identity.roles import ROLES, Role

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.identity import Account, IdentityService


DEMO_PASSWORD: Final = "three dice for everybody"


DEMO_PLAYERS: Final = ("player", "player2")


PLAY_MONEY: Final = 100_000_000


YEAR_MICROSECONDS: Final = 365 * 24 * 3600 * 1_000_000


BIRTH_DATE: Final = date(1990, 1, 1)


class DemoSignIn(msgspec.Struct, frozen=True):
    """Who may be tried, with the password for it."""

    name: str
    role: Role
    password: str


SIGN_INS: Final[tuple[DemoSignIn, ...]] = (
    *(DemoSignIn(name, "player", DEMO_PASSWORD) for name in DEMO_PLAYERS),
    *(DemoSignIn(role, role, DEMO_PASSWORD) for role in ROLES if role != "player"),
)


def check_database(people: IdentityService, *, demo: bool) -> None:
    """Refuse to put sign-ins that are no secret into a real house, or to serve one with them."""
    names = {account.name for account in people.accounts.all()}
    if demo and names and not names.issuperset(DEMO_PLAYERS):
        raise InvalidInput(
            "this database is a house's own, and the demo's passwords are no secret; give the demo "
            "another with --database, or leave that and THREEDICE_DATABASE out"
        )
    if not demo and names.issuperset(DEMO_PLAYERS) and _has_demo_password(people):
        raise InvalidInput(
            "this database is a demo's, whose passwords are no secret; give the house another with "
            "--database"
        )


def _has_demo_password(people: IdentityService) -> bool:
    """Tell whether somebody can sign in with the password that everybody knows."""
    found = people.context.database.query(
        "SELECT password FROM people_accounts WHERE name = ? AND enabled = 1", (DEMO_PLAYERS[0],)
    )
    return any(people.context.hasher.verify(kept, DEMO_PASSWORD) for (kept,) in found)


async def create_accounts(context: ServerContext) -> tuple[DemoSignIn, ...]:
    """Make the accounts that are missing, post the staff, and give players money to play with."""
    accounts = await asyncio.to_thread(_create_missing_accounts, context.identity)
    for sign_in in SIGN_INS:
        if sign_in.role == "player":
            await _fund_player(context, accounts[sign_in.name])
    return SIGN_INS


def _create_missing_accounts(people: IdentityService) -> dict[str, Account]:
    found = {}
    now = people.context.clock()
    for each in SIGN_INS:
        account = people.accounts.find_by_name(each.name)
        if account is None:
            account = people.accounts.add(each.name, [each.role], password=each.password).account
        if each.role in ASSIGNED_ROLES and not people.assignments.current(
            account=account.id, at=now
        ):
            people.assignments.add(
                account.id, None, each.role, starts=now, until=now + 10 * YEAR_MICROSECONDS
            )
        found[each.name] = account
    return found


async def _fund_player(context: ServerContext, player: Account) -> None:
    """Give a player an account with play money, and say that he is of age."""
    floor, currency = context.house.command_handler, context.config.currency
    person = Person(player.name, BIRTH_DATE)
    await asyncio.to_thread(save_person, floor.store, player.id, person)
    account = await floor.account(player.id)
    if not account.currency:
        opening = OpenAccount(by=CONSOLE, player=player.id, currency=currency)
        await floor.handle(opening, account=CONSOLE, key=f"demo: open {player.id}")
    if account.balance < PLAY_MONEY // 10:
        number = (await asyncio.to_thread(floor.store.head, f"cage/{player.id}")).version
        paid = Deposit(by=CONSOLE, player=player.id, amount=PLAY_MONEY)
        await floor.handle(paid, account=CONSOLE, key=f"demo: fund {player.id} {number}")
