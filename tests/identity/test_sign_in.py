"""Sign-in, throttling of attempts and password changes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import argon2
import pytest

from tests.identity.identity_cluster import HERE, PASSWORD, THERE, add_account
from threedice.identity import (
    Argon2Cost,
    IdentityPolicy,
    PasswordRefused,
    SessionRefused,
    SignInRefused,
)
from threedice.identity import open_identity as reopen
from threedice.identity.authentication.devices import (
    DEVICE_LIFETIME_SECONDS,
    MAX_DEVICES_PER_ACCOUNT,
)

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService


def refusal(identity: IdentityService, name: str, password: str, **more: Any) -> tuple[str, int]:
    """Sign in, which must be refused, and return the reason and the seconds to wait."""
    with pytest.raises(SignInRefused) as refused:
        identity.authentication.sign_in(name, password, **more)
    return refused.value.reason, refused.value.wait_seconds


def test_sign_in_with_the_right_password_opens_a_session(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")

    signed_in = identity.authentication.sign_in("ann", PASSWORD, address=HERE)

    assert signed_in.session.account == ann
    assert signed_in.session.state == "open"
    assert identity.sessions.resolve(signed_in.token) == signed_in.session


def test_wrong_unknown_and_disabled_sign_ins_are_indistinguishable(
    identity: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_account(identity, "ann", "player")
    identity.accounts.disable(add_account(identity, "bob", "player").id)
    identity.authentication.sign_in("ann", PASSWORD)  # warm up
    counted: list[str] = []
    verify = argon2.PasswordHasher.verify

    def counting(self: argon2.PasswordHasher, kept: str, password: bytes) -> bool:
        counted.append(kept.rpartition("$")[0].rpartition("$")[0])
        return verify(self, kept, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counting)

    assert refusal(identity, "ann", "wrong and wrong") == ("credentials", 0)
    assert refusal(identity, "zoe", PASSWORD) == ("credentials", 0)
    assert refusal(identity, "bob", PASSWORD) == ("credentials", 0)
    assert refusal(identity, "", "") == ("credentials", 0)
    assert refusal(identity, "ann", PASSWORD * 100) == ("credentials", 0)
    assert len(counted) == 5
    assert len(set(counted)) == 1, "each attempt is verified once, at the same cost"


@pytest.mark.parametrize("name", ["\ud800", "ann\0", "", "x" * 100_000, "'; --"])
def test_sign_in_with_a_malformed_name_is_refused_as_wrong_credentials(
    name: str, identity: IdentityService
) -> None:
    add_account(identity, "ann", "player")

    assert refusal(identity, name, PASSWORD)[0] == "credentials"
    assert identity.accounts.find_by_name(name) is None


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_known_and_unknown_names_are_throttled_alike(
    name: str, identity: IdentityService, clock: SteppedClock
) -> None:
    add_account(identity, "ann", "player")

    waits = [refusal(identity, name, "wrong and wrong") for _ in range(5)]
    held = refusal(identity, name.upper(), PASSWORD)
    clock.move(1)
    again = refusal(identity, name, "wrong and wrong")

    assert waits == [("credentials", 0)] * 4 + [("credentials", 1)]
    assert held == ("wait", 1)
    assert again == ("credentials", 4)


def test_throttling_never_locks_an_account_for_good(
    identity: IdentityService, clock: SteppedClock
) -> None:
    add_account(identity, "ann", "player")

    for _ in range(30):
        wait = refusal(identity, "ann", "wrong and wrong")[1]
        assert wait <= 900
        clock.move(wait)

    assert identity.authentication.sign_in("ann", PASSWORD)


def test_success_of_the_owner_gives_strangers_no_further_guesses(
    identity: IdentityService, clock: SteppedClock
) -> None:
    add_account(identity, "ann", "player")
    for _ in range(6):
        clock.move(refusal(identity, "ann", "wrong and wrong")[1])

    identity.authentication.sign_in("ann", PASSWORD)

    assert refusal(identity, "ann", "wrong and wrong") == ("credentials", 16)
    assert refusal(identity, "ann", PASSWORD) == ("wait", 16)


def test_known_device_does_not_wait_for_guesses_elsewhere(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(identity, "ann", "player")
    device = identity.authentication.sign_in("ann", PASSWORD).device
    for _ in range(5):
        refusal(identity, "ann", "wrong and wrong", address=HERE)
    other = cluster.open(IdentityPolicy(second_factor=False))

    assert refusal(other, "ann", PASSWORD, address=THERE)[0] == "wait"
    again = other.authentication.sign_in("ann", PASSWORD, address=HERE, devices=["x", device])
    assert again.device == device


def test_account_has_a_limited_number_of_devices_which_expire(
    identity: IdentityService, clock: SteppedClock
) -> None:
    add_account(identity, "ann", "player")
    devices = []
    for _ in range(MAX_DEVICES_PER_ACCOUNT + 1):
        clock.move(1)
        devices.append(identity.authentication.sign_in("ann", PASSWORD).device)

    def is_known(device: str) -> bool:
        return identity.authentication.sign_in("ann", PASSWORD, devices=[device]).device == device

    clock.move(1)
    assert [is_known(device) for device in devices[1:3]] == [True, True]
    assert not is_known(devices[0])
    clock.move(DEVICE_LIFETIME_SECONDS)
    assert not is_known(devices[2])
    stored = identity.context.database.query("SELECT digest FROM people_devices")
    assert len(stored) == MAX_DEVICES_PER_ACCOUNT
    assert not any(device.encode() in digest for (digest,) in stored for device in devices)


def test_address_that_fails_under_many_names_is_throttled(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")

    for number in range(40):
        refusal(identity, f"name{number}", "wrong and wrong", address=HERE)

    assert refusal(identity, "ann", PASSWORD, address=HERE) == ("wait", 6)
    assert identity.authentication.sign_in("ann", PASSWORD, address=THERE)


def test_concurrent_sign_ins_are_throttled_like_sequential_ones(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(identity, "ann", "player")
    other = cluster.open(IdentityPolicy(second_factor=False))

    def guess(number: int) -> str:
        return refusal((identity, other)[number % 2], "ann", "wrong and wrong")[0]

    with ThreadPoolExecutor(8) as pool:
        reasons = list(pool.map(guess, range(40)))

    assert sorted(reasons) == ["credentials"] * 5 + ["wait"] * 35


def test_sign_in_never_adopts_a_presented_token(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")
    add_account(identity, "mallory", "player")
    planted = identity.authentication.sign_in("mallory", PASSWORD).token

    fresh = identity.authentication.sign_in("ann", PASSWORD, replacing=planted)
    made_up = identity.authentication.sign_in("ann", PASSWORD, replacing="chosen by mallory")

    assert fresh.token != planted
    assert made_up.token != "chosen by mallory"
    assert identity.sessions.resolve(planted) is None
    assert identity.sessions.resolve("chosen by mallory") is None
    assert identity.sessions.resolve(fresh.token) is not None


def test_password_is_rehashed_when_the_cost_changes(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    add_account(identity, "ann", "player")

    def kept(of: IdentityService) -> str:
        ((password,),) = of.context.database.query("SELECT password FROM people_accounts")
        return str(password)

    before = kept(identity)
    identity.authentication.sign_in("ann", PASSWORD)
    assert kept(identity) == before

    dearer = reopen(
        cluster.url, state=cluster.state, clock=cluster.clock, cost=Argon2Cost(2, 16, 1)
    )
    cluster.opened.append(dearer)
    dearer.authentication.sign_in("ann", PASSWORD)

    assert "m=16,t=2,p=1" in kept(identity)
    assert identity.authentication.sign_in("ann", PASSWORD)


def test_password_change_ends_other_sessions_and_rotates_the_token(
    identity: IdentityService,
) -> None:
    add_account(identity, "ann", "player")
    here, there = (identity.authentication.sign_in("ann", PASSWORD).token for _ in range(2))

    changed = identity.authentication.change_password(here, PASSWORD, "another quiet river")

    assert identity.sessions.resolve(here) is None
    assert identity.sessions.resolve(there) is None
    assert identity.sessions.resolve(changed.token) is not None
    assert refusal(identity, "ann", PASSWORD)[0] == "credentials"
    assert identity.authentication.sign_in("ann", "another quiet river")


def test_password_change_requires_the_old_password_and_a_different_new_one(
    identity: IdentityService,
) -> None:
    add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token

    with pytest.raises(PasswordRefused) as refused:
        identity.authentication.change_password(token, PASSWORD, PASSWORD)
    assert refused.value.reason == "same"
    with pytest.raises(PasswordRefused):
        identity.authentication.change_password(token, PASSWORD, "short")
    with pytest.raises(SessionRefused):
        identity.authentication.change_password("no token", PASSWORD, "another quiet river")
    for _ in range(4):
        with pytest.raises(SignInRefused) as wrong:
            identity.authentication.change_password(
                token, "guessed at random", "another quiet river"
            )
        assert wrong.value.reason == "credentials"
    with pytest.raises(SignInRefused) as held:
        identity.authentication.change_password(token, PASSWORD, "another quiet river")
    assert held.value.reason == "wait"


def test_password_reset_ends_all_sessions(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token

    first = identity.accounts.reset_password(ann.id)

    assert identity.sessions.resolve(token) is None
    assert identity.authentication.sign_in("ann", first.password).session.state == "new-password"
    chosen = identity.accounts.reset_password(ann.id, password="another quiet river")
    assert identity.authentication.sign_in("ann", chosen.password).session.state == "open"


def test_password_changed_during_verification_is_refused(
    identity: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = add_account(identity, "ann", "player")
    verify = argon2.PasswordHasher.verify

    def slowly(self: argon2.PasswordHasher, kept: str, password: bytes) -> bool:
        monkeypatch.undo()
        identity.accounts.reset_password(ann.id)
        return verify(self, kept, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", slowly)

    assert refusal(identity, "ann", PASSWORD)[0] == "credentials"
    assert identity.sessions.list_for_account(ann.id) == []
