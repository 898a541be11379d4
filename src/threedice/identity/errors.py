"""Errors of sign-in, sessions, passwords, accounts and approvals.

What is refused at the door, each with a reason that a program can read.

ThreediceError
└── PeopleError
    ├── SignInRefused     not let in: why, and how long to wait
    ├── SessionRefused    this session may not do this now
    ├── PasswordRefused   a password that may not be chosen
    ├── AccountRefused    an account cannot be made or changed like this
    ├── RequestRefused    a request that this person may not decide, or not any more
    └── NoSuch            there is no account, session, token, assignment or request of this id

Input of the wrong form is `InvalidInput`, as everywhere.
"""

from __future__ import annotations

from typing import Literal

from threedice.errors import ThreediceError

SignInReason = Literal["credentials", "code-needed", "code", "expired", "wait"]


SessionReason = Literal["ended", "standing", "enrolled", "not-begun"]


PasswordReason = Literal["short", "long", "form", "common", "name", "same"]


AccountReason = Literal["taken", "roles", "last-administrator", "disabled"]


ApprovalReason = Literal["own", "not-own", "role", "decided", "expired", "disabled"]


class IdentityError(ThreediceError):
    """Anything that is refused at the door."""


class SignInRefused(IdentityError):
    """Somebody was not let in; of an unknown name, no more is told than of a wrong password."""

    def __init__(self, reason: SignInReason, wait_seconds: int = 0) -> None:
        self.reason, self.wait_seconds = reason, wait_seconds
        after = f"; try again in {wait_seconds} seconds" if wait_seconds else ""
        super().__init__(f"{_SIGN_IN_TEXTS[reason]}{after}")


_SIGN_IN_TEXTS: dict[SignInReason, str] = {
    "credentials": "this name and this password do not go together",
    "code-needed": "a code is needed as well",
    "code": "this code is not valid, or has been used",
    "expired": "this first password has expired; ask an administrator for another",
    "wait": "there were too many failures",
}


class SessionRefused(IdentityError):
    """A session that may not do this now."""

    def __init__(self, reason: SessionReason) -> None:
        self.reason = reason
        super().__init__(_SESSION_TEXTS[reason])


_SESSION_TEXTS: dict[SessionReason, str] = {
    "ended": "this session has ended; sign in again",
    "standing": "this session may not do that as it stands",
    "enrolled": "codes are in use already; give the password and a code to replace them",
    "not-begun": "no enrolment has been begun; begin one first",
}


class PasswordRefused(IdentityError):
    """A password that may not be chosen."""

    def __init__(self, reason: PasswordReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class AccountRefused(IdentityError):
    """An account that cannot be made or changed like this."""

    def __init__(self, reason: AccountReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class ApprovalRefused(IdentityError):
    """A request that this person may not decide, or not any more."""

    def __init__(self, reason: ApprovalReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class RecordNotFound(IdentityError):
    """Nothing has this id."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {name!r}")


class WrongCredentials(Exception):
    """A try turned out wrong; what was begun is undone."""

    def __init__(self, reason: SignInReason) -> None:
        self.reason = reason
        super().__init__(reason)
