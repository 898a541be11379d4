"""Time, randomness and threads come from a runtime, so that a house is reproducible."""

from __future__ import annotations

import ast
import asyncio
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import QUICK, DealerClock, People
from threedice.house.house import House
from threedice.log.stores.memory import MemoryStore
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.house import CommandHandler
    from threedice.log.entry import Entry

SOURCE = Path(__file__).parents[1] / "src" / "threedice"
NONDETERMINISTIC = {
    "time", "secrets", "random", "uuid", "concurrent", "multiprocessing", "subprocess"
}  # fmt: skip
PRIMITIVES = {"Thread", "Timer", "to_thread", "token_hex", "token_bytes", "urandom"}
MACHINE_MODULES = {
    "log/stores/postgres.py",
    "log/stores/postgres_streams.py",
    "log/stores/files.py",
    "log/proof/keys.py",
    "house/audit/processes.py",
    "house/audit/worker.py",
}
"""Modules that use files, keys, database servers and processes of the machine."""
SEEDED_MODULES = {"api/demo/players.py"}
"""Modules with a random generator that the runtime seeds."""
EXEMPT_MODULES = MACHINE_MODULES | SEEDED_MODULES


class CountedPeople(People):
    """People whose idempotency keys are the same in every house."""

    def __init__(self, handler: CommandHandler) -> None:
        super().__init__(handler)
        self._keys = count(1)


class SeededClock(DealerClock):
    """Manual clock with reproducible random bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._random = Random(7)

    def now(self) -> int:
        return self.time

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


async def play_house_dealt_rounds(folder: Path) -> list[Entry]:
    """Let the house deal for a few minutes and return the entries of the table."""
    clock = SeededClock()
    store = MemoryStore(clock)
    async with House("memory:", store=store, state_dir=folder, runtime=clock) as house:
        people = CountedPeople(house.command_handler)
        await people.open("sg-rws-tai-sai-open-cover-v5/a", timing=QUICK)
        for _ in range(40):
            await clock.advance(5)
    return list(store.scan("table/1"))


@pytest.mark.anyio
async def test_house_with_the_same_clock_and_seed_writes_the_same_log(
    tmp_path: Path,
) -> None:
    first = await play_house_dealt_rounds(tmp_path / "first")
    second = await play_house_dealt_rounds(tmp_path / "second")

    assert first == second
    assert len([entry for entry in first if entry.kind == "SeedRevealed"]) >= 3


@pytest.mark.anyio
async def test_runtime_waits_for_an_event_or_a_timeout() -> None:
    wake = asyncio.Event()
    await SYSTEM_RUNTIME.wait(0.001, wake)
    assert not wake.is_set()
    wake.set()
    await SYSTEM_RUNTIME.wait(1e6, wake)


def test_random_bytes_differ_on_every_call() -> None:
    assert len({SYSTEM_RUNTIME.random_bytes(32) for _ in range(50)}) == 50


def package_of(module: str) -> str:
    return module.partition(".")[0]


def nondeterministic_names(tree: ast.Module) -> Iterator[str]:
    """Yield the modules and names by which a module bypasses the runtime."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names = (each.name for each in node.names)
                yield from (name for name in names if package_of(name) in NONDETERMINISTIC)
            case ast.ImportFrom(module=str(module)) if package_of(module) in NONDETERMINISTIC:
                yield module
            case ast.ImportFrom():
                yield from (each.name for each in node.names if each.name in PRIMITIVES)
            case ast.Attribute(attr=name) if name in PRIMITIVES:
                yield name
            case _:
                pass


@pytest.mark.parametrize("package", ["house", "log", "api"])
def test_package_takes_time_randomness_and_threads_only_from_the_runtime(package: str) -> None:
    found = {
        path: names
        for file in (SOURCE / package).rglob("*.py")
        if (path := file.relative_to(SOURCE).as_posix()) not in EXEMPT_MODULES
        and (names := set(nondeterministic_names(ast.parse(file.read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_modules_that_bypass_the_runtime_are_listed_because_they_do() -> None:
    needless = {
        path
        for path in EXEMPT_MODULES
        if not set(nondeterministic_names(ast.parse((SOURCE / path).read_text(encoding="utf-8"))))
    }
    assert needless == set()
