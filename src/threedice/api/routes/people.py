"""Administration of staff and players: accounts, enrolments, assignments and the audit trail."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from litestar import delete, get, post, put
from litestar.params import JSONBody, QueryParameter

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.problems import HttpProblem, problem_responses
from threedice.api.http.requests import LineCount, OpaqueId, TableId
from threedice.api.routes.history import Timestamp
from threedice.api.routes.tables import require_table
from threedice.api.views import build_view
from threedice.house.persons import (
    Person,
    check_birth_date,
    delete_person,
    load_person,
    save_person,
)
from threedice.identity import (
    Account,
    Assignment,
    Enrolment,
    FirstPassword,
    Role,
    SecurityEvent,
)

RoleList = Annotated[list[Role], msgspec.Meta(min_length=1, max_length=7)]


class NewAccountForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new account: its sign-in name, its roles, and the person's date of birth, if known."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    roles: RoleList
    born: date | None = None


class BirthDateForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A person's date of birth; None if it is not known."""

    born: date | None


class RolesForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The roles of an account."""

    roles: RoleList


class EnrolmentView(Enrolment, frozen=True):
    """A pending enrolment, and whether the caller may confirm it."""

    may_confirm: bool


class AssignmentForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A role at a table for a period; without a table, at all tables."""

    account: OpaqueId
    role: Role
    starts: Timestamp
    until: Timestamp
    table: TableId | None = None


# --- accounts -----------------------------------------------------------------------------------


@get("/api/people", name="list-people")
async def list_people(context: Context) -> list[Account]:
    """List all accounts."""
    return await context.run_blocking(context.identity.accounts.all)


@post("/api/people", name="add-person", responses=problem_responses(409))
async def add_person(
    context: Context, caller: CurrentCaller, data: JSONBody[NewAccountForm]
) -> FirstPassword:
    """Add an account; its first password is shown only once.

    A staff account stays disabled until a second administrator confirms its enrolment; that
    administrator gets the first password, and it is empty here.
    """
    check_birth_date(data.born, context.today())
    add = context.identity.accounts.add
    added = await context.hashing_queue.run(
        caller.session_id, add, data.name, data.roles, by=caller.account.id
    )
    if data.born is not None:
        await context.run_blocking(_record_birth_date, context, caller, added.account.id, data.born)
    return added


@get("/api/people/{person:str}/birth-date", name="show-birth-date")
async def show_birth_date(context: Context, person: OpaqueId) -> BirthDateForm:
    """Show the date of birth on record for an account."""
    found = await context.run_blocking(load_person, context.house.command_handler.store, person)
    return BirthDateForm(born=found.born if found else None)


@put(
    "/api/people/{person:str}/birth-date",
    name="set-birth-date",
    status_code=204,
    responses=problem_responses(409),
)
async def set_birth_date(
    context: Context, caller: CurrentCaller, person: OpaqueId, data: JSONBody[BirthDateForm]
) -> None:
    """Record the date of birth of another account; rulebooks have a minimum age for staff too."""
    _reject_own_account(caller, person)
    check_birth_date(data.born, context.today())
    await context.run_blocking(_record_birth_date, context, caller, person, data.born)


def _record_birth_date(
    context: Context, caller: CurrentCaller, account_id: str, born: date | None
) -> None:
    accounts = context.identity.accounts
    account = accounts.get(account_id)
    accounts.refuse_forgotten(account_id)
    accounts.record_birth_date_change(account_id, removed=born is None, by=caller.account.id)
    save_person(context.house.command_handler.store, account_id, Person(account.name, born))


@put("/api/people/{person:str}/roles", name="set-roles", responses=problem_responses(409))
async def set_roles(
    context: Context, caller: CurrentCaller, person: OpaqueId, data: JSONBody[RolesForm]
) -> Account:
    """Set the roles of another account.

    Fewer roles take effect at once; others when a second administrator confirms the enrolment.
    """
    _reject_own_account(caller, person)
    set_account_roles = context.identity.accounts.set_roles
    return await context.run_blocking(set_account_roles, person, data.roles, by=caller.account.id)


@post(
    "/api/people/{person:str}/disable",
    name="disable-person",
    status_code=204,
    responses=problem_responses(409),
)
async def disable_person(context: Context, caller: CurrentCaller, person: OpaqueId) -> None:
    """Disable another account, end its sessions and revoke its API tokens."""
    _reject_own_account(caller, person)
    await context.run_blocking(context.identity.accounts.disable, person, by=caller.account.id)


@post(
    "/api/people/{person:str}/enable",
    name="enable-person",
    status_code=204,
    responses=problem_responses(409),
)
async def enable_person(context: Context, caller: CurrentCaller, person: OpaqueId) -> None:
    """Enable a disabled account; a staff account when a second administrator confirms it."""
    await context.run_blocking(context.identity.accounts.enable, person, by=caller.account.id)


@post(
    "/api/people/{person:str}/forget",
    name="forget-person",
    status_code=204,
    responses=problem_responses(409),
)
async def forget_person(context: Context, caller: CurrentCaller, person: OpaqueId) -> None:
    """Erase the name and the birth date of another account permanently."""
    _reject_own_account(caller, person)
    erase_name = context.identity.accounts.erase_name
    await context.hashing_queue.run(caller.session_id, erase_name, person, by=caller.account.id)
    await context.run_blocking(delete_person, context.house.command_handler.store, person)


@post("/api/people/{person:str}/password", name="reset-password", status_code=200)
async def reset_password(
    context: Context, caller: CurrentCaller, person: OpaqueId
) -> FirstPassword:
    """Reset the password of another account, and end its sessions and API tokens.

    A staff account cannot decide requests until a second administrator confirms the reset.
    """
    _reject_own_account(caller, person)
    reset = context.identity.accounts.reset_password
    return await context.hashing_queue.run(caller.session_id, reset, person, by=caller.account.id)


@delete("/api/people/{person:str}/codes", name="reset-codes")
async def reset_codes(context: Context, caller: CurrentCaller, person: OpaqueId) -> None:
    """Reset the second factor of another account, and end its sessions and API tokens.

    A staff account cannot decide requests until a second administrator confirms the reset.
    """
    _reject_own_account(caller, person)
    await context.run_blocking(context.identity.second_factors.reset, person, by=caller.account.id)


@delete("/api/people/{person:str}/sessions", name="end-all-sessions")
async def end_all_sessions(context: Context, caller: CurrentCaller, person: OpaqueId) -> None:
    """End all sessions of an account and revoke its API tokens."""
    await context.run_blocking(context.identity.sessions.end_all, person, by=caller.account.id)


def _reject_own_account(caller: CurrentCaller, account: str) -> None:
    """Reject changes to the caller's own account."""
    if account == caller.account.id:
        raise HttpProblem(403, "door/self")


# --- enrolments ---------------------------------------------------------------------------------


@get("/api/enrolments", name="list-enrolments")
async def list_enrolments(context: Context, caller: CurrentCaller) -> list[EnrolmentView]:
    """List the enrolments of staff that await a second administrator, the oldest first."""
    enrolments, by, session = context.identity.enrolments, caller.account.id, caller.session_id

    def views() -> list[EnrolmentView]:
        return [
            build_view(EnrolmentView, each, may_confirm=enrolments.may_confirm(each, by, session))
            for each in enrolments.pending()
        ]

    return await context.run_blocking(views)


@post(
    "/api/enrolments/{enrolment:str}/confirm",
    name="confirm-enrolment",
    status_code=200,
    responses=problem_responses(409),
)
async def confirm_enrolment(
    context: Context, caller: CurrentCaller, enrolment: OpaqueId
) -> FirstPassword:
    """Confirm an enrolment that another administrator asked for.

    The first password of a new account is shown only once, and only here; otherwise it is empty.
    """
    confirm = context.identity.enrolments.confirm
    session = caller.session_id
    return await context.hashing_queue.run(
        session, confirm, enrolment, caller.account.id, session=session
    )


@post(
    "/api/enrolments/{enrolment:str}/decline",
    name="decline-enrolment",
    status_code=204,
    responses=problem_responses(409),
)
async def decline_enrolment(context: Context, caller: CurrentCaller, enrolment: OpaqueId) -> None:
    """Decline an enrolment.

    A new account loses its name and its birth date; an account whose credentials were reset is
    disabled.
    """
    decline = context.identity.enrolments.decline
    declined = await context.run_blocking(decline, enrolment, caller.account.id)
    if declined.kind == "account":
        await context.run_blocking(
            delete_person, context.house.command_handler.store, declined.account
        )


# --- assignments and audit trail ----------------------------------------------------------------


@get("/api/assignments", name="list-assignments")
async def list_assignments(context: Context) -> list[Assignment]:
    """List the current assignments."""
    return await context.run_blocking(context.identity.assignments.current)


@post("/api/assignments", name="assign", responses=problem_responses(404, 409))
async def assign(
    context: Context, caller: CurrentCaller, data: JSONBody[AssignmentForm]
) -> Assignment:
    """Assign another account to a table, or to all tables, for a shift."""
    _reject_own_account(caller, data.account)
    if data.table is not None:
        await require_table(context, data.table)
    return await context.run_blocking(
        context.identity.assignments.add,
        data.account,
        data.table,
        data.role,
        starts=data.starts,
        until=data.until,
        by=caller.account.id,
    )


@delete("/api/assignments/{assignment:str}", name="end-assignment")
async def end_assignment(context: Context, caller: CurrentCaller, assignment: OpaqueId) -> None:
    """End an assignment at once."""
    await context.run_blocking(context.identity.assignments.end, assignment, by=caller.account.id)


@get("/api/trail", name="read-trail")
async def read_trail(
    context: Context,
    after: Annotated[int, QueryParameter(ge=0, le=2**53)] = 0,
    most: LineCount = 200,
) -> list[SecurityEvent]:
    """Read up to `most` security events after a number."""
    return await context.run_blocking(context.identity.audit_trail.security_events, after, most)
