"""`threedice release`: for the person on call, on the machine of the house.

The package `house` takes a second to import, so it is imported within the functions that use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated

import typer

from threedice.cli.arguments import DatabaseOption, command_group, option
from threedice.cli.log import require_database
from threedice.cli.output import print_line
from threedice.errors import InvalidInput, StoreFailed, StoreUnavailable, StoreUnusable
from threedice.identity.accounts import list_accounts
from threedice.identity.roles import is_staff
from threedice.identity.service import open_database
from threedice.log.proof.head_macs import open_head_macs
from threedice.log.store import Store
from threedice.log.stores.files import is_served
from threedice.log.stores.urls import open_store, sqlite_path, state_directory

commands = command_group()


@commands.command("release")
def release(
    by: Annotated[str, option("NAME", "The user name of the member of staff who releases it.")],
    reason: Annotated[str, option("TEXT", "Why the house may write again.")],
    stream: Annotated[
        str,
        option(
            "STREAM",
            "Accept the entries that the house did not write in this stream: table/ID, cage/ID (an "
            "account), people or house.",
        ),
    ] = "",
    database: DatabaseOption = "",
) -> None:
    """Let a suspended house write again.

    Look into the failure first. The house may be stopped or in service; its servers resume within
    seconds. If the database still cannot be written, nothing changes. With --stream, release a
    table or an account instead that stands still because of foreign entries. The exit code is 1 if
    there is nothing to release.
    """
    from threedice.house.offline import accept_entries, halt_reason, release_writing

    url = require_database(database)
    state = state_directory(url)
    account = find_staff(url, by)
    with _explain_failure(stream), open_offline(url) as store:
        if stream:
            event = accept_entries(store, stream, by=account, reason=reason)
            if event is None:
                print_line(f"{stream} has no foreign entries; there is nothing to release")
                raise typer.Exit(1)
            print_line(f"{stream}: versions {event.first} to {event.version} are accepted")
            return
        if not halt_reason(store, state):
            print_line("the house is not suspended; there is nothing to release")
            raise typer.Exit(1)
        cause = release_writing(store, state, by=account, reason=reason)
    print_line(f"the house may write again; it was suspended because {cause}")


@contextmanager
def _explain_failure(stream: str) -> Iterator[None]:
    """Say what it means if nothing could be written, for example on a full disk."""
    try:
        yield
    except (StoreFailed, StoreUnusable, StoreUnavailable, OSError) as error:
        subject = stream or "the house"
        raise StoreFailed(f"{error}; nothing has changed, and {subject} stays suspended") from error


def open_offline(url: str) -> closing[Store]:
    """Open the store of a house to write a few entries, whether or not the house is in service.

    A file that nobody serves is opened as a server does, which first reads it from the disk again.
    """
    file = sqlite_path(url)
    is_stopped = file is not None and not is_served(file)
    store = open_store(url, serving=is_stopped, tables="require")
    try:
        store.head_macs = open_head_macs(store.database, state_directory(url))
    except BaseException:
        store.close()
        raise
    return closing(store)


def find_staff(url: str, name: str) -> str:
    """Return the id of an enabled member of staff; the name itself if the house has no accounts."""
    with closing(open_database(url, read_only=True)) as people:
        accounts = list_accounts(people.query)
    staff = {each.name: each.id for each in accounts if each.enabled and is_staff(each.roles)}
    if accounts and name.lower() not in staff:
        raise InvalidInput(
            f"{name!r} is not an enabled member of staff; give the user name of one of them "
            "(threedice users list)"
        )
    return staff.get(name.lower(), name)
