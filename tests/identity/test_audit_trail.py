"""The audit trail of security events: complete, only added to, and without anything secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.identity.setting import HERE, PASSWORD, THERE, Telephone, add
from threedice.errors import StoreFailed
from threedice.identity import SignInRefused

if TYPE_CHECKING:
    from tests.identity.setting import Setting
    from threedice.identity import IdentityService


def told(people: IdentityService, since: int = 0) -> list[tuple[str, str, str]]:
    events = people.audit_trail.security_events(since)
    return [(event.kind, event.account, event.by) for event in events]


def test_security_events_are_recorded_in_order(people: IdentityService) -> None:
    dan = add(people, "dan", "dealer").id
    token = people.authentication.sign_in("dan", PASSWORD).token
    with pytest.raises(SignInRefused):
        people.authentication.sign_in("dan", "wrong and wrong")
    with pytest.raises(SignInRefused):
        people.authentication.sign_in("zoe", "wrong and wrong")
    people.sessions.lock(token)
    with pytest.raises(SignInRefused):
        people.authentication.unlock(token, password="wrong and wrong")
    token = people.authentication.unlock(token, password=PASSWORD).token
    token = people.authentication.change_password(token, PASSWORD, "another quiet river").token
    program = people.tokens.create(dan, "robot", ["read"], by=dan).api_token
    people.tokens.revoke(program.id, by="adam")
    people.sessions.sign_out(token)
    people.accounts.set_roles(dan, ["supervisor"], by="adam")
    people.accounts.disable(dan, by="adam")
    people.accounts.enable(dan, by="adam")

    assert told(people) == [
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
        ("roles-changed", dan, "adam"),
        ("account-disabled", dan, "adam"),
        ("account-enabled", dan, "adam"),
    ]
    events = people.audit_trail.security_events(after=10, limit=2)
    assert [event.number for event in events] == [11, 12]
    assert events[1].detail == "dealer -> supervisor"
    assert people.audit_trail.latest() == 14


def test_security_events_hold_a_pseudonym_instead_of_the_address(people: IdentityService) -> None:
    add(people, "ann", "player")
    for address in (HERE, THERE, HERE):
        people.authentication.sign_in("ann", PASSWORD, address=address)

    one, two, three = (event.source for event in people.audit_trail.security_events(after=1))

    assert one == three != two
    assert len(one) == 12
    assert HERE not in one


def test_no_secret_and_no_typed_name_is_stored(strict: IdentityService, setting: Setting) -> None:
    add(strict, "dan", "dealer")
    first = strict.authentication.sign_in("dan", PASSWORD, address=HERE)
    telephone = Telephone(strict.second_factors.begin_enrolment(first.token).secret, setting.clock)
    done = strict.second_factors.confirm_enrolment(first.token, telephone.code())
    program = strict.tokens.create(first.session.account.id, "robot", ["read"])
    typed = "typed-into-the-wrong-field"
    with pytest.raises(SignInRefused):
        strict.authentication.sign_in(typed, "guessed-password", address=HERE)

    secrets = [
        PASSWORD, HERE, typed, "guessed-password", telephone.secret, first.token,
        done.issued_session.token, program.token[len(program.api_token.prefix) :],
        *done.recovery_codes,
    ]  # fmt: skip
    for table in (
        "accounts", "codes", "recovery", "sessions", "tokens", "attempts", "events", "changes",
        "meta",
    ):  # fmt: skip
        kept = strict.context.database.query(f"SELECT * FROM people_{table}")
        assert kept
        for secret in secrets:
            assert secret not in str(kept), table
            assert secret.replace("-", "") not in str(kept), table


@pytest.mark.parametrize(
    "sql", ["UPDATE people_events SET account = 'somebody'", "DELETE FROM people_events"]
)
def test_security_events_cannot_be_changed_or_deleted(sql: str, people: IdentityService) -> None:
    add(people, "ann", "player")
    before = people.audit_trail.security_events()

    with pytest.raises(StoreFailed):
        people.context.database.transact(lambda run: run(sql))

    assert people.audit_trail.security_events() == before
