"""Tables that the house deals: the shortest betting time that a house allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.api.house_app import GAME, problem_code

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


async def establish(house: HouseApp, **timing: float) -> httpx.Response:
    """Set up a table that the house deals with some times, with the approval of a second person."""
    command = {"type": "EstablishTable", "game": GAME, "dealt_by_house": timing}
    body = {"command": command, "reason": "a new machine"}
    request = await house.client("pit-manager").post("/api/tables/machine/requests", json=body)
    if request.status_code != 201:
        return request
    path = f"/api/requests/{request.json()['id']}/approve"
    return await house.client("shift-manager").post(path, json={})


@pytest.mark.parametrize("who", ["pit-manager", "shift-manager"])
async def test_too_short_betting_is_refused_without_a_request_too(
    house: HouseApp, who: str
) -> None:
    timing = {"betting_seconds": 0, "closing_seconds": 0, "showing_seconds": 0}
    command = {"type": "EstablishTable", "game": GAME, "dealt_by_house": timing}
    refused = await house.send(who, command, table="machine")
    assert problem_code(refused) in ("door/second-person", "floor/too-quick")
    assert house.store.head("table/machine").version == 0


def allow_betting_time(house: HouseApp, seconds: float) -> None:
    config = house.context.config
    policies = msgspec.structs.replace(config.policies, shortest_betting_seconds=seconds)
    house.context.config = msgspec.structs.replace(config, policies=policies)


@pytest.mark.parametrize("seconds", [0, 0.05, 14.999])
async def test_automatic_table_with_too_short_betting_is_refused(
    house: HouseApp, seconds: float
) -> None:
    refused = await establish(house, betting_seconds=seconds)
    assert (refused.status_code, problem_code(refused)) == (409, "floor/too-quick")
    assert refused.json()["facts"] == {"seconds": f"{seconds:g}", "shortest": "15"}
    assert "no less than 15" in refused.json()["detail"]
    assert house.store.head("table/machine").version == 0


async def test_automatic_table_with_the_shortest_betting_is_set_up(house: HouseApp) -> None:
    accepted = await establish(house, betting_seconds=15, closing_seconds=0, showing_seconds=0)
    assert accepted.status_code == 200, accepted.text


async def test_house_may_allow_shorter_betting(house: HouseApp) -> None:
    allow_betting_time(house, 0.05)
    assert problem_code(await establish(house, betting_seconds=0.04)) == "floor/too-quick"
    assert (await establish(house, betting_seconds=0.05)).status_code == 200


async def test_existing_table_cannot_be_set_up_again_with_shorter_betting(house: HouseApp) -> None:
    assert (await establish(house, betting_seconds=20)).status_code == 200
    assert problem_code(await establish(house, betting_seconds=1)) == "floor/too-quick"
    table = await house.handler.table("machine")
    assert table.dealt_by_house is not None
    assert table.dealt_by_house.betting_seconds == 20
