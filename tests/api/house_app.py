"""A house in memory behind its web application, with an account in every role."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.house.house_driver import People
from tests.identity.identity_cluster import PASSWORD, add_account
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
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from litestar import Litestar

    from threedice.house import CommandHandler
    from threedice.house.events import Timing
    from threedice.identity import Account, IdentityService
    from threedice.log.store import Store

GAME = "sg-rws-tai-sai-v6/a"
ORIGIN = "http://house.test"

BET = {"type": "PlaceBet", "box": "big", "amount": 5}
SUPERVISOR = Actor(id="console", role="supervisor")
DEALER = Actor(id="console", role="dealer")
HOUR = 3600 * 1_000_000
ACCOUNT_NAMES = (*ROLES, "other player")
"""An account in each role, named after it, and a second player."""


def problem_code(response: httpx.Response) -> str:
    """Return the code of a problem response, or an empty string for any other response."""
    content_type = response.headers.get("content-type", "")
    return str(response.json()["code"]) if content_type == "application/problem+json" else ""


@dataclass
class HouseApp:
    """A house, its web application, its accounts, and HTTP clients for each of them."""

    context: ServerContext
    app: Litestar
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    first_passwords: dict[str, str] = field(default_factory=dict)
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    keys: Any = field(default_factory=lambda: count(1))

    @property
    def handler(self) -> CommandHandler:
        return self.context.house.command_handler

    @property
    def store(self) -> Store:
        return self.handler.store

    @property
    def identity(self) -> IdentityService:
        return self.context.identity

    def id(self, who: str) -> str:
        return self.accounts[who].id

    def client(self, who: str = "", **headers: str) -> httpx.AsyncClient:
        """Return a client with the cookie of an account, or an anonymous one."""
        headers = {"Origin": ORIGIN, **headers}
        if who:
            if who not in self.tokens:
                signed_in = self.identity.authentication.sign_in(self.accounts[who].name, PASSWORD)
                self.tokens[who] = signed_in.token
            headers["Cookie"] = f"{self.context.cookie_name}={self.tokens[who]}"
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)  # type: ignore[arg-type]
        client = httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers)
        self.clients.append(client)
        return client

    async def request(
        self, who: str, command: dict[str, Any], *, place: str = "tables/1"
    ) -> httpx.Response:
        """Request the approval of a command by a second person."""
        body = {"command": command, "reason": "as agreed"}
        return await self.client(who).post(f"/api/{place}/requests", json=body)

    async def approve(self, who: str, request: httpx.Response) -> httpx.Response:
        """Approve a request that was opened."""
        assert request.status_code == 201, request.text
        path = f"/api/requests/{request.json()['id']}/approve"
        return await self.client(who).post(path, json={})

    async def get(self, who: str, path: str) -> Any:
        """Return the JSON of a successful GET request."""
        response = await self.client(who).get(path)
        assert response.status_code == 200, response.text
        return response.json()

    async def send(
        self, who: str, command: dict[str, Any], *, table: str = "1", key: str = ""
    ) -> httpx.Response:
        """Send a command to a table, by default under a new idempotency key."""
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

    async def finish_round(self) -> None:
        """Play the current round to its end, with the result 1 2 3."""
        await People(self.handler).play("dice 1 2 3")

    def assign(self, who: str, table: str | None = "1", role: Any = "") -> None:
        """Assign staff to a table from an hour ago until in an hour."""
        now = self.identity.context.clock()
        role = role or who
        self.identity.assignments.add(
            self.id(who), table, role, starts=now - HOUR, until=now + HOUR
        )

    def add_account(self, who: str, *roles: str) -> Account:
        name = who.replace(" ", "-") + "-name"
        account = add_account(self.identity, name, *roles)
        self.accounts[who] = account
        return account


@asynccontextmanager
async def open_house_app(
    *,
    policy: IdentityPolicy | None = None,
    store: Store | None = None,
    commands_per_second: int = 100_000,
    queries_per_second: int = 100_000,
    clock: Any = None,
    **settings: Any,
) -> AsyncIterator[HouseApp]:
    """Open a house with an account in every role; its table is closed."""
    state = Path(tempfile.mkdtemp(prefix="threedice-web-", dir=quick_folder()))
    chosen = policy or IdentityPolicy(second_factor=False)
    clocks = {"clock": clock} if clock else {}
    with closing(
        open_identity("memory:", state=state, cost=TEST_COST, policy=chosen, **clocks)
    ) as identity:
        async with House("memory:", store=store or MemoryStore(), state_dir=state) as house:
            context = ServerContext(
                house,
                identity,
                house_config(commands_per_second, queries_per_second),
                hub=Hub(house, ServerMetrics(house)),
                **{"origins": (ORIGIN,), "secure": False, **settings},
            )
            with reuse_app(context) as (context_of_app, app):
                house_app = HouseApp(context_of_app, app)
                for role in ROLES:
                    house_app.add_account(role, role)
                house_app.add_account("other player", "player")
                yield house_app
                for client in house_app.clients:
                    await client.aclose()
    shutil.rmtree(state)


_idle_apps: list[tuple[ServerContext, Litestar]] = []


@contextmanager
def reuse_app(context: ServerContext) -> Iterator[tuple[ServerContext, Litestar]]:
    """Give an idle application the contents of a new context, or build one if none is idle.

    Building an application takes a tenth of a second, longer than most tests.
    """
    if context.secure:  # an application reads this only once
        yield context, make_app(context)
        return
    kept, app = _idle_apps.pop() if _idle_apps else (context, make_app(context))
    for each in fields(context):
        setattr(kept, each.name, getattr(context, each.name))
    yield kept, app
    _idle_apps.append((kept, app))


def house_config(commands_per_second: int, queries_per_second: int) -> HouseConfig:
    """Describe a house with one table."""
    table = TableConfig(
        game=GAME, chips=[5], float=0, limits=TableLimitsConfig(minimum=5, maximum=100)
    )
    return HouseConfig(
        name="Test house",
        currency="SGD",
        time_zone="Asia/Singapore",
        policies=HousePolicies(
            commands_per_second=commands_per_second, queries_per_second=queries_per_second
        ),
        tables={"1": table},
    )


async def seat_players(
    house: HouseApp,
    *players: str,
    betting: bool = True,
    game_id: str = GAME,
    table: str = "1",
    timing: Timing | None = None,
    readings: dict[str, str] | None = None,
) -> None:
    """Open a table and have players buy in for 1000 each; with a timing, the house deals it."""
    game = load(game_id, readings)
    limits = uniform_limits(game, 100 if game_id != GAME else 5, 10_000_000, 10_000_000)
    steps: list[Any] = [
        EstablishTable(
            by=SUPERVISOR, game=game_id, readings=readings or {}, dealt_by_house=timing
        ),
        commands.OpenTable(
            by=SUPERVISOR, table=table, currency="SGD", mode="record", chips=[5, 25, 100],
            float_amount=10**9, limits=limits,
        ),
        *(commands.PassCheck(by=SUPERVISOR, check=check) for check in game.facts.opening),
    ]  # fmt: skip
    for who in players or ("player", "other player"):
        player = house.id(who)
        steps.append(commands.BuyIn(by=DEALER, player=player, amount=1000, age_years=30))
    if betting and timing is None:
        steps.append(commands.OpenBetting(by=DEALER))
    for number, step in enumerate(steps):
        await house.handler.handle(
            step, table=table, account="console", key=f"set-up-{table}-{number}"
        )
