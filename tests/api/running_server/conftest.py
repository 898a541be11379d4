"""Fixtures: a running server for all tests of a module, at a new table for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live_server import serve_house

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.live_server import LiveServer


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveServer]:
    async with serve_house(tmp_path_factory.mktemp("house")) as server:
        yield server


@pytest.fixture
async def server(shared_server: LiveServer) -> LiveServer:
    """Open a new table of the shared server."""
    return await shared_server.open_new_table()
