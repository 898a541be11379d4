"""A small house with played rounds: its creation, the observations of it, and further play.

`write_house` runs once, when the recording is made. `observe` and `play_on` run on a house restored
from the recording: the recorder stores their results, the tests compare with them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pyotp

from tests.contract.site import User, run_cli, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

PASSWORD = "a long and quiet river"
STAFF = {
    "dora": "dealer",
    "sam": "supervisor",
    "max": "pit-manager",
    "hana": "shift-manager",
    "aude": "auditor",
    "adam": "administrator",
}
PLAYERS = ("ann", "bob")
FAR = "2099-12-31T00:00:00+00:00"
HOUSE_FILE = """\
name = "The old house"
currency = "SGD"
time_zone = "Asia/Singapore"
[policies]
commands_per_second = 10000
queries_per_second = 10000
shortest_betting_seconds = 1
[tables.pit-1]
game = "sg-rws-tai-sai-v6/a"
mode = "record"
chips = [5, 25, 100]
float = 1_000_000
limits = { minimum = 5, maximum = 10_000, differential = 10_000 }
[tables.pit-2]
game = "crown-and-anchor/main"
chips = [5, 25, 100]
float = 500_000
limits = { minimum = 5, maximum = 1_000 }
[tables.pit-3]
game = "macau-sic-bo/main"
chips = [5, 25, 100]
float = 500_000
limits = { minimum = 5, maximum = 1_000 }
dealt_by_house = { betting_seconds = 4.0, closing_seconds = 0.2, showing_seconds = 0.2 }
"""
TAI_SAI, CROWN, MACAU = "/api/tables/pit-1", "/api/tables/pit-2", "/api/tables/pit-3"


# --- writing it ---------------------------------------------------------------------------------


def write_house(database: str, data: Path, house_file: Path) -> dict[str, Any]:
    """Play in a new house; return its users' secrets and its first keys."""
    house_file.write_text(HOUSE_FILE, encoding="utf-8")
    for name, role in {**STAFF, **dict.fromkeys(PLAYERS, "player")}.items():
        words = ("users", "add", name, "--role", role, "--password-stdin")
        _succeed(data, *words, database=database, stdin=PASSWORD + "\n")
    for name in ("dora", "sam"):
        shift = ("--role", STAFF[name], "--until", FAR)
        _succeed(data, "users", "assign", name, *shift, database=database)
    made = _succeed(data, "users", "token", "aude", "board", "--scope", "read", database=database)
    token = made.splitlines()[-1]
    with serving(database, data, house_file, "before") as site:
        crew = Crew.enrol(site)
        _open_accounts(crew)
        _play_automatic_table(crew)
        _play_first_rounds(crew)
        requests = _decide_requests(crew)
    keys = _succeed(data, "keys", "export", database=database)
    _succeed(data, "keys", "rotate", database=database)
    with serving(database, data, house_file, "rotated") as site:
        crew = Crew.sign_in(site, crew.secrets, wait_for_new_code=True)
        play_tai_sai(crew, {"ann": ("small", 50), "bob": ("total:10", 25)}, (1, 2, 4))
        _leave_rounds_open(crew)
        crew.post_open_request()
        key = crew.ann.last_key
    return {
        "users": crew.secrets, "token": token, "keys": keys, "key": key, "requests": requests
    }  # fmt: skip


def _succeed(data: Path, *words: str, database: str, stdin: str = "") -> str:
    done = run_cli(data, *words, "--database", database, stdin=stdin)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


class Crew:
    """Everybody in the house, signed in."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.users: dict[str, User] = {}
        self.secrets: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> User:
        return self.users[name]

    @classmethod
    def enrol(cls, site: Site) -> Crew:
        """Sign everybody in for the first time; the staff set up their codes."""
        crew = cls(site)
        for name in (*STAFF, *PLAYERS):
            user = crew.users[name] = site.user()
            user.sign_in(name, PASSWORD)
            crew.secrets[name] = {"id": user.id}
            if name in STAFF:
                secret = user.post("/api/session/codes", password=PASSWORD)["secret"]
                confirmed = user.put("/api/session/codes", code=pyotp.TOTP(secret).now())
                codes = confirmed["recovery_codes"]
                crew.secrets[name] |= {"secret": secret, "recovery_codes": codes}
        return crew

    @classmethod
    def sign_in(
        cls, site: Site, secrets: dict[str, dict[str, Any]], *, wait_for_new_code: bool = False
    ) -> Crew:
        """Sign everybody in with a password, and the staff with a code.

        A code is accepted once, so users who have just used one wait for the next.
        """
        crew = cls(site)
        crew.secrets = secrets
        if wait_for_new_code:
            time.sleep(30 - time.time() % 30 + 1)
        for name in (*STAFF, *PLAYERS):
            user, secret = site.user(), secrets[name].get("secret")
            user.sign_in(name, PASSWORD, pyotp.TOTP(secret).now() if secret else "")
            assert user.id == secrets[name]["id"]
            crew.users[name] = user
        return crew

    def request_and_approve(self, command: dict[str, Any], table: str = TAI_SAI) -> Any:
        """Send a request as the dealer and approve it as the supervisor."""
        request = self.dora.post(f"{table}/requests", command=command, reason="as agreed")
        return self.sam.post(f"/api/requests/{request['id']}/approve", note="agreed")

    def post_open_request(self) -> None:
        """Send a request that nobody decides."""
        command = {"type": "CorrectBet", "round": 1, "player": self.ann.id, "amount": 5}
        reason = {"reason": "paid short"}
        self.dora.post(f"{TAI_SAI}/requests", command=command | reason, reason="not decided")


def _open_accounts(crew: Crew) -> None:
    for name, born in (("ann", "1990-01-31"), ("bob", None)):
        player: User = crew.users[name]
        account = f"/api/accounts/{player.id}"
        crew.sam.command(account, "OpenAccount", currency="SGD")
        crew.sam.command(account, "Deposit", amount=5000)
        crew.sam.put(f"{account}/person", name=name.title(), born=born)
    crew.sam.command(f"/api/accounts/{crew.bob.id}", "Withdraw", amount=500)
    crew.ann.command(TAI_SAI, "BuyIn", player=crew.ann.id, amount=2000, source="account")
    for table in (TAI_SAI, CROWN, MACAU):
        crew.dora.command(table, "BuyIn", player=crew.bob.id, amount=1000, age_years=40)


def play_tai_sai(crew: Crew, bets: dict[str, tuple[str, int]], dice: tuple[int, int, int]) -> None:
    """Play a round of Tai Sai."""
    crew.dora.command(TAI_SAI, "OpenBetting")
    for name, (box, amount) in bets.items():
        player = crew.users[name]
        player.command(TAI_SAI, "PlaceBet", player=player.id, box=box, amount=amount)
    crew.dora.command(TAI_SAI, "CloseBetting")
    crew.dora.command(TAI_SAI, "Tumble", times=3)
    crew.dora.command(TAI_SAI, "Uncover")
    finish_tai_sai(crew, dice)


def finish_tai_sai(crew: Crew, dice: tuple[int, int, int]) -> None:
    """Call and settle a round of Tai Sai whose dice lie open."""
    crew.dora.command(TAI_SAI, "CallResult", dice=dice)
    for die in dice:
        crew.dora.command(TAI_SAI, "PressKey", key=die)
    for step in ("PressEnter", "Illuminate", "CollectLosers", "PayWinners"):
        crew.dora.command(TAI_SAI, step)


def play_crown(crew: Crew, amount: int, dice: tuple[int, int, int]) -> None:
    """Play a round of Crown and Anchor."""
    crew.dora.command(CROWN, "OpenBetting")
    box = crew.dora.get(f"{CROWN}/game")["boxes"][0]["id"]
    crew.bob.command(CROWN, "PlaceBet", player=crew.bob.id, box=box, amount=amount)
    crew.dora.command(CROWN, "CloseBetting")
    crew.dora.command(CROWN, "Throw")
    crew.dora.command(CROWN, "CallResult", dice=dice)
    crew.dora.command(CROWN, "CollectLosers")
    crew.dora.command(CROWN, "PayWinners")


def _play_first_rounds(crew: Crew) -> None:
    play_tai_sai(crew, {"ann": ("big", 100), "bob": ("domino:1-6", 25)}, (6, 1, 5))
    play_tai_sai(crew, {"ann": ("any-triple", 25), "bob": ("small", 50)}, (3, 3, 3))
    for roll in ((1, 1, 2), (4, 5, 6)):
        play_crown(crew, 50, roll)
    crew.sam.command(TAI_SAI, "FillFloat", amount=5000)
    crew.bob.command(CROWN, "CashOut", player=crew.bob.id, amount=100, to="account")


def _decide_requests(crew: Crew) -> list[str]:
    """Have requests approved, declined and withdrawn; return those that were not approved."""
    ids = []
    limits = crew.dora.get(TAI_SAI)["limits"]
    crew.request_and_approve({"type": "SetLimits", "limits": limits})
    correction = {"type": "CorrectBet", "round": 1, "player": crew.ann.id, "reason": "miscounted"}
    crew.request_and_approve(correction | {"amount": 10})
    for ending, who in (("decline", crew.sam), ("withdraw", crew.dora)):
        request = crew.dora.post(
            f"{TAI_SAI}/requests", command=correction | {"amount": 20}, reason="once more"
        )
        who.post(f"/api/requests/{request['id']}/{ending}")
        ids.append(request["id"])
    return ids


def _play_automatic_table(crew: Crew) -> None:
    """Have the house deal until a bet is settled, then close the table so that it deals no more."""
    box = crew.bob.get(f"{MACAU}/game")["boxes"][0]["id"]
    number = _wait_for_betting(crew)
    crew.bob.command(MACAU, "PlaceBet", player=crew.bob.id, box=box, amount=100)
    while _wait_for_betting(crew) == number:
        time.sleep(0.1)
    crew.max.command(MACAU, "CloseTable")


def _wait_for_betting(crew: Crew) -> int:
    """Return the number of a round that takes bets, once there is one."""
    while True:
        current = crew.bob.get(MACAU)["round"]
        if current and "open-betting" in current["done"] and "close-betting" not in current["done"]:
            number: int = current["number"]
            return number
        time.sleep(0.1)


def _leave_rounds_open(crew: Crew) -> None:
    """Leave a bet on dice that lie open, and another while betting is open."""
    crew.dora.command(TAI_SAI, "OpenBetting")
    crew.ann.command(TAI_SAI, "PlaceBet", player=crew.ann.id, box="big", amount=200)
    crew.bob.command(TAI_SAI, "PlaceBet", player=crew.bob.id, box="total:16", amount=25)
    crew.dora.command(TAI_SAI, "CloseBetting")
    crew.dora.command(TAI_SAI, "Tumble", times=3)
    crew.dora.command(TAI_SAI, "Uncover")
    crew.dora.command(CROWN, "OpenBetting")
    box = crew.dora.get(f"{CROWN}/game")["boxes"][0]["id"]
    crew.bob.command(CROWN, "PlaceBet", player=crew.bob.id, box=box, amount=75)


# --- looking at it ------------------------------------------------------------------------------


def observe(crew: Crew, given: dict[str, Any]) -> dict[str, Any]:
    """Return everybody's view of the house's history, except values that depend on the time."""
    questions = [
        *_QUESTIONS,
        ("ann", f"/api/commands/{given['key']}"),
        *(("dora", f"/api/requests/{each}") for each in given["requests"]),
        *(
            ("hana", f"/api/accounts/{crew.users[name].id}{part}")
            for name in PLAYERS
            for part in ("", "/statement", "/person")
        ),
    ]
    return {f"{who} {path}": crew.users[who].get(path) for who, path in questions}


_QUESTIONS = (
    ("dora", TAI_SAI),
    ("ann", TAI_SAI),
    ("dora", CROWN),
    ("dora", MACAU),
    ("ann", f"{TAI_SAI}/results"),
    ("bob", f"{CROWN}/results"),
    ("bob", f"{MACAU}/results"),
    ("dora", f"{TAI_SAI}/sheet"),
    ("hana", f"{TAI_SAI}/exposure"),
    ("hana", f"{TAI_SAI}/shift?since=0&until=4000000000000000"),
    ("aude", "/api/tokens"),
    ("adam", "/api/people"),
    ("adam", "/api/assignments"),
    ("adam", "/api/trail?most=20"),
)


# --- playing on ---------------------------------------------------------------------------------


def play_on(crew: Crew) -> dict[str, Any]:
    """Settle the remaining bets, play another round, and return stacks, floats and statements."""
    crew.request_and_approve({"type": "ResolveInterruption", "known": [6, 5, 5]})
    finish_tai_sai(crew, (6, 5, 5))
    crew.request_and_approve({"type": "ResolveInterruption", "known": []}, CROWN)
    play_crown(crew, 25, (1, 2, 3))
    crew.ann.command(TAI_SAI, "CashOut", player=crew.ann.id, amount=500, to="account")
    play_tai_sai(crew, {"ann": ("small", 50), "bob": ("big", 25)}, (6, 6, 2))
    _wait_for_statements(crew)
    return {
        "stacks": {
            table: {name: seat["stack"] for name, seat in crew.dora.get(table)["seats"].items()}
            for table in (TAI_SAI, CROWN)
        },
        "floats": {table: crew.dora.get(table)["float_amount"] for table in (TAI_SAI, CROWN)},
        "statements": {
            name: [
                [row["table"], row["what"], row["round"], row["amount"]]
                for row in crew.hana.get(f"/api/accounts/{crew.users[name].id}/statement")
            ]
            for name in PLAYERS
        },
        "balances": {
            name: crew.hana.get(f"/api/accounts/{crew.users[name].id}")["balance"]
            for name in PLAYERS
        },
    }


def _wait_for_statements(crew: Crew) -> None:
    """Wait until the statements include everything, which they do within seconds."""
    statement = f"/api/accounts/{crew.ann.id}/statement"
    deadline = time.monotonic() + 60
    while not (
        len(crew.ann.get(f"{TAI_SAI}/results")) == 5
        and len(crew.bob.get(f"{CROWN}/results")) == 4
        and any(not row["table"] and row["amount"] == 500 for row in crew.hana.get(statement))
    ):
        assert time.monotonic() < deadline, "the statements do not keep up"
