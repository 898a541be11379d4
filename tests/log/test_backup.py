"""Backups of SQLite and PostgreSQL, also during writes, and their restoration into either."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing
from hashlib import sha256
from itertools import chain, count
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.log.inspection import tampering
from tests.log.proposals import background_writes, bet
from threedice.errors import (
    InvalidInput,
    StoreFailed,
    StoreUnavailable,
    StoreUnusable,
    TamperedData,
)
from threedice.log.proof.backup import BACKUP_TABLES, DERIVED_TABLES, create_backup, restore_backup
from threedice.log.proof.checkpoints import (
    CHECKPOINTS_FILE,
    CheckpointSigner,
    read_checkpoints,
    signed_heads,
)
from threedice.log.proof.keys import open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.records import ProjectionLine, Snapshot
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.rows import open_rows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from threedice.log.proof import VerificationReport
    from threedice.log.proof.keys import SigningKeys
    from threedice.log.store import Store

KINDS = ("sqlite", "postgres")


@pytest.fixture
def fresh(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return a function that makes the URL of an empty database of a kind."""

    def make(kind: str) -> str:
        if kind == "postgres":
            return str(request.getfixturevalue("postgres").fresh())
        made = len(list(tmp_path.glob("new-*.sqlite")))
        return f"sqlite:///{tmp_path}/new-{made}.sqlite"

    return make


@pytest.fixture(params=KINDS)
def house(request: pytest.FixtureRequest, fresh: Callable[[str], str]) -> Iterator[Store]:
    store = open_store(fresh(request.param))
    yield store
    store.close()


@pytest.fixture
def keys(tmp_path: Path) -> SigningKeys:
    return open_keys(tmp_path)


def play(store: Store) -> None:
    """Write rows into every table."""
    canonical = b'{"game": "tai sai"}'
    bet(store, "table/1", "cage/ann", entries=3, games={sha256(canonical).hexdigest(): canonical})
    bet(store, "table/2", account="bob", data=bytes(range(256)))
    store.save_snapshot(Snapshot("table/1", "table", "1", store.head("table/1"), b"state"))
    store.project(
        "results", "table/1", 0, 3, [ProjectionLine("results", "", "table/1", 3, 0, 7, b"4-5-6")]
    )
    store.set_person("ann", b"Ann, born in 1990")
    store.acquire_lease("driver of table/1", "server 1", 60)


def sign(store: Store, state: Path) -> None:
    """Create a checkpoint, as the backup command does first."""
    CheckpointSigner(store, open_keys(state), state).create_checkpoint(at=1)


def content(store: Store | Path) -> dict[str, list[tuple[Any, ...]]]:
    with open_rows(store) as rows:
        return {
            table.name: list(chain.from_iterable(rows.chunks(table)))
            for table in (*BACKUP_TABLES, schema.people)
        }


def derived_rows(store: Store | Path) -> list[tuple[Any, ...]]:
    """Return all rows of derived data."""
    with open_rows(store) as rows:
        return [row for table in DERIVED_TABLES for row in chain.from_iterable(rows.chunks(table))]


def test_backup_holds_what_the_store_holds(house: Store, keys: SigningKeys, tmp_path: Path) -> None:
    play(house)
    CheckpointSigner(house, keys, tmp_path).create_checkpoint(at=1)
    counts = create_backup(house, tmp_path / "backup.sqlite")

    assert content(tmp_path / "backup.sqlite") == content(house)
    assert all(content(house).values())
    assert counts == {name: len(rows) for name, rows in content(house).items()}
    assert verify_log(tmp_path / "backup.sqlite", public_keys=keys.public).is_sound


def test_derived_data_is_neither_backed_up_nor_restored(
    house: Store, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    play(house)
    sign(house, tmp_path)
    create_backup(house, tmp_path / "backup.sqlite")
    assert derived_rows(house)
    assert not derived_rows(tmp_path / "backup.sqlite")

    with closing(open_store(f"sqlite:///{tmp_path}/backup.sqlite")) as store:
        store.save_snapshot(Snapshot("table/1", "table", "1", store.head("table/1"), b"forged"))
        store.project(
            "results", "table/1", 0, 3, [ProjectionLine("results", "", "table/1", 3, 0, 7, b"6")]
        )
    assert derived_rows(tmp_path / "backup.sqlite")
    url = fresh("sqlite")
    restore_backup(tmp_path / "backup.sqlite", url, public_keys=keys.public)
    with closing(open_store(url)) as store:
        assert not derived_rows(store)


def test_backup_is_one_file_readable_by_its_owner_only(house: Store, tmp_path: Path) -> None:
    play(house)
    sign(house, tmp_path)
    (tmp_path / "kept").mkdir()
    create_backup(house, tmp_path / "kept/backup.sqlite")

    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["backup.sqlite"]
    assert S_IMODE((tmp_path / "kept/backup.sqlite").stat().st_mode) == 0o600


def test_backup_holds_neither_keys_nor_leases(house: Store, tmp_path: Path) -> None:
    play(house)
    sign(house, tmp_path)
    house.suspend("the disk is full")
    create_backup(house, tmp_path / "backup.sqlite")

    with closing(sqlite3.connect(tmp_path / "backup.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM leases").fetchone() == (0,)
        names = {name for (name,) in connection.execute("SELECT name FROM meta")}
    assert names == {"program", "schema"}
    data = (tmp_path / "backup.sqlite").read_bytes()
    pem = (tmp_path / "keys/signing.pem").read_bytes()
    assert b"server 1" not in data
    assert pem.splitlines()[1] not in data


def test_backup_can_leave_out_personal_data(house: Store, tmp_path: Path) -> None:
    play(house)
    sign(house, tmp_path)
    counts = create_backup(house, tmp_path / "backup.sqlite", people=False)

    assert "people" not in counts
    assert b"born in 1990" not in (tmp_path / "backup.sqlite").read_bytes()
    create_backup(house, tmp_path / "with.sqlite")
    assert b"born in 1990" in (tmp_path / "with.sqlite").read_bytes()


def test_backup_does_not_overwrite_an_existing_file(house: Store, tmp_path: Path) -> None:
    (tmp_path / "backup.sqlite").write_bytes(b"the one before")

    with pytest.raises(InvalidInput, match="already exists"):
        create_backup(house, tmp_path / "backup.sqlite")
    assert (tmp_path / "backup.sqlite").read_bytes() == b"the one before"


def test_backup_into_a_missing_folder_is_refused(house: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be created"):
        create_backup(house, tmp_path / "none" / "backup.sqlite")


def test_backup_of_a_memory_store_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    sign(store, tmp_path)
    with pytest.raises(InvalidInput, match="memory"):
        create_backup(store, tmp_path / "backup.sqlite")
    assert list(tmp_path.glob("backup*")) == []


def test_backup_of_a_row_with_a_null_column_is_refused(
    fresh: Callable[[str], str], tmp_path: Path
) -> None:
    with closing(open_store(fresh("sqlite"))) as store:
        play(store)
        sign(store, tmp_path)
        with tampering(tmp_path / "new-0.sqlite", lax=True) as run:
            run("UPDATE entries SET data = NULL WHERE version = 1 AND stream = 'table/1'")
        with pytest.raises(TamperedData, match="table entries: holds a row that cannot be copied"):
            create_backup(store, tmp_path / "backup.sqlite")
    assert list(tmp_path.glob("backup*")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_backup_taken_during_writes_is_consistent_and_restorable(
    kind: str, house: Store, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    signer = CheckpointSigner(house, keys, tmp_path)
    signer.create_checkpoint(at=0)
    reports: dict[int, VerificationReport] = {}
    with background_writes(
        house, "table/1", "cage/ann", then=lambda: signer.create_checkpoint(at=1)
    ) as writer:
        for file in (tmp_path / f"backup-{number}.sqlite" for number in count()):
            create_backup(house, file)
            report = verify_log(file, public_keys=keys.public)
            reports[report.entries] = report
            caught = len(reports) >= 4 and report.checkpoints  # as many moments
            if caught or not writer.is_alive():
                break

    assert len(reports) >= 4
    assert not any(each.findings for each in reports.values())
    outside = read_checkpoints(tmp_path / CHECKPOINTS_FILE)
    url = fresh(kind)
    signed = outside[: report.checkpoints]
    assert restore_backup(file, url, public_keys=keys.public, against=signed) == report
    with closing(open_store(url)) as store:
        assert content(store) == content(file)
        bet(store, "table/1", "cage/ann")
        assert verify_log(store, public_keys=keys.public).is_sound


def test_backup_signed_while_a_server_signs_holds_all_earlier_entries(
    house: Store, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    server, writes = CheckpointSigner(house, keys, tmp_path), count(1)

    def sign_now_and_then() -> None:
        if next(writes) % 10 == 0:  # a server that always signs first would starve the other
            server.create_checkpoint(at=1)

    with background_writes(house, "table/1", "cage/ann", then=sign_now_and_then):
        for file in (tmp_path / f"backup-{number}.sqlite" for number in range(3)):
            bet(house, "table/2")
            before = house.heads()
            sign(house, tmp_path)
            create_backup(house, file)
            url = fresh("sqlite")
            restore_backup(file, url, public_keys=keys.public)
            with closing(open_store(url)) as store:
                heads = store.heads()
            assert all(heads[name].version >= each.version for name, each in before.items())
    assert read_checkpoints(tmp_path / CHECKPOINTS_FILE) == house.checkpoints()
    assert verify_log(house, public_keys=keys.public).is_sound


@pytest.mark.parametrize("kind", KINDS)
def test_backup_ends_at_the_last_checkpoint(
    kind: str, house: Store, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    play(house)
    made = CheckpointSigner(house, keys, tmp_path).create_checkpoint(at=1)
    bet(house, "table/1", "cage/ann")
    bet(house, "table/3")
    create_backup(house, tmp_path / "backup.sqlite")
    url = fresh(kind)
    report = restore_backup(tmp_path / "backup.sqlite", url, public_keys=keys.public)

    with closing(open_store(url)) as store:
        assert store.heads() == signed_heads([made])
        assert "table/3" not in store.streams()
        assert (report.entries, report.answers) == (7, 2)
        assert store.person("ann") == b"Ann, born in 1990"
        assert store.acquire_lease("driver of table/1", "server 2", 60)


def test_backup_of_a_log_without_a_checkpoint_is_refused(house: Store, tmp_path: Path) -> None:
    play(house)
    with pytest.raises(StoreUnusable, match="holds no checkpoint"):
        create_backup(house, tmp_path / "backup.sqlite")
    assert list(tmp_path.glob("backup*")) == []


def test_backup_of_a_log_behind_its_last_checkpoint_is_refused(
    fresh: Callable[[str], str], tmp_path: Path
) -> None:
    with closing(open_store(fresh("sqlite"))) as store:
        play(store)
        sign(store, tmp_path)
        with tampering(tmp_path / "new-0.sqlite") as run:
            run("UPDATE streams SET version = 2 WHERE stream = 'table/1'")
        with pytest.raises(TamperedData, match="head of table/1: was signed at version 3"):
            create_backup(store, tmp_path / "backup.sqlite")


@pytest.fixture
def saved(keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]) -> Path:
    """Return a backup with two checkpoints."""
    with closing(open_store(fresh("sqlite"))) as store:
        signer = CheckpointSigner(store, keys, tmp_path)
        play(store)
        signer.create_checkpoint(at=1)
        bet(store, "table/1")
        signer.create_checkpoint(at=2)
        create_backup(store, tmp_path / "backup.sqlite")
    return tmp_path / "backup.sqlite"


@pytest.mark.parametrize("kind", KINDS)
def test_restore_into_a_database_that_is_not_empty_is_refused(
    kind: str, saved: Path, keys: SigningKeys, fresh: Callable[[str], str]
) -> None:
    url = fresh(kind)
    with closing(open_store(url)) as store:
        bet(store, "table/7")
        before = content(store)
        store.close()
    with pytest.raises(StoreUnusable, match="not empty"):
        restore_backup(saved, url, public_keys=keys.public)
    with closing(open_store(url)) as store:
        assert content(store) == before


@pytest.mark.parametrize("kind", KINDS)
def test_restore_into_a_served_database_is_refused(
    kind: str, saved: Path, keys: SigningKeys, fresh: Callable[[str], str]
) -> None:
    url = fresh(kind)
    with (
        closing(open_store(url, serving=True)),
        pytest.raises(StoreUnusable, match=r"served|another server"),
    ):
        restore_backup(saved, url, public_keys=keys.public)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET data = x'00' WHERE stream = 'table/1' AND version = 2",
        "DELETE FROM checkpoints WHERE number = 1",
        "DELETE FROM checkpoints",
        "DELETE FROM answers WHERE account = 'bob'",
        "UPDATE streams SET version = 99 WHERE stream = 'table/2'",
    ],
)
def test_tampered_backup_is_not_restored(
    kind: str,
    statement: str,
    saved: Path,
    keys: SigningKeys,
    tmp_path: Path,
    fresh: Callable[[str], str],
) -> None:
    with tampering(saved) as run:
        run(statement)
    url = fresh(kind)
    with pytest.raises(TamperedData):
        restore_backup(saved, url, public_keys=keys.public)
    assert not list(tmp_path.glob("new-1*"))  # nothing was written
    with closing(open_store(url)) as store:
        assert not any(content(store).values())


def test_restored_copy_that_differs_from_the_backup_is_discarded(
    saved: Path, keys: SigningKeys, postgres_url: str
) -> None:
    with closing(open_store(postgres_url)), psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE FUNCTION falsify() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.data := 'forged'; RETURN NEW; END $$;"
            "CREATE TRIGGER falsify BEFORE INSERT ON entries"
            " FOR EACH ROW EXECUTE FUNCTION falsify()"
        )
    with pytest.raises(TamperedData, match="the copy is not restored"):
        restore_backup(saved, postgres_url, public_keys=keys.public)
    with closing(open_store(postgres_url)) as store:
        assert not any(content(store).values())


@pytest.mark.parametrize("kind", KINDS)
def test_backup_with_unsigned_entries_is_not_restored(
    kind: str, saved: Path, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    with closing(open_store(f"sqlite:///{saved}")) as store:
        bet(store, "cage/ann", "table/1")
        bet(store, "cage/eve", entries=3)
    outside = read_checkpoints(tmp_path / CHECKPOINTS_FILE)
    url = fresh(kind)
    with pytest.raises(
        TamperedData,
        match=r"signs its last 5 entries \(cage/ann version 4, cage/eve versions 1 to 3, table/1"
        r" version 5\).*Create the backup again",
    ):
        restore_backup(saved, url, public_keys=keys.public, against=outside)
    with closing(open_store(url)) as store:
        assert not any(content(store).values())


def test_backup_behind_the_external_checkpoints_is_not_restored(
    saved: Path, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    with tampering(saved) as run:
        run("DELETE FROM checkpoints WHERE number = 2")
    outside = read_checkpoints(tmp_path / CHECKPOINTS_FILE)
    with pytest.raises(TamperedData, match="checkpoint 2"):
        restore_backup(saved, fresh("sqlite"), public_keys=keys.public, against=outside)


def test_backup_signed_with_an_untrusted_key_is_not_restored(
    saved: Path, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    foreign = open_keys(tmp_path / "foreign")
    with pytest.raises(TamperedData, match="not trusted"):
        restore_backup(saved, fresh("sqlite"), public_keys=foreign.public)


@pytest.mark.parametrize("kind", KINDS)
def test_failed_restore_leaves_the_database_empty(
    kind: str, saved: Path, keys: SigningKeys, fresh: Callable[[str], str]
) -> None:
    class Stopped(Exception):
        """The restore was cancelled."""

    def progress(done: int, total: int) -> None:
        reported.append((done, total))
        if len(reported) > 1:  # the backup is verified, now its copy is
            raise Stopped

    reported: list[tuple[int, int]] = []
    url = fresh(kind)
    with pytest.raises(Stopped):
        restore_backup(saved, url, public_keys=keys.public, progress=progress)
    with closing(open_store(url)) as store:
        assert not any(content(store).values())
    restore_backup(saved, url, public_keys=keys.public)
    with closing(open_store(url)) as store:
        assert content(store) == content(saved)


def test_restoring_a_backup_without_personal_data_leaves_none(
    house: Store, keys: SigningKeys, tmp_path: Path, fresh: Callable[[str], str]
) -> None:
    play(house)
    CheckpointSigner(house, keys, tmp_path).create_checkpoint(at=1)
    create_backup(house, tmp_path / "backup.sqlite", people=False)
    url = fresh("sqlite")
    restore_backup(tmp_path / "backup.sqlite", url, public_keys=keys.public)

    with closing(open_store(url)) as store:
        assert store.person("ann") is None
        assert store.heads() == house.heads()


def test_backup_of_another_schema_version_is_refused(
    saved: Path, keys: SigningKeys, fresh: Callable[[str], str]
) -> None:
    with tampering(saved) as run:
        run("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(StoreUnusable, match="version 99"):
        restore_backup(saved, fresh("sqlite"), public_keys=keys.public)


def test_restore_into_memory_is_refused(saved: Path, keys: SigningKeys) -> None:
    with pytest.raises(InvalidInput, match="not memory"):
        restore_backup(saved, "memory:", public_keys=keys.public)


def test_terminated_postgres_connection_during_a_read_is_unavailable(postgres_url: str) -> None:
    with closing(open_store(postgres_url)) as store:
        play(store)
        with open_rows(store) as rows:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            with pytest.raises(StoreUnavailable, match=r"does not (answer|respond)"):
                list(rows.chunks(schema.entries))


def test_backup_on_a_full_disk_leaves_no_file(house: Store, tmp_path: Path) -> None:
    play(house)
    sign(house, tmp_path)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(StoreFailed, match="free disk space"):
            create_backup(house, tmp_path / "backup.sqlite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert list(tmp_path.glob("backup*")) == []


def test_unfinished_backup_file_is_not_overwritten(house: Store, tmp_path: Path) -> None:
    (tmp_path / "backup.sqlite.part").write_bytes(b"another backup is running")
    with pytest.raises(InvalidInput, match=r"\.part already exists"):
        create_backup(house, tmp_path / "backup.sqlite")
