"""Passwords: validation and storage."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zxcvbn import matching

from threedice.errors import TamperedData
from threedice.identity import Argon2Cost, PasswordRefused
from threedice.identity.authentication.passwords import (
    TEST_COST,
    Argon2Hasher,
    random_password,
    validate_password,
)


def refusal_reason(password: str, name: str = "margarethe", role: str = "dealer") -> str:
    """Return the reason why a password is refused, or nothing."""
    try:
        validate_password(password, name, ["player" if role == "player" else "dealer"])
    except PasswordRefused as refused:
        return refused.reason
    return ""


@pytest.mark.parametrize(
    ("password", "role", "why"),
    [
        ("tin roof mat", "dealer", ""),
        ("tin roof ma", "dealer", "short"),
        ("tin roof mat", "player", ""),
        ("kq7vtm2x", "player", ""),
        ("tin roo", "player", "short"),
        ("tin            roof", "dealer", "short"),
        ("tin roof mat" + "x" * 116, "dealer", ""),
        ("tin roof mat" + "x" * 117, "dealer", "long"),
        ("quiet rivers\x07", "dealer", "form"),
        ("quiet\nriver bends", "dealer", "form"),
        ("沉默的河流慢慢地流過去了", "dealer", ""),
        ("margarethe2024!", "dealer", "name"),
        ("Margarethe-Margarethe", "dealer", "name"),
        ("ehteragram", "player", "name"),
        ("M4rg4reth3!", "player", "name"),
        ("hat of margarethe, no rain", "dealer", ""),
    ],
)
def test_password_is_refused_for_its_length_form_or_account_name(
    password: str, role: str, why: str
) -> None:
    assert refusal_reason(password, role=role) == why


@pytest.mark.parametrize(
    "password",
    [
        "password", "Password1", "P@ssw0rd2024!", "qwertyuiop", "qwerty123456", "1q2w3e4r5t6y",
        "1qaz2wsx3edc", "123456789012", "987654321", "abcdefgh1234", "aaaaaaaaaaaa", "abababababab",
        "iloveyou1234", "letmein12345", "welcome2024!", "Administrator1!", "adminadmin",
        "asdfghjkl",
        "football2023", "trustno1!!!!", "changeme1234", "dragondragon", "threedice123", "11112222",
        "password-password", "Summer2024!!", "passwordqwerty", "asdf1234asdf", "zxcvbnm,./12",
    ],
)  # fmt: skip
def test_common_password_is_refused(password: str) -> None:
    assert refusal_reason(password.ljust(12, password[-1])) == "common"
    if password not in ("password-password", "Summer2024!!"):  # 10**8 guesses, enough for players
        assert refusal_reason(password, role="player") == "common"


def test_only_the_first_72_characters_are_estimated() -> None:
    assert refusal_reason("a" * 72 + "kq7vtm2xhd9f") == "common"


@pytest.mark.parametrize("sign", ["4@8({[<369!1|0$5+7%2", "|1!7+({[<4@69$5"])
def test_signs_that_stand_for_many_letters_do_not_multiply_the_work(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    match = matching.dictionary_match

    def counting(password: str, *args: object, **kwargs: object) -> object:
        looked_up.append(password)
        return match(password, *args, **kwargs)

    monkeypatch.setattr(matching, "dictionary_match", counting)

    assert refusal_reason((sign * 7)[:72]) == ""
    assert len(looked_up) < 50


@pytest.mark.parametrize(
    "password", ["correct horse battery", "kq7vtm2xhd9f", "blue whales sing", "ten tall trees"]
)
def test_uncommon_password_is_accepted(password: str) -> None:
    assert refusal_reason(password) == ""


def test_generated_passwords_are_unique_and_valid() -> None:
    made = {random_password() for _ in range(40)}

    assert len(made) == 40
    assert {refusal_reason(each) for each in made} == {""}


@given(st.text(max_size=140), st.text(max_size=140))
def test_hash_verifies_only_the_same_normalised_password(one: str, other: str) -> None:
    passwords = Argon2Hasher(TEST_COST)
    kept = passwords.hash(one)

    assert kept.startswith("$argon2id$")
    assert passwords.verify(kept, one) == (len(one) <= 128)
    if len(other) <= 128:
        same = normalize("NFKC", one) == normalize("NFKC", other)
        assert passwords.verify(kept, other) == same
    assert not passwords.verify(None, one)


def test_composed_and_decomposed_letters_are_the_same_password() -> None:
    passwords = Argon2Hasher(TEST_COST)

    assert passwords.verify(passwords.hash("cafe\u0301 au lait"), "caf\u00e9 au lait")


def test_hash_of_another_cost_is_outdated() -> None:
    kept = Argon2Hasher(TEST_COST).hash("quiet river")

    assert not Argon2Hasher(TEST_COST).is_outdated(kept)
    assert Argon2Hasher(Argon2Cost(2, 8, 1)).is_outdated(kept)
    assert Argon2Hasher(Argon2Cost(2, 8, 1)).verify(kept, "quiet river")


def test_hash_of_unknown_form_is_reported_as_tampered() -> None:
    with pytest.raises(TamperedData):
        Argon2Hasher(TEST_COST).verify("plain", "plain")
