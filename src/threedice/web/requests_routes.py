"""Requests: what needs a second person is asked for here, and done when he agrees.

What is kept is the command with its sender; who approves is put in when he does, from his own
session. It is then carried out in the sender's name under the request's own key, so once.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.people import RequestRefused, Role
from threedice.people.requests import Request, State
from threedice.table.commands import Actor
from threedice.table.rules import SUPERVISORS
from threedice.web.addresses import TableId
from threedice.web.answering import Operation, Visit, in_thread, operation
from threedice.web.authorisation import SECOND_PERSON, roles_at
from threedice.web.commands import Done, carry_out, check_rate
from threedice.web.knowing import table_and_game
from threedice.web.problems import Turned
from threedice.web.reading import table_command
from threedice.web.visiting import Visitor

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.web.replying import Reply

_NOBODY: Final = Actor(id="", role="supervisor")
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
    state: State
    decided_by: str
    decided: int
    note: str


class AtTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """At which table; at all, where nothing is said."""

    table: TableId | None = None


@operation(
    "open-request",
    "POST",
    "/api/tables/{table}/requests",
    body=RequestForm,
    answer=RequestView,
    status=201,
    problems=(404, 409, 429, 503),
)
async def open_request(visit: Visit) -> RequestView:
    """Ask for something that a second person has to approve."""
    table, said = visit.path["table"], dict(visit.body.command)
    check_rate(visit)
    kind = str(said.get("type"))
    field = SECOND_PERSON.get(kind)
    if field is None:
        raise InvalidInput(f"no second person is needed for {kind[:40]}; send it as a command")
    if said.get(field) is not None:
        raise Turned(403, "door/second-person")
    _, game = await table_and_game(visit.context, table)
    command = table_command(visit.who, table, said, _NOBODY)
    kept = msgspec.to_builtins(command)
    del kept[field]
    request = await in_thread(
        visit.context.people.requests.open,
        visit.account,
        table,
        msgspec.json.encode(kept),
        visit.body.reason,
        roles=_approvers(kind, game),
    )
    return _view(request, visit.who.account.name)


@operation("list-requests", "GET", "/api/requests", query=AtTable, answer=list[RequestView])
async def list_requests(visit: Visit) -> list[RequestView]:
    """List what waits for a second person, the oldest first."""
    found = await in_thread(visit.context.people.requests.pending, visit.query.table)
    return [await _named(visit, each) for each in found]


@operation("show-request", "GET", "/api/requests/{request}", answer=RequestView, problems=(404,))
async def show_request(visit: Visit) -> RequestView:
    """Show a request and what became of it."""
    request = await in_thread(visit.context.people.requests.get, visit.path["request"])
    return await _named(visit, request)


@operation(
    "approve-request",
    "POST",
    "/api/requests/{request}/approve",
    body=NoteForm,
    answer=Done,
    problems=(404, 409, 429, 503),
)
async def approve_request(visit: Visit) -> Reply:
    """Approve a request of somebody else; what was asked for is done at once.

    Where it could not be, whoever approved may approve again until the request expires.
    """
    arrived, requests = perf_counter(), visit.context.people.requests
    check_rate(visit)
    request = await in_thread(requests.get, visit.path["request"])
    second = _second(visit.who, request)
    asker = await _asker(visit, request)
    said = msgspec.json.decode(request.command)
    command = table_command(asker, request.table, said, second)
    if not _approved_before(visit, request):
        await in_thread(requests.approve, request.id, visit.account, visit.body.note)
    key = f"request/{request.id}"
    context, account = visit.context, request.account
    return await carry_out(
        context, visit.who, request.table, command, key, arrived, account=account
    )


@operation(
    "decline-request",
    "POST",
    "/api/requests/{request}/decline",
    body=NoteForm,
    answer=RequestView,
    problems=(404, 409),
)
async def decline_request(visit: Visit) -> RequestView:
    """Decline a request of somebody else."""
    requests = visit.context.people.requests
    request = await in_thread(requests.get, visit.path["request"])
    _second(visit.who, request)
    declined = await in_thread(requests.decline, request.id, visit.account, visit.body.note)
    return await _named(visit, declined)


@operation(
    "withdraw-request",
    "POST",
    "/api/requests/{request}/withdraw",
    answer=RequestView,
    problems=(404, 409),
)
async def withdraw_request(visit: Visit) -> RequestView:
    """Take one's own request back."""
    requests = visit.context.people.requests
    withdrawn = await in_thread(requests.withdraw, visit.path["request"], visit.account)
    return _view(withdrawn, visit.who.account.name)


def _approvers(kind: str, game: Game) -> tuple[str, ...]:
    """Return who may be the second person, as the rules of the game have it."""
    rule = game.facts.irregularities.get("wrong-entry")
    if kind == "AmendResult" and rule is not None and rule.supervised_by:
        return tuple(role for role in rule.supervised_by if role in SUPERVISORS)
    return SUPERVISORS


def _second(visitor: Visitor, request: Request) -> Actor:
    """Return who decides, in a role that he has at the table and that may; nobody for himself."""
    if visitor.account.id == request.account:
        raise RequestRefused("own", "nobody decides on a request of his own")
    for role in roles_at(visitor, request.table):
        if role in request.roles and role in SUPERVISORS:
            return Actor(id=visitor.account.id, role=role)
    raise RequestRefused("role", f"this needs one of: {', '.join(request.roles)}")


async def _asker(visit: Visit, request: Request) -> Visitor:
    """Return whoever asked, as he stands now: he may have lost the right to ask meanwhile."""
    context = visit.context
    account = await in_thread(context.people.accounts.get, request.account)
    if not account.enabled:
        raise RequestRefused("disabled", "whoever asked for this is disabled")
    return Visitor(account, "", None, "open", context.posts.of(account.id))


def _approved_before(visit: Visit, request: Request) -> bool:
    """Tell whether the same person approved it before, and it may still be carried out."""
    if request.state != "approved" or request.decided_by != visit.account:
        return False
    if visit.context.people.records.clock() >= request.expires:
        raise RequestRefused("expired", "this request has expired; it may be made again")
    return True


async def _named(visit: Visit, request: Request) -> RequestView:
    account = await in_thread(visit.context.people.accounts.get, request.account)
    return _view(request, account.name)


def _view(request: Request, name: str) -> RequestView:
    return RequestView(
        id=request.id,
        account=request.account,
        name=name,
        table=request.table,
        command=msgspec.json.decode(request.command),
        command_hash=request.command_hash,
        reason=request.reason,
        roles=request.roles,
        opened=request.opened,
        expires=request.expires,
        state=request.state,
        decided_by=request.decided_by,
        decided=request.decided,
        note=request.note,
    )


REQUEST_OPERATIONS: Final[tuple[Operation, ...]] = (
    open_request,
    list_requests,
    show_request,
    approve_request,
    decline_request,
    withdraw_request,
)
