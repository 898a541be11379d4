"""Compare every row about people with the hash that the log holds of it.

The stream `people` is folded to the last hash of each row (`log.record_chain`). Findings name the
table and the key of a row, never its contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.db.schema import IDENTITY_TABLE_PREFIX, VERSION_TABLE
from threedice.log.proof import IntegrityFinding, tampering_as_finding
from threedice.log.record_chain import (
    PEOPLE_STREAM,
    RECORD_KIND,
    RECORD_SCHEMA,
    SALT_BYTES,
    decode_records,
    hash_record,
    key_of,
)
from threedice.log.stores import schema
from threedice.log.stores.sql_rows import Query

if TYPE_CHECKING:
    from threedice.log.record_chain import RecordKey
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import DatabaseTable

LOG_COPY_NOTE: Final = "a copy of the log without the rows about people: they are not compared"
NOT_RECORDED_NOTE: Final = (
    "the rows about people are not recorded yet, so they are not compared; they are once the house"
    " has been started with this version"
)


@dataclass(slots=True)
class PeopleComparison:
    """The differences between the rows about people and the log, and the count of rows compared."""

    findings: list[IntegrityFinding] = field(default_factory=list)
    rows: int = 0
    note: str = ""

    def add(self, where: str, what: str) -> None:
        """Add a finding."""
        self.findings.append(IntegrityFinding(where, what))


def compare_people(rows: LogRows, *, is_house: bool) -> PeopleComparison:
    """Compare the rows about people with the log, read from the same snapshot.

    A file without the tables about people is a copy of the log, unless it is known to be a house's.
    """
    found = PeopleComparison()
    with tampering_as_finding(found.findings):
        recorded = _fold_records(rows, found)
        if is_log_copy(rows) and is_house:
            found.add("the database", "lacks the tables about people")
        elif is_log_copy(rows):
            found.note = LOG_COPY_NOTE
            for _ in chain.from_iterable(rows.chunks(schema.people)):
                found.add("table people", "has rows, but a copy of the log has none")
                break
        elif recorded:
            _compare_rows(rows, recorded, found)
        elif _has_rows(rows):
            found.note = NOT_RECORDED_NOTE
    return found


def is_log_copy(rows: LogRows) -> bool:
    """Return whether a file is a copy of the log, which has no tables of identity at all."""
    return not any(
        name == VERSION_TABLE or name.startswith(IDENTITY_TABLE_PREFIX)
        for name in rows.table_names()
    )


def _fold_records(rows: LogRows, found: PeopleComparison) -> dict[RecordKey, str]:
    """Return the last recorded hash of each row; a hash before a change must be the one recorded.

    Otherwise somebody has changed the row in between, even if it was changed again since.
    """
    recorded: dict[RecordKey, str] = {}
    for entry in chain.from_iterable(rows.chunks(schema.entries, [PEOPLE_STREAM])):
        _, version, _, kind, form, data, _, _ = entry
        where = f"{PEOPLE_STREAM} version {version}"
        if (kind, form) != (RECORD_KIND, RECORD_SCHEMA):
            found.add(where, f"has the unknown kind {kind!r} of version {form!r}")
            continue
        try:
            records = decode_records(data)
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
            found.add(where, f"cannot be read: {error}")
            continue
        for record in records:
            key = (record.table, record.key)
            if recorded.pop(key, None) != record.before:
                found.add(_describe(key), f"was changed by somebody else before {where}")
            if record.after is not None:
                recorded[key] = record.after
    return recorded


def _has_rows(rows: LogRows) -> bool:
    """Return whether there are rows about people, besides the facts about the database."""
    names = rows.table_names()
    return any(
        rows.select(Query(table.name, ["1"], "LIMIT 1"))
        for table in schema.RECORDED_TABLES
        if table.name in names and table != schema.identity_meta
    )


def _compare_rows(rows: LogRows, recorded: dict[RecordKey, str], found: PeopleComparison) -> None:
    """Compare all rows and salts with the recorded hashes, which are used up."""
    salts: dict[Any, Any] = {}
    with tampering_as_finding(found.findings):
        for name, key, salt in chain.from_iterable(rows.chunks(schema.records)):
            salts[name, key] = salt
    for table in schema.RECORDED_TABLES:
        with tampering_as_finding(found.findings):
            for row in chain.from_iterable(rows.chunks(table)):
                found.rows += 1
                columns = _recorded_columns(table, row)
                key = (table.name, key_of(table, columns))
                expected, salt = recorded.pop(key, None), salts.pop(key, None)
                if expected is None:
                    found.add(_describe(key), "is not recorded in the log")
                elif type(salt) is not bytes or len(salt) != SALT_BYTES:
                    found.add(_describe(key), "cannot be compared: its salt is missing or damaged")
                elif not _has_hash(table, columns, salt, expected):
                    found.add(_describe(key), "differs from what the log records of it")
    for key in recorded:
        found.add(_describe(key), "is missing, but recorded in the log")
    for key in sorted(salts.keys() - recorded.keys(), key=repr):
        found.add(f"salt of {_describe(key)}", "belongs to no row")


def _has_hash(table: DatabaseTable, columns: StoredRow, salt: bytes, expected: str) -> bool:
    try:
        return hash_record(salt, table, columns) == expected
    except (UnicodeEncodeError, OverflowError, TypeError):  # no row that the program has written
        return False


def _recorded_columns(table: DatabaseTable, row: StoredRow) -> StoredRow:
    return tuple(
        value for value, name in zip(row, table.columns, strict=True) if name not in table.volatile
    )


def _describe(key: tuple[Any, Any]) -> str:
    return f"{key[0]} {key[1]}"
