"""Roles, and the session and second-factor policy for each.

The roles of a house, and which of them go together.

How long things last, and whether staff need codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from threedice.errors import InvalidInput

Role = Literal[
    "player", "dealer", "supervisor", "pit-manager", "shift-manager", "auditor", "administrator"
]


ROLES: Final[tuple[Role, ...]] = get_args(Role)


STAFF: Final[tuple[Role, ...]] = ROLES[1:]


EXCLUSIVE_ROLES: Final[tuple[Role, ...]] = ("player", "auditor")
"""Staff do not play, and an auditor who could change something would audit himself."""


def is_staff(roles: Iterable[Role]) -> bool:
    """Tell whether any of the roles is one of the staff.

    >>> is_staff(["player"]), is_staff(["dealer"])
    (False, True)
    """
    return any(role in STAFF for role in roles)


def validate_roles(given: Iterable[str]) -> tuple[Role, ...]:
    """Return roles once each and in their order, if there are such and they go together.

    >>> validate_roles(["supervisor", "dealer", "dealer"])
    ('dealer', 'supervisor')
    """
    asked = set(given)
    roles = tuple(role for role in ROLES if role in asked)
    if not roles or len(roles) < len(asked):
        unknown = ", ".join(sorted(asked - set(ROLES))) or "none"
        raise InvalidInput(f"{unknown}: not a role; the roles are {', '.join(ROLES)}")
    for role in EXCLUSIVE_ROLES:
        if role in roles and len(roles) > 1:
            raise InvalidInput(f"{role} goes with no other role; make another account")
    return roles


MicrosecondClock = Callable[[], int]
"""Tells the time: microseconds of UTC since 1970."""


SECOND: Final = 1_000_000


HOUR: Final = 3600 * SECOND


@dataclass(frozen=True, slots=True)
class IdentityPolicy:
    """What a house asks of its people; the defaults are meant for real money."""

    second_factor: bool = True
    staff_idle_seconds: int = 30 * 60
    player_idle_seconds: int = 2 * 3600
    session_seconds: int = 12 * 3600
    lock_seconds: int = 5 * 60
    first_password_seconds: int = 7 * 24 * 3600
    request_seconds: int = 15 * 60
    issuer: str = "Threedice"

    def idle_timeout_microseconds(self, roles: Iterable[Role]) -> int:
        """Return after how many idle microseconds a session ends."""
        seconds = self.staff_idle_seconds if is_staff(roles) else self.player_idle_seconds
        return seconds * SECOND

    def lock_timeout_microseconds(self, roles: Iterable[Role]) -> int | None:
        """Return after how many idle microseconds a session locks, if it does."""
        return self.lock_seconds * SECOND if "dealer" in roles else None

    def requires_second_factor(self, roles: Iterable[Role]) -> bool:
        """Tell whether somebody must have codes beside a password."""
        return self.second_factor and is_staff(roles)
