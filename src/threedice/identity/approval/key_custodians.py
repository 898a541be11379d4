"""The people who may replace a lost key, and the effect of its loss on accounts.

Two administrators have to give their passwords. A house with fewer uses those it has, and another
member of staff of the highest role. Second factors cannot be asked for: without the key nobody can
check them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.identity.access_changes import publish_access_change
from threedice.identity.accounts import (
    ACCOUNT_COLUMNS,
    delete_second_factor,
    end_account_sessions,
    fold_name_for_lookup,
    list_accounts,
    parse_account,
    revoke_account_tokens,
)
from threedice.identity.approval.enrolment_records import REQUIRED_ADMINISTRATORS
from threedice.identity.audit_trail import record_security_event
from threedice.identity.authentication.encryption_key import adopt_new_key
from threedice.identity.roles import ROLES, is_staff

if TYPE_CHECKING:
    from threedice.db import SqlRunner
    from threedice.identity.access_changes import Transaction
    from threedice.identity.accounts import Account
    from threedice.identity.authentication.encryption_key import EncryptionKey
    from threedice.identity.authentication.passwords import Argon2Hasher


def find_key_custodians(run: SqlRunner) -> list[Account]:
    """Return who may replace a key: the administrators, and more staff if there are too few.

    Administrators whose password somebody else may know count only if nobody else is left.
    """
    sql = f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.enabled = 1"
    enabled = [parse_account(row) for row in run(sql)]
    own_password = {
        id_
        for (id_,) in run("SELECT id FROM people_accounts WHERE held_by = '' AND first_until = 0")
    }
    administrators = [each for each in enabled if each.has_role("administrator")]
    others = [
        each
        for each in enabled
        if is_staff(each.roles) and each not in administrators and each.id in own_password
    ]
    highest = max(map(_rank, others), default=0)
    custodians: list[Account] = []
    for candidates in (
        [each for each in administrators if each.id in own_password],
        [each for each in others if _rank(each) == highest],
        administrators,
    ):
        if len(custodians) < REQUIRED_ADMINISTRATORS:
            custodians += [each for each in candidates if each not in custodians]
    return custodians


def _rank(account: Account) -> int:
    return max(map(ROLES.index, account.roles))


def verify_custodian(
    run: SqlRunner, hasher: Argon2Hasher, custodians: list[Account], name: str, password: str
) -> Account | None:
    """Return the custodian with this name and password, if there is one."""
    folded = fold_name_for_lookup(name)
    account = next((each for each in custodians if each.name == folded), None)
    stored = run(
        "SELECT password FROM people_accounts WHERE id = ?", (account.id if account else "",)
    )
    is_right = hasher.verify(stored[0][0] if stored else None, password)
    return account if is_right else None


def replace_encryption_key(
    run: Transaction, key: EncryptionKey, *, by: str, second: str, reason: str
) -> None:
    """Adopt a new encryption key in place of the lost one.

    Second factors and recovery codes cannot be checked any more and are deleted; their owners
    enrol anew at the next sign-in. Sessions and API tokens end, because they were given to people
    who had shown a second factor, and a finder of the lost file can compute codes. Passwords stay.
    """
    enrolled = {account for (account,) in run("SELECT account FROM people_codes")}
    for account in list_accounts(run):
        delete_second_factor(run, account.id)
        end_account_sessions(run, account.id)
        revoke_account_tokens(run, account.id, by)
        if account.id in enrolled:
            record_security_event(run, "code-reset", account.id, by)
    run("DELETE FROM people_attempts")  # keyed hashes, which nobody can compute any more
    adopt_new_key(run, key)
    record_security_event(run, "encryption-key-replaced", by, second, detail=reason)
    publish_access_change(run, "", "ended")
