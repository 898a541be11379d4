"""Start of a house on files that were tampered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import ROUND, People
from tests.log.inspection import tampering
from threedice.errors import InvariantBroken, TamperedData
from threedice.house.house import House

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def test_failed_start_releases_the_database_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        await People(house.command_handler).open()
        await People(house.command_handler).play(*ROUND)
    checkpoints = tmp_path / "house.sqlite.state" / "checkpoints.jsonl"
    checkpoints.write_bytes(checkpoints.read_bytes().replace(b"a", b"b"))

    for _ in range(2):  # the second time nothing of the first holds the file
        house = House(url)
        with pytest.raises(TamperedData):
            async with house:
                house.checkpoint_signer.create_checkpoint(1)


async def test_table_with_changed_entries_is_stopped_and_other_tables_play(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        for table in ("1", "2"):
            await People(house.command_handler, table).open()
    with tampering(tmp_path / "house.sqlite") as run:
        run("UPDATE entries SET at = 1 WHERE stream = 'table/1'")
        run("DELETE FROM snapshots")

    async with House(url) as house:
        assert list(house.damaged) == ["table/1"]
        await People(house.command_handler, "2").play("open betting")
        with pytest.raises(InvariantBroken):
            await People(house.command_handler, "1").play("open betting")
