"""The house on a real server, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn

from tests.api.setting import opened, seat
from threedice.account.commands import OpenAccount

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from tests.api.setting import Setting

T = TypeVar("T")


class Served:
    """A house that listens on a port of this machine."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.setting: Setting
        self._ready = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()))

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done where the house runs."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with opened(origins=(self.url,), **self._settings) as setting:
            self.setting = setting
            await seat(setting)
            opening = OpenAccount(by="console", player=setting.id("player"), currency="SGD")
            await setting.context.house.command_handler.handle(
                opening, account="console", key="account"
            )
            setting.assign("dealer")
            setting.assign("supervisor")
            config = uvicorn.Config(
                setting.app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,
                http="httptools",
                ws="none",
            )
            self._server = uvicorn.Server(config)
            self._loop.call_later(0.05, self._ready.set)
            await self._server.serve([self._listening])


@contextmanager
def served(**settings: Any) -> Iterator[Served]:
    """Serve a house for a while."""
    server = Served(**settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
