"""The streams that a server has in memory: loaded once, written by one writer, mended on conflict.

Everything here happens on one event loop, so that nothing need be locked; reading the store is done
by other threads, writing it by the writer's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from threedice.floor.encoding import decode
from threedice.floor.events import AnyStreamEvent, TableEstablished
from threedice.floor.folds import Tended
from threedice.floor.games import Games
from threedice.floor.running import Running, load
from threedice.log.entry import cause_of
from threedice.log.store import Accepted, Append, Proposal
from threedice.log.writer import Result, Writer
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from threedice.floor.deciding import Decided
    from threedice.log.entry import Entry
    from threedice.log.store import Snapshot, Store
    from threedice.log.writer import Publication


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A command on its way to the disk, the streams it was decided on, and whom to tell."""

    then: Callable[[Asked, Result], None]
    streams: list[Running[Any]]
    generations: list[int]
    events: Sequence[Sequence[AnyStreamEvent]]
    appends: tuple[Append, ...]


_NO_GAMES: Mapping[str, bytes] = {}


class Streams:
    """The streams of a store as one server knows them."""

    def __init__(
        self, store: Store, *, state: Path | None, now: Callable[[], int], most_waiting: int
    ) -> None:
        self.store, self.now = store, now
        self.games = Games(store)
        self.written: Callable[[Asked], None] = _nothing
        self.publish: Publication | None = None
        self._loop = asyncio.get_running_loop()
        self._running: dict[str, Running[Any]] = {}
        self._loading: dict[str, asyncio.Task[Running[Any]]] = {}
        self._behind: set[str] = set()  # what others wrote to while it was being loaded
        self._keeping: set[asyncio.Task[None]] = set()
        self.writer: Writer[Asked] = Writer(
            store,
            deliver=self._deliver,
            state=state,
            most=most_waiting,
        )

    # --- reading --------------------------------------------------------------------------------

    def at_hand(self, names: Sequence[str]) -> list[Running[Any]] | None:
        """Return streams on which can be decided without waiting, or nothing."""
        running = self._running
        streams = []
        for name in names:
            each = running.get(name)
            if each is None or each.broken:
                return None
            streams.append(each)
        return streams

    async def ready(self, names: Sequence[str]) -> list[Running[Any]]:
        """Return streams on which can be decided now."""
        streams = [self._running.get(name) or await self._load(name) for name in names]
        while any(each.broken for each in streams):
            for running in streams:
                if running.broken:
                    await self._mend(running)
        return streams

    def changed(self, stream: str, version: int) -> None:
        """Take a hint that another server has written to a stream."""
        if running := self._running.get(stream):
            running.hinted = max(version, running.hinted)
            running.broken = running.broken or version > running.head.version
        elif stream in self._loading:
            self._behind.add(stream)

    def look_again(self) -> None:
        """Take a hint that other servers may have written to any stream."""
        for running in self._running.values():
            running.broken = running.behind = True
        self._behind.update(self._loading)

    async def _load(self, name: str) -> Running[Any]:
        """Return a stream, loading it once for all who ask."""
        if name not in self._loading:
            self._loading[name] = loading = self._loop.create_task(self._loaded(name))
            loading.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(self._loading[name])

    async def _loaded(self, name: str) -> Running[Any]:
        self._behind.discard(name)
        running = await asyncio.to_thread(self._read, name)
        running.broken = name in self._behind
        return self._running.setdefault(name, running)

    def _read(self, name: str) -> Running[Any]:
        running = load(self.store, name)
        if isinstance(running.durable, Tended) and running.durable.game_hash:
            self.games.pinned(running.durable.game_hash)
        return running

    async def _mend(self, running: Running[Any]) -> None:
        """Take in what others have written and start over from there; once for all who wait."""
        if running.mending is None:
            running.mending = self._loop.create_task(self._mended(running))
        await asyncio.shield(running.mending)

    async def _mended(self, running: Running[Any]) -> None:
        try:
            while True:
                running.behind, running.hinted = False, 0
                after = running.durable_head.version
                running.catch_up(await asyncio.to_thread(self._news, running.name, after))
                if not running.behind and running.hinted <= running.durable_head.version:
                    break
            running.start_over()
        finally:
            running.mending = None

    def _news(self, name: str, after: int) -> list[Entry]:
        entries = list(self.store.scan(name, after))
        for entry in entries:
            if entry.kind == tag_of(TableEstablished):
                event = decode(entry)
                if isinstance(event, TableEstablished):
                    self.games.pinned(event.game_hash)
        return entries

    # --- writing --------------------------------------------------------------------------------

    def propose(
        self,
        decided: Decided,
        streams: list[Running[Any]],
        account: str,
        key: str,
        command_hash: bytes,
        *,
        then: Callable[[Asked, Result], None],
        games: Mapping[str, bytes] = _NO_GAMES,
        at: int | None = None,
    ) -> None:
        """Take what was decided into memory, hand it to the writer, and tell what becomes of it."""
        moment, cause = self.now() if at is None else at, cause_of(account, key, command_hash)
        try:
            generations = [running.generation for running in streams]
            appends = tuple(
                [
                    running.append(events, moment, cause)
                    for running, events in zip(streams, decided, strict=True)
                ]
            )
            proposal = Proposal(account, key, command_hash, appends, games)
            self.writer.submit(proposal, Asked(then, streams, generations, decided, appends))
        except BaseException:
            for running in streams:
                running.broken = True  # what was taken into memory will not be written
            raise

    def _deliver(self, batch: Sequence[Asked], results: Sequence[Result]) -> None:
        self._loop.call_soon_threadsafe(self._delivered, batch, results)

    def _delivered(self, batch: Sequence[Asked], results: Sequence[Result]) -> None:
        """Take a batch's results: what is durable now, and what has to be decided again."""
        fresh: dict[str, list[Entry]] = {}
        for asked, result in zip(batch, results, strict=True):
            if isinstance(result, Accepted):
                for i, running in enumerate(asked.streams):
                    if snapshot := running.written(asked.appends[i], asked.events[i]):
                        self._keep(snapshot)
                self.written(asked)
                for append in asked.appends if self.publish else ():
                    fresh.setdefault(append.stream, []).extend(append.entries)
            else:
                for running, generation in zip(asked.streams, asked.generations, strict=True):
                    running.broken = running.broken or running.generation == generation
            asked.then(asked, result)
        if self.publish and fresh:
            self.publish(fresh)

    def _keep(self, snapshot: Snapshot) -> None:
        """Keep the state of a stream in the store, while play goes on."""

        async def save() -> None:
            await asyncio.to_thread(self.store.save_snapshot, snapshot)

        task = self._loop.create_task(save())
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    def start_over(self, store: Store) -> None:
        """Forget what is in memory and go on with a store that works again."""
        self.writer.resume(store)
        self.store = self.games.store = store
        self._running.clear()

    async def close(self) -> None:
        """Write what is waiting, keep every state, and stop; the store stays open."""
        await asyncio.to_thread(self.writer.close)
        await asyncio.sleep(0)  # what the writer delivered last
        while self._keeping:
            await asyncio.gather(*self._keeping)
        for running in self._running.values() if not self.writer.halted else ():
            if running.durable_head.version > running.kept_version:
                await asyncio.to_thread(self.store.save_snapshot, running.kept())


def _nothing(_: object) -> None:
    """Nobody listens."""
