"""A house's people for tests: a clock that is moved by hand, telephones, and people who sign in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyotp

from threedice.people import Policy, open_people
from threedice.people.passwords import QUICK

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.people import Account, People, SignedIn

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
    opened: list[People] = field(default_factory=list)

    def open(self, policy: Policy | None = None) -> People:
        """Open a server of its own on the same database."""
        people = open_people(
            self.url, state=self.state, clock=self.clock, cost=QUICK, policy=policy
        )
        self.opened.append(people)
        return people

    def enrol(self, people: People, name: str) -> tuple[Telephone, SignedIn]:
        """Have somebody of the staff sign in for the first time and set up codes."""
        signed_in = people.door.sign_in(name, PASSWORD)
        telephone = Telephone(
            people.codes.begin(signed_in.token, password=PASSWORD).secret, self.clock
        )
        done = people.codes.confirm(signed_in.token, telephone.code())
        return telephone, done.signed_in


def add(people: People, name: str, *roles: str) -> Account:
    """Make an account with the password that everybody has in these tests."""
    return people.accounts.add(name, roles, password=PASSWORD).account
