"""URLs of stores, and their state directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from threedice.errors import InvalidInput
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import default_url, open_store, state_directory


@pytest.mark.parametrize("form", ["sqlite:///house.sqlite", "house.sqlite", "./house.sqlite"])
def test_relative_path_opens_an_sqlite_file_in_the_working_directory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(form)
    store.close()
    assert isinstance(store, SqliteStore)
    assert (tmp_path / "house.sqlite").exists()


def test_absolute_path_opens_an_sqlite_file(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/one.sqlite", f"{tmp_path}/two.sqlite"):
        store = open_store(url, serving=True)
        assert isinstance(store, SqliteStore)
        store.close()
    assert {"one.sqlite", "two.sqlite"} <= {file.name for file in tmp_path.iterdir()}


def test_memory_and_postgresql_urls_open_their_stores(postgres_url: str) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    store = open_store(postgres_url, serving=True)
    assert isinstance(store, PostgresStore)
    assert store.is_sole_server()
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///folder/",
        "mysql://ann:secret@there/db",
        "memory:x",
        "postgresql:house",
        "postgresql://ann:secret@there",
        "postgresql://ann:secret@there:port:port/db?what",
    ],
)
def test_invalid_store_url_is_refused_with_an_example_and_without_its_password(url: str) -> None:
    for ask in (open_store, state_directory):
        with pytest.raises(InvalidInput, match="postgresql://USER@HOST") as refused:
            ask(url)
        assert "secret" not in str(refused.value)


def test_default_url_is_a_file_in_the_user_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_url() == f"sqlite:///{tmp_path}/data/threedice/house.sqlite"

    open_store(default_url()).close()

    folder = tmp_path / "data" / "threedice"
    assert (folder / "house.sqlite").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_state_directory_is_next_to_a_file_or_in_the_user_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folders = {
        "sqlite:////srv/house.sqlite": Path("/srv/house.sqlite.state"),
        "house.sqlite": Path("house.sqlite.state"),
        "postgresql://ann:secret@there:5433/house": tmp_path / "threedice/there,5433,house",
        "postgres:///house": tmp_path / "threedice/localhost,5432,house",
        "postgresql:///a,b?host=/run/pg": tmp_path / "threedice/%2Frun%2Fpg,5432,a%2Cb",
    }
    for url, folder in folders.items():
        assert state_directory(url) == folder
    with pytest.raises(InvalidInput, match="memory"):
        state_directory("memory:")


def test_state_directory_is_the_same_through_a_symlink(tmp_path: Path) -> None:
    house, link = tmp_path / "house.sqlite", tmp_path / "elsewhere" / "linked.sqlite"
    open_store(str(house)).close()
    link.parent.mkdir()
    link.symlink_to(house)

    assert state_directory(str(link)) == state_directory(str(house))
