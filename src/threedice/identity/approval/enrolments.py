"""Enrolments: what one administrator asks for staff accounts and a second one confirms.

This is also where accounts are compared before one of them decides about the other's request: the
second person must not be an account that the first one enrolled or reset.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

import msgspec

from threedice.identity.access_changes import transactional
from threedice.identity.accounts import (
    Account,
    FirstPassword,
    PreparedPassword,
    disable_account,
    end_account_sessions,
    erase_account_name,
    fetch_account,
    generate_password,
    refuse_last_administrator,
)
from threedice.identity.approval.enrolment_records import (
    REMEDY,
    EnrolmentKind,
    confirm_record,
    fetch_enrolment_record,
    find_confirmers,
    is_dependent,
)
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.authentication.devices import trust_first_password
from threedice.identity.errors import AccountRefused, ApprovalRefused, RecordNotFound
from threedice.identity.roles import HOUR, SECOND, Role, validate_roles
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import SqlRow, SqlRunner
    from threedice.identity.access_changes import IdentityContext, Transaction
    from threedice.identity.audit_trail import SecurityEventKind
    from threedice.identity.roles import IdentityPolicy

_COLUMNS: Final = "id, account, kind, roles, asked_by, asked"


class Enrolment(msgspec.Struct, frozen=True):
    """A pending enrolment: `roles` are those that the account has once it is confirmed.

    `kind` is `account` (a new account), `roles`, `enabling`, or `reset` (of password or codes).
    """

    id: str
    account: str
    kind: EnrolmentKind
    roles: tuple[Role, ...]
    asked_by: str
    asked: int


class Enrolments:
    """List, confirm and decline pending enrolments."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def pending(self) -> list[Enrolment]:
        """Return the pending enrolments, oldest first."""
        rows = self._context.database.query(
            f"SELECT {_COLUMNS} FROM people_enrolments WHERE state = 'pending' ORDER BY asked, id"
        )
        return [_parse_enrolment(row) for row in rows]

    def confirm(self, enrolment_id: str, by: str, *, session: str = "") -> FirstPassword:
        """Confirm an enrolment as a second administrator, in one of their sessions.

        Return the first password of a new account, or an empty one.
        """
        password = generate_password(self._context)

        def work(run: Transaction) -> FirstPassword:
            enrolment = _fetch_pending(run, enrolment_id)
            self._check_may_confirm(run, enrolment, by, session, now=run.now)
            return _take_effect(run, enrolment, by, password)

        return self._context.transact(work)

    def may_confirm(self, enrolment: Enrolment, by: str, session: str) -> bool:
        """Return whether an account may confirm an enrolment in one of its sessions now."""
        query, now = self._context.database.query, self._context.clock()
        try:
            self._check_may_confirm(query, enrolment, by, session, now=now)
        except ApprovalRefused:
            return False
        return True

    def _check_may_confirm(
        self, run: SqlRunner, enrolment: Enrolment, by: str, session: str, *, now: int
    ) -> None:
        administrator = _require_administrator(run, by)
        account, asked_by = enrolment.account, enrolment.asked_by
        if by in {asked_by, account} | fetch_enrolment_record(run, account).holders:
            raise ApprovalRefused("own", "a second administrator must confirm this")
        check_independent(run, self._context.policy, administrator, asked_by, session, now=now)
        _check_still_asked(run, enrolment)

    def confirm_on_console(self, account: str) -> list[FirstPassword]:
        """Confirm what no second administrator can confirm, on the server's command line."""
        password = generate_password(self._context)
        sql = f"SELECT {_COLUMNS} FROM people_enrolments WHERE state = 'pending' AND account = ?"

        def work(run: Transaction) -> list[FirstPassword]:
            enrolments = [_parse_enrolment(row) for row in run(sql, (account,))]
            if any(find_confirmers(run, account, each.asked_by) for each in enrolments):
                raise AccountRefused(
                    "second-administrator",
                    "there is an administrator who can confirm this; ask them to sign in",
                )
            return [_take_effect(run, each, CONSOLE, password) for each in enrolments]

        return self._context.transact(work)

    def decline(self, enrolment_id: str, by: str) -> Enrolment:
        """Decline an enrolment, and return it.

        A new account loses its name for good; an account whose credentials were reset is disabled.
        """
        declined = self._decline(enrolment_id, by)
        self._context.database.erase_traces()
        return declined

    @transactional
    def _decline(self, run: Transaction, enrolment_id: str, by: str) -> Enrolment:
        enrolment = _fetch_pending(run, enrolment_id)
        _require_administrator(run, by)
        if by == enrolment.account:
            raise ApprovalRefused("own", "nobody may decide about their own account")
        match enrolment.kind:
            case "account":
                erase_account_name(run, enrolment.account)
            case "reset":
                disable_account(run, enrolment.account)
            case "roles" | "enabling":
                pass
        _record_decision(run, enrolment, by, "declined")
        return enrolment


def _take_effect(
    run: Transaction, enrolment: Enrolment, by: str, password: PreparedPassword
) -> FirstPassword:
    """Carry out a confirmed enrolment; a new account gets the password.

    A password that was chosen on the server's command line stays.
    """
    account = fetch_account(run, enrolment.account)
    _check_still_asked(run, enrolment)
    since = run.now if by != CONSOLE else 0
    if enrolment.kind == "reset":
        confirm_record(run, account.id, since=since)
    else:
        if "administrator" not in enrolment.roles:
            refuse_last_administrator(run, account)
        roles = ",".join(enrolment.roles)
        enabled = 1 if enrolment.kind != "roles" else int(account.enabled)
        run.update(schema.accounts, {"roles": roles, "enabled": enabled}, id=account.id)
        confirm_record(run, account.id, since=since, enrolled_by=enrolment.asked_by)
        end_account_sessions(run, account.id)
    sql = "SELECT 1 FROM people_accounts WHERE id = ? AND first_until > 0"
    needs_password = enrolment.kind == "account" and bool(run(sql, (account.id,)))
    if needs_password:
        first = {
            "password": password.hashed,
            "first_until": password.first_until,
            "reset_by": by,
        }
        run.update(schema.accounts, first, id=account.id)
        trust_first_password(run, account.id, password.plain)
    _record_decision(run, enrolment, by, "confirmed")
    return FirstPassword(fetch_account(run, account.id), password.plain if needs_password else "")


def check_independent(
    run: SqlRunner,
    policy: IdentityPolicy,
    decider: Account,
    requester: str,
    session: str = "",
    *,
    now: int,
) -> None:
    """Raise `ApprovalRefused` unless an account counts as a second person for a requester.

    `session` is the session in which the decision is made.
    """
    record = fetch_enrolment_record(run, decider.id)
    if record.holders:
        raise ApprovalRefused(
            "unconfirmed",
            "an administrator has reset your password or second factor; until a second "
            f"administrator confirms it (or {REMEDY}), you cannot decide",
        )
    requester_record = fetch_enrolment_record(run, requester)
    if (
        is_dependent(record, requester)
        or is_dependent(requester_record, decider.id)
        or decider.id in requester_record.holders
    ):
        raise ApprovalRefused(
            "enrolled",
            "one of you two enrolled the other or reset their password or second factor; somebody "
            "else must decide",
        )
    counts_from = record.confirmed + policy.approver_wait_seconds * SECOND
    if record.confirmed and now < counts_from:
        moment = datetime.fromtimestamp(counts_from / SECOND, UTC).isoformat(timespec="minutes")
        raise ApprovalRefused(
            "too-new",
            "this account was enrolled or reset too recently to decide; it can from "
            f"{moment.removesuffix('+00:00')} UTC on",
            hours=-(-(counts_from - now) // HOUR),
        )
    if run("SELECT 1 FROM people_sessions WHERE id = ? AND factor = 'recovery code'", (session,)):
        raise ApprovalRefused(
            "recovery",
            "you signed in with a recovery code; set up new codes before you decide",
        )


def _check_still_asked(run: SqlRunner, enrolment: Enrolment) -> None:
    """Refuse an enrolment whose requester is no longer an administrator."""
    if enrolment.asked_by != CONSOLE:
        _require_administrator(run, enrolment.asked_by)


def _require_administrator(run: SqlRunner, account: str) -> Account:
    found = fetch_account(run, account)
    if not found.enabled or not found.has_role("administrator"):
        raise ApprovalRefused(
            "disabled", f"{found.name} is no longer an administrator; decline this and ask again"
        )
    return found


def _record_decision(run: Transaction, enrolment: Enrolment, by: str, state: str) -> None:
    decision = {"state": state, "decided_by": by, "decided": run.now}
    run.update(schema.enrolments, decision, id=enrolment.id)
    kind: SecurityEventKind = (
        "enrolment-confirmed" if state == "confirmed" else "enrolment-declined"
    )
    detail = f"{enrolment.kind}: {','.join(enrolment.roles)}, asked by {enrolment.asked_by}"
    record_security_event(run, kind, enrolment.account, by, detail=detail)


def _fetch_pending(run: SqlRunner, enrolment_id: str) -> Enrolment:
    sql = f"SELECT {_COLUMNS}, state FROM people_enrolments WHERE id = ?"
    for *row, state in run(sql, (enrolment_id,)):
        if state != "pending":
            raise ApprovalRefused("decided", f"this enrolment is already {state}")
        return _parse_enrolment(tuple(row))
    raise RecordNotFound("enrolment", enrolment_id)


def _parse_enrolment(row: SqlRow) -> Enrolment:
    id_, account, kind, roles, asked_by, asked = row
    return Enrolment(
        id_,
        account,
        cast("EnrolmentKind", kind),
        validate_roles(roles.split(",")),
        asked_by,
        asked,
    )
