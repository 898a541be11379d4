"""Administration of staff and players: accounts, assignments and the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.api.http.limits import run_in_thread, run_limited
from threedice.api.http.operations import OpaqueId, Operation, RequestContext, TableId, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.routes.history import Timestamp
from threedice.identity import Account, Assignment, Role, SecurityEvent

if TYPE_CHECKING:
    from threedice.identity import FirstPassword

RoleList = Annotated[list[Role], msgspec.Meta(min_length=1, max_length=7)]


class NewAccountForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new account: its sign-in name and its roles."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    roles: RoleList


class RolesForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The roles of an account."""

    roles: RoleList


class FirstPasswordView(msgspec.Struct, frozen=True):
    """An account with its first password, which is shown only once and must be changed."""

    account: Account
    password: str


class AssignmentForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A role at a table for a period; without a table, at all tables."""

    account: OpaqueId
    role: Role
    starts: Timestamp
    until: Timestamp
    table: TableId | None = None


class TrailQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Up to `most` events after the number `after`."""

    after: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


# --- accounts -----------------------------------------------------------------------------------


@operation("list-people", "GET", "/api/people", response=list[Account])
async def list_people(request: RequestContext) -> list[Account]:
    """List all accounts."""
    return await run_in_thread(request.context.identity.accounts.all)


@operation(
    "add-person",
    "POST",
    "/api/people",
    body=NewAccountForm,
    response=FirstPasswordView,
    status=201,
    problems=(409,),
)
async def add_person(request: RequestContext) -> FirstPasswordView:
    """Add an account; its first password is shown only once."""
    form, accounts = request.body, request.context.identity.accounts
    first_password = await run_limited(
        request.context.hashing_limiter,
        accounts.add,
        form.name,
        form.roles,
        by=request.account_id,
    )
    return _first_password_view(first_password)


@operation(
    "set-roles",
    "PUT",
    "/api/people/{person}/roles",
    body=RolesForm,
    response=Account,
    problems=(404, 409),
)
async def set_roles(request: RequestContext) -> Account:
    """Set the roles of another account."""
    person, accounts = _require_other_account(request), request.context.identity.accounts
    return await run_in_thread(
        accounts.set_roles, person, request.body.roles, by=request.account_id
    )


@operation(
    "disable-person", "POST", "/api/people/{person}/disable", status=204, problems=(404, 409)
)
async def disable_person(request: RequestContext) -> None:
    """Disable another account, end its sessions and revoke its API tokens."""
    person, accounts = _require_other_account(request), request.context.identity.accounts
    await run_in_thread(accounts.disable, person, by=request.account_id)


@operation("enable-person", "POST", "/api/people/{person}/enable", status=204, problems=(404,))
async def enable_person(request: RequestContext) -> None:
    """Enable a disabled account."""
    accounts = request.context.identity.accounts
    await run_in_thread(accounts.enable, request.path_params["person"], by=request.account_id)


@operation("forget-person", "POST", "/api/people/{person}/forget", status=204, problems=(404, 409))
async def forget_person(request: RequestContext) -> None:
    """Erase the name of another account permanently."""
    person, accounts = _require_other_account(request), request.context.identity.accounts
    await run_limited(
        request.context.hashing_limiter, accounts.erase_name, person, by=request.account_id
    )


@operation(
    "reset-password",
    "POST",
    "/api/people/{person}/password",
    response=FirstPasswordView,
    problems=(404,),
)
async def reset_password(request: RequestContext) -> FirstPasswordView:
    """Reset the password of another account to a new first password, and end its sessions."""
    person, accounts = _require_other_account(request), request.context.identity.accounts
    first_password = await run_limited(
        request.context.hashing_limiter, accounts.reset_password, person, by=request.account_id
    )
    return _first_password_view(first_password)


@operation("reset-codes", "DELETE", "/api/people/{person}/codes", status=204, problems=(404,))
async def reset_codes(request: RequestContext) -> None:
    """Reset the second factor of another account, and end its sessions."""
    person, second_factors = (
        _require_other_account(request),
        request.context.identity.second_factors,
    )
    await run_in_thread(second_factors.reset, person, by=request.account_id)


@operation(
    "end-all-sessions", "DELETE", "/api/people/{person}/sessions", status=204, problems=(404,)
)
async def end_all_sessions(request: RequestContext) -> None:
    """End all sessions of an account and revoke its API tokens."""
    sessions = request.context.identity.sessions
    await run_in_thread(sessions.end_all, request.path_params["person"], by=request.account_id)


def _require_other_account(request: RequestContext) -> str:
    """Return the account named in the path; reject changes to the caller's own account."""
    person: str = request.path_params["person"]
    if person == request.account_id:
        raise HttpProblem(403, "door/self")
    return person


def _first_password_view(first_password: FirstPassword) -> FirstPasswordView:
    return FirstPasswordView(first_password.account, first_password.password)


# --- assignments and audit trail ----------------------------------------------------------------


@operation("list-assignments", "GET", "/api/assignments", response=list[Assignment])
async def list_assignments(request: RequestContext) -> list[Assignment]:
    """List the current assignments."""
    return await run_in_thread(request.context.identity.assignments.current)


@operation(
    "assign",
    "POST",
    "/api/assignments",
    body=AssignmentForm,
    response=Assignment,
    status=201,
    problems=(404, 409),
)
async def assign(request: RequestContext) -> Assignment:
    """Assign another account to a table, or to all tables, for a shift."""
    form = request.body
    if form.account == request.account_id:
        raise HttpProblem(403, "door/self")
    return await run_in_thread(
        request.context.identity.assignments.add,
        form.account,
        form.table,
        form.role,
        starts=form.starts,
        until=form.until,
        by=request.account_id,
    )


@operation("end-assignment", "DELETE", "/api/assignments/{assignment}", status=204, problems=(404,))
async def end_assignment(request: RequestContext) -> None:
    """End an assignment at once."""
    assignments = request.context.identity.assignments
    await run_in_thread(assignments.end, request.path_params["assignment"], by=request.account_id)


@operation("read-trail", "GET", "/api/trail", query=TrailQuery, response=list[SecurityEvent])
async def read_trail(request: RequestContext) -> list[SecurityEvent]:
    """Read the security events after a number."""
    trail, query = request.context.identity.audit_trail, request.query
    return await run_in_thread(trail.security_events, query.after, query.most)


PEOPLE_OPERATIONS: Final[tuple[Operation, ...]] = (
    list_people,
    add_person,
    set_roles,
    disable_person,
    enable_person,
    forget_person,
    reset_password,
    reset_codes,
    end_all_sessions,
    list_assignments,
    assign,
    end_assignment,
    read_trail,
)
