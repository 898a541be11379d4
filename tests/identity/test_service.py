"""Opening the identity service: tables, schema versions, key file and concurrent servers."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.identity.identity_cluster import PASSWORD, IdentityCluster, add_account
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable, StoreUnusable
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.identity import IdentityService


def test_accounts_and_sessions_survive_a_restart(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    ann = add_account(identity, "ann", "player")
    token = identity.authentication.sign_in("ann", PASSWORD).token
    identity.close()
    cluster.opened.clear()

    again = cluster.open(IdentityPolicy(second_factor=False))

    assert again.accounts.all() == [ann]
    assert again.sessions.resolve(token) is not None


def test_identity_and_event_log_share_a_database(folder: Path, postgres: PostgresServer) -> None:
    for url in (f"sqlite:///{folder / 'house.sqlite'}", postgres.fresh()):
        cluster = IdentityCluster(url, folder / url[:6])
        with closing(open_store(url, serving=True)) as store:
            with closing(cluster.open()) as identity:
                add_account(identity, "ann", "player")
                store.set_person("ann", b"{}")
                assert identity.accounts.find_by_name("ann") is not None
            assert store.person("ann") == b"{}"
        with closing(open_store(url)) as store, closing(cluster.open()) as identity:
            assert identity.accounts.find_by_name("ann") is not None
            assert store.person("ann") == b"{}"


def test_concurrent_opens_of_an_empty_database_share_one_encryption_key(
    folder: Path, postgres: PostgresServer
) -> None:
    urls = (f"sqlite:///{folder / 'house.sqlite'}", *(postgres.fresh() for _ in range(8)))
    for number, url in enumerate(urls):
        cluster = IdentityCluster(url, folder / str(number))
        with ThreadPoolExecutor(4) as pool:
            opened = list(pool.map(lambda _: cluster.open(), range(4)))  # noqa: B023
        assert len({identity.context.encryption_key.id for identity in opened}) == 1
        add_account(opened[0], "ann", "player")
        assert opened[3].accounts.find_by_name("ann") is not None
        for identity in opened:
            identity.close()


def test_identity_in_memory_starts_empty_each_time(tmp_path: Path) -> None:
    for count in range(2):
        with closing(
            open_identity("memory:", state=tmp_path / str(count), cost=TEST_COST)
        ) as identity:
            first = identity.accounts.ensure_administrator()
            assert first is not None
            assert identity.authentication.sign_in("administrator", first.password)


@pytest.mark.parametrize("url", ["", "sqlite:///", "mysql://x/y", "file:x", "folder/"])
def test_invalid_database_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_identity(url, state=tmp_path)


def test_missing_database_is_reported_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable):
        open_identity(f"sqlite:///{tmp_path}/missing/house.sqlite", state=tmp_path)
    with pytest.raises(StoreUnavailable) as unavailable:
        open_identity(f"postgresql://u:geheim@/x?host={tmp_path}", state=tmp_path)
    assert "geheim" not in str(unavailable.value)
    with pytest.raises(InvalidInput) as wrong:
        open_identity("postgresql://u:geheim@/x?nonsense=1", state=tmp_path)
    assert "geheim" not in str(wrong.value)


def test_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a database, by any means" * 100)

    with pytest.raises(StoreUnusable):
        open_identity(str(tmp_path / "x"), state=tmp_path)


def test_new_database_and_key_files_are_readable_by_their_owner_only(folder: Path) -> None:
    cluster = IdentityCluster(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    cluster.open().close()

    assert (folder / "house.sqlite").stat().st_mode & 0o777 == 0o600
    assert (folder / "state").stat().st_mode & 0o777 == 0o700
    assert (folder / "state" / "people.key").stat().st_mode & 0o777 == 0o600
    assert len((folder / "state" / "people.key").read_bytes()) == 32


def test_missing_foreign_or_damaged_key_file_is_refused_and_not_replaced(
    cluster: IdentityCluster,
) -> None:
    cluster.open().close()
    key = cluster.state / "people.key"
    right = key.read_bytes()
    key.unlink()
    with pytest.raises(StoreUnusable, match="missing"):
        cluster.open()
    assert not key.exists()

    key.write_bytes(bytes(32))
    key.chmod(0o600)
    with pytest.raises(StoreUnusable, match="not the key"):
        cluster.open()
    key.write_bytes(right[:31])
    with pytest.raises(StoreUnusable, match="damaged"):
        cluster.open()
    key.write_bytes(right)
    key.chmod(0o640)
    with pytest.raises(StoreUnusable, match="chmod 0600"):
        cluster.open()
    key.chmod(0o600)
    cluster.open()


def test_key_file_that_is_a_symlink_is_refused(cluster: IdentityCluster, folder: Path) -> None:
    cluster.open().close()
    key = cluster.state / "people.key"
    key.rename(folder / "elsewhere")
    key.symlink_to(folder / "elsewhere")

    with pytest.raises(StoreUnusable, match="plain file"):
        cluster.open()


def test_database_of_a_newer_schema_is_refused(
    identity: IdentityService, cluster: IdentityCluster
) -> None:
    change = identity.context.database.transact
    change(lambda run: run("INSERT INTO schema_versions (version) VALUES (7)"))

    try:
        with pytest.raises(StoreUnusable, match="version 7, this program knows version"):
            cluster.open()
    finally:
        change(lambda run: run("DELETE FROM schema_versions WHERE version = 7"))


def test_locked_database_file_is_unavailable_until_unlocked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)
    cluster = IdentityCluster(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    with closing(cluster.open()) as identity:
        holding = sqlite3.connect(folder / "house.sqlite", isolation_level=None)
        with closing(holding):
            holding.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                add_account(identity, "ann", "player")
        add_account(identity, "ann", "player")


def test_database_refuses_writes_after_a_failed_write(folder: Path) -> None:
    cluster = IdentityCluster(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    with closing(cluster.open()) as identity:
        add_account(identity, "ann", "player")
        with pytest.raises(StoreFailed):
            identity.context.database.transact(lambda run: run("INSERT INTO nothing VALUES (1)"))
        with pytest.raises(StoreFailed, match="check the disk"):
            add_account(identity, "bob", "player")
        assert [each.name for each in identity.accounts.all()] == ["ann"]


def test_unencodable_text_is_invalid_input(identity: IdentityService) -> None:
    with pytest.raises(InvalidInput):
        identity.sessions.list_for_account("\ud800")


def test_closed_identity_service_is_unavailable(identity: IdentityService) -> None:
    identity.close()

    with pytest.raises(StoreUnavailable):
        identity.accounts.all()
    with pytest.raises(StoreUnavailable):
        add_account(identity, "ann", "player")
    identity.close()
