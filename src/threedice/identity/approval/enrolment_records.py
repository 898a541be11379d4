"""Records of who enrolled an account and who may know its credentials.

Staff roles take effect when a second administrator confirms them. A reset of a password or second
factor takes effect at once, but until a second administrator confirms it, the account does not
count as a second person, because the administrator who reset it can sign in to it. `enrolments`
calls the functions of this module.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.errors import AccountRefused
from threedice.identity.roles import Role, is_staff
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.db import SqlRunner
    from threedice.identity.access_changes import Transaction

EnrolmentKind = Literal["account", "roles", "enabling", "reset"]

REQUIRED_ADMINISTRATORS: Final = 2
"""Until a house has this many administrators, the command line enrols staff on its own."""

REMEDY: Final = "threedice users on the server's command line"


class EnrolmentRecord(NamedTuple):
    """The people who gave an account its roles and credentials, and when that was confirmed.

    `holders` are the accounts whose owners may know its credentials without a confirmation.
    `confirmed` is the time of the confirmation; 0 if the account never needed one.
    """

    enrolled_by: str
    reset_by: str
    holders: frozenset[str]
    confirmed: int


def fetch_enrolment_record(run: SqlRunner, account: str) -> EnrolmentRecord:
    """Return the record of an account; an empty one for the command line."""
    sql = "SELECT enrolled_by, reset_by, held_by, confirmed FROM people_accounts WHERE id = ?"
    for enrolled_by, reset_by, held_by, confirmed in run(sql, (account,)):
        holders = frozenset(filter(None, held_by.split(",")))
        return EnrolmentRecord(enrolled_by, reset_by, holders, confirmed)
    return EnrolmentRecord("", "", frozenset(), 0)


def begin_enrolment(
    run: Transaction, account: str, kind: EnrolmentKind, roles: tuple[Role, ...], by: str
) -> bool:
    """Return whether roles take effect at once; otherwise record that they await confirmation.

    Players need no confirmation, and neither does the command line while it enrols the first two
    administrators. Raise `AccountRefused` if no second administrator exists who could confirm.
    """
    if not is_staff(roles):
        return True
    if _enrols_alone(run, by):
        confirm_record(run, account, enrolled_by=by, since=0)
        return True
    if fetch_enrolment_record(run, by).holders:
        raise AccountRefused(
            "second-administrator",
            "your own password or second factor was reset, and a second administrator has yet to "
            f"confirm it; ask them, or use {REMEDY}",
        )
    if not find_confirmers(run, account, by):
        raise AccountRefused(
            "second-administrator",
            "new staff need a second administrator, and no other administrator can confirm this; "
            f"use {REMEDY}",
        )
    _insert_pending(run, account, kind, roles, by)
    return False


def record_reset(
    run: Transaction,
    account: str,
    roles: tuple[Role, ...],
    by: str,
    *,
    of_password: bool = False,
) -> None:
    """Record that somebody else has reset the password or second factor of a staff account.

    A new password removes the holders, who knew the old one.
    """
    if not is_staff(roles):
        return
    holders = frozenset[str]()
    if not of_password:
        holders |= fetch_enrolment_record(run, account).holders
    is_alone = _enrols_alone(run, by)
    if not is_alone:
        holders |= {by} | fetch_enrolment_record(run, by).holders
    reset = {"reset_by": by, "held_by": ",".join(sorted(holders))}
    run.update(schema.accounts, reset, id=account)
    if not is_alone:
        _insert_pending(run, account, "reset", roles, by)


def confirm_record(
    run: Transaction, account: str, *, since: int, enrolled_by: str | None = None
) -> None:
    """Record that an account counts as a second person from a time on.

    With `enrolled_by` its roles were confirmed, without it its credentials.
    """
    confirmed = {"held_by": ""} if enrolled_by is None else {"enrolled_by": enrolled_by}
    run.update(schema.accounts, {"confirmed": since, **confirmed}, id=account)


def find_confirmers(run: SqlRunner, account: str, asked_by: str) -> set[str]:
    """Return the administrators who may confirm an enrolment, some of them only after a time."""
    holders = fetch_enrolment_record(run, account).holders
    holders |= fetch_enrolment_record(run, asked_by).holders | {asked_by, account}
    return {
        each
        for each in find_confirmed_administrators(run) - holders
        if not is_dependent(fetch_enrolment_record(run, each), asked_by)
    }


def is_dependent(record: EnrolmentRecord, requester: str) -> bool:
    """Return whether a requester enrolled an account or reset its credentials."""
    return requester != CONSOLE and requester in (record.enrolled_by, record.reset_by)


def is_new_account_pending(run: SqlRunner, account: str) -> bool:
    """Return whether a new account awaits its confirmation."""
    sql = "SELECT 1 FROM people_enrolments WHERE account = ? AND kind = 'account' AND state = ?"
    return bool(run(sql, (account, "pending")))


def cancel_enrolments(run: Transaction, account: str, by: str) -> None:
    """Cancel the pending enrolments of an account that is disabled."""
    cancelled = {"state": "cancelled", "decided_by": by, "decided": run.now}
    run.update(schema.enrolments, cancelled, account=account, state="pending")


def find_confirmed_administrators(run: SqlRunner) -> set[str]:
    """Return the enabled administrators whose credentials nobody else may know."""
    rows = run("SELECT id, roles FROM people_accounts WHERE enabled = 1 AND held_by = ''")
    return {id_ for id_, roles in rows if "administrator" in roles.split(",")}


def _enrols_alone(run: SqlRunner, by: str) -> bool:
    administrators = find_confirmed_administrators(run)
    return by == CONSOLE and len(administrators) < REQUIRED_ADMINISTRATORS


def _insert_pending(
    run: Transaction, account: str, kind: EnrolmentKind, roles: tuple[Role, ...], by: str
) -> None:
    """Insert a pending enrolment; it replaces a pending one of the same kind."""
    replaced = {"state": "replaced", "decided_by": by, "decided": run.now}
    run.update(schema.enrolments, replaced, account=account, kind=kind, state="pending")
    role_list = ",".join(roles)
    row = {
        "id": secrets.token_hex(10),
        "account": account,
        "kind": kind,
        "roles": role_list,
        "asked_by": by,
        "asked": run.now,
        "state": "pending",
        "decided_by": "",
        "decided": 0,
    }
    run.insert(schema.enrolments, row)
    record_security_event(run, "enrolment-asked", account, by, detail=f"{kind}: {role_list}")
