"""Permissions: commands by the facts that they declare, operations by one table.

Everything that is not declared or listed is refused, and a test checks that every route of the
application is listed. The rulebook decides later whether a permitted command is legal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from threedice.errors import InvalidInput
from threedice.facts import MANAGERS
from threedice.house.codec import tag_of
from threedice.house.commands import AnyStreamCommand
from threedice.identity.roles import ROLES, STAFF, Role

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from threedice.api.auth.authentication import Caller
    from threedice.identity import Assignment, SessionState
    from threedice.rulebook.conduct import TableRole

TokenScope = Literal["read", "play", "deal", "manage", "metrics", "any", "nobody"]
"""Scope that an API token needs; `any`: any token will do, `nobody`: sessions only."""

SCOPES: Final[tuple[TokenScope, ...]] = ("read", "play", "deal", "manage", "metrics")
"""Scopes that a token can be given."""

TableAudience = tuple[Literal["staff", "player"], str]
"""View of a table: as staff, or as the player with this id ("" for no player in particular)."""

ANYONE: Final = "anyone"
"""Pseudo-role of every caller, signed in or not."""

DISPLAY: Final = "display"
"""Pseudo-role of a results board, which may see one table."""


class Permission(NamedTuple):
    """The roles that may do something, and the scope that an API token needs for it."""

    roles: frozenset[str]
    scope: TokenScope


def _parse_permissions(table: Mapping[TokenScope, Mapping[str, str]]) -> dict[str, Permission]:
    """Parse a table with one letter per role; `*` means anyone."""
    letters = dict(zip("PDGSMHAXB*", (*ROLES, DISPLAY, ANYONE), strict=True))
    return {
        name: Permission(frozenset(letters[letter] for letter in row if letter != " "), scope)
        for scope, rows in table.items()
        for name, row in rows.items()
    }


# P player, D dealer, G game supervisor, S supervisor, M pit manager, H shift manager, A auditor,
# X administrator, B results board

OPERATION_PERMISSIONS: Final = _parse_permissions({
    "read": {
        "list-tables":       "PDGSMHAX",
        "show-table":        "PDGSMHA B",
        "watch-table":       "PDGSMHA B",
        "list-results":      "PDGSMHA B",
        "list-rulebooks":    "PDGSMHAX",
        "show-rulebook":     "PDGSMHAX",
        "show-game":         "PDGSMHAXB",
        "show-odds":         "PDGSMHAX",
        "show-readings":     "PDGSMHAX",
        "judge-mix":         "PDGSMHAX",
        "show-account":      "P  SMHA ",
        "show-statement":    "P  SMHA ",
        "show-ledgers":      "P  SMHA ",
        "explain-bets":      "PDGSMHA ",
        "prove-dice":        "PDGSMHA ",
        "show-room":         "PDGSMHA ",
        "show-sheet":        " DGSMHA ",
        "list-players":      "PDGSMHA ",
        "show-exposure":     " DGSMHA ",
        "tell-round":        " DGSMHA ",
        "show-equipment":    " DGSMHA ",
        "tell-piece":        " DGSMHA ",
        "propose-rounds":    " DGSMHA ",
        "show-round-equipment": " DGSMHA ",
        "show-rack":         " DGSMHA ",
        "report-counts":     " DGSMHA ",
        "list-variances":    "   SMH  ",
        "watch-dice":        " DGSMHA ",
        "report-shift":      "   SMHA ",
        "verify-log":        "      A ",
        "list-requests":     " DGSMHA ",
        "show-request":      " DGSMHA ",
        "show-request-effect": " DGSMHA ",
        "list-decided-requests": " DGSMHA ",
        "show-authority":    " DGSMHA ",
        "list-assignments":  " DGSMHAX",
    },
    "any": {
        "send-command":         "PDGSMH  ",
        "send-account-command": "   SMH  ",
        "show-answer":          "PDGSMH  ",
        "show-session":         "PDGSMHAX",
    },
    "metrics": {
        "read-metrics":      "    MHAX",
    },
    "nobody": {  # sessions only
        "show-house":        "*",
        "read-openapi":      "*",
        "read-health":       "*",
        "sign-in":           "*",
        "sign-out":          "PDGSMHAX",
        "lock":              "PDGSMHAX",
        "unlock":            "PDGSMHAX",
        "change-password":   "PDGSMHAX",
        "begin-codes":       "PDGSMHAX",
        "confirm-codes":     "PDGSMHAX",
        "renew-recovery-codes": "PDGSMHAX",
        "list-sessions":     "PDGSMHAX",
        "end-session":       "PDGSMHAX",
        "list-tokens":       "PDGSMHAX",
        "make-token":        "PDGSMHAX",
        "revoke-token":      "PDGSMHAX",
        "open-request":      " DGSMH  ",
        "open-account-request": "   SMH  ",
        "withdraw-request":  " DGSMH  ",
        "approve-request":   "  GSMH  ",
        "decline-request":   "  GSMH  ",
        "find-players":      " DGSMHA ",
        "show-player":       " DGSMHA ",
        "show-person":       "   SMHA ",
        "set-person":        "   SMH  ",
        "erase-person":      "     H X",
        "release-house":     "     H  ",
        "list-people":       "    MHAX",
        "add-person":        "       X",
        "show-birth-date":   "       X",
        "set-birth-date":    "       X",
        "set-roles":         "       X",
        "disable-person":    "       X",
        "enable-person":     "       X",
        "forget-person":     "       X",
        "reset-password":    "       X",
        "reset-codes":       "       X",
        "end-all-sessions":  "       X",
        "list-enrolments":   "      AX",
        "confirm-enrolment": "       X",
        "decline-enrolment": "       X",
        "assign":            "    MH X",
        "end-assignment":    "    MH X",
        "read-trail":        "      AX",
        "list-displays":     "    M  X",
        "add-display":       "    M  X",
        "revoke-display":    "    M  X",
        "sign-in-display":   "*",
        "show-display":      "        B",
    },
})  # fmt: skip
"""Permission for each operation of the API."""

ALLOWED_SESSION_STATES: Final[dict[str, frozenset[SessionState]]] = {
    "show-session": frozenset({"open", "locked", "new-password", "enrolment"}),
    "sign-out": frozenset({"open", "locked", "new-password", "enrolment"}),
    "unlock": frozenset({"open", "locked"}),
    "change-password": frozenset({"open", "new-password", "enrolment"}),
    "begin-codes": frozenset({"open", "enrolment"}),
    "confirm-codes": frozenset({"open", "enrolment"}),
}
"""Session states in which an operation is allowed, where it is not only `open`."""

ASSIGNED_ROLES: Final[tuple[Role, ...]] = ("dealer", "game-supervisor", "supervisor")
"""Roles that count only at tables that the account is assigned to; other roles count everywhere."""

ON_DUTY_OPERATIONS: Final = frozenset({
    "show-account", "show-statement", "show-ledgers", "find-players", "show-player", "show-person",
    "set-person", "list-requests", "show-request", "show-request-effect", "list-decided-requests",
})  # fmt: skip
"""Operations that dealers and supervisors may use only during a shift."""

COMMANDS: Final[dict[str, type[AnyStreamCommand]]] = {
    tag_of(each): each for each in get_args(AnyStreamCommand)
}
"""Every command by its tag; `facts` of the class says who may send it."""


def require_scopes(scopes: Iterable[str]) -> None:
    """Raise InvalidInput unless a token can be given all of these scopes."""
    for scope in scopes:
        if scope not in SCOPES:
            raise InvalidInput(f"there is no scope {scope!r}; choose from {', '.join(SCOPES)}")


# --- roles at a table ---------------------------------------------------------------------------


def roles_at(caller: Caller, table: str | None) -> tuple[Role, ...]:
    """Return the roles in which a caller may act at a table now; at any table, for None."""
    return tuple(
        role
        for role in caller.account.roles
        if role not in ASSIGNED_ROLES
        or any(
            assignment.role == role and (table is None or assignment.table in (None, table))
            for assignment in caller.assignments
        )
    )


def working_tables(roles: Collection[Role], assignments: Iterable[Assignment]) -> list[str] | None:
    """Return the tables that an account may work at now; none if it is not assigned to any.

    None for an account that is assigned to all tables, or whose roles need no assignment.
    """
    assigned = {each.table for each in assignments}
    needs_assignment = any(role in ASSIGNED_ROLES for role in roles)
    works_everywhere = any(role in MANAGERS for role in roles)
    if None in assigned or works_everywhere or not needs_assignment:
        return None
    return sorted(filter(None, assigned))


def role_for(
    caller: Caller, command: str, table: str | None, stated: str | None = None
) -> TableRole | None:
    """Return the role in which a caller may send a command at a table, or None.

    If several roles may, it is the lowest, unless the command states one of them. A player who
    chooses or throws dice acts as the shooter; the table checks that it is their turn.
    """
    if command not in COMMANDS or not _has_scope(caller, COMMANDS[command].facts.scope):
        return None
    facts = COMMANDS[command].facts
    for role in roles_at(caller, table):
        acting_role: Any = "shooter" if role == "player" and facts.as_shooter else role
        if role in facts.roles and stated in (None, acting_role):
            return acting_role  # type: ignore[no-any-return]
    return None


def can_use(caller: Caller | None, operation: str) -> bool:
    """Return whether a caller may use an operation."""
    permission = OPERATION_PERMISSIONS.get(operation)
    if permission is None:
        return False
    if ANYONE in permission.roles:
        return True
    if caller is None or caller.session_state not in ALLOWED_SESSION_STATES.get(
        operation, _ONLY_OPEN
    ):
        return False
    roles: tuple[str, ...] = caller.account.roles
    if caller.display_table:
        roles = (DISPLAY,)
    elif operation in ON_DUTY_OPERATIONS:
        roles = roles_at(caller, None)
    return _has_scope(caller, permission.scope) and not permission.roles.isdisjoint(roles)


_ONLY_OPEN: Final[frozenset[SessionState]] = frozenset({"open"})


def _has_scope(caller: Caller, scope: TokenScope) -> bool:
    """Return whether an API token has the scope; sessions need none."""
    return caller.scopes is None or scope == "any" or scope in caller.scopes


def audience_of(caller: Caller, table: str) -> TableAudience | None:
    """Return the audience of a table that a caller belongs to, or None if it may not see it.

    Staff who are not assigned to the table see what is public.
    """
    if caller.session_state != "open" or not can_use(caller, "show-table"):
        return None
    if caller.display_table:
        return ("player", "") if caller.display_table == table else None
    if "player" in caller.account.roles:
        return "player", caller.account.id
    full_view_roles = (role for role in roles_at(caller, table) if role in _FULL_VIEW_ROLES)
    return ("staff", "") if any(full_view_roles) else ("player", "")


_FULL_VIEW_ROLES: Final = frozenset(STAFF) - {"administrator"}


def is_own_or_staff(caller: Caller, player: str) -> bool:
    """Return whether a caller may see a player's data: their own, or any for staff."""
    return "player" not in caller.account.roles or caller.account.id == player
