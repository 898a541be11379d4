"""Run the command line in this process, on a house with played rounds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.house_driver import QUICK, ManualClock, People, TableWatch
from threedice.cli import main
from threedice.house.house import House

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]
Option = tuple[str, str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `threedice` with some arguments."""

    def run_program(*words: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["threedice", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return Result(int(stopped.value.code or 0), out, err)

    return run_program


ROUND = ("open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 5 4")


@pytest.fixture(scope="session")
def played_house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play at a table dealt by people and at one dealt by the house."""
    folder = tmp_path_factory.mktemp("house")

    async def play() -> None:
        clock = ManualClock()
        async with House(f"sqlite:///{folder}/house.sqlite", runtime=clock) as house:
            people, watch = People(house.command_handler, "one"), TableWatch(house)
            await people.open()
            await people.play(*ROUND, *ROUND)
            await People(house.command_handler, "two").open("macau-sic-bo/main", timing=QUICK)
            clock.move(QUICK.closing_seconds)
            await watch.until("two", lambda t: t.betting_since > 0)
            clock.move(QUICK.betting_seconds)
            await watch.until("two", lambda t: "close-betting" in t.table.current.done)
            clock.move(QUICK.closing_seconds)
            await watch.until("two", lambda t: t.table.current.result is not None)

    asyncio.run(play())
    return folder


@pytest.fixture
def house(played_house: Path, tmp_path: Path) -> Path:
    """Copy the house, so that a test may change it."""
    copytree(played_house, tmp_path / "house")
    return tmp_path / "house"


@pytest.fixture
def database(house: Path) -> Option:
    """Return the option that names the database of the house."""
    return ("--database", f"sqlite:///{house}/house.sqlite")
