"""Accounts: names, roles, and refused changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import argon2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.identity.identity_cluster import PASSWORD, add_account
from threedice.errors import InvalidInput
from threedice.identity import AccountRefused, RecordNotFound, SignInRefused
from threedice.identity.accounts import fold_name, validate_name
from threedice.identity.roles import ROLES, validate_roles

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService


def test_account_is_found_by_any_spelling_of_its_name(identity: IdentityService) -> None:
    made = add_account(identity, "Ｓtraße", "dealer", "supervisor")

    assert made.name == "strasse"
    assert made.roles == ("dealer", "supervisor")
    assert identity.accounts.find_by_name("STRASSE") == made
    assert identity.accounts.get(made.id) == made
    assert identity.authentication.sign_in("Strasse", PASSWORD).session.account == made


def test_taken_account_name_is_refused(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")

    with pytest.raises(AccountRefused) as refused:
        add_account(identity, "ANN", "player")

    assert refused.value.reason == "taken"
    assert [each.name for each in identity.accounts.all()] == ["ann"]


@pytest.mark.parametrize(
    "name",
    [
        "house",
        "HOUSE",
        "ｈｏｕｓｅ",
        "console",
        "",
        " ",
        "a b",
        "-ann",
        "ann\0",
        "x" * 65,
        "\ud800",
    ],
)
def test_reserved_or_malformed_account_name_is_refused(
    name: str, memory_identity: IdentityService
) -> None:
    with pytest.raises(InvalidInput):
        add_account(memory_identity, name, "player")

    assert memory_identity.accounts.all() == []


@given(st.text(max_size=100))
def test_folding_an_account_name_is_idempotent(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)
    try:
        kept = validate_name(name)
    except InvalidInput:
        return
    assert validate_name(kept) == kept == fold_name(name)
    assert kept != "house"


@pytest.mark.parametrize(
    "roles", [[], ["croupier"], ["player", "dealer"], ["auditor", "supervisor"]]
)
def test_unknown_or_incompatible_roles_are_refused(roles: list[str]) -> None:
    with pytest.raises(InvalidInput):
        validate_roles(roles)


@given(st.sets(st.sampled_from(ROLES), min_size=1))
def test_player_and_auditor_roles_cannot_be_combined_with_others(roles: set[str]) -> None:
    alone = roles & {"player", "auditor"}
    try:
        kept = set(validate_roles(roles))
    except InvalidInput:
        assert alone
        assert len(roles) > 1
    else:
        assert kept == roles
        assert not alone or len(roles) == 1


def test_account_ids_are_opaque_and_unique(memory_identity: IdentityService) -> None:
    made = [add_account(memory_identity, f"player{number}", "player").id for number in range(20)]

    assert len(set(made)) == 20
    assert all(len(each) == 20 and int(each, 16) >= 0 for each in made)


def test_disabled_account_is_refused_as_wrong_credentials_until_enabled(
    identity: IdentityService,
) -> None:
    ann = add_account(identity, "ann", "player")
    identity.accounts.disable(ann.id)

    with pytest.raises(SignInRefused) as refused:
        identity.authentication.sign_in("ann", PASSWORD)
    assert refused.value.reason == "credentials"
    assert not identity.accounts.get(ann.id).enabled

    identity.accounts.enable(ann.id)
    assert identity.authentication.sign_in("ann", PASSWORD).session.account.id == ann.id


def test_last_administrator_cannot_be_removed(identity: IdentityService) -> None:
    first = add_account(identity, "first", "administrator", "shift-manager")
    second = add_account(identity, "second", "administrator")
    identity.accounts.disable(second.id)

    for change in (
        lambda: identity.accounts.disable(first.id),
        lambda: identity.accounts.erase_name(first.id),
        lambda: identity.accounts.set_roles(first.id, ["shift-manager"]),
    ):
        with pytest.raises(AccountRefused) as refused:
            change()
        assert refused.value.reason == "last-administrator"

    identity.accounts.enable(second.id)
    identity.accounts.disable(first.id)
    assert not identity.accounts.get(first.id).enabled


def test_roles_cannot_change_between_player_and_staff(identity: IdentityService) -> None:
    ann, dan = add_account(identity, "ann", "player"), add_account(identity, "dan", "dealer")

    for account, roles in ((ann.id, ["dealer"]), (dan.id, ["player"])):
        with pytest.raises(AccountRefused) as refused:
            identity.accounts.set_roles(account, roles)
        assert refused.value.reason == "roles"

    changed = identity.accounts.set_roles(dan.id, ["supervisor"])
    assert changed.roles == ("supervisor",)


def test_erased_account_name_can_be_taken_again(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")
    identity.accounts.erase_name(ann.id)

    assert identity.accounts.find_by_name("ann") is None
    left = identity.accounts.get(ann.id)
    assert not left.enabled
    assert "ann" not in left.name
    with pytest.raises(SignInRefused):
        identity.authentication.sign_in(left.name, PASSWORD)
    assert add_account(identity, "ann", "player").id != ann.id


def test_operation_on_an_unknown_account_id_is_refused(identity: IdentityService) -> None:
    for change in (
        identity.accounts.get,
        identity.accounts.disable,
        identity.accounts.enable,
        identity.accounts.erase_name,
        identity.accounts.reset_password,
        identity.second_factors.reset,
        identity.sessions.end_all,
    ):
        with pytest.raises(RecordNotFound):
            change("nobody")


def test_first_start_creates_an_administrator_with_a_temporary_password(
    strict_identity: IdentityService,
) -> None:
    first = strict_identity.accounts.ensure_administrator()

    assert first is not None
    assert (first.account.name, first.account.roles) == ("administrator", ("administrator",))
    assert strict_identity.accounts.ensure_administrator() is None
    signed_in = strict_identity.authentication.sign_in("administrator", first.password)
    assert signed_in.session.state == "new-password"
    changed = strict_identity.authentication.change_password(
        signed_in.token, first.password, PASSWORD
    )
    assert changed.session.state == "enrolment"


def test_no_administrator_is_created_when_an_account_exists(identity: IdentityService) -> None:
    add_account(identity, "ann", "player")

    assert identity.accounts.ensure_administrator() is None


def test_second_server_creates_no_second_administrator(cluster: IdentityCluster) -> None:
    made = [cluster.open().accounts.ensure_administrator() for _ in range(2)]

    assert [each is None for each in made] == [False, True]


def test_server_that_loses_the_race_creates_no_administrator(
    cluster: IdentityCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, made = cluster.open(), cluster.open(), []
    hash_ = argon2.PasswordHasher.hash

    def slowly(self: argon2.PasswordHasher, password: bytes) -> str:
        monkeypatch.undo()
        made.append(other.accounts.ensure_administrator())
        return hash_(self, password)

    monkeypatch.setattr(argon2.PasswordHasher, "hash", slowly)

    assert one.accounts.ensure_administrator() is None
    assert [each.account.name for each in made if each is not None] == ["administrator"]


def test_temporary_password_expires_and_can_be_reset(
    identity: IdentityService, clock: SteppedClock
) -> None:
    first = identity.accounts.add("dan", ["dealer"])
    clock.move(7 * 24 * 3600)

    with pytest.raises(SignInRefused) as refused:
        identity.authentication.sign_in("dan", first.password)
    assert refused.value.reason == "expired"

    again = identity.accounts.reset_password(first.account.id)
    assert again.password != first.password
    assert identity.authentication.sign_in("dan", again.password).session.state == "new-password"
