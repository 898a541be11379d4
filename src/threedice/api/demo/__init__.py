"""Demo house: a table for every rulebook, sign-ins for every role, simulated players."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.account.commands import Deposit, OpenAccount
from threedice.api.auth.authorisation import ASSIGNED_ROLES
from threedice.errors import InvalidInput
from threedice.house.persons import Person, save_person
from threedice.identity.audit_trail import CONSOLE
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
    """A public sign-in of the demo, with its password."""

    name: str
    role: Role
    password: str


SIGN_INS: Final[tuple[DemoSignIn, ...]] = (
    *(DemoSignIn(name, "player", DEMO_PASSWORD) for name in DEMO_PLAYERS),
    *(DemoSignIn(role, role, DEMO_PASSWORD) for role in ROLES if role != "player"),
    DemoSignIn("administrator2", "administrator", DEMO_PASSWORD),  # to confirm new staff
)


def check_database(identity: IdentityService, *, demo: bool) -> None:
    """Refuse a demo on a real house's database, and a real house on a demo's.

    The demo's passwords are public, so its accounts must not exist in a real house.
    """
    names = {account.name for account in identity.accounts.all()}
    if demo and names and not names.issuperset(DEMO_PLAYERS):
        raise InvalidInput(
            "this database belongs to a real house, and the demo's passwords are public; give the "
            "demo another database with --database, or omit that and THREEDICE_DATABASE"
        )
    if not demo and names.issuperset(DEMO_PLAYERS) and _has_demo_password(identity):
        raise InvalidInput(
            "this database belongs to a demo, whose passwords are public; give the house another "
            "one with --database"
        )


def _has_demo_password(identity: IdentityService) -> bool:
    """Return whether a demo player can sign in with the public password."""
    rows = identity.context.database.query(
        "SELECT password FROM people_accounts WHERE name = ? AND enabled = 1", (DEMO_PLAYERS[0],)
    )
    return any(identity.context.hasher.verify(stored, DEMO_PASSWORD) for (stored,) in rows)


async def create_accounts(context: ServerContext) -> tuple[DemoSignIn, ...]:
    """Create missing accounts of age, assign staff to all tables, and give players play money."""
    run_blocking = context.house.runtime.run_blocking
    accounts = await run_blocking(_create_missing_accounts, context.identity)
    store = context.house.command_handler.store
    for sign_in in SIGN_INS:
        account = accounts[sign_in.name]
        await run_blocking(save_person, store, account.id, Person(account.name, BIRTH_DATE))
        if sign_in.role == "player":
            await _fund_player(context, account)
    return SIGN_INS


def _create_missing_accounts(identity: IdentityService) -> dict[str, Account]:
    accounts = {}
    now = identity.context.clock()
    for sign_in in SIGN_INS:
        account = identity.accounts.find_by_name(sign_in.name)
        if account is None:
            account = identity.accounts.add(
                sign_in.name, [sign_in.role], password=sign_in.password
            ).account
        if sign_in.role in ASSIGNED_ROLES and not identity.assignments.current(
            account=account.id, at=now
        ):
            identity.assignments.add(
                account.id, None, sign_in.role, starts=now, until=now + 10 * YEAR_MICROSECONDS
            )
        accounts[sign_in.name] = account
    return accounts


async def _fund_player(context: ServerContext, player: Account) -> None:
    """Give a player an account with play money."""
    handler, currency = context.house.command_handler, context.config.currency
    account = await handler.account(player.id)
    if not account.currency:
        command = OpenAccount(by=CONSOLE, player=player.id, currency=currency)
        key = f"demo: open {player.id}"
        await handler.handle(command, account=CONSOLE, key=key, may_retry=True)
    if account.balance < PLAY_MONEY // 10:
        head = await handler.runtime.run_blocking(handler.store.head, f"cage/{player.id}")
        deposit = Deposit(by=CONSOLE, player=player.id, amount=PLAY_MONEY)
        key = f"demo: fund {player.id} {head.version}"
        await handler.handle(deposit, account=CONSOLE, key=key, may_retry=True)
