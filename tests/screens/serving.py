"""A house for browsers, in a process of its own: `python -m tests.screens.serving FOLDER PORT`.

Everything is real: the server, SQLite on a disk, the people. Somebody is there in every role, all
with one password; players have money in their accounts. The tables are those of FOLDER/house.toml.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from threedice.cage.commands import Deposit, OpenAccount
from threedice.floor.persons import Person, remember
from threedice.people import ROLES
from threedice.people.passwords import QUICK
from threedice.web.app import make_app
from threedice.web.authorisation import POSTED
from threedice.web.house_file import read_house
from threedice.web.listening import Address, Server, bind, configured
from threedice.web.serving import Plan, open_house, run

if TYPE_CHECKING:
    from threedice.people import Account, People
    from threedice.web.context import Context

PASSWORD = "a password for every test"
PLAYERS = ("player", "player2")
MONEY = 100_000_000
YEAR = 365 * 24 * 3600 * 1_000_000


async def serve(folder: Path, port: int) -> None:
    address = Address(port=port)
    plan = Plan(
        database=f"sqlite:///{folder / 'house.db'}",
        house_file=read_house(folder / "house.toml"),
        address=address,
        cost=QUICK,
    )
    with bind(address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(plan, taken, exits, _say)
            for name, account in (await asyncio.to_thread(_people, context.people)).items():
                if name in PLAYERS:
                    await _fund(context, account)
            config = configured(make_app(context, logging_config=None), address)
            here = address.url(taken.getsockname()[1])
            server = Server(
                config, started=lambda: _say(f"listens at {here}"), stopping=context.hub.close
            )
            await server.serve(sockets=[taken])


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 -- whoever started it reads it


def _people(people: People) -> dict[str, Account]:
    """Have somebody in every role, assigned to all tables."""
    found = {}
    now = people.records.clock()
    for name in (*ROLES, "player2", "supervisor2"):
        role = name.rstrip("2")
        account = people.accounts.named(name)
        if account is None:
            account = people.accounts.add(name, [role], password=PASSWORD).account
            if role in POSTED:
                people.assignments.add(account.id, None, role, starts=now, until=now + YEAR)
        elif name == "administrator":  # the house has made him, with a password nobody knows
            people.accounts.reset_password(account.id, password=PASSWORD)
        found[name] = account
    return found


async def _fund(context: Context, player: Account) -> None:
    floor = context.house.floor
    await asyncio.to_thread(remember, floor.store, player.id, Person(player.name, date(1990, 1, 1)))
    account = await floor.account(player.id)
    if not account.currency:
        opening = OpenAccount(by="console", player=player.id, currency="SGD")
        await floor.handle(opening, account="console", key=f"open {player.id}")
        paid = Deposit(by="console", player=player.id, amount=MONEY)
        await floor.handle(paid, account="console", key=f"fund {player.id}")


if __name__ == "__main__":
    run(serve(Path(sys.argv[1]), int(sys.argv[2])))
