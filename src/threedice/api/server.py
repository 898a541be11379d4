"""Open a house, set up its configured tables, and serve it until a signal stops it."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from uvicorn.loops.auto import auto_loop_factory

from threedice.api.app import make_app
from threedice.api.config import configured_limits, configured_table
from threedice.api.context import ServerContext
from threedice.api.demo import check_database, create_accounts
from threedice.api.http import journal
from threedice.api.http.metrics import ServerMetrics
from threedice.api.listener import HouseServer, allowed_origins, bind_socket, uvicorn_config
from threedice.api.live.hub import Hub, run_monitor
from threedice.db.urls import find_sqlite_path
from threedice.errors import KeyReused, OperatingFailure, StoreFailed
from threedice.house.backup.contents import save_house_file
from threedice.house.house import House
from threedice.house.recovery import isolate_failures
from threedice.house.stream_state import table_stream
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.audit_trail import CONSOLE
from threedice.runtime import SYSTEM_RUNTIME
from threedice.table.commands import Actor
from threedice.version import build_id

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Container, Coroutine, Sequence
    from pathlib import Path

    from threedice.api.config import HouseConfig, HousePolicies, TableConfig
    from threedice.api.listener import ListenAddress
    from threedice.house.command_handler import CommandHandler
    from threedice.house.commands import EstablishTable
    from threedice.house.stream_state import HouseTable
    from threedice.identity import Argon2Cost, FirstPassword
    from threedice.rulebook import Game
    from threedice.runtime import Runtime

    Announce = Callable[[str], None]

CONSOLE_ACTOR: Final = Actor(id=CONSOLE, role="supervisor")
"""The sender of commands that the server itself executes."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server; `demo` adds sign-ins with shown passwords and automatic players."""

    database: str
    config: HouseConfig
    address: ListenAddress
    origins: Sequence[str] = ()
    demo: bool = False
    password_cost: Argon2Cost | None = None
    house_file: Path | None = None
    """The file of `config`, of which backups get a copy."""

    runtime: Runtime = SYSTEM_RUNTIME


async def serve(settings: ServerSettings, announce: Announce) -> None:
    """Serve a house until a signal stops it, then close everything in reverse order.

    The port is bound first, so that a server that cannot listen does not touch the database.
    """
    with bind_socket(settings.address) as listening_socket:
        async with AsyncExitStack() as exits:
            context = await open_house(settings, listening_socket, exits, announce)
            config = uvicorn_config(make_app(context), settings.address)
            url = settings.address.url(listening_socket.getsockname()[1])
            on_start = partial(_announce_start, settings, context, url, announce)
            server = HouseServer(config, on_start=on_start, on_stop=context.hub.close)
            await server.serve(sockets=[listening_socket])
            reason = context.house.command_handler.suspension_reason
        journal.write("stopped")
    if reason:
        raise StoreFailed(f"stopped while the house was suspended: {reason}")
    announce("stopped; all acknowledged commands are saved")


async def open_house(
    settings: ServerSettings,
    listening_socket: socket.socket,
    exits: AsyncExitStack,
    announce: Announce,
) -> ServerContext:
    """Open the house and its identity service, set up the tables, and start the monitor.

    Everything that needs closing is pushed onto `exits`.
    """
    house = await exits.enter_async_context(House(settings.database, runtime=settings.runtime))
    run_blocking = house.runtime.run_blocking
    identity = await run_blocking(
        open_identity,
        settings.database,
        state=house.state_dir,
        cost=settings.password_cost,
        policy=identity_policy(settings.config.policies, settings.config.name),
    )
    exits.push_async_callback(run_blocking, identity.close)
    if settings.house_file is not None:
        await run_blocking(save_house_file, settings.house_file, house.state_dir)
    await run_blocking(check_database, identity, demo=settings.demo)
    context = ServerContext(
        house=house,
        identity=identity,
        config=settings.config,
        origins=allowed_origins(
            settings.address, listening_socket.getsockname()[1], settings.origins
        ),
        hub=Hub(house, ServerMetrics(house)),
        secure=settings.address.has_tls or settings.address.behind_proxy,
        behind_proxy=settings.address.behind_proxy,
    )
    if reason := house.command_handler.suspension_reason:
        announce(f"the house is suspended and cannot write: {reason}; see docs/running-a-house.md")
    else:
        notices = await set_up_tables(house.command_handler, settings.config, house.damaged)
        for notice in () if settings.demo else notices:  # the simulated players open the tables
            announce(notice)
    for stream, damage in house.damaged.items():
        announce(f"{stream} is damaged and stopped: {damage}")
    exits.push_async_callback(_cancel_task, asyncio.create_task(run_monitor(context, context.hub)))
    if settings.demo:
        await _open_demo(context, exits)
    elif first_password := await run_blocking(identity.accounts.ensure_administrator):
        _announce_first_password(first_password, announce)
    return context


async def _open_demo(context: ServerContext, exits: AsyncExitStack) -> None:
    from threedice.api.demo.chip_table import open_chip_table  # noqa: PLC0415 -- only a demo needs
    from threedice.api.demo.players import play  # noqa: PLC0415 -- these two

    context.demo_sign_ins = await create_accounts(context)
    await open_chip_table(context)
    exits.push_async_callback(_cancel_task, asyncio.create_task(play(context.house)))


async def _cancel_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def identity_policy(policies: HousePolicies, name: str) -> IdentityPolicy:
    """Convert the policies of a house file to those of the identity service."""
    return IdentityPolicy(
        second_factor=policies.totp_for_staff,
        staff_idle_seconds=policies.idle_minutes * 60,
        player_idle_seconds=policies.player_idle_minutes * 60,
        session_seconds=policies.longest_hours * 3600,
        lock_seconds=policies.dealer_locks_after_minutes * 60,
        request_seconds=policies.requests_expire_after_minutes * 60,
        approver_wait_seconds=policies.approver_after_hours * 3600,
        issuer=name,
    )


def _announce_first_password(first_password: FirstPassword, announce: Announce) -> None:
    name = first_password.account.name
    announce(f"this house is new: sign in as {name} with this password, which is shown only once:")
    announce(f"  {first_password.password}")


def _announce_start(
    settings: ServerSettings, context: ServerContext, url: str, announce: Announce
) -> None:
    """Announce the URL once the server listens, and the sign-ins of a demo."""
    behind_proxy = settings.address.behind_proxy
    journal.write(
        "listening",
        build=build_id(),
        tables=len(settings.config.tables),
        behind_proxy=behind_proxy,
    )
    if behind_proxy and not settings.origins:
        announce("give the URL that browsers use: --origin https://house.example")
    elif context.origins[0] != url:
        announce(f"browsers reach it at {context.origins[0]}")
    announce(f"{settings.config.name} listens at {url}")
    if context.demo_sign_ins:
        announce("demo with play money, reachable from this machine only; names and passwords:")
        width = max(len(each.name) for each in context.demo_sign_ins)
        for each in context.demo_sign_ins:
            announce(f"  {each.name:{width}}  {each.password}")
        announce("stop it with Ctrl-C; its tables and accounts are kept")
        if path := find_sqlite_path(settings.database):
            announce(f"look at its log with: threedice log verify --database {shlex.quote(path)}")


def run_event_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on uvloop if it is installed, otherwise on asyncio's own event loop."""
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(coroutine)


# --- tables of the house file -------------------------------------------------------------------


async def set_up_tables(
    handler: CommandHandler, config: HouseConfig, damaged: Container[str] = ()
) -> list[str]:
    """Set up new tables and open those in amounts; return notices about tables for the staff.

    An existing table keeps its state and its settings even if the file differs: authorised staff
    change them at the table. Tables whose streams are `damaged` stand still and are left alone, and
    one that fails does not keep the others from being served.
    """
    notices, failures = list[str](), dict[str, str]()
    for name in config.tables:
        if (stream := table_stream(name)) in damaged:
            continue
        with isolate_failures(stream, failures):
            notices += [
                f"table {name} {notice}" for notice in await _set_up_table(handler, config, name)
            ]
    return [*notices, *(f"{failure}; this table is not served" for failure in failures.values())]


async def _set_up_table(handler: CommandHandler, config: HouseConfig, name: str) -> list[str]:
    setup, opening, game = configured_table(config, name, CONSOLE_ACTOR)
    house_table = await handler.table(name)
    if not house_table.id:
        await _establish_table(handler, name, setup)
    if not house_table.table.currency and not config.tables[name].rack:  # people count a rack
        key = f"house file: open {name}"
        await handler.handle(opening, table=name, account=CONSOLE, key=key, may_retry=True)
    house_table = await handler.table(name)
    return _table_notices(house_table, config, config.tables[name], game)


async def _establish_table(handler: CommandHandler, name: str, command: EstablishTable) -> None:
    key = f"house file: establish {name}"
    try:
        await handler.handle(command, table=name, account=CONSOLE, key=key, may_retry=True)
    except KeyReused:
        raise OperatingFailure(
            f"another server has set up table {name} with other settings; start all servers of a "
            "house with the same house file"
        ) from None


def _table_notices(
    house_table: HouseTable, config: HouseConfig, table: TableConfig, game: Game
) -> list[str]:
    """Return how a table differs from the house file, and what it waits for."""
    state, differences = house_table.table, list[str]()
    if house_table.game_hash != game.hash:
        differences.append(f"is set up for {house_table.game} with other rules or readings")
    if house_table.dealt_by_house != table.dealt_by_house:
        differences.append(f"is dealt by {_describe_dealer(house_table, table)}")
    if state.currency:
        differences += _term_differences(house_table, config, table, game)
    notices = [f"{difference}, unlike the house file" for difference in differences]
    if not state.currency:
        notices.append("waits for two people to count its rack and open it")
    elif not state.open:
        notices.append("is closed; its staff can open it")
    elif missing := [check for check in game.facts.opening if check not in state.checks]:
        notices.append(f"waits for its opening checks: {', '.join(missing)}")
    return notices


def _term_differences(
    house_table: HouseTable, config: HouseConfig, table: TableConfig, game: Game
) -> list[str]:
    """Return how the terms on which a table opened last differ from the house file."""
    state, differences = house_table.table, list[str]()
    if state.currency != config.currency:
        differences.append(f"plays in {state.currency}")
    if (state.mode, state.chips) != (table.mode, table.chips):
        differences.append("keeps its mode and its chips")
    if configured_limits(table, game) not in (state.limits, state.next_limits):
        differences.append("keeps the limits set at the table")
    if state.open and (state.holders is not None) != bool(table.rack):
        differences.append(f"deals in {'amounts' if table.rack else 'chips'}")
    return differences


def _describe_dealer(house_table: HouseTable, table: TableConfig) -> str:
    if house_table.dealt_by_house is None:
        return "people"
    return "the house with other times" if table.dealt_by_house else "the house"
