"""Access changes: delivered at once in the same process, by polling in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.identity.identity_cluster import PASSWORD, add_account
from threedice.errors import StoreUnavailable
from threedice.identity import AccessChange, Account, IdentityPolicy
from threedice.identity.access_changes import MAX_STORED_CHANGES, publish_access_change
from threedice.identity.authentication.tokens import TokenCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.db import SqlRunner
    from threedice.identity import IdentityService


class Named(NamedTuple):
    """A minimal cached credential."""

    id: str
    account: Account


def record_changes(identity: IdentityService) -> list[tuple[str, str, str]]:
    """Subscribe to access changes and return the list that collects them."""
    received: list[tuple[str, str, str]] = []
    identity.access_changes.subscribe(
        lambda each: received.append((each.account, each.session, each.kind))
    )
    return received


def test_subscriber_receives_changes_of_the_same_process_at_once(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player").id
    one, two = (identity.authentication.sign_in("ann", PASSWORD) for _ in range(2))
    received = record_changes(identity)

    identity.sessions.sign_out(one.token)
    identity.sessions.lock(two.token)
    opened = identity.authentication.unlock(two.token, password=PASSWORD)
    identity.accounts.disable(ann)

    assert received == [
        (ann, one.session.id, "ended"),
        (ann, two.session.id, "locked"),
        (ann, opened.session.id, "rotated"),
        (ann, "", "ended"),
    ]


@pytest.mark.parametrize(
    "revoke",
    [
        lambda identity, ann, _: identity.accounts.disable(ann),
        lambda identity, ann, _: identity.accounts.erase_name(ann),
        lambda identity, ann, _: identity.accounts.reset_password(ann),
        lambda identity, ann, _: identity.second_factors.reset(ann),
        lambda identity, ann, _: identity.sessions.end_all(ann),
        lambda identity, _, token: identity.sessions.sign_out(token),
        lambda identity, _, token: identity.authentication.change_password(
            token, PASSWORD, PASSWORD[::-1]
        ),
        lambda identity, _, token: identity.authentication.sign_in(
            "ann", PASSWORD, replacing=token
        ),
    ],
)
def test_session_revoked_at_one_server_is_invalid_at_another_after_a_poll(
    revoke: Callable[[IdentityService, str, str], object],
    identity: IdentityService,
    cluster: IdentityCluster,
) -> None:
    other = cluster.open(IdentityPolicy(second_factor=False))
    ann = add_account(identity, "ann", "player").id
    token = identity.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None
    received = record_changes(other)

    revoke(identity, ann, token)

    assert identity.sessions.resolve(token) is None
    other.poll()
    assert other.sessions.resolve(token) is None
    assert [account for account, _, _ in received] == [ann]
    other.poll()
    assert len(received) == 1, "each change is delivered once"


def test_revoked_session_is_invalid_at_every_server_within_a_second(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    other = cluster.open(IdentityPolicy(second_factor=False))
    ann = add_account(identity, "ann", "player").id
    token = identity.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None

    identity.sessions.end_all(ann)

    cluster.clock.move(1.001)
    assert other.sessions.resolve(token) is None


def test_cached_session_is_resolved_without_a_query(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token
    identity.sessions.resolve(token)
    identity.context.database.transact(lambda run: run("DELETE FROM people_sessions"))

    assert identity.sessions.resolve(token) is not None


def test_session_read_before_a_change_is_not_cached_after_it() -> None:
    remembered = TokenCache[Named](lambda _: None)
    epoch = remembered.epoch
    remembered.invalidate(AccessChange(1, "ann", "session", "ended"))

    remembered.put(b"digest", Named("session", Account("ann", "ann", ("player",), True, 0)), epoch)

    assert remembered.get(b"digest") is None


def test_credentials_of_an_account_disabled_in_the_database_are_invalid(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    ann = add_account(identity, "ann", "player").id
    session = identity.authentication.sign_in("ann", PASSWORD).token
    program = identity.tokens.create(ann, "robot", ["read"]).token
    identity.context.database.transact(lambda run: run("UPDATE people_accounts SET enabled = 0"))

    other = cluster.open(IdentityPolicy(second_factor=False))

    assert other.sessions.resolve(session) is None
    assert other.tokens.resolve(program) is None


def test_full_token_cache_still_resolves_every_token(
    identity: IdentityService, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.identity.authentication.tokens.MAX_CACHED_TOKENS", 2)
    dan = add_account(identity, "dan", "dealer").id
    sessions = [identity.authentication.sign_in("dan", PASSWORD).token for _ in range(3)]
    programs = [identity.tokens.create(dan, "robot", ["read"]).token for _ in range(3)]
    clock.move(20)

    for _ in range(2):
        assert all(map(identity.sessions.resolve, sessions))
        assert all(map(identity.tokens.resolve, programs))

    clock.move(299)
    assert (
        identity.sessions.resolve(sessions[0], touch=False)
        == identity.sessions.list_for_account(dan)[0]
    )
    assert {each.state for each in identity.sessions.list_for_account(dan)} == {"open"}


def test_change_of_one_account_keeps_other_accounts_cached(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")
    bob = add_account(identity, "bob", "player").id
    token = identity.authentication.sign_in("ann", PASSWORD).token
    assert identity.sessions.resolve(token) is not None

    identity.sessions.end_all(bob)
    identity.context.database.transact(lambda run: run("DELETE FROM people_sessions"))

    assert identity.sessions.resolve(token) is not None


def test_cached_session_is_not_used_when_changes_cannot_be_polled(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token
    assert identity.sessions.resolve(token) is not None
    identity.context.database.close()
    cluster.clock.move(2)

    with pytest.raises(StoreUnavailable):
        identity.sessions.resolve(token)


def test_access_changes_can_be_read_from_any_number(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player").id
    assert identity.access_changes.changes_since(0) == []
    identity.sessions.end_all(ann)
    identity.accounts.disable(ann)

    both = identity.access_changes.changes_since(0)
    assert both == [AccessChange(1, ann, "", "ended"), AccessChange(2, ann, "", "ended")]
    assert identity.access_changes.changes_since(1) == both[1:]
    assert identity.access_changes.changes_since(2) == []
    assert identity.access_changes.latest() == 2


def test_server_that_missed_deleted_changes_invalidates_its_whole_cache(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    other = cluster.open(IdentityPolicy(second_factor=False))
    ann = add_account(identity, "ann", "player").id
    token = identity.authentication.sign_in("ann", PASSWORD).token
    assert other.sessions.resolve(token) is not None
    received = record_changes(other)

    def many(run: SqlRunner) -> None:
        sql = "INSERT INTO people_changes (number, account, session, what) VALUES (?, ?, ?, ?)"
        run(sql, (MAX_STORED_CHANGES + 5, "nobody", "", "ended"))
        publish_access_change(run, ann, "rights")

    identity.sessions.end_all(ann)
    identity.context.database.transact(many)
    other.poll()

    assert received == [("", "", "ended")]
    assert other.sessions.resolve(token) is None
    assert identity.access_changes.changes_since(3) == [
        AccessChange(MAX_STORED_CHANGES + 6, "", "", "ended")
    ]
    assert identity.access_changes.changes_since(MAX_STORED_CHANGES + 99) == [
        AccessChange(MAX_STORED_CHANGES + 6, "", "", "ended")
    ]


def test_failing_subscriber_does_not_keep_a_change_from_the_others(
    identity: IdentityService,
) -> None:
    ann = add_account(identity, "ann", "player").id

    def failing(_: AccessChange) -> None:
        raise ValueError("out of order")

    stop = identity.access_changes.subscribe(failing)
    received = record_changes(identity)

    with pytest.raises(ExceptionGroup):
        identity.accounts.disable(ann)

    assert received == [(ann, "", "ended")]
    stop()
    identity.sessions.end_all(ann)
    assert len(received) == 2
