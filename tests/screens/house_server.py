"""Run a server for browser tests: `python -m tests.screens.house_server FOLDER PORT`.

The server and its SQLite database are the production ones; only the password hash is cheap. There
is an account for every role, all with one password; players have money. The tables are those of
FOLDER/house.toml. The clock goes as everywhere, and each number on the standard input moves it
forward by so many seconds: a test waits until a page shows a phase of an automatic table, and then
ends that phase.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import date
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from threedice.account.commands import Deposit, OpenAccount
from threedice.api.app import make_app
from threedice.api.auth.authorisation import ASSIGNED_ROLES
from threedice.api.config import load_config
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.server import ServerSettings, open_house, run_event_loop
from threedice.house.persons import Person, save_person
from threedice.identity import ROLES
from threedice.identity.authentication.passwords import TEST_COST
from threedice.runtime import Runtime

if TYPE_CHECKING:
    from threedice.api.context import ServerContext
    from threedice.identity import Account, IdentityService

PASSWORD = "a password for every test"
PLAYERS = ("player", "player2")
DEPOSIT = 100_000_000
YEAR = 365 * 24 * 3600 * 1_000_000


class AdvancedClock(Runtime):
    """The clock of this machine, which can be moved forward."""

    def __init__(self) -> None:
        self._ahead = 0
        self._waiting: set[asyncio.Event] = set()

    def now(self) -> int:
        return super().now() + self._ahead * 1_000_000

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead

    async def wait(self, seconds: float, wake: asyncio.Event) -> None:
        self._waiting.add(wake)
        try:
            await super().wait(seconds, wake)
        finally:
            self._waiting.discard(wake)

    def advance(self, seconds: int) -> None:
        """Move the clock forward, and wake the dealers, which then look at it again."""
        self._ahead += seconds
        for wake in self._waiting:
            wake.set()

    def follow_input(self, loop: asyncio.AbstractEventLoop) -> None:
        """Advance by each number on the standard input."""
        for line in sys.stdin:
            loop.call_soon_threadsafe(self.advance, int(line))


async def serve(folder: Path, port: int) -> None:
    address, clock = ListenAddress(port=port), AdvancedClock()
    Thread(target=clock.follow_input, args=[asyncio.get_running_loop()], daemon=True).start()
    settings = ServerSettings(
        database=f"sqlite:///{folder / 'house.db'}",
        config=load_config(folder / "house.toml"),
        address=address,
        password_cost=TEST_COST,
        runtime=clock,
    )
    with bind_socket(address) as socket:
        async with AsyncExitStack() as exits:
            context = await open_house(settings, socket, exits, _print)
            accounts = await asyncio.to_thread(_add_accounts, context.identity)
            for name in PLAYERS:
                await _fund(context, accounts[name])
            url = address.url(socket.getsockname()[1])
            server = HouseServer(
                uvicorn_config(make_app(context), address),
                on_start=lambda: _print(f"listens at {url}"),
                on_stop=context.hub.close,
            )
            await server.serve(sockets=[socket])


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 -- the parent process reads it


def _add_accounts(identity: IdentityService) -> dict[str, Account]:
    """Add an account for every role, assigned to all tables, and return the accounts by name."""
    accounts = {}
    now = identity.context.clock()
    for name in (*ROLES, "player2", "supervisor2", "administrator2"):
        role = name.rstrip("2")
        account = identity.accounts.find_by_name(name)
        if account is None:
            account = identity.accounts.add(name, [role], password=PASSWORD).account
            if role in ASSIGNED_ROLES:
                identity.assignments.add(account.id, None, role, starts=now, until=now + YEAR)
        elif name == "administrator":  # added by the server, with a random password
            identity.accounts.reset_password(account.id, password=PASSWORD)
        accounts[name] = account
    return accounts


async def _fund(context: ServerContext, player: Account) -> None:
    handler = context.house.command_handler
    person = Person(player.name, date(1990, 1, 1))
    await asyncio.to_thread(save_person, handler.store, player.id, person)
    if not (await handler.account(player.id)).currency:
        opening = OpenAccount(by="console", player=player.id, currency="SGD")
        await handler.handle(opening, account="console", key=f"open {player.id}")
        deposit = Deposit(by="console", player=player.id, amount=DEPOSIT)
        await handler.handle(deposit, account="console", key=f"fund {player.id}")


if __name__ == "__main__":
    run_event_loop(serve(Path(sys.argv[1]), int(sys.argv[2])))
