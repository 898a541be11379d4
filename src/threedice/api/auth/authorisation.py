"""Who may do what: one table, every command and every other operation by every role.

This is the door; the rulebook decides behind it. What is not listed is refused, and a test sees to
it that every route and every command of the application is listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from threedice.identity.roles import ROLES, STAFF, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.api.auth.authentication import Caller
    from threedice.identity import SessionState
    from threedice.rulebook.conduct import TableRole

TokenScope = Literal["read", "play", "deal", "manage", "metrics", "any", "nobody"]
"""What a program needs to be for; some things are open to any program, some to persons only."""

SCOPES: Final[tuple[TokenScope, ...]] = ("read", "play", "deal", "manage", "metrics")
"""What a token can be made for."""

TableAudience = tuple[Literal["staff", "player"], str]
"""As whom somebody sees a table: as staff, or as a player of this id, who may be nobody."""

ANYONE: Final = "anyone"
"""Whoever asks, signed in or not."""


class Permission(NamedTuple):
    """Who may do a thing: the roles, and the purpose that a program must be for."""

    roles: frozenset[str]
    scope: TokenScope


def _parse_permissions(table: Mapping[TokenScope, Mapping[str, str]]) -> dict[str, Permission]:
    """Read a table of letters; a star is anyone."""
    letters: dict[str, str] = {**dict(zip("PDSMHAX", ROLES, strict=True)), "*": ANYONE}
    return {
        name: Permission(frozenset(letters[each] for each in row if each != " "), scope)
        for scope, rows in table.items()
        for name, row in rows.items()
    }


# P player, D dealer, S supervisor, M pit manager, H shift manager, A auditor, X administrator

COMMAND_PERMISSIONS: Final = _parse_permissions({
    "play": {
        "BuyIn":          "PDSMH  ",
        "CashOut":        "PDSMH  ",
        "RepayDebt":      "PDSMH  ",
        "PlaceBet":       "PDSM   ",
        "WithdrawBet":    "PDSM   ",
        "ChooseDice":     "P      ",
        "Throw":          "PDSM   ",
    },
    "deal": {
        "PassCheck":      " DSMH  ",
        "ChangeChips":    " DSMH  ",
        "TakeColour":     " DSMH  ",
        "ColourUp":       " DSMH  ",
        "RejectExcess":   " DSMH  ",
        "MoveChips":      " DSMH  ",
        "PutBack":        " DSMH  ",
        "JudgeLine":      " DSMH  ",
        "OfferDice":      " DSM   ",
        "OpenBetting":    " DSM   ",
        "CloseBetting":   " DSM   ",
        "Tumble":         " DSM   ",
        "Uncover":        " DSM   ",
        "CallResult":     " DSM   ",
        "PressKey":       " DSM   ",
        "PressEnter":     " DSM   ",
        "Illuminate":     " DSM   ",
        "CollectLosers":  " DSM   ",
        "PayWinners":     " DSM   ",
        "Report":         " DSMH  ",
        "AbandonRound":   " DSMH  ",
    },
    "manage": {
        "EstablishTable": "  SMH  ",
        "OpenTable":      " DSMH  ",
        "FillFloat":      "  SMH  ",
        "CreditFloat":    "  SMH  ",
        "CloseTable":     "  SMH  ",
        "ReleaseTable":   "  SMH  ",
        "OpenAccount":    "  SMH  ",
        "Deposit":        "  SMH  ",
        "Withdraw":       "  SMH  ",
    },
    "nobody": {  # persons only
        "SetLimits":           " DSMH  ",
        "AmendResult":         " DSMH  ",
        "CorrectBet":          " DSMH  ",
        "ResolveInterruption": " DSMH  ",
        "MakeRuling":          "    H  ",
        "InterruptTable":      "       ",  # the house itself
        "RecoverRound":        "       ",
    },
})  # fmt: skip
"""Who may send each command."""

OPERATION_PERMISSIONS: Final = _parse_permissions({
    "read": {
        "list-tables":       "PDSMHAX",
        "show-table":        "PDSMHA ",
        "watch-table":       "PDSMHA ",
        "list-results":      "PDSMHA ",
        "list-rulebooks":    "PDSMHAX",
        "show-rulebook":     "PDSMHAX",
        "show-game":         "PDSMHAX",
        "show-odds":         "PDSMHAX",
        "show-readings":     "PDSMHAX",
        "judge-mix":         "PDSMHAX",
        "show-account":      "P SMHA ",
        "show-statement":    "P SMHA ",
        "explain-bets":      "PDSMHA ",
        "show-room":         "PDSMHA ",
        "show-sheet":        " DSMHA ",
        "show-exposure":     " DSMHA ",
        "tell-round":        " DSMHA ",
        "report-shift":      "  SMHA ",
        "verify-log":        "     A ",
        "list-requests":     " DSMHA ",
        "show-request":      " DSMHA ",
        "list-assignments":  " DSMHAX",
    },
    "any": {
        "send-command":         "PDSMH  ",
        "send-account-command": "  SMH  ",
        "show-answer":          "PDSMH  ",
    },
    "metrics": {
        "read-metrics":      "   MHAX",
    },
    "nobody": {  # persons only
        "show-house":        "*",
        "read-openapi":      "*",
        "read-health":       "*",
        "sign-in":           "*",
        "show-session":      "PDSMHAX",
        "sign-out":          "PDSMHAX",
        "lock":              "PDSMHAX",
        "unlock":            "PDSMHAX",
        "change-password":   "PDSMHAX",
        "begin-codes":       "PDSMHAX",
        "confirm-codes":     "PDSMHAX",
        "renew-recovery-codes": "PDSMHAX",
        "list-sessions":     "PDSMHAX",
        "end-session":       "PDSMHAX",
        "list-tokens":       "PDSMHAX",
        "make-token":        "PDSMHAX",
        "revoke-token":      "PDSMHAX",
        "open-request":      " DSMH  ",
        "withdraw-request":  " DSMH  ",
        "approve-request":   "  SMH  ",
        "decline-request":   "  SMH  ",
        "show-person":       "  SMHA ",
        "set-person":        "  SMH  ",
        "erase-person":      "    H X",
        "release-house":     "    H  ",
        "list-people":       "   MHAX",
        "add-person":        "      X",
        "set-roles":         "      X",
        "disable-person":    "      X",
        "enable-person":     "      X",
        "forget-person":     "      X",
        "reset-password":    "      X",
        "reset-codes":       "      X",
        "end-all-sessions":  "      X",
        "assign":            "   MH X",
        "end-assignment":    "   MH X",
        "read-trail":        "     AX",
    },
})  # fmt: skip
"""Who may ask, or do, everything else that there is a route for."""

ALLOWED_STANDINGS: Final[dict[str, frozenset[SessionState]]] = {
    "show-session": frozenset({"open", "locked", "new-password", "enrolment"}),
    "sign-out": frozenset({"open", "locked", "new-password", "enrolment"}),
    "unlock": frozenset({"open", "locked"}),
    "change-password": frozenset({"open", "new-password", "enrolment"}),
    "begin-codes": frozenset({"open", "enrolment"}),
    "confirm-codes": frozenset({"open", "enrolment"}),
}
"""What can be done with a session that is not simply open."""

ASSIGNED_ROLES: Final[tuple[Role, ...]] = ("dealer", "supervisor")
"""Roles that count at the tables somebody is assigned to; others have the whole floor."""

ON_DUTY_OPERATIONS: Final = frozenset({
    "show-account", "show-statement", "show-person", "set-person", "list-requests", "show-request",
})  # fmt: skip
"""What concerns players or the floor, and is not for those who work nowhere at the moment."""

OWN_PLAYER_COMMANDS: Final = frozenset({"BuyIn", "CashOut", "RepayDebt", "PlaceBet", "WithdrawBet"})
"""Commands that a player may send for himself only."""

PLAYER_FIELD_VALUES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "BuyIn": {"source": ("account",)},
    "CashOut": {"to": ("account",)},
    "RepayDebt": {"source": ("stack",)},
    "PlaceBet": {"manner": ("self", "call")},
}
"""What a player's command may say: cash changes hands at the table, before its staff."""

STAFF_FIELD_VALUES: Final[dict[str, dict[str, tuple[str, ...]]]] = {"BuyIn": {"source": ("cash",)}}
"""What a command of the staff may say: money of an account is moved by its owner."""

SECOND_PERSON_FIELDS: Final[dict[str, str]] = {
    "SetLimits": "approved_by",
    "AmendResult": "approved_by",
    "CorrectBet": "approved_by",
    "ResolveInterruption": "confirmed_by",
    "Report": "approved_by",
}
"""Commands that name a second person, and where; `Report` only where the rules ask for one."""


# --- roles at a table ---------------------------------------------------------------------------


def roles_at(caller: Caller, table: str | None) -> tuple[Role, ...]:
    """Return the roles in which somebody may act at a table now; at any, where none is named."""
    return tuple(
        role
        for role in caller.account.roles
        if role not in ASSIGNED_ROLES
        or any(
            post.role == role and (table is None or post.table in (None, table))
            for post in caller.assignments
        )
    )


def role_for(
    caller: Caller, command: str, table: str | None, stated: str | None = None
) -> TableRole | None:
    """Return the role in which somebody sends a command at a table, or nothing if he may not.

    Of several the lowest that may, unless the command states one of them. A player who chooses or
    throws dice does so as the shooter; whether the dice are his is for the table to say.
    """
    right = COMMAND_PERMISSIONS.get(command)
    if right is None or not _has_scope(caller, right):
        return None
    for role in roles_at(caller, table):
        acting: Any = "shooter" if role == "player" and command in _SHOOTER_COMMANDS else role
        if role in right.roles and stated in (None, acting):
            return acting  # type: ignore[no-any-return]
    return None


_SHOOTER_COMMANDS: Final = ("ChooseDice", "Throw")


def can_use(caller: Caller | None, operation: str) -> bool:
    """Tell whether somebody may ask or do something that there is a route for."""
    right = OPERATION_PERMISSIONS.get(operation)
    if right is None:
        return False
    if ANYONE in right.roles:
        return True
    if caller is None or caller.standing not in ALLOWED_STANDINGS.get(operation, _ONLY_OPEN):
        return False
    roles = roles_at(caller, None) if operation in ON_DUTY_OPERATIONS else caller.account.roles
    return _has_scope(caller, right) and any(role in right.roles for role in roles)


_ONLY_OPEN: Final[frozenset[SessionState]] = frozenset({"open"})


def _has_scope(caller: Caller, right: Permission) -> bool:
    """Tell whether a program is for this; a person need not be."""
    if caller.scopes is None or right.scope == "any":
        return True
    return right.scope in caller.scopes


def audience_of(caller: Caller, table: str) -> TableAudience | None:
    """Return as whom somebody sees a table: all of it, or what a player of that id sees.

    Staff who do not work there see what everybody sees.
    """
    if caller.standing != "open" or not can_use(caller, "show-table"):
        return None
    if "player" in caller.account.roles:
        return "player", caller.account.id
    seeing = (role for role in roles_at(caller, table) if role in _FULL_VIEW_ROLES)
    return ("staff", "") if any(seeing) else ("player", "")


_FULL_VIEW_ROLES: Final = frozenset(STAFF) - {"administrator"}


def is_own_or_staff(caller: Caller, player: str) -> bool:
    """Tell whether something of a player is the visitor's own, or he is of the staff."""
    return "player" not in caller.account.roles or caller.account.id == player
