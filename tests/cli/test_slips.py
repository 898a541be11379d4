"""`threedice slips` on a house with a table that deals in chips."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import MANAGER, People
from threedice.house.commands import AcknowledgeVariance
from threedice.house.house import House

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Run

GAME = "sg-rws-tai-sai-v6/a"
RACK = {"5": 100, "25": 100}


async def count_chips(url: str) -> None:
    """Open a table with a rack, fill it, and count it with a chip missing."""
    async with House(url) as house:
        people = People(house.command_handler, "three")
        await people.open_in_chips(GAME, RACK)
        await people.play(
            "fill 10x25 with shift-manager",
            "supervisor counts the rack as 100x5 109x25 with shift-manager: end of the shift",
        )
        await people.send(AcknowledgeVariance(by=MANAGER, slip=3))


@pytest.mark.usefixtures("house")
def test_slips_are_listed_shown_chip_by_chip_and_printed(
    run: Run, database: Option, tmp_path: Path
) -> None:
    asyncio.run(count_chips(database[1]))
    page = tmp_path / "slip.html"

    listed = run("slips", "three", *database)
    shown = run("slips", "three", *database, "--slip", "3")
    as_json = run("slips", "three", *database, "--json").json
    printed = run("slips", "three", *database, "--slip", "3", "--html", str(page))

    kinds = [line.split()[1] for line in listed.out.splitlines() if line[:1].isdigit()]
    assert kinds == ["Opener", "Fill", "Shift"]
    assert "-0.25 (-1 x 0.25)" in listed.out
    assert "end of the shift" in shown.out
    assert "In all 32.25 by value, expected 32.50, variance -0.25." in shown.out
    assert [each["slip"] for each in as_json] == [1, 2, 3]
    assert as_json[2]["variance"] == {"25": -1}
    assert printed.code == 0
    text = page.read_text(encoding="utf-8")
    assert "Shift count, slip 3 of table three" in text
    assert "<td>-1</td>" in text
    assert as_json[2]["acknowledged"][0]["by"]["id"] == MANAGER.id
    assert "Variance acknowledged" in text


def test_slips_that_do_not_exist_and_pages_of_all_slips_are_refused(
    run: Run, database: Option, tmp_path: Path
) -> None:
    none = run("slips", "one", *database)
    missing = run("slips", "one", *database, "--slip", "7")
    unnamed = run("slips", "one", *database, "--html", str(tmp_path / "all.html"))

    assert none.out == "there are no slips; the table has not dealt in chips\n"
    assert (missing.code, missing.err) == (2, "threedice: table one has no slip 7; it has none\n")
    assert unnamed.err == "threedice: a page shows one slip; name it with --slip\n"


@pytest.mark.usefixtures("house")
def test_wrong_number_of_a_slip_and_two_formats_at_once_are_refused(
    run: Run, database: Option, tmp_path: Path
) -> None:
    asyncio.run(count_chips(database[1]))
    page = str(tmp_path / "slip.html")

    missing = run("slips", "three", *database, "--slip", "4")
    both = run("slips", "three", *database, "--slip", "3", "--json", "--html", page)

    assert missing.err == "threedice: table three has no slip 4; its slips are 1 to 3\n"
    assert (both.code, both.err) == (
        2, "threedice: --json and --html exclude each other; choose one\n"
    )  # fmt: skip
