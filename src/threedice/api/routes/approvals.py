"""Requests for commands that need the approval of a second person.

A request stores the command with its sender and without the second person, who is filled in from
the approver's own session. An approved command is executed in the sender's name under an
idempotency key made from the request's id, so at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from litestar import Response, get, post
from litestar.params import JSONBody

from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import COMMANDS, roles_at
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.limits import run_in_thread
from threedice.api.http.problems import problem_responses
from threedice.api.http.requests import HouseRequest, OpaqueId, OptionalTable, PlayerId, TableId
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
)
from threedice.api.routes.tables import require_table
from threedice.api.views import build_view
from threedice.errors import InvalidInput
from threedice.facts import SUPERVISORS
from threedice.house.authority import AuthorityRow, refuse
from threedice.house.codec import tag_of
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.identity import ApprovalRefused, Role
from threedice.identity.approval.approvals import ApprovalRequest, ApprovalState
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from threedice.facts import CommandFacts
    from threedice.rulebook import Game

_PLACEHOLDER_APPROVER: Final = Actor(id="-", role="supervisor")
"""Stands in for the second person while a new request is validated."""

_ACCOUNT_PREFIX: Final = "account/"
"""Marks the place of a request for a player's account; table ids contain no slash."""


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command that needs a second person, without that person, and the reason for it."""

    command: dict[str, Any]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class NoteForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A note on the decision about a request."""

    note: Annotated[str, msgspec.Meta(max_length=500)] = ""


class RequestView(msgspec.Struct, frozen=True):
    """A request: the command, its sender, the reason, the roles that may decide, and its state.

    `name` is the sign-in name of the requester, so that the second person knows who it is. `table`
    is `account/` and the player's id for a command to a player's account.
    """

    id: str
    account: str
    name: str
    table: str
    command: dict[str, Any]
    command_hash: str
    reason: str
    roles: tuple[Role, ...]
    opened: int
    expires: int
    state: ApprovalState
    decided_by: str
    decided: int
    note: str


class AuthorityView(msgspec.Struct, frozen=True):
    """Who may send each command alone, who with whom, and up to which amount, in minor units."""

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
    facts = _require_approvable(fields, TABLE_COMMANDS)
    command = build_table_command(caller, table, fields, _PLACEHOLDER_APPROVER)
    if not isinstance(command, EstablishTable):
        await require_table(context, table)
    check_table_setup(command, context.config)
    check_currency(command, context.config)
    await _check_authority(context, caller, command, table)
    handler = context.house.command_handler
    roles = _approver_roles(facts, handler.game(await handler.table(table)))
    return await _store_request(context, caller, table, command, data.reason, roles)


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
    command = build_account_command(caller, player, fields, _PLACEHOLDER_APPROVER.id)
    await _check_authority(context, caller, command, None)
    place = f"{_ACCOUNT_PREFIX}{player}"
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
) -> RequestView:
    """Store a request with its command, but without the second person."""
    stored_command = msgspec.to_builtins(command)
    del stored_command[command.facts.second_person]
    approval = await run_in_thread(
        context.identity.approvals.open,
        caller.account.id,
        place,
        msgspec.json.encode(stored_command),
        reason,
        roles=roles,
    )
    return await _request_view(context, approval)


@get("/api/requests", name="list-requests")
async def list_requests(context: Context, table: OptionalTable = None) -> list[RequestView]:
    """List the pending requests of a table or of all tables, the oldest first."""
    pending = await run_in_thread(context.identity.approvals.pending, table)
    return [await _request_view(context, approval) for approval in pending]


@get("/api/requests/{request_id:str}", name="show-request")
async def show_request(context: Context, request_id: OpaqueId) -> RequestView:
    """Show a request and its state."""
    approval = await run_in_thread(context.identity.approvals.get, request_id)
    return await _request_view(context, approval)


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

    If the command fails, the same approver may approve again until the request expires.
    """
    started_at, approvals = context.house.runtime.monotonic(), context.identity.approvals
    check_rate_limit(request)
    approval = await run_in_thread(approvals.get, request_id)
    approver = _require_approver(caller, approval)
    requester = await _load_requester(context, approval)
    fields = msgspec.json.decode(approval.command)
    table, player = _place(approval)
    command: AnyStreamCommand = (
        build_account_command(requester, player, fields, approver.id)
        if table is None
        else build_table_command(requester, table, fields, approver)
    )
    if not _is_retry(context, caller, approval):
        await _check_authority(context, requester, command, table)
        approve, session = approvals.approve, caller.session_id
        await run_in_thread(approve, approval.id, caller.account.id, data.note, session=session)
    key = f"request/{approval.id}"
    result = await execute_command(context, caller, command, key, table=table, sender=requester)
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
    approval = await run_in_thread(approvals.get, request_id)
    _require_approver(caller, approval)
    decline, session = approvals.decline, caller.session_id
    declined = await run_in_thread(
        decline, approval.id, caller.account.id, data.note, session=session
    )
    return await _request_view(context, declined)


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
    withdrawn = await run_in_thread(withdraw, request_id, caller.account.id)
    return await _request_view(context, withdrawn)


def _place(approval: ApprovalRequest) -> tuple[str | None, str]:
    """Return the table of a request, or None and the player whose account it is for."""
    place = approval.table
    if place.startswith(_ACCOUNT_PREFIX):
        return None, place.removeprefix(_ACCOUNT_PREFIX)
    return place, ""


def _approver_roles(facts: CommandFacts, game: Game | None) -> tuple[str, ...]:
    """Return the roles that may approve a command; the game's rules may name fewer."""
    rule = None
    if game is not None and facts.approval_rule:
        rule = game.facts.irregularities.get(facts.approval_rule)
    if rule is not None and rule.supervised_by:
        return tuple(role for role in rule.supervised_by if role in facts.approvers)
    return facts.approvers


def _require_approver(caller: Caller, approval: ApprovalRequest) -> Actor:
    """Return the caller as the actor who decides, in a role at the table that may.

    Raise `ApprovalRefused` for the requester, and for callers without such a role.
    """
    if caller.account.id == approval.account:
        raise ApprovalRefused("own", "a request is decided by someone other than its requester")
    for role in roles_at(caller, _place(approval)[0]):
        if role in approval.roles and role in SUPERVISORS:
            return Actor(id=caller.account.id, role=role)
    raise ApprovalRefused("role", f"this needs one of: {', '.join(approval.roles)}")


async def _load_requester(context: Context, approval: ApprovalRequest) -> Caller:
    """Return the requester with their current permissions, which may have been revoked since."""
    account = await run_in_thread(context.identity.accounts.get, approval.account)
    if not account.enabled:
        raise ApprovalRefused("disabled", "the requester's account is disabled")
    return Caller(account, "", None, "open", context.assignments.current(account.id))


def _is_retry(context: Context, caller: Caller, approval: ApprovalRequest) -> bool:
    """Return whether the caller has approved this request before; raise if it has expired since."""
    if approval.state != "approved" or approval.decided_by != caller.account.id:
        return False
    if context.identity.context.clock() >= approval.expires:
        raise ApprovalRefused("expired", "this request has expired; open a new one")
    return True


async def _request_view(context: Context, approval: ApprovalRequest) -> RequestView:
    account = await run_in_thread(context.identity.accounts.get, approval.account)
    command = msgspec.json.decode(approval.command)
    return build_view(RequestView, approval, name=account.name, command=command)
