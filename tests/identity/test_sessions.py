"""Sessions: states, timeouts, and invalid tokens."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.identity.setting import PASSWORD, HandClock, add
from threedice.identity import (
    IdentityPolicy,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
    open_identity,
)
from threedice.identity.passwords import TEST_COST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.identity.setting import Setting
    from threedice.identity import IdentityService, IssuedSession

MINUTE, HOUR = 60, 3600


def signed_in(people: IdentityService, name: str, *roles: str) -> IssuedSession:
    add(people, name, *roles)
    return people.authentication.sign_in(name, PASSWORD)


def standing(people: IdentityService, token: str) -> str | None:
    session = people.sessions.resolve(token, touch=False)
    return None if session is None else session.state


def test_session_token_has_256_bits_and_only_its_digest_is_stored(people: IdentityService) -> None:
    token = signed_in(people, "ann", "player").token

    assert len(token) == 43
    ((kept,),) = people.context.database.query("SELECT digest FROM people_sessions")
    assert kept == sha256(token.encode()).digest()


@pytest.mark.parametrize("forged", ["", "x", "\ud800", "\0", "é" * 43, "x" * 100_000])
def test_forged_session_token_resolves_to_nothing(forged: str, local: IdentityService) -> None:
    token = signed_in(local, "ann", "player").token

    assert local.sessions.resolve(forged) is None
    assert local.sessions.resolve(token + forged) is None or not forged
    assert local.sessions.resolve(token[:-1]) is None
    assert local.sessions.resolve(token.swapcase()) is None
    local.sessions.sign_out(forged)
    assert local.sessions.resolve(token) is not None


def test_digest_of_a_session_token_is_not_a_token(people: IdentityService) -> None:
    signed_in(people, "ann", "player")
    ((kept,),) = people.context.database.query("SELECT digest FROM people_sessions")

    assert people.sessions.resolve(kept.hex()) is None


@pytest.mark.parametrize(
    ("role", "idle"), [("player", 2 * HOUR), ("supervisor", 30 * MINUTE), ("dealer", 30 * MINUTE)]
)
def test_idle_session_ends(role: str, idle: int, people: IdentityService, clock: HandClock) -> None:
    token = signed_in(people, "ann", role).token
    clock.move(idle - 1)
    assert standing(people, token) is not None
    clock.move(1)

    assert standing(people, token) is None
    assert people.sessions.resolve(token) is None


def test_used_session_lasts_at_most_12_hours(people: IdentityService, clock: HandClock) -> None:
    token = signed_in(people, "ann", "supervisor").token

    for _ in range(12 * 60 // 20 - 1):
        clock.move(20 * MINUTE)
        assert people.sessions.resolve(token) is not None
    clock.move(20 * MINUTE - 1)
    assert people.sessions.resolve(token) is not None
    clock.move(1)
    assert people.sessions.resolve(token) is None


def test_resolving_without_touch_does_not_extend_a_session(
    people: IdentityService, clock: HandClock
) -> None:
    token = signed_in(people, "sue", "supervisor").token

    for _ in range(3):
        clock.move(10 * MINUTE)
        last = people.sessions.resolve(token, touch=False)

    assert last is None


def test_idle_dealer_session_locks_and_needs_the_password_to_unlock(
    people: IdentityService, clock: HandClock
) -> None:
    token = signed_in(people, "dan", "dealer").token
    clock.move(5 * MINUTE - 1)
    assert people.sessions.resolve(token)
    clock.move(5 * MINUTE)

    locked = people.sessions.resolve(token)
    assert locked is not None
    assert (locked.state, locked.account.name) == ("locked", "dan")
    for _ in range(3):
        assert standing(people, token) == "locked", "asking does not unlock it"
        people.sessions.resolve(token)
    with pytest.raises(SessionRefused) as refused:
        people.authentication.change_password(token, PASSWORD, "another quiet river")
    assert refused.value.reason == "standing"
    with pytest.raises(SessionRefused):
        people.second_factors.begin_enrolment(token)
    with pytest.raises(SignInRefused) as wrong:
        people.authentication.unlock(token, password="wrong and wrong")
    assert wrong.value.reason == "credentials"
    with pytest.raises(SignInRefused):
        people.authentication.unlock(token)

    opened = people.authentication.unlock(token, password=PASSWORD)

    assert opened.session.state == "open"
    assert opened.session.id == locked.id
    assert opened.session.until == locked.until, "unlocking does not lengthen it"
    assert people.sessions.resolve(token) is None, "the token of before is worth nothing"


def test_own_totp_code_unlocks_a_session(strict: IdentityService, setting: Setting) -> None:
    add(strict, "dan", "dealer")
    add(strict, "sue", "dealer")
    dans, session = setting.enrol(strict, "dan")
    sues, _ = setting.enrol(strict, "sue")
    setting.clock.move(5 * MINUTE)
    assert standing(strict, session.token) == "locked"

    with pytest.raises(SignInRefused):
        strict.authentication.unlock(session.token, code=sues.code())
    code = dans.code()
    opened = strict.authentication.unlock(session.token, code=code)
    assert opened.session.state == "open"
    strict.sessions.lock(opened.token)
    with pytest.raises(SignInRefused):
        strict.authentication.unlock(opened.token, code=code)


def test_unlock_attempts_are_throttled_like_sign_in(
    people: IdentityService, clock: HandClock
) -> None:
    token = signed_in(people, "dan", "dealer").token
    people.sessions.lock(token)
    for _ in range(5):
        with pytest.raises(SignInRefused):
            people.authentication.unlock(token, password="wrong and wrong")

    with pytest.raises(SignInRefused) as held:
        people.authentication.unlock(token, password=PASSWORD)

    assert (held.value.reason, held.value.wait_seconds) == ("wait", 1)
    clock.move(1)
    assert people.authentication.unlock(token, password=PASSWORD)


def test_session_can_be_locked_by_its_owner(people: IdentityService) -> None:
    token = signed_in(people, "sue", "supervisor").token

    people.sessions.lock(token)

    assert standing(people, token) == "locked"
    people.sessions.sign_out(token)
    assert standing(people, token) is None


def test_locked_session_ends_when_idle(people: IdentityService, clock: HandClock) -> None:
    token = signed_in(people, "dan", "dealer").token
    clock.move(30 * MINUTE)

    with pytest.raises(SessionRefused) as refused:
        people.authentication.unlock(token, password=PASSWORD)

    assert refused.value.reason == "ended"


def test_session_token_is_invalid_after_sign_out(people: IdentityService) -> None:
    token = signed_in(people, "ann", "player").token
    other = people.authentication.sign_in("ann", PASSWORD).token

    people.sessions.sign_out(token)

    assert people.sessions.resolve(token) is None
    assert people.sessions.resolve(other) is not None
    with pytest.raises(SessionRefused):
        people.sessions.lock(token)


def test_changed_roles_end_sessions_and_apply_at_the_next_sign_in(people: IdentityService) -> None:
    session = signed_in(people, "dan", "dealer")

    people.accounts.set_roles(session.session.account.id, ["supervisor"])

    assert people.sessions.resolve(session.token) is None
    assert people.authentication.sign_in("dan", PASSWORD).session.account.roles == ("supervisor",)


def test_sessions_are_listed_and_ended_singly_or_all_at_once(
    people: IdentityService, clock: HandClock
) -> None:
    first = signed_in(people, "ann", "player")
    clock.move(10)
    second = people.authentication.sign_in("ann", PASSWORD)
    clock.move(10)
    people.sessions.resolve(first.token)
    ann = first.session.account.id

    listed = people.sessions.list_for_account(ann)
    assert [each.id for each in listed] == [first.session.id, second.session.id]
    people.sessions.end(first.session.id)
    assert [each.id for each in people.sessions.list_for_account(ann)] == [second.session.id]
    with pytest.raises(RecordNotFound):
        people.sessions.end(first.session.id)
    assert people.sessions.end_all(ann) == 1
    assert people.sessions.resolve(second.token) is None


def test_account_keeps_its_20_newest_sessions(people: IdentityService, clock: HandClock) -> None:
    tokens = [signed_in(people, "ann", "player").token]
    for _ in range(22):
        clock.move(1)
        tokens.append(people.authentication.sign_in("ann", PASSWORD).token)

    live = [people.sessions.resolve(token) is not None for token in tokens]

    assert live == [False] * 3 + [True] * 20


def test_ended_sessions_are_deleted(people: IdentityService, clock: HandClock) -> None:
    signed_in(people, "ann", "player")
    clock.move(13 * HOUR)
    people.authentication.sign_in("ann", PASSWORD)

    assert people.context.database.query("SELECT count(*) FROM people_sessions") == [(1,)]


def test_use_of_a_session_at_one_server_counts_at_another(
    people: IdentityService, setting: Setting
) -> None:
    other = setting.open(IdentityPolicy(second_factor=False))
    token = signed_in(people, "dan", "dealer").token
    assert standing(other, token) == "open"

    for _ in range(5):
        setting.clock.move(2 * MINUTE)
        people.sessions.resolve(token)
    people.poll()

    assert standing(other, token) == "open", "its memory is ten minutes old"
    setting.clock.move(4 * MINUTE + 45)
    assert standing(other, token) == "open"
    setting.clock.move(15)
    assert standing(other, token) == "locked"


def test_last_use_of_a_session_survives_a_restart(
    people: IdentityService, setting: Setting
) -> None:
    token = signed_in(people, "dan", "dealer").token
    setting.clock.move(4 * MINUTE)
    people.sessions.resolve(token)
    setting.clock.move(20)
    people.sessions.resolve(token)
    people.close()
    setting.opened.clear()
    setting.clock.move(4 * MINUTE)

    again = setting.open(IdentityPolicy(second_factor=False))

    assert standing(again, token) == "open"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.booleans(), st.integers(1, 400)), max_size=12)
)
def test_session_state_at_two_servers_matches_a_simple_model(
    folder: Path, steps: list[tuple[int, bool, int]]
) -> None:
    clock, policy = HandClock(), IdentityPolicy(second_factor=False)
    url = f"sqlite:///{folder / 'two.sqlite'}"
    servers = [
        open_identity(url, state=folder / "state", clock=clock, cost=TEST_COST, policy=policy)
        for _ in range(2)
    ]
    try:
        if servers[0].accounts.find_by_name("dan") is None:
            add(servers[0], "dan", "dealer")
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
