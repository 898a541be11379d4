"""A house on a real server in this process, with accounts, sockets and commands to its tables."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.house.house_driver import DEALER, People
from tests.identity.identity_cluster import PASSWORD, add_account
from tests.waiting import TIMEOUT_SECONDS
from threedice.api.app import make_app
from threedice.api.auth.authentication import resolve_token
from threedice.api.config import HouseConfig, HousePolicies, TableConfig, TableLimitsConfig
from threedice.api.http.limits import RateLimiter
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.live.channel import Subscriber
from threedice.api.live.connection import serve_socket
from threedice.api.server import ServerSettings, open_house
from threedice.house.stream_state import table_stream
from threedice.identity.authentication.passwords import TEST_COST
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

    from threedice.api.context import ServerContext
    from threedice.api.live.hub import Hub
    from threedice.house import CommandHandler
    from threedice.identity import Account, Role
    from threedice.log.store import Store

TABLE = "pit-1"
FREE_PORT = ListenAddress(port=0)
FOR_EVER = 4_000_000_000_000_000
HOUSE_CONFIG = HouseConfig(
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


class LiveServer:
    """A running server and one of its tables.

    Each test opens its own table; the names of its accounts end with the id of the table.
    """

    _tables = count(1)

    def __init__(self, context: ServerContext, port: int, table: str = TABLE) -> None:
        self.context, self.port, self.table = context, port, table
        self.people = People(self.handler, table)

    async def open_new_table(self) -> LiveServer:
        """Open another table of the same server."""
        server = LiveServer(self.context, self.port, f"t{next(self._tables)}")
        await server.people.open(stacks={"nobody": 5}, float_amount=100_000_000)
        self.hub.open_limiter = RateLimiter(1000, clock=self.context.house.runtime.monotonic)
        return server

    @property
    def handler(self) -> CommandHandler:
        return self.context.house.command_handler

    @property
    def hub(self) -> Hub:
        return self.context.hub

    @property
    def store(self) -> Store:
        return self.handler.store

    @property
    def origin(self) -> Any:
        return f"http://127.0.0.1:{self.port}"

    async def head(self) -> int:
        """Return the version of the table's stream."""
        return (await asyncio.to_thread(self.store.head, table_stream(self.table))).version

    # --- accounts -------------------------------------------------------------------------------

    def account(self, name: str, role: Role) -> Account:
        identity, full_name = self.context.identity, f"{name}-{self.table}"
        if found := identity.accounts.find_by_name(full_name):
            return found
        account = add_account(identity, full_name, role)
        if role in ("dealer", "supervisor"):
            identity.assignments.add(account.id, self.table, role, starts=0, until=FOR_EVER)
        return account

    def sign_in(self, name: str, role: Role) -> str:
        """Sign in, and return the session token."""
        account = self.account(name, role)
        return self.context.identity.authentication.sign_in(account.name, PASSWORD).token

    def create_token(self, name: str, role: Role, scopes: Sequence[str] = ("read",)) -> str:
        """Create an API token."""
        account = self.account(name, role)
        return self.context.identity.tokens.create(account.id, "test", scopes).token

    # --- sockets --------------------------------------------------------------------------------

    def follow(self, token: str, query: str = "", *, table: str = "", **options: Any) -> connect:
        """Open a live socket, with an API token or with the cookie of a browser."""
        headers = options.pop("additional_headers", {})
        if token.startswith(("td_", "tdd_")):
            headers |= {"Authorization": f"Bearer {token}"}
        elif token:
            headers |= {"Cookie": f"{self.context.cookie_name}={token}"}
            options.setdefault("origin", self.origin)
        url = f"ws://127.0.0.1:{self.port}/api/tables/{table or self.table}/live{query}"
        return connect(url, additional_headers=headers, proxy=None, **options)

    # --- play -----------------------------------------------------------------------------------

    async def play(self, *lines: str) -> None:
        await self.people.play(*lines)

    async def seat(self, **stacks: int) -> dict[str, str]:
        """Have players buy in; return the ids of their accounts by name."""
        ids = {name: self.account(name, "player").id for name in stacks}
        for name, amount in stacks.items():
            chips = commands.BuyIn(by=DEALER, player=ids[name], amount=amount, age_years=30)
            await self.people.send(chips)
        return ids

    async def bet(self, player: str, amount: int, box: str) -> None:
        await self.people.bet(player, amount, box)


@asynccontextmanager
async def serve_house(
    folder: Path,
    *,
    url: str = "",
    config: HouseConfig = HOUSE_CONFIG,
    address: ListenAddress = FREE_PORT,
) -> AsyncIterator[LiveServer]:
    """Serve a house on a free port until the context ends."""
    url = url or f"sqlite:///{folder / 'house.sqlite'}"
    settings = ServerSettings(url, config, address, password_cost=TEST_COST)
    with bind_socket(address) as listening_socket:
        async with AsyncExitStack() as exits:
            context = await open_house(settings, listening_socket, exits, lambda _notice: None)
            started = asyncio.Event()
            server = HouseServer(
                uvicorn_config(make_app(context), address),
                on_start=started.set,
                on_stop=context.hub.close,
            )
            task = asyncio.create_task(server.serve(sockets=[listening_socket]))
            exits.push_async_callback(_stop, server, task)
            await started.wait()
            yield LiveServer(context, listening_socket.getsockname()[1])


async def _stop(server: HouseServer, task: asyncio.Task[None]) -> None:
    server.should_exit = True
    await task


async def receive(socket: ClientConnection) -> dict[str, Any]:
    """Return the next message of a socket."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        message: dict[str, Any] = msgspec.json.decode(await socket.recv())
    return message


async def receive_until(socket: ClientConnection, version: int) -> list[dict[str, Any]]:
    """Return the events of a socket up to a version."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["version"] < version:
        message = await receive(socket)
        assert message["type"] == "events", message
        found += message["events"]
    return found


async def wait_for_close(socket: ClientConnection) -> int:
    """Discard messages until a socket is closed, and return the close code."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        with suppress(ConnectionClosed):
            while True:
                await socket.recv()
    assert socket.close_code is not None
    return socket.close_code


class AsgiClient:
    """The client of a socket as an ASGI application sees it, which can stop reading."""

    def __init__(self) -> None:
        self.reading = asyncio.Event()
        self.reading.set()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await self.reading.wait()
        await self.sent.put(message)

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "websocket.disconnect", "code": 1001}

    async def next_message(self) -> dict[str, Any]:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            message = await self.sent.get()
        return msgspec.json.decode(message["text"]) if "text" in message else message


@asynccontextmanager
async def follow_over_asgi(server: LiveServer) -> AsyncIterator[AsgiClient]:
    """Follow a table as staff, without a network between the client and the application."""
    token, client = server.create_token("boss", "shift-manager"), AsgiClient()
    caller = resolve_token(server.context, token)
    assert caller is not None
    subscriber = Subscriber(caller, token, server.table, "staff", "")
    task = asyncio.create_task(
        serve_socket(server.hub, subscriber, None, client.receive, client.send)
    )
    assert (await client.next_message())["type"] == "websocket.accept"
    assert (await client.next_message())["type"] == "hello"
    yield client
    client.gone.set()
    await task
