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

from threedice.account.commands import Deposit, OpenAccount
from threedice.api.app import make_app
from threedice.api.auth.authorisation import ASSIGNED_ROLES
from threedice.api.config import load_config
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.server import ServerSettings, open_house, run_event_loop
from threedice.house.persons import Person, save_person
from threedice.identity import ROLES
from threedice.identity.passwords import TEST_COST

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.identity import Account, IdentityService

PASSWORD = "a password for every test"
PLAYERS = ("player", "player2")
MONEY = 100_000_000
YEAR = 365 * 24 * 3600 * 1_000_000


async def serve(folder: Path, port: int) -> None:
    address = ListenAddress(port=port)
    plan = ServerSettings(
        database=f"sqlite:///{folder / 'house.db'}",
        config=load_config(folder / "house.toml"),
        address=address,
        password_cost=TEST_COST,
    )
    with bind_socket(address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(plan, taken, exits, _say)
            for name, account in (await asyncio.to_thread(_people, context.identity)).items():
                if name in PLAYERS:
                    await _fund(context, account)
            config = uvicorn_config(make_app(context), address)
            here = address.url(taken.getsockname()[1])
            server = HouseServer(
                config, on_start=lambda: _say(f"listens at {here}"), on_stop=context.hub.close
            )
            await server.serve(sockets=[taken])


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 -- whoever started it reads it


def _people(people: IdentityService) -> dict[str, Account]:
    """Have somebody in every role, assigned to all tables."""
    found = {}
    now = people.context.clock()
    for name in (*ROLES, "player2", "supervisor2"):
        role = name.rstrip("2")
        account = people.accounts.find_by_name(name)
        if account is None:
            account = people.accounts.add(name, [role], password=PASSWORD).account
            if role in ASSIGNED_ROLES:
                people.assignments.add(account.id, None, role, starts=now, until=now + YEAR)
        elif name == "administrator":  # the house has made him, with a password nobody knows
            people.accounts.reset_password(account.id, password=PASSWORD)
        found[name] = account
    return found


async def _fund(context: ServerContext, player: Account) -> None:
    floor = context.house.command_handler
    await asyncio.to_thread(
        save_person, floor.store, player.id, Person(player.name, date(1990, 1, 1))
    )
    account = await floor.account(player.id)
    if not account.currency:
        opening = OpenAccount(by="console", player=player.id, currency="SGD")
        await floor.handle(opening, account="console", key=f"open {player.id}")
        paid = Deposit(by="console", player=player.id, amount=MONEY)
        await floor.handle(paid, account="console", key=f"fund {player.id}")


if __name__ == "__main__":
    run_event_loop(serve(Path(sys.argv[1]), int(sys.argv[2])))
