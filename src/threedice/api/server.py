"""Open a house, set up its configured tables, and serve it until a signal stops it.

A server from its start to its end: the house, its people, its sockets, and who watches them.

The tables of a house file on the floor: set up once, and kept as people have left them since.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from threedice.api.app import make_app
from threedice.api.config import check_table, configured_limits
from threedice.api.context import ServerContext
from threedice.api.demo import check_database, create_accounts
from threedice.api.http import journal
from threedice.api.http.metrics import ServerMetrics
from threedice.api.http.middleware import add_request_ids
from threedice.api.listener import HouseServer, allowed_origins, bind_socket, uvicorn_config
from threedice.api.live.hub import Hub, run_monitor
from threedice.errors import KeyReused, OperatingFailure
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.accounts import CONSOLE
from threedice.table.commands import Actor, OpenTable

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Sequence

    from threedice.api.config import HouseConfig, HousePolicies, TableConfig
    from threedice.api.listener import ListenAddress
    from threedice.house.command_handler import CommandHandler
    from threedice.house.stream_state import HouseTable
    from threedice.identity import Argon2Cost, FirstPassword
    from threedice.rulebook import Game

    Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What is to be served, and where; `demo` is a house that plays with itself."""

    database: str
    house_file: HouseConfig
    address: ListenAddress
    origins: Sequence[str] = ()
    demo: bool = False
    password_cost: Argon2Cost | None = None


async def serve(settings: ServerSettings, announce: Announce) -> None:
    """Serve a house until a signal ends it; what was opened is closed in the opposite order."""
    with bind_socket(settings.address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(settings, taken, exits, announce)
            hub = context.live_hub
            app = add_request_ids(make_app(context, logging_config=None))
            config = uvicorn_config(app, settings.address)
            started = _startup_callback(settings, context, taken.getsockname()[1], announce)
            server = HouseServer(config, on_start=started, on_stop=hub.close)
            await server.serve(sockets=[taken])
        journal.write("stopped")
    announce("stopped; everything acknowledged is kept")


async def open_house(
    settings: ServerSettings,
    listening_socket: socket.socket,
    exits: AsyncExitStack,
    announce: Announce,
) -> ServerContext:
    """Open the house and its people, set its tables up, and watch over both."""
    house = await exits.enter_async_context(House(settings.database))
    people = await asyncio.to_thread(
        open_identity,
        settings.database,
        state=house.state_dir,
        cost=settings.password_cost,
        policy=identity_policy(settings.house_file.policies, settings.house_file.name),
    )
    exits.push_async_callback(asyncio.to_thread, people.close)
    await asyncio.to_thread(check_database, people, demo=settings.demo)
    metrics = ServerMetrics()
    metrics.observe_house(house)
    context = ServerContext(
        house=house,
        identity=people,
        config=settings.house_file,
        origins=allowed_origins(
            settings.address, listening_socket.getsockname()[1], settings.origins
        ),
        secure=settings.address.has_tls or settings.address.behind_proxy,
        behind_proxy=settings.address.behind_proxy,
        metrics=metrics,
        hub=Hub(house, metrics),
    )
    if house.command_handler.suspension_reason:
        announce(
            f"nothing can be written: {house.command_handler.suspension_reason}; see docs/running-a-house.md"
        )
    else:
        notices = await set_up_tables(house.command_handler, settings.house_file)
        for notice in () if settings.demo else notices:  # there, players see to it
            announce(notice)
    for stream, damage in house.damaged.items():
        announce(f"{stream} stands still: {damage}")
    exits.push_async_callback(
        _cancel_task, asyncio.create_task(run_monitor(context, context.live_hub))
    )
    if settings.demo:
        await _open_demo(context, exits)
    elif first := await asyncio.to_thread(people.ensure_administrator):
        _announce_first_password(first, announce)
    return context


async def _open_demo(context: ServerContext, exits: AsyncExitStack) -> None:
    from threedice.api.demo.players import play  # noqa: PLC0415 -- houses go without

    context.demo_sign_ins = await create_accounts(context)
    exits.push_async_callback(_cancel_task, asyncio.create_task(play(context.house)))


async def _cancel_task(task: asyncio.Task[None]) -> None:
    """End a task that would go on for ever."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def identity_policy(policies: HousePolicies, name: str) -> IdentityPolicy:
    """Return what a house asks of its people, as its file says."""
    return IdentityPolicy(
        second_factor=policies.totp_for_staff,
        staff_idle_seconds=policies.idle_minutes * 60,
        player_idle_seconds=policies.player_idle_minutes * 60,
        session_seconds=policies.longest_hours * 3600,
        lock_seconds=policies.dealer_locks_after_minutes * 60,
        request_seconds=policies.requests_expire_after_minutes * 60,
        issuer=name,
    )


def _announce_first_password(first: FirstPassword, announce: Announce) -> None:
    announce(
        f"this house is new: sign in as {first.account.name} with this password, shown this once:"
    )
    announce(f"  {first.password}")


def _startup_callback(
    settings: ServerSettings, context: ServerContext, port: int, announce: Announce
) -> Callable[[], None]:
    """Return what says where the house is reached, once it is."""
    here = settings.address.url(port)

    def started() -> None:
        tables = len(settings.house_file.tables)
        journal.write("listening", tables=tables, behind_proxy=settings.address.behind_proxy)
        if settings.address.behind_proxy and not settings.origins:
            announce("name the address that people use: --origin https://house.example")
        elif context.origins[0] != here:
            announce(f"browsers reach it at {context.origins[0]}")
        announce(f"{settings.house_file.name} listens at {here}")
        for line in _demo_lines(context.demo_sign_ins):
            announce(line)

    return started


def _demo_lines(sign_ins: Sequence[Any]) -> list[str]:
    if not sign_ins:
        return []
    width = max(len(each.name) for each in sign_ins)
    return [
        "a demo: play money, this machine only; sign in as",
        *(f"  {each.name:{width}}  {each.password}" for each in sign_ins),
        "end it with Ctrl-C; what was played is kept",
    ]


def run_event_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a server on the quickest event loop that there is."""
    try:
        import uvloop  # noqa: PLC0415 -- it is not there for every system

        factory: Any = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(coroutine)


CONSOLE_ACTOR: Final = Actor(id=CONSOLE, role="supervisor")


async def set_up_tables(floor: CommandHandler, config: HouseConfig) -> list[str]:
    """Set up and open the tables that were never there; return what people should know of others.

    A table that exists keeps its state and its settings, also where the file says otherwise now:
    those are changed at the table, by people who may.
    """
    notices = []
    for name, table in config.tables.items():
        game = check_table(table)
        house_table = await floor.table(name)
        if not house_table.id:
            await _establish_table(floor, name, table)
        if not house_table.table.currency:
            await _open_table(floor, name, config.currency, table, game)
        house_table = await floor.table(name)
        notices += [
            f"table {name} {each}" for each in _table_notices(house_table, config, table, game)
        ]
    return notices


async def _establish_table(floor: CommandHandler, name: str, table: TableConfig) -> None:
    command = EstablishTable(
        by=CONSOLE_ACTOR,
        game=table.game,
        readings=table.readings,
        dealt_by_house=table.dealt_by_house,
    )
    key = f"house file: establish {name}"
    try:
        await floor.handle(command, table=name, account=CONSOLE, key=key)
    except KeyReused:
        raise OperatingFailure(
            f"table {name} was set up otherwise at the same time; start all servers of a house "
            "with the same house file"
        ) from None


async def _open_table(
    floor: CommandHandler, name: str, currency: str, table: TableConfig, game: Game
) -> None:
    command = OpenTable(
        by=CONSOLE_ACTOR,
        table=name,
        currency=currency,
        mode=table.mode,
        chips=table.chips,
        float_amount=table.float,
        limits=configured_limits(table, game),
    )
    key = f"house file: open {name}"
    await floor.handle(command, table=name, account=CONSOLE, key=key)


def _table_notices(
    house_table: HouseTable, config: HouseConfig, table: TableConfig, game: Game
) -> list[str]:
    """Return how a table differs from what the file says of it, and what it waits for."""
    state, differences = house_table.table, []
    if house_table.game_hash != game.hash:
        differences.append(f"is set up for {house_table.game}, by the readings of then")
    if house_table.dealt_by_house != table.dealt_by_house:
        differences.append(f"is dealt by {_describe_dealer(house_table, table)}")
    if state.currency != config.currency:
        differences.append(f"plays in {state.currency}")
    if (state.mode, state.chips) != (table.mode, table.chips):
        differences.append("keeps its mode and its chips")
    if configured_limits(table, game) not in (state.limits, state.next_limits):
        differences.append("keeps the limits that its people have set")
    notices = [f"{each}, not as the house file says now" for each in differences]
    if not state.open:
        notices.append("is closed; its people open it")
    elif missing := [check for check in game.facts.opening if check not in state.checks]:
        notices.append(f"waits for its opening checks: {', '.join(missing)}")
    return notices


def _describe_dealer(house_table: HouseTable, table: TableConfig) -> str:
    if house_table.dealt_by_house is None:
        return "people"
    return "the house at other times" if table.dealt_by_house else "the house"
