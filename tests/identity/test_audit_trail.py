"""The audit trail of security events is complete, append-only and free of secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import HERE, PASSWORD, THERE, TotpDevice, add_account
from threedice.errors import StoreFailed
from threedice.identity import SignInRefused

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster
    from threedice.identity import IdentityService


def recorded_events(identity: IdentityService, since: int = 0) -> list[tuple[str, str, str]]:
    events = identity.audit_trail.security_events(since)
    return [(event.kind, event.account, event.by) for event in events]


def test_security_events_are_recorded_in_order(identity: IdentityService) -> None:
    dan = add_account(identity, "dan", "dealer").id
    token = identity.authentication.sign_in("dan", PASSWORD).token
    with pytest.raises(SignInRefused):
        identity.authentication.sign_in("dan", "wrong and wrong")
    with pytest.raises(SignInRefused):
        identity.authentication.sign_in("zoe", "wrong and wrong")
    identity.sessions.lock(token)
    with pytest.raises(SignInRefused):
        identity.authentication.unlock(token, password="wrong and wrong")
    token = identity.authentication.unlock(token, password=PASSWORD).token
    token = identity.authentication.change_password(token, PASSWORD, "another quiet river").token
    program = identity.tokens.create(dan, "robot", ["read"], by=dan).api_token
    identity.tokens.revoke(program.id, by="adam")
    identity.sessions.sign_out(token)
    identity.accounts.set_roles(dan, ["supervisor"])
    identity.accounts.disable(dan, by="adam")
    identity.accounts.enable(dan)

    assert recorded_events(identity) == [
        ("account-added", dan, "console"),
        ("signed-in", dan, dan),
        ("sign-in-failed", dan, ""),
        ("sign-in-failed", "", ""),
        ("session-locked", dan, dan),
        ("unlock-failed", dan, ""),
        ("unlocked", dan, dan),
        ("password-changed", dan, dan),
        ("token-made", dan, dan),
        ("token-revoked", dan, "adam"),
        ("signed-out", dan, dan),
        ("roles-changed", dan, "console"),
        ("account-disabled", dan, "adam"),
        ("account-enabled", dan, "console"),
    ]
    events = identity.audit_trail.security_events(after=10, limit=2)
    assert [event.number for event in events] == [11, 12]
    assert events[1].detail == "dealer -> supervisor"
    assert identity.audit_trail.latest() == 14


def test_security_events_hold_a_pseudonym_instead_of_the_address(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")
    for address in (HERE, THERE, HERE):
        identity.authentication.sign_in("ann", PASSWORD, address=address)

    one, two, three = (event.source for event in identity.audit_trail.security_events(after=1))

    assert one == three != two
    assert len(one) == 12
    assert HERE not in one


def test_no_secret_and_no_typed_name_is_stored(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    first = strict_identity.authentication.sign_in("dan", PASSWORD, address=HERE)
    device = TotpDevice(
        strict_identity.second_factors.begin_enrolment(first.token).secret, cluster.clock
    )
    done = strict_identity.second_factors.confirm_enrolment(first.token, device.code())
    program = strict_identity.tokens.create(first.session.account.id, "robot", ["read"])
    typed = "typed-into-the-wrong-field"
    with pytest.raises(SignInRefused):
        strict_identity.authentication.sign_in(typed, "guessed-password", address=HERE)

    secrets = [
        PASSWORD, HERE, typed, "guessed-password", device.secret, first.token,
        done.issued_session.token, program.token[len(program.api_token.prefix) :],
        *done.recovery_codes,
    ]  # fmt: skip
    for table in (
        "accounts", "codes", "recovery", "sessions", "tokens", "attempts", "events", "changes",
        "meta",
    ):  # fmt: skip
        kept = strict_identity.context.database.query(f"SELECT * FROM people_{table}")
        assert kept
        for secret in secrets:
            assert secret not in str(kept), table
            assert secret.replace("-", "") not in str(kept), table


@pytest.mark.parametrize(
    "sql", ["UPDATE people_events SET account = 'other'", "DELETE FROM people_events"]
)
def test_security_events_cannot_be_changed_or_deleted(sql: str, identity: IdentityService) -> None:
    add_account(identity, "ann", "player")
    before = identity.audit_trail.security_events()

    with pytest.raises(StoreFailed):
        identity.context.database.transact(lambda run: run(sql))

    assert identity.audit_trail.security_events() == before
