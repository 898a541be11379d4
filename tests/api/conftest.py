"""Fixtures: a house with an account in every role, and the same house with a round open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.house_app import HouseApp, open_house_app, seat_players

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def house(anyio_backend: str) -> AsyncIterator[HouseApp]:  # noqa: ARG001
    """Open a house with an account in every role; its table is closed."""
    async with open_house_app() as house:
        yield house


@pytest.fixture
async def house_in_play(house: HouseApp) -> HouseApp:
    """Seat two players, open betting, and assign a dealer and a supervisor."""
    await seat_players(house)
    house.assign("dealer")
    house.assign("supervisor")
    return house
