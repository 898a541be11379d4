"""Assignments: in which role somebody works at which tables, from when until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change
from threedice.identity.accounts import CONSOLE, fetch_account, new_id, validate_text
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import AccountRefused, RecordNotFound
from threedice.identity.roles import STAFF, Role

if TYPE_CHECKING:
    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.database import SqlRow, SqlRunner

_COLUMNS: Final = "id, account, place, role, starts, ends"


class Assignment(msgspec.Struct, frozen=True):
    """Somebody's place for a shift, from one moment until before another; no table means all."""

    id: str
    account: str
    table: str | None
    role: Role
    starts: int
    until: int


def _parse_assignment(row: SqlRow) -> Assignment:
    id_, account, place, role, starts, ends = row
    return Assignment(id_, account, place or None, cast("Role", role), starts, ends)


class Assignments:
    """Who works where."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def add(
        self,
        account: str,
        table: str | None,
        role: Role,
        *,
        starts: int,
        until: int,
        by: str = CONSOLE,
    ) -> Assignment:
        """Assign an account to a table, or to all, in a role that it has."""
        if role not in STAFF:
            raise InvalidInput(f"{role} is no role of the staff")
        if not 0 <= starts < until:
            raise InvalidInput("a shift ends after it has begun")
        place = "" if table is None else validate_text("a table's id", table, 128)
        made = Assignment(new_id(), account, table, role, starts, until)
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            found = fetch_account(run, account)
            if not found.enabled:
                raise AccountRefused("disabled", "this account is disabled")
            if role not in found.roles:
                raise AccountRefused("roles", f"{found.name} is no {role}")
            run(
                f"INSERT INTO people_assignments ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
                (made.id, account, place, role, starts, until),
            )
            publish_access_change(run, account, "rights")
            detail = f"{role} at {place or 'all tables'}"
            record_security_event(run, now, "assigned", account, by, detail=detail)

        self._context.transact(work)
        return made

    def end(self, assignment: str, *, by: str = CONSOLE) -> None:
        """End an assignment now; one that has not begun yet never does."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            sql = f"SELECT {_COLUMNS} FROM people_assignments WHERE id = ?"
            found = [_parse_assignment(row) for row in run(sql, (assignment,))]
            if not found:
                raise RecordNotFound("assignment", assignment)
            until = max(found[0].starts, min(found[0].until, now))
            run("UPDATE people_assignments SET ends = ? WHERE id = ?", (until, assignment))
            publish_access_change(run, found[0].account, "rights")
            record_security_event(run, now, "assignment-ended", found[0].account, by)

        self._context.transact(work)

    def is_assigned(self, account: str, table: str, role: Role, at: int | None = None) -> bool:
        """Tell whether somebody works at a table in a role he has, at a time or now."""
        moment = self._context.clock() if at is None else at
        found = self._context.database.query(
            "SELECT a.roles FROM people_assignments s JOIN people_accounts a ON a.id = s.account"
            " WHERE s.account = ? AND s.ends > ? AND s.starts <= ? AND s.role = ?"
            " AND s.place IN (?, '') AND a.enabled = 1",
            (account, moment, moment, role, table),
        )
        return any(role in roles.split(",") for (roles,) in found)

    def current(
        self, *, account: str | None = None, table: str | None = None, at: int | None = None
    ) -> list[Assignment]:
        """Return assignments at a time or now, of an account or for a table if asked so."""
        moment = self._context.clock() if at is None else at
        found = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_assignments WHERE ends > ? AND starts <= ?"
            " ORDER BY starts, id",
            (moment, moment),
        )
        return [
            each
            for each in map(_parse_assignment, found)
            if account in (None, each.account) and (table is None or each.table in (None, table))
        ]
