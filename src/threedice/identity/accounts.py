"""User accounts: create, disable, erase, reset passwords; rules for account names.

Names to sign in with, and ids: what they may look like, and which are the house's own.

Accounts: who there is, under which name, in which roles.

An account is never deleted, for its id stands in the log for ever; it is disabled, and its name can
be forgotten. Nothing else is known of a person here.
"""

from __future__ import annotations

import secrets
import unicodedata
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import AccountRefused, RecordNotFound
from threedice.identity.passwords import random_password, validate_password
from threedice.identity.roles import SECOND, Role, validate_roles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.identity.access_changes import IdentityContext
    from threedice.identity.database import SqlRow, SqlRunner


CONSOLE: Final = "console"
"""Who acted, where somebody sat at the machine itself."""


RESERVED_NAMES: Final = frozenset({"house", CONSOLE})


MAX_NAME_CHARACTERS: Final = 64


MAX_TEXT_CHARACTERS: Final = 500


_NAME_PUNCTUATION: Final = frozenset("._-@+'")


def fold_name(name: str) -> str:
    """Return a name as names are compared: NFKC, and without upper and lower case.

    >>> fold_name("Ｓtraße") == fold_name("STRASSE")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def fold_name_for_lookup(name: str) -> str:
    """Return a name as it is looked for, whatever was typed: what no name holds finds nobody."""
    written = name[: 4 * MAX_NAME_CHARACTERS].replace("\0", "?").encode(errors="replace").decode()
    return fold_name(written)


def validate_name(name: str) -> str:
    """Return a name to sign in with as it is kept, if anybody may be called so."""
    kept = fold_name(name[: 4 * MAX_NAME_CHARACTERS])
    if (
        not 0 < len(kept) <= MAX_NAME_CHARACTERS
        or not all(map(_is_name_character, kept))
        or kept[0] in _NAME_PUNCTUATION
    ):
        raise InvalidInput(
            f"a name has 1 to {MAX_NAME_CHARACTERS} letters, digits and {' '.join(sorted(_NAME_PUNCTUATION))}, "
            "and begins with a letter or a digit"
        )
    if kept in RESERVED_NAMES:
        raise InvalidInput(f"nobody may be called {kept!r}")
    return kept


def _is_name_character(character: str) -> bool:
    return character in _NAME_PUNCTUATION or unicodedata.category(character)[0] in "LMN"


def validate_text(label: str, text: str, max_characters: int = MAX_TEXT_CHARACTERS) -> str:
    """Return a line that a person wrote, if it is one."""
    kept = text.strip()
    if not 0 < len(kept) <= max_characters or not kept.isprintable():
        raise InvalidInput(f"{label} is one line of 1 to {max_characters} characters")
    return kept


def new_id() -> str:
    """Return an id that says nothing: 80 random bits, so that none ever comes twice."""
    return f"{secrets.randbits(80):020x}"


FIRST_ADMINISTRATOR_NAME: Final = "administrator"


ACCOUNT_COLUMNS: Final = "a.id, a.name, a.roles, a.enabled, a.created"


class Account(msgspec.Struct, frozen=True):
    """Somebody who may sign in."""

    id: str
    name: str
    roles: tuple[Role, ...]
    enabled: bool
    created: int

    def has_role(self, *roles: Role) -> bool:
        """Tell whether the account has one of these roles."""
        return any(role in self.roles for role in roles)


class FirstPassword(msgspec.Struct, frozen=True):
    """A new account, or an old one with a new password, which is shown once; he changes it."""

    account: Account
    password: str


def parse_account(row: SqlRow) -> Account:
    """Read an account from the columns of one."""
    id_, name, roles, enabled, created = row
    return Account(id_, name, validate_roles(roles.split(",")), bool(enabled), created)


def fetch_account(run: SqlRunner, account: str) -> Account:
    """Return the account of an id, within a transaction already begun."""
    for row in run(f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.id = ?", (account,)):
        return parse_account(row)
    raise RecordNotFound("account", account)


def end_account_sessions(run: SqlRunner, account: str) -> int:
    """End all sessions of an account, and have it told to all servers."""
    ended = run("DELETE FROM people_sessions WHERE account = ? RETURNING id", (account,))
    publish_access_change(run, account, "ended")
    return len(ended)


class Accounts:
    """The accounts of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def add(
        self, name: str, roles: Iterable[str], *, password: str | None = None, by: str = CONSOLE
    ) -> FirstPassword:
        """Make an account; without a password given, with a first one that must be changed."""
        kept, asked = validate_name(name), validate_roles(roles)
        word, hashed, first_until = self._prepare_password(password, kept, asked)
        now = self._context.clock()

        def work(run: SqlRunner) -> Account:
            if run("SELECT 1 FROM people_accounts WHERE name = ?", (kept,)):
                raise AccountRefused("taken", f"there is an account called {kept!r} already")
            return _insert_account(run, now, kept, asked, hashed, first_until, by)

        return FirstPassword(self._context.transact(work), word)

    def ensure_administrator(self) -> FirstPassword | None:
        """Make the first account of a house that has none, and return its password this once."""
        if self._context.database.query("SELECT 1 FROM people_accounts LIMIT 1"):
            return None
        roles: tuple[Role, ...] = ("administrator",)
        word, hashed, first_until = self._prepare_password(None, FIRST_ADMINISTRATOR_NAME, roles)
        now = self._context.clock()

        def work(run: SqlRunner) -> Account | None:
            if run("SELECT 1 FROM people_accounts LIMIT 1"):
                return None
            return _insert_account(
                run, now, FIRST_ADMINISTRATOR_NAME, roles, hashed, first_until, CONSOLE
            )

        made = self._context.transact(work)
        return None if made is None else FirstPassword(made, word)

    def get(self, account: str) -> Account:
        """Return the account of an id."""
        return fetch_account(self._context.database.query, account)

    def find_by_name(self, name: str) -> Account | None:
        """Return the account of a name to sign in with."""
        found = self._context.database.query(
            f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.name = ?",
            (fold_name_for_lookup(name),),
        )
        return next(map(parse_account, found), None)

    def all(self) -> list[Account]:
        """Return all accounts by name."""
        found = self._context.database.query(
            f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a ORDER BY a.name"
        )
        return [parse_account(row) for row in found]

    def set_roles(self, account: str, roles: Iterable[str], *, by: str = CONSOLE) -> Account:
        """Give an account other roles; whoever uses it has to sign in again."""
        asked, now = validate_roles(roles), self._context.clock()

        def work(run: SqlRunner) -> Account:
            before = fetch_account(run, account)
            if ("player" in before.roles) != ("player" in asked):
                raise AccountRefused("roles", "staff and players keep accounts apart; add another")
            if "administrator" not in asked:
                _refuse_last_administrator(run, before)
            run("UPDATE people_accounts SET roles = ? WHERE id = ?", (",".join(asked), account))
            end_account_sessions(run, account)
            detail = f"{','.join(before.roles)} -> {','.join(asked)}"
            record_security_event(run, now, "roles-changed", account, by, detail=detail)
            return fetch_account(run, account)

        return self._context.transact(work)

    def disable(self, account: str, *, by: str = CONSOLE) -> None:
        """Let an account sign in no more, and end all it has open, programs' tokens too."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            _refuse_last_administrator(run, fetch_account(run, account))
            _disable_account(run, account)
            record_security_event(run, now, "account-disabled", account, by)

        self._context.transact(work)

    def enable(self, account: str, *, by: str = CONSOLE) -> None:
        """Let a disabled account sign in again."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            fetch_account(run, account)
            run("UPDATE people_accounts SET enabled = 1 WHERE id = ?", (account,))
            publish_access_change(run, account, "rights")
            record_security_event(run, now, "account-enabled", account, by)

        self._context.transact(work)

    def erase_name(self, account: str, *, by: str = CONSOLE) -> None:
        """Forget an account's name for good; it is disabled, and its id stays taken."""
        now, hashed = self._context.clock(), self._context.hasher.hash(random_password())

        def work(run: SqlRunner) -> None:
            _refuse_last_administrator(run, fetch_account(run, account))
            _disable_account(run, account)
            run(
                "UPDATE people_accounts SET name = ?, password = ? WHERE id = ?",
                (f"+{account}", hashed, account),  # no name that may be chosen begins like this
            )
            for table in ("people_codes", "people_recovery"):
                run(f"DELETE FROM {table} WHERE account = ?", (account,))
            record_security_event(run, now, "account-forgotten", account, by)

        self._context.transact(work)

    def reset_password(
        self, account: str, *, password: str | None = None, by: str = CONSOLE
    ) -> FirstPassword:
        """Give an account a password, a random first one if none is given; all sessions end."""
        found, now = self.get(account), self._context.clock()
        word, hashed, first_until = self._prepare_password(password, found.name, found.roles)

        def work(run: SqlRunner) -> Account:
            run(
                "UPDATE people_accounts SET password = ?, first_until = ? WHERE id = ?",
                (hashed, first_until, account),
            )
            end_account_sessions(run, account)
            record_security_event(run, now, "password-changed", account, by)
            return fetch_account(run, account)

        return FirstPassword(self._context.transact(work), word)

    def _prepare_password(
        self, given: str | None, name: str, roles: tuple[Role, ...]
    ) -> tuple[str, str, int]:
        """Return a password, what is kept of it, and until when another must be chosen."""
        first_until = 0
        if given is None:
            seconds = self._context.policy.first_password_seconds
            given, first_until = random_password(), self._context.clock() + seconds * SECOND
        else:
            validate_password(given, name, roles)
        return given, self._context.hasher.hash(given), first_until


def _insert_account(
    run: SqlRunner,
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
    record_security_event(run, now, "account-added", made.id, by, detail=",".join(roles))
    return made


def _disable_account(run: SqlRunner, account: str) -> None:
    run("UPDATE people_accounts SET enabled = 0 WHERE id = ?", (account,))
    run("DELETE FROM people_tokens WHERE account = ?", (account,))
    end_account_sessions(run, account)


def _refuse_last_administrator(run: SqlRunner, account: Account) -> None:
    if not account.enabled or "administrator" not in account.roles:
        return
    others = run("SELECT roles FROM people_accounts WHERE enabled = 1 AND id <> ?", (account.id,))
    if not any("administrator" in roles.split(",") for (roles,) in others):
        raise AccountRefused("last-administrator", "a house keeps one administrator at least")
