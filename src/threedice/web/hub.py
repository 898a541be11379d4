"""All live sockets of a server: which tables they follow, whose they are, and when they must close.

A channel is there for as long as somebody follows its table. What ends somebody's right to look,
here or at another server, closes his sockets within a second (see `watching`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from threedice.floor.folds import table_stream
from threedice.web import journal
from threedice.web.channel import Channel
from threedice.web.limiting import Buckets
from threedice.web.live_messages import Standing, encode
from threedice.web.operations import Vitals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.floor.house import House
    from threedice.people import Change
    from threedice.web.metrics import Metrics
    from threedice.web.subscriber import Subscriber

MOST_SOCKETS: Final = 20_000
MOST_OF_ACCOUNT: Final = 50
OPENINGS_PER_SECOND: Final = 10.0

SERVER_STOPS: Final = 1001
DEFECT: Final = 1011
ENDED: Final = 4401
RIGHTS_CHANGED: Final = 4403
LOCKED: Final = 4423

CLOSES: Final[dict[str, tuple[int, str]]] = {
    "ended": (ENDED, "signed out; sign in again"),
    "locked": (LOCKED, "locked; unlock the session and connect again"),
    "rights": (RIGHTS_CHANGED, "what you may see has changed; connect again"),
    "rotated": (RIGHTS_CHANGED, "your session has another token now; connect again"),
}
"""How sockets are closed by a change of somebody's rights."""


class Hub:
    """The live sockets of one server."""

    def __init__(self, house: House, metrics: Metrics) -> None:
        self.house, self.metrics = house, metrics
        self.openings = Buckets(OPENINGS_PER_SECOND)
        self.vitals = Vitals(house)
        self.closing = False
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, Channel] = {}
        self._at: dict[str, set[Subscriber]] = {}
        self._of: dict[str, set[Subscriber]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._at.values()))

    def __iter__(self) -> Iterator[Subscriber]:
        for subscribers in list(self._at.values()):
            yield from tuple(subscribers)

    def has_room(self, account: str) -> bool:
        """Tell whether an account may open one more socket."""
        return len(self) < MOST_SOCKETS and len(self._of.get(account, ())) < MOST_OF_ACCOUNT

    def join(self, subscriber: Subscriber) -> None:
        """Count somebody among those whose socket is open."""
        self._at.setdefault(subscriber.table, set()).add(subscriber)
        self._of.setdefault(subscriber.visitor.account.id, set()).add(subscriber)
        self.metrics.subscribers.labels(subscriber.audience).inc()
        if self.closing:
            subscriber.end(SERVER_STOPS, "the server stops")

    def leave(self, subscriber: Subscriber) -> None:
        """Forget somebody, and the channel that nobody else follows."""
        table, account = subscriber.table, subscriber.visitor.account.id
        if channel := self._channels.get(table):
            channel.detach(subscriber)
        for index, name in ((self._at, table), (self._of, account)):
            index[name].discard(subscriber)
            if not index[name]:
                del index[name]
        if channel and table not in self._at:
            channel.close()
            del self._channels[table]
        self.metrics.subscribers.labels(subscriber.audience).dec()

    def attach(self, subscriber: Subscriber, head: int) -> bool:
        """Have somebody told what happens, unless there is something before that he was not told.

        The first at a table has its channel begin where the table stood when he came.
        """
        channel = self._channels.get(subscriber.table)
        if channel is None:
            channel = Channel(self.house.feed, subscriber.table, head, self._channel_failed)
            self._channels[subscriber.table] = channel
        return channel.attach(subscriber)

    def detach(self, subscriber: Subscriber) -> None:
        """Tell somebody nothing until he is attached again."""
        if channel := self._channels.get(subscriber.table):
            channel.detach(subscriber)

    def _channel_failed(self, channel: Channel, defect: Exception) -> None:
        journal.warn("live-failed", defect, table=channel.table)
        if self._channels.get(channel.table) is channel:
            del self._channels[channel.table]
        for subscriber in tuple(self._at.get(channel.table, ())):
            subscriber.end(DEFECT, "the table cannot be read")

    # --- whose right to look has ended ----------------------------------------------------------

    def hear(self, change: Change) -> None:
        """Close what a change ends, from whichever thread hears of it."""
        with suppress(RuntimeError):  # the loop is closed, and no socket is open
            self._loop.call_soon_threadsafe(self._close_for, change)

    def _close_for(self, change: Change) -> None:
        code, reason = CLOSES[change.what]
        whose = tuple(self._of.get(change.account, ())) if change.account else tuple(self)
        for subscriber in whose:
            if change.session in ("", subscriber.visitor.session):
                subscriber.end(code, reason)

    def say_to_all(self, *, suspended: bool) -> None:
        """Tell everybody whether the house takes commands."""
        text = encode(Standing(suspended=suspended))
        for subscriber in self:
            subscriber.say(text)

    async def close(self) -> None:
        """Have every socket closed because the server stops, and wait until none is open."""
        self.closing = True
        for subscriber in self:
            subscriber.end(SERVER_STOPS, "the server stops")
        while self._at:
            await asyncio.sleep(0.01)


def stream_of(subscriber: Subscriber) -> str:
    """Return the stream that somebody follows."""
    return table_stream(subscriber.table)
