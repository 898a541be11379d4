"""Roles, and the policy for sessions, passwords and second factors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from threedice.errors import InvalidInput

Role = Literal[
    "player",
    "dealer",
    "game-supervisor",
    "supervisor",
    "pit-manager",
    "shift-manager",
    "auditor",
    "administrator",
]

ROLES: Final[tuple[Role, ...]] = get_args(Role)

STAFF: Final[tuple[Role, ...]] = ROLES[1:]
_STAFF_ROLES: Final = frozenset(STAFF)

EXCLUSIVE_ROLES: Final[tuple[Role, ...]] = ("player", "auditor")
"""Roles that an account has alone: staff do not play, and auditors must not audit themselves."""

SECOND: Final = 1_000_000
"""Microseconds in a second."""

HOUR: Final = 3600 * SECOND
"""Microseconds in an hour."""

MicrosecondClock = Callable[[], int]
"""Function that returns the time in microseconds of UTC since 1970."""


def is_staff(roles: Iterable[Role]) -> bool:
    """Return whether any of the roles is a staff role.

    >>> is_staff(["player"]), is_staff(["dealer"])
    (False, True)
    """
    return not _STAFF_ROLES.isdisjoint(roles)


def validate_roles(names: Iterable[str]) -> tuple[Role, ...]:
    """Return the named roles in order and without duplicates; raise `InvalidInput` if invalid.

    A role must exist, and must be allowed together with the others.

    >>> validate_roles(["supervisor", "dealer", "dealer"])
    ('dealer', 'supervisor')
    """
    requested = set(names)
    roles = tuple(role for role in ROLES if role in requested)
    if not roles or len(roles) < len(requested):
        unknown = ", ".join(sorted(requested - set(ROLES))) or "none"
        raise InvalidInput(f"{unknown}: not a role; the roles are {', '.join(ROLES)}")
    for role in EXCLUSIVE_ROLES:
        if role in roles and len(roles) > 1:
            raise InvalidInput(
                f"{role} cannot be combined with another role; create a separate account"
            )
    return roles


@dataclass(frozen=True, slots=True)
class IdentityPolicy:
    """Timeouts and second-factor rules of a house; the defaults are meant for real money."""

    second_factor: bool = True
    staff_idle_seconds: int = 30 * 60
    player_idle_seconds: int = 2 * 3600
    session_seconds: int = 12 * 3600
    lock_seconds: int = 5 * 60
    first_password_seconds: int = 7 * 24 * 3600
    request_seconds: int = 15 * 60
    approver_wait_seconds: int = 24 * 3600
    issuer: str = "Threedice"

    def idle_timeout_microseconds(self, roles: Iterable[Role]) -> int:
        """Return the idle time after which a session ends."""
        seconds = self.staff_idle_seconds if is_staff(roles) else self.player_idle_seconds
        return seconds * SECOND

    def lock_timeout_microseconds(self, roles: Iterable[Role]) -> int | None:
        """Return the idle time after which a session locks; None for roles that never lock."""
        return self.lock_seconds * SECOND if "dealer" in roles else None

    def requires_second_factor(self, roles: Iterable[Role]) -> bool:
        """Return whether an account with these roles needs a second factor."""
        return self.second_factor and is_staff(roles)
