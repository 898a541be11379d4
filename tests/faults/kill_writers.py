"""Kills of a serving house, of its writer process, or of both.

When the house is killed, its writer process finishes the batch in progress and exits. When the
writer process is killed, the house continues with a new one until a signal stops it, and every
command gets an answer.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from random import Random
from select import select
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import psycopg

from tests.faults.kill_load import Load
from tests.faults.kill_words import Heard, line, parse
from tests.log.dictating import Watched, pid_of
from threedice.house import CommandHandler
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess

    from tests.faults.kill_houses import House
    from tests.faults.kill_words import Hear, Whose, Word
    from threedice.log.store import Store

Victim = Literal["house", "writer", "both"]
VICTIMS: Final[tuple[Victim, ...]] = get_args(Victim)

PATIENCE_SECONDS: Final = 120.0
AT_MOST_TOLD: Final = 120
"""Within how many acknowledged commands a kill comes."""

MOMENT_SECONDS: Final = 0.005
"""And within which time after the last of them, so that it meets a batch at any point."""

GOES_ON: Final = 60
"""How many commands more a house must acknowledge when it has lost its writer process."""


class Killed(NamedTuple):
    """What a house has said, how many commands were stored and untold then, and what went wrong."""

    heard: Heard
    untold: int
    problems: list[str]


def kill_one(house: House, victim: Victim, random: Random) -> Killed:
    """Have a house serve under load, kill at a random moment, and return what it had told."""
    with _serving(house, random.getrandbits(32)) as served:
        served.hear(told=random.randint(1, AT_MOST_TOLD))
        served.hear(seconds=random.uniform(0, MOMENT_SECONDS))
        if victim == "writer":
            return _without_writer(house, served)
        pids = [served.pid, *([served.writer] if victim == "both" else [])]
        random.shuffle(pids)
        for pid in pids:
            os.kill(pid, SIGKILL)
        served.hear()
        served.watched.wait()
        problems = [] if served.ended == -SIGKILL else [f"ended by itself, with {served.ended}"]
        return Killed(served.heard, 0, problems)


def _without_writer(house: House, served: _Served) -> Killed:
    """Kill only the writer process, wait for the house to continue, and stop the house."""
    os.kill(served.writer, SIGKILL)
    with _standing_still(served.pid):
        served.watched.wait()
        served.hear(seconds=0)
        untold = len(served.heard.in_flight.keys() & _answered(house.url))
    served.hear(told=len(served.heard.told) + GOES_ON)
    os.kill(served.pid, SIGTERM)
    served.hear()
    problems = [f"{whose} has no answer" for whose in served.heard.in_flight]
    if served.ended != 0:
        problems.append(
            f"a house that lost its writer process and was stopped ended with {served.ended}"
        )
    return Killed(served.heard, untold, problems)


@contextmanager
def _standing_still(pid: int) -> Iterator[None]:
    """Have a process neither hear nor say anything for a while."""
    os.kill(pid, SIGSTOP)
    until = monotonic() + PATIENCE_SECONDS
    while _state(pid) != "T":
        if monotonic() > until:
            raise TimeoutError(f"process {pid} does not stop")
    try:
        yield
    finally:
        os.kill(pid, SIGCONT)


def _state(pid: int) -> str:
    """Return the state of a process, by the letter that the system has for it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


def _answered(url: str) -> set[Whose]:
    """Return whose commands are stored, asked past the store, whose locks may stand still too."""
    asked = "SELECT account, key FROM answers"
    if url.startswith("postgresql:"):
        with psycopg.connect(url, autocommit=True) as connection:
            return {(account, key) for account, key in connection.execute(asked)}
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        return set(file.execute(asked))


# --- a house and what it says -------------------------------------------------------------------


class _Served:
    """A house in a process of its own; it first says which process writes for it."""

    def __init__(self, process: ForkServerProcess, pipe: int) -> None:
        self.heard = Heard()
        self._process, self._pipe, self._rest = process, pipe, b""
        assert process.pid
        self.pid = process.pid
        while b"\n" not in self._rest:
            assert self._more(PATIENCE_SECONDS), "the house ended before it began"
        first, _, self._rest = self._rest.partition(b"\n")
        self.writer = int(first)
        self.watched = Watched(self.writer)

    @property
    def ended(self) -> int | None:
        """How the process has ended."""
        self._process.join(PATIENCE_SECONDS)
        return self._process.exitcode

    def hear(self, told: int | None = None, seconds: float | None = None) -> None:
        """Hear until so many commands are acknowledged, for so long, or all that there is."""
        until = monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)
        self._take_in()
        while told is None or len(self.heard.told) < told:
            left = until - monotonic()
            if left <= 0 and seconds is None:
                raise TimeoutError(f"the house says nothing more, or too much; {told} were awaited")
            if not self._more(max(0.0, left)):
                return
            self._take_in()

    def _more(self, seconds: float) -> bool:
        """Take what is said within a time; tells whether there was anything."""
        if not select([self._pipe], [], [], seconds)[0]:
            return False
        text = os.read(self._pipe, 1 << 16)
        self._rest += text
        return bool(text)

    def _take_in(self) -> None:
        *whole, self._rest = self._rest.split(b"\n")
        self.heard.hear_all(map(parse, whole))


@contextmanager
def _serving(house: House, seed: int) -> Iterator[_Served]:
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    ears, mouth = context.Pipe(duplex=False)
    process = context.Process(target=live, args=(house, seed, mouth))
    with ears:
        process.start()
        mouth.close()
        try:
            served = _Served(process, ears.fileno())
            with served.watched:
                yield served
        finally:
            process.kill()
            process.join()
            process.close()


# --- in the process itself ----------------------------------------------------------------------


def live(house: House, seed: int, mouth: Connection) -> None:
    """Serve a house with its writer process under load, reporting everything, until it stops."""
    with closing(open_store(house.url, serving=True)) as store:
        os.write(mouth.fileno(), b"%d\n" % pid_of(store))
        asyncio.run(_serve(store, house, Random(seed), lambda word: _tell(mouth, word)))


async def _serve(store: Store, house: House, random: Random, tell: Hear) -> None:
    notary = CheckpointSigner(store, open_keys(house.state), house.state)
    async with CommandHandler(store, state_dir=house.state) as floor:
        load = Load(floor, notary, random)
        asyncio.get_running_loop().add_signal_handler(SIGTERM, load.stop)
        await load.run(tell)


def _tell(mouth: Connection, word: Word) -> None:
    os.write(mouth.fileno(), line(word))
