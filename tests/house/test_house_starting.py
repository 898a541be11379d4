"""A house that starts on files that were changed: what it refuses, and what it plays on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.setting import People
from tests.house.test_statements import ROUND
from threedice.errors import InvariantBroken, TamperedData
from threedice.house.house import House
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def test_a_start_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
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


async def test_a_table_whose_past_was_changed_stands_still_and_the_others_play(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        for table in ("1", "2"):
            await People(house.command_handler, table).open()
    store = SqliteStore(tmp_path / "house.sqlite")
    store._transact(lambda run: run("UPDATE entries SET at = 1 WHERE stream = 'table/1'", ()))
    store._transact(lambda run: run("DELETE FROM snapshots", ()))
    store.close()

    async with House(url) as house:
        assert list(house.damaged) == ["table/1"]
        await People(house.command_handler, "2").play("open betting")
        with pytest.raises(InvariantBroken):
            await People(house.command_handler, "1").play("open betting")
