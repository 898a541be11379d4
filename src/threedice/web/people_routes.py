"""The people of a house: their accounts, where they work, and what happened to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.people import Account, Assignment, Role, SecurityEvent
from threedice.web.addresses import Id, TableId
from threedice.web.answering import Operation, Visit, in_thread, in_turn, operation
from threedice.web.history import Moment
from threedice.web.problems import Turned

if TYPE_CHECKING:
    from threedice.people import FirstPassword

Roles = Annotated[list[Role], msgspec.Meta(min_length=1, max_length=7)]


class PersonAdded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new account: the name to sign in with, and its roles."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    roles: Roles


class RolesForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The roles of an account."""

    roles: Roles


class FirstPasswordView(msgspec.Struct, frozen=True):
    """An account with its first password, which is shown once and must be changed."""

    account: Account
    password: str


class AssignmentForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who works where, in which role, from when until when; no table means all."""

    account: Id
    role: Role
    starts: Moment
    until: Moment
    table: TableId | None = None


class Since(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """After which number, and how many."""

    after: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


# --- accounts -----------------------------------------------------------------------------------


@operation("list-people", "GET", "/api/people", answer=list[Account])
async def list_people(visit: Visit) -> list[Account]:
    """List the accounts of everybody who may sign in."""
    return await in_thread(visit.context.people.accounts.all)


@operation(
    "add-person",
    "POST",
    "/api/people",
    body=PersonAdded,
    answer=FirstPasswordView,
    status=201,
    problems=(409,),
)
async def add_person(visit: Visit) -> FirstPasswordView:
    """Add an account, with a first password that is shown once."""
    asked, accounts = visit.body, visit.context.people.accounts
    made = await in_turn(
        visit.context.hashing,
        accounts.add,
        asked.name,
        asked.roles,
        by=visit.account,
    )
    return _first(made)


@operation(
    "set-roles",
    "PUT",
    "/api/people/{person}/roles",
    body=RolesForm,
    answer=Account,
    problems=(404, 409),
)
async def set_roles(visit: Visit) -> Account:
    """Give an account other roles; not to oneself."""
    person, accounts = _another(visit), visit.context.people.accounts
    return await in_thread(accounts.set_roles, person, visit.body.roles, by=visit.account)


@operation(
    "disable-person", "POST", "/api/people/{person}/disable", status=204, problems=(404, 409)
)
async def disable_person(visit: Visit) -> None:
    """Disable an account; all it has open ends."""
    person, accounts = _another(visit), visit.context.people.accounts
    await in_thread(accounts.disable, person, by=visit.account)


@operation("enable-person", "POST", "/api/people/{person}/enable", status=204, problems=(404,))
async def enable_person(visit: Visit) -> None:
    """Enable an account again."""
    accounts = visit.context.people.accounts
    await in_thread(accounts.enable, visit.path["person"], by=visit.account)


@operation("forget-person", "POST", "/api/people/{person}/forget", status=204, problems=(404, 409))
async def forget_person(visit: Visit) -> None:
    """Forget an account's name for good."""
    person, accounts = _another(visit), visit.context.people.accounts
    await in_turn(visit.context.hashing, accounts.forget, person, by=visit.account)


@operation(
    "reset-password",
    "POST",
    "/api/people/{person}/password",
    answer=FirstPasswordView,
    problems=(404,),
)
async def reset_password(visit: Visit) -> FirstPasswordView:
    """Give somebody a first password anew; all his sessions end."""
    person, accounts = _another(visit), visit.context.people.accounts
    return _first(
        await in_turn(visit.context.hashing, accounts.reset_password, person, by=visit.account)
    )


@operation("reset-codes", "DELETE", "/api/people/{person}/codes", status=204, problems=(404,))
async def reset_codes(visit: Visit) -> None:
    """Forget the codes of somebody who lost them; all his sessions end."""
    person, codes = _another(visit), visit.context.people.codes
    await in_thread(codes.reset, person, by=visit.account)


@operation(
    "end-all-sessions", "DELETE", "/api/people/{person}/sessions", status=204, problems=(404,)
)
async def end_all_sessions(visit: Visit) -> None:
    """End all sessions of an account, and revoke its programs' tokens."""
    sessions = visit.context.people.sessions
    await in_thread(sessions.end_all, visit.path["person"], by=visit.account)


def _another(visit: Visit) -> str:
    """Return the account of the address; nobody changes his own rights or way in by these."""
    person: str = visit.path["person"]
    if person == visit.account:
        raise Turned(403, "door/self")
    return person


def _first(made: FirstPassword) -> FirstPasswordView:
    return FirstPasswordView(made.account, made.password)


# --- where they work, and what happened ---------------------------------------------------------


@operation("list-assignments", "GET", "/api/assignments", answer=list[Assignment])
async def list_assignments(visit: Visit) -> list[Assignment]:
    """List who works where now."""
    return await in_thread(visit.context.people.assignments.current)


@operation(
    "assign",
    "POST",
    "/api/assignments",
    body=AssignmentForm,
    answer=Assignment,
    status=201,
    problems=(404, 409),
)
async def assign(visit: Visit) -> Assignment:
    """Assign somebody to a table, or to all, for a shift; not oneself."""
    asked = visit.body
    if asked.account == visit.account:
        raise Turned(403, "door/self")
    return await in_thread(
        visit.context.people.assignments.add,
        asked.account,
        asked.table,
        asked.role,
        starts=asked.starts,
        until=asked.until,
        by=visit.account,
    )


@operation("end-assignment", "DELETE", "/api/assignments/{assignment}", status=204, problems=(404,))
async def end_assignment(visit: Visit) -> None:
    """End an assignment now."""
    assignments = visit.context.people.assignments
    await in_thread(assignments.end, visit.path["assignment"], by=visit.account)


@operation("read-trail", "GET", "/api/trail", query=Since, answer=list[SecurityEvent])
async def read_trail(visit: Visit) -> list[SecurityEvent]:
    """Read the trail of security events after a number."""
    trail, asked = visit.context.people.trail, visit.query
    return await in_thread(trail.security_events, asked.after, asked.most)


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
