"""The roles of a house, and which of them go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

Role = Literal[
    "player", "dealer", "supervisor", "pit-manager", "shift-manager", "auditor", "administrator"
]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
STAFF: Final[tuple[Role, ...]] = ROLES[1:]
ALONE: Final[tuple[Role, ...]] = ("player", "auditor")
"""Staff do not play, and an auditor who could change something would audit himself."""


def is_staff(roles: Iterable[Role]) -> bool:
    """Tell whether any of the roles is one of the staff.

    >>> is_staff(["player"]), is_staff(["dealer"])
    (False, True)
    """
    return any(role in STAFF for role in roles)


def checked_roles(given: Iterable[str]) -> tuple[Role, ...]:
    """Return roles once each and in their order, if there are such and they go together.

    >>> checked_roles(["supervisor", "dealer", "dealer"])
    ('dealer', 'supervisor')
    """
    asked = set(given)
    roles = tuple(role for role in ROLES if role in asked)
    if not roles or len(roles) < len(asked):
        unknown = ", ".join(sorted(asked - set(ROLES))) or "none"
        raise InvalidInput(f"{unknown}: not a role; the roles are {', '.join(ROLES)}")
    for role in ALONE:
        if role in roles and len(roles) > 1:
            raise InvalidInput(f"{role} goes with no other role; make another account")
    return roles
