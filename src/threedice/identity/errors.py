"""Errors of sign-in, sessions, passwords, accounts and approvals.

Each carries a reason that a program can read.

ThreediceError
└── IdentityError
    ├── SignInRefused     sign-in failed: the reason, and how long to wait
    ├── SessionRefused    the session may not do this in its present state
    ├── PasswordRefused   the new password is not acceptable
    ├── AccountRefused    the account cannot be created or changed like this
    ├── ApprovalRefused   this account may not decide the request, or it is closed
    └── RecordNotFound    no account, session, token, assignment, request or enrolment has this id

Malformed input raises `InvalidInput`, as in every package. `WrongCredentials` is internal to this
package: callers get a `SignInRefused` instead.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from threedice.errors import ThreediceError

SignInReason = Literal["credentials", "code-needed", "code", "expired", "wait"]

SessionReason = Literal["ended", "standing", "enrolled", "not-begun", "recovery"]

PasswordReason = Literal["short", "long", "form", "common", "name", "same"]

AccountReason = Literal[
    "taken",
    "roles",
    "last-administrator",
    "second-administrator",
    "disabled",
    "forgotten",
    "tokens",
]

ApprovalReason = Literal[
    "own",
    "not-own",
    "role",
    "decided",
    "expired",
    "disabled",
    "unconfirmed",
    "enrolled",
    "too-new",
    "recovery",
]

ReasonT = TypeVar("ReasonT", bound=str)


class IdentityError(ThreediceError):
    """Base of all errors that this package raises for callers."""


class SignInRefused(IdentityError):
    """A failed sign-in; an unknown name looks the same as a wrong password."""

    def __init__(self, reason: SignInReason, wait_seconds: int = 0) -> None:
        self.reason, self.wait_seconds = reason, wait_seconds
        retry = f"; try again in {wait_seconds} seconds" if wait_seconds else ""
        way_round = _WAY_ROUND if reason == "wait" else ""
        super().__init__(f"{_SIGN_IN_TEXTS[reason]}{retry}{way_round}")


_SIGN_IN_TEXTS: dict[SignInReason, str] = {
    "credentials": "this name and this password do not go together",
    "code-needed": "this account also needs a code",
    "code": "this code is wrong or has already been used",
    "expired": "this first password has expired; ask an administrator for a new one",
    "wait": "there were too many failed attempts",
}

_WAY_ROUND = (
    ", use another device that signed in to this account before, or ask an administrator for a new"
    " first password"
)


class SessionRefused(IdentityError):
    """An operation that the session may not do in its present state."""

    def __init__(self, reason: SessionReason) -> None:
        self.reason = reason
        super().__init__(_SESSION_TEXTS[reason])


_SESSION_TEXTS: dict[SessionReason, str] = {
    "ended": "this session has ended; sign in again",
    "standing": "this session may not do that in its present state",
    "enrolled": "a second factor is already set up; give the password and a code to replace it",
    "recovery": "this session was opened with a recovery code; set up new codes first",
    "not-begun": "no enrolment has been started; start one first",
}


class _RefusedWithText(IdentityError, Generic[ReasonT]):
    def __init__(self, reason: ReasonT, text: str, **facts: int) -> None:
        self.reason, self.facts = reason, facts
        super().__init__(text)


class PasswordRefused(_RefusedWithText[PasswordReason]):
    """A new password that is not acceptable."""


class AccountRefused(_RefusedWithText[AccountReason]):
    """An account that cannot be created or changed like this."""


class ApprovalRefused(_RefusedWithText[ApprovalReason]):
    """A request or an enrolment that this account may not decide, or that is no longer pending."""


class RecordNotFound(IdentityError):
    """An id that no record has."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {name!r}")


class WrongCredentials(Exception):
    """A wrong password or code, raised inside a transaction to roll it back."""

    def __init__(self, reason: SignInReason) -> None:
        self.reason = reason
        super().__init__(reason)
