"""What is refused at the door, each with a reason that a program can read.

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
RequestReason = Literal["own", "not-own", "role", "decided", "expired", "disabled"]


class PeopleError(ThreediceError):
    """Anything that is refused at the door."""


class SignInRefused(PeopleError):
    """Somebody was not let in; of an unknown name, no more is told than of a wrong password."""

    def __init__(self, reason: SignInReason, wait_seconds: int = 0) -> None:
        self.reason, self.wait_seconds = reason, wait_seconds
        after = f"; try again in {wait_seconds} seconds" if wait_seconds else ""
        super().__init__(f"{_SIGN_IN[reason]}{after}")


_SIGN_IN: dict[SignInReason, str] = {
    "credentials": "this name and this password do not go together",
    "code-needed": "a code is needed as well",
    "code": "this code is not valid, or has been used",
    "expired": "this first password has expired; ask an administrator for another",
    "wait": "there were too many failures",
}


class SessionRefused(PeopleError):
    """A session that may not do this now."""

    def __init__(self, reason: SessionReason) -> None:
        self.reason = reason
        super().__init__(_SESSION[reason])


_SESSION: dict[SessionReason, str] = {
    "ended": "this session has ended; sign in again",
    "standing": "this session may not do that as it stands",
    "enrolled": "codes are in use already; give the password and a code to replace them",
    "not-begun": "no enrolment has been begun; begin one first",
}


class PasswordRefused(PeopleError):
    """A password that may not be chosen."""

    def __init__(self, reason: PasswordReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class AccountRefused(PeopleError):
    """An account that cannot be made or changed like this."""

    def __init__(self, reason: AccountReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class RequestRefused(PeopleError):
    """A request that this person may not decide, or not any more."""

    def __init__(self, reason: RequestReason, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class NoSuch(PeopleError):
    """Nothing has this id."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {name!r}")
