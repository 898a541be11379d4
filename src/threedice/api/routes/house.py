"""The house: description, log verification, release after a failed write, health and metrics.

Health is public: its reasons name no stream, file, host or person. Metrics are readable without a
token from loopback only; behind a proxy every caller looks like loopback, so there all need
permission.
"""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import JSONBody

from threedice import __version__
from threedice.api.auth.authentication import check_query_rate, require_permission
from threedice.api.context import Context, CurrentCaller
from threedice.api.http.metrics import METRICS_CONTENT_TYPE
from threedice.api.http.problems import HttpProblem, problem_responses
from threedice.api.http.requests import HouseRequest
from threedice.api.listener import is_ip_host, is_loopback
from threedice.api.texts import LANGUAGES, Language
from threedice.api.views import build_view
from threedice.errors import EntriesMissing, OperatingFailure, QueueFull, ThreediceError
from threedice.house.audit.auditor import audit
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.halt_causes import HaltCause, classify_halt
from threedice.log.proof import IntegrityFinding
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, CheckpointFiles
from threedice.log.proof.keys import read_public_keys
from threedice.version import build_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.house.house import House

PROBE_CACHE_SECONDS: Final = 0.5
"""How long the result of a store probe is cached."""


class HouseView(msgspec.Struct, frozen=True):
    """Public facts about a house; `demo` lists the sign-ins of a demo."""

    name: str
    currency: str
    time_zone: str
    gaming_day_starts: str
    languages: tuple[Language, ...]
    server_time: int
    suspended: bool
    demo: list[dict[str, Any]]


class LogVerification(msgspec.Struct, frozen=True):
    """The numbers of verified records by kind, all findings, and the entries not signed yet."""

    sound: bool
    streams: int
    entries: int
    answers: int
    games: int
    checkpoints: int
    findings: list[IntegrityFinding]
    unsigned_entries: int


class ReleaseForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The reason for releasing a suspended house, or a stream whose entries it did not write."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"\S")]
    stream: Annotated[str, msgspec.Meta(max_length=200)] = ""


@get("/api/house", name="show-house")
async def show_house(context: Context) -> HouseView:
    """Show the name, currency and time of the house, and the sign-ins of a demo."""
    config, house = context.config, context.house
    return build_view(
        HouseView,
        config,
        gaming_day_starts=config.gaming_day_starts.isoformat("minutes"),
        languages=LANGUAGES,
        server_time=house.runtime.now(),
        suspended=bool(house.command_handler.suspension_reason),
        demo=[msgspec.to_builtins(each) for each in context.demo_sign_ins],
    )


@post("/api/log/verification", name="verify-log", status_code=200)
async def verify_log(context: Context) -> LogVerification:
    """Verify the whole log, its checkpoints and the data derived from it."""
    house = context.house

    def run_audit() -> Any:
        file = house.state_dir / CHECKPOINTS_FILE
        return audit(
            house.command_handler.store,
            public_keys=read_public_keys(house.state_dir),
            head_macs=house.command_handler.store.head_macs,
            against=CheckpointFiles(growing=file if file.exists() else None),
        )

    if not context.verification_limiter.available_tokens:
        raise QueueFull("the log is already being verified; try again later")
    async with context.verification_limiter:
        report = await context.run_blocking(run_audit)
    return build_view(LogVerification, report, sound=report.is_sound)


@post("/api/house/release", name="release-house", status_code=204, responses=problem_responses(409))
async def release_house(
    context: Context, caller: CurrentCaller, data: JSONBody[ReleaseForm]
) -> None:
    """Release a suspended house, so that it writes again after a failed write.

    With `stream`, release that table or account instead (`table/ID`, `cage/ID`), whose entries the
    house did not write: they are accepted.
    """
    house = context.house
    if data.stream:
        if data.stream not in house.foreign:
            raise HttpProblem(409, "house/not-foreign")
        try:
            await house.accept_entries(data.stream, caller.account.id, data.reason)
        except EntriesMissing as missing:
            raise HttpProblem(409, "house/entries-missing") from missing
        return
    if not house.command_handler.suspension_reason:
        raise HttpProblem(409, "house/not-suspended")
    try:
        await house.release(caller.account.id, data.reason)
    except OperatingFailure as failure:
        if not house.command_handler.suspension_reason:  # released by someone else meanwhile
            raise HttpProblem(409, "house/not-suspended") from failure
        raise HttpProblem(503, "house/suspended") from failure


# --- monitoring ---------------------------------------------------------------------------------


ReasonCode = Literal[
    "stopping",
    "database-unavailable",
    "newer-database",
    "writing-halted",
    "table-damaged",
    "foreign-entries",
    "statements-behind",
    "checkpoints-behind",
    "dealer-stuck",
]


class HealthReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a server is not well: a stable code, a sentence, and of a halt the class of its cause."""

    code: ReasonCode
    text: str
    cause: HaltCause | None = None


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a server; it takes commands if `status` is `well` or `trouble`.

    `books` says whether projections and checkpoints keep up. `damaged` counts tables that have
    stopped because their stored history was changed; `stuck` counts automatic dealers that wait
    for staff. `reasons` says why the status is not `well`. `build` is a hash of the
    program's files.
    """

    status: Literal["well", "trouble", "suspended", "away", "stopping"]
    version: str
    build: str
    store: Literal["answers", "suspended", "away"]
    books: Literal["kept", "behind"]
    damaged: int
    stuck: int
    reasons: list[HealthReason]


class StoreProbe:
    """Probes whether the store responds, at most once per `PROBE_CACHE_SECONDS`."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._probed_at = -PROBE_CACHE_SECONDS
        self._probe: asyncio.Task[bool] | None = None

    async def is_available(self) -> bool:
        """Return whether the store responds; concurrent callers share one probe."""
        if self._probe is None or (self._probe.done() and self._is_stale()):
            self._probe = asyncio.create_task(self._probe_store())
        return await asyncio.shield(self._probe)

    def _is_stale(self) -> bool:
        return self._house.runtime.monotonic() - self._probed_at >= PROBE_CACHE_SECONDS

    async def _probe_store(self) -> bool:
        try:
            await self._house.check_storage()
            store = self._house.command_handler.store
            await self._house.runtime.run_blocking(store.head, HOUSE_STREAM)
        except ThreediceError:
            return False
        finally:
            self._probed_at = self._house.runtime.monotonic()
        return True


async def check_health(house: House, store_probe: StoreProbe, *, stopping: bool = False) -> Health:
    """Determine the health of a server."""
    is_available = await store_probe.is_available()
    halt_reason = house.command_handler.suspension_reason
    is_suspended, cause = bool(halt_reason), classify_halt(halt_reason) if halt_reason else None
    codes: list[ReasonCode] = ["stopping"] if stopping else []
    codes += [] if is_available else ["database-unavailable"]
    stuck = sum(bool(dealer.error) for dealer in house.dealers.values())
    status: Any = "well"
    if stopping:
        status = "stopping"
    elif not is_available:
        status = "away"
    elif is_suspended:
        status = "suspended"
    elif house.background_error or house.damaged or stuck:
        status = "trouble"
    return Health(
        status=status,
        version=__version__,
        build=build_id(),
        store="away" if not is_available else "suspended" if is_suspended else "answers",
        books="behind" if house.background_error else "kept",
        damaged=len(house.damaged),
        stuck=stuck,
        reasons=[
            HealthReason(code, REASON_TEXTS[code], cause if code == "writing-halted" else None)
            for code in chain(codes, _house_reason_codes(house, cause, stuck))
        ],
    )


def _house_reason_codes(house: House, cause: HaltCause | None, stuck: int) -> Iterator[ReasonCode]:
    """Yield why a house is not well, apart from whether its database responds."""
    if cause:
        yield "newer-database" if cause == "newer-database" else "writing-halted"
    if house.damaged.keys() - house.foreign:
        yield "table-damaged"
    if house.foreign:
        yield "foreign-entries"
    if house.lagging:
        yield "statements-behind"
    if house.background_error != "; ".join(house.lagging.values()):
        yield "checkpoints-behind"
    if stuck and not cause:
        yield "dealer-stuck"


REASON_TEXTS: Final[dict[ReasonCode, str]] = {
    "stopping": "This server is stopping; use another one.",
    "database-unavailable": "The database does not respond; the server continues when it is back.",
    "newer-database": "A newer program has migrated the database, or is about to; stop this server"
    " and start the newer one.",
    "writing-halted": "A write failed, so all tables are suspended; remove the cause, then release"
    " the house on the pit's screen or with threedice release.",
    "table-damaged": "Some tables or accounts stand still because their history cannot be relied"
    " on; the journal names them (stream-stopped). Run threedice log verify.",
    "foreign-entries": "Some tables or accounts stand still because another program has written to"
    " their log or removed entries; the journal names them (foreign-entries). Run threedice log"
    " verify, then release each, or restore a backup.",
    "statements-behind": "The statements of some tables or accounts are not up to date; the line"
    " books-behind of the journal names them.",
    "checkpoints-behind": "No checkpoint can be signed at the moment; the line books-behind of the"
    " journal, which is about statements and checkpoints, says why.",
    "dealer-stuck": "Some automatic dealers wait for staff; the journal names their tables"
    " (dealer-stuck).",
}


@get("/health", name="read-health")
async def read_health(context: Context) -> Response[Health]:
    """Read the health of the server: status 200 if it takes commands, otherwise 503."""
    hub = context.hub
    health = await check_health(context.house, hub.store_probe, stopping=hub.is_closing)
    return Response(health, status_code=200 if health.status in ("well", "trouble") else 503)


async def require_local_or_permission(request: HouseRequest) -> None:
    """Admit requests from this machine, but not those of another site's page in it."""
    context = request.context
    host = request.raw_headers.get(b"host", b"").decode("latin-1").lower()
    is_local = is_loopback(request.client_address)
    is_known_host = host in context.hosts or is_ip_host(host)
    if not (is_known_host and is_local) or context.behind_proxy:
        await require_permission(request)
    else:
        check_query_rate(request, None)


@get("/metrics", name="read-metrics", before_request=require_local_or_permission)  # type: ignore[arg-type]
async def read_metrics(context: Context) -> Response[None]:
    """Read the metrics of the server in the Prometheus text format."""
    text: Any = context.metrics.render()
    return Response(text, media_type=METRICS_CONTENT_TYPE)
