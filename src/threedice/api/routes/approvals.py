"""Requests for commands that need the approval of a second person.

A request stores the command with its sender and without the second person, who is filled in from
the approver's own session. An approved command is executed in the sender's name under an
idempotency key made from the request's id, so at most once.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import COMMANDS, roles_at
from threedice.api.context import require_table_and_game
from threedice.api.http.limits import run_in_thread
from threedice.api.http.operations import Operation, RequestContext, TableId, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.routes.commands import (
    CommandResultView,
    build_table_command,
    check_rate_limit,
    execute_command,
)
from threedice.errors import InvalidInput
from threedice.facts import SUPERVISORS
from threedice.identity import ApprovalRefused, Role
from threedice.identity.approvals import ApprovalRequest, ApprovalState
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from threedice.api.http.responses import HttpResponse
    from threedice.rulebook import Game

_PLACEHOLDER_APPROVER: Final = Actor(id="", role="supervisor")
"""Stands in for the second person while a new request is validated."""


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command that needs a second person, without that person, and the reason for it."""

    command: dict[str, Any]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class NoteForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A note on the decision about a request."""

    note: Annotated[str, msgspec.Meta(max_length=500)] = ""


class RequestView(msgspec.Struct, frozen=True):
    """A request: the command, its sender, the reason, the roles that may decide, and its state.

    `name` is the sign-in name of the requester, so that the second person knows who it is.
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


class RequestsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table of the requests to list; all tables by default."""

    table: TableId | None = None


@operation(
    "open-request",
    "POST",
    "/api/tables/{table}/requests",
    body=RequestForm,
    response=RequestView,
    status=201,
    problems=(404, 409, 429, 503),
)
async def open_request(request: RequestContext) -> RequestView:
    """Request a command that needs the approval of a second person."""
    table, fields = request.path_params["table"], dict(request.body.command)
    check_rate_limit(request)
    kind = str(fields.get("type"))
    field = COMMANDS[kind].facts.second_person if kind in COMMANDS else ""
    if not field:
        raise InvalidInput(f"{kind[:40]} does not need a second person; send it as a command")
    if fields.get(field) is not None:
        raise HttpProblem(403, "door/second-person")
    _, game = await require_table_and_game(request.context, table)
    command = build_table_command(request.caller, table, fields, _PLACEHOLDER_APPROVER)
    stored_command = msgspec.to_builtins(command)
    del stored_command[field]
    approval = await run_in_thread(
        request.context.identity.approvals.open,
        request.account_id,
        table,
        msgspec.json.encode(stored_command),
        request.body.reason,
        roles=_approver_roles(kind, game),
    )
    return _request_view(approval, request.caller.account.name)


@operation("list-requests", "GET", "/api/requests", query=RequestsQuery, response=list[RequestView])
async def list_requests(request: RequestContext) -> list[RequestView]:
    """List the pending requests, the oldest first."""
    pending = await run_in_thread(request.context.identity.approvals.pending, request.query.table)
    return [await _view_with_name(request, approval) for approval in pending]


@operation("show-request", "GET", "/api/requests/{request}", response=RequestView, problems=(404,))
async def show_request(request: RequestContext) -> RequestView:
    """Show a request and its state."""
    approval = await run_in_thread(
        request.context.identity.approvals.get, request.path_params["request"]
    )
    return await _view_with_name(request, approval)


@operation(
    "approve-request",
    "POST",
    "/api/requests/{request}/approve",
    body=NoteForm,
    response=CommandResultView,
    problems=(404, 409, 429, 503),
)
async def approve_request(request: RequestContext) -> HttpResponse:
    """Approve another person's request and execute its command at once.

    If the command fails, the same approver may approve again until the request expires.
    """
    started_at, approvals = perf_counter(), request.context.identity.approvals
    check_rate_limit(request)
    approval = await run_in_thread(approvals.get, request.path_params["request"])
    approver = _require_approver(request.caller, approval)
    requester = await _load_requester(request, approval)
    fields = msgspec.json.decode(approval.command)
    command = build_table_command(requester, approval.table, fields, approver)
    if not _is_retry(request, approval):
        await run_in_thread(approvals.approve, approval.id, request.account_id, request.body.note)
    return await execute_command(
        request.context,
        request.caller,
        approval.table,
        command,
        f"request/{approval.id}",
        started_at,
        account_id=approval.account,
    )


@operation(
    "decline-request",
    "POST",
    "/api/requests/{request}/decline",
    body=NoteForm,
    response=RequestView,
    problems=(404, 409),
)
async def decline_request(request: RequestContext) -> RequestView:
    """Decline another person's request."""
    approvals = request.context.identity.approvals
    approval = await run_in_thread(approvals.get, request.path_params["request"])
    _require_approver(request.caller, approval)
    declined = await run_in_thread(
        approvals.decline, approval.id, request.account_id, request.body.note
    )
    return await _view_with_name(request, declined)


@operation(
    "withdraw-request",
    "POST",
    "/api/requests/{request}/withdraw",
    response=RequestView,
    problems=(404, 409),
)
async def withdraw_request(request: RequestContext) -> RequestView:
    """Withdraw the caller's own request."""
    approvals = request.context.identity.approvals
    withdrawn = await run_in_thread(
        approvals.withdraw, request.path_params["request"], request.account_id
    )
    return _request_view(withdrawn, request.caller.account.name)


def _approver_roles(kind: str, game: Game) -> tuple[str, ...]:
    """Return the roles that may approve a kind of command under the game's rules."""
    rule = game.facts.irregularities.get("wrong-entry")
    if kind == "AmendResult" and rule is not None and rule.supervised_by:
        return tuple(role for role in rule.supervised_by if role in SUPERVISORS)
    return SUPERVISORS


def _require_approver(caller: Caller, approval: ApprovalRequest) -> Actor:
    """Return the caller as the actor who decides, in a role at the table that may.

    Raise `ApprovalRefused` for the requester, and for callers without such a role.
    """
    if caller.account.id == approval.account:
        raise ApprovalRefused("own", "a request is decided by someone other than its requester")
    for role in roles_at(caller, approval.table):
        if role in approval.roles and role in SUPERVISORS:
            return Actor(id=caller.account.id, role=role)
    raise ApprovalRefused("role", f"this needs one of: {', '.join(approval.roles)}")


async def _load_requester(request: RequestContext, approval: ApprovalRequest) -> Caller:
    """Return the requester with their current permissions, which may have been revoked since."""
    context = request.context
    account = await run_in_thread(context.identity.accounts.get, approval.account)
    if not account.enabled:
        raise ApprovalRefused("disabled", "the requester's account is disabled")
    return Caller(account, "", None, "open", context.assignments.current(account.id))


def _is_retry(request: RequestContext, approval: ApprovalRequest) -> bool:
    """Return whether the caller has approved this request before; raise if it has expired since."""
    if approval.state != "approved" or approval.decided_by != request.account_id:
        return False
    if request.context.identity.context.clock() >= approval.expires:
        raise ApprovalRefused("expired", "this request has expired; open a new one")
    return True


async def _view_with_name(request: RequestContext, approval: ApprovalRequest) -> RequestView:
    account = await run_in_thread(request.context.identity.accounts.get, approval.account)
    return _request_view(approval, account.name)


def _request_view(approval: ApprovalRequest, name: str) -> RequestView:
    return RequestView(
        id=approval.id,
        account=approval.account,
        name=name,
        table=approval.table,
        command=msgspec.json.decode(approval.command),
        command_hash=approval.command_hash,
        reason=approval.reason,
        roles=approval.roles,
        opened=approval.opened,
        expires=approval.expires,
        state=approval.state,
        decided_by=approval.decided_by,
        decided=approval.decided,
        note=approval.note,
    )


APPROVAL_OPERATIONS: Final[tuple[Operation, ...]] = (
    open_request,
    list_requests,
    show_request,
    approve_request,
    decline_request,
    withdraw_request,
)
