"""What every answer of a server is made from: the house, its people, and how it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from threedice.web.limiting import Limits, Turns
from threedice.web.posts import Posts

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from litestar.connection import ASGIConnection

    from threedice.floor.house import House
    from threedice.people import People
    from threedice.web.house_file import HouseFile

COOKIE: Final = "__Host-threedice"
"""The session over TLS: browsers take it from this very host only, and send it nowhere else."""

PLAIN_COOKIE: Final = "threedice"
"""The session on a loopback address without TLS, where not every client keeps the other."""


SLOW_AT_ONCE: Final = 2
"""How many passwords are hashed, and how many long histories read, at the same time."""


class Counts(Protocol):
    """Counts what becomes of commands."""

    def accepted(self, kind: str, seconds: float) -> None:
        """Count a command that was accepted, and how long it took."""

    def refused(self, code: str) -> None:
        """Count what was refused, by the code of its problem."""


class NoCounts:
    """Counts nothing."""

    def accepted(self, kind: str, seconds: float) -> None:
        """Count nothing."""

    def refused(self, code: str) -> None:
        """Count nothing."""


@dataclass(slots=True)
class Context:
    """A server of a house.

    `origins` are where its screens are served from, such as `https://pit.example`; nothing that
    comes from another is believed. `secure` says that browsers reach it over TLS. `behind_proxy`
    says that a proxy of ours adds the caller's address to `X-Forwarded-For`.
    """

    house: House
    people: People
    house_file: HouseFile
    origins: tuple[str, ...]
    secure: bool = True
    behind_proxy: bool = False
    metrics: Counts = field(default_factory=NoCounts)
    hub: Any = None
    demo: Sequence[Any] = ()
    hosts: frozenset[str] = field(init=False)
    limits: Limits = field(init=False)
    posts: Posts = field(init=False)
    hashing: Turns = field(default_factory=lambda: Turns(SLOW_AT_ONCE))
    reading: Turns = field(default_factory=lambda: Turns(SLOW_AT_ONCE))
    proving: Turns = field(default_factory=lambda: Turns(1))
    under_way: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.origins:
            raise ValueError("a server has to know the origins that it is reached under")
        self.origins = tuple(origin.lower().rstrip("/") for origin in self.origins)
        self.hosts = frozenset(origin.partition("://")[2] for origin in self.origins)
        self.limits = Limits(self.house_file.policies.commands_per_second)
        self.posts = Posts(self.people)

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return COOKIE if self.secure else PLAIN_COOKIE


def context_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Context:
    """Return the server that a request or a socket came to."""
    context: Context = connection.app.state.context
    return context
