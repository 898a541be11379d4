"""Requests: what one person asks for and another has to approve, such as a void after a result.

What is asked for is a command, as the very bytes that will be carried out; these are what is
approved. Carried out under the request's id as its key, it is carried out once.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice.errors import InvalidInput, Tampered
from threedice.people.accounts import fetch
from threedice.people.errors import NoSuch, RequestRefused
from threedice.people.names import checked_text, new_id
from threedice.people.policy import SECOND
from threedice.people.roles import STAFF, Role, checked_roles
from threedice.people.trail import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.people.accounts import Account
    from threedice.people.database import Row, Run
    from threedice.people.records import Records
    from threedice.people.trail import EventKind

COMMAND_MOST: Final = 64 * 1024
State = Literal["pending", "approved", "declined", "withdrawn", "expired"]
_COLUMNS: Final = (
    "id, account, place, command, command_hash, reason, roles, opened, expires, state,"
    " decided_by, decided, note"
)


class Request(msgspec.Struct, frozen=True):
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
    state: State
    decided_by: str
    decided: int
    note: str


def check_decision(request: Request, by: Account) -> None:
    """Refuse whoever may not decide on a request."""
    _check_pending(request)
    if by.id == request.account:
        raise RequestRefused("own", "nobody decides on a request of his own")
    if not by.enabled:
        raise RequestRefused("disabled", "this account is disabled")
    if not by.has(*request.roles):
        raise RequestRefused("role", f"this needs one of: {', '.join(request.roles)}")


def _check_pending(request: Request) -> None:
    if request.state == "expired":
        raise RequestRefused("expired", "this request has expired; it may be made again")
    if request.state != "pending":
        raise RequestRefused("decided", f"this request is {request.state} already")


class Requests:
    """What waits for a second person."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def open(
        self,
        by: str,
        table: str,
        command: bytes,
        reason: str,
        *,
        roles: Iterable[str],
        seconds: int | None = None,
    ) -> Request:
        """Ask for something at a table that somebody else in one of these roles has to approve."""
        approvers = tuple(role for each in set(roles) for role in checked_roles([each]))
        if not approvers or not set(approvers) <= set(STAFF):
            raise InvalidInput("a request is decided by one of the staff")
        if not 0 < len(command) <= COMMAND_MOST:
            raise InvalidInput(f"a command has 1 to {COMMAND_MOST} bytes")
        place, why = checked_text("a table's id", table, 128), checked_text("a reason", reason)
        now, id_ = self._records.clock(), new_id()
        lasting = self._records.policy.request_seconds if seconds is None else seconds
        if lasting <= 0:
            raise InvalidInput("a request waits for a while; give a number above zero")
        row = (
            id_, by, place, command, sha256(command).digest(), why, ",".join(sorted(approvers)),
            now, now + lasting * SECOND, "pending", "", 0, "",
        )  # fmt: skip

        def work(run: Run) -> Request:
            if not fetch(run, by).enabled:
                raise RequestRefused("disabled", "this account is disabled")
            places = ", ".join("?" * len(row))
            run(f"INSERT INTO people_requests ({_COLUMNS}) VALUES ({places})", row)
            note(run, now, "request-opened", by, by, detail=id_)
            return _fetch(run, id_, now)

        return self._records.change(work)

    def get(self, request: str) -> Request:
        """Return a request as it stands now."""
        return _fetch(self._records.database.rows, request, self._records.clock())

    def pending(self, table: str | None = None) -> list[Request]:
        """Return what waits for a second person, at a table or at all, the oldest first."""
        now = self._records.clock()
        found = self._records.database.rows(
            f"SELECT {_COLUMNS} FROM people_requests WHERE state = 'pending' AND expires > ?"
            " ORDER BY opened, id",
            (now,),
        )
        return [
            each for each in (_request(row, now) for row in found) if table in (None, each.table)
        ]

    def approve(self, request: str, by: str, note: str = "") -> Request:
        """Approve a request of somebody else, who must still be there."""

        def check(run: Run, found: Request) -> None:
            check_decision(found, fetch(run, by))
            if not fetch(run, found.account).enabled:
                raise RequestRefused("disabled", "whoever asked for this is disabled")

        return self._decide(request, by, "approved", "request-approved", check, note)

    def decline(self, request: str, by: str, note: str = "") -> Request:
        """Decline a request of somebody else."""

        def check(run: Run, found: Request) -> None:
            check_decision(found, fetch(run, by))

        return self._decide(request, by, "declined", "request-declined", check, note)

    def withdraw(self, request: str, by: str) -> Request:
        """Take one's own request back."""

        def check(_: Run, found: Request) -> None:
            _check_pending(found)
            if found.account != by:
                raise RequestRefused("not-own", "only whoever made a request takes it back")

        return self._decide(request, by, "withdrawn", "request-withdrawn", check, "")

    def _decide(
        self,
        request: str,
        by: str,
        state: State,
        kind: EventKind,
        check: Callable[[Run, Request], None],
        words: str,
    ) -> Request:
        said = checked_text("a note", words) if words else ""
        now = self._records.clock()

        def work(run: Run) -> Request:
            found = _fetch(run, request, now)
            check(run, found)
            run(
                "UPDATE people_requests SET state = ?, decided_by = ?, decided = ?, note = ?"
                " WHERE id = ?",
                (state, by, now, said, request),
            )
            note(run, now, kind, found.account, by, detail=request)
            return _fetch(run, request, now)

        return self._records.change(work)


def _fetch(run: Run, request: str, now: int) -> Request:
    for row in run(f"SELECT {_COLUMNS} FROM people_requests WHERE id = ?", (request,)):
        return _request(row, now)
    raise NoSuch("request", request)


def _request(row: Row, now: int) -> Request:
    id_, account, place, command, digest, reason, roles, opened, expires, state, *decision = row
    if sha256(command).digest() != digest:
        raise Tampered(f"request {id_}", "its command is not the one that was asked for")
    if state == "pending" and now >= expires:
        state = "expired"
    permitted = tuple(role for role in STAFF if role in roles.split(","))
    return Request(
        id_, account, place, command, digest.hex(), reason, permitted, opened, expires, state,
        *decision,
    )  # fmt: skip
