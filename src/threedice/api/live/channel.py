"""Broadcast a table's events to its subscribers.

One task per table reads the table's stream from the feed, encodes the entries once per audience and
queues them for every subscriber. Everything here runs in the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from threedice.api.live.messages import encode_for_audiences
from threedice.house.stream_state import table_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.api.auth.authentication import Caller
    from threedice.api.live.messages import EncodedMessage
    from threedice.api.views import AudienceKind
    from threedice.log.entry import Entry
    from threedice.log.feed import Feed

MAX_ENTRIES_PER_MESSAGE: Final = 64

SUBSCRIBERS_PER_SLICE: Final = 200
"""Deliveries made before the broadcast yields to the event loop."""

MAX_QUEUED_MESSAGES: Final = 256
"""Maximum number of messages queued for a slow socket."""

MAX_QUEUED_CHARACTERS: Final = 1 << 20
"""Maximum total length of the messages queued for a slow socket."""


class Channel:
    """The subscribers of one table; each entry is decoded and encoded once for all of them."""

    def __init__(
        self, feed: Feed, table: str, version: int, on_failure: Callable[[Channel, Exception], None]
    ) -> None:
        self.table, self.version = table, version
        self._feed, self._on_failure = feed, on_failure
        self._staff: set[Subscriber] = set()
        self._players: dict[str, set[Subscriber]] = {}
        self._ahead: set[Subscriber] = set()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def attach(self, subscriber: Subscriber) -> bool:
        """Add a subscriber from its version on; return False if it has to catch up first."""
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
        """Remove a subscriber."""
        self._ahead.discard(subscriber)
        self._staff.discard(subscriber)
        if sockets := self._players.get(subscriber.player):
            sockets.discard(subscriber)
            if not sockets:
                del self._players[subscriber.player]

    def close(self) -> None:
        """Stop reading the stream."""
        self._task.cancel()

    async def _run(self) -> None:
        try:
            entries = self._feed.subscribe(table_stream(self.table), self.version)
            async with aclosing(entries) as batches:
                async for batch in batches:
                    for chunk in split_entries(batch):
                        await self._broadcast(chunk)
        except Exception as defect:
            self._on_failure(self, defect)

    async def _broadcast(self, entries: Sequence[Entry]) -> None:
        """Deliver entries to all subscribers, yielding to the event loop now and then.

        Subscribers that join meanwhile start past these entries.
        """
        self.version = entries[-1].version
        ahead = tuple(self._ahead)
        encoded = encode_for_audiences(entries, staff=bool(self._staff), players=self._players)
        deliveries = [(subscriber, encoded.staff) for subscriber in self._staff]
        for player, sockets in self._players.items():
            message = encoded.message_for("player", player)
            deliveries += [(subscriber, message) for subscriber in sockets]
        for subscriber in ahead:
            self._deliver_rest(subscriber, entries)
        for start in range(0, len(deliveries), SUBSCRIBERS_PER_SLICE):
            for subscriber, message in deliveries[start : start + SUBSCRIBERS_PER_SLICE]:
                subscriber.deliver(encoded.version, message)
            await asyncio.sleep(0)

    def _deliver_rest(self, subscriber: Subscriber, entries: Sequence[Entry]) -> None:
        """Deliver the entries that a subscriber ahead of the channel does not have yet."""
        if rest := [entry for entry in entries if entry.version > subscriber.version]:
            subscriber.deliver(self.version, encode_for_subscriber(subscriber, rest))
        if subscriber.version == self.version:
            self._ahead.discard(subscriber)
            self.attach(subscriber)


def split_entries(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split entries into chunks that fit one message."""
    for start in range(0, len(entries), MAX_ENTRIES_PER_MESSAGE):
        yield entries[start : start + MAX_ENTRIES_PER_MESSAGE]


def encode_for_subscriber(subscriber: Subscriber, entries: Sequence[Entry]) -> EncodedMessage:
    """Encode entries for one subscriber."""
    is_staff = subscriber.audience == "staff"
    players = () if is_staff else (subscriber.player,)
    encoded = encode_for_audiences(entries, staff=is_staff, players=players)
    return encoded.message_for(subscriber.audience, subscriber.player)


@dataclass(slots=True, eq=False)
class Subscriber:
    """A socket that follows a table, with its position and its queue.

    `version` is the last one delivered. A message is written to the socket at once if the server
    supports that and the queue is empty; otherwise it is queued for the socket's writer. When the
    queue is full it is dropped and `has_overflowed` is set; the client then gets a new view of the
    table once it takes messages again.
    """

    caller: Caller
    token: str
    table: str
    audience: AudienceKind
    player: str
    write_frame: Callable[[bytes], bool] | None = None
    version: int = 0
    has_overflowed: bool = False
    sending_since: float = 0.0
    closed: asyncio.Future[tuple[int, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    _queue: deque[str] = field(default_factory=deque)
    _queued_characters: int = 0
    _wake_up: asyncio.Future[None] | None = None

    def deliver(self, version: int, message: EncodedMessage) -> None:
        """Send or queue the message that leads to a version, unless the queue is full."""
        if self.has_overflowed or version <= self.version:
            return
        if self.write_frame and self._is_idle() and self.write_frame(message.frame):
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
        """Return whether the writer waits for messages, so that none would be overtaken."""
        return self._wake_up is not None and not self._wake_up.done() and not self.closed.done()

    def send_notice(self, text: str) -> None:
        """Queue a message that is not part of the table's history; drop it if the queue is full."""
        if not self.has_overflowed and len(self._queue) < MAX_QUEUED_MESSAGES:
            self._queued_characters += len(text)
            self._queue.append(text)
            self._wake_writer()

    def reset(self) -> None:
        """Empty the queue and accept messages again."""
        self._queue.clear()
        self._queued_characters, self.has_overflowed = 0, False

    async def next_message(self) -> str | None:
        """Wait for the next message to send; return None after an overflow."""
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
        """Request that the socket be closed."""
        if not self.closed.done():
            self.closed.set_result((code, reason))

    def blocked_seconds(self, now: float) -> float:
        """Return for how long the client has not taken the message being sent."""
        return now - self.sending_since if self.sending_since else 0.0
