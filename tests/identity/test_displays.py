"""Display tokens of results boards."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from threedice.errors import InvalidInput
from threedice.identity import IdentityPolicy, RecordNotFound
from threedice.identity.authentication import displays

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService


def test_display_token_resolves_to_its_table_for_ever(
    identity: IdentityService, clock: SteppedClock
) -> None:
    added = identity.displays.add("1", " north wall ", by="manager")
    clock.move(10 * 365 * 24 * 3600)

    assert identity.displays.resolve(added.token) == added.display
    assert (added.display.table, added.display.label) == ("1", "north wall")
    assert identity.displays.all() == [added.display]


def test_only_the_digest_of_a_display_token_is_stored(identity: IdentityService) -> None:
    added = identity.displays.add("1", "north wall")

    (row,) = identity.context.database.query("SELECT * FROM people_displays")
    assert sha256(added.token.encode()).digest() in row
    assert added.token.removeprefix(added.display.prefix) not in str(row)


def test_display_tokens_are_neither_sessions_nor_api_tokens(identity: IdentityService) -> None:
    token = identity.displays.add("1", "north wall").token

    assert identity.sessions.resolve(token) is None
    assert identity.tokens.resolve(token) is None
    assert identity.displays.resolve(token + "x") is None
    assert identity.displays.resolve("tdd_" + "x" * 100_000) is None


def test_revoked_display_is_invalid_at_every_server(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    other = cluster.open(IdentityPolicy(second_factor=False))
    kept, revoked = (identity.displays.add("1", wall) for wall in ("north", "south"))
    assert other.displays.resolve(revoked.token) is not None

    identity.displays.revoke(revoked.display.id)
    other.poll()

    assert other.displays.resolve(revoked.token) is None
    assert other.displays.resolve(kept.token) is not None
    with pytest.raises(RecordNotFound):
        other.displays.revoke(revoked.display.id)


def test_number_of_displays_is_limited(
    identity: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(displays, "MAX_DISPLAYS", 1)
    identity.displays.add("1", "north wall")
    with pytest.raises(InvalidInput, match="at most 1 displays"):
        identity.displays.add("1", "south wall")


@pytest.mark.parametrize("label", ["", "  ", "a\nb", "north\u202ewall", "x" * 65])
def test_label_of_a_display_is_one_visible_line(identity: IdentityService, label: str) -> None:
    with pytest.raises(InvalidInput):
        identity.displays.add("1", label)
