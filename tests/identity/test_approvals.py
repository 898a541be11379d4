"""Approval requests need two people."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import add_account
from threedice.errors import InvalidInput, TamperedData
from threedice.identity import ApprovalRefused, IdentityPolicy, RecordNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import ApprovalRequest, IdentityService

COMMAND = b'{"type": "void-round"}'


def open_request(identity: IdentityService, by: str, table: str = "one") -> ApprovalRequest:
    return identity.approvals.open(
        by, table, COMMAND, "dice fell off", roles=["supervisor", "pit-manager"]
    )


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ApprovalRefused) as refused:
        act()
    return refused.value.reason


def test_approval_request_is_approved_by_a_second_person(
    identity: IdentityService, clock: SteppedClock
) -> None:
    dan, sue = (
        add_account(identity, "dan", "dealer").id,
        add_account(identity, "sue", "supervisor").id,
    )
    request = open_request(identity, dan)
    assert request.state == "pending"
    assert request.command_hash == sha256(COMMAND).hexdigest()
    assert identity.approvals.pending("one") == identity.approvals.pending() == [request]
    assert identity.approvals.pending("two") == []
    clock.move(60)

    approved = identity.approvals.approve(request.id, sue, "seen it")

    assert (approved.state, approved.decided_by, approved.note) == ("approved", sue, "seen it")
    assert approved.decided - approved.opened == 60_000_000
    assert approved.command == COMMAND
    assert identity.approvals.get(request.id) == approved
    assert identity.approvals.pending() == []


def test_deciding_on_an_own_approval_request_is_refused(identity: IdentityService) -> None:
    sue = add_account(identity, "sue", "supervisor").id
    request = open_request(identity, sue)

    assert refusal(lambda: identity.approvals.approve(request.id, sue)) == "own"
    assert refusal(lambda: identity.approvals.decline(request.id, sue)) == "own"
    assert identity.approvals.get(request.id).state == "pending"


def test_approval_by_a_role_that_was_not_requested_is_refused(identity: IdentityService) -> None:
    dan = add_account(identity, "dan", "dealer").id
    request = open_request(identity, dan)

    for role in ("dealer", "shift-manager", "auditor", "administrator", "player"):
        other = add_account(identity, f"a-{role}", role).id
        for decide in (identity.approvals.approve, identity.approvals.decline):
            assert refusal(partial(decide, request.id, other)) == "role"
    assert identity.approvals.decline(request.id, add_account(identity, "pat", "pit-manager").id)


def test_decided_approval_request_cannot_be_decided_again(identity: IdentityService) -> None:
    dan = add_account(identity, "dan", "dealer").id
    sue, pat = (
        add_account(identity, "sue", "supervisor").id,
        add_account(identity, "pat", "pit-manager").id,
    )
    request = open_request(identity, dan)
    assert identity.approvals.decline(request.id, sue, "no").state == "declined"

    assert refusal(lambda: identity.approvals.approve(request.id, pat)) == "decided"
    assert refusal(lambda: identity.approvals.withdraw(request.id, dan)) == "decided"
    with pytest.raises(RecordNotFound):
        identity.approvals.approve("nothing", pat)


def test_concurrent_approvals_of_a_request_approve_once(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    dan = add_account(identity, "dan", "dealer").id
    staff = [add_account(identity, f"sue{number}", "supervisor").id for number in range(8)]
    servers = [identity, cluster.open(IdentityPolicy(second_factor=False))]
    request = open_request(identity, dan)

    def decide(number: int) -> str:
        try:
            return servers[number % 2].approvals.approve(request.id, staff[number]).state
        except ApprovalRefused as refused:
            return refused.reason

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(decide, range(8))) == ["approved"] + ["decided"] * 7


def test_approval_request_expires_after_15_minutes(
    identity: IdentityService, clock: SteppedClock
) -> None:
    dan, sue = (
        add_account(identity, "dan", "dealer").id,
        add_account(identity, "sue", "supervisor").id,
    )
    request = open_request(identity, dan)
    clock.move(15 * 60 - 1)
    assert identity.approvals.pending()
    clock.move(1)

    assert identity.approvals.pending() == []
    assert identity.approvals.get(request.id).state == "expired"
    assert refusal(lambda: identity.approvals.approve(request.id, sue)) == "expired"


def test_disabled_accounts_neither_request_nor_approve(identity: IdentityService) -> None:
    dan, sue = (
        add_account(identity, "dan", "dealer").id,
        add_account(identity, "sue", "supervisor").id,
    )
    pat = add_account(identity, "pat", "pit-manager").id
    request = open_request(identity, dan)
    identity.accounts.disable(sue)
    assert refusal(lambda: identity.approvals.approve(request.id, sue)) == "disabled"
    identity.accounts.disable(dan)

    assert refusal(lambda: identity.approvals.approve(request.id, pat)) == "disabled"
    assert refusal(lambda: open_request(identity, dan)) == "disabled"
    assert identity.approvals.decline(request.id, pat).state == "declined"


def test_only_the_requester_withdraws_an_approval_request(identity: IdentityService) -> None:
    dan, sue = (
        add_account(identity, "dan", "dealer").id,
        add_account(identity, "sue", "supervisor").id,
    )
    request = open_request(identity, dan)

    assert refusal(lambda: identity.approvals.withdraw(request.id, sue)) == "not-own"
    assert identity.approvals.withdraw(request.id, dan).state == "withdrawn"


def test_approval_request_whose_command_was_changed_is_reported_as_tampered(
    identity: IdentityService,
) -> None:
    dan, sue = (
        add_account(identity, "dan", "dealer").id,
        add_account(identity, "sue", "supervisor").id,
    )
    request = open_request(identity, dan)
    sql = "UPDATE people_requests SET command = ?"
    identity.context.database.transact(lambda run: run(sql, (b'{"type": "pay-all"}',)))

    for look in (
        lambda: identity.approvals.approve(request.id, sue),
        lambda: identity.approvals.get(request.id),
        identity.approvals.pending,
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
    command: bytes,
    reason: str,
    roles: list[str],
    seconds: int | None,
    memory_identity: IdentityService,
) -> None:
    dan = add_account(memory_identity, "dan", "dealer").id

    with pytest.raises(InvalidInput):
        memory_identity.approvals.open(dan, "one", command, reason, roles=roles, seconds=seconds)
    assert memory_identity.approvals.pending() == []
