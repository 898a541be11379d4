"""`threedice equipment` on a house with played rounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import People
from threedice.house.house import House

if TYPE_CHECKING:
    from tests.cli.conftest import Option, Run


async def equip(url: str) -> None:
    """Register equipment at a table and play a round with it."""
    async with House(url) as opened:
        people = People(opened.command_handler, "one")
        await people.play(
            "supervisor registers dice d-1 with 3 dice",
            "supervisor installs dice d-1",
            "supervisor registers bell b-1 under seal s-1",
            "supervisor sets the table up without lights",
            "open betting",
            "dice 6 5 4",
        )


@pytest.mark.usefixtures("house")
def test_equipment_of_a_table_and_of_a_round_is_printed(run: Run, database: Option) -> None:
    before = run("equipment", "one", *database)
    asyncio.run(equip(database[1]))
    rounds = run("equipment", "one", *database, "--json").json
    now = run("equipment", "one", *database)
    first = run("equipment", "one", *database, "--round", "1")
    missing = run("equipment", "one", *database, "--round", "99")

    assert before.out == "nothing is registered\n"
    assert now.out.splitlines() == [
        "dice d-1: in order, dice d-1-1, d-1-2, d-1-3",
        "bell b-1: in order, seal s-1",
        "no lights",
    ]
    assert [each["piece"] for each in rounds["pieces"]] == ["d-1", "b-1"]
    assert first.out == "nothing is registered\n"
    assert (missing.code, missing.err) == (2, "threedice: there was no round 99 at table one\n")
