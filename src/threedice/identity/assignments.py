"""Assignments: the shifts of staff, each with a table, a role, a start and an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change, transactional
from threedice.identity.accounts import fetch_account, new_id, validate_text
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.errors import AccountRefused, RecordNotFound
from threedice.identity.roles import STAFF, Role
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import SqlRow
    from threedice.identity.access_changes import IdentityContext, Transaction

_COLUMNS: Final = "id, account, place, role, starts, ends"


class Assignment(msgspec.Struct, frozen=True):
    """A shift of a staff account at a table, or at all tables if `table` is None.

    `until` is exclusive.
    """

    id: str
    account: str
    table: str | None
    role: Role
    starts: int
    until: int


class Assignments:
    """Create, end and look up assignments."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    @transactional
    def add(
        self,
        run: Transaction,
        account: str,
        table: str | None,
        role: Role,
        *,
        starts: int,
        until: int,
        by: str = CONSOLE,
    ) -> Assignment:
        """Assign an account to a table, or to all tables, in one of its roles."""
        if role not in STAFF:
            raise InvalidInput(f"{role} is not a staff role")
        if not 0 <= starts < until:
            raise InvalidInput("a shift ends after it has begun")
        place = "" if table is None else validate_text("a table's id", table, 128)
        assignee = fetch_account(run, account)
        if not assignee.enabled:
            raise AccountRefused("disabled", "this account is disabled")
        if role not in assignee.roles:
            raise AccountRefused("roles", f"{assignee.name} does not have the role {role}")
        assignment = Assignment(new_id(), account, table, role, starts, until)
        row = {
            "id": assignment.id,
            "account": account,
            "place": place,
            "role": role,
            "starts": starts,
            "ends": until,
        }
        run.insert(schema.assignments, row)
        publish_access_change(run, account, "rights")
        detail = f"{role} at {place or 'all tables'}"
        record_security_event(run, "assigned", account, by, detail=detail)
        return assignment

    @transactional
    def end(self, run: Transaction, assignment_id: str, *, by: str = CONSOLE) -> None:
        """End an assignment now; one that has not started is cancelled."""
        rows = run(f"SELECT {_COLUMNS} FROM people_assignments WHERE id = ?", (assignment_id,))
        if not rows:
            raise RecordNotFound("assignment", assignment_id)
        assignment = _parse_assignment(rows[0])
        until = max(assignment.starts, min(assignment.until, run.now))
        run.update(schema.assignments, {"ends": until}, id=assignment_id)
        publish_access_change(run, assignment.account, "rights")
        record_security_event(run, "assignment-ended", assignment.account, by)

    def current(
        self, *, account: str | None = None, table: str | None = None, at: int | None = None
    ) -> list[Assignment]:
        """Return the assignments in force, optionally of one account or table; by default, now."""
        moment = self._context.clock() if at is None else at
        rows = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_assignments WHERE ends > ? AND starts <= ?"
            " ORDER BY starts, id",
            (moment, moment),
        )
        return [
            each
            for each in map(_parse_assignment, rows)
            if account in (None, each.account) and (table is None or each.table in (None, table))
        ]


def _parse_assignment(row: SqlRow) -> Assignment:
    id_, account, place, role, starts, ends = row
    return Assignment(id_, account, place or None, cast("Role", role), starts, ends)
