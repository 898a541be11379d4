"""A table's channel: one task reads its stream and tells everybody who follows it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from threedice.floor.folds import table_stream
from threedice.web.telling import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.log.entry import Entry
    from threedice.log.feed import Feed
    from threedice.web.frames import Message
    from threedice.web.subscriber import Subscriber

CHUNK: Final = 64
"""How many entries are told in one message at most."""

AT_ONCE: Final = 200
"""How many sockets are told before commands and others get a turn."""


class Channel:
    """Those who follow one table; what happens is decoded and encoded once for all of them."""

    def __init__(
        self, feed: Feed, table: str, version: int, failed: Callable[[Channel, Exception], None]
    ) -> None:
        self.table, self.version = table, version
        self._feed, self._failed = feed, failed
        self._staff: set[Subscriber] = set()
        self._players: dict[str, set[Subscriber]] = {}
        self._ahead: set[Subscriber] = set()
        self._pump = asyncio.get_running_loop().create_task(self._run())

    def attach(self, subscriber: Subscriber) -> bool:
        """Have somebody told from his version on, unless there is something he missed before."""
        if subscriber.version < self.version:
            return False
        if subscriber.version > self.version:
            self._ahead.add(subscriber)
        elif subscriber.audience == "staff":
            self._staff.add(subscriber)
        else:
            self._players.setdefault(subscriber.player, set()).add(subscriber)
        return True

    def detach(self, subscriber: Subscriber) -> None:
        """Tell somebody nothing more."""
        self._ahead.discard(subscriber)
        self._staff.discard(subscriber)
        if same := self._players.get(subscriber.player):
            same.discard(subscriber)
            if not same:
                del self._players[subscriber.player]

    def close(self) -> None:
        """Stop reading."""
        self._pump.cancel()

    async def _run(self) -> None:
        try:
            entries = self._feed.subscribe(table_stream(self.table), self.version)
            async with aclosing(entries) as news:
                async for fresh in news:
                    for chunk in chunks(fresh):
                        await self._broadcast(chunk)
        except Exception as defect:
            self._failed(self, defect)

    async def _broadcast(self, entries: Sequence[Entry]) -> None:
        """Tell everybody; whoever comes meanwhile is further already, and others get a turn."""
        self.version = entries[-1].version
        ahead = tuple(self._ahead)
        told = tell(entries, staff=bool(self._staff), players=self._players)
        due = [(each, told.staff) for each in self._staff]
        for player, same in self._players.items():
            message = told.to("player", player)
            due += [(each, message) for each in same]
        for subscriber in ahead:
            self._tell_rest(subscriber, entries)
        for start in range(0, len(due), AT_ONCE):
            for subscriber, message in due[start : start + AT_ONCE]:
                subscriber.take(told.version, message)
            await asyncio.sleep(0)

    def _tell_rest(self, subscriber: Subscriber, entries: Sequence[Entry]) -> None:
        """Tell somebody who was further than the channel what he does not know yet."""
        if rest := [entry for entry in entries if entry.version > subscriber.version]:
            subscriber.take(self.version, told_to(subscriber, rest))
        if subscriber.version == self.version:
            self._ahead.discard(subscriber)
            self.attach(subscriber)


def chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield entries in such parts as are told in one message."""
    for start in range(0, len(entries), CHUNK):
        yield entries[start : start + CHUNK]


def told_to(subscriber: Subscriber, entries: Sequence[Entry]) -> Message:
    """Return what one subscriber is told of entries."""
    staff = subscriber.audience == "staff"
    players = () if staff else (subscriber.player,)
    return tell(entries, staff=staff, players=players).to(subscriber.audience, subscriber.player)
