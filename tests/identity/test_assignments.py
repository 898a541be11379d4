"""Assignments of staff to tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.identity.setting import add
from threedice.errors import InvalidInput
from threedice.identity import AccountRefused, RecordNotFound

if TYPE_CHECKING:
    from tests.identity.setting import HandClock
    from threedice.identity import IdentityService
    from threedice.identity.roles import Role

HOUR = 3_600_000_000


def is_assigned(
    people: IdentityService, account: str, table: str, role: Role, at: int | None = None
) -> bool:
    """Return whether an account has an assignment at a table in a role; by default, now."""
    current = people.assignments.current(account=account, table=table, at=at)
    return any(each.role == role for each in current)


def test_assignment_holds_for_one_account_table_role_and_period(
    people: IdentityService, clock: HandClock
) -> None:
    dan, now = add(people, "dan", "dealer", "supervisor"), clock()
    made = people.assignments.add(dan.id, "one", "dealer", starts=now, until=now + 8 * HOUR)

    assigned = partial(is_assigned, people)
    assert assigned(dan.id, "one", "dealer")
    assert assigned(dan.id, "one", "dealer", now + 8 * HOUR - 1)
    assert not assigned(dan.id, "one", "dealer", now + 8 * HOUR)
    assert not assigned(dan.id, "one", "dealer", now - 1)
    assert not assigned(dan.id, "two", "dealer")
    assert not assigned(dan.id, "one", "supervisor")
    assert not assigned(add(people, "sue", "dealer").id, "one", "dealer")
    assert people.assignments.current() == [made]


def test_assignment_without_a_table_holds_at_every_table(
    people: IdentityService, clock: HandClock
) -> None:
    pat, now = add(people, "pat", "pit-manager"), clock()
    made = people.assignments.add(pat.id, None, "pit-manager", starts=now, until=now + HOUR)

    assert is_assigned(people, pat.id, "one", "pit-manager")
    assert people.assignments.current(table="any") == [made]
    assert people.assignments.current(account="nobody") == []
    assert people.assignments.current(at=now + HOUR) == []


def test_disabled_account_or_missing_role_cannot_be_assigned(
    people: IdentityService, clock: HandClock
) -> None:
    dan, sue, now = add(people, "dan", "dealer"), add(people, "sue", "dealer"), clock()
    people.accounts.set_roles(dan.id, ["supervisor"])
    people.accounts.disable(sue.id)

    for account in (dan.id, sue.id):
        with pytest.raises(AccountRefused):
            people.assignments.add(account, "one", "dealer", starts=now, until=now + 1)


def test_ending_an_assignment_publishes_an_access_change(
    people: IdentityService, clock: HandClock
) -> None:
    dan, now = add(people, "dan", "dealer"), clock()
    made = people.assignments.add(dan.id, "one", "dealer", starts=now, until=now + 8 * HOUR)
    later = people.assignments.add(
        dan.id, "two", "dealer", starts=now + 8 * HOUR, until=now + 9 * HOUR
    )
    clock.move(60)
    told: list[str] = []
    people.access_changes.subscribe(lambda change: told.append(change.kind))

    people.assignments.end(made.id)
    people.assignments.end(later.id)

    assert not is_assigned(people, dan.id, "one", "dealer")
    assert is_assigned(people, dan.id, "one", "dealer", now), "what was, was"
    assert not is_assigned(people, dan.id, "two", "dealer", now + 8 * HOUR)
    assert told == ["rights", "rights"]
    with pytest.raises(RecordNotFound):
        people.assignments.end("nothing")


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
    table: str, role: Role, starts: int, until: int, local: IdentityService
) -> None:
    dan = add(local, "dan", "dealer")

    with pytest.raises(InvalidInput):
        local.assignments.add(dan.id, table, role, starts=starts, until=until)
