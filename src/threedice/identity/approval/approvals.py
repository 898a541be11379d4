"""Approval requests: commands that one person asks for and a second person approves.

A request stores the exact bytes of the command, such as a void after a result, and the approval
is for these bytes. The request's id is the idempotency key of the command, so an approved command
runs once.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, cast

import msgspec

from threedice.errors import InvalidInput, TamperedData
from threedice.identity.access_changes import transactional
from threedice.identity.accounts import fetch_account, new_id, validate_text
from threedice.identity.approval.enrolments import check_independent
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import ApprovalRefused, RecordNotFound
from threedice.identity.roles import SECOND, STAFF, Role, validate_roles
from threedice.log.stores import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.db import SqlRow, SqlRunner
    from threedice.identity.access_changes import IdentityContext, Transaction
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.roles import IdentityPolicy

MAX_COMMAND_BYTES: Final = 64 * 1024

ApprovalState = Literal["pending", "approved", "declined", "withdrawn", "expired"]
_COLUMNS: Final = schema.requests.column_list


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A request for a second person's approval, and its decision.

    `account` opened the request; `roles` are those that may decide it.
    """

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


class Approvals:
    """Open, decide and list approval requests."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    @transactional
    def open(
        self,
        run: Transaction,
        by: str,
        table: str,
        command: bytes,
        reason: str,
        *,
        roles: Iterable[str],
        seconds: int | None = None,
    ) -> ApprovalRequest:
        """Request that another account in one of these roles approves a command at a table."""
        approvers = {role for each in set(roles) for role in validate_roles([each])}
        if not approvers or not approvers <= set(STAFF):
            raise InvalidInput("a request is decided by staff; name at least one staff role")
        if not 0 < len(command) <= MAX_COMMAND_BYTES:
            raise InvalidInput(f"a command has 1 to {MAX_COMMAND_BYTES} bytes")
        table = validate_text("a table's id", table, 128)
        reason = validate_text("a reason", reason)
        lifetime = self._context.policy.request_seconds if seconds is None else seconds
        if lifetime <= 0:
            raise InvalidInput("the lifetime of a request is a number of seconds above zero")
        if not fetch_account(run, by).enabled:
            raise ApprovalRefused("disabled", "this account is disabled")
        id_, role_list = new_id(), ",".join(sorted(approvers))
        digest, expires = sha256(command).digest(), run.now + lifetime * SECOND
        row = {
            "id": id_,
            "account": by,
            "place": table,
            "command": command,
            "command_hash": digest,
            "reason": reason,
            "roles": role_list,
            "opened": run.now,
            "expires": expires,
            "state": "pending",
            "decided_by": "",
            "decided": 0,
            "note": "",
        }
        run.insert(schema.requests, row)
        record_security_event(run, "request-opened", by, by, detail=id_)
        return _fetch_request(run, id_, run.now)

    def get(self, request_id: str) -> ApprovalRequest:
        """Return a request in its present state."""
        return _fetch_request(self._context.database.query, request_id, self._context.clock())

    def pending(self, table: str | None = None) -> list[ApprovalRequest]:
        """Return pending requests, of one table or of all, oldest first."""
        now = self._context.clock()
        rows = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_requests WHERE state = 'pending' AND expires > ?"
            " ORDER BY opened, id",
            (now,),
        )
        requests = [_parse_request(row, now) for row in rows]
        return [request for request in requests if table in (None, request.table)]

    def decided(self, before: int | None = None, *, limit: int) -> list[ApprovalRequest]:
        """Return requests that are no longer pending, newest first, opened before a time."""
        now = self._context.clock()
        rows = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_requests"
            " WHERE (state <> 'pending' OR expires <= ?) AND opened < ?"
            " ORDER BY opened DESC, id LIMIT ?",
            (now, now + 1 if before is None else before, limit),
        )
        return [_parse_request(row, now) for row in rows]

    def may_decide(self, request: ApprovalRequest, by: str, session: str) -> bool:
        """Return whether an account may decide a request in one of its sessions now."""
        context = self._context
        try:
            check_may_decide(
                context.database.query, context.policy, request, by, session, now=context.clock()
            )
        except ApprovalRefused:
            return False
        return True

    @transactional
    def approve(
        self, run: Transaction, request_id: str, by: str, note: str = "", *, session: str = ""
    ) -> ApprovalRequest:
        """Approve a request of another account, which must still be enabled.

        `session` is the session of the approver in which this is done.
        """
        request = _fetch_request(run, request_id, run.now)
        check_may_decide(run, self._context.policy, request, by, session, now=run.now)
        if not fetch_account(run, request.account).enabled:
            raise ApprovalRefused("disabled", "the account that made this request is disabled")
        return _decide(run, request, by, "approved", note)

    @transactional
    def decline(
        self, run: Transaction, request_id: str, by: str, note: str = "", *, session: str = ""
    ) -> ApprovalRequest:
        """Decline a request of another account, in a session of the approver."""
        request = _fetch_request(run, request_id, run.now)
        check_may_decide(run, self._context.policy, request, by, session, now=run.now)
        return _decide(run, request, by, "declined", note)

    @transactional
    def withdraw(self, run: Transaction, request_id: str, by: str) -> ApprovalRequest:
        """Withdraw one's own request."""
        request = _fetch_request(run, request_id, run.now)
        _check_pending(request)
        if request.account != by:
            raise ApprovalRefused("not-own", "only the account that made a request can withdraw it")
        return _decide(run, request, by, "withdrawn")


def _decide(
    run: Transaction,
    request: ApprovalRequest,
    by: str,
    state: Literal["approved", "declined", "withdrawn"],
    note: str = "",
) -> ApprovalRequest:
    """Store the decision of a request that was checked before."""
    note = validate_text("a note", note) if note else ""
    decision = {"state": state, "decided_by": by, "decided": run.now, "note": note}
    run.update(schema.requests, decision, id=request.id)
    kind = cast("SecurityEventKind", f"request-{state}")
    record_security_event(run, kind, request.account, by, detail=request.id)
    return _fetch_request(run, request.id, run.now)


def check_may_decide(
    run: SqlRunner,
    policy: IdentityPolicy,
    request: ApprovalRequest,
    by: str,
    session: str,
    *,
    now: int,
) -> None:
    """Raise `ApprovalRefused` if an account may not decide a request in one of its sessions."""
    approver = fetch_account(run, by)
    _check_pending(request)
    if approver.id == request.account:
        raise ApprovalRefused("own", "nobody may decide their own request")
    if not approver.enabled:
        raise ApprovalRefused("disabled", "this account is disabled")
    if not approver.has_role(*request.roles):
        raise ApprovalRefused("role", f"this needs one of: {', '.join(request.roles)}")
    check_independent(run, policy, approver, request.account, session, now=now)


def _check_pending(request: ApprovalRequest) -> None:
    if request.state == "expired":
        raise ApprovalRefused("expired", "this request has expired; make a new one")
    if request.state != "pending":
        raise ApprovalRefused("decided", f"this request is already {request.state}")


def _fetch_request(run: SqlRunner, request_id: str, now: int) -> ApprovalRequest:
    for row in run(f"SELECT {_COLUMNS} FROM people_requests WHERE id = ?", (request_id,)):
        return _parse_request(row, now)
    raise RecordNotFound("request", request_id)


def _parse_request(row: SqlRow, now: int) -> ApprovalRequest:
    """Parse a row of `_COLUMNS`, which are in the order of the fields."""
    request = ApprovalRequest(*row)
    if sha256(request.command).digest() != row[4]:
        raise TamperedData(f"request {request.id}", "the stored command does not match its hash")
    is_expired = request.state == "pending" and now >= request.expires
    return msgspec.structs.replace(
        request,
        command_hash=row[4].hex(),
        roles=tuple(role for role in STAFF if role in row[6].split(",")),
        state="expired" if is_expired else request.state,
    )
