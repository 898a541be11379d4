"""A house under load in a process of its own, which does not live long."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from multiprocessing import get_context
from random import Random
from select import select
from signal import SIGKILL
from typing import TYPE_CHECKING, Final

from tests.faults.kill_load import GAME, Load
from tests.faults.kill_points import Doom, open_doomed
from tests.faults.kill_words import Heard, Told, line, parse
from threedice import load
from threedice.house import CommandHandler
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from tests.faults.kill_points import Point
    from tests.faults.kill_words import Hear, Word

load(GAME)  # once, before the server of processes forks: each of them then knows the game

PATIENCE_SECONDS: Final = 120.0
"""How long a house may be silent before something is wrong with it."""


@dataclass(frozen=True, slots=True)
class Life:
    """Which house, what is asked of it, and when it ends."""

    url: str
    state: Path
    seed: int
    point: Point
    nth: int


def killed(life: Life) -> tuple[Heard, str]:
    """Have a house live until it is killed; return what it told, and how else it ended, if so."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    ears, mouth = context.Pipe(duplex=False)
    with ears:
        process = context.Process(target=live, args=(life, mouth))
        process.start()
        mouth.close()
        listening = _Listening(ears.fileno())
        try:
            if life.point == "from outside":
                listening.until(life.nth)
                process.kill()
            listening.until(None)
        except BaseException:
            process.kill()
            raise
        finally:
            process.join()
    ended = "" if process.exitcode == -SIGKILL else f"ended by itself, with {process.exitcode}"
    process.close()
    return listening.heard, ended


class _Listening:
    """Reads what a house says from a pipe."""

    def __init__(self, pipe: int) -> None:
        self.heard = Heard()
        self._pipe, self._rest = pipe, b""

    def until(self, told: int | None) -> None:
        """Hear until so many commands are acknowledged, or all that there is."""
        while told is None or len(self.heard.told) < told:
            if not select([self._pipe], [], [], PATIENCE_SECONDS)[0]:
                raise TimeoutError(f"the house was silent for {PATIENCE_SECONDS} seconds")
            if not (text := os.read(self._pipe, 1 << 16)):
                return
            *whole, self._rest = (self._rest + text).split(b"\n")
            self.heard.hear_all(map(parse, whole))


# --- in the process itself ----------------------------------------------------------------------


def live(life: Life, mouth: Connection) -> None:
    """Serve a house under load, and tell everything, until the end."""
    doom = Doom(life.point, life.nth)

    def tell(word: Word) -> None:
        if isinstance(word, Told):
            doom.at("before telling")
        os.write(mouth.fileno(), line(word))

    asyncio.run(_serve(life, doom, tell))


async def _serve(life: Life, doom: Doom, tell: Hear) -> None:
    store = open_doomed(life.url, doom)
    notary = CheckpointSigner(store, open_keys(life.state), life.state)
    async with CommandHandler(store, state_dir=life.state) as floor:
        doom.arm()
        await Load(floor, notary, Random(life.seed)).run(tell)
