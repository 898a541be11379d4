"""Client addresses behind a proxy: which requests count as one client's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.house_app import open_house_app, problem_code
from tests.identity.identity_cluster import PASSWORD, SteppedClock
from threedice.api.http.addresses import UNKNOWN_ADDRESS, client_network

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "spelling",
    [
        lambda number: f"198.51.100.7:{1024 + number}",
        lambda number: f"203.0.113.9, 198.51.100.7:{1024 + number}",
        lambda number: f"[2001:db8:1:2::{number:x}]:{1024 + number}",
        lambda number: f"[2001:db8:1:2::{number:x}]",
        lambda number: f'"[2001:db8:1:2:{number:x}::9]:443"',
        lambda number: f"2001:db8:1:2:{number:x}::1%zone{number}",
        lambda number: f"::ffff:198.51.100.7{'' if number % 2 else '%1'}",
        lambda number: f"2002:c633:6407:{number:x}::1",
        lambda number: f"_hidden{number}",
        lambda number: f"198.51.100.{300 + number}",
        lambda number: f"{'9' * (100 + number)}",
    ],
    ids=[
        "IPv4 and port", "chain", "IPv6 and port", "bracketed IPv6", "quoted", "zone", "mapped",
        "6to4", "hidden", "no address", "long",
    ],
)  # fmt: skip
async def test_one_client_cannot_appear_as_many_by_how_its_address_is_written(
    spelling: Callable[[int], str],
) -> None:
    async with open_house_app(behind_proxy=True, clock=SteppedClock()) as house:
        client, codes = house.client(), []
        for number in range(45):
            response = await client.post(
                "/api/session",
                json={"name": f"name{number}", "password": "wrong and wrong"},
                headers={"X-Forwarded-For": spelling(number)},
            )
            codes.append(problem_code(response))
        right = {"name": "player-name", "password": PASSWORD}
        elsewhere = await client.post(
            "/api/session", json=right, headers={"X-Forwarded-For": "198.51.100.8:999"}
        )
    assert codes[-1] == "sign-in/wait"
    assert elsewhere.status_code == 200


def test_clients_of_different_networks_count_apart() -> None:
    addresses = ["192.0.2.1", "192.0.2.2", "2001:db8:1:2::1", "2001:db8:1:3::1", "unix", "::1"]

    assert len({client_network(each) for each in addresses}) == len(addresses)


@pytest.mark.parametrize(
    "entry", ["", " ", "unknown", "[", "[]:1", "1.2.3.4:5:6", "1.2.3", "%", ":"]
)
def test_entry_that_is_no_address_counts_as_the_unknown_address(entry: str) -> None:
    assert client_network(entry) == UNKNOWN_ADDRESS
