"""Measure how long a bet takes while sixteen callers flood the server with one query.

Run it with `python benchmarks/query_flood.py`. The server, the flooding callers and the betting
player are three processes. Each caller has its own account (`--accounts 1`: all share one) and one
request in flight at a time, and ignores the rate limit; the player bets every 10 ms. Inputs that a
caller can choose, such as the stakes of a mix, differ in every request, so that no cache helps.

On a busy machine the times of bets include waiting for the processor and the disk. The last columns
(Linux only) leave that out: the processor time that the server spent while a bet was in progress.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, outside any package

from benchmarks.over_http import DEALER, GAME, TABLE, encode_request, report_ready, set_up
from threedice.api.app import make_app
from threedice.api.config import HouseConfig, HousePolicies, TableConfig, TableLimitsConfig
from threedice.api.context import ServerContext
from threedice.api.http.metrics import ServerMetrics
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.api.live.hub import Hub
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.house.house import House
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.table import commands
from threedice.table.commands import Actor

CALLERS = 16
ROUNDS = 300
"""Rounds played before the measurement, so that the log has a history to search."""

BET_INTERVAL_SECONDS = 0.01
BOOK = "/api/rulebooks/" + GAME

QUERIES = {
    "": "",
    "list-tables": "/api/tables",
    "show-table": f"/api/tables/{TABLE}",
    "list-results": f"/api/tables/{TABLE}/results?most=1000",
    "show-game": f"/api/tables/{TABLE}/game",
    "show-room": f"/api/tables/{TABLE}/room?player=PLAYER",
    "show-sheet": f"/api/tables/{TABLE}/sheet",
    "show-exposure": f"/api/tables/{TABLE}/exposure",
    "tell-round": f"/api/tables/{TABLE}/rounds/ROUND",
    "explain-bets": f"/api/tables/{TABLE}/rounds/ROUND/explanation?player=PLAYER",
    "report-shift": f"/api/tables/{TABLE}/shift?since=NUMBER",
    "list-rulebooks": "/api/rulebooks",
    "show-rulebook": BOOK,
    "show-odds": f"{BOOK}/odds",
    "show-readings": f"{BOOK}/readings",
    "judge-mix": f"POST {BOOK}/mix",
    "show-statement": "/api/accounts/PLAYER/statement?most=1000",
    "read-trail": "/api/trail?most=1000",
    "list-people": "/api/people",
    "show-session": "/api/session",
    "show-house": "/api/house",
    "read-openapi": "/api/openapi.json",
    "verify-log": "POST /api/log/verification",
    "read-metrics": "/metrics",
    "watch-table": f"WEBSOCKET /api/tables/{TABLE}/live",
}
"""Queries by operation; the words in capitals are replaced in every request."""


# --- the server ---------------------------------------------------------------------------------


async def serve_house(folder: Path) -> None:
    """Serve a house with one table; print the port, and the sessions of player and callers."""
    house_config = HouseConfig(
        name="bench",
        currency="SGD",
        time_zone="UTC",
        policies=HousePolicies(commands_per_second=1000),
        tables={
            TABLE: TableConfig(
                game=GAME, chips=[5], float=0, limits=TableLimitsConfig(minimum=5, maximum=10)
            )
        },
    )
    address, url = ListenAddress("127.0.0.1", 0), f"sqlite:///{folder}/house.sqlite"
    with bind_socket(address) as listening_socket:
        async with House(url, state_dir=folder) as house:
            with closing(
                open_identity(
                    url, state=folder, cost=TEST_COST, policy=IdentityPolicy(second_factor=False)
                )
            ) as identity:
                sessions = []
                for number in range(CALLERS + 1):
                    name, password = f"caller-{number}", f"a long word for {number}!"
                    roles = ["auditor"] if number else ["player"]
                    account = identity.accounts.add(name, roles, password=password).account
                    signed_in = identity.context.transact(
                        partial(identity.sessions.create, account=account.id)
                    )
                    sessions.append((account.id, f"threedice={signed_in.token}"))
                await set_up(house, [sessions[0][0]])
                await play_rounds(house, sessions[0][0])
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
                cookies = [list(session) for session in sessions]
                server = HouseServer(
                    config, on_start=partial(report_ready, port, cookies), on_stop=context.hub.close
                )
                await server.serve(sockets=[listening_socket])


async def play_rounds(house: House, player: str) -> None:
    """Play the rounds of the history, and open betting."""
    handler, keys = house.command_handler, count(1)

    async def send(command: Any) -> None:
        await handler.handle(command, table=TABLE, account="bench", key=f"round {next(keys)}")

    for number in range(ROUNDS):
        for box in ("big", "small", "total:10", "single:1"):
            bet = commands.PlaceBet(
                by=Actor(id=player, role="player"), player=player, box=box, amount=5
            )
            await send(bet)
        house_table = await handler.table(TABLE)
        game = handler.game(house_table)
        assert game is not None
        dice = f"dice {number % 6 + 1} {number % 5 + 1} 3"
        for command in parse_line(dice, CaseContext(game, house_table.table)):
            await send(command)
        await send(commands.OpenBetting(by=DEALER))


# --- the callers --------------------------------------------------------------------------------


def encode_query(port: int, cookie: str, query: str, player: str, number: int) -> bytes:
    """Return the bytes of a query; `number` makes its input differ from all others."""
    method, _, path = query.rpartition(" ")
    for word, value in (("PLAYER", player), ("ROUND", number % ROUNDS + 1), ("NUMBER", number)):
        path = path.replace(word, str(value))
    stakes = {"big": number + 1, "total:10": 5, "single:1": 7}
    body = json.dumps({"stakes": stakes}).encode() if method == "POST" else b""
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    return (
        f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Origin: http://127.0.0.1:{port}\r\nCookie: {cookie}\r\nAccept-Language: en\r\n"
        f"{upgrade if method == 'WEBSOCKET' else ''}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def flood(port: int, cookies: list[list[str]], query: str, seconds: float) -> None:
    """Send a query from every caller without pause; print when it begins, and the answers."""
    statuses: Counter[str] = Counter()
    callers = [
        call_repeatedly(port, cookie, query, cookies[0][0], statuses) for cookie in cookies[1:]
    ]
    print("begun", flush=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*callers)
    print(json.dumps(statuses), flush=True)


async def call_repeatedly(
    port: int, session: list[str], query: str, player: str, statuses: Counter[str]
) -> None:
    """Send a query again and again, on a new connection whenever the server closes the last."""
    for number in count(hash(session[0]) % 10**9):
        if number % 50 == 0 or query.startswith("WEBSOCKET") or not statuses:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request = encode_query(port, session[1], query, player, number)
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r")[0]
            await reader.readexactly(int(length or 0))
        except (OSError, asyncio.IncompleteReadError):
            statuses["closed"] += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        else:
            statuses[head[9:12].decode()] += 1
        if query.startswith("WEBSOCKET"):
            writer.close()


# --- the player ---------------------------------------------------------------------------------


async def bet_repeatedly(
    port: int, player: str, cookie: str, seconds: float, name: str, server: int
) -> tuple[list[float], list[float]]:
    """Place bets one after the other; return the time of each, and the server's processor time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    durations, processor, ends_at = list[float](), list[float](), perf_counter() + seconds
    for number in count():
        started_at = perf_counter()
        if started_at >= ends_at:
            break
        spent_before = processor_seconds(server)
        writer.write(encode_request(port, cookie, player, f"{name}-{number}"))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r")[0]
        body = await reader.readexactly(int(length))
        if b" 200 " not in head.partition(b"\r")[0]:
            raise SystemExit(f"refused: {body[:500]!r}")
        durations.append(perf_counter() - started_at)
        processor.append(processor_seconds(server) - spent_before)
        await asyncio.sleep(BET_INTERVAL_SECONDS)
    writer.close()
    return durations, processor


def processor_seconds(process: int) -> float:
    """Return the processor time of all threads of a process."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def percentiles(durations: list[float]) -> str:
    """Return the median, the 99th percentile and the maximum in milliseconds."""
    durations = sorted(durations)
    parts = (durations[len(durations) * share // 100] for share in (50, 99))
    return "".join(f"{each * 1000:8.1f}" for each in (*parts, durations[-1]))


def measure(
    port: int, cookies: list[list[str]], operation: str, seconds: float, server: int
) -> str:
    """Return a line with the times of bets during the flood of one query."""
    flooding: subprocess.Popen[str] | None = None
    if QUERIES[operation]:
        command = [sys.executable, __file__, "--flood", str(port), json.dumps(cookies)]
        flooding = subprocess.Popen(
            [*command, QUERIES[operation], str(seconds + 0.5)], stdout=subprocess.PIPE, text=True
        )
        assert flooding.stdout is not None
        flooding.stdout.readline()
    player, cookie = cookies[0]
    durations, processor = uvloop.run(
        bet_repeatedly(port, player, cookie, seconds, operation or "none", server)
    )
    answers = flooding.communicate()[0].strip() if flooding is not None else ""
    times = percentiles(durations) + percentiles(processor)
    return f"{operation or 'no flood':16}{times}{len(durations):7}  {answers}"


def main() -> None:
    """Run the benchmark, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", metavar="FOLDER", type=Path)
    parser.add_argument("--flood", nargs=4, metavar=("PORT", "COOKIES", "QUERY", "SECONDS"))
    parser.add_argument("--accounts", type=int, default=CALLERS)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", nargs="*", choices=list(QUERIES), default=list(QUERIES))
    arguments = parser.parse_args()
    if arguments.serve:
        uvloop.run(serve_house(arguments.serve))
        return
    if arguments.flood:
        port, cookies, query, seconds = arguments.flood
        uvloop.run(flood(int(port), json.loads(cookies), query, float(seconds)))
        return
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    columns = "".join(f"{each:>8}" for each in ("p50", "p99", "most") * 2)
    print(f"{'bet, ms':16}{columns}{'bets':>7}  answers to the callers")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                port, cookies = json.loads(server.stdout.readline())
                callers = cookies[1 : arguments.accounts + 1]
                callers *= CALLERS // len(callers)
                for operation in arguments.only:
                    sessions = [cookies[0], *callers]
                    line = measure(port, sessions, operation, arguments.seconds, server.pid)
                    print(line, flush=True)
            finally:
                server.kill()


if __name__ == "__main__":
    main()
