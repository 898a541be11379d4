"""Server context shared by all requests, and lookups of tables and accounts in it.

What every answer of a server is made from: the house, its people, and how it is reached.

Which tables there are, without taking into memory what is only guessed at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from threedice.api.auth.authentication import AssignmentCache
from threedice.api.http.limits import CommandRateLimits, ConcurrencyLimiter, run_in_thread
from threedice.errors import InvariantBroken, UnknownName
from threedice.house.stream_state import account_stream, table_stream

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from litestar.connection import ASGIConnection

    from threedice.account import PlayerAccount
    from threedice.api.config import HouseConfig
    from threedice.api.live.hub import Hub
    from threedice.house.house import House
    from threedice.house.stream_state import HouseTable
    from threedice.identity import IdentityService
    from threedice.rulebook import Game


SECURE_COOKIE: Final = "__Host-threedice"
"""The session over TLS: browsers take it from this very host only, and send it nowhere else."""


PLAIN_COOKIE: Final = "threedice"
"""The session on a loopback address without TLS, where not every client keeps the other."""


MAX_CONCURRENT_SLOW: Final = 2
"""How many passwords are hashed, and how many long histories read, at the same time."""


class CommandMetrics(Protocol):
    """Counts what becomes of commands."""

    def count_accepted(self, kind: str, seconds: float) -> None:
        """Count a command that was accepted, and how long it took."""

    def count_refused(self, code: str) -> None:
        """Count what was refused, by the code of its problem."""


class NoCommandMetrics:
    """Counts nothing."""

    def count_accepted(self, kind: str, seconds: float) -> None:
        """Count nothing."""

    def count_refused(self, code: str) -> None:
        """Count nothing."""


@dataclass(slots=True)
class ServerContext:
    """A server of a house.

    `origins` are where its screens are served from, such as `https://pit.example`; nothing that
    comes from another is believed. `secure` says that browsers reach it over TLS. `behind_proxy`
    says that a proxy of ours adds the caller's address to `X-Forwarded-For`.
    """

    house: House
    identity: IdentityService
    config: HouseConfig
    origins: tuple[str, ...]
    secure: bool = True
    behind_proxy: bool = False
    metrics: CommandMetrics = field(default_factory=NoCommandMetrics)
    hub: Hub | None = None
    demo_sign_ins: Sequence[Any] = ()
    hosts: frozenset[str] = field(init=False)
    rate_limits: CommandRateLimits = field(init=False)
    assignments: AssignmentCache = field(init=False)
    hashing_limiter: ConcurrencyLimiter = field(
        default_factory=lambda: ConcurrencyLimiter(MAX_CONCURRENT_SLOW)
    )
    history_limiter: ConcurrencyLimiter = field(
        default_factory=lambda: ConcurrencyLimiter(MAX_CONCURRENT_SLOW)
    )
    verification_limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(1))
    commands_in_flight: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)
    table_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.origins:
            raise ValueError("a server has to know the origins that it is reached under")
        self.origins = tuple(origin.lower().rstrip("/") for origin in self.origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)
        self.rate_limits = CommandRateLimits(self.config.policies.commands_per_second)
        self.assignments = AssignmentCache(self.identity)

    @property
    def live_hub(self) -> Hub:
        """The hub of a server that accepts live sockets."""
        if self.hub is None:
            raise InvariantBroken("this server was started without a hub for live sockets")
        return self.hub

    @property
    def cookie_name(self) -> str:
        """The name of the session's cookie."""
        return SECURE_COOKIE if self.secure else PLAIN_COOKIE


def server_context(connection: ASGIConnection[Any, Any, Any, Any]) -> ServerContext:
    """Return the server that a request or a socket came to."""
    context: ServerContext = connection.app.state.context
    return context


async def list_table_ids(context: ServerContext) -> list[str]:
    """Return the ids of all tables."""
    streams = await run_in_thread(context.house.command_handler.store.streams)
    tables = [name.partition("/")[2] for name in streams if name.startswith("table/")]
    context.table_ids.update(tables)
    return tables


async def require_table(context: ServerContext, table: str) -> None:
    """Say that there is no such table, if there is none."""
    if table in context.table_ids:
        return
    head = await run_in_thread(context.house.command_handler.store.head, table_stream(table))
    if not head.version:
        raise UnknownName("table", table, sorted(context.table_ids))
    context.table_ids.add(table)


async def require_table_and_game(context: ServerContext, table: str) -> tuple[HouseTable, Game]:
    """Return a table as it is durably, and the game that it is set up for."""
    await require_table(context, table)
    house_table = await context.house.command_handler.table(table)
    game = context.house.command_handler.game(house_table)
    if game is None:
        raise UnknownName("table", table, sorted(context.table_ids))
    return house_table, game


async def require_account(context: ServerContext, player: str) -> PlayerAccount:
    """Return a player's account with the house, where he has one."""
    head = await run_in_thread(context.house.command_handler.store.head, account_stream(player))
    if not head.version:
        raise UnknownName("account of player", player, [])
    return await context.house.command_handler.account(player)
