"""Requests: what needs a second person is asked for here, and done when he agrees.

What is kept is the command with its sender; who approves is put in when he does, from his own
session. It is then carried out in the sender's name under the request's own key, so once.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import SECOND_PERSON_FIELDS, roles_at
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
from threedice.identity import ApprovalRefused, Role
from threedice.identity.approvals import ApprovalRequest, ApprovalState
from threedice.table.commands import Actor
from threedice.table.rules import SUPERVISORS

if TYPE_CHECKING:
    from threedice.api.http.responses import HttpResponse
    from threedice.rulebook import Game

_PLACEHOLDER_APPROVER: Final = Actor(id="", role="supervisor")
"""Stands where the second person will, while a request is looked at."""


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is asked for, without the second person, and why."""

    command: dict[str, Any]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class NoteForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What somebody has to say about a decision."""

    note: Annotated[str, msgspec.Meta(max_length=500)] = ""


class RequestView(msgspec.Struct, frozen=True):
    """A request: who asks for which command, why, who may decide, and what became of it.

    `name` is what whoever asks is called: the second person should know who it is.
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
    """At which table; at all, where nothing is said."""

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
    """Ask for something that a second person has to approve."""
    table, fields = request.path_params["table"], dict(request.body.command)
    check_rate_limit(request)
    kind = str(fields.get("type"))
    field = SECOND_PERSON_FIELDS.get(kind)
    if field is None:
        raise InvalidInput(f"no second person is needed for {kind[:40]}; send it as a command")
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
    """List what waits for a second person, the oldest first."""
    found = await run_in_thread(request.context.identity.approvals.pending, request.query.table)
    return [await _view_with_name(request, each) for each in found]


@operation("show-request", "GET", "/api/requests/{request}", response=RequestView, problems=(404,))
async def show_request(request: RequestContext) -> RequestView:
    """Show a request and what became of it."""
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
    """Approve a request of somebody else; what was asked for is done at once.

    Where it could not be, whoever approved may approve again until the request expires.
    """
    arrived, requests = perf_counter(), request.context.identity.approvals
    check_rate_limit(request)
    approval = await run_in_thread(requests.get, request.path_params["request"])
    approver = _require_approver(request.caller, approval)
    requester = await _load_requester(request, approval)
    fields = msgspec.json.decode(approval.command)
    command = build_table_command(requester, approval.table, fields, approver)
    if not _is_approved_before(request, approval):
        await run_in_thread(requests.approve, approval.id, request.account_id, request.body.note)
    key = f"request/{approval.id}"
    context, account = request.context, approval.account
    return await execute_command(
        context, request.caller, approval.table, command, key, arrived, account_id=account
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
    """Decline a request of somebody else."""
    requests = request.context.identity.approvals
    approval = await run_in_thread(requests.get, request.path_params["request"])
    _require_approver(request.caller, approval)
    declined = await run_in_thread(
        requests.decline, approval.id, request.account_id, request.body.note
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
    """Take one's own request back."""
    requests = request.context.identity.approvals
    withdrawn = await run_in_thread(
        requests.withdraw, request.path_params["request"], request.account_id
    )
    return _request_view(withdrawn, request.caller.account.name)


def _approver_roles(kind: str, game: Game) -> tuple[str, ...]:
    """Return who may be the second person, as the rules of the game have it."""
    rule = game.facts.irregularities.get("wrong-entry")
    if kind == "AmendResult" and rule is not None and rule.supervised_by:
        return tuple(role for role in rule.supervised_by if role in SUPERVISORS)
    return SUPERVISORS


def _require_approver(caller: Caller, approval: ApprovalRequest) -> Actor:
    """Return who decides, in a role that he has at the table and that may; nobody for himself."""
    if caller.account.id == approval.account:
        raise ApprovalRefused("own", "nobody decides on a request of his own")
    for role in roles_at(caller, approval.table):
        if role in approval.roles and role in SUPERVISORS:
            return Actor(id=caller.account.id, role=role)
    raise ApprovalRefused("role", f"this needs one of: {', '.join(approval.roles)}")


async def _load_requester(request: RequestContext, approval: ApprovalRequest) -> Caller:
    """Return whoever asked, as he stands now: he may have lost the right to ask meanwhile."""
    context = request.context
    account = await run_in_thread(context.identity.accounts.get, approval.account)
    if not account.enabled:
        raise ApprovalRefused("disabled", "whoever asked for this is disabled")
    return Caller(account, "", None, "open", context.assignments.current(account.id))


def _is_approved_before(request: RequestContext, approval: ApprovalRequest) -> bool:
    """Tell whether the same person approved it before, and it may still be carried out."""
    if approval.state != "approved" or approval.decided_by != request.account_id:
        return False
    if request.context.identity.context.clock() >= approval.expires:
        raise ApprovalRefused("expired", "this request has expired; it may be made again")
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


REQUEST_OPERATIONS: Final[tuple[Operation, ...]] = (
    open_request,
    list_requests,
    show_request,
    approve_request,
    decline_request,
    withdraw_request,
)
