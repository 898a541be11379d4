"""A house that browsers visit, and what a test asks of it over its API."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.screens.serving import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent
SLOWEST_READ_SECONDS = 60.0
"""How long reports may take to hold what has just happened, on a busy machine."""

TABLE = """
[tables.{name}]
game = "{game}"
mode = "{mode}"
chips = [100, 500, 2500, 10000]
float = 1_000_000_000
limits = {{ minimum = 100, maximum = 100000, differential = 1000000 }}
{timing}
"""
TIMING = "dealt_by_house = { betting_seconds = 20, closing_seconds = 2, showing_seconds = 4 }"
HOUSE = """
name = "The test house"
currency = "SGD"
time_zone = "Asia/Singapore"
[policies]
totp_for_staff = false
commands_per_second = 10000
"""
GAMES = {
    "sg-a": "sg-rws-tai-sai-v6/a",
    "sg-c": "sg-rws-tai-sai-v6/c",
    "sg-e": "sg-rws-tai-sai-v6/e",
    "open-cover": "sg-rws-tai-sai-open-cover-v5/c",
    "nz-1": "nz-tai-sai-2008/1",
    "nz-2": "nz-tai-sai-2008/2",
    "macau": "macau-sic-bo/main",
    "atlantic": "atlantic-city-sic-bo/main",
    "crown": "crown-and-anchor/main",
    "triple": "triple-dice/mat",
}
"""A table dealt by people for every layout, by its name."""


def house_toml(games: dict[str, str] = GAMES, mode: str = "record", timing: str = "") -> str:
    """Return a house with these tables."""
    tables = (TABLE.format(name=n, game=g, mode=mode, timing=timing) for n, g in games.items())
    return HOUSE + "".join(tables)


class House:
    """A server in a process of its own, which can be killed and started again at its place."""

    def __init__(self, folder: Path, toml: str = "") -> None:
        self.folder = folder
        (folder / "house.toml").write_text(toml or house_toml())
        self._clients: dict[str, httpx.Client] = {}
        self._keys = count(1)
        self.port = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.screens.serving", str(self.folder), str(self.port)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        for line in self._process.stdout:
            if "listens at" in line:
                self.port = int(line.rpartition(":")[2].strip().rstrip("/"))
                return
        raise AssertionError(f"the house ended with {self._process.wait()}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it at once, as a cut of its power would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)
        for client in self._clients.values():
            client.close()

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(60)
        if self._process.stdout:
            self._process.stdout.close()

    # --- over its API -------------------------------------------------------------------------

    def as_(self, who: str) -> httpx.Client:
        """Return a client that has signed in as somebody."""
        if who not in self._clients:
            client = httpx.Client(base_url=self.url, headers={"Origin": self.url}, timeout=30)
            client.post("/api/session", json={"name": who, "password": PASSWORD}).raise_for_status()
            self._clients[who] = client
        return self._clients[who]

    def id(self, who: str) -> str:
        found: str = self.get("/api/session", who)["account"]
        return found

    def get(self, path: str, who: str = "supervisor") -> Any:
        response = self.as_(who).get(path)
        assert response.is_success, response.text
        return response.json()

    def send(self, who: str, table: str, command: str, **fields: Any) -> Any:
        """Send a command to a table as somebody; it has to be accepted."""
        response = self.try_to(who, table, command, **fields)
        assert response.is_success, f"{command}: {response.text}"
        return response.json()

    def try_to(self, who: str, table: str, command: str, **fields: Any) -> httpx.Response:
        return self.as_(who).post(
            f"/api/tables/{table}/commands",
            json={"type": command, **fields},
            headers={"Idempotency-Key": f"test-{who}-{next(self._keys)}"},
        )

    def open_table(self, table: str) -> None:
        """Pass the checks that a table needs before it is played, where there are any left."""
        for check in self.get(f"/api/tables/{table}")["checks_missing"]:
            self.send("supervisor", table, "PassCheck", check=check)

    def seat(self, table: str, who: str = "player", amount: int = 100_000) -> str:
        """Have a player buy in from his account; returns his id."""
        player = self.id(who)
        self.send(who, table, "BuyIn", player=player, amount=amount, source="account")
        return player

    def play_out(self, table: str, dice: tuple[int, int, int]) -> None:
        """Play a Singapore round from the close of betting to its end, as its dealer would."""
        acts: list[tuple[str, dict[str, Any]]] = [
            ("CloseBetting", {}),
            ("Tumble", {"times": 3}),
            ("Uncover", {}),
            ("CallResult", {"dice": dice}),
            *(("PressKey", {"key": face}) for face in dice),
            ("PressEnter", {}),
            ("Illuminate", {}),
            ("CollectLosers", {}),
            ("PayWinners", {}),
        ]
        for command, fields in acts:
            self.send("dealer", table, command, **fields)

    def result_of(self, table: str, number: int) -> tuple[int, ...]:
        """Return the dice of a round from the results, once they hold it."""
        path = f"/api/tables/{table}/results"
        lines = self.wait_for(path, lambda lines: any(line["round"] == number for line in lines))
        return next(tuple(line["dice"]) for line in reversed(lines) if line["round"] == number)

    def wait_for(self, path: str, holds: Callable[[Any], bool], who: str = "supervisor") -> Any:
        """Read a report until it holds what has just happened, and return it."""
        deadline = time.monotonic() + SLOWEST_READ_SECONDS
        while not holds(found := self.get(path, who)):
            assert time.monotonic() < deadline, f"{path} still is {found}"
        return found
