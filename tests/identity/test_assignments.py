"""Assignments of staff to tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import add_account
from threedice.errors import InvalidInput
from threedice.identity import AccountRefused, RecordNotFound

if TYPE_CHECKING:
    from tests.identity.identity_cluster import SteppedClock
    from threedice.identity import IdentityService
    from threedice.identity.roles import Role

HOUR = 3_600_000_000


def is_assigned(
    identity: IdentityService, account: str, table: str, role: Role, at: int | None = None
) -> bool:
    """Return whether an account has an assignment at a table in a role; by default, now."""
    current = identity.assignments.current(account=account, table=table, at=at)
    return any(each.role == role for each in current)


def test_assignment_holds_for_one_account_table_role_and_period(
    identity: IdentityService, clock: SteppedClock
) -> None:
    dan, now = add_account(identity, "dan", "dealer", "supervisor"), clock()
    made = identity.assignments.add(dan.id, "one", "dealer", starts=now, until=now + 8 * HOUR)

    assigned = partial(is_assigned, identity)
    assert assigned(dan.id, "one", "dealer")
    assert assigned(dan.id, "one", "dealer", now + 8 * HOUR - 1)
    assert not assigned(dan.id, "one", "dealer", now + 8 * HOUR)
    assert not assigned(dan.id, "one", "dealer", now - 1)
    assert not assigned(dan.id, "two", "dealer")
    assert not assigned(dan.id, "one", "supervisor")
    assert not assigned(add_account(identity, "sue", "dealer").id, "one", "dealer")
    assert identity.assignments.current() == [made]


def test_assignment_without_a_table_holds_at_every_table(
    identity: IdentityService, clock: SteppedClock
) -> None:
    pat, now = add_account(identity, "pat", "pit-manager"), clock()
    made = identity.assignments.add(pat.id, None, "pit-manager", starts=now, until=now + HOUR)

    assert is_assigned(identity, pat.id, "one", "pit-manager")
    assert identity.assignments.current(table="any") == [made]
    assert identity.assignments.current(account="nobody") == []
    assert identity.assignments.current(at=now + HOUR) == []


def test_disabled_account_or_missing_role_cannot_be_assigned(
    identity: IdentityService, clock: SteppedClock
) -> None:
    dan, sue, now = (
        add_account(identity, "dan", "dealer"),
        add_account(identity, "sue", "dealer"),
        clock(),
    )
    identity.accounts.set_roles(dan.id, ["supervisor"])
    identity.accounts.disable(sue.id)

    for account in (dan.id, sue.id):
        with pytest.raises(AccountRefused):
            identity.assignments.add(account, "one", "dealer", starts=now, until=now + 1)


def test_ending_an_assignment_publishes_an_access_change(
    identity: IdentityService, clock: SteppedClock
) -> None:
    dan, now = add_account(identity, "dan", "dealer"), clock()
    made = identity.assignments.add(dan.id, "one", "dealer", starts=now, until=now + 8 * HOUR)
    later = identity.assignments.add(
        dan.id, "two", "dealer", starts=now + 8 * HOUR, until=now + 9 * HOUR
    )
    clock.move(60)
    received: list[str] = []
    identity.access_changes.subscribe(lambda change: received.append(change.kind))

    identity.assignments.end(made.id)
    identity.assignments.end(later.id)

    assert not is_assigned(identity, dan.id, "one", "dealer")
    assert is_assigned(identity, dan.id, "one", "dealer", now), "the past is unchanged"
    assert not is_assigned(identity, dan.id, "two", "dealer", now + 8 * HOUR)
    assert received == ["rights", "rights"]
    with pytest.raises(RecordNotFound):
        identity.assignments.end("nothing")


@pytest.mark.parametrize(
    ("table", "role", "starts", "until"),
    [
        ("one", "player", 1, 2),
        ("one", "dealer", 2, 2),
        ("", "dealer", 1, 2),
        ("a\0", "dealer", 1, 2),
    ],
)
def test_invalid_assignment_is_refused(
    table: str, role: Role, starts: int, until: int, memory_identity: IdentityService
) -> None:
    dan = add_account(memory_identity, "dan", "dealer")

    with pytest.raises(InvalidInput):
        memory_identity.assignments.add(dan.id, table, role, starts=starts, until=until)
