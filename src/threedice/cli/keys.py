"""`threedice keys`: export, rotate and replace the keys of a house.

The package `house` takes a second to import, so it is imported within the functions that use it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from getpass import getpass
from typing import Annotated, Final

import typer

from threedice.cli import users
from threedice.cli.arguments import DatabaseOption, command_group, option
from threedice.cli.log import require_database
from threedice.cli.operate import open_offline
from threedice.cli.output import print_line, print_stderr
from threedice.errors import InvalidInput
from threedice.identity import Account, Argon2Cost
from threedice.identity.accounts import validate_text
from threedice.identity.approval.key_custodians import find_key_custodians, verify_custodian
from threedice.identity.audit_trail import CONSOLE
from threedice.identity.authentication.passwords import Argon2Hasher
from threedice.log.proof import keys
from threedice.log.store import Store
from threedice.log.stores.urls import open_store, state_directory

commands = command_group()
key_commands = command_group("Export, rotate and replace the keys of a house.")
commands.add_typer(key_commands, name="keys")

MAX_WRONG_ATTEMPTS: Final = 3
WRONG_ATTEMPT_SECONDS = 2.0
"""Delay of the next attempt after a wrong name or password, multiplied by their number."""


@key_commands.command("export")
def export_keys(
    pem: Annotated[bool, typer.Option("--pem", help="Print only the current key, in PEM.")] = False,
    database: DatabaseOption = "",
) -> None:
    """Print the public keys of a house, which verify its checkpoints."""
    state = state_directory(require_database(database))
    if pem:
        current = keys.read_keys(state)
        print_line(keys.export_pem(current.public[current.key_id]).decode().rstrip())
        return
    own = keys.read_keys(state).public if keys.has_signing_key(state) else {}
    known = {**own, **keys.read_public_keys(state)}
    if not known:
        raise InvalidInput(f"{state} has no keys; the first start of a house creates them")
    print_line(keys.export_public_keys(known.values()).decode())


@key_commands.command("rotate")
def rotate_keys(database: DatabaseOption = "") -> None:
    """Replace the signing key; the old key vouches for the new one.

    The log records it. The house may be in service.
    """
    from threedice.house.events import SigningKeyRotated
    from threedice.house.offline import append_house_event, halt_reason

    url = require_database(database)
    state = state_directory(url)
    old = keys.read_keys(state)
    with open_offline(url) as store:
        if cause := halt_reason(store, state):
            raise InvalidInput(f"writing is halted ({cause}); release it first")
        rotated = keys.rotate_signing_key(state)
        event = SigningKeyRotated(old=old.key_id, new=rotated.key_id, by=CONSOLE)
        append_house_event(store, event, by=CONSOLE, key="keys")
        keys.store_public_keys(store.database, keys.read_public_keys(state))
    print_line(f"new checkpoints are signed with key {rotated.key_id}")


# --- replace ------------------------------------------------------------------------------------


@key_commands.command("replace")
def replace_keys(
    reason: Annotated[str, option("TEXT", "How the keys were lost.")],
    database: DatabaseOption = "",
) -> None:
    """Replace key files that are lost, with a second administrator.

    Look for a copy first: in a backup, or on another server of the house. Stop the house. The
    command names the missing files and asks for a yes, then for the user names and passwords of two
    administrators; without a terminal it reads these five lines from standard input.
    """
    from threedice.house.key_replacement import (
        LOG_KEY,
        PEOPLE_KEY,
        SIGNING_KEY,
        KeyReplacement,
        find_missing_keys,
    )
    from threedice.house.key_replacement import replace_keys as replace

    url, reason = require_database(database), validate_text("the reason", reason)
    state = state_directory(url)
    effects = {
        SIGNING_KEY: "checkpoints are signed with a new key that no old key endorses: give a new "
        "`threedice keys export` to those who verify the log",
        LOG_KEY: "the entries after the last checkpoint are accepted as they are",
        PEOPLE_KEY: "second factors and recovery codes are deleted and enrolled anew at the next "
        "sign-in, and all sessions and API tokens end, because they were protected with it; "
        "passwords stay",
    }
    with closing(open_store(url, serving=True, tables="require")) as store:
        if not store.is_sole_server():
            raise InvalidInput("other servers use this database; stop them first")
        if not (missing := find_missing_keys(store.database, state)):
            raise InvalidInput(f"no key file of {state} is missing; there is nothing to replace")
        for name in missing:
            print_stderr(f"{state / name} is missing; if it is replaced, {effects[name]}")
        if _ask("replace what is missing? (yes/no) ").strip().lower() != "yes":
            raise InvalidInput("nothing is replaced")
        by, second = _verify_two_persons(store)
        current = replace(store, url, state, KeyReplacement(missing, by, second, reason))
    print_line(f"replaced {', '.join(missing)}")
    if SIGNING_KEY in missing:
        print_line(f"new checkpoints are signed with key {current.key_id}")


def _verify_two_persons(store: Store) -> tuple[str, str]:
    """Ask for the passwords of two persons; return their ids, empty where the house has nobody."""
    run = store.database.query
    custodians = find_key_custodians(run)
    verified: list[Account] = []
    hasher = Argon2Hasher(users.PASSWORD_COST or Argon2Cost())
    wrong_attempts = 0
    while len(verified) < min(2, len(custodians)):
        others = [each for each in custodians if each not in verified]
        _print_candidates(others, is_second=bool(verified))
        name, password = _ask("user name: "), _ask_password()
        if account := verify_custodian(run, hasher, others, name, password):
            verified.append(account)
            continue
        wrong_attempts += 1
        time.sleep(WRONG_ATTEMPT_SECONDS * wrong_attempts)
        if wrong_attempts >= MAX_WRONG_ATTEMPTS:
            raise InvalidInput("three wrong names or passwords; nothing is replaced")
        print_stderr("this is not the name and password of one of them")
    if len(verified) < 2:
        print_stderr("the house has no second person; the log says so")
    ids = [account.id for account in verified]
    return (*ids, CONSOLE, "")[0], ids[1] if len(ids) > 1 else ""


def _print_candidates(custodians: Sequence[Account], *, is_second: bool) -> None:
    which = "another administrator" if is_second else "an administrator"
    if not all(each.has_role("administrator") for each in custodians):
        roles = sorted({", ".join(each.roles) for each in custodians})
        which = (
            f"a member of staff ({'; '.join(roles)}), as there are fewer than two administrators"
        )
    print_stderr(f"{which} has to agree")


def _ask(prompt: str) -> str:
    """Read a line; without a terminal, from standard input."""
    if sys.stdin.isatty():
        sys.stderr.write(prompt)
        sys.stderr.flush()
    if not (line := sys.stdin.readline()):
        raise InvalidInput("the input ended; nothing is replaced")
    return line.rstrip("\r\n")


def _ask_password() -> str:
    return getpass("password: ", stream=sys.stderr) if sys.stdin.isatty() else _ask("")
