"""The house itself: description, health, metrics, log verification and release after a failed write.

The house itself: what it is called, whether its log is sound, and letting it write again.

What machines ask about a server: whether it is well, and its figures.

Anybody may ask whether it is well, and learns no more. Figures are for this machine itself, and
elsewhere for whoever has the right; behind a proxy every caller may look like this machine, so
there everybody needs it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from threedice import __version__
from threedice.api.http.limits import run_limited
from threedice.api.http.metrics import METRICS_CONTENT_TYPE, ServerMetrics
from threedice.api.http.operations import Operation, RequestContext, authorise, operation
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import HttpResponse, json_response
from threedice.api.listener import is_ip_host, is_loopback
from threedice.api.texts import LANGUAGES, Language
from threedice.errors import OperatingFailure, QueueFull, ThreediceError
from threedice.house.audit.auditor import audit
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.proof.checkpoints import CHECKPOINTS_FILE, read_checkpoints
from threedice.log.proof.keys import read_public_keys

if TYPE_CHECKING:
    from threedice.house.house import House


class HouseView(msgspec.Struct, frozen=True):
    """What everybody may know of a house before signing in; `demo` lists its sign-ins, if any."""

    name: str
    currency: str
    time_zone: str
    gaming_day_starts: str
    languages: tuple[Language, ...]
    server_time: int
    suspended: bool
    demo: list[dict[str, Any]]


class FindingView(msgspec.Struct, frozen=True):
    """Something that is not as it was written, and where."""

    where: str
    what: str


class LogVerification(msgspec.Struct, frozen=True):
    """What was looked at, and everything that is wrong with it."""

    sound: bool
    streams: int
    entries: int
    answers: int
    games: int
    checkpoints: int
    findings: list[FindingView]


class ReleaseForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why something is done."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"\S")]


@operation("show-house", "GET", "/api/house", response=HouseView)
async def show_house(request: RequestContext) -> HouseView:
    """Tell what the house is called, its currency, its time, and the sign-ins of a demo."""
    described, house = request.context.config, request.context.house
    return HouseView(
        name=described.name,
        currency=described.currency,
        time_zone=described.time_zone,
        gaming_day_starts=described.gaming_day_starts.isoformat("minutes"),
        languages=LANGUAGES,
        server_time=house.clock.now(),
        suspended=bool(house.command_handler.suspension_reason),
        demo=[msgspec.to_builtins(each) for each in request.context.demo_sign_ins],
    )


@operation("verify-log", "POST", "/api/log/verification", response=LogVerification, problems=(503,))
async def verify_log(request: RequestContext) -> LogVerification:
    """Prove the whole log as it is now, and all that is kept beside it."""
    house = request.context.house

    def proved() -> Any:
        beside = house.state_dir / CHECKPOINTS_FILE
        against = read_checkpoints(beside) if beside.exists() else []
        return audit(
            house.command_handler.store,
            public_keys=read_public_keys(house.state_dir),
            against=against,
        )

    if request.context.verification_limiter.locked():
        raise QueueFull("the log is being proved already; ask again later")
    report = await run_limited(request.context.verification_limiter, proved)
    return LogVerification(
        sound=report.is_sound,
        streams=report.streams,
        entries=report.entries,
        answers=report.answers,
        games=report.games,
        checkpoints=report.checkpoints,
        findings=[FindingView(each.where, each.what) for each in report.findings],
    )


@operation(
    "release-house", "POST", "/api/house/release", body=ReleaseForm, status=204, problems=(409, 503)
)
async def release_house(request: RequestContext) -> None:
    """Let a suspended house write again, now that somebody has looked at what failed."""
    house = request.context.house
    if not house.command_handler.suspension_reason:
        raise HttpProblem(409, "house/not-suspended")
    try:
        await house.release(request.account_id, request.body.reason)
    except OperatingFailure as failure:
        if not house.command_handler.suspension_reason:  # somebody else was quicker
            raise HttpProblem(409, "house/not-suspended") from failure
        raise HttpProblem(503, "house/suspended") from failure


HOUSE_OPERATIONS: Final[tuple[Operation, ...]] = (show_house, verify_log, release_house)


PROBE_CACHE_SECONDS: Final = 0.5
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


class StoreProbe:
    """Whether the store answers, asked at most so often whoever wants to know."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._probed_at = -PROBE_CACHE_SECONDS
        self._probe: asyncio.Task[bool] | None = None

    async def is_available(self) -> bool:
        """Tell whether the store answers, asking it once for all who want to know now."""
        if self._probe is None or (self._probe.done() and self._is_stale()):
            self._probe = asyncio.create_task(self._probe_store())
        return await asyncio.shield(self._probe)

    def _is_stale(self) -> bool:
        return monotonic() - self._probed_at >= PROBE_CACHE_SECONDS

    async def _probe_store(self) -> bool:
        try:
            await asyncio.to_thread(self._house.command_handler.store.head, HOUSE_STREAM)
        except ThreediceError:
            return False
        finally:
            self._probed_at = monotonic()
        return True


async def check_health(house: House, store_probe: StoreProbe, *, stopping: bool = False) -> Health:
    """Return how a server is."""
    suspended, answers = (
        bool(house.command_handler.suspension_reason),
        await store_probe.is_available(),
    )
    stuck = sum(bool(dealer.stuck) for dealer in house.dealers.values())
    status: Any = "well"
    if stopping:
        status = "stopping"
    elif not answers:
        status = "away"
    elif suspended:
        status = "suspended"
    elif house.background_error or house.damaged or stuck:
        status = "trouble"
    return Health(
        status=status,
        version=__version__,
        store="away" if not answers else "suspended" if suspended else "answers",
        books="behind" if house.background_error else "kept",
        damaged=len(house.damaged),
        stuck=stuck,
    )


@operation("read-health", "GET", "/health", response=Health, problems=(503,))
async def read_health(request: RequestContext) -> HttpResponse:
    """Tell whether the server can take commands: 200 if it can, 503 if not."""
    house, hub = request.context.house, request.context.hub
    vitals = StoreProbe(house) if hub is None else hub.store_probe
    health = await check_health(house, vitals, stopping=hub is not None and hub.is_closing)
    return json_response(health, 200 if health.status in ("well", "trouble") else 503)


@operation("read-metrics", "GET", "/metrics", is_raw=True, problems=(401, 403))
async def read_metrics(request: RequestContext) -> HttpResponse:
    """Tell the figures of the server, for Prometheus."""
    if not _is_local_caller(request):
        await authorise(request, "read-metrics")
    metrics = request.context.metrics
    text = metrics.render() if isinstance(metrics, ServerMetrics) else b""
    return HttpResponse(200, text, METRICS_CONTENT_TYPE.encode())


def _is_local_caller(request: RequestContext) -> bool:
    """Tell whether this machine itself asks, and no page that has a browser here do so."""
    host = request.headers.get(b"host", b"").decode("latin-1").lower()
    known = host in request.context.hosts or is_ip_host(host)
    return known and is_loopback(request.client_address) and not request.context.behind_proxy


MONITORING_OPERATIONS: Final[tuple[Operation, ...]] = (read_health, read_metrics)
