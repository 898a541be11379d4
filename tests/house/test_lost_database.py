"""A house whose SQLite file is removed, moved or replaced while it is served."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import People
from threedice.api.routes.house import StoreProbe, check_health
from threedice.errors import StoreFailed, StoreUnusable, TamperedData
from threedice.house.house import House
from threedice.identity import open_identity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio

LOST = "removed or replaced"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "house.sqlite"


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def take_away(path: Path) -> dict[str, Path]:
    """Move the file and its log away, and return where they are."""
    moved = {suffix: beside(path, f".old{suffix}") for suffix in ("", "-wal", "-shm")}
    for suffix, place in moved.items():
        beside(path, suffix).rename(place)
    return moved


def put_back(path: Path, moved: dict[str, Path]) -> None:
    for suffix, place in moved.items():
        place.rename(beside(path, suffix))


@pytest.fixture
async def house(path: Path) -> AsyncIterator[House]:
    async with House(f"sqlite:///{path}") as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting")
        await people.bet("ann", 50, "big")
        yield house


async def test_no_command_is_acknowledged_after_the_file_was_removed(
    house: House, path: Path
) -> None:
    people = People(house.command_handler)
    path.unlink()

    for _ in range(2):
        with pytest.raises(StoreFailed, match=LOST):
            await people.bet("ann", 50, "big")

    assert LOST in house.command_handler.suspension_reason
    health = await check_health(house, StoreProbe(house))
    assert (health.status, health.store) == ("suspended", "suspended")
    assert not path.exists()


async def test_health_of_an_idle_house_notices_a_removed_file(house: House, path: Path) -> None:
    beside(path, "-wal").unlink()

    health = await check_health(house, StoreProbe(house))

    assert health.status == "suspended"
    assert LOST in house.command_handler.suspension_reason
    assert not (house.state_dir / "healthy").exists()


async def test_release_needs_the_file_back_and_creates_none(house: House, path: Path) -> None:
    people = People(house.command_handler)
    moved = take_away(path)
    with pytest.raises(StoreFailed, match=LOST):
        await people.bet("ann", 50, "big")

    with pytest.raises(StoreUnusable):
        await house.release("sue", "looked into it")
    assert not path.exists()
    put_back(path, moved)
    await house.release("sue", "moved it back")

    await people.bet("bob", 50, "big")
    assert await people.stack("bob") == 950


async def test_release_refuses_an_older_copy(house: House, path: Path) -> None:
    people = People(house.command_handler)
    copies = {suffix: beside(path, f".copy{suffix}") for suffix in ("", "-wal")}
    for suffix, copy in copies.items():
        shutil.copyfile(beside(path, suffix), copy)
    await people.bet("bob", 50, "big")
    take_away(path)
    put_back(path, copies)
    with pytest.raises(StoreFailed, match=LOST):
        await people.bet("ann", 50, "big")

    for _ in range(2):
        with pytest.raises((StoreFailed, TamperedData), match="acknowledged"):
            await house.release("sue", "copied it")
    assert house.command_handler.suspension_reason


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc")
async def test_removed_file_is_recovered_from_the_process_with_everything_acknowledged(
    path: Path,
) -> None:
    async with House(f"sqlite:///{path}") as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting")
        await people.bet("ann", 50, "big")
        for suffix in ("", "-wal", "-shm"):
            beside(path, suffix).unlink()
        with pytest.raises(StoreFailed, match=LOST):
            await people.bet("bob", 50, "big")
        for descriptor in Path("/proc/self/fd").iterdir():
            name = str(descriptor.readlink()) if descriptor.is_symlink() else ""
            for suffix in ("", "-wal"):
                if name == f"{path}{suffix} (deleted)":
                    shutil.copyfile(descriptor, beside(path, suffix))

    async with House(f"sqlite:///{path}") as house:
        people = People(house.command_handler)
        assert house.command_handler.suspension_reason
        await house.release("sue", "recovered the file")
        assert await people.stack("ann") == 950


async def test_house_does_not_begin_anew_where_its_file_is_missing(path: Path) -> None:
    async with House(f"sqlite:///{path}") as house:
        await People(house.command_handler).open()
    path.unlink()

    with pytest.raises(StoreUnusable, match=r"is missing, but .* threedice restore"):
        async with House(f"sqlite:///{path}"):
            pass
    assert not path.exists()


async def test_loss_that_is_noticed_when_the_house_closes_halts_the_next_one(path: Path) -> None:
    with suppress(StoreFailed):  # unless it was noticed before
        async with House(f"sqlite:///{path}"):
            moved = take_away(path)
    put_back(path, moved)

    async with House(f"sqlite:///{path}") as house:
        assert house.command_handler.suspension_reason


async def test_removed_file_stops_changes_of_accounts_too(house: House, path: Path) -> None:
    identity = open_identity(house.url, state=house.state_dir)
    path.unlink()

    with pytest.raises(StoreFailed, match=LOST):
        identity.accounts.add("ann", ["player"], password="correct horse battery")

    with pytest.raises(StoreFailed, match=LOST):
        await People(house.command_handler).bet("ann", 50, "big")
    identity.close()
