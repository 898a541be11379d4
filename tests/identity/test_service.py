"""Opening the identity service: tables, schema versions, the key, and two servers at once."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.identity.setting import PASSWORD, Setting, add
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable, StoreUnusable
from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.passwords import TEST_COST
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.identity import IdentityService


def test_accounts_and_sessions_survive_a_restart(people: IdentityService, setting: Setting) -> None:
    ann = add(people, "ann", "player")
    token = people.authentication.sign_in("ann", PASSWORD).token
    people.close()
    setting.opened.clear()

    again = setting.open(IdentityPolicy(second_factor=False))

    assert again.accounts.all() == [ann]
    assert again.sessions.resolve(token) is not None


def test_identity_and_event_log_share_a_database(folder: Path, postgres: PostgresServer) -> None:
    for url in (f"sqlite:///{folder / 'house.sqlite'}", postgres.fresh()):
        setting = Setting(url, folder / url[:6])
        with closing(open_store(url, serving=True)) as store:
            with closing(setting.open()) as people:
                add(people, "ann", "player")
                store.set_person("ann", b"{}")
                assert people.accounts.find_by_name("ann") is not None
            assert store.person("ann") == b"{}"
        with closing(open_store(url)) as store, closing(setting.open()) as people:
            assert people.accounts.find_by_name("ann") is not None
            assert store.person("ann") == b"{}"


def test_concurrent_opens_of_an_empty_database_share_one_encryption_key(
    folder: Path, postgres: PostgresServer
) -> None:
    for url in (f"sqlite:///{folder / 'house.sqlite'}", postgres.fresh()):
        setting = Setting(url, folder / url[:6])
        with ThreadPoolExecutor(4) as pool:
            opened = list(pool.map(lambda _: setting.open(), range(4)))  # noqa: B023
        assert len({people.context.encryption_key.id for people in opened}) == 1
        add(opened[0], "ann", "player")
        assert opened[3].accounts.find_by_name("ann") is not None
        for people in opened:
            people.close()


def test_identity_in_memory_starts_empty_each_time(tmp_path: Path) -> None:
    for count in range(2):
        with closing(
            open_identity("memory:", state=tmp_path / str(count), cost=TEST_COST)
        ) as people:
            first = people.accounts.ensure_administrator()
            assert first is not None
            assert people.authentication.sign_in("administrator", first.password)


@pytest.mark.parametrize("url", ["", "sqlite:///", "mysql://x/y", "file:x", "folder/"])
def test_invalid_database_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_identity(url, state=tmp_path)


def test_missing_database_is_reported_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable):
        open_identity(f"sqlite:///{tmp_path}/missing/house.sqlite", state=tmp_path)
    with pytest.raises(StoreUnavailable) as away:
        open_identity(f"postgresql://u:geheim@/x?host={tmp_path}", state=tmp_path)
    assert "geheim" not in str(away.value)
    with pytest.raises(InvalidInput) as wrong:
        open_identity("postgresql://u:geheim@/x?nonsense=1", state=tmp_path)
    assert "geheim" not in str(wrong.value)


def test_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a database, by any means" * 100)

    with pytest.raises(StoreUnusable):
        open_identity(str(tmp_path / "x"), state=tmp_path)


def test_new_database_and_key_files_are_readable_by_their_owner_only(folder: Path) -> None:
    setting = Setting(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    setting.open().close()

    assert (folder / "house.sqlite").stat().st_mode & 0o777 == 0o600
    assert (folder / "state").stat().st_mode & 0o777 == 0o700
    assert (folder / "state" / "people.key").stat().st_mode & 0o777 == 0o600
    assert len((folder / "state" / "people.key").read_bytes()) == 32


def test_missing_foreign_or_damaged_key_file_is_refused_and_not_replaced(setting: Setting) -> None:
    setting.open().close()
    key = setting.state / "people.key"
    right = key.read_bytes()
    key.unlink()
    with pytest.raises(StoreUnusable, match="missing"):
        setting.open()
    assert not key.exists()

    key.write_bytes(bytes(32))
    key.chmod(0o600)
    with pytest.raises(StoreUnusable, match="not the key"):
        setting.open()
    key.write_bytes(right[:31])
    with pytest.raises(StoreUnusable, match="damaged"):
        setting.open()
    key.write_bytes(right)
    key.chmod(0o640)
    with pytest.raises(StoreUnusable, match="chmod 0600"):
        setting.open()
    key.chmod(0o600)
    setting.open()


def test_key_file_that_is_a_symlink_is_refused(setting: Setting, folder: Path) -> None:
    setting.open().close()
    key = setting.state / "people.key"
    key.rename(folder / "elsewhere")
    key.symlink_to(folder / "elsewhere")

    with pytest.raises(StoreUnusable, match="plain file"):
        setting.open()


def test_database_of_a_newer_schema_is_refused(people: IdentityService, setting: Setting) -> None:
    change = people.context.database.transact
    change(lambda run: run("INSERT INTO schema_versions (version) VALUES (7)"))

    try:
        with pytest.raises(StoreUnusable, match="version 7, this program knows version 1"):
            setting.open()
    finally:
        change(lambda run: run("DELETE FROM schema_versions WHERE version = 7"))


def test_locked_database_file_is_unavailable_until_unlocked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)
    setting = Setting(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    with closing(setting.open()) as people:
        holding = sqlite3.connect(folder / "house.sqlite", isolation_level=None)
        with closing(holding):
            holding.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                add(people, "ann", "player")
        add(people, "ann", "player")


def test_database_refuses_writes_after_a_failed_write(folder: Path) -> None:
    setting = Setting(f"sqlite:///{folder / 'house.sqlite'}", folder / "state")
    with closing(setting.open()) as people:
        add(people, "ann", "player")
        with pytest.raises(StoreFailed):
            people.context.database.transact(lambda run: run("INSERT INTO nothing VALUES (1)"))
        with pytest.raises(StoreFailed, match="check the disk"):
            add(people, "bob", "player")
        assert [each.name for each in people.accounts.all()] == ["ann"]


def test_unencodable_text_is_invalid_input(people: IdentityService) -> None:
    with pytest.raises(InvalidInput):
        people.sessions.list_for_account("\ud800")


def test_closed_identity_service_is_unavailable(people: IdentityService) -> None:
    people.close()

    with pytest.raises(StoreUnavailable):
        people.accounts.all()
    with pytest.raises(StoreUnavailable):
        add(people, "ann", "player")
    people.close()
