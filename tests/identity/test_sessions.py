"""Sessions: states, timeouts, and invalid tokens."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.identity.identity_cluster import PASSWORD, SteppedClock, add_account
from threedice.identity import (
    IdentityPolicy,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
    open_identity,
)
from threedice.identity.authentication.passwords import TEST_COST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.identity.identity_cluster import IdentityCluster
    from threedice.identity import IdentityService, IssuedSession

MINUTE, HOUR = 60, 3600


def signed_in(identity: IdentityService, name: str, *roles: str) -> IssuedSession:
    add_account(identity, name, *roles)
    return identity.authentication.sign_in(name, PASSWORD)


def state_of(identity: IdentityService, token: str) -> str | None:
    session = identity.sessions.resolve(token, touch=False)
    return None if session is None else session.state


def test_session_token_has_256_bits_and_only_its_digest_is_stored(
    identity: IdentityService,
) -> None:
    token = signed_in(identity, "ann", "player").token

    assert len(token) == 43
    ((kept,),) = identity.context.database.query("SELECT digest FROM people_sessions")
    assert kept == sha256(token.encode()).digest()


@pytest.mark.parametrize("forged", ["", "x", "\ud800", "\0", "é" * 43, "x" * 100_000])
def test_forged_session_token_resolves_to_nothing(
    forged: str, memory_identity: IdentityService
) -> None:
    token = signed_in(memory_identity, "ann", "player").token

    assert memory_identity.sessions.resolve(forged) is None
    assert memory_identity.sessions.resolve(token + forged) is None or not forged
    assert memory_identity.sessions.resolve(token[:-1]) is None
    assert memory_identity.sessions.resolve(token.swapcase()) is None
    memory_identity.sessions.sign_out(forged)
    assert memory_identity.sessions.resolve(token) is not None


def test_digest_of_a_session_token_is_not_a_token(identity: IdentityService) -> None:
    signed_in(identity, "ann", "player")
    ((kept,),) = identity.context.database.query("SELECT digest FROM people_sessions")

    assert identity.sessions.resolve(kept.hex()) is None


@pytest.mark.parametrize(
    ("role", "idle"), [("player", 2 * HOUR), ("supervisor", 30 * MINUTE), ("dealer", 30 * MINUTE)]
)
def test_idle_session_ends(
    role: str, idle: int, identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "ann", role).token
    clock.move(idle - 1)
    assert state_of(identity, token) is not None
    clock.move(1)

    assert state_of(identity, token) is None
    assert identity.sessions.resolve(token) is None


def test_used_session_lasts_at_most_12_hours(
    identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "ann", "supervisor").token

    for _ in range(12 * 60 // 20 - 1):
        clock.move(20 * MINUTE)
        assert identity.sessions.resolve(token) is not None
    clock.move(20 * MINUTE - 1)
    assert identity.sessions.resolve(token) is not None
    clock.move(1)
    assert identity.sessions.resolve(token) is None


def test_resolving_without_touch_does_not_extend_a_session(
    identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "sue", "supervisor").token

    for _ in range(3):
        clock.move(10 * MINUTE)
        last = identity.sessions.resolve(token, touch=False)

    assert last is None


def test_idle_dealer_session_locks_and_needs_the_password_to_unlock(
    identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "dan", "dealer").token
    clock.move(5 * MINUTE - 1)
    assert identity.sessions.resolve(token)
    clock.move(5 * MINUTE)

    locked = identity.sessions.resolve(token)
    assert locked is not None
    assert (locked.state, locked.account.name) == ("locked", "dan")
    for _ in range(3):
        assert state_of(identity, token) == "locked", "resolving does not unlock the session"
        identity.sessions.resolve(token)
    with pytest.raises(SessionRefused) as refused:
        identity.authentication.change_password(token, PASSWORD, "another quiet river")
    assert refused.value.reason == "standing"
    with pytest.raises(SessionRefused):
        identity.second_factors.begin_enrolment(token)
    with pytest.raises(SignInRefused) as wrong:
        identity.authentication.unlock(token, password="wrong and wrong")
    assert wrong.value.reason == "credentials"
    with pytest.raises(SignInRefused):
        identity.authentication.unlock(token)

    opened = identity.authentication.unlock(token, password=PASSWORD)

    assert opened.session.state == "open"
    assert opened.session.id == locked.id
    assert opened.session.until == locked.until, "unlocking does not extend the session"
    assert identity.sessions.resolve(token) is None, "the old token is invalid"


def test_own_totp_code_unlocks_a_session(
    strict_identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(strict_identity, "dan", "dealer")
    add_account(strict_identity, "sue", "dealer")
    dans, session = cluster.enrol(strict_identity, "dan")
    sues, _ = cluster.enrol(strict_identity, "sue")
    cluster.clock.move(5 * MINUTE)
    assert state_of(strict_identity, session.token) == "locked"

    with pytest.raises(SignInRefused):
        strict_identity.authentication.unlock(session.token, code=sues.code())
    code = dans.code()
    opened = strict_identity.authentication.unlock(session.token, code=code)
    assert opened.session.state == "open"
    strict_identity.sessions.lock(opened.token)
    with pytest.raises(SignInRefused):
        strict_identity.authentication.unlock(opened.token, code=code)


def test_unlock_attempts_are_throttled_by_session(
    identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "dan", "dealer").token
    identity.sessions.lock(token)
    for _ in range(4):
        with pytest.raises(SignInRefused):
            identity.authentication.unlock(token, password="wrong and wrong")

    with pytest.raises(SignInRefused) as held:
        identity.authentication.unlock(token, password=PASSWORD)

    assert (held.value.reason, held.value.wait_seconds) == ("wait", 1)
    clock.move(1)
    assert identity.authentication.unlock(token, password=PASSWORD)


def test_session_can_be_locked_by_its_owner(identity: IdentityService) -> None:
    token = signed_in(identity, "sue", "supervisor").token

    identity.sessions.lock(token)

    assert state_of(identity, token) == "locked"
    identity.sessions.sign_out(token)
    assert state_of(identity, token) is None


@pytest.mark.parametrize("seconds", [3 * HOUR, 30 * HOUR])
def test_expired_session_stays_ended_when_the_clock_is_set_back(
    identity: IdentityService, clock: SteppedClock, seconds: int
) -> None:
    token = signed_in(identity, "ann", "player").token
    clock.move(seconds)
    assert state_of(identity, token) is None

    clock.move(-seconds)

    assert state_of(identity, token) is None
    assert identity.authentication.sign_in("ann", PASSWORD).session.state == "open"


def test_session_that_expired_unused_stays_ended_when_the_clock_is_set_back(
    identity: IdentityService, clock: SteppedClock
) -> None:
    token = signed_in(identity, "ann", "player").token
    assert state_of(identity, token) == "open"
    clock.move(30 * HOUR)
    signed_in(identity, "bob", "player")  # deletes the sessions that have expired

    clock.move(-30 * HOUR)

    assert state_of(identity, token) is None


def test_locked_session_ends_when_idle(identity: IdentityService, clock: SteppedClock) -> None:
    token = signed_in(identity, "dan", "dealer").token
    clock.move(30 * MINUTE)

    with pytest.raises(SessionRefused) as refused:
        identity.authentication.unlock(token, password=PASSWORD)

    assert refused.value.reason == "ended"


def test_session_token_is_invalid_after_sign_out(identity: IdentityService) -> None:
    token = signed_in(identity, "ann", "player").token
    other = identity.authentication.sign_in("ann", PASSWORD).token

    identity.sessions.sign_out(token)

    assert identity.sessions.resolve(token) is None
    assert identity.sessions.resolve(other) is not None
    with pytest.raises(SessionRefused):
        identity.sessions.lock(token)


def test_changed_roles_end_sessions_and_apply_at_the_next_sign_in(
    identity: IdentityService,
) -> None:
    session = signed_in(identity, "dan", "dealer")

    identity.accounts.set_roles(session.session.account.id, ["supervisor"])

    assert identity.sessions.resolve(session.token) is None
    assert identity.authentication.sign_in("dan", PASSWORD).session.account.roles == ("supervisor",)


def test_sessions_are_listed_and_ended_singly_or_all_at_once(
    identity: IdentityService, clock: SteppedClock
) -> None:
    first = signed_in(identity, "ann", "player")
    clock.move(10)
    second = identity.authentication.sign_in("ann", PASSWORD)
    clock.move(10)
    identity.sessions.resolve(first.token)
    ann = first.session.account.id

    listed = identity.sessions.list_for_account(ann)
    assert [each.id for each in listed] == [first.session.id, second.session.id]
    identity.sessions.end(first.session.id)
    assert [each.id for each in identity.sessions.list_for_account(ann)] == [second.session.id]
    with pytest.raises(RecordNotFound):
        identity.sessions.end(first.session.id)
    assert identity.sessions.end_all(ann) == 1
    assert identity.sessions.resolve(second.token) is None


def test_account_keeps_its_20_newest_sessions(
    identity: IdentityService, clock: SteppedClock
) -> None:
    tokens = [signed_in(identity, "ann", "player").token]
    for _ in range(22):
        clock.move(1)
        tokens.append(identity.authentication.sign_in("ann", PASSWORD).token)

    live = [identity.sessions.resolve(token) is not None for token in tokens]

    assert live == [False] * 3 + [True] * 20


def test_ended_sessions_are_deleted(identity: IdentityService, clock: SteppedClock) -> None:
    signed_in(identity, "ann", "player")
    clock.move(13 * HOUR)
    identity.authentication.sign_in("ann", PASSWORD)

    assert identity.context.database.query("SELECT count(*) FROM people_sessions") == [(1,)]


def test_use_of_a_session_at_one_server_counts_at_another(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    other = cluster.open(IdentityPolicy(second_factor=False))
    token = signed_in(identity, "dan", "dealer").token
    assert state_of(other, token) == "open"

    for _ in range(5):
        cluster.clock.move(2 * MINUTE)
        identity.sessions.resolve(token)
    identity.poll()

    assert state_of(other, token) == "open", "the cached session is ten minutes old"
    cluster.clock.move(4 * MINUTE + 45)
    assert state_of(other, token) == "open"
    cluster.clock.move(15)
    assert state_of(other, token) == "locked"


def test_last_use_of_a_session_survives_a_restart(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    token = signed_in(identity, "dan", "dealer").token
    cluster.clock.move(4 * MINUTE)
    identity.sessions.resolve(token)
    cluster.clock.move(20)
    identity.sessions.resolve(token)
    identity.close()
    cluster.opened.clear()
    cluster.clock.move(4 * MINUTE)

    again = cluster.open(IdentityPolicy(second_factor=False))

    assert state_of(again, token) == "open"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.booleans(), st.integers(1, 400)), max_size=12)
)
def test_session_state_at_two_servers_matches_a_simple_model(
    folder: Path, steps: list[tuple[int, bool, int]]
) -> None:
    clock, policy = SteppedClock(), IdentityPolicy(second_factor=False)
    url = f"sqlite:///{folder / 'two.sqlite'}"
    servers = [
        open_identity(url, state=folder / "state", clock=clock, cost=TEST_COST, policy=policy)
        for _ in range(2)
    ]
    try:
        if servers[0].accounts.find_by_name("dan") is None:
            add_account(servers[0], "dan", "dealer")
        token = servers[0].authentication.sign_in("dan", PASSWORD).token
        seen = clock.seconds
        for at, touch, after in steps:
            clock.move(after)
            for server in servers:
                server.poll()
            idle = clock.seconds - seen
            found = servers[at].sessions.resolve(token, touch=touch)
            how = found and found.state
            if idle < 270:
                assert how == "open"
            elif 300 <= idle < 1770:
                assert how == "locked"
            elif idle >= 1800:
                assert how is None
            if how == "open" and touch:
                seen = clock.seconds
    finally:
        for server in servers:
            server.close()
