"""User accounts: create, disable, erase, reset passwords; rules for account names.

An account is never deleted, because its id stays in the log for ever. It is disabled instead, and
its name can be erased. The name is the only personal data stored here.
"""

from __future__ import annotations

import secrets
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change, transactional
from threedice.identity.approval.enrolment_records import (
    begin_enrolment,
    cancel_enrolments,
    is_new_account_pending,
    record_reset,
)
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.authentication.devices import forget_devices, trust_first_password
from threedice.identity.authentication.passwords import random_password, validate_password
from threedice.identity.errors import AccountRefused, RecordNotFound
from threedice.identity.roles import SECOND, Role, validate_roles
from threedice.log.stores import schema
from threedice.names import check_new_id, check_text, is_reserved, skeleton

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.db import SqlRow, SqlRunner
    from threedice.identity.access_changes import IdentityContext, Transaction

FIRST_ADMINISTRATOR_NAME: Final = "administrator"
MAX_NAME_CHARACTERS: Final = 64
MAX_TEXT_CHARACTERS: Final = 500

ACCOUNT_COLUMNS: Final = "a.id, a.name, a.roles, a.enabled, a.created"
"""Columns that `parse_account` reads."""

_NAME_PUNCTUATION: Final = frozenset("._-@+'")


class Account(msgspec.Struct, frozen=True):
    """An account that can sign in."""

    id: str
    name: str
    roles: tuple[Role, ...]
    enabled: bool
    created: int

    def has_role(self, *roles: Role) -> bool:
        """Return whether the account has one of these roles."""
        return any(role in self.roles for role in roles)


class FirstPassword(msgspec.Struct, frozen=True):
    """An account with its new password, which is shown once.

    A generated password must be changed at the first sign-in.
    """

    account: Account
    password: str


class Accounts:
    """Create, read and change the accounts of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context

    def add(
        self,
        name: str,
        roles: Iterable[str],
        *,
        password: str | None = None,
        account_id: str = "",
        by: str = CONSOLE,
    ) -> FirstPassword:
        """Create an account; without a password, generate one that must be changed.

        A staff account is disabled until a second administrator confirms it. That administrator
        gets the password, and the one who asked for the account does not. `account_id` is for a
        player whose id is in the log already, but who has no account any more.
        """
        name, valid_roles = validate_name(name), validate_roles(roles)
        if account_id:
            check_new_id(account_id)
            if valid_roles != ("player",):
                raise InvalidInput("only players can get an account with an id of the log")
        new = self._prepare_password(password, name, valid_roles)
        alike = skeleton(name)

        def work(run: Transaction) -> Account:
            for (other,) in run("SELECT name FROM people_accounts"):
                if skeleton(other) == alike:
                    raise AccountRefused("taken", f"there is already an account named {other!r}")
            if run("SELECT 1 FROM people_accounts WHERE id = ?", (account_id,)):
                raise AccountRefused("taken", f"there is already an account with id {account_id}")
            return _insert_account(run, name, valid_roles, new, by, account_id)

        account = self._context.transact(work)
        return FirstPassword(account, new.plain if account.enabled else "")

    def ensure_administrator(self) -> FirstPassword | None:
        """Create the first administrator if there are no accounts; return the one-time password."""
        if self._context.database.query("SELECT 1 FROM people_accounts LIMIT 1"):
            return None
        roles: tuple[Role, ...] = ("administrator",)
        new = self._prepare_password(None, FIRST_ADMINISTRATOR_NAME, roles)

        def work(run: Transaction) -> Account | None:
            if run("SELECT 1 FROM people_accounts LIMIT 1"):
                return None
            return _insert_account(run, FIRST_ADMINISTRATOR_NAME, roles, new, CONSOLE)

        account = self._context.transact(work)
        return None if account is None else FirstPassword(account, new.plain)

    def get(self, account: str) -> Account:
        """Return the account with an id."""
        return fetch_account(self._context.database.query, account)

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with a sign-in name, if there is one."""
        rows = self._context.database.query(
            f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.name = ?",
            (fold_name_for_lookup(name),),
        )
        return next(map(parse_account, rows), None)

    def staff(self) -> list[Account]:
        """Return all accounts with staff roles, enabled or not."""
        rows = self._context.database.query(
            f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.roles <> 'player'"
        )
        return [parse_account(row) for row in rows]

    def player_names(self, accounts: Sequence[str]) -> dict[str, str]:
        """Return the sign-in names of those of these accounts that are players', unless erased."""
        marks = ", ".join("?" * len(accounts))
        sql = f"SELECT id, name FROM people_accounts WHERE roles = 'player' AND id IN ({marks})"
        rows = self._context.database.query(sql, tuple(accounts)) if accounts else []
        return {account: name for account, name in rows if name != _erased_name(account)}

    def enabled_players(self) -> dict[str, str]:
        """Return the sign-in names of the players who may sign in, by account."""
        sql = "SELECT id, name FROM people_accounts WHERE roles = 'player' AND enabled = 1"
        return dict(self._context.database.query(sql))

    def all(self) -> list[Account]:
        """Return all accounts, sorted by name."""
        return list_accounts(self._context.database.query)

    @transactional
    def set_roles(
        self, run: Transaction, account: str, roles: Iterable[str], *, by: str = CONSOLE
    ) -> Account:
        """Replace the roles of an account; its sessions end.

        Fewer roles take effect at once, others when a second administrator confirms them.
        """
        before, new_roles = fetch_account(run, account), validate_roles(roles)
        if ("player" in before.roles) != ("player" in new_roles):
            raise AccountRefused(
                "roles", "staff and players have separate accounts; create another account"
            )
        if "administrator" not in new_roles:
            refuse_last_administrator(run, before)
        if not set(new_roles) <= set(before.roles) and not begin_enrolment(
            run, account, "roles", new_roles, by
        ):
            return before
        run.update(schema.accounts, {"roles": ",".join(new_roles)}, id=account)
        end_account_sessions(run, account)
        detail = f"{','.join(before.roles)} -> {','.join(new_roles)}"
        record_security_event(run, "roles-changed", account, by, detail=detail)
        return fetch_account(run, account)

    @transactional
    def disable(self, run: Transaction, account: str, *, by: str = CONSOLE) -> None:
        """Disable an account, end its sessions and revoke its API tokens."""
        disable_account(run, account)
        cancel_enrolments(run, account, by)
        record_security_event(run, "account-disabled", account, by)

    @transactional
    def enable(self, run: Transaction, account: str, *, by: str = CONSOLE) -> None:
        """Allow a disabled account to sign in again, staff once a second administrator confirms."""
        found = fetch_account(run, account)
        if is_new_account_pending(run, account) or not (
            found.enabled or begin_enrolment(run, account, "enabling", found.roles, by)
        ):
            return
        run.update(schema.accounts, {"enabled": 1}, id=account)
        publish_access_change(run, account, "rights")
        record_security_event(run, "account-enabled", account, by)

    def erase_name(self, account: str, *, by: str = CONSOLE) -> None:
        """Erase the name of an account for good and disable the account; its id stays reserved."""
        hashed = self._context.hasher.hash(random_password())

        def work(run: Transaction) -> None:
            erase_account_name(run, account)
            run.update(schema.accounts, {"password": hashed}, id=account)
            cancel_enrolments(run, account, by)
            record_security_event(run, "account-forgotten", account, by)

        self._context.transact(work)
        self._context.database.erase_traces()

    def refuse_forgotten(self, account: str) -> None:
        """Raise `AccountRefused` if the name of an account was erased."""
        _refuse_forgotten(self._context.database.query, account)

    @transactional
    def record_birth_date_change(
        self, run: Transaction, account: str, *, removed: bool = False, by: str = CONSOLE
    ) -> None:
        """Record a change of a birth date, but not the date, which must be erasable.

        The dates themselves are stored with the log (`house.persons`), also those of players
        without an account. No date is added to a forgotten account.
        """
        if not removed:
            _refuse_forgotten(run, account)
        detail = "removed" if removed else ""
        record_security_event(run, "birth-date-changed", account, by, detail=detail)

    def reset_password(
        self, account: str, *, password: str | None = None, by: str = CONSOLE
    ) -> FirstPassword:
        """Set a new password and end all sessions; without a password, generate one."""
        found = self.get(account)
        new = self._prepare_password(password, found.name, found.roles)

        def work(run: Transaction) -> Account:
            run.update(
                schema.accounts,
                {"password": new.hashed, "first_until": new.first_until},
                id=account,
            )
            end_account_sessions(run, account)
            revoke_account_tokens(run, account, by)
            forget_devices(run, account)
            if new.first_until:
                trust_first_password(run, account, new.plain)
            record_security_event(run, "password-changed", account, by)
            record_reset(run, account, found.roles, by, of_password=True)
            return fetch_account(run, account)

        return FirstPassword(self._context.transact(work), new.plain)

    def _prepare_password(
        self, password: str | None, name: str, roles: tuple[Role, ...]
    ) -> PreparedPassword:
        """Validate and hash a password; without one, generate one that expires unless changed."""
        if password is not None:
            validate_password(password, name, roles)
            return PreparedPassword(password, self._context.hasher.hash(password), 0)
        return generate_password(self._context)


class PreparedPassword(NamedTuple):
    """A password, its hash, and when it expires unless changed (0: never)."""

    plain: str
    hashed: str
    first_until: int


def generate_password(context: IdentityContext) -> PreparedPassword:
    """Generate and hash a first password, which expires unless it is changed."""
    password = random_password()
    first_until = context.clock() + context.policy.first_password_seconds * SECOND
    return PreparedPassword(password, context.hasher.hash(password), first_until)


def _insert_account(
    run: Transaction,
    name: str,
    roles: tuple[Role, ...],
    password: PreparedPassword,
    by: str,
    account_id: str = "",
) -> Account:
    id_, role_list = account_id or new_id(), ",".join(roles)
    row = {
        "id": id_,
        "name": name,
        "roles": role_list,
        "enabled": 0,
        "created": run.now,
        "password": password.hashed,
        "first_until": password.first_until,
    }
    run.insert(schema.accounts, row)
    record_security_event(run, "account-added", id_, by, detail=role_list)
    if begin_enrolment(run, id_, "account", roles, by):
        run.update(schema.accounts, {"enabled": 1}, id=id_)
    return fetch_account(run, id_)


# --- used by the other modules, inside their transactions ----------------------------------------


def disable_account(run: Transaction, account: str) -> None:
    """Disable an account that is not the last administrator; its sessions and API tokens end."""
    refuse_last_administrator(run, fetch_account(run, account))
    run.update(schema.accounts, {"enabled": 0}, id=account)
    run.delete(schema.tokens, account=account)
    end_account_sessions(run, account)
    forget_devices(run, account)


def erase_account_name(run: Transaction, account: str) -> None:
    """Disable an account and erase its name; nobody can sign in as it again."""
    disable_account(run, account)
    run.update(schema.accounts, {"name": _erased_name(account)}, id=account)
    delete_second_factor(run, account)


def _erased_name(account: str) -> str:
    return f"+{account}"  # no valid name starts with "+"


def _refuse_forgotten(run: SqlRunner, account: str) -> None:
    erased = (account, _erased_name(account))
    if run("SELECT 1 FROM people_accounts WHERE id = ? AND name = ?", erased):
        raise AccountRefused("forgotten", "this account was forgotten; add a new one instead")


def refuse_last_administrator(run: SqlRunner, account: Account) -> None:
    """Raise `AccountRefused` if the account is the only enabled administrator."""
    if not account.enabled or "administrator" not in account.roles:
        return
    others = run("SELECT roles FROM people_accounts WHERE enabled = 1 AND id <> ?", (account.id,))
    if not any("administrator" in roles.split(",") for (roles,) in others):
        raise AccountRefused(
            "last-administrator", "a house needs at least one administrator; add another first"
        )


def fetch_account(run: SqlRunner, account: str) -> Account:
    """Return the account with an id, or raise `RecordNotFound`."""
    for row in run(f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a WHERE a.id = ?", (account,)):
        return parse_account(row)
    raise RecordNotFound("account", account)


def parse_account(row: SqlRow) -> Account:
    """Parse a row of `ACCOUNT_COLUMNS`."""
    id_, name, roles, enabled, created = row
    return Account(id_, name, validate_roles(roles.split(",")), bool(enabled), created)


def list_accounts(run: SqlRunner) -> list[Account]:
    """Return all accounts, sorted by name."""
    rows = run(f"SELECT {ACCOUNT_COLUMNS} FROM people_accounts a ORDER BY a.name")
    return [parse_account(row) for row in rows]


def end_account_sessions(run: Transaction, account: str) -> int:
    """End all sessions of an account and notify all servers; return the number of sessions."""
    ended = run.delete(schema.sessions, account=account)
    publish_access_change(run, account, "ended")
    return len(ended)


def revoke_account_tokens(run: Transaction, account: str, by: str) -> int:
    """Revoke all API tokens of an account; return how many there were."""
    revoked = run.delete(schema.tokens, account=account)
    for token in revoked:
        publish_access_change(run, account, "ended", token["id"])
        record_security_event(run, "token-revoked", account, by, detail=token["prefix"])
    return len(revoked)


def delete_second_factor(run: Transaction, account: str) -> None:
    """Delete the TOTP secrets and recovery codes of an account."""
    run.delete(schema.codes, account=account)
    run.delete(schema.recovery, account=account)


# --- names, texts and ids ------------------------------------------------------------------------


def validate_name(name: str) -> str:
    """Return a sign-in name in the form it is stored in; raise `InvalidInput` if invalid."""
    folded = fold_name(name[: 4 * MAX_NAME_CHARACTERS])
    if (
        not 0 < len(folded) <= MAX_NAME_CHARACTERS
        or not all(map(_is_name_character, folded))
        or folded[0] in _NAME_PUNCTUATION
    ):
        punctuation = " ".join(sorted(_NAME_PUNCTUATION))
        raise InvalidInput(
            f"a name has 1 to {MAX_NAME_CHARACTERS} letters, digits and {punctuation}, "
            "and begins with a letter or a digit"
        )
    if is_reserved(folded):
        raise InvalidInput(f"the name {folded!r} is reserved")
    check_text(folded, "a name")
    return folded


def _is_name_character(character: str) -> bool:
    return character in _NAME_PUNCTUATION or unicodedata.category(character)[0] in "LMN"


def fold_name(name: str) -> str:
    """Return a name in the form used for comparison: NFKC and case-folded.

    >>> fold_name("Ｓtraße") == fold_name("STRASSE")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def fold_name_for_lookup(name: str) -> str:
    """Fold any typed text for a lookup; characters that no name may contain match nothing."""
    replaced = name[: 4 * MAX_NAME_CHARACTERS].replace("\0", "?").encode(errors="replace").decode()
    return fold_name(replaced)


def validate_text(label: str, text: str, max_characters: int = MAX_TEXT_CHARACTERS) -> str:
    """Return a stripped line of text; raise `InvalidInput` if it is empty, too long or unprintable.

    The label names the text in the error message.
    """
    stripped = unicodedata.normalize("NFC", text.strip())
    if not 0 < len(stripped) <= max_characters or not stripped.isprintable():
        raise InvalidInput(f"{label} is one line of 1 to {max_characters} characters")
    check_text(stripped, label)
    return stripped


def new_id() -> str:
    """Return an opaque id of 80 random bits."""
    return f"{secrets.randbits(80):020x}"
