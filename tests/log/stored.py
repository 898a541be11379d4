"""Everything of a kind that a store holds, for tests that compare all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.log.records import decode_answers
from threedice.log.stores.schema import ANSWER_COLUMNS

if TYPE_CHECKING:
    from threedice.log.records import Snapshot, StoredAnswer
    from threedice.log.store import Store


def all_answers(store: Store) -> list[StoredAnswer]:
    """Return all answers in order of account and key."""
    rows = store._query(f"SELECT {ANSWER_COLUMNS} FROM answers ORDER BY account, key")
    return list(decode_answers(rows).values())


def all_games(store: Store) -> dict[str, bytes]:
    return dict(store._query("SELECT hash, canonical FROM games"))


def all_snapshots(store: Store) -> list[Snapshot]:
    """Return all snapshots in order of stream and name."""
    names = store._query("SELECT stream, name FROM snapshots ORDER BY stream, name")
    found = [store.snapshot(stream, name) for stream, name in names]
    return [snapshot for snapshot in found if snapshot is not None]
