"""How long things last, and whether staff need codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from threedice.people.roles import Role, is_staff

Clock = Callable[[], int]
"""Tells the time: microseconds of UTC since 1970."""

SECOND: Final = 1_000_000
HOUR: Final = 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Policy:
    """What a house asks of its people; the defaults are meant for real money."""

    second_factor: bool = True
    staff_idle_seconds: int = 30 * 60
    player_idle_seconds: int = 2 * 3600
    session_seconds: int = 12 * 3600
    lock_seconds: int = 5 * 60
    first_password_seconds: int = 7 * 24 * 3600
    request_seconds: int = 15 * 60
    issuer: str = "Threedice"

    def idle(self, roles: Iterable[Role]) -> int:
        """Return after how many idle microseconds a session ends."""
        seconds = self.staff_idle_seconds if is_staff(roles) else self.player_idle_seconds
        return seconds * SECOND

    def lock(self, roles: Iterable[Role]) -> int | None:
        """Return after how many idle microseconds a session locks, if it does."""
        return self.lock_seconds * SECOND if "dealer" in roles else None

    def needs_codes(self, roles: Iterable[Role]) -> bool:
        """Tell whether somebody must have codes beside a password."""
        return self.second_factor and is_staff(roles)
