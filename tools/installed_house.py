"""Run a house from an installed package as a stranger would: `python installed_house.py`.

Everything goes through the command `threedice` of the same environment, HTTP and a WebSocket. Only
the standard library is used, and `websockets`, which the extra `house` brings; one-time codes are
computed here, as an authenticator app does (RFC 6238).

A new house is served on SQLite. Its first administrator and a shift manager enrol second factors; a
player's bets are placed, dealt and settled; the house is backed up, removed and restored; everybody
signs in again and finds the same money.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
import shutil
import struct
import subprocess
import sysconfig
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

COMMAND: Final = str(Path(sysconfig.get_path("scripts")) / "threedice")
HOUSE: Final = """
name = "The corner house"
currency = "SGD"
time_zone = "Asia/Singapore"
[policies]
shortest_betting_seconds = 1
[tables.machine-1]
game = "macau-sic-bo/main"
chips = [100, 500, 2500]
float = 10_000_000
limits = { minimum = 100, maximum = 50000 }
dealt_by_house = { betting_seconds = 5, closing_seconds = 1, showing_seconds = 1 }
"""
TABLE: Final = "/api/tables/machine-1"
TIMEOUT_SECONDS: Final = 120
CODE_SECONDS: Final = 30
NEW_PASSWORD: Final = "an uncommon sentence about {} and dice"
DEPOSIT: Final = 50_000
STACK: Final = 10_000
STAKES: Final = {"big": 500, "small": 300}
TOTALS: Final = {"big": range(11, 18), "small": range(4, 11)}


class Failed(Exception):
    """The installed package did something other than the documentation says."""


def expect(actual: object, expected: object, subject: str) -> None:
    """Raise `Failed` unless two values are equal."""
    if actual != expected:
        raise Failed(f"{subject}: {actual!r} instead of {expected!r}")


# --- the command ---------------------------------------------------------------------------------


@dataclass
class Installation:
    """The command `threedice`, with folders of its own for data and configuration."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables of its processes."""
        own = {name: str(self.folder / "user") for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return inherited | own | {"THREEDICE_DATABASE": f"sqlite:///{self.folder}/house.sqlite"}

    def run(self, *words: str) -> str:
        """Run a command to its end, and return its output."""
        done = subprocess.run(
            [COMMAND, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS,
        )  # fmt: skip
        expect(done.returncode, 0, f"threedice {' '.join(words)}\n{done.stdout}{done.stderr}\nexit")
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[tuple[int, str]]:
        """Serve the house; yield its port and what it printed before it listened."""
        process = subprocess.Popen(
            [COMMAND, "serve", "--house", "house.toml", "--port", "0"],
            cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=(self.folder / "journal").open("w"),
        )  # fmt: skip
        try:
            yield self._wait_until_listening(process)
            process.terminate()
            output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
            expect(process.returncode, 0, f"{output}{self.journal}\nexit code of the server")
            expect("error" in self.journal, False, f"{self.journal}\nerrors in the journal")
        finally:
            process.kill()
            process.wait()

    @property
    def journal(self) -> str:
        """Return the journal of the last server."""
        return (self.folder / "journal").read_text()

    def _wait_until_listening(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        printed = ""
        for line in process.stdout or ():
            printed += line
            if " listens at " in line:
                return int(line.rpartition(":")[2].rstrip("/\n")), printed
        raise Failed(f"the server did not start: {printed}{self.journal}")


def initial_password(printed: str) -> str:
    """Return the password that is printed on a line of its own."""
    found = re.search(r"shown only once.*:\n\s*(\S+)\n", printed)
    if not found:
        raise Failed(f"no password in {printed!r}")
    return found[1]


# --- people --------------------------------------------------------------------------------------


def one_time_code(secret: str, step: int) -> str:
    """Compute the code of RFC 6238 with six digits.

    >>> one_time_code("JBSWY3DPEHPK3PXP", 1)
    '996554'
    """
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", step), "sha1")
    (number,) = struct.unpack_from(">I", digest, digest[-1] & 0xF)
    return f"{(number & 0x7FFFFFFF) % 10**6:06}"


@dataclass
class Person:
    """A person at a browser: their cookie, password and authenticator."""

    name: str
    password: str
    port: int = 0
    cookie: str = ""
    secret: str = ""
    last_step: int = 0
    view: dict[str, Any] = field(default_factory=dict)

    def request(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Send a request, keep the cookie of the response, and return its JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        headers = {
            "Origin": f"http://127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Idempotency-Key": uuid4().hex,
            "Cookie": self.cookie,
        }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        expect(response.status, status, f"{self.name}: {method} {path}\n{text}\nstatus")
        for cookie in response.headers.get_all("Set-Cookie") or ():
            if cookie.startswith("threedice="):
                self.cookie = cookie.partition(";")[0]
        return json.loads(text) if text else None

    def sign_in(self, port: int) -> None:
        """Sign in; a new person chooses a password, and enrols a second factor if one is needed."""
        self.port, self.cookie = port, ""
        credentials = {"name": self.name, "password": self.password}
        if self.secret:
            self.request("POST", "/api/session", credentials, status=401)
            credentials["code"] = self.next_code()
        self.view = self.request("POST", "/api/session", credentials)
        if self.view["standing"] == "new-password":
            chosen = NEW_PASSWORD.format(self.name)
            form = {"old": self.password, "new": chosen}
            self.view, self.password = self.request("PUT", "/api/session/password", form), chosen
        if self.view["standing"] == "enrolment":
            self._enrol()
            self.sign_in(port)
        expect(self.view["standing"], "open", f"session of {self.name}")

    def _enrol(self) -> None:
        enrolment = self.request("POST", "/api/session/codes", {})
        self.secret = enrolment["secret"]
        expect(self.secret in enrolment["uri"], True, "secret in the URI of the QR code")
        confirmed = self.request("PUT", "/api/session/codes", {"code": self.next_code()})
        expect(len(confirmed["recovery_codes"]), 10, "recovery codes")
        expect(self.request("GET", "/api/session")["standing"], "open", "enrolled session")
        self.request("DELETE", "/api/session", status=204)

    def next_code(self) -> str:
        """Return the earliest code that is still accepted: each one is, once, for three steps."""
        now = int(time.time()) // CODE_SECONDS
        self.last_step = max(self.last_step + 1, now - 1)
        return one_time_code(self.secret, self.last_step)


# --- the walk ------------------------------------------------------------------------------------


def play_a_round(player: Person) -> int:
    """Buy chips, bet on big and small when betting opens, and return the stack after the round."""
    commands, who = f"{TABLE}/commands", player.view["account"]
    bought = {"type": "BuyIn", "player": who, "amount": STACK, "source": "account"}
    player.request("POST", commands, bought)
    with closing(follow_table(player)) as events:
        wait_for(events, "BettingOpened")
        for box, amount in STAKES.items():
            bet = {"type": "PlaceBet", "player": who, "box": box, "amount": amount}
            player.request("POST", commands, bet)
        dice = wait_for(events, "ResultCalled")["dice"]
        wait_for(events, "WinnersPaid")
    stack = STACK + sum(expected_net(box, stake, dice) for box, stake in STAKES.items())
    expect(player.request("GET", TABLE)["seats"][who]["stack"], stack, f"stack after {dice}")
    return stack


def follow_table(player: Person) -> Generator[dict[str, Any], None, None]:
    """Yield the events of the table from its next round on, as the player sees them."""
    address, origin = f"127.0.0.1:{player.port}", f"http://127.0.0.1:{player.port}"
    headers = {"Cookie": player.cookie, "Origin": origin}
    with connect(f"ws://{address}{TABLE}/live", additional_headers=headers) as socket:
        hello = json.loads(socket.recv(timeout=TIMEOUT_SECONDS))
        expect(hello["type"], "hello", "first message of the table")
        while True:
            message = json.loads(socket.recv(timeout=TIMEOUT_SECONDS))
            yield from (each["event"] for each in message.get("events", ()) if each["event"])


def wait_for(events: Iterator[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the next event of a kind."""
    return next(each for each in events if each["type"] == kind)


def expected_net(box: str, stake: int, dice: list[int]) -> int:
    """Return what a bet on big or small wins or loses at even money; a triple loses both."""
    return stake if sum(dice) in TOTALS[box] and len(set(dice)) > 1 else -stake


def balances(manager: Person, player: Person) -> tuple[int, int]:
    """Return a player's money in the account and at the table."""
    who = player.view["account"]
    account = manager.request("GET", f"/api/accounts/{who}")
    return account["balance"], player.request("GET", TABLE)["seats"][who]["stack"]


def run_house(installation: Installation) -> None:
    """Serve a new house, play, back it up, remove it, restore it, and look at the money again."""
    folder = installation.folder
    (folder / "house.toml").write_text(HOUSE)
    passphrase = folder / "passphrase.txt"
    passphrase.touch(mode=0o600)  # which `backup` requires
    passphrase.write_text("five uncommon words are enough\n")
    files = ("house.backup", "--passphrase-file", "passphrase.txt")
    with installation.serving() as (port, printed):
        administrator = Person("administrator", initial_password(printed))
        manager = add_person(installation, "hal", "shift-manager", "--born", "1990-01-31")
        player = add_person(installation, "ann", "player")
        for each in (administrator, manager, player):
            each.sign_in(port)
        expect([bool(each.secret) for each in (administrator, manager, player)],
               [True, True, False], "second factors")  # fmt: skip
        who = player.view["account"]
        cage = f"/api/accounts/{who}/commands"
        manager.request("POST", cage, {"type": "OpenAccount", "player": who, "currency": "SGD"})
        manager.request("POST", cage, {"type": "Deposit", "player": who, "amount": DEPOSIT})
        stack = play_a_round(player)
        before = balances(manager, player)
        expect(before, (DEPOSIT - STACK, stack), "account and stack")
        installation.run("backup", *files)
    for path in folder.glob("house.sqlite*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "house.toml").rename(folder / "old-house.toml")
    installation.run("restore", *files, "--house", "house.toml")
    with installation.serving() as (port, _):
        for each in (administrator, manager, player):
            each.sign_in(port)
        expect(balances(manager, player), before, "account and stack after the restore")
    verified = installation.run("log", "verify")
    expect("no findings" in verified, True, f"{verified}\nverified")


def add_person(installation: Installation, name: str, role: str, *options: str) -> Person:
    """Add an account from the command line."""
    added = installation.run("users", "add", name, "--role", role, *options)
    return Person(name, initial_password(added))


def main() -> None:
    """Run the house in an empty folder, with the installed package only."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        run_house(Installation(Path(name)))
    print("sign-in with second factors, a round, backup and restore: as documented")


if __name__ == "__main__":
    main()
