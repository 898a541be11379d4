"""Logs for the tests of verification: commands, as a command handler writes them, and findings."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from threedice.log.entry import Entry, NewEntry, extend_stream, hash_cause
from threedice.log.records import Acceptance, Append, DuplicateKey, HeadConflict, Proposal
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from threedice.log.entry import Head
    from threedice.log.proof import IntegrityFinding, VerificationReport
    from threedice.log.records import StoredRow
    from threedice.log.store import Store
    from threedice.log.stores.memory import MemoryStore

_numbers = count(1)


def bet(
    store: Store,
    *streams: str,
    account: str = "ann",
    entries: int = 1,
    data: bytes = b'{"box": "big"}',
    games: dict[str, bytes] | None = None,
) -> Proposal:
    """Write one command that appends to each stream, over again where others were first."""
    number = next(_numbers)
    key, command = f"key-{number}", sha256(b"%d" % number).digest()
    cause = hash_cause(account, key, command)
    records = [NewEntry("BetPlaced", 1, data)] * entries
    while True:
        appends = []
        for stream in streams:
            head = store.head(stream)
            added, _ = extend_stream(head, stream, 1_700_000_000_000_000 + number, cause, records)
            appends.append(Append(stream, head, added))
        proposal = Proposal(account, key, command, tuple(appends), games or {})
        match store.write([proposal]):
            case [Acceptance()]:
                return proposal
            case [HeadConflict()]:
                continue
            case [DuplicateKey()] | _:
                raise AssertionError(f"{key} was used before")


def play(store: Store) -> None:
    """Write a few commands to three streams, one of them to two at once, and a game."""
    canonical = b'{"game": "tai sai"}'
    bet(store, "table/1", games={sha256(canonical).hexdigest(): canonical})
    bet(store, "table/1", "cage/ann", entries=2)
    bet(store, "table/2", account="bob", entries=3)
    bet(store, "table/1", account="bob")


class Seen:
    """Keeps what it is shown of a log, and where it was stopped."""

    def __init__(self) -> None:
        self.rows: list[StoredRow] = []
        self.stopped: list[str] = []

    def visit(self, rows: Sequence[StoredRow]) -> None:
        self.rows += rows

    def stop(self, stream: str) -> None:
        self.stopped.append(stream)


def stored_log(folder: Path) -> SqliteStore:
    """Write a log of at least 100,000 bits: tables and accounts in short streams, and a game."""
    random_bytes = random.Random(3).randbytes
    store = SqliteStore(folder / "log.sqlite")
    canonical = b'{"game":"tai sai","boxes":"' + b"x" * 400 + b'"}'
    games = {sha256(canonical).hexdigest(): canonical}
    for number in "12478;":  # any two of these differ in more than one bit
        table, player = f"table/{number}", f"cage/{number}"
        bet(store, table, data=random_bytes(160), entries=5, account=player, games=games)
        bet(store, table, player, data=random_bytes(160), entries=2, account=player)
    return store


@contextmanager
def writing(store: Store, *streams: str, then: Callable[[], object] = bool) -> Iterator[Thread]:
    """Have a thread write to streams for as long as the context lasts, and something after each."""
    stop, failures = Event(), []

    def write() -> None:
        try:
            while not stop.is_set():
                bet(store, *streams)
                then()
        except Exception as error:
            failures.append(error)

    thread = Thread(target=write)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join()
    assert failures == []


def tamper(store: MemoryStore, sql: str, *params: object) -> None:
    """Change the rows of a store in memory behind its back."""
    store.connection.execute(sql, params)


def set_head(store: MemoryStore, stream: str, head: Head) -> None:
    """Say that a stream ends elsewhere."""
    tamper(
        store,
        "UPDATE streams SET version = ?, hash = ? WHERE stream = ?",
        head.version,
        head.hash,
        stream,
    )


def put_entries(store: MemoryStore, entries: Iterable[Entry]) -> None:
    """Put entries into a store as they are, in place of those with the same version."""
    store.connection.executemany(
        "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(astuple, entries)
    )


@contextmanager
def tampering(file: Path, *, lax: bool = False) -> Iterator[Callable[..., None]]:
    """Change an SQLite file behind the store's back; where lax, its tables take any value."""
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


def as_row(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.stream,
        entry.version,
        entry.at,
        entry.kind,
        entry.schema,
        entry.data,
        entry.cause,
        entry.hash,
    )


def found(report: VerificationReport) -> list[str]:
    return [str(finding) for finding in report.findings]


def at(report: VerificationReport) -> list[str]:
    return [finding.where for finding in report.findings]


def told(findings: Sequence[IntegrityFinding]) -> str:
    return "; ".join(map(str, findings)) or "nothing found"
