"""`threedice users`: the accounts of a house, from the console of its machine."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from getpass import getpass
from typing import TYPE_CHECKING

from threedice.cli.output import print_json, print_line, print_table
from threedice.errors import InvalidInput, UnknownName
from threedice.identity import Argon2Cost, open_identity
from threedice.identity.roles import validate_roles
from threedice.log.stores.urls import database_exists, default_url, open_store, state_directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threedice.identity import Account, IdentityService

COST = Argon2Cost()


@contextmanager
def opened(url: str, *, making: bool = False) -> Iterator[IdentityService]:
    """Open the people of a house that is there, or may be made."""
    url = url or default_url()
    state = state_directory(url)
    if not making and not database_exists(url):
        raise InvalidInput(f"there is no database at {url}; name one with --database")
    open_store(url).close()  # the log makes its tables first, and says if the database is another's
    with closing(open_identity(url, state=state, cost=COST)) as people:
        yield people


def add(url: str, name: str, roles: Sequence[str], from_stdin: bool) -> None:
    """Make an account."""
    password = _read_password() if from_stdin else None
    with opened(url, making=True) as people:
        made = people.accounts.add(name, roles, password=password)
    print_line(f"{made.account.name} ({', '.join(made.account.roles)}) has id {made.account.id}")
    if password is None:
        _print_first(made.password)


def list_all(url: str, as_json: bool) -> None:
    """List the accounts."""
    with opened(url) as people:
        found = people.accounts.all()
        with_codes = {each.id for each in found if people.second_factors.is_enrolled(each.id)}
    if as_json:
        print_json(
            {
                "accounts": [
                    {
                        "id": each.id,
                        "name": each.name,
                        "roles": each.roles,
                        "enabled": each.enabled,
                        "codes": each.id in with_codes,
                        "created": _time(each.created),
                    }
                    for each in found
                ]
            }
        )
        return
    rows = [
        (
            each.name,
            ", ".join(each.roles),
            "enabled" if each.enabled else "disabled",
            "codes" if each.id in with_codes else "no codes",
            each.id,
        )
        for each in found
    ]
    print_table(("name", "roles", "state", "codes", "id"), rows)


def disable(url: str, name: str) -> None:
    """Let an account sign in no more."""
    with opened(url) as people:
        people.accounts.disable(_account(people, name).id)
    print_line(f"{name} is disabled; all that was open has ended")


def enable(url: str, name: str) -> None:
    """Let an account sign in again."""
    with opened(url) as people:
        people.accounts.enable(_account(people, name).id)
    print_line(f"{name} is enabled")


def reset_password(url: str, name: str, from_stdin: bool) -> None:
    """Give an account another password."""
    password = _read_password() if from_stdin else None
    with opened(url) as people:
        made = people.accounts.reset_password(_account(people, name).id, password=password)
    print_line(f"{made.account.name} has another password; all sessions have ended")
    if password is None:
        _print_first(made.password)


def reset_codes(url: str, name: str) -> None:
    """Forget somebody's codes."""
    with opened(url) as people:
        people.second_factors.reset(_account(people, name).id)
    print_line(f"{name} sets up codes at the next sign-in; all sessions have ended")


def assign(url: str, name: str, role: str, table: str | None, starts: str, until: str) -> None:
    """Assign an account to a table, or to all."""
    (asked,) = validate_roles([role])
    begins = _moment(starts) if starts else _now()
    ends = _moment(until)
    with opened(url) as people:
        made = people.assignments.add(
            _account(people, name).id, table, asked, starts=begins, until=ends
        )
    print_line(
        f"{name} is {made.role} at {made.table or 'all tables'} "
        f"from {_time(made.starts)} until {_time(made.until)}"
    )


def make_token(url: str, name: str, title: str, scopes: Sequence[str], days: int | None) -> None:
    """Make a token for a program."""
    seconds = None if days is None else days * 24 * 3600
    with opened(url) as people:
        made = people.tokens.create(_account(people, name).id, title, scopes, seconds=seconds)
    program = made.program
    until = f" until {_time(program.expires)}" if program.expires else ""
    print_line(f"a token for {program.name}, {', '.join(program.scopes)}{until}; shown this once:")
    print_line(made.token)


def _account(people: IdentityService, name: str) -> Account:
    found = people.accounts.find_by_name(name)
    if found is None:
        raise UnknownName("account", name, [each.name for each in people.accounts.all()])
    return found


def _print_first(password: str) -> None:
    print_line("first password, shown this once and to be changed at the first sign-in:")
    print_line(password)


def _read_password() -> str:
    if sys.stdin.isatty():
        return getpass("password: ", stream=sys.stderr)
    return sys.stdin.readline().rstrip("\r\n")


def _moment(text: str) -> int:
    """Read a time, local unless it has an offset, as microseconds of UTC."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{text!r} is no time; write it as 2030-01-31T18:00") from None


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="seconds")
