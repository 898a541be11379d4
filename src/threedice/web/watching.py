"""What a server looks at several times a second: whose rights have ended, who is stuck, the store.

A change of rights closes sockets as soon as it is heard of. What ends by itself (a session that is
idle for too long, a shift) is found by asking again: of staff every second, of players in turns.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.errors import OperatingFailure
from threedice.web import journal
from threedice.web.authorisation import audience_of
from threedice.web.hub import CLOSES
from threedice.web.visiting import known

if TYPE_CHECKING:
    from threedice.floor.house import House
    from threedice.web.context import Context
    from threedice.web.hub import Hub
    from threedice.web.subscriber import Subscriber

TICK_SECONDS: Final = 0.25
TICKS_A_ROUND: Final = 4
PLAYERS_ROUNDS: Final = 10
"""After how many rounds every player's socket has been asked about."""

STUCK_SECONDS: Final = 20.0
TRY_AGAIN: Final = 1013


async def watch(context: Context, hub: Hub) -> None:
    """Watch until cancelled; whatever goes wrong is written down, and watching goes on."""
    stop = context.people.changes.listen(hub.hear)
    seen, tick = Seen(bool(context.house.floor.suspended)), 0
    try:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            tick += 1
            try:
                await asyncio.to_thread(context.people.poll)
                if tick % TICKS_A_ROUND == 0:
                    await _look(context, hub, tick // TICKS_A_ROUND)
                seen.people(away=False)
            except OperatingFailure:
                seen.people(away=True)
            except Exception as defect:
                journal.warn("watching-failed", defect)
            if seen.house(context.house):
                hub.say_to_all(suspended=seen.suspended)
    finally:
        stop()


@dataclass(slots=True)
class Seen:
    """What was the matter when it was last looked at; each change of it is written down once."""

    suspended: bool
    away: bool = False
    behind: str = ""
    stuck: frozenset[str] = frozenset()

    def people(self, *, away: bool) -> None:
        """Note whether the people's database answers."""
        if away != self.away:
            self.away = away
            journal.warn("people-away") if away else journal.write("people-answer")

    def house(self, house: House) -> bool:
        """Note how the house is; tells whether it has begun or ceased to take commands."""
        if house.trouble != self.behind:
            self.behind = house.trouble
            journal.write("books-behind" if self.behind else "books-kept", cause=self.behind)
        stuck = frozenset(table for table, dealer in house.dealers.items() if dealer.stuck)
        for table in stuck - self.stuck:
            journal.warn("dealer-stuck", table=table, cause=house.dealers[table].stuck)
        self.stuck = stuck
        cause = house.floor.suspended
        if bool(cause) == self.suspended:
            return False
        self.suspended = not self.suspended
        journal.warn("suspended", cause=cause) if cause else journal.write("released")
        return True


async def _look(context: Context, hub: Hub, turn: int) -> None:
    """Close the sockets of those who are stuck, or may not look any more."""
    for each in hub:
        if each.stuck_seconds() > STUCK_SECONDS:
            each.end(TRY_AGAIN, "too slow; connect again")
    due = [each for each in hub if each.audience == "staff" or _is_due(each, turn)]
    judged = await asyncio.to_thread(lambda: [(each, _judge(context, each)) for each in due])
    for subscriber, what in judged:
        if what:
            subscriber.end(*CLOSES[what])


def _is_due(subscriber: Subscriber, turn: int) -> bool:
    return hash(subscriber.visitor.session) % PLAYERS_ROUNDS == turn % PLAYERS_ROUNDS


def _judge(context: Context, subscriber: Subscriber) -> str:
    """Return what has become of somebody's right to look, if anything."""
    visitor = known(context, subscriber.token, touch=False)
    if visitor is None:
        return "ended"
    if visitor.standing != "open":
        return "locked"
    audience = audience_of(visitor, subscriber.table)
    return "" if audience == (subscriber.audience, subscriber.player) else "rights"
