"""Measure the time until the last of many sockets has an event, against a bare broadcast loop.

Run it with `python benchmarks/fan_out.py`. A server in a separate process holds 1,000 and then
5,000 sockets. Ours carries a bet from the log's feed to players and staff, encoded for each
audience; the reference sends a text of the same length to all sockets in one plain loop, on the
same server stack. A client in another process measures until the last socket has it. Ratios count,
not times.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import logging
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))  # when run as a file, this is in no package

from litestar import Litestar
from litestar.datastructures import State
from tests.house.house_driver import SUPERVISOR

from threedice import load
from threedice.api.config import HouseConfig
from threedice.api.context import ServerContext
from threedice.api.http.limits import RateLimiter
from threedice.api.http.metrics import ServerMetrics
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.live.connection import follow_table
from threedice.api.live.hub import Hub
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from threedice.identity import IdentityService

GAME = "sg-rws-tai-sai-v6/a"
PLAYERS, STAFF = 400, 100
TABLE = "bench"
TEXT = (
    '{"type":"events","events":['
    '{"version":100,"at":1800000000000000,"event":null,"totals":{"big":500}}]}'
)
ROUNDS = 15
DEALER = Actor(id="dealer", role="dealer")


# --- the servers --------------------------------------------------------------------------------


async def serve_ours() -> None:
    """Serve a table of a real house, and place one bet for each line from the parent."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/house.sqlite"
        async with House(url) as house:
            with closing(open_identity(url, state=house.state_dir, cost=TEST_COST)) as identity:
                tokens = await asyncio.to_thread(create_accounts, identity)
                await set_up(house)
                metrics = ServerMetrics(house)
                hub = Hub(house, metrics)
                context = ServerContext(
                    house=house,
                    identity=identity,
                    config=HouseConfig(name="b", currency="SGD", time_zone="UTC", tables={}),
                    origins=("http://localhost",),
                    hub=hub,
                    secure=False,
                )
                hub.open_limiter = RateLimiter(10_000, house.runtime.monotonic)
                app = Litestar(
                    [follow_table],
                    state=State({"context": context}),
                    openapi_config=None,
                    logging_config=None,
                )
                published: list[float] = []
                publish = house.feed.publish

                def publish_timed(entries: Mapping[str, Sequence[Any]]) -> None:
                    published.append(time.monotonic())
                    publish(entries)

                house.command_handler.streams.publish = publish_timed

                async def go(number: int) -> float:
                    published.clear()
                    bet = commands.PlaceBet(
                        by=Actor(id="p0", role="player"), player="p0", box="big", amount=500
                    )
                    await house.command_handler.handle(
                        bet, table=TABLE, account="p0", key=f"bet {number}"
                    )
                    return published[0]

                await serve(app, go, " ".join(tokens), hub.close)


def create_accounts(identity: IdentityService) -> list[str]:
    """Create accounts and a token for each; staff may see everything."""
    tokens = []
    for number in range(PLAYERS + STAFF):
        role = "player" if number < PLAYERS else "shift-manager"
        account = identity.accounts.add(
            f"person-{number}", [role], password=f"a-long-pass-{number}!"
        )
        tokens.append(identity.tokens.create(account.account.id, "bench", ["read"]).token)
    return tokens


async def set_up(house: House) -> None:
    """Open a table with betting open and somebody seated."""
    limits = uniform_limits(load(GAME), 5, 10**9, 10**9)
    steps: list[Any] = [
        EstablishTable(by=SUPERVISOR, game=GAME),
        commands.OpenTable(
            by=SUPERVISOR, table=TABLE, currency="SGD", mode="record", chips=[5],
            float_amount=10**10, limits=limits,
        ),
        commands.OpenBetting(by=DEALER),
        commands.BuyIn(by=DEALER, player="p0", amount=10**8),
    ]  # fmt: skip
    for number, step in enumerate(steps):
        await house.command_handler.handle(step, table=TABLE, account="bench", key=f"step {number}")


async def serve_bare() -> None:
    """Serve sockets with nothing behind them, and send all of them a text in one loop."""
    sends: list[Callable[[Any], Any]] = []

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        sends.append(send)
        while (await receive())["type"] != "websocket.disconnect":
            pass
        sends.remove(send)

    async def go(_number: int) -> float:
        started, message = time.monotonic(), {"type": "websocket.send", "text": TEXT}
        for send in sends:
            await send(message)
        return started

    await serve(app, go, "none", on_stop=nothing)


async def nothing() -> None:
    """Do nothing."""


async def serve(app: Any, go: Callable[[int], Any], tokens: str, on_stop: Any) -> None:
    """Serve until the parent closes the pipe; broadcast at each line, and print the start time."""
    listener = bind_socket(ListenAddress(port=0))
    loop = asyncio.get_running_loop()
    started = lambda: print(listener.getsockname()[1], tokens, flush=True)  # noqa: E731
    server = HouseServer(uvicorn_config(app, ListenAddress()), on_start=started, on_stop=on_stop)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    number = 0
    while await loop.run_in_executor(None, sys.stdin.readline):
        number += 1
        print(await go(number), flush=True)
    server.should_exit = True
    await serving


# --- the client ---------------------------------------------------------------------------------


class Listener(asyncio.Protocol):
    """A socket that counts its text frames, and calls back for each."""

    def __init__(
        self, request: bytes, on_open: Callable[[], None], on_frame: Callable[[], None]
    ) -> None:
        self._request, self._on_open, self._on_frame = request, on_open, on_frame
        self._data = bytearray()
        self._open = False
        self.frames = 0

    def connection_made(self, transport: Any) -> None:
        """Send the handshake."""
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Parse frames."""
        self._data += data
        if not self._open:
            head, found, rest = self._data.partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head[:20]:
                raise ConnectionError(bytes(head[:200]))
            self._open, self._data = True, rest
            self._on_open()
        while len(self._data) >= 2:
            size, start = self._data[1], 2
            if size == 126:
                size, start = int.from_bytes(self._data[2:4]), 4
            if len(self._data) < start + size:
                return
            is_text = self._data[0] & 15 == 1
            del self._data[: start + size]
            if is_text:
                self.frames += 1
                self._on_frame()


class Clients:
    """All the sockets of one measurement."""

    def __init__(self, count: int) -> None:
        self.count, self.opened, self.received = count, 0, 0
        self.all_open, self.all_received = asyncio.Event(), asyncio.Event()
        self.last_received_at = 0.0
        self.listeners: list[Any] = []

    def count_open(self) -> None:
        """Count an open socket."""
        self.opened += 1
        if self.opened == self.count:
            self.all_open.set()

    def count_frame(self) -> None:
        """Count a frame, and record when the last one of a round has arrived."""
        self.received += 1
        if self.received == self.count:
            self.last_received_at = time.monotonic()
            self.all_received.set()

    def start_round(self) -> None:
        """Count frames from zero again."""
        self.received = 0
        self.all_received.clear()

    async def connect(self, port: int, tokens: list[str]) -> None:
        """Open all sockets, in groups of 50."""
        loop = asyncio.get_running_loop()
        for number in range(self.count):
            request = handshake(tokens[number % len(tokens)])
            listener = partial(Listener, request, self.count_open, self.count_frame)
            connection = await loop.create_connection(listener, "127.0.0.1", port)
            self.listeners.append(connection)
            if number % 50 == 0:
                await asyncio.sleep(0.01)


def handshake(token: str) -> bytes:
    """Return the handshake request of a socket."""
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /api/tables/{TABLE}/live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()


async def measure(which: str, count: int) -> float:
    """Return the median time until the last of `count` sockets has an event, in milliseconds."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", which,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 20,
    )  # fmt: skip
    assert child.stdin
    assert child.stdout
    port, *tokens = (await child.stdout.readline()).split()
    clients = Clients(count)
    if which == "bare":
        await clients.connect(int(port), ["none"])
    else:
        await clients.connect(int(port), [token.decode() for token in tokens])
        await asyncio.wait_for(clients.all_received.wait(), 120)  # every hello
    await asyncio.wait_for(clients.all_open.wait(), 120)
    times = []
    for _ in range(ROUNDS):
        await asyncio.sleep(0.2)
        clients.start_round()
        child.stdin.write(b"go\n")
        started = float(await child.stdout.readline())
        await asyncio.wait_for(clients.all_received.wait(), 60)
        times.append((clients.last_received_at - started) * 1000)
    for transport, _ in clients.listeners:
        transport.close()
    child.stdin.close()
    await child.wait()
    return statistics.median(times)


async def compare(counts: Sequence[int]) -> None:
    """Print the times and the ratio for each number of sockets."""
    for count in counts:
        bare, ours = await measure("bare", count), await measure("ours", count)
        bare = min(bare, await measure("bare", count))
        print(
            f"fan-out to {count:5,} sockets: ours {ours:7.1f} ms, bare loop {bare:7.1f} ms, "
            f"{bare / ours:.2f} of its speed",
            flush=True,
        )


def main() -> None:
    """Serve, or measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", choices=["ours", "bare"])
    parser.add_argument("--sockets", type=int, nargs="*", default=[1000, 5000])
    options = parser.parse_args()
    _, max_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max_files, max_files))
    logging.disable()
    serving = {"ours": serve_ours, "bare": serve_bare}
    work = serving[options.serve]() if options.serve else compare(options.sockets)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


if __name__ == "__main__":
    main()
