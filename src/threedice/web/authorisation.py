"""Who may do what: one table, every command and every query by every role, and no otherwise.

This is the door; the rulebook decides behind it. What is not listed is refused, and a test sees to
it that every route and every command of the application is listed.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

AccountRole = Literal[
    "player", "dealer", "supervisor", "pit-manager", "shift-manager", "auditor", "administrator"
]
ROLES: Final[tuple[AccountRole, ...]] = get_args(AccountRole)
STAFF: Final = frozenset(ROLES) - {"player"}

_LETTERS: Final[dict[str, AccountRole]] = dict(zip("PDSMHAX", ROLES, strict=True))

_COMMANDS: Final[dict[str, str]] = {
    # the table
    "EstablishTable": "  SMH  ",
    "OpenTable":      " DSMH  ",
    "PassCheck":      " DSMH  ",
    "SetLimits":      " DSMH  ",
    "FillFloat":      "  SMH  ",
    "CreditFloat":    "  SMH  ",
    "CloseTable":     "  SMH  ",
    "ReleaseTable":   "  SMH  ",
    # chips
    "BuyIn":          "PDSMH  ",
    "CashOut":        "PDSMH  ",
    "ChangeChips":    " DSMH  ",
    "RepayDebt":      "PDSMH  ",
    "TakeColour":     " DSMH  ",
    "ColourUp":       " DSMH  ",
    # betting
    "PlaceBet":       "PDSM   ",
    "WithdrawBet":    "PDSM   ",
    "RejectExcess":   " DSMH  ",
    "MoveChips":      " DSMH  ",
    "PutBack":        " DSMH  ",
    "JudgeLine":      " DSMH  ",
    # the round
    "OfferDice":      " DSM   ",
    "ChooseDice":     "P      ",
    "OpenBetting":    " DSM   ",
    "CloseBetting":   " DSM   ",
    "Tumble":         " DSM   ",
    "Throw":          "PDSM   ",
    "Uncover":        " DSM   ",
    "CallResult":     " DSM   ",
    "PressKey":       " DSM   ",
    "PressEnter":     " DSM   ",
    "Illuminate":     " DSM   ",
    "CollectLosers":  " DSM   ",
    "PayWinners":     " DSM   ",
    # irregularities
    "Report":         " DSMH  ",
    "AbandonRound":   " DSMH  ",
    "AmendResult":    " DSMH  ",
    "CorrectBet":     " DSMH  ",
    "MakeRuling":     "    H  ",
    "ResolveInterruption": " DSMH  ",
    # the house alone
    "InterruptTable": "       ",
    "RecoverRound":   "       ",
    # accounts
    "OpenAccount":    "  SMH  ",
    "Deposit":        "  SMH  ",
    "Withdraw":       "  SMH  ",
}  # fmt: skip

COMMANDS: Final = {
    name: frozenset(_LETTERS[letter] for letter in letters if letter != " ")
    for name, letters in _COMMANDS.items()
}
"""The roles that may send each command."""

OWN: Final = frozenset({"BuyIn", "CashOut", "RepayDebt", "PlaceBet", "WithdrawBet"})
"""Commands that a player may send for himself only."""

SECOND_PERSON: Final = frozenset({"SetLimits", "AmendResult", "CorrectBet", "ResolveInterruption"})
"""Commands that always take a second person; `Report` does where it names one."""


def may_send(role: str, command: str) -> bool:
    """Tell whether a role may send a command at all."""
    return role in COMMANDS.get(command, frozenset())
