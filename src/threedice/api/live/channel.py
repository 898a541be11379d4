"""Broadcast a table's events to its subscribers.

A table's channel: one task reads its stream and tells everybody who follows it.

Somebody who follows a table over a socket: where he is, and what waits to be sent to him.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Final

from threedice.api.live.messages import encode_for_audiences
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.api.auth.authentication import Caller
    from threedice.api.live.frames import EncodedMessage
    from threedice.api.views import AudienceKind
    from threedice.log.entry import Entry
    from threedice.log.feed import Feed


MAX_ENTRIES_PER_MESSAGE: Final = 64
"""How many entries are told in one message at most."""


SUBSCRIBERS_PER_SLICE: Final = 200
"""How many sockets are told before commands and others get a turn."""


class Channel:
    """Those who follow one table; what happens is decoded and encoded once for all of them."""

    def __init__(
        self, feed: Feed, table: str, version: int, on_failure: Callable[[Channel, Exception], None]
    ) -> None:
        self.table, self.version = table, version
        self._feed, self._on_failure = feed, on_failure
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
                    for chunk in split_entries(fresh):
                        await self._broadcast(chunk)
        except Exception as defect:
            self._on_failure(self, defect)

    async def _broadcast(self, entries: Sequence[Entry]) -> None:
        """Tell everybody; whoever comes meanwhile is further already, and others get a turn."""
        self.version = entries[-1].version
        ahead = tuple(self._ahead)
        encoded = encode_for_audiences(entries, staff=bool(self._staff), players=self._players)
        due = [(each, encoded.staff) for each in self._staff]
        for player, same in self._players.items():
            message = encoded.message_for("player", player)
            due += [(each, message) for each in same]
        for subscriber in ahead:
            self._deliver_rest(subscriber, entries)
        for start in range(0, len(due), SUBSCRIBERS_PER_SLICE):
            for subscriber, message in due[start : start + SUBSCRIBERS_PER_SLICE]:
                subscriber.deliver(encoded.version, message)
            await asyncio.sleep(0)

    def _deliver_rest(self, subscriber: Subscriber, entries: Sequence[Entry]) -> None:
        """Tell somebody who was further than the channel what he does not know yet."""
        if rest := [entry for entry in entries if entry.version > subscriber.version]:
            subscriber.deliver(self.version, encode_for_subscriber(subscriber, rest))
        if subscriber.version == self.version:
            self._ahead.discard(subscriber)
            self.attach(subscriber)


def split_entries(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield entries in such parts as are told in one message."""
    for start in range(0, len(entries), MAX_ENTRIES_PER_MESSAGE):
        yield entries[start : start + MAX_ENTRIES_PER_MESSAGE]


def encode_for_subscriber(subscriber: Subscriber, entries: Sequence[Entry]) -> EncodedMessage:
    """Return what one subscriber is told of entries."""
    staff = subscriber.audience == "staff"
    players = () if staff else (subscriber.player,)
    return encode_for_audiences(entries, staff=staff, players=players).message_for(
        subscriber.audience, subscriber.player
    )


MAX_QUEUED_MESSAGES: Final = 256
"""How many messages may wait for a socket that does not take them."""


MAX_QUEUED_CHARACTERS: Final = 1 << 20
"""How much they may come to."""


class Subscriber:
    """A socket's place at a table.

    `version` is how far he has been told. What happens is written to his socket at once where the
    server can do that and nothing waits before it; otherwise it waits for his writer. He is `lost`
    when more waits than may: what waits is dropped then, the table goes on, and he is shown the
    table anew once he listens again.
    """

    __slots__ = (
        "_queue", "_queued_characters", "_wake_up", "_write_frame", "audience", "caller", "closed",
        "has_overflowed", "player", "sending_since", "table", "token", "version",
    )  # fmt: skip

    def __init__(
        self,
        caller: Caller,
        token: str,
        table: str,
        audience: AudienceKind,
        player: str,
        write_frame: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.caller, self.token, self.table = caller, token, table
        self.audience, self.player = audience, player
        self.version = 0
        self.has_overflowed = False
        self.sending_since = 0.0
        self.closed: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._wake_up: asyncio.Future[None] | None = None
        self._write_frame = write_frame
        self._queue: deque[str] = deque()
        self._queued_characters = 0

    def deliver(self, version: int, message: EncodedMessage) -> None:
        """Have something sent that leads to a version, unless too much waits already."""
        if self.has_overflowed or version <= self.version:
            return
        if self._write_frame and self._is_idle() and self._write_frame(message.frame):
            self.version = version
            return
        self._queued_characters += len(message.text)
        if (
            len(self._queue) >= MAX_QUEUED_MESSAGES
            or self._queued_characters > MAX_QUEUED_CHARACTERS
        ):
            self.has_overflowed = True
            self._queue.clear()
        else:
            self._queue.append(message.text)
            self.version = version
        self._wake_writer()

    def _is_idle(self) -> bool:
        """Tell whether the writer waits for news, so that nothing comes before them."""
        return self._wake_up is not None and not self._wake_up.done() and not self.closed.done()

    def send_notice(self, text: str) -> None:
        """Have something sent that is no part of the table's history; dropped if much waits."""
        if not self.has_overflowed and len(self._queue) < MAX_QUEUED_MESSAGES:
            self._queued_characters += len(text)
            self._queue.append(text)
            self._wake_writer()

    def reset(self) -> None:
        """Wait for news again, with nothing left over."""
        self._queue.clear()
        self._queued_characters, self.has_overflowed = 0, False

    async def next_message(self) -> str | None:
        """Return what is to be sent next, waiting for it; nothing once he is lost."""
        while not self.has_overflowed:
            if self._queue:
                text = self._queue.popleft()
                self._queued_characters -= len(text)
                return text
            self._wake_up = asyncio.get_running_loop().create_future()
            await self._wake_up
            self._wake_up = None
        return None

    def _wake_writer(self) -> None:
        if self._wake_up is not None and not self._wake_up.done():
            self._wake_up.set_result(None)

    def close(self, code: int, reason: str) -> None:
        """Have the socket closed."""
        if not self.closed.done():
            self.closed.set_result((code, reason))

    def blocked_seconds(self) -> float:
        """Return for how long he has not taken what is being sent."""
        return monotonic() - self.sending_since if self.sending_since else 0.0
