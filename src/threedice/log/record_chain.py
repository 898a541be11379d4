"""People's records: the log holds a salted hash of every row of the tables about people.

A transaction that changes such a row appends an entry to the stream `people`, with the key of the
row and the hashes of its columns before and after. So the checkpoints and MACs of the log also
cover the people's tables: an audit compares every row with its last hash, and the hash before each
change with the one after the previous change.

The data itself stays outside the log, to be erasable. A hash is salted, so that nobody can find out
the data of an erased row by trial: every change draws a new salt, which replaces the old one in
`people_records`, and a deletion deletes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from threedice.log.entry import EMPTY_HEAD, Head, NewEntry, extend_stream, hash_cause
from threedice.log.records import EntrySpan, encode_spans
from threedice.log.stores import schema
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from threedice.db import Database, Result, SqlRow, SqlRunner
    from threedice.log.proof.head_macs import HeadMacs
    from threedice.log.stores.schema import DatabaseTable

PEOPLE_STREAM: Final = "people"
RECORD_KIND: Final = "RecordsChanged"
RECORD_SCHEMA: Final = 1
RECORD_ACCOUNT: Final = "house"
"""Account of the answers to these entries; no person has it."""

ROWS_PER_ENTRY: Final = 1000
SALTS_PER_STATEMENT: Final = 500
SALT_BYTES: Final = 16

Item = TypeVar("Item")

RecordKey = tuple[str, str]
"""A row: the name of its table, and its primary key as `key_of` writes it."""


class RecordedRow(msgspec.Struct, frozen=True, array_like=True):
    """A changed row in an entry: its table and key, and its salted hashes before and after.

    None stands for a row that does not exist. If `before` is not the hash recorded last, somebody
    else has changed the row in between.
    """

    table: str
    key: str
    before: str | None
    after: str | None


encode_records = msgspec.json.Encoder().encode
decode_records = msgspec.json.Decoder(list[RecordedRow]).decode


def hash_record(salt: bytes, table: DatabaseTable, columns: Sequence[Any]) -> str:
    """Return the salted hash of the recorded columns of a row, unambiguous over their types."""
    return sha256(salt + msgspec.msgpack.encode((table.name, columns))).hexdigest()


class RecordedTransaction:
    """An open transaction that records the rows about people that it changes.

    Call it to run a statement; such rows are written with `insert`, `update` and `delete` only.
    `now` is the time it began.
    """

    def __init__(self, run: SqlRunner, now: int, head_macs: HeadMacs | None = None) -> None:
        self._run, self.now, self._head_macs = run, now, head_macs
        self._head: Head | None = None
        self._is_own = True
        self._changes: dict[RecordKey, _RowChange] = {}

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        """Run a statement with `?` for each parameter, and return its rows."""
        return self._run(sql, params)

    def insert(
        self, table: DatabaseTable, row: Mapping[str, Any], *, updating: Sequence[str] = ()
    ) -> None:
        """Insert a row; if its key exists, update some of its columns instead."""
        sql = f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        if updating:
            self._note_before(table, {column: row[column] for column in table.key})
            changes = ", ".join(f"{column} = excluded.{column}" for column in updating)
            sql += f" ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {changes}"
        self._write(table, sql, tuple(row.values()))

    def update(
        self, table: DatabaseTable, changes: Mapping[str, Any], **where: Any
    ) -> list[dict[str, Any]]:
        """Update the rows with these values, and return their recorded columns."""
        self._note_before(table, where)
        settings = ", ".join(f"{column} = ?" for column in changes)
        sql = f"UPDATE {table.name} SET {settings} WHERE {_condition(where)}"
        return _as_dicts(table, self._write(table, sql, (*changes.values(), *where.values())))

    def delete(self, table: DatabaseTable, **where: Any) -> list[dict[str, Any]]:
        """Delete the rows with these values, and return the recorded columns that they had."""
        self._lock_head()
        sql = f"DELETE FROM {table.name} WHERE {_condition(where)} RETURNING {_columns(table)}"
        deleted = self._run(sql, tuple(where.values()))
        for row in deleted:
            self._change_of(table, row, before=row).after = None
        return _as_dicts(table, deleted)

    def _note_before(self, table: DatabaseTable, where: Mapping[str, Any]) -> None:
        """Note the rows that are about to change, as they are."""
        self._lock_head()
        sql = f"SELECT {_columns(table)} FROM {table.name} WHERE {_condition(where)}"
        for row in self._run(sql, tuple(where.values())):
            self._change_of(table, row, before=row)

    def _write(self, table: DatabaseTable, sql: str, params: Sequence[Any]) -> list[SqlRow]:
        self._lock_head()
        rows = self._run(f"{sql} RETURNING {_columns(table)}", params)
        for row in rows:
            self._change_of(table, row, before=None).after = row
        return rows

    def _change_of(self, table: DatabaseTable, row: SqlRow, before: SqlRow | None) -> _RowChange:
        """Return the change of a row in this transaction; `before` counts the first time."""
        key = table.name, key_of(table, row)
        return self._changes.setdefault(key, _RowChange(table, before, before))

    def append_records(self) -> None:
        """Append the changed rows to the stream; the first time, append all rows that exist."""
        changed = any(change.before != change.after for change in self._changes.values())
        if changed and self._lock_head() == EMPTY_HEAD:
            self._changes = _read_all(self._run)
        if changed:
            self._append()

    def append_existing_rows(self) -> None:
        """Append all rows about people, if none was ever recorded."""
        if self._lock_head() == EMPTY_HEAD:
            self._changes = _read_all(self._run)
            self._append()
        self._changes.clear()

    def _lock_head(self) -> Head:
        """Return the head of the stream, which nobody else moves before this transaction ends."""
        if self._head is None:
            ((version, digest, mac),) = self._run(
                _LOCK_HEAD, (PEOPLE_STREAM, EMPTY_HEAD.version, EMPTY_HEAD.hash)
            )
            self._head = Head(version, digest)
            self._is_own = self._head == EMPTY_HEAD or (
                self._head_macs is not None
                and self._head_macs.is_valid(PEOPLE_STREAM, self._head, mac)
            )
        return self._head

    def _append(self) -> None:
        head = self._lock_head()
        data = [encode_records(chunk) for chunk in _chunks(self._replace_salts(), ROWS_PER_ENTRY)]
        key, digest = f"records {head.version + 1}", sha256(b"".join(data)).digest()
        cause = hash_cause(RECORD_ACCOUNT, key, digest)
        new = [NewEntry(RECORD_KIND, RECORD_SCHEMA, each) for each in data]
        entries, new_head = extend_stream(head, PEOPLE_STREAM, self.now, cause, new)
        for entry in entries:
            self._run(_ADD_ENTRY, msgspec.structs.astuple(entry))
        span = EntrySpan(PEOPLE_STREAM, head.version + 1, new_head.version)
        self._run(_ADD_ANSWER, (RECORD_ACCOUNT, key, digest, encode_spans((span,)), b""))
        # A MAC after a foreign head would approve it, and refusing would keep everybody out.
        mac = b""
        if self._head_macs is not None and self._is_own:
            mac = self._head_macs.compute(PEOPLE_STREAM, new_head)
        self._run(_SET_HEAD, (new_head.version, new_head.hash, mac, PEOPLE_STREAM))

    def _replace_salts(self) -> list[RecordedRow]:
        """Store a new salt of each changed row, and delete the salts of deleted rows."""
        changes = {key: each for key, each in self._changes.items() if each.before != each.after}
        former = self._read_salts([key for key, each in changes.items() if each.before is not None])
        records, salts = list[RecordedRow](), list[tuple[str, str, bytes]]()
        for key, change in changes.items():
            before = after = None
            if change.before is not None:
                before = hash_record(former.get(key, b""), change.table, change.before)
            if change.after is not None:
                salt = SYSTEM_RUNTIME.random_bytes(SALT_BYTES)
                after = hash_record(salt, change.table, change.after)
                salts.append((*key, salt))
            else:
                self._run("DELETE FROM people_records WHERE name = ? AND key = ?", key)
            records.append(RecordedRow(*key, before, after))
        for chunk in _chunks(salts, SALTS_PER_STATEMENT):
            places = ", ".join(["(?, ?, ?)"] * len(chunk))
            self._run(_SET_SALTS.format(places), tuple(chain.from_iterable(chunk)))
        return records

    def _read_salts(self, keys: Sequence[RecordKey]) -> dict[RecordKey, bytes]:
        salts: dict[RecordKey, bytes] = {}
        for chunk in _chunks(keys, SALTS_PER_STATEMENT):
            places = " OR ".join(["(name = ? AND key = ?)"] * len(chunk))
            sql = f"SELECT name, key, salt FROM people_records WHERE {places}"
            rows = self._run(sql, tuple(chain.from_iterable(chunk)))
            salts |= {(name, key): salt for name, key, salt in rows}
        return salts


@dataclass(slots=True)
class _RowChange:
    """A row of the recorded columns before and after a transaction; None if it does not exist."""

    table: DatabaseTable
    before: SqlRow | None
    after: SqlRow | None


def transact_recorded(
    database: Database,
    work: Callable[[RecordedTransaction], Result],
    *,
    now: int | None = None,
    head_macs: HeadMacs | None = None,
    is_long: bool = False,
) -> Result:
    """Run a durable transaction, with an entry for the rows about people that it changes."""
    began = SYSTEM_RUNTIME.now() if now is None else now

    def transact(run: SqlRunner) -> Result:
        transaction = RecordedTransaction(run, began, head_macs)
        result = work(transaction)
        transaction.append_records()
        return result

    return database.transact(transact, is_long=is_long)


def record_existing_rows(database: Database, head_macs: HeadMacs | None = None) -> None:
    """Append all rows about people, if none was ever recorded."""
    sql = "SELECT 1 FROM streams WHERE stream = ? AND version > 0"
    if not database.query(sql, (PEOPLE_STREAM,)):
        append = RecordedTransaction.append_existing_rows
        transact_recorded(database, append, head_macs=head_macs, is_long=True)


def _read_all(run: SqlRunner) -> dict[RecordKey, _RowChange]:
    return {
        (table.name, key_of(table, row)): _RowChange(table, None, row)
        for table in schema.RECORDED_TABLES
        for row in run(f"SELECT {_columns(table)} FROM {table.name}")
    }


def key_of(table: DatabaseTable, row: SqlRow) -> str:
    """Return the primary key of a row of the recorded columns, as text.

    Of several columns, only the first may contain a slash.

    >>> key_of(schema.devices, (bytes(2), "0a1b", "session"))
    '0a1b/0000'
    """
    columns = table.recorded_columns
    values = [row[columns.index(column)] for column in table.key]
    return "/".join(value.hex() if isinstance(value, bytes) else str(value) for value in values)


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _columns(table: DatabaseTable) -> str:
    return ", ".join(table.recorded_columns)


def _condition(where: Mapping[str, Any]) -> str:
    return " AND ".join(f"{column} = ?" for column in where)


def _as_dicts(table: DatabaseTable, rows: Sequence[SqlRow]) -> list[dict[str, Any]]:
    return [dict(zip(table.recorded_columns, row, strict=True)) for row in rows]


# Without the update, PostgreSQL would not lock the row.
_LOCK_HEAD: Final = (
    "INSERT INTO streams (stream, version, hash) VALUES (?, ?, ?)"
    " ON CONFLICT (stream) DO UPDATE SET version = streams.version RETURNING version, hash, mac"
)

_SET_HEAD: Final = "UPDATE streams SET version = ?, hash = ?, mac = ? WHERE stream = ?"

_ADD_ENTRY: Final = f"INSERT INTO entries ({schema.ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_ADD_ANSWER: Final = f"INSERT INTO answers ({schema.ANSWER_COLUMNS}) VALUES (?, ?, ?, ?, ?)"

_SET_SALTS: Final = (
    "INSERT INTO people_records (name, key, salt) VALUES {}"
    " ON CONFLICT (name, key) DO UPDATE SET salt = excluded.salt"
)
