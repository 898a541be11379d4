"""Measure acknowledged bets per second over HTTP, compared with a bare Starlette endpoint.

Run it with `python benchmarks/over_http.py`. Each server runs on uvicorn (uvloop, httptools) in its
own process and commits the same rows with the same writer and store: the reference decodes the
body, builds the entry, awaits the group commit, and does nothing else. The client, another process
with raw keep-alive sockets, has one request in flight per connection. Compare the ratios within one
run, not absolute figures. Where others use the machine, the processor time per bet says more than
the bets per second; Linux states it for the event loop's thread and for the others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median
from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, outside any package

from threedice import load
from threedice.api.app import make_app
from threedice.api.config import HouseConfig, HousePolicies, TableConfig, TableLimitsConfig
from threedice.api.context import ServerContext
from threedice.api.http.metrics import ServerMetrics
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.live.hub import Hub
from threedice.house.codec import encode
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.entry import EMPTY_HEAD, extend_stream, hash_cause
from threedice.log.records import Append, Proposal
from threedice.log.stores.urls import open_store
from threedice.log.writer import Writer
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.events import BetPlaced
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from threedice.log.writer import WriteResult

GAME = "sg-rws-tai-sai-v6/a"
TABLE = "bench"
DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")


# --- the house ----------------------------------------------------------------------------------


async def serve_house(url: str, players: int) -> None:
    """Serve a house with one table, and print the sessions of its players."""
    house_config = HouseConfig(
        name="bench",
        currency="SGD",
        time_zone="UTC",
        policies=HousePolicies(commands_per_second=10**6),
        tables={
            TABLE: TableConfig(
                game=GAME, chips=[5], float=0, limits=TableLimitsConfig(minimum=5, maximum=10)
            )
        },
    )
    address = ListenAddress("127.0.0.1", 0)
    with bind_socket(address) as listening_socket, tempfile.TemporaryDirectory() as folder:
        async with House(url, state_dir=Path(folder)) as house:
            with closing(open_identity("memory:", state=Path(folder), cost=TEST_COST)) as identity:
                sessions = []
                for number in range(players):
                    name, password = f"player-{number}", f"a long word for {number}!"
                    account = identity.accounts.add(name, ["player"], password=password).account
                    token = identity.authentication.sign_in(name, password).token
                    sessions.append((account.id, token))
                await set_up(house, [player for player, _ in sessions])
                port = listening_socket.getsockname()[1]
                context = ServerContext(
                    house,
                    identity,
                    house_config,
                    origins=(f"http://127.0.0.1:{port}",),
                    hub=Hub(house, ServerMetrics(house)),
                    secure=False,
                )
                config = uvicorn_config(make_app(context), address)
                cookies = [[player, f"threedice={token}"] for player, token in sessions]
                server = HouseServer(
                    config, on_start=partial(report_ready, port, cookies), on_stop=_do_nothing
                )
                await server.serve(sockets=[listening_socket])


async def set_up(house: House, players: list[str]) -> None:
    """Open a table with all players seated and betting open."""
    steps: list[Any] = [
        EstablishTable(by=SUPERVISOR, game=GAME),
        commands.OpenTable(
            by=SUPERVISOR, table=TABLE, currency="SGD", mode="record", chips=[5, 25, 100],
            float_amount=10**12, limits=uniform_limits(load(GAME), 5, 10**12, 10**12),
        ),
        *(commands.PassCheck(by=SUPERVISOR, check=check) for check in load(GAME).facts.opening),
        commands.OpenBetting(by=DEALER),
        *(commands.BuyIn(by=DEALER, player=player, amount=10**8) for player in players),
    ]  # fmt: skip
    for number, step in enumerate(steps):
        await house.command_handler.handle(step, table=TABLE, account="bench", key=f"step {number}")


# --- the reference ------------------------------------------------------------------------------


class Bet(msgspec.Struct):
    """The body of a bet, as the reference decodes it."""

    type: str
    player: str
    box: str
    amount: int


class BareEndpoint:
    """An endpoint that commits a bet and does nothing else."""

    def __init__(self, url: str) -> None:
        self.store = open_store(url, serving=True)
        self.loop, self.thread = asyncio.get_running_loop(), get_ident()
        self.writer: Writer[asyncio.Future[bytes]] = Writer(self.store, deliver=self._deliver)
        self.head, self.number = EMPTY_HEAD, 0
        self.decode = msgspec.json.Decoder(Bet).decode

    async def bet(self, request: Request) -> Response:
        """Commit a bet, and respond when it is durable."""
        body = await request.body()
        bet, key = self.decode(body), request.headers["idempotency-key"]
        self.number += 1
        event = BetPlaced(
            player=bet.player, spot=bet.box, area="", amount=bet.amount, number=self.number,
            manner="self", by=Actor(id=bet.player, role="player"),
        )  # fmt: skip
        digest, stream = sha256(body).digest(), f"table/{TABLE}"
        record, at = encode(event), time.time_ns() // 1000
        cause = hash_cause(bet.player, key, digest)
        entries, head = extend_stream(self.head, stream, at, cause, [record])
        append = Append(stream, self.head, entries)
        self.head = head
        written: asyncio.Future[bytes] = self.loop.create_future()
        self.writer.submit(Proposal(bet.player, key, digest, (append,)), written)
        return Response(
            b'{"version":%d,"events":[%b]}' % (head.version, await written),
            media_type="application/json",
        )

    def _deliver(self, written: Sequence[asyncio.Future[bytes]], _: Sequence[WriteResult]) -> None:
        if get_ident() == self.thread:
            self._resolve(written)
        else:
            self.loop.call_soon_threadsafe(self._resolve, written)

    def _resolve(self, written: Sequence[asyncio.Future[bytes]]) -> None:
        for future in written:
            future.set_result(b"")

    async def close(self) -> None:
        """Close the writer and the store."""
        await asyncio.to_thread(self.writer.close)
        self.store.close()


async def serve_bare(url: str, players: int) -> None:
    """Serve the reference."""
    endpoint = BareEndpoint(url)
    app = Starlette(routes=[Route("/api/tables/{table}/commands", endpoint.bet, methods=["POST"])])
    address = ListenAddress("127.0.0.1", 0)
    with bind_socket(address) as listening_socket:
        config = uvicorn_config(app, address)
        port = listening_socket.getsockname()[1]
        cookies = [[f"player-{number}", "a=1"] for number in range(players)]
        server = HouseServer(
            config, on_start=partial(report_ready, port, cookies), on_stop=_do_nothing
        )
        await server.serve(sockets=[listening_socket])
    await endpoint.close()


async def _do_nothing() -> None:
    """Do nothing on shutdown."""


def report_ready(port: int, cookies: list[list[str]]) -> None:
    """Print the port and the players with their cookies, for the parent process."""
    print(json.dumps([port, cookies]), flush=True)


# --- the client ---------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """A keep-alive connection with one bet in flight at a time."""

    def __init__(self, requests: list[bytes], done: asyncio.Future[list[float]]) -> None:
        self._requests, self._done = requests, done
        self._next, self._received = 0, b""
        self._durations: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first bet."""
        self._transport: Any = transport
        self._send()

    def _send(self) -> None:
        if self._next == len(self._requests):
            self._transport.close()
            self._done.set_result(self._durations)
            return
        self._sent_at = perf_counter()
        self._transport.write(self._requests[self._next])
        self._next += 1

    def data_received(self, data: bytes) -> None:
        """Read a response, and send the next bet when it is complete."""
        self._received += data
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
        if len(body) < length:
            return
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"refused: {self._received[:500]!r}")
        self._received = b""
        self._durations.append(perf_counter() - self._sent_at)
        self._send()


def encode_request(port: int, cookie: str, player: str, key: str) -> bytes:
    """Return the bytes of a bet as a browser sends it."""
    body = json.dumps({"type": "PlaceBet", "player": player, "box": "big", "amount": 5}).encode()
    return (
        f"POST /api/tables/{TABLE}/commands HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n"
        f"Cookie: {cookie}\r\nContent-Type: application/json\r\nAccept-Language: en\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def bet_all(
    port: int, cookies: list[list[str]], bets: int, name: str
) -> tuple[float, list[float]]:
    """Let all players bet at once, one connection each; return the total time and each bet's."""
    loop = asyncio.get_running_loop()
    requests = [
        [
            encode_request(port, cookie, player, f"{name}-{i}-{j}")
            for j in range(bets // len(cookies))
        ]
        for i, (player, cookie) in enumerate(cookies)
    ]
    results: list[asyncio.Future[list[float]]] = [loop.create_future() for _ in requests]
    started_at = perf_counter()
    await asyncio.gather(
        *(
            loop.create_connection(partial(Connection, own_requests, result), "127.0.0.1", port)
            for own_requests, result in zip(requests, results, strict=True)
        )
    )
    durations = [duration for result in await asyncio.gather(*results) for duration in result]
    return perf_counter() - started_at, durations


class Measurement(NamedTuple):
    """Figures of a server: bets per second, and times per bet in microseconds."""

    rate: float
    percentile: float
    loop_time: float
    other_time: float


def measure(kind: str, bets: int, connections: int) -> Measurement:
    """Let a server take bets, and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bench.sqlite"
        command = [sys.executable, __file__, "--serve", kind, url, "--connections"]
        with subprocess.Popen([*command, str(connections)], stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                port, cookies = json.loads(server.stdout.readline())
                uvloop.run(bet_all(port, cookies, connections * 20, "warm"))
                loop_before, other_before = processor_times(server.pid)
                seconds, durations = uvloop.run(bet_all(port, cookies, bets, "bet"))
                loop_after, other_after = processor_times(server.pid)
            finally:
                server.kill()
    count = len(durations)
    return Measurement(
        rate=count / seconds,
        percentile=sorted(durations)[count * 99 // 100] * 1e6,
        loop_time=(loop_after - loop_before) / count,
        other_time=(other_after - other_before) / count,
    )


def processor_times(pid: int) -> tuple[float, float]:
    """Return the microseconds of processor time of a process: its main thread, and the others."""
    times = {
        task.name: int((task / "schedstat").read_text().split()[0]) / 1000
        for task in Path(f"/proc/{pid}/task").iterdir()
    }
    main_thread = times.pop(str(pid))
    return main_thread, sum(times.values())


def main() -> None:
    """Run the benchmark, or with `--serve` one of its servers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "URL"))
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--bets", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.serve:
        kind, url = arguments.serve
        uvloop.run((serve_house if kind == "house" else serve_bare)(url, arguments.connections))
        return
    results: dict[str, list[Measurement]] = {"bare": [], "house": []}
    for _ in range(arguments.turns):
        for kind, runs in results.items():
            runs.append(measure(kind, arguments.bets, arguments.connections))
    for kind, runs in results.items():
        figures = Measurement(*map(median, zip(*runs, strict=True)))
        print(
            f"{kind:6} {figures.rate:9.0f} bets/s   99 % within {figures.percentile / 1000:.1f} ms"
            f"   processor {figures.loop_time:.0f} + {figures.other_time:.0f} us per bet"
        )
    turns = list(zip(results["bare"], results["house"], strict=True))
    rates = [house.rate / bare.rate for bare, house in turns]
    by_turn = ", ".join(f"{each:.2f}" for each in rates)
    print(f"ratio  {median(rates):9.2f}          by turn {by_turn}")
    times = [
        (bare.loop_time + bare.other_time) / (house.loop_time + house.other_time)
        for bare, house in turns
    ]
    print(f"       {median(times):9.2f} of processor time")


if __name__ == "__main__":
    main()
