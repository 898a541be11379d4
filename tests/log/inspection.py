"""Inspect and tamper with stored logs, and read the findings of a verification."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from threedice.log.records import (
    decode_answers,
)
from threedice.log.stores.schema import ANSWER_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from threedice.log.entry import Entry, Head
    from threedice.log.proof import IntegrityFinding, VerificationReport
    from threedice.log.records import Snapshot, StoredAnswer, StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.memory import MemoryStore


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


# --- tampering -----------------------------------------------------------------------------------


def tamper(store: MemoryStore, sql: str, *params: object) -> None:
    """Change rows of a store in memory without its knowledge."""
    store.connection.execute(sql, params)


def set_head(store: MemoryStore, stream: str, head: Head) -> None:
    """Overwrite the stored head of a stream."""
    tamper(
        store,
        "UPDATE streams SET version = ?, hash = ? WHERE stream = ?",
        head.version,
        head.hash,
        stream,
    )


def put_entries(store: MemoryStore, entries: Iterable[Entry]) -> None:
    """Insert entries unchecked, replacing those of the same version."""
    store.connection.executemany(
        "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(astuple, entries)
    )


@contextmanager
def tampering(file: Path, *, lax: bool = False) -> Iterator[Callable[..., None]]:
    """Change an SQLite file without its store's knowledge; if lax, tables accept any value."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        if lax:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_master SET"
                " sql = replace(replace(sql, ' STRICT', ''), ' NOT NULL', '') WHERE type = 'table'"
            )
            connection.execute("PRAGMA writable_schema = RESET")

        def run(sql: str, *params: object) -> None:
            done = connection.execute(sql, params)
            assert done.rowcount != 0, f"nothing to tamper with: {sql}"

        yield run


# --- verification --------------------------------------------------------------------------------


class RecordingVisitor:
    """A visitor that records the rows it receives and the streams that stopped."""

    def __init__(self) -> None:
        self.rows: list[StoredRow] = []
        self.stopped: list[str] = []

    def visit(self, rows: Sequence[StoredRow]) -> None:
        self.rows += rows

    def stop(self, stream: str) -> None:
        self.stopped.append(stream)


def finding_texts(report: VerificationReport) -> list[str]:
    return [str(finding) for finding in report.findings]


def finding_places(report: VerificationReport) -> list[str]:
    return [finding.where for finding in report.findings]


def describe_findings(findings: Sequence[IntegrityFinding]) -> str:
    return "; ".join(map(str, findings)) or "nothing found"
