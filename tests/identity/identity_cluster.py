"""Identity services on one database, with a manual clock and TOTP devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyotp

from threedice.identity import IdentityPolicy, open_identity
from threedice.identity.approval.enrolment_records import find_confirmers
from threedice.identity.authentication.passwords import TEST_COST

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.identity import Account, IdentityService, IssuedSession

PASSWORD = "a long and quiet river"
HERE, THERE = "192.0.2.1", "198.51.100.7"
START = 1_700_000_000


@dataclass
class SteppedClock:
    """A clock that stands still until it is moved."""

    seconds: float = START

    def __call__(self) -> int:
        return int(self.seconds * 1_000_000)

    def move(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class TotpDevice:
    """A device that shows TOTP codes."""

    secret: str
    clock: SteppedClock

    def code(self) -> str:
        """Wait for the next code and return it."""
        self.clock.move(30)
        return self.shown()

    def shown(self, after: float = 0) -> str:
        """Return the code shown at a time from now."""
        return pyotp.TOTP(self.secret).at(int(self.clock.seconds + after))


@dataclass
class IdentityCluster:
    """An identity database and the services that a test opens on it."""

    url: str
    state: Path
    clock: SteppedClock = field(default_factory=SteppedClock)
    opened: list[IdentityService] = field(default_factory=list)

    def open(self, policy: IdentityPolicy | None = None) -> IdentityService:
        """Open another service on the database."""
        identity = open_identity(
            self.url, state=self.state, clock=self.clock, cost=TEST_COST, policy=policy
        )
        self.opened.append(identity)
        return identity

    def enrol(self, identity: IdentityService, name: str) -> tuple[TotpDevice, IssuedSession]:
        """Sign a staff member in for the first time and enrol a TOTP device."""
        signed_in = identity.authentication.sign_in(name, PASSWORD)
        device = TotpDevice(
            identity.second_factors.begin_enrolment(signed_in.token, password=PASSWORD).secret,
            self.clock,
        )
        done = identity.second_factors.confirm_enrolment(signed_in.token, device.code())
        return device, done.issued_session


def add_account(identity: IdentityService, name: str, *roles: str) -> Account:
    """Add an account with the password that all test accounts have.

    Where staff need a second administrator, the one who has been there longest confirms it.
    """
    account = identity.accounts.add(name, roles, password=PASSWORD).account
    if account.enabled:
        return account
    (enrolment,) = [each for each in identity.enrolments.pending() if each.account == account.id]
    able = find_confirmers(identity.context.database.query, account.id, enrolment.asked_by)
    administrators = [each for each in identity.accounts.all() if each.id in able]
    oldest = min(administrators, key=lambda each: each.created)
    identity.enrolments.confirm(enrolment.id, oldest.id)
    return identity.accounts.get(account.id)
