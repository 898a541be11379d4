"""Two servers on one PostgreSQL database, of which one after the other is killed."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import ssl
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.api.serve_process import HOUSE, ROOT, start_server
from tests.api.test_serve_command import create_certificate
from tests.programs import nginx
from tests.waiting import TIMEOUT_SECONDS, wait_until
from threedice.api.listener import ListenAddress, bind_socket
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.urls import open_store, state_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.api.serve_process import ServeProcess
    from tests.log.postgres_server import PostgresServer
    from threedice.identity import Role

pytestmark = pytest.mark.anyio

PASSWORD = "a long pass phrase"
FOR_EVER = 4_000_000_000_000_000
BETS = 60


class ServerPair:
    """Two servers that can be killed and started, and clients for them."""

    def __init__(self, url: str, folder: Path, *more: str) -> None:
        self.url, self.folder, self.more = url, folder, more
        self.ports: dict[str, int] = {}
        self._processes: dict[str, ServeProcess] = {}
        self._ends = ExitStack()
        (folder / "house.toml").write_text(HOUSE, encoding="utf-8")

    def start(self, *names: str) -> None:
        words = ["--database", self.url, "--house", str(self.folder / "house.toml"), "--port", "0"]
        for name in names:
            process = start_server(self.folder, *words, *self.more)
            self._processes[name] = self._ends.enter_context(process)
        for name in names:
            self.ports[name] = self._processes[name].wait_until_listening()

    def kill(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGKILL)
        self._processes[name].wait()

    @contextmanager
    def standing_still(self, name: str) -> Iterator[None]:
        """Stop a server without its knowing, and let it go on at the end."""
        self._processes[name].send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._processes[name].send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._ends.close()

    def token(self, name: str, role: Role, *scopes: str) -> tuple[str, str]:
        """Create an account with an API token; return the id and the token."""
        state = state_directory(self.url)
        people = open_identity(self.url, state=state, cost=TEST_COST)
        account = people.accounts.add(name, [role], password=PASSWORD).account
        if role == "dealer":
            people.assignments.add(account.id, "pit-1", role, starts=0, until=FOR_EVER)
        made = people.tokens.create(account.id, name, scopes)
        people.close()
        return account.id, made.token

    def http(self, server: str, token: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self.ports[server]}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_SECONDS,
        )

    def socket(self, server: str, token: str, query: str = "") -> connect:
        url = f"ws://127.0.0.1:{self.ports[server]}/api/tables/pit-1/live{query}"
        return connect(url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None)


@pytest.fixture
def pair(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ServerPair]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    pair = ServerPair(postgres.fresh(), tmp_path)
    try:
        pair.start("one", "other")
        yield pair
    finally:
        pair.close()


async def test_documented_proxy_configuration_survives_the_loss_of_a_server(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    certificate, key = create_certificate(tmp_path, "house.example")
    with bind_socket(ListenAddress(port=0)) as free:
        port = free.getsockname()[1]
    origin = f"https://house.example:{port}"
    pair = ServerPair(postgres.fresh(), tmp_path, "--behind-proxy", "--origin", origin)
    with ExitStack() as ends:
        ends.callback(pair.close)
        pair.start("one", "other")
        ends.enter_context(
            run_nginx(
                tmp_path,
                documented_configuration(pair.ports.values(), port, certificate, key),
                port,
            )
        )
        await check_proxy(pair, origin, port, certificate)


async def check_proxy(pair: ServerPair, origin: str, port: int, certificate: Path) -> None:
    pair.token("ann", "player", "read")
    trust = ssl.create_default_context(cafile=str(certificate))
    host = {"Host": origin.removeprefix("https://"), "Origin": origin}
    name = {"sni_hostname": "house.example"}
    async with httpx.AsyncClient(verify=trust, base_url=f"https://127.0.0.1:{port}") as client:
        for path, status in (("/health", 200), ("/metrics", 404), ("/api/session", 401)):
            answer = await client.get(path, headers=host, extensions=name)
            assert answer.status_code == status, answer.text
        sign_in = {"name": "ann", "password": PASSWORD}
        answer = await client.post("/api/session", json=sign_in, headers=host, extensions=name)
        assert answer.status_code < 300, answer.text
        assert "secure" in answer.headers["set-cookie"].lower()
        cookie = answer.headers["set-cookie"].partition(";")[0]
        carried = {"Cookie": cookie, "Host": host["Host"]}
        for _ in range(4):  # both servers know the session
            shown = await client.get("/api/session", headers=host | carried, extensions=name)
            assert shown.status_code == 200
        url = f"wss://house.example:{port}/api/tables/pit-1/live"
        following: dict[str, Any] = {
            "additional_headers": {"Cookie": cookie},
            "origin": origin,
            "ssl": trust,
            "host": "127.0.0.1",
            "port": port,
            "proxy": None,
        }
        async with connect(url, **following) as first:
            version = msgspec.json.decode(await first.recv())["version"]
            pair.kill("one")
        async with connect(f"{url}?after={version}", **following) as again:
            assert msgspec.json.decode(await again.recv())["version"] == version
        answer = await client.get("/health", headers=host, extensions=name)
        assert answer.status_code == 200


def documented_configuration(ports: Iterable[int], port: int, certificate: Path, key: Path) -> str:
    """Return the proxy configuration of the documentation with the ports and files of this test."""
    text = (ROOT / "docs" / "how-to" / "several-servers.md").read_text(encoding="utf-8")
    written: str
    (written,) = re.findall(r"```nginx\n(.*?)```", text, re.DOTALL)
    one, other = ports
    for there, here in (
        ("127.0.0.1:8001", f"127.0.0.1:{one}"),
        ("127.0.0.1:8002", f"127.0.0.1:{other}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/house.example.pem", str(certificate)),
        ("/etc/ssl/house.example.key", str(key)),
    ):
        assert there in written
        written = written.replace(there, here)
    return written


NGINX_CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
access_log off;
{temporary_paths}
{server}
}}
"""
TEMPORARY_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def run_nginx(folder: Path, server: str, port: int) -> Iterator[None]:
    """Run nginx with the configuration of a server until the context ends."""
    paths = "\n".join(f"{name}_temp_path {folder}/{name};" for name in TEMPORARY_PATHS)
    file = folder / "nginx.conf"
    file.write_text(
        NGINX_CONFIGURATION.format(folder=folder, temporary_paths=paths, server=server),
        encoding="utf-8",
    )
    command = [str(nginx()), "-p", str(folder), "-e", "stderr", "-c", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(process, port)
        yield
    finally:
        process.terminate()
        process.wait(30)


def wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    def listens() -> bool:
        assert process.poll() is None, "nginx refused the configuration"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return False
        return True

    wait_until(listens, lambda: f"nginx does not listen on port {port}")


async def send(client: httpx.AsyncClient, key: str, **command: Any) -> dict[str, Any]:
    answer = await client.post(
        "/api/tables/pit-1/commands", json=command, headers={"Idempotency-Key": key}
    )
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()
    return done


async def test_killing_either_of_two_servers_loses_no_bet_and_no_event(pair: ServerPair) -> None:
    _, dealer = pair.token("dora", "dealer", "deal", "play", "read")
    ann, ann_token = pair.token("ann", "player", "play", "read")
    _, bob_token = pair.token("bob", "player", "read")
    async with pair.http("one", dealer) as client:
        await send(client, "chips", type="BuyIn", player=ann, amount=100_000, age_years=30)
    async with pair.socket("one", bob_token) as near, pair.socket("other", bob_token) as far:
        near_hello, far_hello = msgspec.json.decode(await near.recv()), await far.recv()
        start = msgspec.json.decode(far_hello)["version"]
        assert near_hello["version"] == start
        async with pair.http("other", dealer) as client:
            done = await send(client, "open", type="OpenBetting")
        async with pair.http("one", ann_token) as client:
            done = await send(client, "first", type="PlaceBet", player=ann, box="big", amount=50)
        for socket in (near, far):
            events = await events_until(socket, done["version"])
            assert [each["version"] for each in events] == list(
                range(start + 1, done["version"] + 1)
            )
            assert events[-1]["totals"] == {"big": 50}
    async with asyncio.TaskGroup() as both:
        both.create_task(place_bets(pair, ann, ann_token))
        following = both.create_task(follow_events(pair, bob_token, done["version"], BETS))
    seen = following.result()
    assert seen == list(range(done["version"] + 1, done["version"] + 1 + BETS))
    assert stored_bets(pair) == [f"bet-{number}" for number in range(BETS)]


async def test_bet_refused_by_one_server_is_not_executed_by_another_that_stood_still(
    pair: ServerPair,
) -> None:
    _, dealer = pair.token("dora", "dealer", "deal", "play", "read")
    ann, ann_token = pair.token("ann", "player", "play", "read")
    bet = {"type": "PlaceBet", "player": ann, "box": "big", "amount": 50}
    async with (
        pair.http("one", ann_token) as slow,
        pair.http("other", ann_token) as other,
        pair.http("other", dealer) as staff,
    ):
        await send(staff, "chips", type="BuyIn", player=ann, amount=1_000, age_years=30)
        await send(staff, "open", type="OpenBetting")
        await send(slow, "before", **bet)  # so that the server has the round in memory
        with pair.standing_still("one"):
            late = asyncio.create_task(
                slow.post(
                    "/api/tables/pit-1/commands", json=bet, headers={"Idempotency-Key": "late"}
                )
            )
            await send(staff, "close", type="CloseBetting")
            refused = await other.post(
                "/api/tables/pit-1/commands", json=bet, headers={"Idempotency-Key": "late"}
            )
            assert (refused.status_code, refused.json()["code"]) == (409, "betting/closed")
            outcome = (await other.get("/api/commands/late")).json()
            assert outcome == {"status": "refused", "answer": None, "problem": refused.json()}
            await send(staff, "tumble", type="Tumble", times=3)
            await send(staff, "uncover", type="Uncover")
            await send(staff, "call", type="CallResult", dice=[1, 2, 3])
            for step in ("CollectLosers", "PayWinners", "OpenBetting"):
                await send(staff, f"next-{step}", type=step)
            assert not late.done()
        answer = await late
        assert (answer.status_code, answer.json()) == (409, refused.json())
        assert (await slow.get("/api/commands/late")).json() == outcome
    store = open_store(pair.url)
    bets = [entry for entry in store.scan("table/pit-1") if entry.kind == "BetPlaced"]
    store.close()
    assert len(bets) == 1


async def events_until(socket: Any, version: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while not found or found[-1]["version"] < version:
        message = msgspec.json.decode(await asyncio.wait_for(socket.recv(), TIMEOUT_SECONDS))
        found += message["events"]
    return found


async def place_bets(pair: ServerPair, player: str, token: str) -> None:
    """Place bets; kill the server in use on the way, start it again, and kill the other."""
    server, others = "one", {"one": "other", "other": "one"}
    for number in range(BETS):
        if number == BETS // 3:
            asyncio.get_running_loop().call_later(0.001, pair.kill, "one")
        if number == 2 * BETS // 3:
            await asyncio.to_thread(pair.start, "one")
            asyncio.get_running_loop().call_later(0.001, pair.kill, "other")
        bet = {"type": "PlaceBet", "player": player, "box": "small", "amount": 5 + 5 * number}
        try:
            async with pair.http(server, token) as client:
                await send(client, f"bet-{number}", **bet)
        except httpx.TransportError:
            server = others[server]
            async with pair.http(server, token) as client:
                outcome = (await client.get(f"/api/commands/bet-{number}")).json()
                again = await send(client, f"bet-{number}", **bet)
                assert outcome["answer"] in (None, again)


async def follow_events(pair: ServerPair, token: str, after: int, count: int) -> list[int]:
    """Follow the table on the server that is up, always from the last version seen."""
    seen, server, others = [after], "one", {"one": "other", "other": "one"}
    while seen[-1] < after + count:
        try:
            async with pair.socket(server, token, f"?after={seen[-1]}") as socket:
                hello = msgspec.json.decode(await socket.recv())
                assert (hello["version"], hello["view"]) == (seen[-1], None)
                while seen[-1] < after + count:
                    message = msgspec.json.decode(await socket.recv())
                    seen += [each["version"] for each in message["events"]]
        except (ConnectionClosed, OSError):
            server = others[server]
    return seen[1:]


def stored_bets(pair: ServerPair) -> list[str]:
    """Return the keys of the bets in the log, in order, as encoded in their amounts."""
    store = open_store(pair.url)
    amounts = [
        msgspec.json.decode(entry.data)["amount"]
        for entry in store.scan("table/pit-1")
        if entry.kind == "BetPlaced" and b'"small"' in entry.data
    ]
    store.close()
    return [f"bet-{(amount - 5) // 5}" for amount in amounts]
