"""Approval requests need two people."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tests.identity.setting import add
from threedice.errors import InvalidInput, TamperedData
from threedice.identity import ApprovalRefused, IdentityPolicy, RecordNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.identity.setting import HandClock, Setting
    from threedice.identity import ApprovalRequest, IdentityService

COMMAND = b'{"type": "void-round"}'


def asked(people: IdentityService, by: str, table: str = "one") -> ApprovalRequest:
    return people.approvals.open(
        by, table, COMMAND, "dice fell off", roles=["supervisor", "pit-manager"]
    )


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ApprovalRefused) as refused:
        act()
    return refused.value.reason


def test_approval_request_is_approved_by_a_second_person(
    people: IdentityService, clock: HandClock
) -> None:
    dan, sue = add(people, "dan", "dealer").id, add(people, "sue", "supervisor").id
    request = asked(people, dan)
    assert request.state == "pending"
    assert request.command_hash == sha256(COMMAND).hexdigest()
    assert people.approvals.pending("one") == people.approvals.pending() == [request]
    assert people.approvals.pending("two") == []
    clock.move(60)

    approved = people.approvals.approve(request.id, sue, "seen it")

    assert (approved.state, approved.decided_by, approved.note) == ("approved", sue, "seen it")
    assert approved.decided - approved.opened == 60_000_000
    assert approved.command == COMMAND
    assert people.approvals.get(request.id) == approved
    assert people.approvals.pending() == []


def test_deciding_on_an_own_approval_request_is_refused(people: IdentityService) -> None:
    sue = add(people, "sue", "supervisor").id
    request = asked(people, sue)

    assert refusal(lambda: people.approvals.approve(request.id, sue)) == "own"
    assert refusal(lambda: people.approvals.decline(request.id, sue)) == "own"
    assert people.approvals.get(request.id).state == "pending"


def test_approval_by_a_role_that_was_not_requested_is_refused(people: IdentityService) -> None:
    dan = add(people, "dan", "dealer").id
    request = asked(people, dan)

    for role in ("dealer", "shift-manager", "auditor", "administrator", "player"):
        other = add(people, f"a-{role}", role).id
        for decide in (people.approvals.approve, people.approvals.decline):
            assert refusal(partial(decide, request.id, other)) == "role"
    assert people.approvals.decline(request.id, add(people, "pat", "pit-manager").id)


def test_decided_approval_request_cannot_be_decided_again(people: IdentityService) -> None:
    dan = add(people, "dan", "dealer").id
    sue, pat = add(people, "sue", "supervisor").id, add(people, "pat", "pit-manager").id
    request = asked(people, dan)
    assert people.approvals.decline(request.id, sue, "no").state == "declined"

    assert refusal(lambda: people.approvals.approve(request.id, pat)) == "decided"
    assert refusal(lambda: people.approvals.withdraw(request.id, dan)) == "decided"
    with pytest.raises(RecordNotFound):
        people.approvals.approve("nothing", pat)


def test_concurrent_approvals_of_a_request_approve_once(
    people: IdentityService, setting: Setting
) -> None:
    dan = add(people, "dan", "dealer").id
    staff = [add(people, f"sue{number}", "supervisor").id for number in range(8)]
    servers = [people, setting.open(IdentityPolicy(second_factor=False))]
    request = asked(people, dan)

    def decide(number: int) -> str:
        try:
            return servers[number % 2].approvals.approve(request.id, staff[number]).state
        except ApprovalRefused as refused:
            return refused.reason

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(decide, range(8))) == ["approved"] + ["decided"] * 7


def test_approval_request_expires_after_15_minutes(
    people: IdentityService, clock: HandClock
) -> None:
    dan, sue = add(people, "dan", "dealer").id, add(people, "sue", "supervisor").id
    request = asked(people, dan)
    clock.move(15 * 60 - 1)
    assert people.approvals.pending()
    clock.move(1)

    assert people.approvals.pending() == []
    assert people.approvals.get(request.id).state == "expired"
    assert refusal(lambda: people.approvals.approve(request.id, sue)) == "expired"


def test_disabled_accounts_neither_request_nor_approve(people: IdentityService) -> None:
    dan, sue = add(people, "dan", "dealer").id, add(people, "sue", "supervisor").id
    pat = add(people, "pat", "pit-manager").id
    request = asked(people, dan)
    people.accounts.disable(sue)
    assert refusal(lambda: people.approvals.approve(request.id, sue)) == "disabled"
    people.accounts.disable(dan)

    assert refusal(lambda: people.approvals.approve(request.id, pat)) == "disabled"
    assert refusal(lambda: asked(people, dan)) == "disabled"
    assert people.approvals.decline(request.id, pat).state == "declined"


def test_only_the_requester_withdraws_an_approval_request(people: IdentityService) -> None:
    dan, sue = add(people, "dan", "dealer").id, add(people, "sue", "supervisor").id
    request = asked(people, dan)

    assert refusal(lambda: people.approvals.withdraw(request.id, sue)) == "not-own"
    assert people.approvals.withdraw(request.id, dan).state == "withdrawn"


def test_approval_request_whose_command_was_changed_is_reported_as_tampered(
    people: IdentityService,
) -> None:
    dan, sue = add(people, "dan", "dealer").id, add(people, "sue", "supervisor").id
    request = asked(people, dan)
    sql = "UPDATE people_requests SET command = ?"
    people.context.database.transact(lambda run: run(sql, (b'{"type": "pay-all"}',)))

    for look in (
        lambda: people.approvals.approve(request.id, sue),
        lambda: people.approvals.get(request.id),
        people.approvals.pending,
    ):
        with pytest.raises(TamperedData):
            look()


@pytest.mark.parametrize(
    ("command", "reason", "roles", "seconds"),
    [
        (b"", "why", ["supervisor"], None),
        (b"x" * 65_537, "why", ["supervisor"], None),
        (b"x", "", ["supervisor"], None),
        (b"x", "a\nb", ["supervisor"], None),
        (b"x", "why", [], None),
        (b"x", "why", ["player"], None),
        (b"x", "why", ["croupier"], None),
        (b"x", "why", ["supervisor"], 0),
    ],
)
def test_invalid_approval_request_is_refused(
    command: bytes, reason: str, roles: list[str], seconds: int | None, local: IdentityService
) -> None:
    dan = add(local, "dan", "dealer").id

    with pytest.raises(InvalidInput):
        local.approvals.open(dan, "one", command, reason, roles=roles, seconds=seconds)
    assert local.approvals.pending() == []
