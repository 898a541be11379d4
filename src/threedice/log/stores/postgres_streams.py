"""Append a batch in one PostgreSQL transaction, and listen for appends by other servers.

An append takes two round trips. Its commit sends a notification for each stream. A listener on a
connection of its own passes notifications to the feed as hints, checks that connection, and
replaces it when it is lost; then it asks the feed to poll for appends missed meanwhile. The feed's
own polling finds any other lost notification.
"""

from __future__ import annotations

from contextlib import closing
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from threedice.db.postgres import connect_postgres
from threedice.log.conflicts import ACCEPTED, build_answer, concerned_streams, resolve_batch
from threedice.log.records import DuplicateKey, decode_answers, decode_heads
from threedice.log.stores.schema import ANSWER_COLUMNS, ENTRY_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from psycopg import Notify

    from threedice.db.postgres import PostgresConnection
    from threedice.log.conflicts import ResolvedBatch
    from threedice.log.entry import Head
    from threedice.log.records import Proposal, ProposalOutcome, StoredAnswer, StoredRow

NOTIFY_CHANNEL: Final = "threedice_streams"
"""Channel of the notifications `<stream> <version>`, one for each stream that has grown."""


def append_batch(
    connection: PostgresConnection,
    proposals: Sequence[Proposal],
    sent: set[int],
    head_rows: Callable[[Mapping[str, Head]], list[StoredRow]],
) -> list[ProposalOutcome]:
    """Write a batch, and return the outcome of each proposal; `head_rows` adds the heads' MACs.

    `sent` holds the positions of the proposals that were sent on a connection lost afterwards: they
    are accepted if they turn out to be stored. The positions sent now are added to it.
    """
    batch = resolve_batch(proposals, *_lock_and_read(connection, proposals))
    outcomes = batch.outcomes
    accepted = {index for index, outcome in enumerate(outcomes) if outcome is ACCEPTED}
    if sent:
        outcomes = _recognise_own_writes(connection, proposals, outcomes, sent)
    if accepted:
        sent |= accepted
        _insert_rows(connection, batch, head_rows(batch.heads))
    else:
        connection.execute("ROLLBACK")
    return outcomes


# Each column is one array parameter, whatever the size of the batch; `%b` sends it in binary.
_ADD_STREAMS: Final = (
    "INSERT INTO streams (stream, version, hash)"
    " SELECT stream, 0, decode(repeat('00', 32), 'hex') FROM unnest(%b::text[]) AS new(stream)"
    " ON CONFLICT DO NOTHING"
)

_LOCK_STREAMS: Final = (
    "SELECT stream, version, hash FROM streams WHERE stream = ANY(%b::text[])"
    " ORDER BY stream FOR UPDATE"
)

_FIND_ANSWERS: Final = (
    f"SELECT {ANSWER_COLUMNS} FROM unnest(%b::text[], %b::text[]) AS used(account, key)"
    " JOIN answers USING (account, key)"
)


def _lock_and_read(
    connection: PostgresConnection, proposals: Sequence[Proposal]
) -> tuple[dict[str, Head], dict[tuple[str, str], StoredAnswer]]:
    """Lock the streams of a batch, and return their heads and the stored answers to its keys."""
    # Sorted: all transactions lock streams in the same order, so that they cannot deadlock.
    streams = sorted(concerned_streams(proposals))
    accounts = [proposal.account for proposal in proposals]
    keys = [proposal.key for proposal in proposals]
    with connection.pipeline():
        connection.execute("BEGIN")
        locked = connection.execute(_LOCK_STREAMS, (streams,), binary=True)
        # A separate statement: it sees what was committed while this one waited for the locks.
        answers = connection.execute(_FIND_ANSWERS, (accounts, keys), binary=True)
    heads = decode_heads(locked)
    if missing := [stream for stream in streams if stream not in heads]:
        with connection.pipeline():
            connection.execute(_ADD_STREAMS, (missing,))
            locked = connection.execute(_LOCK_STREAMS, (missing,), binary=True)
            answers = connection.execute(_FIND_ANSWERS, (accounts, keys), binary=True)
        heads |= decode_heads(locked)
    return heads, decode_answers(answers)


# One statement for all tables: each driver call releases the GIL and has to get it back.
_INSERT_ROWS: Final = f"""
WITH
new_entries AS (
    INSERT INTO entries ({ENTRY_COLUMNS})
    SELECT * FROM unnest(%b::text[], %b::bigint[], %b::bigint[], %b::text[], %b::integer[],
        %b::bytea[], %b::bytea[], %b::bytea[])),
new_answers AS (
    INSERT INTO answers ({ANSWER_COLUMNS})
    SELECT * FROM unnest(%b::text[], %b::text[], %b::bytea[], %b::bytea[], %b::bytea[])),
new_games AS (
    INSERT INTO games (hash, canonical) SELECT * FROM unnest(%b::text[], %b::bytea[])
    ON CONFLICT DO NOTHING),
new_heads AS (
    UPDATE streams SET version = head.version, hash = head.hash, mac = head.mac
    FROM unnest(%b::text[], %b::bigint[], %b::bytea[], %b::bytea[])
        AS head(stream, version, hash, mac)
    WHERE streams.stream = head.stream RETURNING head.stream, head.version)
SELECT count(pg_notify('{NOTIFY_CHANNEL}', stream || ' ' || version)) FROM new_heads
"""


def _insert_rows(
    connection: PostgresConnection, batch: ResolvedBatch, head_rows: list[StoredRow]
) -> None:
    columns = (
        *_to_columns(8, map(msgspec.structs.astuple, batch.entries)),
        *_to_columns(5, batch.answers),
        *_to_columns(2, sorted(batch.games.items())),
        *_to_columns(4, head_rows),
    )
    with connection.pipeline():
        connection.execute(_INSERT_ROWS, columns)
        connection.execute("COMMIT")


def _to_columns(width: int, rows: Iterable[StoredRow]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


_FIND_HASHES: Final = (
    "SELECT stream, version, hash FROM unnest(%b::text[], %b::bigint[]) AS last(stream, version)"
    " JOIN entries USING (stream, version)"
)


def _recognise_own_writes(
    connection: PostgresConnection,
    proposals: Sequence[Proposal],
    outcomes: Sequence[ProposalOutcome],
    sent: set[int],
) -> list[ProposalOutcome]:
    """Mark duplicates as accepted that this batch itself wrote before its connection was lost."""
    last_hashes = {}
    for index in sent:
        outcome, proposal = outcomes[index], proposals[index]
        if isinstance(outcome, DuplicateKey) and outcome.answer == build_answer(proposal):
            # The last hash of each stream covers all entries before it.
            last_entries = [append.entries[-1] for append in proposal.appends if append.entries]
            last_hashes[index] = {
                (entry.stream, entry.version): entry.hash for entry in last_entries
            }
    positions = [position for hashes in last_hashes.values() for position in hashes]
    rows = connection.execute(_FIND_HASHES, _to_columns(2, positions), binary=True)
    stored = {(stream, version): digest for stream, version, digest in rows}
    recognised = list(outcomes)
    for index, hashes in last_hashes.items():
        if hashes.items() <= stored.items():
            recognised[index] = ACCEPTED
    return recognised


# --- notifications ------------------------------------------------------------------------------

LISTENER_APPLICATION_NAME = "threedice listener"
"""Name of the listener's connection in `pg_stat_activity`."""

INITIAL_RETRY_SECONDS = 0.05

CLOSE_POLL_SECONDS = 0.1
"""How long a listener may take to notice that it is closed."""


class NotificationHandler(Protocol):
    """Receiver of notifications; its methods are called in the listener's thread."""

    def notify_versions(self, versions: Mapping[str, int], /) -> None:
        """Handle a hint that streams have reached these versions."""

    def poll_now(self) -> None:
        """Handle a hint that any stream may have grown."""


class NotificationListener:
    """Listen in a separate thread until closed, reconnecting whenever the connection fails."""

    def __init__(
        self,
        url: str,
        handler: NotificationHandler,
        *,
        channel: str = NOTIFY_CHANNEL,
        check_seconds: float = 10.0,
        deadline_seconds: float = 5.0,
        max_retry_seconds: float = 5.0,
    ) -> None:
        self._url = make_conninfo(url, application_name=LISTENER_APPLICATION_NAME)
        self._handler, self._channel = handler, channel
        self._check_seconds, self._deadline_seconds = check_seconds, deadline_seconds
        self._max_retry_seconds = max_retry_seconds
        self._retry_seconds = INITIAL_RETRY_SECONDS
        self._closing = Event()
        self.listening = Event()
        self.connections = 0
        self.last_error = ""
        self._thread = Thread(target=self._run, name="threedice-listener")
        self._thread.start()

    def close(self) -> None:
        """Stop listening and wait for the thread to end."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with closing(connect_postgres(self._url, self._deadline_seconds)) as connection:
                    self._listen(connection)
            except Exception as error:  # of any kind: nobody would notice that the thread ended
                self.last_error = str(error) or type(error).__name__
                self.listening.clear()
                self._closing.wait(self._retry_seconds)
                self._retry_seconds = min(2 * self._retry_seconds, self._max_retry_seconds)
        self.listening.clear()

    def _listen(self, connection: PostgresConnection) -> None:
        connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        self._retry_seconds = INITIAL_RETRY_SECONDS
        self.connections += 1
        self.listening.set()
        self._handler.poll_now()
        check_at = monotonic() + self._check_seconds
        while not self._closing.is_set():
            wait_seconds = max(0.0, min(check_at - monotonic(), CLOSE_POLL_SECONDS))
            connection.set_deadline(wait_seconds + self._deadline_seconds)
            self._forward(connection.notifies(timeout=wait_seconds, stop_after=1))
            if monotonic() >= check_at:
                connection.execute("SELECT 1")  # raises if the server does not respond in time
                check_at = monotonic() + self._check_seconds

    def _forward(self, notifications: Iterable[Notify]) -> None:
        versions: dict[str, int] = {}
        for notification in notifications:
            stream, _, version = notification.payload.rpartition(" ")
            if version.isdecimal():
                versions[stream] = max(int(version), versions.get(stream, 0))
            else:
                self._handler.poll_now()  # an unknown payload
        if versions:
            self._handler.notify_versions(versions)
