"""Parse, authorise and execute commands for tables and players' accounts.

The caller gives each command an idempotency key, so that a command sent repeatedly is executed
once. `by` is set only here; a body may contain it, but it must match the caller. Handlers read the
body themselves, after the rate limit, and build the response from the stored bytes.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args

import msgspec
from litestar import MediaType, Response, get, post
from litestar.types import ASGIApp, Receive, Scope, Send

from threedice.account.commands import OpenAccount
from threedice.api.auth.audiences import encode_command_result
from threedice.api.auth.authorisation import ASSIGNED_ROLES, COMMANDS, role_for
from threedice.api.config import configured_table, is_configured_game
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import (
    HttpProblem,
    Problem,
    problem_from_error,
    problem_responses,
)
from threedice.api.http.requests import (
    HouseRequest,
    IdempotencyKey,
    PlayerId,
    TableId,
    decode_body,
)
from threedice.api.routes.tables import require_table
from threedice.api.texts import preferred_language
from threedice.errors import Refusal, StoreUnavailable, UnknownName
from threedice.house.authority import refuse, roles_to_approve
from threedice.house.codec import tag_of
from threedice.house.commands import (
    AnyAccountCommand,
    AnyStreamCommand,
    AnyTableCommand,
    EstablishTable,
)
from threedice.house.decisions import require_betting_time
from threedice.house.events import AnyStreamEvent
from threedice.house.persons import load_person
from threedice.names import check_new_id, skeleton
from threedice.rulebook import shipped_games
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.rules import require_ages

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from threedice.api.auth.authentication import Caller
    from threedice.api.config import HouseConfig

_KEY_HEADER: Final = re.compile(rb'"?([A-Za-z0-9._-]{1,100})"?')
"""The value of an `Idempotency-Key` header, quoted or not."""

STATUS_TIMEOUT_SECONDS: Final = 5.0
"""How long a status query waits for a command that is being executed."""

TABLE_COMMANDS: Final = {tag_of(each): each for each in get_args(AnyTableCommand)}
ACCOUNT_COMMANDS: Final = {tag_of(each): each for each in get_args(AnyAccountCommand)}

SENDABLE_COMMANDS: Final[Any] = Union[  # noqa: UP007
    tuple(
        each
        for each in TABLE_COMMANDS.values()
        if each.facts.roles and not (each.facts.second_person and each.facts.alone == "never")
    )
]
"""Commands that clients may send directly.

Of the others, the house itself executes some, and the rest always need a second person.
"""


class CommandResultView(msgspec.Struct, frozen=True):
    """The events of an accepted command as its sender sees them, and the stream's new version."""

    version: int
    events: list[AnyStreamEvent]


class CommandStatusView(msgspec.Struct, frozen=True):
    """The outcome of a command: accepted with its result, or refused, finally, with its problem.

    `unknown` promises nothing: the command may never have arrived, or be decided yet.
    """

    status: Literal["accepted", "refused", "unknown"]
    answer: CommandResultView | None = None
    problem: Problem | None = None


@post(
    "/api/tables/{table:str}/commands",
    name="send-command",
    status_code=200,
    responses=problem_responses(409, 429),
    opt={"command": SENDABLE_COMMANDS, "result": CommandResultView},
)
async def send_command(request: HouseRequest, table: TableId) -> ASGIApp:
    """Send a command to a table; repeating it under the same key returns the same result."""
    context, caller = request.context, request.user
    started_at = context.house.runtime.monotonic()
    check_rate_limit(request)
    key = require_idempotency_key(request)
    fields = decode_body(dict[str, Any], await request.body())
    try:
        command = build_table_command(caller, table, fields)
        result = await execute_command(context, caller, command, key, table=table)
    except Refusal as refusal:
        raise await name_approvers(context, table, fields, refusal) from None
    context.metrics.count_accepted(tag_of(command), started_at)
    return _JsonBytes(result)


@post(
    "/api/accounts/{player:str}/commands",
    name="send-account-command",
    status_code=200,
    responses=problem_responses(409, 429),
    opt={"command": AnyAccountCommand},
)
async def send_account_command(
    request: HouseRequest, player: PlayerId
) -> Response[CommandResultView]:
    """Send a command for a player's account; repeats under the same key return the same result."""
    context, caller = request.context, request.user
    started_at = context.house.runtime.monotonic()
    check_rate_limit(request)
    key = require_idempotency_key(request)
    fields = decode_body(dict[str, Any], await request.body())
    command = build_account_command(caller, player, fields)
    result = await execute_command(context, caller, command, key)
    context.metrics.count_accepted(tag_of(command), started_at)
    return json_response(result)


@get("/api/commands/{key:str}", name="show-answer")
async def show_command_status(
    context: Context, caller: CurrentCaller, request: HouseRequest, key: IdempotencyKey
) -> Response[CommandStatusView]:
    """Show whether a command of the caller was accepted or refused, by its idempotency key."""
    try:
        async with asyncio.timeout(STATUS_TIMEOUT_SECONDS):
            outcome = await context.house.command_handler.find_outcome(caller.account.id, key)
    except TimeoutError:
        raise StoreUnavailable("the command is still being executed") from None
    if outcome is None:
        return json_response(b'{"status":"unknown","answer":null,"problem":null}')
    if isinstance(outcome, Refusal):
        language = preferred_language(request.raw_headers.get(b"accept-language", b""))
        problem = msgspec.json.encode(problem_from_error(outcome, language))
        return json_response(b'{"status":"refused","answer":null,"problem":%b}' % problem)
    result = encode_command_result(outcome, caller)
    return json_response(b'{"status":"accepted","answer":%b,"problem":null}' % result)


class _JsonBytes:
    """A response whose body is JSON already, as a plain ASGI application: the cheapest there is."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self._body)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


def json_response(body: bytes) -> Response[Any]:
    """Return a response whose body is JSON already."""
    return Response(body, media_type=MediaType.JSON)


def require_idempotency_key(request: HouseRequest) -> str:
    """Return the idempotency key of a command, or raise a 400 problem."""
    match = _KEY_HEADER.fullmatch(request.raw_headers.get(b"idempotency-key", b""))
    if match is None:
        raise HttpProblem(400, "door/key")
    return match[1].decode()


def check_rate_limit(request: HouseRequest) -> None:
    """Reject a command that exceeds the rate limit of the caller's account or address."""
    context, account = request.context, request.user.account.id
    seconds = context.account_limiter.take(account)
    seconds = seconds or context.address_limiter.take(request.client_address)
    if seconds:
        raise HttpProblem(429, "door/rate", seconds=max(1, round(seconds)))


# --- execution ----------------------------------------------------------------------------------


async def execute_command(
    context: Context,
    caller: Caller,
    command: AnyStreamCommand,
    key: str,
    *,
    table: str | None = None,
    sender: Caller | None = None,
    precondition: Callable[[Any], None] | None = None,
) -> bytes:
    """Execute a command and return its events as JSON once they are durable.

    `table` is None for a command to a player's account. `sender` is the sender, if that is not the
    caller, who has then approved the command: its request may be tried again. `precondition` may
    refuse it by the state of its table or account, besides the sender's authority.
    """
    is_approved, sender = sender is not None, sender or caller
    check_currency(command, context.config)
    if table is not None:
        if table not in context.table_ids and not isinstance(command, EstablishTable):
            await require_table(context, table)
        if isinstance(command, commands.BuyIn) and "player" in caller.account.roles:
            command = await _fill_in_age(context, command)
        command = await fill_in_issued_rack(context, table, command)
    check: Callable[[Any], bool] | None = None
    if "player" not in sender.account.roles:  # players use their own money only
        try:
            check_table_setup(command, context.config)
            check = await authority_check(context, sender, command, table)
        except Refusal as refusal:
            check = partial(_raise, refusal)  # by the command handler, which makes it final

    def check_all(state: Any) -> bool:
        if precondition:
            precondition(state)
        return check is None or check(state)

    result = await context.house.command_handler.handle(
        command,
        table=table or "",
        account=sender.account.id,
        key=key,
        precondition=check_all if precondition else check,
        may_retry=is_approved,
    )
    return encode_command_result(result, caller)


def _raise(refusal: Refusal, _state: Any) -> bool:
    raise refusal


async def name_approvers(
    context: Context, table: str, fields: Mapping[str, Any], refusal: Refusal
) -> Refusal:
    """Return a refusal; without a second person, it names the roles that may approve here."""
    if refusal.code != "door/second-person":
        return refusal
    try:
        await require_table(context, table)
    except UnknownName:
        return refusal
    handler, facts = context.house.command_handler, COMMANDS[str(fields["type"])].facts
    roles = roles_to_approve(facts, handler.game(await handler.table(table)))
    return refuse("door/second-person", allowed=", ".join(roles))


async def authority_check(
    context: Context, sender: Caller, command: Any, table: str | None
) -> Callable[[Any], bool]:
    """Return the check of a staff member's authority, for the state of the table or account.

    Rejects a command that would let staff play.
    """
    role: Any = role_for(sender, tag_of(command), None) if table is None else command.by.role
    if command.facts.seats_player:
        await context.run_blocking(_reject_staff_player, context, command.player, table)
    configured = None
    if command.facts.alone == "approved-terms" and table in context.config.tables:
        configured = configured_table(context.config, table, command.by)
    handler = context.house.command_handler
    ages = {} if table is None else await _staff_ages(context, command, table)

    def check(state: Any) -> bool:
        now = context.house.runtime.now()
        context.authority.check(command, role, state, now, configured)
        game = handler.game(state) if table is not None else None
        if game is not None:
            require_ages(game, command, ages)
        return True

    return check


async def _staff_ages(context: Context, command: Any, table: str) -> dict[str, int | None]:
    """Return the ages of the people who send and approve a command, if the table asks for them."""
    handler, field = context.house.command_handler, command.facts.second_person
    game = handler.game(await handler.table(table))
    if game is None or game.facts.people.minimum_age is None:
        return {}
    people = [command.by, getattr(command, field) if field else None]
    return {each.id: await _age_on_record(context, each.id) for each in people if each}


def _reject_staff_player(context: Context, player: str, table: str | None) -> None:
    """Reject a player whose id is or looks like the id or sign-in name of a member of the staff.

    If the house permits it, staff play under the id of their account, at tables that they have no
    part in running.
    """
    alike = skeleton(player)
    for account in context.identity.accounts.staff():
        if alike not in (skeleton(account.id), skeleton(account.name)):
            continue
        works_there = not set(account.roles) <= set(ASSIGNED_ROLES) or any(
            each.table in (None, table) for each in context.assignments.current(account.id)
        )
        may_play = context.config.policies.staff_may_play and player == account.id
        if works_there or not may_play:
            raise refuse("door/staff-player", player=player)


async def _fill_in_age(context: Context, command: commands.BuyIn) -> commands.BuyIn:
    """Set the age on record in a player's own buy-in, or None if there is none."""
    age = await _age_on_record(context, command.player)
    return msgspec.structs.replace(command, age_years=age)


async def fill_in_issued_rack(
    context: Context, table: str | None, command: AnyStreamCommand
) -> AnyStreamCommand:
    """Fill in the rack of the house file, if the table opens in the file's chips and game."""
    if not isinstance(command, commands.OpenTable) or table not in context.config.tables:
        return command
    configured = context.config.tables[table]
    if not configured.rack or command.rack is msgspec.UNSET or command.chips != configured.chips:
        return command
    handler = context.house.command_handler
    game = handler.game(await handler.table(table))
    if game is None or not is_configured_game(configured, game):
        return command
    return msgspec.structs.replace(command, issued=configured.rack)


async def _age_on_record(context: Context, person_id: str) -> int | None:
    """Return the age of a player or a member of staff by their recorded birth date, if any."""
    person = await context.run_blocking(load_person, context.house.command_handler.store, person_id)
    return person.age(context.today()) if person else None


# --- parsing ------------------------------------------------------------------------------------


def build_table_command(
    caller: Caller, table: str, fields: dict[str, Any], second_person: Actor | None = None
) -> AnyTableCommand:
    """Build and authorise a table command from the fields of a body, in the caller's name.

    `second_person` is the person who has approved it, taken from their own session.
    """
    kind = _command_tag(fields, TABLE_COMMANDS)
    for field in COMMANDS[kind].facts.house_fields:
        if field in fields:
            raise HttpProblem(422, "door/form", problem=f"the house fills `{field}` in")
    fields["by"] = _resolve_actor(caller, kind, table, fields.get("by"))
    _set_second_person(kind, fields, second_person)
    command: AnyTableCommand = decode_body(TABLE_COMMANDS[kind], msgspec.json.encode(fields))
    check_field_values(caller, command)
    return command


def _command_tag(fields: Mapping[str, Any], known: Container[str]) -> str:
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in known:
        raise HttpProblem(422, "door/form", problem="`type` is not a command - at `$.type`")
    return kind


def _resolve_actor(caller: Caller, kind: str, table: str, stated: Any) -> Actor:
    """Return the caller as the sender of a command, in the stated role or the lowest permitted."""
    role = role_for(caller, kind, table)
    if role is None:
        lacks_scope = caller.scopes is not None and COMMANDS[kind].facts.scope not in caller.scopes
        raise HttpProblem(403, "door/scope" if lacks_scope else "door/role")
    if stated is None:
        return Actor(id=caller.account.id, role=role)
    actor: Actor = decode_body(Actor, msgspec.json.encode(stated))
    if actor.id != caller.account.id or role_for(caller, kind, table, actor.role) is None:
        raise HttpProblem(403, "door/by")
    return actor


def _set_second_person(
    kind: str, fields: dict[str, Any], second_person: Actor | str | None
) -> None:
    """Fill in the second person who has approved; reject one that the body names."""
    facts = COMMANDS[kind].facts
    if not facts.second_person:
        return
    named = fields.pop(facts.second_person, None)
    if second_person is not None:
        fields[facts.second_person] = second_person
    elif named is not None or facts.alone == "never":
        raise refuse("door/second-person", allowed=", ".join(facts.approvers))


def check_field_values(caller: Caller, command: AnyTableCommand) -> None:
    """Reject field values that the caller may not use in a command that they may send."""
    facts, is_player = command.facts, "player" in caller.account.roles
    player = getattr(command, "player", None)
    if is_player and facts.own_player:
        if player != caller.account.id:
            raise HttpProblem(403, "door/own")
    elif player:
        check_new_id(player)
    allowed_values = facts.player_values if is_player else facts.staff_values
    for field, allowed in allowed_values.items():
        if (value := getattr(command, field)) not in allowed:
            raise HttpProblem(
                403, "door/words", field=field, allowed=" or ".join(allowed), said=str(value)
            )
    if is_player and isinstance(command, commands.BuyIn) and command.age_years is not None:
        raise HttpProblem(403, "door/age")


def build_account_command(
    caller: Caller, player: str, fields: dict[str, Any], second_person: str | None = None
) -> AnyAccountCommand:
    """Build and authorise a command for a player's account, in the caller's name.

    `second_person` is the account that has approved it.
    """
    kind = _command_tag(fields, ACCOUNT_COMMANDS)
    if role_for(caller, kind, None) is None:
        raise HttpProblem(403, "door/role")
    if fields.setdefault("by", caller.account.id) != caller.account.id:
        raise HttpProblem(403, "door/by")
    if fields.setdefault("player", player) != player:
        raise HttpProblem(422, "door/mismatch", address=player, body=str(fields["player"])[:100])
    _set_second_person(kind, fields, second_person)
    command: AnyAccountCommand = decode_body(ACCOUNT_COMMANDS[kind], msgspec.json.encode(fields))
    return command


def check_currency(command: AnyStreamCommand, config: HouseConfig) -> None:
    """Reject a table or an account in another currency than that of the house."""
    if isinstance(command, _OPENINGS) and command.currency != config.currency:
        raise HttpProblem(422, "door/currency", house=config.currency, currency=command.currency)


_OPENINGS: Final = (commands.OpenTable, OpenAccount)


def check_table_setup(command: AnyStreamCommand, config: HouseConfig) -> None:
    """Reject a game that is neither shipped nor configured, and rounds that are too short.

    Clients must not be able to name files.
    """
    if isinstance(command, EstablishTable):
        known = {*shipped_games(), *(table.game for table in config.tables.values())}
        if command.game not in known:
            raise HttpProblem(404, "unknown/name", kind="game", name=command.game, nearest="")
        require_betting_time(command.dealt_by_house, config.policies.shortest_betting_seconds)
