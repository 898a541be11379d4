"""A name that was erased over HTTP is in no file of the database any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.api.live_server import TABLE, serve_house

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.api.live_server import LiveServer
    from threedice.identity import Role

pytestmark = pytest.mark.anyio

NAME = "zebulon-quillfeather"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[LiveServer]:
    async with serve_house(tmp_path) as server:
        yield server


def client(server: LiveServer, role: Role) -> httpx.AsyncClient:
    """Return a client that is signed in as a new account in a role."""
    cookie = f"{server.context.cookie_name}={server.sign_in(role, role)}"
    headers = {"Cookie": cookie, "Origin": server.origin}
    return httpx.AsyncClient(base_url=server.origin, headers=headers)


def files_with_the_name(folder: Path) -> list[str]:
    """Return the files of the database that contain the name, in any form in which it is stored."""
    forms = [NAME.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    return sorted(
        file.name
        for file in folder.rglob("*")
        if file.is_file() and any(form in file.read_bytes() for form in forms)
    )


async def add_person(server: LiveServer, folder: Path, player: str = "ann") -> str:
    """Store the name as that of a player; return the path of the record."""
    path = f"/api/accounts/{player}/person"
    async with client(server, "shift-manager") as manager:
        for name in (f"{NAME} the elder", NAME):
            stored = await manager.put(path, json={"name": name, "born": "1990-02-03"})
            assert stored.status_code == 204, stored.text
    assert files_with_the_name(folder)
    return path


async def test_erased_person_leaves_no_trace_in_the_files(
    server: LiveServer, tmp_path: Path
) -> None:
    path = await add_person(server, tmp_path)
    async with client(server, "shift-manager") as manager:
        assert (await manager.delete(path)).status_code == 204
    assert not files_with_the_name(tmp_path)


async def test_forgotten_account_leaves_no_trace_in_the_files(
    server: LiveServer, tmp_path: Path
) -> None:
    account = server.context.identity.accounts.add(NAME, ["player"]).account
    assert files_with_the_name(tmp_path)
    async with client(server, "administrator") as administrator:
        reply = await administrator.post(f"/api/people/{account.id}/forget")
        assert reply.status_code == 204, reply.text
    assert not files_with_the_name(tmp_path)


async def test_declined_account_leaves_no_trace_in_the_files(
    server: LiveServer, tmp_path: Path
) -> None:
    identity = server.context.identity
    for name in ("first", "second"):
        identity.accounts.add(name, ["administrator"])
    account = identity.accounts.add(NAME, ["dealer"]).account.id
    (enrolment,) = [each for each in identity.enrolments.pending() if each.account == account]
    assert files_with_the_name(tmp_path)
    async with client(server, "administrator") as administrator:
        reply = await administrator.post(f"/api/enrolments/{enrolment.id}/decline")
        assert reply.status_code == 204, reply.text
    assert not files_with_the_name(tmp_path)


async def test_trace_that_a_long_read_still_needs_goes_with_a_later_command(
    server: LiveServer, tmp_path: Path
) -> None:
    path = await add_person(server, tmp_path)
    with server.store.open_rows() as rows:  # as a backup or a verification reads them
        assert rows.entry_streams()
        async with client(server, "shift-manager") as manager:
            assert (await manager.delete(path)).status_code == 204
            assert (await manager.get(path)).status_code == 404
    await server.people.play("open betting")
    assert server.table == TABLE
    assert not files_with_the_name(tmp_path)
