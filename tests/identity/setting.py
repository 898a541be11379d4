"""An identity service for tests, with a manual clock, TOTP devices and accounts that sign in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyotp

from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.passwords import TEST_COST

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.identity import Account, IdentityService, IssuedSession

PASSWORD = "a long and quiet river"
HERE, THERE = "192.0.2.1", "198.51.100.7"
START = 1_700_000_000


@dataclass
class HandClock:
    """A clock that stands still until it is moved."""

    seconds: float = START

    def __call__(self) -> int:
        return int(self.seconds * 1_000_000)

    def move(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Telephone:
    """Shows a code; each time it is asked, the next."""

    secret: str
    clock: HandClock

    def code(self) -> str:
        self.clock.move(30)
        return self.shown()

    def shown(self, after: float = 0) -> str:
        return pyotp.TOTP(self.secret).at(int(self.clock.seconds + after))


@dataclass
class Setting:
    """A database with people in it, and as many servers on it as a test opens."""

    url: str
    state: Path
    clock: HandClock = field(default_factory=HandClock)
    opened: list[IdentityService] = field(default_factory=list)

    def open(self, policy: IdentityPolicy | None = None) -> IdentityService:
        """Open a server of its own on the same database."""
        people = open_identity(
            self.url, state=self.state, clock=self.clock, cost=TEST_COST, policy=policy
        )
        self.opened.append(people)
        return people

    def enrol(self, people: IdentityService, name: str) -> tuple[Telephone, IssuedSession]:
        """Have somebody of the staff sign in for the first time and set up codes."""
        signed_in = people.authentication.sign_in(name, PASSWORD)
        telephone = Telephone(
            people.second_factors.begin_enrolment(signed_in.token, password=PASSWORD).secret,
            self.clock,
        )
        done = people.second_factors.confirm_enrolment(signed_in.token, telephone.code())
        return telephone, done.issued_session


def add(people: IdentityService, name: str, *roles: str) -> Account:
    """Make an account with the password that everybody has in these tests."""
    return people.accounts.add(name, roles, password=PASSWORD).account
