"""A server in its own process, and a client of its API."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import httpx

from tests.api.serve_process import SLOWEST_START
from tests.screens.house_server import PASSWORD
from tests.waiting import TIMEOUT_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

ROOT = Path(__file__).parent.parent.parent
TABLE = """
[tables.{name}]
game = "{game}"
mode = "{mode}"
chips = [100, 500, 2500, 10000]
float = 1_000_000_000
limits = {{ minimum = 100, maximum = 100000, differential = 1000000 }}
"""
HOUSE = """
name = "The test house"
currency = "SGD"
time_zone = "Asia/Singapore"
[policies]
totp_for_staff = false
commands_per_second = 10000
queries_per_second = 10000
shortest_betting_seconds = 1
idle_minutes = 600
dealer_locks_after_minutes = 600
"""
"""No session ends or locks while the tests run, however slow the machine is."""

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
    "chuck": "chuck-a-luck/casino",
    "chuck-wide": "chuck-a-luck/wide",
    "bau-cua": "bau-cua/board",
    "bau-cua-2": "bau-cua/pairs",
    "yee-hah-hi": "yee-hah-hi/main",
}
"""A table of every layout, by name."""

Roll = tuple[int, int, int]
STEP_COMMANDS = {
    "open-betting": "OpenBetting",
    "close-betting": "CloseBetting",
    "throw": "Throw",
    "uncover": "Uncover",
    "illuminate": "Illuminate",
    "collect-losers": "CollectLosers",
    "pay-winners": "PayWinners",
}
"""Steps whose command has no fields."""


def house_toml(games: dict[str, str] = GAMES, mode: str = "record") -> str:
    """Return the configuration of a house with these tables."""
    return HOUSE + "".join(table_toml(name, game, mode) for name, game in games.items())


def table_toml(name: str, game: str, mode: str = "record") -> str:
    return TABLE.format(name=name, game=game, mode=mode)


def steps_done(view: Any, procedure: Any) -> list[str]:
    """Return the steps of the round that are done.

    Between two throws of a shooter's series they are those that the next throw does not repeat.
    """
    if view["round"]:
        done: list[str] = view["round"]["done"]
        return done
    if not (view["shooter"] and view["shooter"]["stake"]):
        return []
    return [s for s in procedure["order"] if procedure["steps"][s].get("per") == "shooter"]


class House:
    """A server in its own process, which can be killed and restarted on the same port."""

    def __init__(self, folder: Path, toml: str = "") -> None:
        self.folder = folder
        (folder / "house.toml").write_text(toml or house_toml())
        self._clients: dict[str, httpx.Client] = {}
        self._idempotency_keys = count(1)
        self.port = 0
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.screens.house_server", str(self.folder), str(self.port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        limit = Timer(SLOWEST_START, self._process.kill)
        limit.start()
        try:
            self.port = self._read_port()
        finally:
            limit.cancel()

    def _read_port(self) -> int:
        """Return the port on which the server listens, once it does."""
        assert self._process.stdout
        for line in self._process.stdout:
            if "listens at" in line:
                return int(line.rpartition(":")[2].strip().rstrip("/"))
        raise AssertionError(f"the server exited with {self._process.wait()}")

    def advance_clock(self, seconds: int) -> None:
        """Move the clock of the server forward, so that the dealer of an automatic table acts."""
        assert self._process.stdin
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)
        for client in self._clients.values():
            client.close()

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(60)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()

    # --- API ------------------------------------------------------------------------------------

    def client(self, user: str) -> httpx.Client:
        """Return a client that has signed in as a user."""
        if user not in self._clients:
            client = httpx.Client(
                base_url=self.url, headers={"Origin": self.url}, timeout=TIMEOUT_SECONDS
            )
            credentials = {"name": user, "password": PASSWORD}
            client.post("/api/session", json=credentials).raise_for_status()
            self._clients[user] = client
        return self._clients[user]

    def account_id(self, user: str) -> str:
        found: str = self.get("/api/session", user)["account"]
        return found

    def get(self, path: str, user: str = "supervisor") -> Any:
        response = self.client(user).get(path)
        assert response.is_success, response.text
        return response.json()

    def get_until(
        self, path: str, condition: Callable[[Any], bool], user: str = "supervisor"
    ) -> Any:
        """Read a projection until it meets a condition, and return it."""
        found: list[Any] = []

        def is_met() -> bool:
            found[:] = [self.get(path, user)]
            return condition(found[0])

        wait_until(is_met, lambda: f"{path} still is {found[0]}")
        return found[0]

    def round_result(self, table: str, number: int) -> tuple[int, ...]:
        """Return the dice of a round once the results list it."""
        path = f"/api/tables/{table}/results"
        lines = self.get_until(path, lambda lines: any(line["round"] == number for line in lines))
        return next(tuple(line["dice"]) for line in reversed(lines) if line["round"] == number)

    def send(self, user: str, table: str, command: str, **fields: Any) -> None:
        """Send a command to a table; it must be accepted."""
        response = self.client(user).post(
            f"/api/tables/{table}/commands",
            json={"type": command, **fields},
            headers={"Idempotency-Key": f"test-{user}-{next(self._idempotency_keys)}"},
        )
        assert response.is_success, f"{command}: {response.text}"

    def pass_checks(self, table: str) -> None:
        """Pass the checks that a table still needs before its first round."""
        for check in self.get(f"/api/tables/{table}")["checks_missing"]:
            self.send("supervisor", table, "PassCheck", check=check)

    def buy_in(self, table: str, user: str = "player", amount: int = 100_000) -> str:
        """Buy chips for a player from their account, and return its id."""
        player = self.account_id(user)
        self.send(user, table, "BuyIn", player=player, amount=amount, source="account")
        return player

    def deal(self, table: str, roll: Roll, *, until: str = "", shooter: str = "player") -> None:
        """Take the remaining steps of the round with a given roll, or those before a step."""
        procedure = self.get(f"/api/tables/{table}/game")["conduct"]["procedure"]
        done = steps_done(self.get(f"/api/tables/{table}"), procedure)
        for step in procedure["order"]:
            if step == until:
                return
            if step not in done:
                self.take_step(table, step, roll, shooter)

    def take_step(self, table: str, step: str, roll: Roll, shooter: str = "player") -> None:
        match step:
            case "offer-dice":
                self.send("dealer", table, "OfferDice", player=self.account_id(shooter))
            case "choose-dice":
                self.send(shooter, table, "ChooseDice", dice=[1, 2, 3])
            case "throw" if self.get(f"/api/tables/{table}")["shooter"]:
                self.send(shooter, table, "Throw")
            case "tumble":
                self.send("dealer", table, "Tumble", times=3)
            case "call-result":
                self.send("dealer", table, "CallResult", dice=roll)
            case "enter-result":
                for face in roll:
                    self.send("dealer", table, "PressKey", key=face)
                self.send("dealer", table, "PressEnter")
            case _:
                self.send("dealer", table, STEP_COMMANDS[step])
