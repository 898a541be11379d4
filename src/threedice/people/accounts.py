"""Accounts: who there is, under which name, in which roles.

An account is never deleted, for its id stands in the log for ever; it is disabled, and its name can
be forgotten. Nothing else is known of a person here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from threedice.people.changes import announce
from threedice.people.errors import AccountRefused, NoSuch
from threedice.people.names import CONSOLE, checked_name, new_id, sought
from threedice.people.passwords import check_password, new_password
from threedice.people.policy import SECOND
from threedice.people.roles import Role, checked_roles
from threedice.people.trail import note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.people.database import Row, Run
    from threedice.people.records import Records

ADMINISTRATOR: Final = "administrator"
COLUMNS: Final = "a.id, a.name, a.roles, a.enabled, a.created"


class Account(msgspec.Struct, frozen=True):
    """Somebody who may sign in."""

    id: str
    name: str
    roles: tuple[Role, ...]
    enabled: bool
    created: int

    def has(self, *roles: Role) -> bool:
        """Tell whether the account has one of these roles."""
        return any(role in self.roles for role in roles)


class FirstPassword(msgspec.Struct, frozen=True):
    """A new account, or an old one with a new password, which is shown once; he changes it."""

    account: Account
    password: str


def account_of(row: Row) -> Account:
    """Read an account from the columns of one."""
    id_, name, roles, enabled, created = row
    return Account(id_, name, checked_roles(roles.split(",")), bool(enabled), created)


def fetch(run: Run, account: str) -> Account:
    """Return the account of an id, within a transaction already begun."""
    for row in run(f"SELECT {COLUMNS} FROM people_accounts a WHERE a.id = ?", (account,)):
        return account_of(row)
    raise NoSuch("account", account)


def end_sessions(run: Run, account: str) -> int:
    """End all sessions of an account, and have it told to all servers."""
    ended = run("DELETE FROM people_sessions WHERE account = ? RETURNING id", (account,))
    announce(run, account, "ended")
    return len(ended)


class Accounts:
    """The accounts of a house."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def add(
        self, name: str, roles: Iterable[str], *, password: str | None = None, by: str = CONSOLE
    ) -> FirstPassword:
        """Make an account; without a password given, with a first one that must be changed."""
        kept, asked = checked_name(name), checked_roles(roles)
        word, hashed, first_until = self._password(password, kept, asked)
        now = self._records.clock()

        def work(run: Run) -> Account:
            if run("SELECT 1 FROM people_accounts WHERE name = ?", (kept,)):
                raise AccountRefused("taken", f"there is an account called {kept!r} already")
            return _insert(run, now, kept, asked, hashed, first_until, by)

        return FirstPassword(self._records.change(work), word)

    def ensure_administrator(self) -> FirstPassword | None:
        """Make the first account of a house that has none, and return its password this once."""
        if self._records.database.rows("SELECT 1 FROM people_accounts LIMIT 1"):
            return None
        roles: tuple[Role, ...] = ("administrator",)
        word, hashed, first_until = self._password(None, ADMINISTRATOR, roles)
        now = self._records.clock()

        def work(run: Run) -> Account | None:
            if run("SELECT 1 FROM people_accounts LIMIT 1"):
                return None
            return _insert(run, now, ADMINISTRATOR, roles, hashed, first_until, CONSOLE)

        made = self._records.change(work)
        return None if made is None else FirstPassword(made, word)

    def get(self, account: str) -> Account:
        """Return the account of an id."""
        return fetch(self._records.database.rows, account)

    def named(self, name: str) -> Account | None:
        """Return the account of a name to sign in with."""
        found = self._records.database.rows(
            f"SELECT {COLUMNS} FROM people_accounts a WHERE a.name = ?", (sought(name),)
        )
        return next(map(account_of, found), None)

    def all(self) -> list[Account]:
        """Return all accounts by name."""
        found = self._records.database.rows(
            f"SELECT {COLUMNS} FROM people_accounts a ORDER BY a.name"
        )
        return [account_of(row) for row in found]

    def set_roles(self, account: str, roles: Iterable[str], *, by: str = CONSOLE) -> Account:
        """Give an account other roles; whoever uses it has to sign in again."""
        asked, now = checked_roles(roles), self._records.clock()

        def work(run: Run) -> Account:
            before = fetch(run, account)
            if ("player" in before.roles) != ("player" in asked):
                raise AccountRefused("roles", "staff and players keep accounts apart; add another")
            if "administrator" not in asked:
                _refuse_last_administrator(run, before)
            run("UPDATE people_accounts SET roles = ? WHERE id = ?", (",".join(asked), account))
            end_sessions(run, account)
            detail = f"{','.join(before.roles)} -> {','.join(asked)}"
            note(run, now, "roles-changed", account, by, detail=detail)
            return fetch(run, account)

        return self._records.change(work)

    def disable(self, account: str, *, by: str = CONSOLE) -> None:
        """Let an account sign in no more, and end all it has open, programs' tokens too."""
        now = self._records.clock()

        def work(run: Run) -> None:
            _refuse_last_administrator(run, fetch(run, account))
            _disable(run, account)
            note(run, now, "account-disabled", account, by)

        self._records.change(work)

    def enable(self, account: str, *, by: str = CONSOLE) -> None:
        """Let a disabled account sign in again."""
        now = self._records.clock()

        def work(run: Run) -> None:
            fetch(run, account)
            run("UPDATE people_accounts SET enabled = 1 WHERE id = ?", (account,))
            announce(run, account, "rights")
            note(run, now, "account-enabled", account, by)

        self._records.change(work)

    def forget(self, account: str, *, by: str = CONSOLE) -> None:
        """Forget an account's name for good; it is disabled, and its id stays taken."""
        now, hashed = self._records.clock(), self._records.passwords.hash(new_password())

        def work(run: Run) -> None:
            _refuse_last_administrator(run, fetch(run, account))
            _disable(run, account)
            run(
                "UPDATE people_accounts SET name = ?, password = ? WHERE id = ?",
                (f"+{account}", hashed, account),  # no name that may be chosen begins like this
            )
            for table in ("people_codes", "people_recovery"):
                run(f"DELETE FROM {table} WHERE account = ?", (account,))
            note(run, now, "account-forgotten", account, by)

        self._records.change(work)

    def reset_password(
        self, account: str, *, password: str | None = None, by: str = CONSOLE
    ) -> FirstPassword:
        """Give an account a password, a random first one if none is given; all sessions end."""
        found, now = self.get(account), self._records.clock()
        word, hashed, first_until = self._password(password, found.name, found.roles)

        def work(run: Run) -> Account:
            run(
                "UPDATE people_accounts SET password = ?, first_until = ? WHERE id = ?",
                (hashed, first_until, account),
            )
            end_sessions(run, account)
            note(run, now, "password-changed", account, by)
            return fetch(run, account)

        return FirstPassword(self._records.change(work), word)

    def _password(
        self, given: str | None, name: str, roles: tuple[Role, ...]
    ) -> tuple[str, str, int]:
        """Return a password, what is kept of it, and until when another must be chosen."""
        first_until = 0
        if given is None:
            seconds = self._records.policy.first_password_seconds
            given, first_until = new_password(), self._records.clock() + seconds * SECOND
        else:
            check_password(given, name, roles)
        return given, self._records.passwords.hash(given), first_until


def _insert(
    run: Run,
    now: int,
    name: str,
    roles: tuple[Role, ...],
    hashed: str,
    first_until: int,
    by: str,
) -> Account:
    made = Account(new_id(), name, roles, True, now)
    run(
        "INSERT INTO people_accounts (id, name, roles, enabled, created, password, first_until)"
        " VALUES (?, ?, ?, 1, ?, ?, ?)",
        (made.id, name, ",".join(roles), now, hashed, first_until),
    )
    note(run, now, "account-added", made.id, by, detail=",".join(roles))
    return made


def _disable(run: Run, account: str) -> None:
    run("UPDATE people_accounts SET enabled = 0 WHERE id = ?", (account,))
    run("DELETE FROM people_tokens WHERE account = ?", (account,))
    end_sessions(run, account)


def _refuse_last_administrator(run: Run, account: Account) -> None:
    if not account.enabled or "administrator" not in account.roles:
        return
    others = run("SELECT roles FROM people_accounts WHERE enabled = 1 AND id <> ?", (account.id,))
    if not any("administrator" in roles.split(",") for (roles,) in others):
        raise AccountRefused("last-administrator", "a house keeps one administrator at least")
