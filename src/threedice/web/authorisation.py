"""Who may do what: one table, every command and every other operation by every role.

This is the door; the rulebook decides behind it. What is not listed is refused, and a test sees to
it that every route and every command of the application is listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from threedice.people.roles import ROLES, STAFF, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.people import Standing
    from threedice.rulebook.conduct import Role as TableRole
    from threedice.web.visiting import Visitor

Scope = Literal["read", "play", "deal", "manage", "metrics", "any", "nobody"]
"""What a program needs to be for; some things are open to any program, some to persons only."""

SCOPES: Final[tuple[Scope, ...]] = ("read", "play", "deal", "manage", "metrics")
"""What a token can be made for."""

Audience = tuple[Literal["staff", "player"], str]
"""As whom somebody sees a table: as staff, or as a player of this id, who may be nobody."""

ANYONE: Final = "anyone"
"""Whoever asks, signed in or not."""


class Right(NamedTuple):
    """Who may do a thing: the roles, and the purpose that a program must be for."""

    roles: frozenset[str]
    scope: Scope


def _rights(table: Mapping[Scope, Mapping[str, str]]) -> dict[str, Right]:
    """Read a table of letters; a star is anyone."""
    letters: dict[str, str] = {**dict(zip("PDSMHAX", ROLES, strict=True)), "*": ANYONE}
    return {
        name: Right(frozenset(letters[each] for each in row if each != " "), scope)
        for scope, rows in table.items()
        for name, row in rows.items()
    }


# P player, D dealer, S supervisor, M pit manager, H shift manager, A auditor, X administrator

COMMANDS: Final = _rights({
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

QUERIES: Final = _rights({
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

STANDINGS: Final[dict[str, frozenset[Standing]]] = {
    "show-session": frozenset({"open", "locked", "new-password", "enrolment"}),
    "sign-out": frozenset({"open", "locked", "new-password", "enrolment"}),
    "unlock": frozenset({"open", "locked"}),
    "change-password": frozenset({"open", "new-password", "enrolment"}),
    "begin-codes": frozenset({"open", "enrolment"}),
    "confirm-codes": frozenset({"open", "enrolment"}),
}
"""What can be done with a session that is not simply open."""

POSTED: Final[tuple[Role, ...]] = ("dealer", "supervisor")
"""Roles that count at the tables somebody is assigned to; others have the whole floor."""

ON_DUTY: Final = frozenset({
    "show-account", "show-statement", "show-person", "set-person", "list-requests", "show-request",
})  # fmt: skip
"""What concerns players or the floor, and is not for those who work nowhere at the moment."""

OWN: Final = frozenset({"BuyIn", "CashOut", "RepayDebt", "PlaceBet", "WithdrawBet"})
"""Commands that a player may send for himself only."""

PLAYERS_WORDS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "BuyIn": {"source": ("account",)},
    "CashOut": {"to": ("account",)},
    "RepayDebt": {"source": ("stack",)},
    "PlaceBet": {"manner": ("self", "call")},
}
"""What a player's command may say: cash changes hands at the table, before its staff."""

STAFFS_WORDS: Final[dict[str, dict[str, tuple[str, ...]]]] = {"BuyIn": {"source": ("cash",)}}
"""What a command of the staff may say: money of an account is moved by its owner."""

SECOND_PERSON: Final[dict[str, str]] = {
    "SetLimits": "approved_by",
    "AmendResult": "approved_by",
    "CorrectBet": "approved_by",
    "ResolveInterruption": "confirmed_by",
    "Report": "approved_by",
}
"""Commands that name a second person, and where; `Report` only where the rules ask for one."""


# --- roles at a table ---------------------------------------------------------------------------


def roles_at(visitor: Visitor, table: str | None) -> tuple[Role, ...]:
    """Return the roles in which somebody may act at a table now; at any, where none is named."""
    return tuple(
        role
        for role in visitor.account.roles
        if role not in POSTED
        or any(
            post.role == role and (table is None or post.table in (None, table))
            for post in visitor.posts
        )
    )


def role_for(
    visitor: Visitor, command: str, table: str | None, stated: str | None = None
) -> TableRole | None:
    """Return the role in which somebody sends a command at a table, or nothing if he may not.

    Of several the lowest that may, unless the command states one of them. A player who chooses or
    throws dice does so as the shooter; whether the dice are his is for the table to say.
    """
    right = COMMANDS.get(command)
    if right is None or not _scoped(visitor, right):
        return None
    for role in roles_at(visitor, table):
        acting: Any = "shooter" if role == "player" and command in _SHOOTERS else role
        if role in right.roles and stated in (None, acting):
            return acting  # type: ignore[no-any-return]
    return None


_SHOOTERS: Final = ("ChooseDice", "Throw")


def may_send(visitor: Visitor, command: str, table: str | None) -> bool:
    """Tell whether somebody may send a command at a table at all."""
    return role_for(visitor, command, table) is not None


def may_ask(visitor: Visitor | None, query: str) -> bool:
    """Tell whether somebody may ask or do something that there is a route for."""
    right = QUERIES.get(query)
    if right is None:
        return False
    if ANYONE in right.roles:
        return True
    if visitor is None or visitor.standing not in STANDINGS.get(query, _OPEN):
        return False
    roles = roles_at(visitor, None) if query in ON_DUTY else visitor.account.roles
    return _scoped(visitor, right) and any(role in right.roles for role in roles)


_OPEN: Final[frozenset[Standing]] = frozenset({"open"})


def _scoped(visitor: Visitor, right: Right) -> bool:
    """Tell whether a program is for this; a person need not be."""
    if visitor.scopes is None or right.scope == "any":
        return True
    return right.scope in visitor.scopes


def audience_of(visitor: Visitor, table: str) -> Audience | None:
    """Return as whom somebody sees a table: all of it, or what a player of that id sees.

    Staff who do not work there see what everybody sees.
    """
    if visitor.standing != "open" or not may_ask(visitor, "show-table"):
        return None
    if "player" in visitor.account.roles:
        return "player", visitor.account.id
    seeing = (role for role in roles_at(visitor, table) if role in _SEE_ALL)
    return ("staff", "") if any(seeing) else ("player", "")


_SEE_ALL: Final = frozenset(STAFF) - {"administrator"}


def is_own_or_staffs(visitor: Visitor, player: str) -> bool:
    """Tell whether something of a player is the visitor's own, or he is of the staff."""
    return "player" not in visitor.account.roles or visitor.account.id == player
