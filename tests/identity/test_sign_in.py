"""Sign-in, and every attempt to get around it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import argon2
import pytest

from tests.identity.setting import HERE, PASSWORD, THERE, add
from threedice.identity import (
    Argon2Cost,
    IdentityPolicy,
    PasswordRefused,
    SessionRefused,
    SignInRefused,
)
from threedice.identity import open_identity as reopen

if TYPE_CHECKING:
    from tests.identity.setting import HandClock, Setting
    from threedice.identity import IdentityService


def refusal(people: IdentityService, name: str, password: str, **more: str) -> tuple[str, int]:
    """Return why somebody is not let in, and for how long."""
    with pytest.raises(SignInRefused) as refused:
        people.authentication.sign_in(name, password, **more)
    return refused.value.reason, refused.value.wait_seconds


def test_sign_in_with_the_right_password_opens_a_session(people: IdentityService) -> None:
    ann = add(people, "ann", "player")

    signed_in = people.authentication.sign_in("ann", PASSWORD, address=HERE)

    assert signed_in.session.account == ann
    assert signed_in.session.state == "open"
    assert people.sessions.resolve(signed_in.token) == signed_in.session


def test_wrong_unknown_and_disabled_sign_ins_are_indistinguishable(
    people: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(people, "ann", "player")
    people.accounts.disable(add(people, "bob", "player").id)
    people.authentication.sign_in("ann", PASSWORD)  # so that everything is warm
    counted: list[str] = []
    verify = argon2.PasswordHasher.verify

    def counting(self: argon2.PasswordHasher, kept: str, password: bytes) -> bool:
        counted.append(kept.rpartition("$")[0].rpartition("$")[0])
        return verify(self, kept, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counting)

    assert refusal(people, "ann", "wrong and wrong") == ("credentials", 0)
    assert refusal(people, "zoe", PASSWORD) == ("credentials", 0)
    assert refusal(people, "bob", PASSWORD) == ("credentials", 0)
    assert refusal(people, "", "") == ("credentials", 0)
    assert refusal(people, "ann", PASSWORD * 100) == ("credentials", 0)
    assert len(counted) == 5
    assert len(set(counted)) == 1, "each is verified once, and at the same cost"


@pytest.mark.parametrize("name", ["\ud800", "ann\0", "", "x" * 100_000, "'; --"])
def test_sign_in_with_a_malformed_name_is_refused_as_wrong_credentials(
    name: str, people: IdentityService
) -> None:
    add(people, "ann", "player")

    assert refusal(people, name, PASSWORD)[0] == "credentials"
    assert people.accounts.find_by_name(name) is None


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_known_and_unknown_names_are_throttled_alike(
    name: str, people: IdentityService, clock: HandClock
) -> None:
    add(people, "ann", "player")

    waits = [refusal(people, name, "wrong and wrong") for _ in range(5)]
    held = refusal(people, name.upper(), PASSWORD)
    clock.move(1)
    again = refusal(people, name, "wrong and wrong")

    assert waits == [("credentials", 0)] * 4 + [("credentials", 1)]
    assert held == ("wait", 1)
    assert again == ("credentials", 2)


def test_throttling_never_locks_an_account_for_good(
    people: IdentityService, clock: HandClock
) -> None:
    add(people, "ann", "player")

    for _ in range(30):
        wait = refusal(people, "ann", "wrong and wrong")[1]
        assert wait <= 900
        clock.move(wait)

    assert people.authentication.sign_in("ann", PASSWORD)
    assert refusal(people, "ann", "wrong and wrong") == ("credentials", 0)


def test_address_that_fails_under_many_names_is_throttled(people: IdentityService) -> None:
    add(people, "ann", "player")

    for number in range(20):
        refusal(people, f"name{number}", "wrong and wrong", address=HERE)

    assert refusal(people, "ann", PASSWORD, address=HERE) == ("wait", 1)
    assert people.authentication.sign_in("ann", PASSWORD, address=THERE)


def test_successful_sign_in_does_not_clear_the_failures_of_an_address(
    people: IdentityService,
) -> None:
    add(people, "ann", "player")

    for number in range(19):
        refusal(people, f"name{number}", "wrong and wrong", address=HERE)
        people.authentication.sign_in("ann", PASSWORD, address=HERE)

    assert refusal(people, "last", "wrong and wrong", address=HERE) == ("credentials", 1)
    assert refusal(people, "ann", PASSWORD, address=HERE) == ("wait", 1)


def test_concurrent_sign_ins_are_throttled_like_sequential_ones(
    people: IdentityService, setting: Setting
) -> None:
    add(people, "ann", "player")
    other = setting.open(IdentityPolicy(second_factor=False))

    def guess(number: int) -> str:
        return refusal((people, other)[number % 2], "ann", "wrong and wrong")[0]

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(guess, range(40)))

    assert sorted(told) == ["credentials"] * 5 + ["wait"] * 35


def test_sign_in_never_adopts_a_presented_token(people: IdentityService) -> None:
    add(people, "ann", "player")
    add(people, "mallory", "player")
    planted = people.authentication.sign_in("mallory", PASSWORD).token

    fresh = people.authentication.sign_in("ann", PASSWORD, replacing=planted)
    made_up = people.authentication.sign_in("ann", PASSWORD, replacing="chosen by mallory")

    assert fresh.token != planted
    assert made_up.token != "chosen by mallory"
    assert people.sessions.resolve(planted) is None
    assert people.sessions.resolve("chosen by mallory") is None
    assert people.sessions.resolve(fresh.token) is not None


def test_password_is_rehashed_when_the_cost_changes(
    people: IdentityService, setting: Setting
) -> None:
    add(people, "ann", "player")

    def kept(of: IdentityService) -> str:
        ((password,),) = of.context.database.query("SELECT password FROM people_accounts")
        return str(password)

    before = kept(people)
    people.authentication.sign_in("ann", PASSWORD)
    assert kept(people) == before

    dearer = reopen(
        setting.url, state=setting.state, clock=setting.clock, cost=Argon2Cost(2, 16, 1)
    )
    setting.opened.append(dearer)
    dearer.authentication.sign_in("ann", PASSWORD)

    assert "m=16,t=2,p=1" in kept(people)
    assert people.authentication.sign_in("ann", PASSWORD)


def test_password_change_ends_other_sessions_and_rotates_the_token(
    people: IdentityService,
) -> None:
    add(people, "ann", "player")
    here, there = (people.authentication.sign_in("ann", PASSWORD).token for _ in range(2))

    changed = people.authentication.change_password(here, PASSWORD, "another quiet river")

    assert people.sessions.resolve(here) is None
    assert people.sessions.resolve(there) is None
    assert people.sessions.resolve(changed.token) is not None
    assert refusal(people, "ann", PASSWORD)[0] == "credentials"
    assert people.authentication.sign_in("ann", "another quiet river")


def test_password_change_requires_the_old_password_and_a_different_new_one(
    people: IdentityService,
) -> None:
    add(people, "ann", "player")
    token = people.authentication.sign_in("ann", PASSWORD).token

    with pytest.raises(PasswordRefused) as refused:
        people.authentication.change_password(token, PASSWORD, PASSWORD)
    assert refused.value.reason == "same"
    with pytest.raises(PasswordRefused):
        people.authentication.change_password(token, PASSWORD, "short")
    with pytest.raises(SessionRefused):
        people.authentication.change_password("no token", PASSWORD, "another quiet river")
    for _ in range(5):
        with pytest.raises(SignInRefused) as wrong:
            people.authentication.change_password(token, "guessed at random", "another quiet river")
        assert wrong.value.reason == "credentials"
    with pytest.raises(SignInRefused) as held:
        people.authentication.change_password(token, PASSWORD, "another quiet river")
    assert held.value.reason == "wait"


def test_password_reset_ends_all_sessions(people: IdentityService) -> None:
    ann = add(people, "ann", "player")
    token = people.authentication.sign_in("ann", PASSWORD).token

    first = people.accounts.reset_password(ann.id)

    assert people.sessions.resolve(token) is None
    assert people.authentication.sign_in("ann", first.password).session.state == "new-password"
    chosen = people.accounts.reset_password(ann.id, password="another quiet river")
    assert people.authentication.sign_in("ann", chosen.password).session.state == "open"


def test_password_changed_during_verification_is_refused(
    people: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = add(people, "ann", "player")
    verify = argon2.PasswordHasher.verify

    def slowly(self: argon2.PasswordHasher, kept: str, password: bytes) -> bool:
        monkeypatch.undo()
        people.accounts.reset_password(ann.id)
        return verify(self, kept, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", slowly)

    assert refusal(people, "ann", PASSWORD)[0] == "credentials"
    assert people.sessions.list_for_account(ann.id) == []
