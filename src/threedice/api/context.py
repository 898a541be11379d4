"""Server context shared by all requests, and the dependencies of handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation

from threedice.api.auth.authentication import AssignmentCache, Caller
from threedice.api.http.limits import CommandRateLimits, ConcurrencyLimiter
from threedice.api.http.metrics import ServerMetrics
from threedice.api.http.requests import HouseRequest
from threedice.errors import InvariantBroken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.api.config import HouseConfig
    from threedice.api.live.hub import Hub
    from threedice.house.house import House
    from threedice.identity import IdentityService


SECURE_COOKIE: Final = "__Host-threedice"
"""Session cookie over TLS; browsers accept and send it for this exact host only."""

PLAIN_COOKIE: Final = "threedice"
"""Session cookie on loopback without TLS, where some clients drop `Secure` cookies."""

MAX_CONCURRENT_SLOW: Final = 2
"""Maximum number of concurrent password hashes, and of concurrent history queries."""


@dataclass(slots=True)
class ServerContext:
    """State of a server, shared by all its requests.

    `origins` are the URLs under which browsers reach it, such as `https://pit.example`; cross-site
    requests from others are rejected. `secure`: browsers reach it over TLS. `behind_proxy`: a
    trusted proxy appends the client's address to `X-Forwarded-For`. `table_ids` caches known
    tables.
    """

    house: House
    identity: IdentityService
    config: HouseConfig
    origins: tuple[str, ...]
    secure: bool = True
    behind_proxy: bool = False
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    hub: Hub | None = None
    demo_sign_ins: Sequence[Any] = ()
    hosts: frozenset[str] = field(init=False)
    rate_limits: CommandRateLimits = field(init=False)
    assignments: AssignmentCache = field(init=False)
    hashing_limiter: ConcurrencyLimiter = field(
        default_factory=lambda: ConcurrencyLimiter(MAX_CONCURRENT_SLOW)
    )
    history_limiter: ConcurrencyLimiter = field(
        default_factory=lambda: ConcurrencyLimiter(MAX_CONCURRENT_SLOW)
    )
    verification_limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(1))
    table_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.origins:
            raise ValueError("a server needs at least one origin")
        self.origins = tuple(origin.lower().rstrip("/") for origin in self.origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)
        self.rate_limits = CommandRateLimits(self.config.policies.commands_per_second)
        self.assignments = AssignmentCache(self.identity)

    @property
    def live_hub(self) -> Hub:
        """The hub for live sockets; raises if the server was started without one."""
        if self.hub is None:
            raise InvariantBroken("this server was started without a hub for live sockets")
        return self.hub

    @property
    def cookie_name(self) -> str:
        """The name of the session cookie."""
        return SECURE_COOKIE if self.secure else PLAIN_COOKIE


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
