"""Every change of the identity tables is recorded in the log; last-used times are not."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import PASSWORD, add_account
from threedice.identity import SignInRefused
from threedice.log.record_chain import PEOPLE_STREAM, decode_records
from threedice.log.stores import schema

if TYPE_CHECKING:
    from tests.identity.identity_cluster import IdentityCluster, SteppedClock
    from threedice.identity import IdentityService

SOURCE = Path(__file__).parents[2] / "src" / "threedice"
WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM)\s+(people\w*)(?:\s+SET\s+([^\"]*))?")


def find_raw_writes() -> list[str]:
    """Return the statements in the source that change recorded columns without recording it."""
    recorded = {table.name: table for table in schema.RECORDED_TABLES}
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        for match in WRITES.finditer(file.read_text(encoding="utf-8")):
            table = recorded.get(match[1])
            columns = re.findall(r"(\w+) =", (match[2] or "").partition("WHERE")[0])
            if table and not (columns and set(columns) <= set(table.volatile)):
                found.append(f"{file.name}: {match[0]}")
    return found


def test_recorded_columns_are_written_only_through_a_recorded_transaction() -> None:
    assert find_raw_writes() == []


def changed_tables(identity: IdentityService, after: int = 0) -> Counter[str]:
    """Return how often rows of each table were recorded after a version of the stream."""
    rows = identity.context.database.query(
        "SELECT data FROM entries WHERE stream = ? AND version > ?", (PEOPLE_STREAM, after)
    )
    return Counter(each.table for (data,) in rows for each in decode_records(data))


def version(identity: IdentityService) -> int:
    sql = "SELECT version FROM streams WHERE stream = ?"
    ((number,),) = identity.context.database.query(sql, (PEOPLE_STREAM,))
    return int(number)


def test_sign_in_is_one_entry_with_its_session_device_and_event(
    memory_identity: IdentityService,
) -> None:
    add_account(memory_identity, "ann", "player")
    before = version(memory_identity)
    memory_identity.authentication.sign_in("ann", PASSWORD)

    assert version(memory_identity) == before + 1
    assert changed_tables(memory_identity, before) == {
        "people_sessions": 1,
        "people_devices": 1,
        "people_events": 1,
    }


def test_failed_sign_in_records_its_event(memory_identity: IdentityService) -> None:
    add_account(memory_identity, "ann", "player")
    before = version(memory_identity)
    with pytest.raises(SignInRefused):
        memory_identity.authentication.sign_in("ann", "wrong")
    assert changed_tables(memory_identity, before) == {"people_events": 1}


def test_times_of_last_use_are_not_recorded(identity: IdentityService, clock: SteppedClock) -> None:
    account = add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token
    api_token = identity.tokens.create(account.id, "till", ["read"]).token
    before = version(identity)
    clock.move(4000)
    assert identity.sessions.resolve(token)
    assert identity.tokens.resolve(api_token)
    identity.poll()

    ((seen,),) = identity.context.database.query("SELECT seen FROM people_sessions")
    assert seen == clock()
    assert version(identity) == before


def test_opening_the_identity_service_again_records_nothing(cluster: IdentityCluster) -> None:
    before = version(cluster.open())
    assert version(cluster.open()) == before
