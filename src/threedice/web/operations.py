"""What machines ask about a server: whether it is well, and its figures.

Anybody may ask whether it is well, and learns no more. Figures are for this machine itself, and
elsewhere for whoever has the right; behind a proxy every caller may look like this machine, so
there everybody needs it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from threedice import __version__
from threedice.errors import ThreediceError
from threedice.floor.folds import HOUSE_STREAM
from threedice.web.answering import Operation, admit, operation
from threedice.web.loopback import is_loopback, is_numbered
from threedice.web.metrics import CONTENT_TYPE, Metrics
from threedice.web.replying import Reply, reply_of

if TYPE_CHECKING:
    from threedice.floor.house import House
    from threedice.web.answering import Visit

FRESH_SECONDS: Final = 0.5
"""For how long an answer of the store is believed."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is: well, in trouble but playing, or unable to take commands.

    `books`: whether lines and checkpoints keep up. `damaged` tables stand still because their past
    was changed; `stuck` dealers wait for people.
    """

    status: Literal["well", "trouble", "suspended", "away", "stopping"]
    version: str
    store: Literal["answers", "suspended", "away"]
    books: Literal["kept", "behind"]
    damaged: int
    stuck: int


class Vitals:
    """Whether the store answers, asked at most so often whoever wants to know."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._asked_at = -FRESH_SECONDS
        self._asking: asyncio.Task[bool] | None = None

    async def store_answers(self) -> bool:
        """Tell whether the store answers, asking it once for all who want to know now."""
        if self._asking is None or (self._asking.done() and self._is_old()):
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    def _is_old(self) -> bool:
        return monotonic() - self._asked_at >= FRESH_SECONDS

    async def _ask(self) -> bool:
        try:
            await asyncio.to_thread(self._house.floor.store.head, HOUSE_STREAM)
        except ThreediceError:
            return False
        finally:
            self._asked_at = monotonic()
        return True


async def health_of(house: House, vitals: Vitals, *, stopping: bool = False) -> Health:
    """Return how a server is."""
    suspended, answers = bool(house.floor.suspended), await vitals.store_answers()
    stuck = sum(bool(dealer.stuck) for dealer in house.dealers.values())
    status: Any = "well"
    if stopping:
        status = "stopping"
    elif not answers:
        status = "away"
    elif suspended:
        status = "suspended"
    elif house.trouble or house.damaged or stuck:
        status = "trouble"
    return Health(
        status=status,
        version=__version__,
        store="away" if not answers else "suspended" if suspended else "answers",
        books="behind" if house.trouble else "kept",
        damaged=len(house.damaged),
        stuck=stuck,
    )


@operation("read-health", "GET", "/health", answer=Health, problems=(503,))
async def read_health(visit: Visit) -> Reply:
    """Tell whether the server can take commands: 200 if it can, 503 if not."""
    house, hub = visit.context.house, visit.context.hub
    vitals = Vitals(house) if hub is None else hub.vitals
    health = await health_of(house, vitals, stopping=hub is not None and hub.closing)
    return reply_of(health, 200 if health.status in ("well", "trouble") else 503)


@operation("read-metrics", "GET", "/metrics", itself=True, problems=(401, 403))
async def read_metrics(visit: Visit) -> Reply:
    """Tell the figures of the server, for Prometheus."""
    if not _is_here(visit):
        await admit(visit, "read-metrics")
    metrics = visit.context.metrics
    text = metrics.text() if isinstance(metrics, Metrics) else b""
    return Reply(200, text, CONTENT_TYPE.encode())


def _is_here(visit: Visit) -> bool:
    """Tell whether this machine itself asks, and no page that has a browser here do so."""
    host = visit.headers.get(b"host", b"").decode("latin-1").lower()
    known = host in visit.context.hosts or is_numbered(host)
    return known and is_loopback(visit.address) and not visit.context.behind_proxy


OPERATION_ROUTES: Final[tuple[Operation, ...]] = (read_health, read_metrics)
