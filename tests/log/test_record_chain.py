"""Changes of rows about people are recorded in the log, as salted hashes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.log.conftest import open_kind
from tests.log.inspection import finding_texts
from threedice.db.sqlite import SqliteDatabase
from threedice.log.entry import EMPTY_HEAD
from threedice.log.proof.head_macs import open_head_macs
from threedice.log.proof.verification import verify_log
from threedice.log.record_chain import (
    PEOPLE_STREAM,
    ROWS_PER_ENTRY,
    decode_records,
    hash_record,
    record_existing_rows,
    transact_recorded,
)
from threedice.log.stores import schema
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from threedice.db import SqlRunner
    from threedice.log.record_chain import RecordedRow, RecordedTransaction
    from threedice.log.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_kind(request.param, request, tmp_path)
    yield opened
    opened.close()


def read_records(store: Store) -> list[list[RecordedRow]]:
    return [decode_records(entry.data) for entry in store.scan(PEOPLE_STREAM)]


def read_salts(store: Store) -> dict[tuple[str, str], bytes]:
    rows = store.database.query("SELECT name, key, salt FROM people_records")
    return {(name, key): salt for name, key, salt in rows}


def test_stored_person_is_recorded_as_a_hash_of_the_row_and_a_salt(store: Store) -> None:
    store.set_person("ann", b"Ann, born 1980")

    records = {
        (each.table, each.key): each.after for (entry,) in [read_records(store)] for each in entry
    }
    salt = read_salts(store)["people", "ann"]
    assert records["people", "ann"] == hash_record(salt, schema.people, ("ann", b"Ann, born 1980"))
    recorded = b"".join(entry.data for entry in store.scan(PEOPLE_STREAM))
    assert b"born" not in recorded  # no hash contains these letters by chance
    assert finding_texts(verify_log(store, public_keys={})) == []


def test_change_is_recorded_with_the_hash_before_and_a_new_salt(store: Store) -> None:
    store.set_person("ann", b"Ann")
    first = read_salts(store)["people", "ann"]
    store.set_person("ann", b"Anna")

    *_, (record,) = read_records(store)
    second = read_salts(store)["people", "ann"]
    assert second != first
    assert record.before == hash_record(first, schema.people, ("ann", b"Ann"))
    assert record.after == hash_record(second, schema.people, ("ann", b"Anna"))


def test_storing_the_same_data_again_records_nothing(store: Store) -> None:
    store.set_person("ann", b"Ann")
    before = store.head(PEOPLE_STREAM)
    store.set_person("ann", b"Ann")
    assert store.head(PEOPLE_STREAM) == before


def test_several_changes_of_a_row_in_a_transaction_are_recorded_as_one(store: Store) -> None:
    store.set_person("ann", b"Ann")
    salt = read_salts(store)["people", "ann"]

    def change(run: RecordedTransaction) -> None:
        run.update(schema.people, {"data": b"Anna"}, player="ann")
        run.delete(schema.people, player="ann")
        run.insert(schema.people, {"player": "ann", "data": b"Hannah"})
        run.insert(schema.people, {"player": "ben", "data": b"Ben"})
        run.delete(schema.people, player="ben")

    transact_recorded(store.database, change)
    *_, (record,) = read_records(store)
    assert record.before == hash_record(salt, schema.people, ("ann", b"Ann"))
    assert record.after == hash_record(
        read_salts(store)["people", "ann"], schema.people, ("ann", b"Hannah")
    )


def test_mac_is_written_with_the_records_but_not_after_a_head_without_one(
    store: Store, tmp_path: Path
) -> None:
    macs = store.head_macs = open_head_macs(store.database, tmp_path / "state")
    store.set_person("ann", b"Ann")
    head, mac = store.heads_with_macs()[PEOPLE_STREAM]
    assert macs.is_valid(PEOPLE_STREAM, head, mac)

    store.database.transact(lambda run: run("UPDATE streams SET mac = ?", (bytes(32),)))
    store.set_person("ann", b"Anna")
    head, mac = store.heads_with_macs()[PEOPLE_STREAM]
    assert not macs.is_valid(PEOPLE_STREAM, head, mac)


def test_erased_person_leaves_no_salt_and_a_log_that_verifies(store: Store) -> None:
    store.set_person("ann", b"Ann")
    assert store.erase_person("ann")

    assert ("people", "ann") not in read_salts(store)
    *_, (record,) = read_records(store)
    assert (record.table, record.key, record.after) == ("people", "ann", None)
    assert finding_texts(verify_log(store, public_keys={})) == []


def test_salt_of_an_erased_or_changed_row_is_in_no_file_of_the_database(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.sqlite")
    store.set_person("ann", b"Ann")
    store.set_person("ben", b"Ben")
    salts = [read_salts(store)["people", player] for player in ("ann", "ben")]
    store.set_person("ben", b"Benjamin")
    store.erase_person("ann")

    files = b"".join(file.read_bytes() for file in tmp_path.glob("log.sqlite*"))
    assert read_salts(store)["people", "ben"] in files
    assert not any(salt in files for salt in salts)
    store.close()


def test_erasing_an_unknown_person_records_nothing(store: Store) -> None:
    store.set_person("ann", b"Ann")
    before = store.head(PEOPLE_STREAM)
    assert not store.erase_person("ben")
    assert store.head(PEOPLE_STREAM) == before


def test_rolled_back_change_is_not_recorded(store: Store) -> None:
    store.set_person("ann", b"Ann")
    before = store.head(PEOPLE_STREAM)

    def fail(run: RecordedTransaction) -> None:
        run.delete(schema.people, player="ann")
        raise LookupError

    with pytest.raises(LookupError):
        transact_recorded(store.database, fail)
    assert store.head(PEOPLE_STREAM) == before
    assert store.person("ann") == b"Ann"


def test_hash_of_a_row_depends_on_its_table_salt_and_every_value_and_type() -> None:
    salt = bytes(16)
    rows = [("ann", b"x"), ("ann", "x"), ("ann", "eA=="), ("a", b"nnx"), ("ann", 1), ("ann", 1.0)]
    hashes = {hash_record(salt, schema.people, row) for row in rows}
    hashes |= {hash_record(bytes(15), schema.people, rows[0])}
    hashes |= {hash_record(salt, schema.codes, rows[0])}
    assert len(hashes) == len(rows) + 2


def test_concurrent_changes_from_several_connections_are_all_recorded_in_one_chain(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kind = "sqlite" if isinstance(store, SqliteStore) else "postgres"
    servers = [open_kind(kind, request, tmp_path) for _ in range(3)]
    players = [f"player-{number}" for number in range(30)]
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(lambda each: servers[int(each[7:]) % 3].set_person(each, b"x"), players))
    for server in servers:
        server.close()

    recorded = {each.key for entry in read_records(store) for each in entry}
    assert recorded >= set(players)
    assert finding_texts(verify_log(store, public_keys={})) == []


def test_existing_rows_are_recorded_once_in_entries_of_limited_size(store: Store) -> None:
    count = 2 * ROWS_PER_ENTRY + 1

    def insert(run: SqlRunner) -> None:
        for number in range(count):
            run("INSERT INTO people (player, data) VALUES (?, ?)", (f"{number}", b"x"))

    store.database.transact(insert)
    assert store.head(PEOPLE_STREAM) == EMPTY_HEAD

    record_existing_rows(store.database)
    record_existing_rows(store.database)

    entries = read_records(store)
    assert [len(entry) <= ROWS_PER_ENTRY for entry in entries] == [True] * 3
    assert sum(each.table == "people" for entry in entries for each in entry) == count
    assert {("people", f"{number}") for number in range(count)} <= read_salts(store).keys()
    assert finding_texts(verify_log(store, public_keys={})) == []


def test_first_recorded_change_also_records_the_rows_that_were_there_before(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.sqlite")
    store.database.transact(
        lambda run: run("INSERT INTO people (player, data) VALUES ('ben', x'00')")
    )
    store.set_person("ann", b"Ann")

    (entry,) = read_records(store)
    assert {(each.table, each.key) for each in entry} == {
        ("people", "ann"),
        ("people", "ben"),
        ("people_meta", "schema"),
    }
    store.close()


def test_updating_rows_on_a_key_conflict_records_the_row_as_it_is_stored(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "log.sqlite")
    database.prepare_tables("create", needed="streams")
    row = {"account": "a", "secret": b"s", "pending": b"", "step": 3}
    transact_recorded(database, lambda run: run.insert(schema.codes, row))
    changed = {**row, "secret": b"", "pending": b"p", "step": 0}
    transact_recorded(database, lambda run: run.insert(schema.codes, changed, updating=["pending"]))

    ((salt,),) = database.query("SELECT salt FROM people_records WHERE name = 'people_codes'")
    ((data,),) = database.query("SELECT data FROM entries WHERE version = 2")
    (record,) = decode_records(data)
    assert record.after == hash_record(salt, schema.codes, ("a", b"s", b"p", 3))
    database.close()
