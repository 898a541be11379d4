"""Requests for commands that need the approval of a second person.

A request stores the command with its sender and without the second person, who is filled in from
the approver's own session. An approved command is executed in the sender's name under an
idempotency key made from the request's id, so at most once.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import JSONBody

from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import COMMANDS
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import problem_responses
from threedice.api.http.requests import (
    HouseRequest,
    OpaqueId,
    PlayerId,
    TableId,
)
from threedice.api.routes.commands import (
    ACCOUNT_COMMANDS,
    TABLE_COMMANDS,
    CommandResultView,
    authority_check,
    build_account_command,
    build_table_command,
    check_currency,
    check_rate_limit,
    check_table_setup,
    execute_command,
    json_response,
    name_approvers,
)
from threedice.api.routes.request_queries import (
    ACCOUNT_PREFIX,
    PLACEHOLDER_APPROVER,
    RACK_KEY,
    ROUND_KEY,
    RequestView,
    build_requested_command,
    check_round,
    load_requester,
    place_of,
    request_view,
    require_approver,
)
from threedice.api.routes.tables import require_table
from threedice.errors import InvalidInput, Refusal
from threedice.house.authority import (
    AuthorityRow,
    rack_concerned,
    refuse,
    roles_to_approve,
    round_concerned,
)
from threedice.house.codec import tag_of
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.identity import ApprovalRefused
from threedice.identity.approval.approvals import ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from threedice.facts import CommandFacts


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command that needs a second person, without that person, and the reason for it."""

    command: dict[str, Any]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class NoteForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A note on the decision about a request."""

    note: Annotated[str, msgspec.Meta(max_length=500)] = ""


class AuthorityView(msgspec.Struct, frozen=True):
    """The authority over each command: alone, with a second person, and up to which amount."""

    rows: list[AuthorityRow]
    staff_may_play: bool


@get("/api/authority", name="show-authority")
async def show_authority(context: Context) -> AuthorityView:
    """Show who may send each command alone, who needs a second person, and up to which amount."""
    return AuthorityView(context.authority.rows(), context.config.policies.staff_may_play)


@post(
    "/api/tables/{table:str}/requests", name="open-request", responses=problem_responses(409, 429)
)
async def open_request(
    context: Context,
    caller: CurrentCaller,
    request: HouseRequest,
    table: TableId,
    data: JSONBody[RequestForm],
) -> RequestView:
    """Request a command that needs the approval of a second person."""
    check_rate_limit(request)
    fields = dict(data.command)
    try:
        facts = _require_approvable(fields, TABLE_COMMANDS)
    except Refusal as refusal:
        raise await name_approvers(context, table, fields, refusal) from None
    command = build_table_command(caller, table, fields, PLACEHOLDER_APPROVER)
    if not isinstance(command, EstablishTable):
        await require_table(context, table)
    check_table_setup(command, context.config)
    check_currency(command, context.config)
    await _check_authority(context, caller, command, table)
    handler = context.house.command_handler
    state = await handler.table(table)
    game = handler.game(state)
    roles, round_number = roles_to_approve(facts, game), round_concerned(command, game, state)
    moment = {ROUND_KEY: round_number, RACK_KEY: rack_concerned(command, state)}
    return await _store_request(context, caller, table, command, data.reason, roles, moment)


@post(
    "/api/accounts/{player:str}/requests",
    name="open-account-request",
    responses=problem_responses(409, 429),
)
async def open_account_request(
    context: Context,
    caller: CurrentCaller,
    request: HouseRequest,
    player: PlayerId,
    data: JSONBody[RequestForm],
) -> RequestView:
    """Request a command for a player's account that needs the approval of a second person."""
    check_rate_limit(request)
    fields = dict(data.command)
    facts = _require_approvable(fields, ACCOUNT_COMMANDS)
    command = build_account_command(caller, player, fields, PLACEHOLDER_APPROVER.id)
    await _check_authority(context, caller, command, None)
    place = f"{ACCOUNT_PREFIX}{player}"
    return await _store_request(context, caller, place, command, data.reason, facts.approvers)


def _require_approvable(fields: dict[str, Any], known: Container[str]) -> CommandFacts:
    """Return the facts of a command that a second person can approve, and that names none yet."""
    kind = str(fields.get("type"))
    facts = COMMANDS[kind].facts if kind in known else None
    if facts is None or not facts.second_person:
        raise InvalidInput(f"{kind[:40]} does not need a second person; send it as a command")
    if fields.get(facts.second_person) is not None:
        raise refuse("door/second-person", allowed=", ".join(facts.approvers))
    return facts


async def _check_authority(
    context: Context, sender: Caller, command: Any, table: str | None
) -> None:
    """Reject a command now that its execution would refuse, although a second person approves."""
    handler = context.house.command_handler
    check = await authority_check(context, sender, command, table)
    check(await (handler.account(command.player) if table is None else handler.table(table)))


async def _store_request(
    context: Context,
    caller: Caller,
    place: str,
    command: AnyStreamCommand,
    reason: str,
    roles: Iterable[str],
    moment: Mapping[str, Any] = MappingProxyType({}),
) -> RequestView:
    """Store a request with its command but without the second person.

    `moment` has the round and the rack that the command concerns, None where it concerns none.
    """
    stored_command = msgspec.to_builtins(command)
    del stored_command[command.facts.second_person]
    stored_command |= {key: value for key, value in moment.items() if value is not None}
    approval = await context.run_blocking(
        context.identity.approvals.open,
        caller.account.id,
        place,
        msgspec.json.encode(stored_command),
        reason,
        roles=roles,
    )
    return await request_view(context, caller, approval)


@post(
    "/api/requests/{request_id:str}/approve",
    name="approve-request",
    status_code=200,
    responses=problem_responses(409, 429),
)
async def approve_request(
    context: Context,
    caller: CurrentCaller,
    request: HouseRequest,
    request_id: OpaqueId,
    data: JSONBody[NoteForm],
) -> Response[CommandResultView]:
    """Approve another person's request and execute its command at once.

    A command that would be refused is not approved: its request stays pending. If its execution
    fails later, the same approver may approve again until the request expires. A command that
    concerned a round or counted a rack is refused once it would affect another one.
    """
    started_at, approvals = context.house.runtime.monotonic(), context.identity.approvals
    check_rate_limit(request)
    approval = await context.run_blocking(approvals.get, request_id)
    approver = require_approver(caller, approval)
    requester = await load_requester(context, approval)
    command = await build_requested_command(context, requester, approval, approver)
    table, _ = place_of(approval)

    check_this_round = partial(check_round, context, approval, command)
    key = f"request/{approval.id}"
    if not _is_retry(context, caller, approval):
        await _check_authority(context, requester, command, table)
        handler = context.house.command_handler
        if table is not None:
            check_this_round(await handler.table(table))
        if approval.state == "pending":
            await handler.check(command, table=table or "", account=requester.account.id, key=key)
        approve, session = approvals.approve, caller.session_id
        await context.run_blocking(
            approve, approval.id, caller.account.id, data.note, session=session
        )
    result = await execute_command(
        context,
        caller,
        command,
        key,
        table=table,
        sender=requester,
        precondition=None if table is None else check_this_round,
    )
    context.metrics.count_accepted(tag_of(command), started_at)
    return json_response(result)


@post(
    "/api/requests/{request_id:str}/decline",
    name="decline-request",
    status_code=200,
    responses=problem_responses(409),
)
async def decline_request(
    context: Context, caller: CurrentCaller, request_id: OpaqueId, data: JSONBody[NoteForm]
) -> RequestView:
    """Decline another person's request."""
    approvals = context.identity.approvals
    approval = await context.run_blocking(approvals.get, request_id)
    require_approver(caller, approval)
    decline, session = approvals.decline, caller.session_id
    declined = await context.run_blocking(
        decline, approval.id, caller.account.id, data.note, session=session
    )
    return await request_view(context, caller, declined)


@post(
    "/api/requests/{request_id:str}/withdraw",
    name="withdraw-request",
    status_code=200,
    responses=problem_responses(409),
)
async def withdraw_request(
    context: Context, caller: CurrentCaller, request_id: OpaqueId
) -> RequestView:
    """Withdraw the caller's own request."""
    withdraw = context.identity.approvals.withdraw
    withdrawn = await context.run_blocking(withdraw, request_id, caller.account.id)
    return await request_view(context, caller, withdrawn)


def _is_retry(context: Context, caller: Caller, approval: ApprovalRequest) -> bool:
    """Return whether the caller has approved this request before; raise if it has expired since."""
    if approval.state != "approved" or approval.decided_by != caller.account.id:
        return False
    if context.identity.context.clock() >= approval.expires:
        raise ApprovalRefused("expired", "this request has expired; open a new one")
    return True
