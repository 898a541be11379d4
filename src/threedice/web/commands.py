"""Commands over HTTP: one way in, for tables and for players' accounts.

Each has a key of the caller's own, so that it happens once however often it is sent. The way of a
bet is kept short: the body is read once, and the answer is made of the bytes that were stored.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Union, get_args
from zoneinfo import ZoneInfo

import msgspec

from threedice.cage.events import CageEvent
from threedice.errors import StoreAway
from threedice.floor.commands import AnyAccountCommand, AnyTableCommand, EstablishTable
from threedice.floor.events import AnyStreamEvent
from threedice.floor.persons import recall
from threedice.table import commands as asked
from threedice.tags import tag_of
from threedice.web.addresses import KEY
from threedice.web.answering import (
    Operation,
    Visit,
    admit,
    in_thread,
    operation,
    read,
    read_path,
)
from threedice.web.audience import seen_by
from threedice.web.authorisation import COMMANDS, SECOND_PERSON
from threedice.web.entering import check_json, read_body
from threedice.web.knowing import need_table
from threedice.web.problems import Turned
from threedice.web.reading import account_command, check_game, read_table_command
from threedice.web.replying import Reply

if TYPE_CHECKING:
    from threedice.floor import Answer
    from threedice.floor.commands import AnyFloorCommand
    from threedice.web.context import Context
    from threedice.web.visiting import Visitor

WAIT_SECONDS: Final = 5.0
"""How long a question about a command that is on its way waits for it."""


SENDABLE: Final[Any] = Union[  # noqa: UP007
    tuple(
        each
        for each in get_args(AnyTableCommand)
        if COMMANDS[tag_of(each)].roles
        and (each is asked.Report or tag_of(each) not in SECOND_PERSON)
    )
]
"""Commands that somebody may send; the others are the house's own, or take two people."""


class Done(msgspec.Struct, frozen=True):
    """What an accepted command made happen, as its sender sees it, and how far the stream came."""

    version: int
    events: list[AnyStreamEvent]


class Outcome(msgspec.Struct, frozen=True):
    """What became of a command: accepted, with its answer, or not accepted."""

    accepted: bool
    answer: Done | None = None


async def carry_out(
    context: Context,
    visitor: Visitor,
    table: str,
    command: AnyTableCommand,
    key: str,
    arrived: float,
    account: str = "",
) -> Reply:
    """Have the floor decide a command, and tell what it made happen once that is durable."""
    if table not in context.tables and not isinstance(command, EstablishTable):
        await need_table(context, table)
    if not isinstance(command, asked.PlaceBet):
        check_game(command, context.house_file)
        command = await _with_age(context, visitor, command)
    answer = await _handled(context, command, table, account or visitor.account.id, key)
    context.metrics.accepted(tag_of(command), perf_counter() - arrived)
    return Reply(200, told_to(answer, visitor))


async def _handled(
    context: Context, command: AnyFloorCommand, table: str, account: str, key: str
) -> Answer:
    """Hand a command to the floor; whoever asks meanwhile what became of it waits."""
    whose, floor = (account, key), context.house.floor
    if whose in context.under_way:
        return await floor.handle(command, table=table, account=account, key=key)
    done = context.under_way[whose] = asyncio.Event()
    try:
        return await floor.handle(command, table=table, account=account, key=key)
    finally:
        del context.under_way[whose]
        done.set()


async def _with_age(
    context: Context, visitor: Visitor, command: AnyTableCommand
) -> AnyTableCommand:
    """Put in how old a player is who buys in, as far as the house knows."""
    if not isinstance(command, asked.BuyIn) or "player" not in visitor.account.roles:
        return command
    person = await in_thread(recall, context.house.floor.store, command.player)
    today = datetime.now(ZoneInfo(context.house_file.time_zone)).date()
    return msgspec.structs.replace(command, age_years=person.age(today) if person else None)


def told_to(answer: Answer, visitor: Visitor) -> bytes:
    """Return an answer as bytes: the events as stored, or as much of them as a player sees."""
    entries = answer.entries
    stored = [entry.data for entry in entries]
    if "player" in visitor.account.roles:
        me = visitor.account.id
        told = [(_seen(each, me), each) for each in answer.events]
        stored = [
            entry.data if seen is event else msgspec.json.encode(seen)
            for entry, (seen, event) in zip(entries, told, strict=True)
            if seen is not None
        ]
    version = answer.version(entries[0].stream)
    return b'{"version":%d,"events":[%b]}' % (version, b",".join(stored))


def _seen(event: AnyStreamEvent, player: str) -> AnyStreamEvent | None:
    """Return an event as a player sees it; of accounts he only ever moves his own."""
    if isinstance(event, CageEvent):
        return event
    seen: AnyStreamEvent | None = seen_by(event, player)
    return seen


def key_of(visit: Visit) -> str:
    """Return the key of a command, or say how to give one."""
    match = KEY.fullmatch(visit.headers.get(b"idempotency-key", b""))
    if match is None:
        raise Turned(400, "door/key")
    return match[1].decode()


def check_rate(visit: Visit) -> None:
    """Turn away whoever sends more commands than one account, or one address, may."""
    wait = visit.context.limits.wait(visit.account, visit.address)
    if wait:
        raise Turned(429, "door/rate", seconds=max(1, round(wait)))


# --- the operations -----------------------------------------------------------------------------


@operation(
    "send-command",
    "POST",
    "/api/tables/{table}/commands",
    body=SENDABLE,
    answer=Done,
    problems=(400, 404, 408, 409, 413, 415, 422, 429, 503),
    keyed=True,
    itself=True,
)
async def send_command(visit: Visit) -> Reply:
    """Send a command to a table; sent again under the same key, it is answered again."""
    arrived = perf_counter()
    await admit(visit, "send-command")
    visitor = visit.who
    table = read_path(send_command, visit.path)["table"]
    check_rate(visit)
    key = key_of(visit)
    check_json(visit.headers)
    body = await read_body(visit.receive, visit.headers)
    command = read_table_command(visitor, table, body.strip())
    return await carry_out(visit.context, visitor, table, command, key, arrived)


@operation(
    "send-account-command",
    "POST",
    "/api/accounts/{player}/commands",
    body=AnyAccountCommand,
    answer=Done,
    problems=(400, 404, 408, 409, 413, 415, 422, 429, 503),
    keyed=True,
    itself=True,
)
async def send_account_command(visit: Visit) -> Reply:
    """Send a command about a player's account; under the same key it is answered again."""
    arrived = perf_counter()
    await admit(visit, "send-account-command")
    player = read_path(send_account_command, visit.path)["player"]
    check_rate(visit)
    key = key_of(visit)
    check_json(visit.headers)
    said = read(dict[str, Any], await read_body(visit.receive, visit.headers))
    command = account_command(visit.who, player, said)
    answer = await _handled(visit.context, command, "", visit.account, key)
    visit.context.metrics.accepted(tag_of(command), perf_counter() - arrived)
    return Reply(200, told_to(answer, visit.who))


@operation("show-answer", "GET", "/api/commands/{key}", answer=Outcome, problems=(404, 503))
async def show_answer(visit: Visit) -> Reply:
    """Tell what became of a command of one's own, by its key."""
    context, key = visit.context, visit.path["key"]
    if on_its_way := context.under_way.get((visit.account, key)):
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await on_its_way.wait()
        except TimeoutError:
            raise StoreAway("the command is still on its way") from None
    answer = await context.house.floor.answer(visit.account, key)
    if answer is None:
        return Reply(200, b'{"accepted":false,"answer":null}')
    return Reply(200, b'{"accepted":true,"answer":%b}' % told_to(answer, visit.who))


COMMAND_OPERATIONS: Final[tuple[Operation, ...]] = (
    send_command,
    send_account_command,
    show_answer,
)
