"""Requests: what one person asks for and another has to approve, such as a void after a result.

What is asked for is a command, as the very bytes that will be carried out; these are what is
approved. Carried out under the request's id as its key, it is carried out once.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.errors import InvalidInput, TamperedData
from threedice.identity.accounts import fetch_account, new_id, validate_text
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import ApprovalRefused, RecordNotFound
from threedice.identity.roles import SECOND, STAFF, Role, validate_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.accounts import Account
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.database import SqlRow, SqlRunner

MAX_COMMAND_BYTES: Final = 64 * 1024
ApprovalState = Literal["pending", "approved", "declined", "withdrawn", "expired"]
_COLUMNS: Final = (
    "id, account, place, command, command_hash, reason, roles, opened, expires, state,"
    " decided_by, decided, note"
)


class ApprovalRequest(msgspec.Struct, frozen=True):
    """Something that needs a second person: who asks, where, what, why, and what became of it."""

    id: str
    account: str
    table: str
    command: bytes
    command_hash: str
    reason: str
    roles: tuple[Role, ...]
    opened: int
    expires: int
    state: ApprovalState
    decided_by: str
    decided: int
    note: str


def check_may_decide(request: ApprovalRequest, approver: Account) -> None:
    """Refuse whoever may not decide on a request."""
    _check_pending(request)
    if approver.id == request.account:
        raise ApprovalRefused("own", "nobody decides on a request of his own")
    if not approver.enabled:
        raise ApprovalRefused("disabled", "this account is disabled")
    if not approver.has_role(*request.roles):
        raise ApprovalRefused("role", f"this needs one of: {', '.join(request.roles)}")


def _check_pending(request: ApprovalRequest) -> None:
    if request.state == "expired":
        raise ApprovalRefused("expired", "this request has expired; it may be made again")
    if request.state != "pending":
        raise ApprovalRefused("decided", f"this request is {request.state} already")


class Approvals:
    """What waits for a second person."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def open(
        self,
        by: str,
        table: str,
        command: bytes,
        reason: str,
        *,
        roles: Iterable[str],
        seconds: int | None = None,
    ) -> ApprovalRequest:
        """Ask for something at a table that somebody else in one of these roles has to approve."""
        approvers = tuple(role for each in set(roles) for role in validate_roles([each]))
        if not approvers or not set(approvers) <= set(STAFF):
            raise InvalidInput("a request is decided by one of the staff")
        if not 0 < len(command) <= MAX_COMMAND_BYTES:
            raise InvalidInput(f"a command has 1 to {MAX_COMMAND_BYTES} bytes")
        place, why = validate_text("a table's id", table, 128), validate_text("a reason", reason)
        now, id_ = self._context.clock(), new_id()
        lasting = self._context.policy.request_seconds if seconds is None else seconds
        if lasting <= 0:
            raise InvalidInput("a request waits for a while; give a number above zero")
        row = (
            id_, by, place, command, sha256(command).digest(), why, ",".join(sorted(approvers)),
            now, now + lasting * SECOND, "pending", "", 0, "",
        )  # fmt: skip

        def work(run: SqlRunner) -> ApprovalRequest:
            if not fetch_account(run, by).enabled:
                raise ApprovalRefused("disabled", "this account is disabled")
            places = ", ".join("?" * len(row))
            run(f"INSERT INTO people_requests ({_COLUMNS}) VALUES ({places})", row)
            record_security_event(run, now, "request-opened", by, by, detail=id_)
            return _fetch_request(run, id_, now)

        return self._context.transact(work)

    def get(self, request: str) -> ApprovalRequest:
        """Return a request as it stands now."""
        return _fetch_request(self._context.database.query, request, self._context.clock())

    def pending(self, table: str | None = None) -> list[ApprovalRequest]:
        """Return what waits for a second person, at a table or at all, the oldest first."""
        now = self._context.clock()
        found = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_requests WHERE state = 'pending' AND expires > ?"
            " ORDER BY opened, id",
            (now,),
        )
        return [
            each
            for each in (_parse_request(row, now) for row in found)
            if table in (None, each.table)
        ]

    def approve(self, request: str, by: str, note: str = "") -> ApprovalRequest:
        """Approve a request of somebody else, who must still be there."""

        def check(run: SqlRunner, found: ApprovalRequest) -> None:
            check_may_decide(found, fetch_account(run, by))
            if not fetch_account(run, found.account).enabled:
                raise ApprovalRefused("disabled", "whoever asked for this is disabled")

        return self._decide(request, by, "approved", "request-approved", check, note)

    def decline(self, request: str, by: str, note: str = "") -> ApprovalRequest:
        """Decline a request of somebody else."""

        def check(run: SqlRunner, found: ApprovalRequest) -> None:
            check_may_decide(found, fetch_account(run, by))

        return self._decide(request, by, "declined", "request-declined", check, note)

    def withdraw(self, request: str, by: str) -> ApprovalRequest:
        """Take one's own request back."""

        def check(_: SqlRunner, found: ApprovalRequest) -> None:
            _check_pending(found)
            if found.account != by:
                raise ApprovalRefused("not-own", "only whoever made a request takes it back")

        return self._decide(request, by, "withdrawn", "request-withdrawn", check, "")

    def _decide(
        self,
        request: str,
        by: str,
        state: ApprovalState,
        kind: SecurityEventKind,
        check: Callable[[SqlRunner, ApprovalRequest], None],
        words: str,
    ) -> ApprovalRequest:
        said = validate_text("a note", words) if words else ""
        now = self._context.clock()

        def work(run: SqlRunner) -> ApprovalRequest:
            found = _fetch_request(run, request, now)
            check(run, found)
            run(
                "UPDATE people_requests SET state = ?, decided_by = ?, decided = ?, note = ?"
                " WHERE id = ?",
                (state, by, now, said, request),
            )
            record_security_event(run, now, kind, found.account, by, detail=request)
            return _fetch_request(run, request, now)

        return self._context.transact(work)


def _fetch_request(run: SqlRunner, request: str, now: int) -> ApprovalRequest:
    for row in run(f"SELECT {_COLUMNS} FROM people_requests WHERE id = ?", (request,)):
        return _parse_request(row, now)
    raise RecordNotFound("request", request)


def _parse_request(row: SqlRow, now: int) -> ApprovalRequest:
    id_, account, place, command, digest, reason, roles, opened, expires, state, *decision = row
    if sha256(command).digest() != digest:
        raise TamperedData(f"request {id_}", "its command is not the one that was asked for")
    if state == "pending" and now >= expires:
        state = "expired"
    permitted = tuple(role for role in STAFF if role in roles.split(","))
    return ApprovalRequest(
        id_, account, place, command, digest.hex(), reason, permitted, opened, expires, state,
        *decision,
    )  # fmt: skip
