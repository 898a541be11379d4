"""A server from its start to its end: the house, its people, its sockets, and who watches them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from threedice.floor.house import House
from threedice.people import Policy, open_people
from threedice.web import journal
from threedice.web.app import make_app
from threedice.web.context import Context
from threedice.web.demo.people import check_database, make_people
from threedice.web.hub import Hub
from threedice.web.listening import Server, bind, configured
from threedice.web.metrics import Metrics
from threedice.web.origins import origins_of
from threedice.web.setting_up import set_up_tables
from threedice.web.watching import watch

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Sequence

    from threedice.people import Cost, FirstPassword
    from threedice.web.house_file import HouseFile, Policies
    from threedice.web.listening import Address

    Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served, and where; `demo` is a house that plays with itself."""

    database: str
    house_file: HouseFile
    address: Address
    origins: Sequence[str] = ()
    demo: bool = False
    cost: Cost | None = None


async def serve(plan: Plan, say: Say) -> None:
    """Serve a house until a signal ends it; what was opened is closed in the opposite order."""
    with bind(plan.address) as taken:
        async with AsyncExitStack() as exits:
            context = await open_house(plan, taken, exits, say)
            hub: Hub = context.hub
            app = journal.numbered(make_app(context, logging_config=None))
            config = configured(app, plan.address)
            started = _started(plan, context, taken.getsockname()[1], say)
            server = Server(config, started=started, stopping=hub.close)
            await server.serve(sockets=[taken])
        journal.write("stopped")
    say("stopped; everything acknowledged is kept")


async def open_house(plan: Plan, taken: socket.socket, exits: AsyncExitStack, say: Say) -> Context:
    """Open the house and its people, set its tables up, and watch over both."""
    house = await exits.enter_async_context(House(plan.database))
    people = await asyncio.to_thread(
        open_people,
        plan.database,
        state=house.state,
        cost=plan.cost,
        policy=policy_of(plan.house_file.policies, plan.house_file.name),
    )
    exits.push_async_callback(asyncio.to_thread, people.close)
    await asyncio.to_thread(check_database, people, demo=plan.demo)
    metrics = Metrics()
    metrics.watch(house)
    context = Context(
        house=house,
        people=people,
        house_file=plan.house_file,
        origins=origins_of(plan.address, taken.getsockname()[1], plan.origins),
        secure=plan.address.tls or plan.address.behind_proxy,
        behind_proxy=plan.address.behind_proxy,
        metrics=metrics,
        hub=Hub(house, metrics),
    )
    if house.floor.suspended:
        say(f"nothing can be written: {house.floor.suspended}; see docs/running-a-house.md")
    else:
        notices = await set_up_tables(house.floor, plan.house_file)
        for notice in () if plan.demo else notices:  # there, players see to it
            say(notice)
    for stream, damage in house.damaged.items():
        say(f"{stream} stands still: {damage}")
    exits.push_async_callback(_ended, asyncio.create_task(watch(context, context.hub)))
    if plan.demo:
        await _open_demo(context, exits)
    elif first := await asyncio.to_thread(people.ensure_administrator):
        _say_first(first, say)
    return context


async def _open_demo(context: Context, exits: AsyncExitStack) -> None:
    from threedice.web.demo.players import play  # noqa: PLC0415 -- houses go without

    context.demo = await make_people(context)
    exits.push_async_callback(_ended, asyncio.create_task(play(context.house)))


async def _ended(task: asyncio.Task[None]) -> None:
    """End a task that would go on for ever."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def policy_of(policies: Policies, name: str) -> Policy:
    """Return what a house asks of its people, as its file says."""
    return Policy(
        second_factor=policies.totp_for_staff,
        staff_idle_seconds=policies.idle_minutes * 60,
        player_idle_seconds=policies.player_idle_minutes * 60,
        session_seconds=policies.longest_hours * 3600,
        lock_seconds=policies.dealer_locks_after_minutes * 60,
        request_seconds=policies.requests_expire_after_minutes * 60,
        issuer=name,
    )


def _say_first(first: FirstPassword, say: Say) -> None:
    say(f"this house is new: sign in as {first.account.name} with this password, shown this once:")
    say(f"  {first.password}")


def _started(plan: Plan, context: Context, port: int, say: Say) -> Callable[[], None]:
    """Return what says where the house is reached, once it is."""
    here = plan.address.url(port)

    def started() -> None:
        tables = len(plan.house_file.tables)
        journal.write("listening", tables=tables, behind_proxy=plan.address.behind_proxy)
        if plan.address.behind_proxy and not plan.origins:
            say("name the address that people use: --origin https://house.example")
        elif context.origins[0] != here:
            say(f"browsers reach it at {context.origins[0]}")
        say(f"{plan.house_file.name} listens at {here}")
        for line in _demo_lines(context.demo):
            say(line)

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


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a server on the quickest event loop that there is."""
    try:
        import uvloop  # noqa: PLC0415 -- it is not there for every system

        factory: Any = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)
