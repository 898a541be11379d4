"""Copies of a log for auditors, which end at the last checkpoint."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.log.inspection import tampering
from tests.log.proposals import bet, play
from threedice.errors import InvalidInput, StoreUnavailable, StoreUnusable, TamperedData
from threedice.log.proof.checkpoints import CheckpointSigner, signed_heads
from threedice.log.proof.keys import open_keys
from threedice.log.proof.log_copy import copy_log
from threedice.log.proof.verification import verify_log
from threedice.log.stores import schema
from threedice.log.stores.rows import open_rows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from threedice.log.proof.keys import SigningKeys
    from threedice.log.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").fresh()
    else:
        url = f"sqlite:///{tmp_path}/house.sqlite"
    with closing(open_store(url)) as store:
        play(store)
        store.set_person("ann", b"Ann, born in 1990")
        yield store


@pytest.fixture
def keys(tmp_path: Path) -> SigningKeys:
    return open_keys(tmp_path)


def copy(store: Store, file: Path) -> dict[str, int]:
    with open_rows(store) as rows:
        return copy_log(rows, file)


def test_copy_ends_at_the_last_checkpoint_and_verifies(
    house: Store, keys: SigningKeys, tmp_path: Path
) -> None:
    made = CheckpointSigner(house, keys, tmp_path).create_checkpoint(at=1)
    bet(house, "table/1", "cage/ann")
    bet(house, "table/3")

    counts = copy(house, tmp_path / "copy")

    assert (counts["entries"], counts["answers"], counts["checkpoints"]) == (10, 5, 1)
    assert verify_log(tmp_path / "copy", public_keys=keys.public).is_sound
    with closing(open_store(f"sqlite:///{tmp_path}/copy", tables="require")) as store:
        assert store.heads() == signed_heads([made])


def test_copy_holds_no_personal_data_and_no_identity_tables(
    house: Store, keys: SigningKeys, tmp_path: Path
) -> None:
    CheckpointSigner(house, keys, tmp_path).create_checkpoint(at=1)
    copy(house, tmp_path / "copy")
    assert b"born in 1990" not in (tmp_path / "copy").read_bytes()
    with closing(sqlite3.connect(tmp_path / "copy")) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert not any(name.startswith("people_") for name in names)


def test_copy_of_a_log_without_a_checkpoint_is_refused(house: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="holds no checkpoint"):
        copy(house, tmp_path / "copy")
    assert list(tmp_path.glob("copy*")) == []


def test_copy_does_not_overwrite_a_file(house: Store, tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"the one before")
    with pytest.raises(InvalidInput, match="already exists"):
        copy(house, tmp_path / "copy")


@pytest.fixture
def signed(keys: SigningKeys, tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path}/house.sqlite")) as store:
        play(store)
        CheckpointSigner(store, keys, tmp_path).create_checkpoint(at=1)
        yield store


def test_copy_of_a_log_behind_its_last_checkpoint_is_refused(signed: Store, tmp_path: Path) -> None:
    with tampering(tmp_path / "house.sqlite") as run:
        run("UPDATE streams SET version = 2 WHERE stream = 'table/1'")
    with pytest.raises(TamperedData, match="head of table/1: was signed at version 4"):
        copy(signed, tmp_path / "copy")


def test_copy_of_a_row_with_a_null_column_is_refused(signed: Store, tmp_path: Path) -> None:
    with tampering(tmp_path / "house.sqlite", lax=True) as run:
        run("UPDATE entries SET data = NULL WHERE version = 1 AND stream = 'table/1'")
    with pytest.raises(TamperedData, match="table entries: holds a row that cannot be copied"):
        copy(signed, tmp_path / "copy")
    assert list(tmp_path.glob("copy*")) == []


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
