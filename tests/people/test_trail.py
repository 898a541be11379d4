"""The trail of security events: complete, only added to, and without anything secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.people.setting import HERE, PASSWORD, THERE, Telephone, add
from threedice.errors import StoreFailed
from threedice.people import SignInRefused

if TYPE_CHECKING:
    from tests.people.setting import Setting
    from threedice.people import People


def told(people: People, since: int = 0) -> list[tuple[str, str, str]]:
    events = people.trail.security_events(since)
    return [(event.kind, event.account, event.by) for event in events]


def test_what_happens_is_noted_in_order(people: People) -> None:
    dan = add(people, "dan", "dealer").id
    token = people.door.sign_in("dan", PASSWORD).token
    with pytest.raises(SignInRefused):
        people.door.sign_in("dan", "wrong and wrong")
    with pytest.raises(SignInRefused):
        people.door.sign_in("zoe", "wrong and wrong")
    people.sessions.lock(token)
    with pytest.raises(SignInRefused):
        people.door.unlock(token, password="wrong and wrong")
    token = people.door.unlock(token, password=PASSWORD).token
    token = people.door.change_password(token, PASSWORD, "another quiet river").token
    program = people.tokens.make(dan, "robot", ["read"], by=dan).program
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
    events = people.trail.security_events(since=10, most=2)
    assert [event.number for event in events] == [11, 12]
    assert events[1].detail == "dealer -> supervisor"
    assert people.trail.latest() == 14


def test_addresses_are_marked_not_told(people: People) -> None:
    add(people, "ann", "player")
    for address in (HERE, THERE, HERE):
        people.door.sign_in("ann", PASSWORD, address=address)

    one, two, three = (event.source for event in people.trail.security_events(since=1))

    assert one == three != two
    assert len(one) == 12
    assert HERE not in one


def test_nothing_secret_and_no_name_that_was_typed_is_kept_anywhere(
    strict: People, setting: Setting
) -> None:
    add(strict, "dan", "dealer")
    first = strict.door.sign_in("dan", PASSWORD, address=HERE)
    telephone = Telephone(strict.codes.begin(first.token).secret, setting.clock)
    done = strict.codes.confirm(first.token, telephone.code())
    program = strict.tokens.make(first.session.account.id, "robot", ["read"])
    typed = "typed-into-the-wrong-field"
    with pytest.raises(SignInRefused):
        strict.door.sign_in(typed, "guessed-password", address=HERE)

    secrets = [
        PASSWORD, HERE, typed, "guessed-password", telephone.secret, first.token,
        done.signed_in.token, program.token[len(program.program.prefix) :], *done.recovery_codes,
    ]  # fmt: skip
    for table in (
        "accounts", "codes", "recovery", "sessions", "tokens", "attempts", "events", "changes",
        "meta",
    ):  # fmt: skip
        kept = strict.records.database.rows(f"SELECT * FROM people_{table}")
        assert kept
        for secret in secrets:
            assert secret not in str(kept), table
            assert secret.replace("-", "") not in str(kept), table


@pytest.mark.parametrize(
    "sql", ["UPDATE people_events SET account = 'somebody'", "DELETE FROM people_events"]
)
def test_events_are_neither_changed_nor_deleted(sql: str, people: People) -> None:
    add(people, "ann", "player")
    before = people.trail.security_events()

    with pytest.raises(StoreFailed):
        people.records.database.change(lambda run: run(sql))

    assert people.trail.security_events() == before
