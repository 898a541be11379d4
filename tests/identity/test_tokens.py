"""API tokens for programs."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import PASSWORD, add_account
from threedice.errors import InvalidInput
from threedice.identity import AccountRefused, IdentityPolicy, RecordNotFound, SessionRefused

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService


def test_api_token_resolves_to_its_account_and_scopes(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")

    made = identity.tokens.create(ann.id, "my robot", ["read", "play", "play"])
    program = identity.tokens.resolve(made.token)

    assert program is not None
    assert program.account == ann
    assert program.scopes == ("play", "read")
    assert made.token.startswith(program.prefix + "_")


def test_only_the_digest_of_an_api_token_is_stored(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")
    made = identity.tokens.create(ann.id, "my robot", ["read"])

    (row,) = identity.context.database.query("SELECT * FROM people_tokens")
    assert sha256(made.token.encode()).digest() in row
    assert made.token.removeprefix(made.api_token.prefix) not in str(row)


def test_api_tokens_and_session_tokens_are_not_interchangeable(
    identity: IdentityService,
) -> None:
    ann = add_account(identity, "ann", "player")
    made = identity.tokens.create(ann.id, "my robot", ["read"])
    session = identity.authentication.sign_in("ann", PASSWORD)

    assert identity.sessions.resolve(made.token) is None
    assert identity.tokens.resolve(session.token) is None
    assert identity.tokens.resolve(made.token + "x") is None
    assert identity.tokens.resolve(made.api_token.prefix) is None
    assert identity.tokens.resolve(made.api_token.prefix + "_" + "A" * 43) is None
    assert identity.tokens.resolve("td_" + "x" * 100_000) is None


def test_revoked_api_token_is_invalid_at_every_server(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    ann = add_account(identity, "ann", "player")
    other = cluster.open(IdentityPolicy(second_factor=False))
    kept, made = (identity.tokens.create(ann.id, name, ["read"]) for name in ("kept", "lost"))
    assert other.tokens.resolve(made.token) is not None

    identity.tokens.revoke(made.api_token.id)

    assert identity.tokens.resolve(made.token) is None
    other.poll()
    assert other.tokens.resolve(made.token) is None
    assert other.tokens.resolve(kept.token) is not None
    with pytest.raises(RecordNotFound):
        identity.tokens.revoke(made.api_token.id)


def test_session_that_a_reset_has_ended_creates_no_api_token(
    identity: IdentityService,
) -> None:
    ann = add_account(identity, "ann", "player")
    session = identity.authentication.sign_in("ann", PASSWORD).session.id
    identity.accounts.reset_password(ann.id)

    with pytest.raises(SessionRefused):
        identity.tokens.create(ann.id, "my robot", ["read"], session=session)


def test_disabling_an_account_revokes_its_api_tokens_for_good(identity: IdentityService) -> None:
    ann = add_account(identity, "ann", "player")
    made = identity.tokens.create(ann.id, "my robot", ["read"])

    identity.accounts.disable(ann.id)
    assert identity.tokens.resolve(made.token) is None
    with pytest.raises(AccountRefused):
        identity.tokens.create(ann.id, "my robot", ["read"])
    identity.accounts.enable(ann.id)
    assert identity.tokens.resolve(made.token) is None


def test_api_token_expires(identity: IdentityService, clock: SteppedClock) -> None:
    ann = add_account(identity, "ann", "player")
    made = identity.tokens.create(ann.id, "my robot", ["read"], seconds=3600)
    clock.move(3599)
    assert identity.tokens.resolve(made.token) is not None
    clock.move(1)

    assert identity.tokens.resolve(made.token) is None


def test_account_has_twenty_live_api_tokens_at_most(
    identity: IdentityService, clock: SteppedClock
) -> None:
    ann, bob = (add_account(identity, name, "player") for name in ("ann", "bob"))
    tokens = identity.tokens
    short = tokens.create(ann.id, "robot 1", ["read"], seconds=3600)
    others = [tokens.create(ann.id, f"robot {number}", ["read"]) for number in range(2, 21)]

    with pytest.raises(AccountRefused, match="20 API tokens at most; revoke one first") as refused:
        tokens.create(ann.id, "one too many", ["read"])

    assert refused.value.reason == "tokens"
    assert tokens.create(bob.id, "another robot", ["read"])
    clock.move(3600)  # an expired one does not count
    assert tokens.resolve(short.token) is None
    assert tokens.create(ann.id, "robot 21", ["read"])
    with pytest.raises(AccountRefused):
        tokens.create(ann.id, "one too many", ["read"])
    tokens.revoke(others[0].api_token.id)
    assert tokens.create(ann.id, "robot 22", ["read"])


def test_last_use_of_an_api_token_is_stored_to_the_hour(
    identity: IdentityService, clock: SteppedClock
) -> None:
    ann = add_account(identity, "ann", "player")
    made = identity.tokens.create(ann.id, "my robot", ["read"])
    assert identity.tokens.list_for_account(ann.id)[0].used == 0

    clock.move(7200)
    identity.tokens.resolve(made.token)
    identity.poll()

    (listed,) = identity.tokens.list_for_account(ann.id)
    assert listed.used == clock() - clock() % 3_600_000_000
    assert listed.name == "my robot"


@pytest.mark.parametrize(
    ("name", "scopes", "seconds"),
    [
        ("", ["read"], None),
        ("a\nb", ["read"], None),
        ("x" * 65, ["read"], None),
        ("robot", [], None),
        ("robot", ["Read"], None),
        ("robot", ["read,deal"], None),
        ("robot", ["read"], 0),
    ],
)
def test_api_token_with_invalid_name_scope_or_lifetime_is_refused(
    name: str, scopes: list[str], seconds: int | None, memory_identity: IdentityService
) -> None:
    ann = add_account(memory_identity, "ann", "player")

    with pytest.raises(InvalidInput):
        memory_identity.tokens.create(ann.id, name, scopes, seconds=seconds)
