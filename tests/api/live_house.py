"""A house that really listens: a server on a port, people who are signed in, sockets."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.house.house_driver import DEALER
from tests.house.house_driver import People as Asking
from threedice.api.app import make_app
from threedice.api.config import HouseConfig, HousePolicies, TableConfig, TableLimitsConfig
from threedice.api.http.limits import RateLimiter
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.server import ServerSettings, open_house
from threedice.house.stream_state import table_stream
from threedice.identity.passwords import TEST_COST
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

    from threedice.api.context import ServerContext
    from threedice.api.live.hub import Hub
    from threedice.identity import Account, Role

TABLE = "pit-1"
PASSWORD = "a long pass phrase"
FOR_EVER = 4_000_000_000_000_000
DESCRIBED = HouseConfig(
    name="The test house",
    currency="SGD",
    time_zone="UTC",
    policies=HousePolicies(totp_for_staff=False),
    tables={
        TABLE: TableConfig(
            game="sg-rws-tai-sai-v6/a",
            mode="record",
            chips=[5, 25, 100],
            float=100_000_000,
            limits=TableLimitsConfig(minimum=5, maximum=1_000_000, differential=1_000_000),
        )
    },
)


class Served:
    """A server that runs, one of its tables, and those who use it.

    Each test takes a table of its own, and people of its own: their names end with the table's.
    """

    _tables = count(1)

    def __init__(self, context: ServerContext, port: int, table: str = TABLE) -> None:
        self.context, self.port, self.table = context, port, table
        self.asking = Asking(context.house.command_handler, table)

    async def at_a_new_table(self) -> Served:
        """Return the same server at a table that was just opened."""
        served = Served(self.context, self.port, f"t{next(self._tables)}")
        await served.asking.open(stacks={"nobody": 5}, float_amount=100_000_000)
        self.hub.open_limiter = RateLimiter(1000, clock=self.context.house.runtime.monotonic)
        return served

    @property
    def hub(self) -> Hub:
        return self.context.hub

    @property
    def origin(self) -> Any:
        return f"http://127.0.0.1:{self.port}"

    async def head(self) -> int:
        """Return how far the table has come."""
        store = self.context.house.command_handler.store
        return (await asyncio.to_thread(store.head, table_stream(self.table))).version

    # --- people ---------------------------------------------------------------------------------

    def account(self, name: str, role: Role) -> Account:
        people, full_name = self.context.identity, f"{name}-{self.table}"
        if found := people.accounts.find_by_name(full_name):
            return found
        account = people.accounts.add(full_name, [role], password=PASSWORD).account
        if role in ("dealer", "supervisor"):
            people.assignments.add(account.id, self.table, role, starts=0, until=FOR_EVER)
        return account

    def sign_in(self, name: str, role: Role) -> str:
        """Return the token of a session."""
        account = self.account(name, role)
        return self.context.identity.authentication.sign_in(account.name, PASSWORD).token

    def program(self, name: str, role: Role, scopes: Sequence[str] = ("read",)) -> str:
        """Return the token of a program."""
        account = self.account(name, role)
        return self.context.identity.tokens.create(account.id, "test", scopes).token

    # --- sockets --------------------------------------------------------------------------------

    def follow(self, token: str, query: str = "", *, table: str = "", **options: Any) -> connect:
        """Open a socket: as a program, or as a browser with its cookie."""
        headers = options.pop("additional_headers", {})
        if token.startswith("td_"):
            headers |= {"Authorization": f"Bearer {token}"}
        elif token:
            headers |= {"Cookie": f"{self.context.cookie_name}={token}"}
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
            chips = commands.BuyIn(by=DEALER, player=ids[name], amount=amount, age_years=30)
            await self.asking.send(chips)
        return ids

    async def bet(self, player: str, amount: int, box: str) -> None:
        await self.asking.bet(player, amount, box)


@asynccontextmanager
async def serving(
    folder: Path, *, url: str = "", described: HouseConfig = DESCRIBED
) -> AsyncIterator[Served]:
    """Serve a house on a port of this machine until the context ends."""
    url = url or f"sqlite:///{folder / 'house.sqlite'}"
    address, said = ListenAddress(port=0), list[str]()
    plan = ServerSettings(url, described, address, password_cost=TEST_COST)
    with bind_socket(address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(plan, taken, exits, said.append)
            started = asyncio.Event()
            config = uvicorn_config(make_app(context), address)
            server = HouseServer(config, on_start=started.set, on_stop=context.hub.close)
            running = asyncio.create_task(server.serve(sockets=[taken]))
            exits.push_async_callback(_stopped, server, running)
            await started.wait()
            yield Served(context, taken.getsockname()[1])


async def _stopped(server: HouseServer, running: asyncio.Task[None]) -> None:
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
