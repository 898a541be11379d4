"""Requests for commands that need a second person: list them, search those that were decided, and
show what they would move.

A request stores the command with its sender and without the second person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import get

from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import can_use, roles_at
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import problem_responses
from threedice.api.http.requests import (
    LineCount,
    OpaqueId,
    OptionalTable,
    OptionalTime,
    SearchText,
)
from threedice.api.routes.commands import (
    build_account_command,
    build_table_command,
    fill_in_issued_rack,
)
from threedice.api.views import build_view
from threedice.facts import APPROVERS
from threedice.house.authority import rack_concerned, refuse, round_concerned
from threedice.house.commands import AnyStreamCommand
from threedice.house.reports.effect import effect_on_players
from threedice.house.stream_state import account_stream, table_stream
from threedice.identity import ApprovalRefused, Role
from threedice.identity.approval.approvals import ApprovalRequest, ApprovalState
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from threedice.house.stream_state import HouseTable

PLACEHOLDER_APPROVER: Final = Actor(id="-", role="supervisor")
"""Stands in for the second person while a new request is validated."""

ACCOUNT_PREFIX: Final = "account/"
"""Marks the place of a request for a player's account; table ids contain no slash."""

ROUND_KEY: Final = "at_round"
"""The round that a stored command concerns, among its fields; no command has a field like this."""

RACK_KEY: Final = "at_rack"
"""The chips of the rack that a stored command counts, among its fields, for nobody to see."""


MAX_REQUESTS_SEARCHED: Final = 2_000
"""How many decided requests one call searches."""


class RequestView(msgspec.Struct, frozen=True):
    """A request: the command, its sender, the reason, the roles that may decide, and its state.

    `name` is the sign-in name of the requester, so that the second person knows who it is, and
    `decided_by_name` that of the person who decided. `table` is `account/` and the player's id for
    a command to a player's account. `round` is the round that the command concerns, 0 if none was
    in play; None if it concerns no round or names its rounds. `may_decide` says whether the caller
    may decide it now.
    """

    id: str
    account: str
    name: str
    table: str
    round: int | None
    command: dict[str, Any]
    command_hash: str
    reason: str
    roles: tuple[Role, ...]
    opened: int
    expires: int
    state: ApprovalState
    decided_by: str
    decided_by_name: str
    decided: int
    note: str
    may_decide: bool


class DecidedRequests(msgspec.Struct, frozen=True):
    """Requests that are no longer pending, the newest first.

    `older` is the time before which to continue; None if there are no older ones.
    """

    requests: list[RequestView]
    older: int | None


class PlayerEffect(msgspec.Struct, frozen=True):
    """A player, and how much more they gain if a request is approved; negative if less."""

    player: str
    amount: int


class RequestEffect(msgspec.Struct, frozen=True):
    """The effect of a pending request on players' money and chips, as of now.

    `players` has those whose amount changes. If the round in play has a called result, the payments
    that are due by it count, before and after. `house` is what the house gains.
    """

    players: list[PlayerEffect]
    house: int


@get("/api/requests", name="list-requests")
async def list_requests(
    context: Context, caller: CurrentCaller, table: OptionalTable = None
) -> list[RequestView]:
    """List the pending requests of a table or of all tables, the oldest first."""
    pending = await context.run_blocking(context.identity.approvals.pending, table)
    return [await request_view(context, caller, approval) for approval in pending]


@get("/api/requests/decided", name="list-decided-requests")
async def list_decided_requests(
    context: Context,
    caller: CurrentCaller,
    text: SearchText = "",
    person: SearchText = "",
    table: OptionalTable = None,
    before: OptionalTime = None,
    most: LineCount = 50,
) -> DecidedRequests:
    """Search the requests that were approved, declined or withdrawn, or that expired.

    `person` is a part of the name of the requester or of the person who decided; `text` a part of
    these names, of the player's, the table, the command, the reason or the note. One call searches
    a limited number of requests, and continues from `older`.
    """

    def search() -> tuple[list[ApprovalRequest], int | None]:
        names = {each.id: each.name for each in context.identity.accounts.all()}
        decided = context.identity.approvals.decided
        found: list[ApprovalRequest] = []
        searched = decided(before, limit=MAX_REQUESTS_SEARCHED)
        for approval in searched:
            if _matches(approval, names, text, person, table):
                found.append(approval)
                if len(found) == most:
                    break
        else:
            is_end = len(searched) < MAX_REQUESTS_SEARCHED
            return found, None if is_end else searched[-1].opened
        return found, found[-1].opened

    found, older = await context.run_blocking(search)
    views = [await request_view(context, caller, approval) for approval in found]
    return DecidedRequests(views, older)


def _matches(
    approval: ApprovalRequest, names: dict[str, str], text: str, person: str, table: str | None
) -> bool:
    if table not in (None, approval.table):
        return False
    people = [names.get(each, "") for each in (approval.account, approval.decided_by)]
    if not any(person.casefold() in each.casefold() for each in people):
        return False
    command, _ = decode_command(approval)
    player = str(command.get("player", ""))
    texts = (*people, approval.table, approval.reason, approval.note, str(command["type"]))
    return text.casefold() in "\n".join((*texts, player, names.get(player, ""))).casefold()


@get("/api/requests/{request_id:str}", name="show-request")
async def show_request(
    context: Context, caller: CurrentCaller, request_id: OpaqueId
) -> RequestView:
    """Show a request and its state."""
    approval = await context.run_blocking(context.identity.approvals.get, request_id)
    return await request_view(context, caller, approval)


@get(
    "/api/requests/{request_id:str}/effect",
    name="show-request-effect",
    responses=problem_responses(409),
)
async def show_request_effect(context: Context, request_id: OpaqueId) -> RequestEffect:
    """Show the money that a pending request would move, or why it would be refused now."""
    approval = await context.run_blocking(context.identity.approvals.get, request_id)
    if approval.state != "pending":
        raise ApprovalRefused("decided", f"this request is already {approval.state}")
    requester = await load_requester(context, approval)
    approver = msgspec.structs.replace(PLACEHOLDER_APPROVER, role=approval.roles[0])
    command = await build_requested_command(context, requester, approval, approver)
    table, player = place_of(approval)
    handler = context.house.command_handler
    key = f"request/{approval.id}"
    decision = await handler.check(
        command, table=table or "", account=requester.account.id, key=key
    )
    name = account_stream(player) if table is None else table_stream(table)
    (stream,) = await handler.streams.get([name])
    game = None if table is None else handler.game(stream.state)
    if table is not None:
        check_round(context, approval, command, stream.state)
    effect = effect_on_players(game, stream.state, decision)
    players = [PlayerEffect(player, amount) for player, amount in effect.items()]
    return RequestEffect(players, -sum(effect.values()))


async def request_view(context: Context, caller: Caller, approval: ApprovalRequest) -> RequestView:
    """Return a request as a caller sees it."""
    accounts = context.identity.accounts
    requester = await context.run_blocking(accounts.get, approval.account)
    decider = (
        await context.run_blocking(accounts.get, approval.decided_by)
        if approval.decided_by
        else None
    )
    command, round_number = decode_command(approval)
    return build_view(
        RequestView,
        approval,
        name=requester.name,
        decided_by_name=decider.name if decider else "",
        command=command,
        round=round_number,
        may_decide=await _may_decide(context, caller, approval),
    )


async def _may_decide(context: Context, caller: Caller, approval: ApprovalRequest) -> bool:
    if approval.state != "pending" or not can_use(caller, "approve-request"):
        return False
    try:
        require_approver(caller, approval)
    except ApprovalRefused:
        return False
    may_decide = context.identity.approvals.may_decide
    return await context.run_blocking(may_decide, approval, caller.account.id, caller.session_id)


# --- stored requests ----------------------------------------------------------------------------


def decode_command(approval: ApprovalRequest) -> tuple[dict[str, Any], int | None]:
    """Return the fields of a request's command, and the round that it concerns, if any."""
    fields: dict[str, Any] = msgspec.json.decode(approval.command)
    fields.pop(RACK_KEY, None)
    return fields, fields.pop(ROUND_KEY, None)


async def build_requested_command(
    context: Context, requester: Caller, approval: ApprovalRequest, approver: Actor
) -> AnyStreamCommand:
    """Return the command of a request with its second person and what the house fills in."""
    fields, _ = decode_command(approval)
    table, player = place_of(approval)
    if table is None:
        return build_account_command(requester, player, fields, approver.id)
    command = build_table_command(requester, table, fields, approver)
    return await fill_in_issued_rack(context, table, command)


def check_round(
    context: Context, approval: ApprovalRequest, command: AnyStreamCommand, state: HouseTable
) -> None:
    """Refuse a command that concerns another round than when it was requested, or another rack."""
    _, round_number = decode_command(approval)
    game = context.house.command_handler.game(state)
    if round_concerned(command, game, state) != round_number:
        raise refuse("request/other-round")
    if rack_concerned(command, state) != msgspec.json.decode(approval.command).get(RACK_KEY):
        raise refuse("request/other-rack")


def place_of(approval: ApprovalRequest) -> tuple[str | None, str]:
    """Return the table of a request, or None and the player whose account it is for."""
    place = approval.table
    if place.startswith(ACCOUNT_PREFIX):
        return None, place.removeprefix(ACCOUNT_PREFIX)
    return place, ""


def require_approver(caller: Caller, approval: ApprovalRequest) -> Actor:
    """Return the caller as the actor who decides, in a role at the table that may.

    Raise `ApprovalRefused` for the requester, and for callers without such a role.
    """
    if caller.account.id == approval.account:
        raise ApprovalRefused("own", "a request is decided by someone other than its requester")
    for role in roles_at(caller, place_of(approval)[0]):
        if role in approval.roles and role in APPROVERS:
            return Actor(id=caller.account.id, role=role)
    raise ApprovalRefused("role", f"this needs one of: {', '.join(approval.roles)}")


async def load_requester(context: Context, approval: ApprovalRequest) -> Caller:
    """Return the requester with their current permissions, which may have been revoked since."""
    account = await context.run_blocking(context.identity.accounts.get, approval.account)
    if not account.enabled:
        raise ApprovalRefused("disabled", "the requester's account is disabled")
    return Caller(account, "", None, "open", context.assignments.current(account.id))
