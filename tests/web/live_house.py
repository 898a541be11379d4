"""A house that really listens: a server on a port, people who are signed in, sockets."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.floor.setting import DEALER
from tests.floor.setting import People as Asking
from threedice.floor.folds import table_stream
from threedice.people.passwords import QUICK
from threedice.table import commands as asked
from threedice.web.app import make_app
from threedice.web.house_file import HouseFile, Limits, Policies, Table
from threedice.web.limiting import Buckets
from threedice.web.listening import Address, Server, bind, configured
from threedice.web.serving import Plan, open_house

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

    from threedice.people import Account, Role
    from threedice.web.context import Context
    from threedice.web.hub import Hub

TABLE = "pit-1"
PASSWORD = "a long pass phrase"
FOR_EVER = 4_000_000_000_000_000
DESCRIBED = HouseFile(
    name="The test house",
    currency="SGD",
    time_zone="UTC",
    policies=Policies(totp_for_staff=False),
    tables={
        TABLE: Table(
            game="sg-rws-tai-sai-v6/a",
            mode="record",
            chips=[5, 25, 100],
            float=100_000_000,
            limits=Limits(minimum=5, maximum=1_000_000, differential=1_000_000),
        )
    },
)


class Served:
    """A server that runs, one of its tables, and those who use it.

    Each test takes a table of its own, and people of its own: their names end with the table's.
    """

    _tables = count(1)

    def __init__(self, context: Context, port: int, table: str = TABLE) -> None:
        self.context, self.port, self.table = context, port, table
        self.asking = Asking(context.house.floor, table)

    async def at_a_new_table(self) -> Served:
        """Return the same server at a table that was just opened."""
        served = Served(self.context, self.port, f"t{next(self._tables)}")
        await served.asking.open(stacks={"nobody": 5}, float_amount=100_000_000)
        self.hub.openings = Buckets(1000)
        return served

    @property
    def hub(self) -> Hub:
        hub: Hub = self.context.hub
        return hub

    @property
    def origin(self) -> Any:
        return f"http://127.0.0.1:{self.port}"

    async def head(self) -> int:
        """Return how far the table has come."""
        store = self.context.house.floor.store
        return (await asyncio.to_thread(store.head, table_stream(self.table))).version

    # --- people ---------------------------------------------------------------------------------

    def account(self, name: str, role: Role) -> Account:
        people, full_name = self.context.people, f"{name}-{self.table}"
        if found := people.accounts.named(full_name):
            return found
        account = people.accounts.add(full_name, [role], password=PASSWORD).account
        if role in ("dealer", "supervisor"):
            people.assignments.add(account.id, self.table, role, starts=0, until=FOR_EVER)
        return account

    def sign_in(self, name: str, role: Role) -> str:
        """Return the token of a session."""
        account = self.account(name, role)
        return self.context.people.door.sign_in(account.name, PASSWORD).token

    def program(self, name: str, role: Role, scopes: Sequence[str] = ("read",)) -> str:
        """Return the token of a program."""
        account = self.account(name, role)
        return self.context.people.tokens.make(account.id, "test", scopes).token

    # --- sockets --------------------------------------------------------------------------------

    def follow(self, token: str, query: str = "", *, table: str = "", **options: Any) -> connect:
        """Open a socket: as a program, or as a browser with its cookie."""
        headers = options.pop("additional_headers", {})
        if token.startswith("td_"):
            headers |= {"Authorization": f"Bearer {token}"}
        elif token:
            headers |= {"Cookie": f"{self.context.cookie}={token}"}
            options.setdefault("origin", self.origin)
        url = f"ws://127.0.0.1:{self.port}/api/tables/{table or self.table}/live{query}"
        return connect(url, additional_headers=headers, proxy=None, **options)

    # --- play -----------------------------------------------------------------------------------

    async def play(self, *lines: str) -> None:
        await self.asking.play(*lines)

    async def seat(self, **stacks: int) -> dict[str, str]:
        """Have players buy in under the ids of their accounts; return those by name."""
        ids = {name: self.account(name, "player").id for name in stacks}
        for name, amount in stacks.items():
            chips = asked.BuyIn(by=DEALER, player=ids[name], amount=amount, age_years=30)
            await self.asking.ask(chips)
        return ids

    async def bet(self, player: str, amount: int, box: str) -> None:
        await self.asking.bet(player, amount, box)


@asynccontextmanager
async def serving(
    folder: Path, *, url: str = "", described: HouseFile = DESCRIBED
) -> AsyncIterator[Served]:
    """Serve a house on a port of this machine until the context ends."""
    url = url or f"sqlite:///{folder / 'house.sqlite'}"
    address, said = Address(port=0), list[str]()
    plan = Plan(url, described, address, cost=QUICK)
    with bind(address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(plan, taken, exits, said.append)
            started = asyncio.Event()
            config = configured(make_app(context, logging_config=None), address)
            server = Server(config, started=started.set, stopping=context.hub.close)
            running = asyncio.create_task(server.serve(sockets=[taken]))
            exits.push_async_callback(_stopped, server, running)
            await started.wait()
            yield Served(context, taken.getsockname()[1])


async def _stopped(server: Server, running: asyncio.Task[None]) -> None:
    server.should_exit = True
    await running


async def hear(socket: ClientConnection) -> dict[str, Any]:
    """Return the next message."""
    async with asyncio.timeout(20):
        message: dict[str, Any] = msgspec.json.decode(await socket.recv())
    return message


async def hear_until(socket: ClientConnection, version: int) -> list[dict[str, Any]]:
    """Return what has happened up to a version."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["version"] < version:
        message = await hear(socket)
        assert message["type"] == "events", message
        found += message["events"]
    return found


async def closing(socket: ClientConnection) -> int:
    """Return the code with which a socket is closed, whatever comes before."""
    async with asyncio.timeout(20):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    assert socket.close_code is not None
    return socket.close_code
