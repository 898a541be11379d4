"""Fixtures: a house with an account in every role, and one with players seated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.setting import Setting, opened, seat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def house(anyio_backend: str) -> AsyncIterator[Setting]:  # noqa: ARG001
    """A house with somebody in every role; the table is closed."""
    async with opened() as setting:
        yield setting


@pytest.fixture
async def playing(house: Setting) -> Setting:
    """The house with two players seated, betting open, and its staff at the table."""
    await seat(house)
    house.assign("dealer")
    house.assign("supervisor")
    return house
