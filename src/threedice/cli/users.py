"""`threedice users`: manage the accounts of a house from the console."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from datetime import date, datetime
from getpass import getpass
from pathlib import Path
from typing import Annotated

import typer

from threedice.cli.arguments import (
    DatabaseOption,
    HouseFileOption,
    JsonOption,
    argument,
    command_group,
    find_house_file,
    option,
    repeatable,
)
from threedice.cli.log import open_log, require_database, table_ids
from threedice.cli.operate import open_offline
from threedice.cli.output import format_time, print_json, print_line, print_table
from threedice.db.schema import TablePolicy
from threedice.errors import InvalidInput, UnknownName
from threedice.house.persons import Person, check_birth_date, save_person
from threedice.identity import Account, Argon2Cost, IdentityService, open_identity
from threedice.identity.roles import validate_roles
from threedice.identity.service import read_identity
from threedice.log.stores.urls import (
    default_url,
    open_store,
    refuse_lost_database,
    state_directory,
)

commands = command_group()
user_commands = command_group("Manage the accounts of a house.")
commands.add_typer(user_commands, name="users")

PASSWORD_COST: Argon2Cost | None = None
"""The cost of password hashes; None for the default of the identity service."""

RolesOption = Annotated[
    list[str],
    repeatable(
        "ROLE",
        "player, dealer, game-supervisor, supervisor, pit-manager, shift-manager, auditor or "
        "administrator",
    ),
]
UserNameArgument = Annotated[str, argument("NAME", "The user name of the account.")]
PasswordStdinOption = Annotated[
    bool,
    typer.Option(
        "--password-stdin",
        help="Read the password from standard input; if omitted, print a random one once, which "
        "the user must change at sign-in.",
    ),
]


BirthDateOption = Annotated[
    str, option("DATE", "The date of birth, such as 1990-01-31; unknown if omitted.")
]


def open_house_identity(url: str, *, create: bool = False) -> closing[IdentityService]:
    """Open the identity service of a house; with `create`, create the house if needed."""
    url = (url or default_url()) if create else require_database(url)
    refuse_lost_database(url, state_directory(url))
    tables: TablePolicy = "create" if create else "require"
    open_store(url, tables=tables).close()  # creates the default directory
    return closing(
        open_identity(url, state=state_directory(url), cost=PASSWORD_COST, tables=tables)
    )


# --- accounts -----------------------------------------------------------------------------------


@user_commands.command("add")
def add_user(
    name: UserNameArgument,
    role: RolesOption,
    password_stdin: PasswordStdinOption = False,
    account_id: Annotated[
        str,
        option(
            "ID", "The id of a player in the log whose account is lost; new if omitted.", "--id"
        ),
    ] = "",
    born: BirthDateOption = "",
    database: DatabaseOption = "",
) -> None:
    """Create an account, and the house if it does not exist.

    As soon as the house has two administrators, one of them must confirm new staff.
    """
    password = _read_password() if password_stdin else None
    birth_date = _parse_birth_date(born) if born else None
    with open_house_identity(database, create=True) as identity:
        added = identity.accounts.add(name, role, password=password, account_id=account_id)
        if birth_date is not None:
            identity.accounts.record_birth_date_change(added.account.id)
    account = added.account
    if birth_date is not None:
        _record_birth_date(database, account, birth_date)
    print_line(f"{account.name} ({', '.join(account.roles)}) has id {account.id}")
    if not account.enabled:
        _print_pending(account.name)
        print_line("the first password is shown to that administrator")
    elif password is None:
        _print_initial_password(added.password)


@user_commands.command("born")
def set_birth_date(
    name: UserNameArgument,
    born: Annotated[str, argument("DATE", "The date of birth, such as 1990-01-31.")],
    database: DatabaseOption = "",
) -> None:
    """Record the date of birth of an account.

    Some rulebooks have a minimum age for players, or for staff.
    """
    birth_date = _parse_birth_date(born)
    with open_house_identity(database) as identity:
        account = _require_account(identity, name)
        identity.accounts.record_birth_date_change(account.id)
    _record_birth_date(database, account, birth_date)
    print_line(f"the date of birth of {account.name} is recorded")


def _parse_birth_date(text: str) -> date:
    try:
        born = date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not a date; write it as 1990-01-31") from None
    check_birth_date(born, datetime.now().astimezone().date())
    return born


def _record_birth_date(database: str, account: Account, born: date) -> None:
    with open_offline(database or default_url()) as store:
        save_person(store, account.id, Person(account.name, born))


@user_commands.command("list")
def list_users(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """List the accounts."""
    with closing(read_identity(require_database(database))) as identity:
        accounts = identity.accounts.all()
        enrolled = {each.id for each in accounts if identity.second_factors.is_enrolled(each.id)}
    if as_json:
        listed = [
            {
                "id": each.id,
                "name": each.name,
                "roles": each.roles,
                "enabled": each.enabled,
                "codes": each.id in enrolled,
                "created": format_time(each.created),
            }
            for each in accounts
        ]
        print_json({"accounts": listed})
        return
    rows = [
        (
            each.name,
            ", ".join(each.roles),
            "enabled" if each.enabled else "disabled",
            "codes" if each.id in enrolled else "no codes",
            each.id,
        )
        for each in accounts
    ]
    print_table(("name", "roles", "state", "codes", "id"), rows)


@user_commands.command("disable")
def disable_user(name: UserNameArgument, database: DatabaseOption = "") -> None:
    """Disable an account and end its sessions and tokens."""
    with open_house_identity(database) as identity:
        identity.accounts.disable(_require_account(identity, name).id)
    print_line(f"{name} is disabled; all sessions and tokens have ended")


@user_commands.command("enable")
def enable_user(name: UserNameArgument, database: DatabaseOption = "") -> None:
    """Enable a disabled account.

    As soon as the house has two administrators, one of them must confirm it for staff.
    """
    with open_house_identity(database) as identity:
        identity.accounts.enable(_require_account(identity, name).id)
        is_enabled = _require_account(identity, name).enabled
    if is_enabled:
        print_line(f"{name} is enabled")
    else:
        _print_pending(name)


@user_commands.command("roles")
def set_roles(name: UserNameArgument, role: RolesOption, database: DatabaseOption = "") -> None:
    """Replace the roles of an account and end its sessions.

    As soon as the house has two administrators, one of them must confirm further roles.
    """
    with open_house_identity(database) as identity:
        account = _require_account(identity, name)
        changed = identity.accounts.set_roles(account.id, role)
    if changed.roles == validate_roles(role):
        print_line(f"{name} has the roles {', '.join(changed.roles)}; all sessions have ended")
    else:
        _print_pending(name)


@user_commands.command("confirm")
def confirm_user(name: UserNameArgument, database: DatabaseOption = "") -> None:
    """Confirm staff, roles or a reset where no administrator can.

    An administrator who can confirm it does so on the screen for people.
    """
    with open_house_identity(database) as identity:
        confirmed = identity.enrolments.confirm_on_console(_require_account(identity, name).id)
    print_line(f"{name} is confirmed" if confirmed else f"nothing of {name} awaits confirmation")
    for each in confirmed:
        if each.password:
            _print_initial_password(each.password)


def _print_pending(name: str) -> None:
    print_line(f"{name} waits until an administrator confirms this, on the screen for people")


# --- credentials --------------------------------------------------------------------------------


@user_commands.command("passwd")
def reset_password(
    name: UserNameArgument,
    password_stdin: PasswordStdinOption = False,
    database: DatabaseOption = "",
) -> None:
    """Replace an account's password; end its sessions and tokens.

    As soon as the house has two administrators, one of them must confirm it before a member of
    staff can decide requests again.
    """
    password = _read_password() if password_stdin else None
    with open_house_identity(database) as identity:
        account = _require_account(identity, name)
        reset = identity.accounts.reset_password(account.id, password=password)
    print_line(f"{reset.account.name} has a new password; all sessions and tokens have ended")
    if password is None:
        _print_initial_password(reset.password)


@user_commands.command("reset-codes")
def reset_codes(name: UserNameArgument, database: DatabaseOption = "") -> None:
    """Reset the second factor of an account.

    This helps after a lost telephone: the user sets up new codes at the next sign-in. As soon as
    the house has two administrators, one of them must confirm it before a member of staff can
    decide requests again.
    """
    with open_house_identity(database) as identity:
        identity.second_factors.reset(_require_account(identity, name).id)
    print_line(f"{name} sets up codes at the next sign-in; all sessions and tokens have ended")


def _print_initial_password(password: str) -> None:
    print_line("initial password, shown only once, to be changed at the first sign-in:")
    print_line(password)


def _read_password() -> str:
    if sys.stdin.isatty():
        return getpass("password: ", stream=sys.stderr)
    return sys.stdin.readline().rstrip("\r\n")


# --- assignments --------------------------------------------------------------------------------


@user_commands.command("assign")
def assign_user(
    name: UserNameArgument,
    role: Annotated[str, option("ROLE", "A role that the account has.")],
    until: Annotated[str, option("TIME", "The end of the shift, such as 2030-01-31T02:00.")],
    table: Annotated[
        str | None, option("TABLE", "The id of a table; all tables if omitted.")
    ] = None,
    starts: Annotated[
        str,
        option(
            "TIME",
            "The start of the shift; now if omitted. Times without an offset are local.",
            "--from",
        ),
    ] = "",
    house: HouseFileOption = None,
    database: DatabaseOption = "",
) -> None:
    """Assign an account to a table, or to all tables, for a shift.

    The table is one of the log or of the house file.
    """
    (valid_role,) = validate_roles([role])
    start = _parse_time(starts) if starts else time.time_ns() // 1000
    end = _parse_time(until)
    if table is not None:
        _require_table(require_database(database), table, house)
    with open_house_identity(database) as identity:
        assignment = identity.assignments.add(
            _require_account(identity, name).id, table, valid_role, starts=start, until=end
        )
    print_line(
        f"{name} is {assignment.role} at {assignment.table or 'all tables'} "
        f"from {format_time(assignment.starts)} until {format_time(assignment.until)}"
    )


def _require_table(url: str, table: str, house: Path | None) -> None:
    """Raise UnknownName if neither the log nor the house file has a table."""
    with open_log(url) as store:
        known = table_ids(store)
    if table in known:
        return
    if file := house or find_house_file(None, state_directory(url)):
        from threedice.api.config import load_config

        known += [name for name in load_config(file).tables if name not in known]
    if table not in known:
        raise UnknownName("table", table, known)


def _parse_time(text: str) -> int:
    """Parse a time, local unless it has an offset, to microseconds since the epoch."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{text!r} is not a time; write it as 2030-01-31T18:00") from None


# --- tokens --------------------------------------------------------------------------------------


@user_commands.command("token")
def make_token(
    name: UserNameArgument,
    title: Annotated[str, argument("TITLE", "The purpose of the token.")],
    scope: Annotated[list[str], repeatable("SCOPE", "read, play, deal, manage or metrics")],
    days: Annotated[
        int | None, option("DAYS", "Days until it expires; it never does if omitted.")
    ] = None,
    database: DatabaseOption = "",
) -> None:
    """Create an API token for an account and print it once."""
    from threedice.api.auth.authorisation import require_scopes

    require_scopes(scope)
    seconds = None if days is None else days * 24 * 3600
    with open_house_identity(database) as identity:
        account = _require_account(identity, name)
        created = identity.tokens.create(account.id, title, scope, seconds=seconds)
    program = created.api_token
    expiry = f" until {format_time(program.expires)}" if program.expires else ""
    print_line(
        f"a token for {program.name}, {', '.join(program.scopes)}{expiry}; it is shown only once:"
    )
    print_line(created.token)


def _require_account(identity: IdentityService, name: str) -> Account:
    account = identity.accounts.find_by_name(name)
    if account is None:
        raise UnknownName("account", name, [each.name for each in identity.accounts.all()])
    return account
