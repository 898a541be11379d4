"""Access changes: delivered at once in the same process, by polling in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.identity.setting import PASSWORD, add
from threedice.errors import StoreUnavailable
from threedice.identity import AccessChange, Account, IdentityPolicy
from threedice.identity.access_changes import MAX_STORED_CHANGES, publish_access_change
from threedice.identity.tokens import TokenCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.identity.setting import HandClock, Setting
    from threedice.db import SqlRunner
    from threedice.identity import IdentityService


class Named(NamedTuple):
    """A minimal cached credential."""

    id: str
    account: Account


def heard(people: IdentityService) -> list[tuple[str, str, str]]:
    """Return a list that fills with what is heard of."""
    told: list[tuple[str, str, str]] = []
    people.access_changes.subscribe(
        lambda each: told.append((each.account, each.session, each.kind))
    )
    return told


def test_subscriber_receives_changes_of_the_same_process_at_once(people: IdentityService) -> None:
    ann = add(people, "ann", "player").id
    one, two = (people.authentication.sign_in("ann", PASSWORD) for _ in range(2))
    told = heard(people)

    people.sessions.sign_out(one.token)
    people.sessions.lock(two.token)
    opened = people.authentication.unlock(two.token, password=PASSWORD)
    people.accounts.disable(ann)

    assert told == [
        (ann, one.session.id, "ended"),
        (ann, two.session.id, "locked"),
        (ann, opened.session.id, "rotated"),
        (ann, "", "ended"),
    ]


@pytest.mark.parametrize(
    "revoke",
    [
        lambda people, ann, _: people.accounts.disable(ann),
        lambda people, ann, _: people.accounts.erase_name(ann),
        lambda people, ann, _: people.accounts.reset_password(ann),
        lambda people, ann, _: people.second_factors.reset(ann),
        lambda people, ann, _: people.sessions.end_all(ann),
        lambda people, _, token: people.sessions.sign_out(token),
        lambda people, _, token: people.authentication.change_password(
            token, PASSWORD, PASSWORD[::-1]
        ),
        lambda people, _, token: people.authentication.sign_in("ann", PASSWORD, replacing=token),
    ],
)
def test_session_revoked_at_one_server_is_invalid_at_another_after_a_poll(
    revoke: Callable[[IdentityService, str, str], object], people: IdentityService, setting: Setting
) -> None:
    other = setting.open(IdentityPolicy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None
    told = heard(other)

    revoke(people, ann, token)

    assert people.sessions.resolve(token) is None
    other.poll()
    assert other.sessions.resolve(token) is None
    assert [account for account, _, _ in told] == [ann]
    other.poll()
    assert len(told) == 1, "each is told once"


def test_revoked_session_is_invalid_at_every_server_within_a_second(
    people: IdentityService, setting: Setting
) -> None:
    other = setting.open(IdentityPolicy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None

    people.sessions.end_all(ann)

    setting.clock.move(1.001)
    assert other.sessions.resolve(token) is None


def test_cached_session_is_resolved_without_a_query(people: IdentityService) -> None:
    add(people, "ann", "player")
    token = people.authentication.sign_in("ann", PASSWORD).token
    people.sessions.resolve(token)
    people.context.database.transact(lambda run: run("DELETE FROM people_sessions"))

    assert people.sessions.resolve(token) is not None


def test_session_read_before_a_change_is_not_cached_after_it() -> None:
    remembered = TokenCache[Named](lambda _: None)
    epoch = remembered.epoch
    remembered.invalidate(AccessChange(1, "ann", "session", "ended"))

    remembered.put(b"digest", Named("session", Account("ann", "ann", ("player",), True, 0)), epoch)

    assert remembered.get(b"digest") is None


def test_credentials_of_an_account_disabled_in_the_database_are_invalid(
    people: IdentityService, setting: Setting
) -> None:
    ann = add(people, "ann", "player").id
    session = people.authentication.sign_in("ann", PASSWORD).token
    program = people.tokens.create(ann, "robot", ["read"]).token
    people.context.database.transact(lambda run: run("UPDATE people_accounts SET enabled = 0"))

    other = setting.open(IdentityPolicy(second_factor=False))

    assert other.sessions.resolve(session) is None
    assert other.tokens.resolve(program) is None


def test_full_token_cache_still_resolves_every_token(
    people: IdentityService, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.identity.tokens.MAX_CACHED_TOKENS", 2)
    dan = add(people, "dan", "dealer").id
    sessions = [people.authentication.sign_in("dan", PASSWORD).token for _ in range(3)]
    programs = [people.tokens.create(dan, "robot", ["read"]).token for _ in range(3)]
    clock.move(20)

    for _ in range(2):
        assert all(map(people.sessions.resolve, sessions))
        assert all(map(people.tokens.resolve, programs))

    clock.move(299)
    assert (
        people.sessions.resolve(sessions[0], touch=False)
        == people.sessions.list_for_account(dan)[0]
    )
    assert {each.state for each in people.sessions.list_for_account(dan)} == {"open"}


def test_change_of_one_account_keeps_other_accounts_cached(people: IdentityService) -> None:
    add(people, "ann", "player")
    bob = add(people, "bob", "player").id
    token = people.authentication.sign_in("ann", PASSWORD).token
    assert people.sessions.resolve(token) is not None

    people.sessions.end_all(bob)
    people.context.database.transact(lambda run: run("DELETE FROM people_sessions"))

    assert people.sessions.resolve(token) is not None


def test_cached_session_is_not_used_when_changes_cannot_be_polled(
    people: IdentityService, setting: Setting
) -> None:
    add(people, "ann", "player")
    token = people.authentication.sign_in("ann", PASSWORD).token
    assert people.sessions.resolve(token) is not None
    people.context.database.close()
    setting.clock.move(2)

    with pytest.raises(StoreUnavailable):
        people.sessions.resolve(token)


def test_access_changes_can_be_read_from_any_number(people: IdentityService) -> None:
    ann = add(people, "ann", "player").id
    assert people.access_changes.changes_since(0) == []
    people.sessions.end_all(ann)
    people.accounts.disable(ann)

    both = people.access_changes.changes_since(0)
    assert both == [AccessChange(1, ann, "", "ended"), AccessChange(2, ann, "", "ended")]
    assert people.access_changes.changes_since(1) == both[1:]
    assert people.access_changes.changes_since(2) == []
    assert people.access_changes.latest() == 2


def test_server_that_missed_deleted_changes_invalidates_its_whole_cache(
    people: IdentityService, setting: Setting
) -> None:
    other = setting.open(IdentityPolicy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None
    told = heard(other)

    def many(run: SqlRunner) -> None:
        sql = "INSERT INTO people_changes (number, account, session, what) VALUES (?, ?, ?, ?)"
        run(sql, (MAX_STORED_CHANGES + 5, "somebody", "", "ended"))
        publish_access_change(run, ann, "rights")

    people.sessions.end_all(ann)
    people.context.database.transact(many)
    other.poll()

    assert told == [("", "", "ended")]
    assert other.sessions.resolve(token) is None
    assert people.access_changes.changes_since(3) == [
        AccessChange(MAX_STORED_CHANGES + 6, "", "", "ended")
    ]
    assert people.access_changes.changes_since(MAX_STORED_CHANGES + 99) == [
        AccessChange(MAX_STORED_CHANGES + 6, "", "", "ended")
    ]


def test_failing_subscriber_does_not_keep_a_change_from_the_others(people: IdentityService) -> None:
    ann = add(people, "ann", "player").id

    def failing(_: AccessChange) -> None:
        raise ValueError("out of order")

    stop = people.access_changes.subscribe(failing)
    told = heard(people)

    with pytest.raises(ExceptionGroup):
        people.accounts.disable(ann)

    assert told == [(ann, "", "ended")]
    stop()
    people.sessions.end_all(ann)
    assert len(told) == 2
