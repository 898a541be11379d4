"""A house with its application, an account in every role, and clients that send requests to it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.identity.identity_cluster import PASSWORD
from tests.log.postgres_server import quick_folder
from threedice import load
from threedice.api.app import make_app
from threedice.api.config import HouseConfig, HousePolicies, TableConfig, TableLimitsConfig
from threedice.api.context import ServerContext
from threedice.api.http.metrics import ServerMetrics
from threedice.api.live.hub import Hub
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.identity import ROLES, IdentityPolicy, open_identity
from threedice.identity.passwords import TEST_COST
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from litestar import Litestar

    from threedice.identity import Account, IdentityService
    from threedice.log.store import Store

GAME = "sg-rws-tai-sai-v6/a"
ORIGIN = "http://house.test"

BET = {"type": "PlaceBet", "box": "big", "amount": 5}
SUPERVISOR = Actor(id="console", role="supervisor")
DEALER = Actor(id="console", role="dealer")
HOUR = 3600 * 1_000_000
EVERYBODY = (*ROLES, "other player")
"""Somebody in each role, and a second player."""


def described(commands_per_second: int = 100_000) -> HouseConfig:
    """A house of one table."""
    table = TableConfig(
        game=GAME, chips=[5], float=0, limits=TableLimitsConfig(minimum=5, maximum=100)
    )
    return HouseConfig(
        name="Test house",
        currency="SGD",
        time_zone="Asia/Singapore",
        policies=HousePolicies(commands_per_second=commands_per_second),
        tables={"1": table},
    )


@dataclass
class Setting:
    """A house in service, everybody's account, and how to speak to it as one of them."""

    context: ServerContext
    app: Litestar
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    keys: Any = field(default_factory=lambda: count(1))

    @property
    def people(self) -> IdentityService:
        return self.context.identity

    def id(self, who: str) -> str:
        return self.accounts[who].id

    def client(self, who: str = "", **headers: str) -> httpx.AsyncClient:
        """Return a browser, of somebody who has signed in or of nobody."""
        said = {"Origin": ORIGIN, **headers}
        if who:
            if who not in self.tokens:
                signed_in = self.people.authentication.sign_in(self.accounts[who].name, PASSWORD)
                self.tokens[who] = signed_in.token
            said["Cookie"] = f"{self.context.cookie_name}={self.tokens[who]}"
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)  # type: ignore[arg-type]
        client = httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=said)
        self.clients.append(client)
        return client

    async def send(
        self, who: str, command: dict[str, Any], *, table: str = "1", key: str = ""
    ) -> httpx.Response:
        """Send a command as somebody, under a key of its own."""
        return await self.client(who).post(
            f"/api/tables/{table}/commands",
            json=command,
            headers={"Idempotency-Key": key or f"k{next(self.keys)}"},
        )

    async def bet(
        self, who: str, amount: int = 5, box: str = "big", key: str = ""
    ) -> httpx.Response:
        command = {"type": "PlaceBet", "player": self.id(who), "box": box, "amount": amount}
        return await self.send(who, command, key=key)

    def assign(self, who: str, table: str | None = "1", role: Any = "") -> None:
        """Have somebody work at a table from an hour ago for two hours."""
        now = self.people.context.clock()
        role = role or who
        self.people.assignments.add(self.id(who), table, role, starts=now - HOUR, until=now + HOUR)

    def add(self, who: str, *roles: str) -> Account:
        name = who.replace(" ", "-") + "-name"
        account = self.people.accounts.add(name, roles, password=PASSWORD).account
        self.accounts[who] = account
        return account


@asynccontextmanager
async def opened(
    *,
    policy: IdentityPolicy | None = None,
    store: Store | None = None,
    commands_per_second: int = 100_000,
    clock: Any = None,
    **settings: Any,
) -> AsyncIterator[Setting]:
    """Open a house with a table, an account in every role, and money in the players' accounts."""
    state = Path(tempfile.mkdtemp(prefix="threedice-web-", dir=quick_folder()))
    chosen = policy or IdentityPolicy(second_factor=False)
    clocks = {"clock": clock} if clock else {}
    with closing(
        open_identity("memory:", state=state, cost=TEST_COST, policy=chosen, **clocks)
    ) as people:
        async with House("memory:", store=store or MemoryStore(), state_dir=state) as house:
            context = ServerContext(
                house,
                people,
                described(commands_per_second),
                hub=Hub(house, ServerMetrics(house)),
                **{"origins": (ORIGIN,), "secure": False, **settings},
            )
            setting = Setting(context, make_app(context))
            for role in ROLES:
                setting.add(role, role)
            setting.add("other player", "player")
            yield setting
            for client in setting.clients:
                await client.aclose()
    shutil.rmtree(state)


async def seat(
    setting: Setting, *players: str, betting: bool = True, game_id: str = GAME, table: str = "1"
) -> None:
    """Open a table with players at it, who have 1000 each."""
    floor, game = setting.context.house.command_handler, load(game_id)
    limits = uniform_limits(game, 100 if game_id != GAME else 5, 10_000_000, 10_000_000)
    steps: list[Any] = [
        EstablishTable(by=SUPERVISOR, game=game_id),
        commands.OpenTable(
            by=SUPERVISOR, table=table, currency="SGD", mode="record", chips=[5, 25, 100],
            float_amount=10**9, limits=limits,
        ),
        *(commands.PassCheck(by=SUPERVISOR, check=check) for check in game.facts.opening),
    ]  # fmt: skip
    for who in players or ("player", "other player"):
        player = setting.id(who)
        steps.append(commands.BuyIn(by=DEALER, player=player, amount=1000, age_years=30))
    if betting:
        steps.append(commands.OpenBetting(by=DEALER))
    for number, step in enumerate(steps):
        await floor.handle(step, table=table, account="console", key=f"set-up-{table}-{number}")
