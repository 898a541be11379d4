"""Registry of all live sockets, and the monitor that closes those whose permission has ended.

A channel exists as long as its table has subscribers. A change of permissions, made here or on
another server, closes the affected sockets as soon as the monitor polls it, within a second.
Permissions that end by themselves (an idle session, the end of an assignment) are found by checking
again: staff every second, players every ten seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.api.auth.authentication import resolve_token
from threedice.api.auth.authorisation import audience_of
from threedice.api.http import journal
from threedice.api.http.limits import RateLimiter
from threedice.api.live.channel import Channel
from threedice.api.live.messages import StandingMessage, encode_message
from threedice.api.routes.house import StoreProbe
from threedice.errors import OperatingFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.api.context import ServerContext
    from threedice.api.http.metrics import ServerMetrics
    from threedice.api.live.channel import Subscriber
    from threedice.house.house import House
    from threedice.identity import AccessChange

MAX_SOCKETS: Final = 20_000
MAX_SOCKETS_PER_ACCOUNT: Final = 50
MAX_OPENS_PER_SECOND: Final = 10.0
MAX_BLOCKED_SECONDS: Final = 20.0
"""How long a client may take no data before its socket is closed."""

CLOSE_SERVER_STOPPING: Final = 1001
CLOSE_INTERNAL_ERROR: Final = 1011
CLOSE_TRY_AGAIN_LATER: Final = 1013
CLOSE_SESSION_ENDED: Final = 4401
CLOSE_PERMISSIONS_CHANGED: Final = 4403
CLOSE_SESSION_LOCKED: Final = 4423

CLOSE_REASONS: Final[dict[str, tuple[int, str]]] = {
    "ended": (CLOSE_SESSION_ENDED, "signed out; sign in again"),
    "locked": (CLOSE_SESSION_LOCKED, "locked; unlock the session and connect again"),
    "rights": (CLOSE_PERMISSIONS_CHANGED, "your permissions have changed; connect again"),
    "rotated": (CLOSE_PERMISSIONS_CHANGED, "your session has a new token; connect again"),
}
"""Close code and reason by the kind of access change."""

TICK_SECONDS: Final = 0.25
TICKS_PER_ROUND: Final = 4
ROUNDS_PER_PLAYER_CHECK: Final = 10
"""Rounds of the monitor in which every player's socket is checked once."""


class Hub:
    """The live sockets of one server."""

    def __init__(self, house: House, metrics: ServerMetrics) -> None:
        self.house, self.metrics = house, metrics
        self.open_limiter = RateLimiter(MAX_OPENS_PER_SECOND, house.runtime.monotonic)
        self.store_probe = StoreProbe(house)
        self.is_closing = False
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, Channel] = {}
        self._by_table: dict[str, set[Subscriber]] = {}
        self._by_account: dict[str, set[Subscriber]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_table.values()))

    def __iter__(self) -> Iterator[Subscriber]:
        for subscribers in list(self._by_table.values()):
            yield from tuple(subscribers)

    def has_capacity(self, account: str) -> bool:
        """Return whether an account may open one more socket."""
        return (
            len(self) < MAX_SOCKETS
            and len(self._by_account.get(account, ())) < MAX_SOCKETS_PER_ACCOUNT
        )

    def join(self, subscriber: Subscriber) -> None:
        """Register an open socket."""
        self._by_table.setdefault(subscriber.table, set()).add(subscriber)
        self._by_account.setdefault(subscriber.caller.account.id, set()).add(subscriber)
        self.metrics.subscribers.labels(subscriber.audience).inc()
        if self.is_closing:
            subscriber.close(CLOSE_SERVER_STOPPING, "the server is stopping")

    def leave(self, subscriber: Subscriber) -> None:
        """Remove a socket, and close its channel if nobody else follows the table."""
        table, account = subscriber.table, subscriber.caller.account.id
        if channel := self._channels.get(table):
            channel.detach(subscriber)
        for index, name in ((self._by_table, table), (self._by_account, account)):
            index[name].discard(subscriber)
            if not index[name]:
                del index[name]
        if channel and table not in self._by_table:
            channel.close()
            del self._channels[table]
        self.metrics.subscribers.labels(subscriber.audience).dec()

    def attach(self, subscriber: Subscriber, head: int) -> bool:
        """Add a subscriber to its table's channel; return False if it has to catch up first.

        The first subscriber of a table creates the channel, which starts at version `head`.
        """
        channel = self._channels.get(subscriber.table)
        if channel is None:
            channel = Channel(self.house.feed, subscriber.table, head, self._channel_failed)
            self._channels[subscriber.table] = channel
        return channel.attach(subscriber)

    def detach(self, subscriber: Subscriber) -> None:
        """Remove a subscriber from its channel until it is attached again."""
        if channel := self._channels.get(subscriber.table):
            channel.detach(subscriber)

    def _channel_failed(self, channel: Channel, error: Exception) -> None:
        journal.warn("live-failed", error, table=channel.table)
        if self._channels.get(channel.table) is channel:
            del self._channels[channel.table]
        for subscriber in tuple(self._by_table.get(channel.table, ())):
            subscriber.close(CLOSE_INTERNAL_ERROR, "the table cannot be read")

    def on_identity_change(self, change: AccessChange) -> None:
        """Close the sockets affected by an access change; may be called from any thread."""
        with suppress(RuntimeError):  # the loop is closed, and no socket is open
            self._loop.call_soon_threadsafe(self._close_affected, change)

    def _close_affected(self, change: AccessChange) -> None:
        code, reason = CLOSE_REASONS[change.kind]
        subscribers = (
            tuple(self._by_account.get(change.account, ())) if change.account else tuple(self)
        )
        for subscriber in subscribers:
            if change.session in ("", subscriber.caller.session_id):
                subscriber.close(code, reason)

    def broadcast_suspension(self, *, suspended: bool) -> None:
        """Notify all sockets whether the house is suspended."""
        text = encode_message(StandingMessage(suspended=suspended))
        for subscriber in self:
            subscriber.send_notice(text)

    async def close(self) -> None:
        """Close every socket because the server stops, and wait until none is open."""
        self.is_closing = True
        for subscriber in self:
            subscriber.close(CLOSE_SERVER_STOPPING, "the server is stopping")
        while self._by_table:
            await asyncio.sleep(0.01)


# --- monitor ------------------------------------------------------------------------------------


async def run_monitor(context: ServerContext, hub: Hub) -> None:
    """Poll access changes, sockets and the house until cancelled; errors are logged."""
    unsubscribe = context.identity.access_changes.subscribe(hub.on_identity_change)
    state, tick = MonitorState(bool(context.house.command_handler.suspension_reason)), 0
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            tick += 1
            try:
                await context.house.runtime.run_blocking(context.identity.poll)
                if tick % TICKS_PER_ROUND == 0:
                    await _check_subscribers(context, hub, tick // TICKS_PER_ROUND)
                state.note_identity_store(unavailable=False)
            except OperatingFailure:
                state.note_identity_store(unavailable=True)
            except Exception as error:
                journal.warn("watching-failed", error)
            if state.note_house(context.house):
                hub.broadcast_suspension(suspended=state.suspended)
    finally:
        unsubscribe()


@dataclass(slots=True)
class MonitorState:
    """Problems found at the last poll; each change is logged once."""

    suspended: bool
    identity_unavailable: bool = False
    background_error: str = ""
    stuck_tables: frozenset[str] = frozenset()
    stopped_streams: frozenset[str] = frozenset()

    def note_identity_store(self, *, unavailable: bool) -> None:
        """Record whether the identity database is unavailable."""
        if unavailable != self.identity_unavailable:
            self.identity_unavailable = unavailable
            journal.warn("people-away") if unavailable else journal.write("people-answer")

    def note_house(self, house: House) -> bool:
        """Record the state of the house, and return whether it was suspended or released."""
        if house.background_error != self.background_error:
            self.background_error = error = house.background_error
            journal.write("books-behind" if error else "books-kept", cause=error)
        stuck = frozenset(table for table, dealer in house.dealers.items() if dealer.error)
        for table in stuck - self.stuck_tables:
            journal.warn("dealer-stuck", table=table, cause=house.dealers[table].error)
        self.stuck_tables = stuck
        damaged = house.damaged
        for stream in sorted(damaged.keys() - self.stopped_streams):
            if stream in house.foreign:
                journal.warn("foreign-entries", stream=stream, cause=damaged[stream])
            else:
                journal.warn("stream-stopped", stream=stream, cause=damaged[stream])
        self.stopped_streams = frozenset(damaged)
        reason = house.command_handler.suspension_reason
        if bool(reason) == self.suspended:
            return False
        self.suspended = not self.suspended
        journal.warn("suspended", cause=reason) if reason else journal.write("released")
        return True


async def _check_subscribers(context: ServerContext, hub: Hub, round_number: int) -> None:
    """Close sockets that are blocked, or whose caller may not follow the table any more."""
    now = context.house.runtime.monotonic()
    for subscriber in hub:
        if subscriber.blocked_seconds(now) > MAX_BLOCKED_SECONDS:
            subscriber.close(CLOSE_TRY_AGAIN_LATER, "too slow; connect again")
    phase = round_number % ROUNDS_PER_PLAYER_CHECK
    due = [
        each
        for each in hub
        if each.audience == "staff"
        or hash(each.caller.session_id) % ROUNDS_PER_PLAYER_CHECK == phase
    ]
    changes = await context.house.runtime.run_blocking(
        lambda: [(subscriber, _access_change(context, subscriber)) for subscriber in due]
    )
    for subscriber, change in changes:
        if change:
            subscriber.close(*CLOSE_REASONS[change])


def _access_change(context: ServerContext, subscriber: Subscriber) -> str:
    """Return how the caller's access to the table has ended, or an empty string."""
    caller = resolve_token(context, subscriber.token, touch=False)
    if caller is None:
        return "ended"
    if caller.session_state != "open":
        return "locked"
    audience = audience_of(caller, subscriber.table)
    return "" if audience == (subscriber.audience, subscriber.player) else "rights"
