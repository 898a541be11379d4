"""Passwords: validation and storage."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threedice.errors import TamperedData
from threedice.identity import Argon2Cost, PasswordRefused
from threedice.identity.passwords import TEST_COST, Argon2Hasher, random_password, validate_password


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
        ("tin roof", "player", ""),
        ("tin roo", "player", "short"),
        ("tin            roof", "dealer", "short"),
        ("x" * 60 + "y z" * 22 + "12", "dealer", ""),
        ("x" * 60 + "y z" * 23, "dealer", "long"),
        ("quiet rivers\x07", "dealer", "form"),
        ("quiet\nriver bends", "dealer", "form"),
        ("沉默的河流慢慢地流過去了", "dealer", ""),
        ("margarethe2024!", "dealer", "name"),
        ("Margarethe-Margarethe", "dealer", "name"),
        ("hat of margarethe", "dealer", ""),
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
    assert refusal_reason(password, role="player") == "common"


@pytest.mark.parametrize(
    "password", ["correct horse battery", "kq7vtm2xhd9f", "blue whales sing", "ten tall trees"]
)
def test_uncommon_password_is_accepted(password: str) -> None:
    assert refusal_reason(password) == ""


def test_generated_passwords_are_unique_and_valid() -> None:
    made = {random_password() for _ in range(200)}

    assert len(made) == 200
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
