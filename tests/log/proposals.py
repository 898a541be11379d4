"""Proposals of commands, and logs written from them."""

from __future__ import annotations

import random
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from threedice.log.conflicts import head_after
from threedice.log.entry import EMPTY_HEAD, Head, NewEntry, extend_stream, hash_cause
from threedice.log.records import Acceptance, Append, DuplicateKey, HeadConflict, Proposal
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from threedice.log.store import Store

PATIENCE = 60
"""Seconds after which a test stops waiting."""

ACCEPTED = Acceptance()

_numbers = count(1)


def propose(stream: str, head: Head = EMPTY_HEAD, entries: int = 1, key: str = "") -> Proposal:
    """Propose a command that appends entries to a stream with that head."""
    number = next(_numbers)
    key = key or f"follow-{number}"
    command = sha256(key.encode()).digest()
    records = [NewEntry("BetPlaced", 1, b"%d of %d" % (place, number)) for place in range(entries)]
    added, _ = extend_stream(head, stream, number, hash_cause("ann", key, command), records)
    return Proposal("ann", key, command, (Append(stream, head, added),))


def propose_row(stream: str, length: int, head: Head = EMPTY_HEAD) -> list[Proposal]:
    """Propose commands of one entry each, every one on the head that its predecessor leaves."""
    row: list[Proposal] = []
    for _ in range(length):
        row.append(propose(stream, head))
        head = head_after(row[-1].appends[0])
    return row


def propose_appends(
    appends: Mapping[str, tuple[Head, Iterable[bytes]]],
    *,
    account: str = "ann",
    key: str = "",
    command_hash: bytes = b"c" * 32,
    games: Mapping[str, bytes] | None = None,
    at: int = 1_700_000_000_000_000,
) -> Proposal:
    """Propose to append data to streams with the given heads."""
    key = key or f"key-{next(_numbers)}"
    cause = hash_cause(account, key, command_hash)
    made = []
    for stream, (head, data) in appends.items():
        records = [NewEntry("Noted", 1, each) for each in data]
        made.append(Append(stream, head, extend_stream(head, stream, at, cause, records)[0]))
    return Proposal(account, key, command_hash, tuple(made), games or {})


def propose_data(stream: str, head: Head = EMPTY_HEAD, *data: bytes, key: str = "") -> Proposal:
    """Propose to append to one stream, by default a single entry."""
    return propose_appends({stream: (head, data or (b"data",))}, key=key)


def new_head(proposal: Proposal, stream: str = "") -> Head:
    """Return the head of a proposal's stream, by default the first, once it is written."""
    entries = next(a.entries for a in proposal.appends if stream in ("", a.stream))
    return Head(entries[-1].version, entries[-1].hash)


# --- commands written to a store -----------------------------------------------------------------


def bet(
    store: Store,
    *streams: str,
    account: str = "ann",
    entries: int = 1,
    data: bytes = b'{"box": "big"}',
    games: dict[str, bytes] | None = None,
) -> Proposal:
    """Write one command that appends to each stream, with retries after conflicts."""
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
    """Write a game and a few commands to three streams, one of them to two streams at once."""
    canonical = b'{"game": "tai sai"}'
    bet(store, "table/1", games={sha256(canonical).hexdigest(): canonical})
    bet(store, "table/1", "cage/ann", entries=2)
    bet(store, "table/2", account="bob", entries=3)
    bet(store, "table/1", account="bob")


def write_sample_log(folder: Path) -> SqliteStore:
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
def background_writes(
    store: Store, *streams: str, then: Callable[[], object] = bool
) -> Iterator[Thread]:
    """Write to streams in a thread within the context, and call a function after each write."""
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
