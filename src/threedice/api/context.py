"""Server context shared by all requests, and the dependencies of handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

from anyio import CapacityLimiter
from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation

from threedice.api.auth.authentication import AssignmentCache, Caller
from threedice.api.http.answer_cache import AnswerCache
from threedice.api.http.fair_queue import FairQueue
from threedice.api.http.limits import (
    ADDRESS_RATE_FACTOR,
    QueryLimits,
    RateLimiter,
    Turnstile,
)
from threedice.api.http.requests import HouseRequest
from threedice.house.authority import Authority
from threedice.house.interpreter import quick_switching
from threedice.identity.roles import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.api.config import HouseConfig
    from threedice.api.http.metrics import ServerMetrics
    from threedice.api.live.hub import Hub
    from threedice.house.house import House
    from threedice.house.reports.round_index import RoundIndex
    from threedice.identity import IdentityService

P = ParamSpec("P")
T = TypeVar("T")

SECURE_COOKIE: Final = "__Host-threedice"
"""Session cookie over TLS; browsers accept and send it for this exact host only."""

PLAIN_COOKIE: Final = "threedice"
"""Session cookie on loopback without TLS, where some clients drop `Secure` cookies."""

SECURE_DISPLAY_COOKIE: Final = "__Secure-threedice-display"
"""Cookie of a results board over TLS; it is sent only with requests for the board's table."""

PLAIN_DISPLAY_COOKIE: Final = "threedice-display"

MAX_WAITING_SIGN_INS: Final = 400
"""Maximum number of calls that wait for the throttle, and of those that wait to hash a password."""

MAX_CONCURRENT_SLOW: Final = 2
"""Maximum number of concurrent password hashes."""

MAX_WAITING_QUERIES: Final = 100
"""Maximum number of slow queries that wait; they run one at a time, and leave the rest to bets."""


@dataclass(slots=True)
class ServerContext:
    """State of a server, shared by all its requests.

    `origins` are the URLs under which browsers reach it, such as `https://pit.example`; cross-site
    requests from others are rejected. `secure`: browsers reach it over TLS. `behind_proxy`: a
    trusted proxy appends the client's address to `X-Forwarded-For`. `table_ids` caches known
    tables. `history` is a queue of its own for queries that scan the log, so that the shorter ones
    in `queries` do not wait for them.
    """

    house: House
    identity: IdentityService
    config: HouseConfig
    origins: tuple[str, ...]
    hub: Hub
    secure: bool = True
    behind_proxy: bool = False
    demo_sign_ins: Sequence[Any] = ()
    hosts: frozenset[str] = field(init=False)
    account_limiter: RateLimiter = field(init=False)
    address_limiter: RateLimiter = field(init=False)
    assignments: AssignmentCache = field(init=False)
    authority: Authority = field(init=False)
    throttle_queue: FairQueue = field(init=False)
    hashing_queue: FairQueue = field(init=False)
    query_limits: QueryLimits = field(init=False)
    turnstile: Turnstile = field(default_factory=Turnstile)
    queries: FairQueue = field(init=False)
    history: FairQueue = field(init=False)
    answers: AnswerCache = field(init=False)
    round_indexes: dict[str, RoundIndex] = field(default_factory=dict)
    verification_limiter: CapacityLimiter = field(default_factory=partial(CapacityLimiter, 1))
    table_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.origins:
            raise ValueError("a server needs at least one origin")
        self.origins = tuple(origin.lower().rstrip("/") for origin in self.origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)
        runtime, policies = self.house.runtime, self.config.policies
        slow_queue = partial(FairQueue, runtime, MAX_CONCURRENT_SLOW, MAX_WAITING_SIGN_INS)
        self.throttle_queue, self.hashing_queue = slow_queue(), slow_queue()
        query_queue = partial(FairQueue, runtime, 1, MAX_WAITING_QUERIES, quick_switching)
        self.queries, self.history = query_queue(), query_queue()
        clock = runtime.monotonic
        rate = policies.commands_per_second
        self.account_limiter = RateLimiter(rate, clock)
        self.address_limiter = RateLimiter(rate * ADDRESS_RATE_FACTOR, clock)
        self.query_limits = QueryLimits(policies.queries_per_second, clock)
        self.answers = AnswerCache(self.metrics.count_answer)
        self.assignments = AssignmentCache(self.identity)
        self.authority = Authority(self.config.authority)

    @property
    def metrics(self) -> ServerMetrics:
        """The metrics of the server."""
        return self.hub.metrics

    @property
    def cookie_name(self) -> str:
        """The name of the session cookie."""
        return SECURE_COOKIE if self.secure else PLAIN_COOKIE

    @property
    def display_cookie_name(self) -> str:
        """The name of the cookie of a results board."""
        return SECURE_DISPLAY_COOKIE if self.secure else PLAIN_DISPLAY_COOKIE

    @property
    def device_cookie_name(self) -> str:
        """The name of the cookie by which devices are recognised."""
        return f"{self.cookie_name}-device"

    async def run_blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking part of a request without blocking the event loop."""
        return await self.house.runtime.run_request(function, *args, **kwargs)

    def today(self) -> date:
        """Return the date in the house's time zone."""
        now = self.house.runtime.now() / SECOND
        return datetime.fromtimestamp(now, ZoneInfo(self.config.time_zone)).date()


Context = NamedDependency[SkipValidation[ServerContext]]
"""The context of the server, as a parameter of a handler."""

CurrentCaller = NamedDependency[SkipValidation[Caller]]
"""The authenticated caller, as a parameter of a handler."""


def handler_dependencies(context: ServerContext) -> dict[str, Provide]:
    """Return what handlers may take as parameters: `context` and `caller`."""

    def provide_context() -> Any:
        return context

    def provide_caller(request: HouseRequest) -> Any:
        return request.user

    return {
        "context": Provide(provide_context, sync_to_thread=False),
        "caller": Provide(provide_caller, sync_to_thread=False),
    }
