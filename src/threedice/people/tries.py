"""One try of a password or a code: counted before it is made, and noted if it fails.

Of a name that nobody has, a try costs as much, waits as long and tells as little as any other.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from threedice.people import throttling, totp
from threedice.people.errors import SignInRefused
from threedice.people.policy import SECOND
from threedice.people.trail import note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.people.database import Run
    from threedice.people.errors import SignInReason
    from threedice.people.records import Records
    from threedice.people.trail import EventKind


class Wrong(Exception):
    """A try turned out wrong; what was begun is undone."""

    def __init__(self, reason: SignInReason) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Try:
    """A try of an account, as it was looked at before."""

    account: str
    enabled: bool
    kept: str | None
    first_until: int
    name_mark: bytes
    source: str
    attempt: throttling.Attempt

    @property
    def at(self) -> int:
        """When it is made."""
        return self.attempt.at


class Tries:
    """Counts tries, and lets through those that are right."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def begin(self, by: Literal["name", "id"], value: str, address: str) -> Try:
        """Count a try of the account of a name or an id; refuse it while there is to be waited."""
        found = self._records.database.rows(
            f"SELECT id, name, enabled, password, first_until FROM people_accounts WHERE {by} = ?",
            (value,),
        )
        account, name, enabled, kept, first_until = found[0] if found else ("", value, 0, None, 0)
        marks = {self._records.key.mark("name", name): throttling.FREE_BY_NAME}
        (name_mark,), source = marks, ""
        if address:
            mark = self._records.key.mark("address", throttling.network(address))
            marks[mark], source = throttling.FREE_BY_ADDRESS, mark.hex()[:12]
        now = self._records.clock()
        began = self._records.database.change(
            lambda run: throttling.begin(run, now, marks), lasting=False
        )
        if isinstance(began, throttling.Held):
            raise SignInRefused("wait", _seconds(began.wait))
        return Try(account, bool(enabled), kept, first_until, name_mark, source, began)

    @contextmanager
    def failing(self, tried: Try, kind: EventKind = "sign-in-failed") -> Iterator[None]:
        """Note it, where a try turns out wrong, and refuse it."""
        try:
            yield
        except Wrong as wrong:
            reason = wrong.reason
            self._records.database.change(
                lambda run: note(
                    run, tried.at, kind, tried.account, "", source=tried.source, detail=reason
                )
            )
            raise SignInRefused(reason, _seconds(tried.attempt.wait)) from None

    def check_password(self, tried: Try, password: str) -> None:
        """Refuse a password that is wrong; slow by intention, so never within a transaction."""
        if not self._records.passwords.verify(tried.kept, password) or not tried.enabled:
            raise Wrong("credentials")
        if 0 < tried.first_until <= tried.at:
            raise Wrong("expired")

    def check_unchanged(self, run: Run, tried: Try) -> None:
        """Refuse, if the account was disabled or its password changed since it was looked at."""
        sql = "SELECT 1 FROM people_accounts WHERE id = ? AND enabled = 1 AND password = ?"
        if not run(sql, (tried.account, tried.kept)):
            raise Wrong("credentials")

    def use_code(self, run: Run, tried: Try, code: str) -> None:
        """Use a code up, or refuse it."""
        kind = totp.accept(run, self._records.key, tried.account, code, tried.at)
        if not kind:
            raise Wrong("code")
        if kind == "recovery code":
            left = f"{totp.recovery_codes_left(run, tried.account)} left"
            note(run, tried.at, "recovery-code-used", tried.account, tried.account, detail=left)

    def let_through(self, run: Run, tried: Try) -> None:
        """Forget the failures of an account; of an address, only that this was none."""
        throttling.give_back(run, tried.attempt)
        throttling.forget(run, tried.name_mark)

    def give_back(self, tried: Try) -> None:
        """Count a try that was right so far as none."""
        self._records.database.change(
            lambda run: throttling.give_back(run, tried.attempt), lasting=False
        )


def _seconds(wait: int) -> int:
    """Return a wait in whole seconds, rounded up."""
    return -(-wait // SECOND)
