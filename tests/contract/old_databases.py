"""The recorded databases: written once by the version of the recording, restored for each test."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from tests.contract import dumps, files, old_house
from tests.contract.site import serving
from tests.log.postgres_server import quick_folder, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SQLITE, POSTGRES = "old-sqlite", "old-postgres"


@dataclass(frozen=True)
class Place:
    """Where a house lies: its database, its state folder and the user's data folder."""

    database: str
    state: Path
    data: Path
    house_file: Path

    @property
    def kept_checkpoints(self) -> Path:
        """The file of checkpoints as it was when the house was recorded, kept elsewhere."""
        return self.data.parent / "kept-checkpoints.jsonl"

    @property
    def kept_keys(self) -> Path:
        """The public keys that were exported before the key was rotated."""
        return self.data.parent / "kept-keys.json"


def sqlite_place(folder: Path) -> Place:
    """Return the place of an SQLite house in a folder."""
    file = folder / "house.sqlite"
    state = folder / "house.sqlite.state"
    return Place(f"sqlite:///{file}", state, folder / "data", folder / "house.toml")


def postgres_place(folder: Path, url: str) -> Place:
    """Return the place of a PostgreSQL house; its state folder is named after the database."""
    database, _, host = url.rpartition("/")[2].partition("?host=")
    name = ",".join((quote(unquote(host), safe=""), "5432", database))
    return Place(url, folder / "data" / "threedice" / name, folder / "data", folder / "house.toml")


def restore(name: str, place: Place) -> dict[str, Any]:
    """Restore a recorded house and return what is recorded of it."""
    recorded: dict[str, Any] = files.read(f"{name}.json")
    sql = (files.FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    if name == SQLITE:
        dumps.restore_sqlite(sql, Path(place.database.removeprefix("sqlite:///")))
    else:
        dumps.restore_postgres(sql, place.database)
    dumps.restore_folder(recorded["state"], place.state)
    place.data.mkdir(exist_ok=True)
    place.house_file.write_text(old_house.HOUSE_FILE, encoding="utf-8")
    place.kept_keys.write_text(recorded["given"]["keys"], encoding="utf-8")
    checkpoints = (place.state / "checkpoints.jsonl").read_bytes()
    place.kept_checkpoints.write_bytes(checkpoints)
    return recorded


# --- recording ----------------------------------------------------------------------------------


def record() -> None:
    """Write both databases and note what is seen of them."""
    with _places() as new_place:
        for name in (SQLITE, POSTGRES):
            place = new_place(name)
            given = old_house.write_house(place.database, place.data, place.house_file)
            files.write(f"{name}.json", {"given": given, "state": dumps.dump_folder(place.state)})
            files.save(files.FOLDER / f"{name}.sql", _dumped(name, place))
    observe()


def observe() -> None:
    """Note anew what is seen of the recorded databases."""
    with _places() as new_place:
        for name in (SQLITE, POSTGRES):
            place = new_place(name)
            recorded = restore(name, place)
            with serving(place.database, place.data, place.house_file, "after") as site:
                users = recorded["given"]["users"]
                crew = old_house.Crew.sign_in(site, users, wait_for_new_code=True)
                recorded["seen"] = old_house.observe(crew, recorded["given"])
                recorded["after"] = old_house.play_on(crew)
            files.write(f"{name}.json", recorded)


def _dumped(name: str, place: Place) -> str:
    if name == SQLITE:
        return dumps.dump_sqlite(Path(place.database.removeprefix("sqlite:///")))
    return dumps.dump_postgres(place.database)


@contextmanager
def _places() -> Iterator[Callable[[str], Place]]:
    """Yield a function that makes an empty place for a house."""
    with (
        tempfile.TemporaryDirectory(prefix="threedice-contract-") as folder,
        running(parent=quick_folder()) as server,
    ):

        def new_place(name: str) -> Place:
            own = Path(folder) / name
            own.mkdir()
            return sqlite_place(own) if name == SQLITE else postgres_place(own, server.fresh())

        yield new_place
