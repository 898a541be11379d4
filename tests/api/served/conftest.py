"""A house that listens, for all tests of a file; each test has a table of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live_house import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.live_house import Served


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with serving(tmp_path_factory.mktemp("house")) as served:
        yield served


@pytest.fixture
async def served(house: Served) -> Served:
    return await house.at_a_new_table()
